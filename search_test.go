package toolresult_test

// The search tool. Whoever follows the hints reaches every match.

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/cloudwego/eino/adk"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eino-toolresult/toolresult"
)

type searchCase struct{ reason, text, pattern string }

func searchCases() []searchCase {
	lines := numberedLines(300)
	json := `{"a":"` + strings.Repeat("x", 700) + `","error":"first"` + strings.Repeat(`,"key":"value","n":12`, 400) + `,"error":"last"}`
	base64 := strings.Repeat("QUJDREVGR0hJSktMTU5PUFFS", 500)
	return []searchCase{
		{"a word in every line", lines, "line"},
		{"one line of many", lines, `line 000234`},
		{"nothing", lines, "absent"},
		{"any of several", lines, `00001\d|00020[0-5]`},
		{"a hit inside a line of 5 000 characters", lines + strings.Repeat("left ", 500) + "HIT" + strings.Repeat(" right", 500) + "\n" + lines, "HIT"},
		{"a base64 line that matches, and a short one behind it", base64 + "\n" + lines, `[A-Z]{4}|000299`},
		{"one line, several hits", json, "error"},
		{"one line, thousands of hits beside each other", json, "."},
		{"one line, thousands of hits apart", strings.Repeat(strings.Repeat("-", 700)+"needle", 100), "needle"},
		{"quotes, which read otherwise when begun in the middle", json, `"[^"]*"`},
		{"a match longer than what is shown of it", base64, `[A-Z]\w+`},
		{"an alternative that could begin too early", strings.Repeat(strings.Repeat("ab", 300)+"c", 3), "ab|b.*"},
		{"beginnings of lines", "one\n\n" + base64 + "\ntwo\n", "^"},
		{"beginnings of lines, never of parts of them", strings.Repeat("xy", 3_000) + "\nxy", "^x"},
		{"ends of lines", "one\n\n" + base64 + "\ntwo\n" + base64, "$"},
		{"ends of lines, never of parts of them", strings.Repeat("xy", 3_000) + "\nxy", "y$"},
		{"ends of CRLF lines", "one\r\n" + base64 + "\r\ntwo\r\n", "(?:e|S|o)$"},
		{"carriage returns inside a line", strings.Repeat("50%\r", 400) + "\r\n", `\r`},
		{"beginnings of words", json, `\berror`},
		{"words", strings.Repeat("cat concat cats ", 200), `\bcat\b`},
		{"insides of words", strings.Repeat("cat concat cats ", 200), `\Bcat`},
		{"nothing or something", "abc\n" + strings.Repeat("xaax", 400), "a*"},
		{"a match that takes in the character before", strings.Repeat("aab", 900), "a+b?"},
		{"an open quotation", strings.Repeat("a.b(", 400) + "\na.b(\n", `\Qa.b(`},
		{"flags", strings.Repeat("Needle hay ", 300), "(?i)NEEDLE"},
		{"characters of several bytes", strings.Repeat("中文😀é", 900) + "\n😀\n", "😀"},
		{"nothing, at every character", strings.Repeat("中", 900), "x*"},
		{"NUL bytes", strings.Repeat("ab\x00", 900) + "\n\x00\n", `\x00`},
		{"bytes that are no text, shown escaped", strings.Repeat("\xff\xfe\xc3a", 900) + "\n\xff\n", "a"},
		{"bytes that are no text, searched for", strings.Repeat("\xff-", 600), `\x{fffd}`},
		{"an empty line", "a\n\nb\n", "^$"},
		{"no newline at the end", "a\nb", "b"},
	}
}

func TestSearchReachesEveryMatch(t *testing.T) {
	for _, c := range searchCases() {
		t.Run(c.reason, func(t *testing.T) {
			requireFound(t, c.text, c.pattern, 0, 0, 0)
			requireFound(t, c.text, c.pattern, 150, 0, 2)
			requireFound(t, c.text, c.pattern, 0, 3, 1)
		})
	}
}

func TestSearchInRealOutputs(t *testing.T) {
	files := realOutputs(t)
	for name, text := range files {
		requireFoundIn(t, text, "error", 50_000, 500, 0, func(m *memory) []toolresult.Reader { return []toolresult.Reader{m} })
		t.Logf("%s: %d bytes", name, len(text))
	}
	t.Logf("%d files searched", len(files))
}

func FuzzSearch(f *testing.F) {
	for _, c := range searchCases() {
		f.Add(c.text[:min(len(c.text), 1_500)], c.pattern, 100, 0, 0)
		f.Add(c.text[:min(len(c.text), 1_500)], c.pattern, 200, 2, 1)
	}
	f.Fuzz(func(t *testing.T, text, pattern string, tokens, limit, around int) {
		if text == "" || pattern == "" || len(pattern) > 50 || len(text) > 5_000 || strings.Contains(text, "offset=") {
			return
		}
		if _, err := regexp.Compile(pattern); err != nil {
			return
		}
		requireFound(t, text, pattern, 100+(tokens&0xff), limit, around&3)
	})
}

