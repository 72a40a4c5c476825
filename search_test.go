package toolresult_test

// The search tool. Whoever follows the hints reaches every match: what package regexp finds line by line is compared with
// what the answers show.

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/components/tool"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eino-toolresult/toolresult"
)

func newSearcher(t testing.TB, cfg *toolresult.SearchConfig) tool.InvokableTool {
	t.Helper()
	search, err := toolresult.NewSearchTool(context.Background(), cfg)
	require.NoError(t, err)
	return search
}

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
	files := outputs(t)
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

// requireFound follows the hints of a search and compares what is shown with what is there, for all kinds of backends.
func requireFound(t *testing.T, text, pattern string, tokens, limit, around int) {
	t.Helper()
	requireFoundIn(t, text, pattern, tokens, limit, around, kinds)
}

func requireFoundIn(t *testing.T, text, pattern string, tokens, limit, around int, in func(*memory) []toolresult.Reader) {
	t.Helper()
	files := newMemory()
	files.files[pagePath] = text
	var want []string
	for _, backend := range in(files) {
		search := newSearcher(t, &toolresult.SearchConfig{Backend: backend, MaxTokens: tokens})
		answers := allPages(t, search, tokens, map[string]any{"file_path": pagePath, "pattern": pattern, "limit": limit, "context": around})
		if want == nil {
			want = answers
			requireShown(t, text, pattern, around, answers)
		}
		require.Equal(t, want, answers, "what a backend can do must not change an answer")
	}
}

// shownLine is what an answer shows of a line: all of it, or a part from a byte on.
type shownLine struct {
	number  int
	match   bool
	text    string
	from    int
	partial bool
}

var shownPart = regexp.MustCompile(` \[offset=(\d+) byte_offset=(\d+)\]$`)

// shownLines takes an answer apart.
func shownLines(t *testing.T, lines []string, answer string) (shown []shownLine) {
	body := strings.Split(answer, "\n")
	for _, entry := range body[:len(body)-1] {
		digits := strings.IndexAny(entry, ":-")
		require.Positive(t, digits, "an entry has a label: %q", entry)
		number, err := strconv.Atoi(entry[:digits])
		require.NoError(t, err)
		s := shownLine{number: number, match: entry[digits] == ':', text: entry[digits+2:]}
		if found := shownPart.FindStringSubmatch(s.text); found != nil && !strings.HasSuffix(lines[number-1], found[0]) {
			s.partial, s.text = true, strings.TrimSuffix(s.text, found[0])
			s.from, _ = strconv.Atoi(found[2])
			require.Equal(t, strconv.Itoa(number), found[1], "a hint names its own line")
		}
		shown = append(shown, s)
	}
	return shown
}

// covers reports whether a shown line has the bytes of a match, or its beginning where it is a long one.
func (s shownLine) covers(line string, start, end int) bool {
	if end-start > 12 {
		end = start + 1
	}
	return s.from <= start && end-s.from <= len(s.text) && len(shownText(line[s.from:end])) <= len(s.text)
}

func requireShown(t *testing.T, text, pattern string, around int, answers []string) {
	t.Helper()
	compiled := regexp.MustCompile(pattern)
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	for i := range lines {
		lines[i] = strings.TrimSuffix(lines[i], "\r")
	}
	shown := map[int][]shownLine{} // by number
	for _, answer := range answers {
		parts := shownLines(t, lines, answer)
		requireOrdered(t, lines, parts)
		for _, s := range parts {
			line := lines[s.number-1]
			there := shownText(line[s.from:min(len(line), s.from+len(s.text)+4)]) // up to here, and a whole character
			require.True(t, strings.HasPrefix(there, s.text), "what is shown is there: %d: %.200q", s.number, s.text)
			require.True(t, s.partial || s.text == there, "a line without a hint is whole: %.200q", s.text)
			if s.match {
				shown[s.number] = append(shown[s.number], s)
			} else {
				requireNear(t, compiled, lines, s.number, around)
			}
		}
	}
	for i, line := range lines {
		matches := compiled.FindAllStringIndex(line, -1)
		if len(matches) == 0 && len(shown[i+1]) > 0 {
			require.Fail(t, "a line is shown, but does not match", "line %d: %.100q", i+1, line)
		}
		next := 0
		for _, m := range matches {
			for next < len(shown[i+1]) && !shown[i+1][next].covers(line, m[0], m[1]) {
				next++
			}
			if next == len(shown[i+1]) {
				require.Fail(t, "a match is not shown", "byte %d of line %d", m[0], i+1)
			}
		}
	}
}

// requireOrdered demands that an answer goes forward and shows nothing twice, but for a match that one window cuts.
func requireOrdered(t *testing.T, lines []string, parts []shownLine) {
	t.Helper()
	for i := 1; i < len(parts); i++ {
		a, b := parts[i-1], parts[i]
		if a.number < b.number {
			continue
		}
		require.True(t, a.number == b.number && b.match && a.partial && b.partial, "line %d behind line %d", b.number, a.number)
		between := b.from - a.from
		if between < len(a.text) {
			between = len(shownText(lines[a.number-1][a.from:max(a.from, b.from)]))
		}
		require.LessOrEqual(t, len(a.text), between+200, "line %d: bytes from %d on are shown again", a.number, b.from)
	}
}

func requireNear(t *testing.T, pattern *regexp.Regexp, lines []string, number, around int) {
	t.Helper()
	for n := max(1, number-around); n <= min(len(lines), number+around); n++ {
		if pattern.MatchString(lines[n-1]) {
			return
		}
	}
	require.Fail(t, "context without a match", "line %d", number)
}

func searchIn(t *testing.T, text string, args map[string]any) string {
	t.Helper()
	files := newMemory()
	files.files[pagePath] = text
	args["file_path"] = pagePath
	return ask(t, newSearcher(t, &toolresult.SearchConfig{Backend: files}), 0, args)
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

// TestSearchIsLinear allows a hundred times what is needed: it fails where the cost is not linear in the text.
func TestSearchIsLinear(t *testing.T) {
	files := newMemory()
	files.files[pagePath] = strings.Repeat("a", 9<<17) + "\n" + strings.Repeat("ab\n", 1<<15)
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
