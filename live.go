package toolresult

// Which stored results a conversation still refers to. What it finds is meant to be kept, so it finds too much rather than
// too little: a path is read as it stands and as it was before a notice or JSON escaped it, to the end of its quotes, and to
// every place where it may have ended.

import (
	"html"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/cloudwego/eino/schema"
)

const (
	maxBarePath = 1024 // bytes of a path that stands without quotes
	maxBareEnds = 32   // places at which such a path may have ended
)

// LivePaths returns every path below a prefix that messages refer to, sorted: in notices and placeholders, in the arguments of
// tool calls, and wherever a user, a model or a summary quotes one. prefix is the PathPrefix of the offloader; empty means
// "/large_tool_result", and a wrong one is an error. Where it cannot be known whether a character still belongs to a path, the
// path is returned with it and without. Without quotes around it, a path is found up to 1024 bytes and to the next space. Give
// the result to Sweep as what to keep. The cost is linear in the text.
func LivePaths(prefix string, messages ...*schema.Message) ([]string, error) {
	clean, err := cleanPrefix("the prefix of LivePaths", prefix)
	if err != nil {
		return nil, err
	}
	live := livePaths{prefix: clean + "/", sign: longestWord(clean), found: make(map[string]bool)}
	for _, msg := range messages {
		if msg != nil {
			live.message(msg)
		}
	}
	paths := make([]string, 0, len(live.found))
	for path := range live.found {
		paths = append(paths, path)
	}
	slices.Sort(paths)
	return paths, nil
}

type livePaths struct {
	prefix string // with a final slash
	sign   string // a piece of it that no escape changes; a text without it has no path
	found  map[string]bool
}

func longestWord(prefix string) (longest string) {
	for _, word := range strings.FieldsFunc(prefix, func(r rune) bool { return !isWord(r) }) {
		if len(word) > len(longest) {
			longest = word
		}
	}
	return longest
}

func isWord(r rune) bool { return isPlainRune(r) && r != '.' }

func (l *livePaths) message(msg *schema.Message) {
	l.text(msg.Content)
	l.text(msg.ReasoningContent)
	for i := range msg.ToolCalls {
		l.text(msg.ToolCalls[i].Function.Arguments)
	}
	for i := range msg.UserInputMultiContent {
		l.text(msg.UserInputMultiContent[i].Text)
	}
	for i := range msg.AssistantGenMultiContent {
		part := &msg.AssistantGenMultiContent[i]
		l.text(part.Text)
		if part.Reasoning != nil {
			l.text(part.Reasoning.Text)
		}
	}
	for i := range msg.MultiContent {
		l.text(msg.MultiContent[i].Text)
	}
	for extra := range metadata(msg) {
		if path, ok := extra[offloadedKey].(string); ok {
			l.add(path)
		}
		if files, ok := extra[markFilesKey].(string); ok {
			for path := range strings.SplitSeq(files, "\n") {
				l.add(path)
			}
		}
	}
}

// text finds the paths in a text and in what it was before it was escaped. Three rounds, as JSON may quote JSON.
func (l *livePaths) text(text string) {
	for range 3 {
		if !strings.Contains(text, l.sign) {
			return
		}
		l.plain(text)
		if once := html.UnescapeString(text); once != text {
			l.plain(once)
		}
		decoded := unescapeJSON(text)
		if decoded == text {
			return
		}
		text = decoded
	}
}

func (l *livePaths) plain(text string) {
	for _, after := range strings.Split(text, noticeStart)[1:] {
		path, _, _ := strings.Cut(after, `"`)
		l.add(html.UnescapeString(path))
	}
	for from, end := 0, 0; ; {
		at := strings.Index(text[from:], l.prefix)
		if at < 0 {
			return
		}
		at += from
		if at >= end {
			end = at + bareEnd(text[at:])
		}
		l.quoted(text[:at], text[at:])
		l.bare(text[at:min(end, at+maxBarePath)])
		from = at + 1
	}
}

// quoted adds a path that stands between quotes, whatever characters it has. Every search for a closing quote ends before the
// next opening one of its kind, so that together they are linear.
func (l *livePaths) quoted(before, rest string) {
	open, _ := utf8.DecodeLastRuneInString(before)
	marks := quoteMarks(open)
	if marks == "" {
		return
	}
	if end := strings.IndexAny(rest, marks); end >= 0 {
		l.add(rest[:end])
	}
	if open == '"' && !strings.HasSuffix(before, `\"`) {
		l.add(unescapeJSON(rest[:endOfJSON(rest)]))
	}
}

