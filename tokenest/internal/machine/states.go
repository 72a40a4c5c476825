package machine

// The states are all that the machine remembers. Each is there because vocabularies part texts by it: what joins a word and
// what does not, where a word is likely to be cut, how digits are grouped, which script is read.

// State says what the byte before was. The machine starts at LineStart.
type State uint8

// The states. Letters know how far into the word they are, digits their place in a group of three, and bytes beyond ASCII
// their script: these are what the vocabularies of tokenizers are sensitive to.
const (
	LineStart State = iota // start of the text or of a line
	OneSpace
	Spaces // two or more spaces, or indentation
	Tab

	// Most vocabularies have all numbers up to 999 and none beyond, so digits go by three.
	Digit1 // first digit of a group
	Digit2
	Digit3

	// What follows a mark depends on the mark: a dot may begin ".com", a slash "/usr".
	Underscore // eleven kinds of punctuation, in the order of punctKinds
	Hyphen
	Dot
	Comma
	Slash
	Quote
	Colon
	Bracket
	Compare
	OtherPunct
	Backslash
	Controls // control characters and escapes

	// A long word is in no vocabulary, nor is a word that looks like no English one, so letters count and tell vowels.
	Lower        // first of 21: the letter's place in the word, 1 to 7 and on, thrice: e, another vowel, consonant
	Upper1       = Lower + 3*lowerPlaces
	Upper2       = Upper1 + 1
	Upper3       = Upper1 + 2 // and on
	LatinBeyond  = Upper1 + 3 // é, ł, Vietnamese
	GreekScript  = Upper1 + 4
	Cyrillics    = Upper1 + 5
	TwoBytes     = Upper1 + 6 // Hebrew, Arabic, Armenian and other scripts of two bytes a letter
	ThreeBytes   = Upper1 + 7 // Indic, Thai and other alphabets of three bytes a letter
	Symbols      = Upper1 + 8 // symbols and general punctuation
	KanaScript   = Upper1 + 9 // kana, CJK punctuation
	HanScript    = Upper1 + 10
	HangulScript = Upper1 + 11
	FourBytes    = Upper1 + 12 // emoji and rare characters
	BoxLines     = Upper1 + 13

	// A lead byte was seen, and the second byte tells the script. Same: the character before was of a script with this lead.
	LeadE0     = Upper1 + 14
	LeadE0Same = Upper1 + 15
	LeadE1     = Upper1 + 16
	LeadE1Same = Upper1 + 17
	LeadE2     = Upper1 + 18
	LeadE2Same = Upper1 + 19
	LeadE3     = Upper1 + 20
	LeadE3Same = Upper1 + 21
	LeadEF     = Upper1 + 22
	LeadF0     = Upper1 + 23

	States = int(Upper1) + 24
)

// lowerPlaces is where a word stops being counted. The lanes of the engine rely on it: a state must not depend on bytes far
// back, or guesses at it would be wrong often.
const lowerPlaces = 7

// lowerAt returns the state of a lower-case letter at a place of the word, counted from 0.
func lowerAt(place int, k kind) State {
	return Lower + State(3*min(place, lowerPlaces-1)) + State(min(k, consonant)-letterE)
}

func (s State) blank() bool     { return s <= Tab }
func (s State) digit() bool     { return Digit1 <= s && s <= Digit3 }
func (s State) punct() bool     { return Underscore <= s && s <= Backslash }
func (s State) lower() bool     { return Lower <= s && s < Upper1 }
func (s State) upper() bool     { return Upper1 <= s && s <= Upper3 }
func (s State) latin() bool     { return s.lower() || s.upper() || s == LatinBeyond }
func (s State) consonant() bool { return s.lower() && (s-Lower)%3 == 2 }

// openVowel reports whether the letter is a, i, o or u: few English words end in one.
func (s State) openVowel() bool { return s.lower() && (s-Lower)%3 == 1 }

// place returns how many letters of the word came before this one, for a lower-case letter.
func (s State) place() int { return int(s-Lower) / 3 }
