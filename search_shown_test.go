package toolresult_test

// What the answers of a search show, taken apart, and held against what package regexp finds.

import (
	"context"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/cloudwego/eino/components/tool"
	"github.com/stretchr/testify/require"

	"github.com/eino-toolresult/toolresult"
)

func newSearcher(t testing.TB, cfg *toolresult.SearchConfig) tool.InvokableTool {
	t.Helper()
	search, err := toolresult.NewSearchTool(context.Background(), cfg)
	require.NoError(t, err)
	return search
}

func searchIn(t *testing.T, text string, args map[string]any) string {
	t.Helper()
	files := newMemory()
	files.files[pagePath] = text
	args["file_path"] = pagePath
	return ask(t, newSearcher(t, &toolresult.SearchConfig{Backend: files}), 0, args)
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
			requireWholeCharacters(t, text, answers)
		}
		require.Equal(t, want, answers, "what a backend can do must not change an answer")
	}
}

// requireWholeCharacters demands that hints name the beginnings of characters.
func requireWholeCharacters(t *testing.T, text string, answers []string) {
	t.Helper()
	lines := strings.Split(text, "\n")
	for _, answer := range answers {
		offset, byteOffset, _, more := nextArgs(answer)
		if more && byteOffset > 0 && utf8.ValidString(text) {
			require.True(t, utf8.RuneStart(lines[offset-1][byteOffset]), "byte %d of line %d is inside a character", byteOffset, offset)
		}
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
