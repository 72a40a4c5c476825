package machine

// ASCII: words, numbers, punctuation and blanks. A letter pays for the word that it begins or makes longer, so the price of a
// word grows with its length, as it does for words that no vocabulary has. English words, which are one token at any length, make
// this the roughest part of the machine: long ones are dear, short ones cheap.

import "strings"

// kind is the class of a byte, as far as ASCII tells one from another.
type kind uint8

const (
	control kind = iota
	escape       // the start of a terminal's colour sequence
	space
	newline
	tab
	digit
	letterE
	vowel // a i o u
	consonant
	rareLower
	capital
	rareUpper
	highByte    // a byte of a character beyond ASCII
	punctuation // punctuation+i is the i-th of punctKinds
)

// punctKinds groups punctuation by what tokenizers do with it. Whatever is in no group is of the kind of OtherPunct.
var punctKinds = [...]string{"_", "-", ".", ",", "/", "\"'`", ":;", "()[]{}", "<>=", "!#$%&*+?@^|~", "\\"}

func (k kind) lower() bool { return letterE <= k && k <= rareLower }
func (k kind) upper() bool { return k == capital || k == rareUpper }

func kindOf(b byte) kind {
	switch {
	case b >= 0x80:
		return highByte
	case 'a' <= b && b <= 'z':
		return lowerKind(b)
	case 'A' <= b && b <= 'Z':
		return pick(strings.IndexByte("JKQVWXYZ", b) >= 0, rareUpper, capital)
	case '0' <= b && b <= '9':
		return digit
	case b > ' ' && b < 0x7f:
		return punctKind(b)
	}
	return blankKind(b)
}

func lowerKind(b byte) kind {
	switch {
	case b == 'e':
		return letterE
	case strings.IndexByte("aiou", b) >= 0:
		return vowel
	}
	return pick(strings.IndexByte("jqxz", b) >= 0, rareLower, consonant)
}

func punctKind(b byte) kind {
	for i, group := range punctKinds {
		if strings.IndexByte(group, b) >= 0 {
			return punctuation + kind(i)
		}
	}
	return punctuation + kind(OtherPunct-Underscore)
}

func blankKind(b byte) kind {
	switch b {
	case ' ':
		return space
	case '\n', '\r':
		return newline
	case '\t':
		return tab
	case 0x1b:
		return escape
	}
	return control
}

// lower prices a lower-case letter. Two consonants in a row, or a letter that is rare in English, are signs of a word that will
// be cut; after capitals it is base64 more often than not.
func lower(s State, k kind) Move {
	m := Move{}
	place := 0
	switch {
	case s.lower():
		place = s.place() + 1
		m.fire(withinWord(place))
		m.fireIf(s.consonant() && k > vowel, ConsonantPair)
	case s == LatinBeyond:
		place = 1
		m.fire(LowerAfterAccent)
	case s == Upper1:
		place = 1
		m.fire(Lower2To3)
	case s.upper():
		m.fire(LowerAfterCapitals)
	default:
		m.fire(wordAfter(s))
	}
	m.fireIf(k == rareLower, RareLower)
	m.Next = lowerAt(place, k)
	return m
}

// withinWord prices a lower-case letter by its place: the longer the word, the likelier it is that its token has ended.
func withinWord(place int) Feature {
	switch {
	case place < 3:
		return Lower2To3
	case place < 6:
		return Lower4To6
	}
	return Lower7AndOn
}

// wordAfter prices the first letter of a word by what stands before it: a token may begin with a space, and with little else.
func wordAfter(s State) Feature {
	switch {
	case s == LineStart:
		return WordAfterNewline
	case s == OneSpace:
		return WordAfterSpace
	case s.blank():
		return WordAfterSpaces
	case s.punct():
		return WordAfterPunct
	case s.digit():
		return WordAfterDigit
	}
	return WordAfterNonASCII
}

// upper prices a capital. A word may begin with one at little cost; in the middle of a word it starts a new token.
func upper(s State, k kind) Move {
	m := Move{Next: Upper1}
	switch {
	case s.lower():
		m.fire(CapitalAfterLower)
	case s == Upper1:
		m.fire(Capital2)
		m.Next = Upper2
	case s.upper():
		m.fire(Capital3AndOn)
		m.Next = Upper3
	default:
		m.fire(wordAfter(s))
		m.fire(Capital)
	}
	m.fireIf(k == rareUpper, RareUpper)
	return m
}

// number groups digits by three, as cl100k and its heirs do. Where a tokenizer takes digits one by one, the fit says so by
// the prices of the three.
func number(s State) Move {
	switch {
	case s == Digit1:
		return Move{Next: Digit2, Fires: [3]Feature{Digit2To3}}
	case s == Digit2:
		return Move{Next: Digit3, Fires: [3]Feature{Digit2To3}}
	case s == Digit3:
		return Move{Next: Digit1, Fires: [3]Feature{Digit4}}
	case s.lower() || s.upper():
		return Move{Next: Digit1, Fires: [3]Feature{NumberAfterLetter}}
	case s == OneSpace:
		return Move{Next: Digit1, Fires: [3]Feature{NumberAfterSpace}}
	case s == Spaces || s == Tab:
		return Move{Next: Digit1, Fires: [3]Feature{NumberAfterSpaces}}
	}
	return Move{Next: Digit1, Fires: [3]Feature{Number}}
}

// punct prices punctuation. Vocabularies have long rows of one mark, which cost next to nothing, and many pairs. A mark after a
// space takes the space along.
func punct(s State, group kind) Move {
	m := Move{Next: Underscore + State(group)}
	switch {
	case s == m.Next:
		m.fire(firstRepeat + Feature(group))
	case s.punct():
		m.fire(PunctAfterPunct)
		m.fireIf(m.Next == Backslash, BackslashAfterPunct)
	default:
		m.fire(firstPunct + Feature(group))
		m.fireIf(s == OneSpace, PunctAfterSpace)
	}
	return m
}

// blank prices spaces, tabs and newlines. A newline joins the punctuation before it, and the newlines before it.
func blank(s State, b byte) Move {
	switch b {
	case ' ':
		return spaces(s)
	case '\t':
		return Move{Next: Tab, Fires: [3]Feature{pick(s == Tab, TabRepeat, TabFirst)}}
	}
	switch {
	case s == LineStart:
		return Move{Next: LineStart, Fires: [3]Feature{NewlineRepeat}}
	case s.punct():
		return Move{Next: LineStart, Fires: [3]Feature{NewlineAfterPunct}}
	}
	return Move{Next: LineStart, Fires: [3]Feature{Newline}}
}

// spaces tells the one space that joins the word behind it from indentation and from the space of columns.
func spaces(s State) Move {
	switch s {
	case OneSpace, Spaces:
		return Move{Next: Spaces, Fires: [3]Feature{SpaceRepeat}}
	case LineStart, Tab:
		return Move{Next: Spaces, Fires: [3]Feature{Indent}}
	}
	m := Move{Next: OneSpace, Fires: [3]Feature{Space}}
	// The one sign of a language other than English that ASCII shows: casa, tempo, taloni.
	m.fireIf(s.openVowel() && s.place() > 2, SpaceAfterVowel)
	return m
}

// fire puts f into the first free place.
func (m *Move) fire(f Feature) {
	for i := range m.Fires {
		if m.Fires[i] == None {
			m.Fires[i] = f
			return
		}
	}
}

func (m *Move) fireIf(condition bool, f Feature) {
	if condition {
		m.fire(f)
	}
}

// pick stands for the conditional expression that Go has not.
func pick[T any](condition bool, yes, no T) T {
	if condition {
		return yes
	}
	return no
}