// quoteMarks are an opening quote and the one that closes it; "" for what is no quote.
func quoteMarks(open rune) string {
	for _, marks := range []string{`"`, `'`, "`", "“”", "‘’", "「」", "『』", "《》", "«»"} {
		if strings.HasPrefix(marks, string(open)) {
			return marks
		}
	}
	return ""
}

// endOfJSON is where a JSON string ends: at the first quote that is not escaped.
func endOfJSON(text string) int {
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '"':
			return i
		case '\\':
			i++
		}
	}
	return len(text)
}

// bare adds a path that stands without quotes, and what of it comes before each place where it may have ended.
func (l *livePaths) bare(run string) {
	l.trimmed(run)
	if next := strings.Index(run[1:], l.prefix); next >= 0 {
		run = run[:1+next] // from there on it is the next path's turn
		l.trimmed(run)
	}
	ends := 0
	for i, r := range run {
		if i >= len(l.prefix) && mayEnd(r, run[i:]) {
			l.trimmed(run[:i])
			if ends++; ends == maxBareEnds {
				return
			}
		}
	}
}

// bareEnd is where a path without quotes ends at the latest.
func bareEnd(text string) int {
	if end := strings.IndexFunc(text, endsPath); end >= 0 {
		return end
	}
	return len(text)
}

// trimmed adds a path with and without the marks of emphasis or the full stop behind it.
func (l *livePaths) trimmed(path string) {
	l.add(path)
	l.add(strings.TrimRightFunc(path, func(r rune) bool { return unicode.IsPunct(r) || unicode.IsSymbol(r) }))
}

func (l *livePaths) add(path string) {
	if len(path) > len(l.prefix) && strings.HasPrefix(path, l.prefix) {
		l.found[path] = true
	}
}

// endsPath holds for characters that end a path in running text.
func endsPath(r rune) bool {
	return unicode.IsSpace(r) || unicode.IsControl(r) || strings.ContainsRune("\"<>|`，。；：、！？（）【】《》“”‘’「」『』", r)
}

// mayEnd holds for characters that may be a path's own or those of the text around it, which begins with r. A full stop is the
// path's if a name goes on behind it.
func mayEnd(r rune, text string) bool {
	if r == '.' {
		return len(text) < 2 || !isWord(rune(text[1])) || 'A' <= text[1] && text[1] <= 'Z'
	}
	return !isWord(r) && r != '/' && r != '~'
}

// unescapeJSON undoes the escapes of JSON strings, wherever they stand, and leaves alone what is none.
func unescapeJSON(text string) string {
	at := strings.IndexByte(text, '\\')
	if at < 0 {
		return text
	}
	var b strings.Builder
	b.Grow(len(text))
	for ; at >= 0 && at+1 < len(text); at = strings.IndexByte(text, '\\') {
		b.WriteString(text[:at])
		plain, width := unescapeOne(text[at:])
		b.WriteString(plain)
		text = text[at+width:]
	}
	b.WriteString(text)
	return b.String()
}

// unescapeOne reads the escape at the beginning of a text of at least two bytes.
func unescapeOne(text string) (plain string, width int) {
	switch at := strings.IndexByte(`"\/bfnrt`, text[1]); {
	case at >= 0:
		return "\"\\/\b\f\n\r\t"[at : at+1], 2
	case text[1] != 'u':
		return text[:1], 1
	}
	first, ok := codeUnit(text)
	if !ok {
		return text[:1], 1
	}
	if second, ok := codeUnit(text[6:]); ok && utf16.IsSurrogate(first) {
		if r := utf16.DecodeRune(first, second); r != unicode.ReplacementChar {
			return string(r), 12
		}
	}
	return string(first), 6
}

// codeUnit reads an escape of four hexadecimal digits.
func codeUnit(text string) (rune, bool) {
	if len(text) < 6 || text[:2] != `\u` {
		return 0, false
	}
	n, err := strconv.ParseUint(text[2:6], 16, 16)
	return rune(n), err == nil
}
