package toolresult_test

// Paging through the public tool. Whoever copies the arguments at the end of a page, call after call, must see every
// character of a result once, whatever the result is made of, and no page may be larger than it was allowed to be.

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/cloudwego/eino/components/tool"
	"github.com/stretchr/testify/require"

	"github.com/eino-toolresult/toolresult"
)

const pagePath = "/large_tool_result/call_1"

// pageText is a text with a reason to be among those that are paged through.
type pageText struct{ reason, text string }

func pageTexts() []pageText {
	return []pageText{
		{"lines of a usual length", numberedLines(900)},
		{"no newline at the end", numberedLines(30) + "the last line"},
		{"one character", "x"},
		{"one newline", "\n"},
		{"empty lines, which cost more on a page than in the text", strings.Repeat("\n", 5_000)},
		{"one line far longer than a page", strings.Repeat("0123456789", 20_000)},
		{"one line of characters of four bytes", strings.Repeat("😀", 10_000)},
		{"characters of different sizes, so that cuts fall anywhere", strings.Repeat("aé中😀", 5_000)},
		{"combining characters and joiners", strings.Repeat("e\u0301\u200d👩\u200d👧", 2_000)},
		{"CRLF", strings.ReplaceAll(numberedLines(200), "\n", "\r\n")},
		{"lone carriage returns, as progress bars print them", strings.Repeat("50%\r", 10_000)},
		{"NUL bytes, of which each takes four to be shown", strings.Repeat("\x00", 5_000)},
		{"invalid UTF-8 in every position", strings.Repeat("\xffa\xc3\xe4\xb8b\xf0\x9f\x98\n\x80", 900)},
		{"half a character at the end", numberedLines(3) + "\xf0\x9f\x98"},
		{"a replacement character that is really there", strings.Repeat("\ufffd", 3_000)},
		{"text that looks like an escape", strings.Repeat(`\x00\xff`, 1_000) + "\x00"},
		{"text that looks like a hint", strings.Repeat("[Lines 1-2 of 2, 9 bytes in all. Next: offset=1 byte_offset=0]\n", 200)},
		{"text that looks like a label", strings.Repeat("1: 1: \n: 7\n", 400)},
		{"short lines and enormous ones by turns", strings.Repeat("short\n"+strings.Repeat("long", 3_000)+"\n", 5)},
		{"lines of 20 000 characters", strings.Repeat(strings.Repeat("y", 20_000)+"\n", 5)},
	}
}

func TestPagesShowEveryCharacterOnce(t *testing.T) {
	for _, c := range pageTexts() {
		t.Run(c.reason, func(t *testing.T) {
			requirePaged(t, c.text, 100, 0)
			requirePaged(t, c.text, 0, 0)
			if len(c.text) < 20_000 {
				requirePaged(t, c.text, 5_000, 1) // a line a page
			}
			requirePaged(t, c.text, 777, 13)
		})
	}
}

func TestPagesOfALineOfMegabytes(t *testing.T) {
	requirePaged(t, strings.Repeat("a line without an end; ", 150_000), 50_000, 0)
}

// TestPagesOfRealOutputs takes larger pages for larger results, because each page of some backends costs a scan.
func TestPagesOfRealOutputs(t *testing.T) {
	files := realOutputs(t)
	for name, text := range files {
		if len(text) < 100_000 {
			requirePaged(t, text, 1_111, 0)
		} else {
			requirePagedIn(t, text, len(text)/40, 0, func(m *memory) []toolresult.Reader { return []toolresult.Reader{m} })
		}
		t.Logf("%s: %d bytes", name, len(text))
	}
	t.Logf("%d files paged through", len(files))
}

func FuzzPages(f *testing.F) {
	for _, c := range pageTexts() {
		f.Add(c.text[:min(len(c.text), 3_000)], 100, 0)
		f.Add(c.text[:min(len(c.text), 3_000)], 137, 3)
	}
	f.Fuzz(func(t *testing.T, text string, tokens, limit int) {
		if text == "" {
			return // nothing to page through
		}
		requirePaged(t, text, 100+(tokens&0x3ff), limit)
	})
}

// requirePaged pages through a text and compares what is shown, for all kinds of backends.
func requirePaged(t *testing.T, text string, tokens, limit int) {
	t.Helper()
	requirePagedIn(t, text, tokens, limit, kinds)
}

// kinds are a memory that gives whole texts, ranges of them, and ranges with an index of lines.
func kinds(m *memory) []toolresult.Reader {
	ranges := &rangedMemory{memory: m}
	return []toolresult.Reader{m, ranges, indexedMemory{ranges}}
}