func TestSearchAnswers(t *testing.T) {
	text := "alpha\nbeta\ngamma\nBETA\ndelta\nepsilon\nzeta\neta\n"
	for _, c := range []struct {
		reason string
		args   map[string]any
		want   string
	}{
		{"a word", map[string]any{"pattern": "beta"}, "2: beta\n[Matches from line 1 of 8 on: 1. End of result.]"},
		{"in any case", map[string]any{"pattern": "beta", "ignore_case": true},
			"2: beta\n4: BETA\n[Matches from line 1 of 8 on: 2. End of result.]"},
		{"in any case, as text", map[string]any{"pattern": "beta", "ignore_case": "True"},
			"2: beta\n4: BETA\n[Matches from line 1 of 8 on: 2. End of result.]"},
		{"in any case, all alternatives", map[string]any{"pattern": "ALPHA|DELTA", "ignore_case": 1},
			"1: alpha\n5: delta\n[Matches from line 1 of 8 on: 2. End of result.]"},
		{"null is left out", map[string]any{"pattern": "beta", "ignore_case": nil, "context": nil, "limit": nil},
			"2: beta\n[Matches from line 1 of 8 on: 1. End of result.]"},
		{"contexts that overlap are shown once", map[string]any{"pattern": "(?i)beta", "context": 2},
			"1- alpha\n2: beta\n3- gamma\n4: BETA\n5- delta\n6- epsilon\n[Matches from line 1 of 8 on: 2. End of result.]"},
		{"contexts that touch", map[string]any{"pattern": "beta|epsilon", "context": 1},
			"1- alpha\n2: beta\n3- gamma\n5- delta\n6: epsilon\n7- zeta\n[Matches from line 1 of 8 on: 2. End of result.]"},
		{"negative context is none", map[string]any{"pattern": "beta", "context": -3}, "2: beta\n[Matches from line 1 of 8 on: 1. End of result.]"},
		{"a limit", map[string]any{"pattern": "eta$", "limit": 1},
			"2: beta\n[Matches from line 1 of 8 on: 1 so far, more in line 7. Next: offset=7]"},
		{"a limit that is just enough", map[string]any{"pattern": "eta$", "limit": "3"},
			"2: beta\n7: zeta\n8: eta\n[Matches from line 1 of 8 on: 3. End of result.]"},
		{"from a line on", map[string]any{"pattern": "eta$", "offset": 3}, "7: zeta\n8: eta\n[Matches from line 3 of 8 on: 2. End of result.]"},
		{"from a line on, with what stands before it", map[string]any{"pattern": "eta$", "offset": 7, "limit": 1, "context": 2},
			"5- delta\n6- epsilon\n7: zeta\n[Matches from line 7 of 8 on: 1 so far, more in line 8. Next: offset=8]"},
		{"lines before the offset are no matches", map[string]any{"pattern": ".", "offset": 8, "context": 1},
			"7- zeta\n8: eta\n[Matches from line 8 of 8 on: 1. End of result.]"},
		{"a byte offset is repeated", map[string]any{"pattern": "eta$", "byte_offset": 0, "limit": 1},
			"2: beta\n[Matches from line 1 of 8 on: 1 so far, more in line 7. Next: offset=7 byte_offset=0]"},
		{"from the middle of a line on", map[string]any{"pattern": "a", "byte_offset": 3, "limit": 1},
			"1: alpha [offset=1 byte_offset=0]\n[Matches from line 1 of 8 on: 1 so far, more in line 2. Next: offset=2 byte_offset=0]"},
		{"^ is not in the middle of a line", map[string]any{"pattern": "^pha|^b", "byte_offset": 2},
			"2: beta\n[Matches from line 1 of 8 on: 1. End of result.]"},
		{`\b is not in the middle of a word`, map[string]any{"pattern": `\bpha|\bb`, "byte_offset": 2},
			"2: beta\n[Matches from line 1 of 8 on: 1. End of result.]"},
		{"nothing", map[string]any{"pattern": "omega"}, "[Matches from line 1 of 8 on: 0. End of result.]"},
		{"behind the end", map[string]any{"pattern": "a", "offset": 9}, "[offset=9 is behind the end. The result has 8 lines. Use smaller values.]"},
		{"a newline never matches", map[string]any{"pattern": `alpha\nbeta`}, "[Matches from line 1 of 8 on: 0. End of result.]"},
	} {
		assert.Equal(t, c.want, searchIn(t, text, c.args), c.reason)
	}
	assert.Equal(t, "[The result is empty.]", searchIn(t, "", map[string]any{"pattern": "a"}))
	assert.Contains(t, searchIn(t, text, map[string]any{"pattern": "a", "ignore_case": "perhaps"}), "perhaps is not true or false")
}

