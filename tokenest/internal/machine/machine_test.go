package machine_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/eino-toolresult/toolresult/tokenest/internal/machine"
)

// fired returns the features that the last byte of text fires, read from the start.
func fired(text string) string {
	s, names := machine.LineStart, []string(nil)
	for i := range len(text) {
		m := machine.Step(s, text[i])
		s, names = m.Next, nil
		for _, f := range m.Fires {
			if f != machine.None {
				names = append(names, f.String())
			}
		}
	}
	return strings.Join(names, " ")
}

func TestLastByteFires(t *testing.T) {
	cases := []struct{ text, want, reason string }{
		{"a", "WordAfterNewline", "a text begins like a line"},
		{" a", "WordAfterSpaces", "a space at the start of a line is indentation"},
		{"x a", "WordAfterSpace", "the common case"},
		{"x  a", "WordAfterSpaces", "only one space joins the word"},
		{"\ta", "WordAfterSpaces", "a tab is blank"},
		{"(a", "WordAfterPunct", ""},
		{"1a", "WordAfterDigit", ""},
		{"я a", "WordAfterSpace", "a space parts scripts"},
		{"яa", "WordAfterNonASCII", ""},
		{"ab", "Lower2To3", ""},
		{"at", "Lower2To3", "a consonant after a vowel is no pair"},
		{"abc", "Lower2To3 ConsonantPair", ""},
		{"abac", "Lower4To6", "the fourth letter"},
		{"abacabac", "Lower7AndOn", "the place stops at seven"},
		{"azz", "Lower2To3 ConsonantPair RareLower", "three at once is the most"},
		{"Zb", "Lower2To3", "a capital is the first letter of its word"},
		{"ABc", "LowerAfterCapitals", "what base64 is made of"},
		{"éa", "LowerAfterAccent", ""},
		{"A", "WordAfterNewline Capital", ""},
		{"aB", "CapitalAfterLower", "camel case"},
		{"aK", "CapitalAfterLower RareUpper", ""},
		{"AB", "Capital2", ""},
		{"ABCDE", "Capital3AndOn", ""},
		{"1", "Number", "a line's start is no space"},
		{"x 1", "NumberAfterSpace", ""},
		{"x  1", "NumberAfterSpaces", "a column"},
		{"x1", "NumberAfterLetter", ""},
		{"123", "Digit2To3", ""},
		{"1234", "Digit4", "the next group begins"},
		{"1234567", "Digit4", "and the next"},
		{"_", "PunctUnderscore", ""},
		{"x \\", "PunctBackslash PunctAfterSpace", ""},
		{"--", "RepeatHyphen", ""},
		{"\\\\", "RepeatBackslash", "the last kind has the last feature"},
		{"-+", "PunctAfterPunct", ""},
		{"\"\\", "PunctAfterPunct BackslashAfterPunct", ""},
		{"§ ~", "PunctOther PunctAfterSpace", ""},
		{"of ", "Space", ""},
		{"to ", "Space", "a short word may end in a vowel"},
		{"casa ", "Space SpaceAfterVowel", "a longer one is seldom English"},
		{"case ", "Space", "e ends half of English"},
		{"x  ", "SpaceRepeat", ""},
		{"\n ", "Indent", ""},
		{"x\t", "TabFirst", ""},
		{"\t\t", "TabRepeat", ""},
		{"x\n", "Newline", ""},
		{"x.\n", "NewlineAfterPunct", ""},
		{"x\r\n", "NewlineRepeat", "a carriage return is a newline"},
		{"x\x1b", "Escape", ""},
		{"x\x00", "Control", ""},
		{"x\x00\x7f", "ControlRepeat", ""},
		{"\x1b\x00", "ControlRepeat", "an escape is a control"},
	}
	for _, c := range cases {
		require.Equal(t, c.want, fired(c.text), "%q: %s", c.text, c.reason)
	}
}

// charged returns the features that the last character of text fires, whichever of its bytes does.
func charged(text string) string {
	var before, after [machine.Features]int
	r := []rune(text)
	machine.Count(string(r[:len(r)-1]), &before)
	machine.Count(text, &after)
	var names []string
	for f := 1; f < machine.Features; f++ {
		if after[f] > before[f] {
			names = append(names, machine.Feature(f).String())
		}
	}
	return strings.Join(names, " ")
}

func TestCharactersBeyondASCIIAreChargedOnce(t *testing.T) {
	cases := []struct{ text, want, reason string }{
		{"é", "Latin1", ""},
		{"né", "Latin1Next", "it goes on with a Latin word"},
		{"ł", "LatinExtended", ""},
		{"ął", "LatinExtendedNext", ""},
		{"ư", "Vietnamese", "two bytes"},
		{"tế", "VietnameseNext", "three bytes"},
		{"ω", "Greek", ""},
		{"λω", "GreekNext", ""},
		{"я", "Cyrillic", ""},
		{"яя", "CyrillicNext", ""},
		{"ա", "Armenian", ""},
		{"ש", "Hebrew", ""},
		{"שש", "HebrewNext", ""},
		{"ب", "Arabic", ""},
		{"بب", "ArabicNext", ""},
		{"ی", "Persian", "letters that Arabic has not"},
		{"بی", "PersianNext", "within one word"},
		{"क", "Devanagari", ""},
		{"कक", "DevanagariNext", ""},
		{"க", "Indic", "Tamil"},
		{"กก", "ThaiNext", ""},
		{"က", "Myanmar", ""},
		{"ქქ", "GeorgianNext", ""},
		{"ក", "Khmer", ""},
		{"ᐁ", "ThreeByteScript", "Canadian syllabics, for all the rest"},
		{"か", "Kana", ""},
		{"かか", "KanaNext", ""},
		{"、", "CJKPunct", ""},
		{"，", "CJKPunct", "full width"},
		{"中", "Han", ""},
		{"中中", "HanNext", ""},
		{"㐀", "Han", "an extension behind the lead byte of kana"},
		{"한한", "HangulNext", ""},
		{"“", "Typographic", ""},
		{"│", "BoxDrawing", ""},
		{"──", "BoxDrawingNext", ""},
		{"→", "Symbol", ""},
		{"�", "Replacement", ""},
		{"🙂", "Emoji", ""},
		{"𐍈", "FourByteScript", "Gothic"},
	}
	for _, c := range cases {
		require.Equal(t, c.want, charged(c.text), "%q: %s", c.text, c.reason)
	}
}

func TestEveryMoveStaysInTheMachine(t *testing.T) {
	reached := map[machine.State]bool{machine.LineStart: true}
	fires := map[machine.Feature]bool{}
	for todo := []machine.State{machine.LineStart}; len(todo) > 0; todo = todo[1:] {
		for b := range 256 {
			m := machine.Step(todo[0], byte(b))
			require.Less(t, int(m.Next), machine.States, "state %d at byte %#x", todo[0], b)
			if !reached[m.Next] {
				reached[m.Next] = true
				todo = append(todo, m.Next)
			}
			for _, f := range m.Fires {
				fires[f] = true
			}
		}
	}
	require.Len(t, reached, machine.States, "a state that nothing leads to is dead")
	require.Len(t, fires, machine.Features, "a feature that nothing fires has no price to fit")
}

func TestEveryFeatureHasItsOwnName(t *testing.T) {
	names := map[string]bool{}
	for f := range machine.Features {
		names[machine.Feature(f).String()] = true
	}
	require.Len(t, names, machine.Features)
	require.Equal(t, "FourByteScript", machine.FourByteScript.String(), "the last name belongs to the last feature")
	require.Equal(t, "Newline", machine.Newline.String(), "and one in the middle to its own")
}
