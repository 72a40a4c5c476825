package outline

// The tokens of JSON that have more than one byte, each of which a piece may end in.

import (
	"math/bits"
	"strings"

	"github.com/eino-toolresult/toolresult/internal/runes"
)

// quote is at the beginning of a key or a string.
func (s *jsonScan) quote(at int) int {
	if s.want&wantKey != 0 {
		return s.beginKey(at)
	}
	if s.want&wantValue == 0 || s.depth == 0 {
		return s.fail(at)
	}
	s.begin(at, kindString)
	return s.restOfString(at + 1)
}

func (s *jsonScan) restOfString(at int) int {
	at = s.untilQuote(at)
	switch {
	case at == len(s.text):
		s.within = inString
		return at
	case s.text[at] != '"':
		return s.fail(at)
	}
	return s.valueEnds(at + 1)
}

// untilQuote returns where the string ends, or a control character that no string may have. Eight bytes are looked at
// together: no other loop sees as much of a document as this.
func (s *jsonScan) untilQuote(at int) int {
	text := s.text
	for at < len(text) {
		if s.escaped {
			s.escaped = false
			at += min(1, int(text[at]/' ')) // not over a control character
			continue
		}
		if len(text)-at >= 8 {
			skip := bits.TrailingZeros64(endsString(runes.EightBytes(text[at:]))) / 8
			at += skip
			if skip == 8 {
				continue
			}
		}
		c := text[at]
		if c == '"' || c < ' ' {
			return at
		}
		s.escaped = c == '\\'
		at++
	}
	return at
}

// endsString sets the highest bit of the first byte that is a quote, a backslash or a control character, and perhaps of some
// behind it.
func endsString(x uint64) uint64 {
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	quote, backslash := x^('"'*ones), x^('\\'*ones)
	return ((quote-ones)&^quote | (backslash-ones)&^backslash | (x-' '*ones)&^x) & highs
}

// beginKey is at the opening quote. A key that lies within a piece, as nearly all do, is not copied.
func (s *jsonScan) beginKey(at int) int {
	if s.depth == 1 {
		s.spots.member = s.place(at)
	}
	if spot := s.stack[s.depth-1].spot; spot != nil {
		spot.element(at, s.place(at))
	}
	end := s.untilQuote(at + 1)
	if end == len(s.text) {
		s.within = inKey
		s.key = append(s.key[:0], firstBytes(s.text[at+1:])...)
		return end
	}
	return s.endKey(end, s.text[at+1:end])
}

func (s *jsonScan) restOfKey() int {
	end := s.untilQuote(0)
	if room := keyBytes + 1 - len(s.key); room > 0 {
		s.key = append(s.key, s.text[:min(end, room)]...)
	}
	if end == len(s.text) {
		return end
	}
	s.within = noToken
	return s.endKey(end, string(s.key))
}

// firstBytes keeps a byte more of a key than is compared, which tells that there is more.
func firstBytes(key string) string { return key[:min(len(key), keyBytes+1)] }

// endKey is at the closing quote, or at what no key may have. Keys are compared as they are written, with their escapes.
func (s *jsonScan) endKey(end int, key string) int {
	if s.text[end] != '"' {
		return s.fail(end)
	}
	if len(key) > keyBytes {
		key = strings.ToValidUTF8(key[:keyBytes], "") + "…"
	}
	f := &s.stack[s.depth-1]
	f.count++
	s.members++
	f.slot = nil
	if f.node != nil {
		f.slot, f.hint = s.shapes.member(f.node, key, f.hint, s.depth, s.spots.member)
	}
	s.want = wantColon
	return end + 1
}

// plain is at the beginning of a number or a word, or at a fault.
func (s *jsonScan) plain(at int) int {
	if s.want&wantValue == 0 || s.depth == 0 {
		return s.fail(at)
	}
	c := s.text[at]
	if c == '-' || c-'0' < 10 {
		s.begin(at, kindNumber)
		s.number = numberBegins
		return s.restOfNumber(at)
	}
	word, k := wordAt(c)
	if word == "" {
		return s.fail(at)
	}
	s.begin(at, k)
	s.word = word
	return s.restOfWord(at)
}

// wordAt is the only word that begins with a byte.
func wordAt(c byte) (word string, k kind) {
	switch c {
	case 't':
		return "true", kindBoolean
	case 'f':
		return "false", kindBoolean
	case 'n':
		return "null", kindNull
	case 'N':
		return "NaN", kindNumber
	case 'I':
		return "Infinity", kindNumber
	}
	return "", 0
}

func (s *jsonScan) restOfWord(at int) int {
	for ; at < len(s.text) && s.word != ""; at++ {
		if s.text[at] != s.word[0] {
			return s.fail(at)
		}
		s.word = s.word[1:]
	}
	if s.word != "" {
		s.within = inWord
		return at
	}
	return s.valueEnds(at)
}

// restOfNumber goes to the end of a number, or of -Infinity.
func (s *jsonScan) restOfNumber(at int) int {
	state := s.number
	for ; at < len(s.text); at++ {
		next := state.step(s.text[at])
		if next == numberEnds {
			break
		}
		state = next
	}
	s.number = state
	switch {
	case at == len(s.text):
		s.within = inNumber
		return at
	case state == numberMinus && s.text[at] == 'I':
		s.word = "Infinity"
		return s.restOfWord(at)
	case !state.complete():
		return s.fail(at)
	}
	return s.valueEnds(at)
}
