package main

import "github.com/eino-toolresult/toolresult/tokenest/internal/machine"

// priors are what the features cost by rule of thumb, in tokens. A fit moves away from them as far as its texts say, so
// they decide only for what the texts have little or nothing of. They were set by hand, from how byte-pair vocabularies
// are made and from fits of several of them, and are round on purpose.
var priors = features{
	machine.WordAfterSpace: .4, machine.WordAfterSpaces: .6, machine.WordAfterNewline: .6, machine.WordAfterPunct: .7,
	machine.WordAfterDigit: .8, machine.WordAfterNonASCII: .7,
	machine.Lower2To3: .05, machine.Lower4To6: .1, machine.Lower7AndOn: .1, machine.ConsonantPair: .2,
	machine.LowerAfterAccent: .2, machine.RareLower: .1, machine.LowerAfterCapitals: 2,
	machine.Capital: .1, machine.CapitalAfterLower: .6, machine.Capital2: .3, machine.Capital3AndOn: .2, machine.RareUpper: .5,

	machine.Number: 1.3, machine.NumberAfterSpace: 1.8, machine.NumberAfterSpaces: 2, machine.NumberAfterLetter: 1.3,
	machine.Digit2To3: .1, machine.Digit4: .9,

	machine.PunctUnderscore: .3, machine.PunctHyphen: .5, machine.PunctDot: .4, machine.PunctComma: .7,
	machine.PunctSlash: .4, machine.PunctQuote: .7, machine.PunctColon: .6, machine.PunctBracket: .7,
	machine.PunctCompare: .7, machine.PunctOther: .8, machine.PunctBackslash: .5,
	machine.RepeatUnderscore: .05, machine.RepeatHyphen: .05, machine.RepeatDot: .05, machine.RepeatComma: .3,
	machine.RepeatSlash: .2, machine.RepeatQuote: .2, machine.RepeatColon: .4, machine.RepeatBracket: .3,
	machine.RepeatCompare: .05, machine.RepeatOther: .05, machine.RepeatBackslash: .5,
	machine.PunctAfterPunct: .2, machine.BackslashAfterPunct: 1, machine.PunctAfterSpace: .1,

	machine.Space: .4, machine.SpaceAfterVowel: .4, machine.SpaceRepeat: .02, machine.Indent: .3,
	machine.TabFirst: .5, machine.TabRepeat: .5, machine.Newline: 1.2, machine.NewlineAfterPunct: .7, machine.NewlineRepeat: .3,
	machine.Escape: 1, machine.Control: 1, machine.ControlRepeat: .8,

	machine.Latin1: 1.5, machine.Latin1Next: 1.4, machine.LatinExtended: 1.5, machine.LatinExtendedNext: 1.4,
	machine.Vietnamese: .8, machine.VietnameseNext: .8,
	machine.Greek: .6, machine.GreekNext: .7, machine.Cyrillic: .6, machine.CyrillicNext: .3,
	machine.Armenian: .6, machine.ArmenianNext: 1, machine.Hebrew: .6, machine.HebrewNext: .7,
	machine.Arabic: .5, machine.ArabicNext: .5, machine.Persian: .5, machine.PersianNext: .5,
	machine.Devanagari: .7, machine.DevanagariNext: .7, machine.Indic: .8, machine.IndicNext: 1.2,
	machine.Thai: .6, machine.ThaiNext: .7, machine.Myanmar: .8, machine.MyanmarNext: 1.2,
	machine.Georgian: .8, machine.GeorgianNext: 1.2, machine.Khmer: .8, machine.KhmerNext: 1.2,
	machine.ThreeByteScript: 1.5, machine.ThreeByteScriptNext: 1.8,
	machine.Kana: .6, machine.KanaNext: .7, machine.Han: 1, machine.HanNext: .8, machine.Hangul: .7, machine.HangulNext: .8,
	machine.BoxDrawing: 1.2, machine.BoxDrawingNext: .3, machine.CJKPunct: .6, machine.Typographic: 1.2, machine.Symbol: 1.5,
	machine.Replacement: 1, machine.Emoji: 2, machine.FourByteScript: 3,
}