func TestPatternsThatCannotBeSearchedFor(t *testing.T) {
	files := newMemory()
	files.files[pagePath] = "text"
	for _, c := range []struct{ reason, pattern, want string }{
		{"nothing", "", "1"},
		{"too long", strings.Repeat("中", 1_000_000), "1000"},
		{"an open bracket", "(", "RE2"},
		{"a lookahead, which RE2 has not", "(?=x)" + strings.Repeat("y", 900), "RE2"},
		{"a backreference", `(a)\1`, "RE2"},
		{"nothing to repeat", "*", "RE2"},
		{"far too many repetitions", "(((a{100}){100}){100}){100}", "RE2"},
		{"too deep", strings.Repeat("(", 495) + strings.Repeat(")", 495) + "[", "RE2"},
		{"not UTF-8", "[\xff", "RE2"},
		{"control characters", "[\x00\n\x1b", "RE2"},
	} {
		for _, lang := range []adk.Language{adk.LanguageEnglish, adk.LanguageChinese} {
			search := newSearcher(t, &toolresult.SearchConfig{Backend: files, MaxTokens: 100, Language: lang})
			assert.Contains(t, ask(t, search, 100, map[string]any{"file_path": pagePath, "pattern": c.pattern}), c.want, c.reason)
		}
	}
}

// TestOneLineDoesNotFillAnAnswer has a line with thousands of matches before the one that matters.
func TestOneLineDoesNotFillAnAnswer(t *testing.T) {
	text := strings.Repeat("QUJDREVG", 20_000) + "\nthe verdict: ABCD\n"
	answer := searchIn(t, text, map[string]any{"pattern": "[A-Z]{4}"})
	assert.Contains(t, answer, "2: the verdict: ABCD\n")
	assert.Regexp(t, `more in line 1\. Next: offset=1 byte_offset=\d+\]$`, answer, "and the rest of the line is not forgotten")
	offset, byteOffset, _, _ := nextArgs(answer)
	next := searchIn(t, text, map[string]any{"pattern": "[A-Z]{4}", "offset": offset, "byte_offset": byteOffset})
	assert.Greater(t, len(next), len(answer)*3/2, "who asks for the rest of a line gets it in full answers")
}

// TestSearchAcrossPieces puts a match across every place where a long line or text is cut into pieces.
func TestSearchAcrossPieces(t *testing.T) {
	const piece, overlap = 1 << 20, 4 << 10
	for _, border := range []int{piece - overlap, piece, 2*piece - 2*overlap, 2*piece - overlap} {
		for _, delta := range []int{-256, -5} {
			text := []byte(strings.Repeat("0123 56789", 9*piece/4/10))
			at := border + delta
			copy(text[at:], " the needle ")
			for pattern, found := range map[string]int{`the needle\b`: 1, `the needle$`: 0, ` the needle `: 1} {
				answer := searchIn(t, string(text), map[string]any{"pattern": pattern})
				require.Contains(t, answer, fmt.Sprintf(" on: %d. End", found), "%s at %d", pattern, at)
			}
			text[at+1+len("the needle")], text[at] = '\n', '\n'
			answer := searchIn(t, string(text), map[string]any{"pattern": "the needle$"})
			require.Contains(t, answer, "2: the needle\n", "a line of its own at %d", at)
		}
	}
	text := strings.Repeat(" ", piece-overlap) + "needle" + strings.Repeat(" ", 2*overlap)
	for pattern, found := range map[string]int{`\bneedle`: 1, `\Bneedle`: 0, `\beedle`: 0, `^needle`: 0} {
		answer := searchIn(t, text, map[string]any{"pattern": pattern})
		require.Contains(t, answer, fmt.Sprintf(" on: %d. End", found), pattern)
	}
}

// TestMatchesInPiecesOfALongLine has matches everywhere in a line of several pieces.
func TestMatchesInPiecesOfALongLine(t *testing.T) {
	requireFound(t, strings.Repeat(strings.Repeat("-+", 1_500)+"中needle", 900), "needle", 20_000, 500, 0)
}

// TestContextOfALongLine has a match behind the first mebibyte of a line, whose beginning is no context of its own.
func TestContextOfALongLine(t *testing.T) {
	text := "above\n" + strings.Repeat("-", 1<<20) + "needle" + strings.Repeat("-", 1_000) + "\nbelow\n"
	answer := searchIn(t, text, map[string]any{"pattern": "needle", "context": 1})
	require.Regexp(t, `^1- above\n2: -{200}needle-{394} \[offset=2 byte_offset=1048376\]\n3- below\n\[Matches`, answer)
	answer = searchIn(t, text, map[string]any{"pattern": "below", "context": 1})
	require.Regexp(t, `^2- -{500} \[offset=2 byte_offset=0\]\n3: below\n\[Matches`, answer, "as context its beginning is shown")
}

