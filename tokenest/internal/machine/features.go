package machine

// Feature names a part of a move. Its cost is what a profile gives it.
type Feature uint8

// The features. The order is free but for two rules: the punctuation kinds follow the order of punctKinds, and the
// feature of a script's next character follows that of its first.
const (
	None Feature = iota // costs nothing

	WordAfterSpace
	WordAfterSpaces
	WordAfterNewline
	WordAfterPunct
	WordAfterDigit
	WordAfterNonASCII
	Lower2To3     // second and third letter of a word
	Lower4To6     // fourth to sixth
	Lower7AndOn   // every letter from the seventh on
	ConsonantPair // a consonant after a consonant, besides its place
	LowerAfterAccent
	RareLower          // j q x z, besides its place
	LowerAfterCapitals // a lower-case letter after two capitals or more
	Capital            // besides the word that it begins
	CapitalAfterLower
	Capital2
	Capital3AndOn
	RareUpper // J K Q V W X Y Z, besides the rest

	Number // a digit after punctuation, a line's start or a character beyond ASCII
	NumberAfterSpace
	NumberAfterSpaces
	NumberAfterLetter
	Digit2To3
	Digit4 // the first digit of the next group of three

	PunctUnderscore // punctuation after anything but punctuation, eleven kinds
	PunctHyphen
	PunctDot
	PunctComma
	PunctSlash
	PunctQuote
	PunctColon
	PunctBracket
	PunctCompare
	PunctOther
	PunctBackslash
	RepeatUnderscore // punctuation after the same kind
	RepeatHyphen
	RepeatDot
	RepeatComma
	RepeatSlash
	RepeatQuote
	RepeatColon
	RepeatBracket
	RepeatCompare
	RepeatOther
	RepeatBackslash
	PunctAfterPunct     // of another kind
	BackslashAfterPunct // besides that
	PunctAfterSpace     // besides its kind

	Space // after a word, a number or punctuation
	SpaceAfterVowel
	SpaceRepeat
	Indent // the first space of a line
	TabFirst
	TabRepeat
	Newline
	NewlineAfterPunct
	NewlineRepeat
	Escape // ESC, the start of a terminal's colour sequence
	Control
	ControlRepeat

	Latin1 // the first character of a script, then the next ones
	Latin1Next
	LatinExtended
	LatinExtendedNext
	Vietnamese
	VietnameseNext
	Greek
	GreekNext
	Cyrillic
	CyrillicNext
	Armenian
	ArmenianNext
	Hebrew
	HebrewNext
	Arabic
	ArabicNext
	Persian
	PersianNext
	Devanagari
	DevanagariNext
	Indic
	IndicNext
	Thai
	ThaiNext
	Myanmar
	MyanmarNext
	Georgian
	GeorgianNext
	Khmer
	KhmerNext
	ThreeByteScript
	ThreeByteScriptNext
	Kana
	KanaNext
	Han
	HanNext
	Hangul
	HangulNext
	BoxDrawing
	BoxDrawingNext
	CJKPunct
	Typographic
	Symbol
	Replacement // U+FFFD and its neighbours
	Emoji
	FourByteScript

	Features = int(iota)

	firstPunct  = PunctUnderscore
	firstRepeat = RepeatUnderscore
)
