package machine

import "strings"

// names holds the name of every feature in the order of the constants, as written there.
var names = strings.Fields(`
None
WordAfterSpace WordAfterSpaces WordAfterNewline WordAfterPunct WordAfterDigit WordAfterNonASCII
Lower2To3 Lower4To6 Lower7AndOn ConsonantPair LowerAfterAccent RareLower LowerAfterCapitals
Capital CapitalAfterLower Capital2 Capital3AndOn RareUpper
Number NumberAfterSpace NumberAfterSpaces NumberAfterLetter Digit2To3 Digit4
PunctUnderscore PunctHyphen PunctDot PunctComma PunctSlash PunctQuote
PunctColon PunctBracket PunctCompare PunctOther PunctBackslash
RepeatUnderscore RepeatHyphen RepeatDot RepeatComma RepeatSlash RepeatQuote
RepeatColon RepeatBracket RepeatCompare RepeatOther RepeatBackslash
PunctAfterPunct BackslashAfterPunct PunctAfterSpace
Space SpaceAfterVowel SpaceRepeat Indent TabFirst TabRepeat Newline NewlineAfterPunct NewlineRepeat Escape Control ControlRepeat
Latin1 Latin1Next LatinExtended LatinExtendedNext Vietnamese VietnameseNext Greek GreekNext Cyrillic CyrillicNext
Armenian ArmenianNext Hebrew HebrewNext Arabic ArabicNext Persian PersianNext Devanagari DevanagariNext Indic IndicNext Thai ThaiNext
Myanmar MyanmarNext Georgian GeorgianNext Khmer KhmerNext
ThreeByteScript ThreeByteScriptNext Kana KanaNext Han HanNext Hangul HangulNext
BoxDrawing BoxDrawingNext CJKPunct Typographic Symbol Replacement Emoji FourByteScript
`)

// String returns the name of the feature, as profiles write it.
func (f Feature) String() string { return names[f] }