// TestContextWithoutRoom leaves context out rather than a match, and what is beyond a gap as well.
func TestContextWithoutRoom(t *testing.T) {
	files := newMemory()
	long := strings.Repeat("-", 100)
	files.files[pagePath] = long + "\nnear\nneedle" + long + "\n" + long + "\nbeyond\n"
	search := newSearcher(t, &toolresult.SearchConfig{Backend: files, MaxTokens: 100})
	answer := ask(t, search, 100, map[string]any{"file_path": pagePath, "pattern": "needle", "context": 3})
	require.Equal(t, "2- near\n3: needle"+long+"\n[Matches from line 1 of 5 on: 1. End of result.]", answer)
}

// endingSoon is a context that ends after it has been asked so many times.
type endingSoon struct {
	context.Context
	left *int
}

func (c endingSoon) Err() error {
	if *c.left--; *c.left < 0 {
		return context.Canceled
	}
	return nil
}

func TestContextEndsDuringASearch(t *testing.T) {
	files := newMemory()
	files.files[pagePath] = strings.Repeat(strings.Repeat("-", 900)+"needle", 30)
	left := 5
	args := fmt.Sprintf(`{"file_path":%q,"pattern":"needle","byte_offset":1}`, pagePath)
	_, err := newSearcher(t, &toolresult.SearchConfig{Backend: files}).InvokableRun(endingSoon{t.Context(), &left}, args)
	require.ErrorIs(t, err, context.Canceled, "a line with many matches does not keep a run from ending")
}

// TestSearchIsLinear allows a hundred times what is needed: it fails where the cost is not linear in the text.
func TestSearchIsLinear(t *testing.T) {
	files := newMemory()
	files.files[pagePath] = strings.Repeat("a", 1<<18) + "\n" + strings.Repeat("ab\n", 1<<15)
	search := newSearcher(t, &toolresult.SearchConfig{Backend: files, MaxTokens: 400})
	for _, c := range []struct{ reason, pattern string }{
		{"nothing to find", "c$"},
		{"a match at every byte", "a"},
		{"one match that is all", "a+"},
		{"an anchor", "^.*b$"},
		{"an empty match at every byte", "x*"},
		{"a pattern that looks to the end of the line at each match", "a(.*z)?"},
	} {
		began := time.Now()
		ask(t, search, 400, map[string]any{"file_path": pagePath, "pattern": c.pattern, "byte_offset": 100})
		took := time.Since(began)
		t.Logf("%s: %v", c.reason, took)
		assert.Less(t, took, 60*time.Second, c.reason)
	}
}

// TestLargestEntriesFit has bytes that take four times their room, on lines with long numbers.
func TestLargestEntriesFit(t *testing.T) {
	text := strings.Repeat("\n", 100_000) + strings.Repeat("\xff", 2_000) + "needle" + strings.Repeat("\x00", 2_000) + "\n" + strings.Repeat("\xff", 37) + "needle"
	for _, tokens := range []int{100, 101, 110, 150, 300} {
		requireFound(t, text, "needle", tokens, 0, 3)
	}
}

func TestSearchInEveryBackend(t *testing.T) {
	text := numberedLines(30_000)
	for name, backend := range backends(t, pagePath, text) {
		answer := ask(t, newSearcher(t, &toolresult.SearchConfig{Backend: backend}), 0,
			map[string]any{"file_path": pagePath, "pattern": "02900[01]", "context": 1})
		assert.Equal(t, "28999- line 028999 of a text that is meant to be long...\n29000: line 029000 of a text that is meant to be long...\n"+
			"29001: line 029001 of a text that is meant to be long...\n29002- line 029002 of a text that is meant to be long...\n"+
			"[Matches from line 1 of 30000 on: 2. End of result.]", answer, name)
	}
}

// TestSearchByRanges never loads a file whole.
func TestSearchByRanges(t *testing.T) {
	files := newMemory()
	files.files[pagePath] = numberedLines(100_000) + "the verdict\n"
	ranges := &rangedMemory{memory: files}
	answer := ask(t, newSearcher(t, &toolresult.SearchConfig{Backend: ranges}), 0, map[string]any{"file_path": pagePath, "pattern": "verdict$"})
	require.Contains(t, answer, "100001: the verdict\n")
	require.Zero(t, ranges.whole)
	require.LessOrEqual(t, ranges.longest, 1<<20)
	require.Less(t, ranges.bytes, 5_500_000, "and little of it twice")
}