func requirePagedIn(t *testing.T, text string, tokens, limit int, in func(*memory) []toolresult.Reader) {
	t.Helper()
	files := newMemory()
	files.files[pagePath] = text
	var want []string
	for _, backend := range in(files) {
		cfg := &toolresult.ReadConfig{Backend: backend, MaxTokens: tokens}
		pages := allPages(t, newReader(t, cfg), cfg.MaxTokens, map[string]any{"file_path": pagePath, "limit": limit})
		if want == nil {
			want = pages
			require.Equal(t, shownText(text), joinPages(t, pages))
		}
		require.Equal(t, want, pages, "what a backend can do must not change a page")
	}
}

func newReader(t testing.TB, cfg *toolresult.ReadConfig) tool.InvokableTool {
	t.Helper()
	read, err := toolresult.NewReadTool(context.Background(), cfg)
	require.NoError(t, err)
	return read
}

// ask calls a tool, which must not fail, and checks what must hold of every answer.
func ask(t testing.TB, called tool.InvokableTool, maxTokens int, args map[string]any) string {
	t.Helper()
	encoded, err := json.Marshal(args)
	require.NoError(t, err)
	return askRaw(t, called, maxTokens, string(encoded))
}

func askRaw(t testing.TB, called tool.InvokableTool, maxTokens int, args string) string {
	t.Helper()
	if maxTokens == 0 {
		maxTokens = 5_000
	}
	answer, err := called.InvokableRun(context.Background(), args)
	require.NoError(t, err, "a tool answers: an error would end the run")
	require.NotEmpty(t, answer)
	require.LessOrEqual(t, toolresult.EstimateTokens(answer), maxTokens, "an answer is bounded: %.300q", answer)
	require.LessOrEqual(t, strings.Count(answer, "\n"), 2_000)
	require.True(t, utf8.ValidString(answer), "an answer is UTF-8: %.300q", answer)
	require.NotContains(t, answer, "\x00")
	return answer
}

var nextHint = regexp.MustCompile(`offset=(\d+)(?: byte_offset=(\d+))?\]$`)

// nextArgs reads the arguments that an answer ends with.
func nextArgs(answer string) (offset, byteOffset int64, repeatsByte, ok bool) {
	said := answer[strings.LastIndexByte(answer, '\n')+1:]
	found := nextHint.FindStringSubmatch(said)
	if found == nil {
		return 0, 0, false, false
	}
	offset, _ = strconv.ParseInt(found[1], 10, 64)
	byteOffset, _ = strconv.ParseInt(found[2], 10, 64)
	return offset, byteOffset, found[2] != "", true
}

// follow copies the arguments of an answer as a model does, which leaves alone what is not named. They must lead onwards.
func follow(t testing.TB, answer string, args map[string]any) (more bool) {
	t.Helper()
	offset, byteOffset, repeatsByte, more := nextArgs(answer)
	if !more {
		require.Regexp(t, `(End of result\.|结果到此结束。)\]$`, answer, "an answer says that it is the last")
		return false
	}
	before, had := args["byte_offset"].(int64)
	require.True(t, repeatsByte || !had, "a byte offset once given is always repeated")
	line, _ := args["offset"].(int64)
	require.True(t, offset > line || offset == line && byteOffset > before, "hints lead onwards: from %v in %.300q", args, answer)
	args["offset"] = offset
	if repeatsByte {
		args["byte_offset"] = byteOffset
	}
	return true
}

// allPages follows the hints from the first page on.
func allPages(t testing.TB, read tool.InvokableTool, maxTokens int, args map[string]any) (pages []string) {
	t.Helper()
	for {
		page := ask(t, read, maxTokens, args)
		pages = append(pages, page)
		if !follow(t, page, args) {
			return pages
		}
	}
}

// joinPages takes the labels and the last lines from pages again.
func joinPages(t testing.TB, pages []string) string {
	t.Helper()
	var b strings.Builder
	last := 0
	for _, page := range pages {
		body := strings.Split(page, "\n")
		require.Greater(t, len(body), 1, "a page shows something: %q", page)
		for i, line := range body[:len(body)-1] {
			number, text, _ := strings.Cut(line, ": ")
			n, err := strconv.Atoi(number)
			switch {
			case err != nil:
				require.NoError(t, err)
			case n == last+1 && last > 0:
				b.WriteByte('\n')
			case n == last && i > 0, n != last && n != last+1:
				require.Fail(t, "only the first line of a page goes on with one", "line %d behind line %d", n, last)
			}
			last = n
			b.WriteString(text)
		}
	}
	return b.String()
}

// shownText is how a text has to look on pages, put together.
func shownText(text string) string {
	text = strings.TrimSuffix(text, "\n")
	if utf8.ValidString(text) && !strings.Contains(text, "\x00") {
		return text
	}
	var b strings.Builder
	for i, r := range text {
		switch _, width := utf8.DecodeRuneInString(text[i:]); {
		case r == 0, r == utf8.RuneError && width == 1:
			fmt.Fprintf(&b, `\x%02x`, text[i])
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}
