package toolresult

// What the model reads in place of a result. A notice stands between tags of its own, so that neither a model nor the
// pruner takes it for data; its path stands in the opening tag, and nothing between the tags can close them early. All
// functions here are pure: text in, text out.

import (
	"fmt"
	"html"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/schema"
	"github.com/slongfield/pyfmt"

	"github.com/eino-toolresult/toolresult/internal/runes"
)

const (
	noticeTag   = "tool_result_offloaded"
	noticeStart = "<" + noticeTag + ` path="`
	noticeEnd   = "</" + noticeTag + ">"

	// offloadedKey marks the part of an enhanced result that a notice took the place of. Its value is the path.
	offloadedKey = "tool_result_offloaded"
)

const noticeEnglish = `Tool result too large. Please use the {read_tool_name} tool to read the full result, a part at a time with offset and limit.
Tool Call ID: {tool_call_id}
File Path: {file_path}
Size: {total_bytes} bytes, {total_lines} lines

Content sample:
{content_sample}`

const noticeChinese = `工具结果过大。请使用 {read_tool_name} 工具，通过 offset 和 limit 分段读取完整结果。
工具调用 ID：{tool_call_id}
文件路径：{file_path}
大小：{total_bytes} 字节，{total_lines} 行

内容示例：
{content_sample}`

// OffloadedPath returns the path that a message refers to in place of a result, and whether it does: as a notice of the
// offloader, or as the placeholder of a result that was archived or of a notice that was shortened. A message is a notice if its
// whole text is, or the text of one of its parts: it opens with the tag, and the only closing tag ends it. A tool can forge such
// a text; all it gains is that its own result is not pruned, or shortened to the path that it gave. A placeholder is told by its
// metadata.
func OffloadedPath(msg *schema.Message) (path string, ok bool) {
	if msg == nil {
		return "", false
	}
	if path, ok = msg.Extra[offloadedKey].(string); ok && path != "" && isMarked(msg) {
		return path, true
	}
	if path, ok = noticePath(msg.Content); ok {
		return path, true
	}
	for i := range msg.UserInputMultiContent {
		if path, ok = noticePath(msg.UserInputMultiContent[i].Text); ok {
			return path, true
		}
	}
	return "", false
}

func noticePath(text string) (string, bool) {
	rest, ok := strings.CutPrefix(text, noticeStart)
	if !ok {
		return "", false
	}
	escaped, body, ok := strings.Cut(rest, "\">\n")
	if !ok || escaped == "" || strings.ContainsAny(escaped, "<>\"\n") {
		return "", false
	}
	body, ok = strings.CutSuffix(body, noticeEnd)
	if !ok || strings.Contains(body, noticeEnd) {
		return "", false
	}
	path := html.UnescapeString(escaped)
	return path, isCleanText(path) // no path of an offloader is anything else
}

// notice is what a template can say about a result.
type notice struct {
	callID, toolName, path, sample, readTool string
	bytes, lines, tokens                     int64
}

// noticeVariables are the names that a template may use, in the order in which notice.value knows them.
func noticeVariables() []string {
	return []string{
		"tool_call_id", "tool_name", "file_path", "content_sample", "read_tool_name",
		"total_bytes", "total_lines", "total_tokens",
	}
}

func (n *notice) value(variable byte) string {
	switch variable {
	case 0:
		return printableID(n.callID)
	case 1:
		return printableID(n.toolName)
	case 2:
		return html.EscapeString(n.path)
	case 3:
		return printable(n.sample)
	case 4:
		return printable(n.readTool)
	case 5:
		return strconv.FormatInt(n.bytes, 10)
	case 6:
		return strconv.FormatInt(n.lines, 10)
	default:
		return strconv.FormatInt(n.tokens, 10)
	}
}

// noticeTemplate is a template taken apart, because formatting it anew for every result would cost more than all the
// rest of an offload. first is the text before the first variable.
type noticeTemplate struct {
	first string
	rest  []templatePart
}

// templatePart is a variable and the text behind it.
type templatePart struct {
	variable byte
	literal  string
}

// parseTemplate lets pyfmt format the template once, with values that no text can contain, and cuts at these.
func parseTemplate(text string) (*noticeTemplate, error) {
	if err := checkTemplate(text); err != nil {
		return nil, err
	}
	values := make(map[string]any)
	for i, name := range noticeVariables() {
		values[name] = "\x00" + string(rune('a'+i))
	}
	formatted, err := pyfmt.Fmt(text, values)
	if err != nil {
		return nil, fmt.Errorf("toolresult: OffloadConfig.Template: %w", err)
	}
	pieces := strings.SplitAfter(formatted, "\x00")
	t := &noticeTemplate{first: strings.TrimSuffix(pieces[0], "\x00")}
	for _, piece := range pieces[1:] {
		t.rest = append(t.rest, templatePart{piece[0] - 'a', strings.TrimSuffix(piece[1:], "\x00")})
	}
	return t, nil
}

// checkTemplate refuses what pyfmt answers without an error although nobody wants it: positions, widths, verbs.
func checkTemplate(text string) error {
	const field = "OffloadConfig.Template"
	if text != printable(text) || strings.Contains(text, "<"+noticeTag) || strings.Contains(text, noticeEnd) {
		return badConfig(field, strconv.Quote(text), "valid UTF-8 without NUL and without the tags of a notice")
	}
	hasPath := false
	for rest := text; ; {
		at := strings.IndexAny(rest, "{}")
		if at < 0 {
			break
		}
		rest = rest[at:]
		if strings.HasPrefix(rest, "{{") || strings.HasPrefix(rest, "}}") {
			rest = rest[2:]
			continue
		}
		name, after, closed := strings.Cut(strings.TrimPrefix(rest, "{"), "}")
		if !closed || rest[0] == '}' || !slices.Contains(noticeVariables(), name) {
			return badConfig(field, strconv.Quote(text), "plain {name}, {{ and }}, where name is one of "+strings.Join(noticeVariables(), ", "))
		}
		hasPath = hasPath || name == "file_path"
		rest = after
	}
	if !hasPath {
		return badConfig(field, strconv.Quote(text), "a text with {file_path}, without which the result could not be found again")
	}
	return nil
}

func (t *noticeTemplate) uses(name string) bool {
	variable := byte(slices.Index(noticeVariables(), name))
	return slices.ContainsFunc(t.rest, func(p templatePart) bool { return p.variable == variable })
}

func (t *noticeTemplate) render(n *notice) string {
	var b strings.Builder
	b.Grow(len(n.sample) + 1024)
	b.WriteString(noticeStart)
	b.WriteString(html.EscapeString(n.path))
	b.WriteString("\">\n")
	begin := b.Len()
	b.WriteString(t.first)
	for _, p := range t.rest {
		b.WriteString(n.value(p.variable))
		b.WriteString(p.literal)
	}
	body := b.String()[begin:]
	if indexTag(body) < 0 {
		b.WriteString("\n" + noticeEnd)
		return b.String()
	}
	return b.String()[:begin] + escapeTags(body) + "\n" + noticeEnd
}

// escapeTags takes the angle bracket from everything that reads like a tag of ours. It sees the whole body, because two
// values, or a value and the template, could make a tag that is in neither. Other angle brackets stay: the model is to see
// the text that the tool returned.
func escapeTags(body string) string {
	var b strings.Builder
	for at := indexTag(body); at >= 0; at = indexTag(body) {
		b.WriteString(body[:at])
		b.WriteString("&lt;")
		body = body[at+1:]
	}
	b.WriteString(body)
	return b.String()
}

// indexTag finds the angle bracket of a tag of ours in any case, as a model may read it in any case.
func indexTag(text string) int {
	for from := 0; ; {
		at := strings.IndexByte(text[from:], '<')
		if at < 0 {
			return -1
		}
		at += from
		name := strings.TrimPrefix(text[at+1:], "/")
		if len(name) >= len(noticeTag) && strings.EqualFold(name[:len(noticeTag)], noticeTag) {
			return at
		}
		from = at + 1
	}
}

// printable makes of any bytes what providers take.
func printable(text string) string { return runes.Printable(text) }

// printableID shows an ID as it is where that is possible, and with Go's escapes where it has control characters.
func printableID(id string) string {
	if utf8.ValidString(id) && strings.IndexFunc(id, func(r rune) bool { return !unicode.IsPrint(r) }) < 0 {
		return id
	}
	quoted := strconv.Quote(id)
	return quoted[1 : len(quoted)-1]
}

// countLines counts lines as an editor does: a last line without a newline is one.
func countLines(text string) int64 {
	lines := int64(strings.Count(text, "\n"))
	if text != "" && text[len(text)-1] != '\n' {
		lines++
	}
	return lines
}

// excerpt is head and tail of a text that could not be saved, of about budget bytes, with a line between them that says
// so and why in a word.
func excerpt(text string, budget int, reason string, lang adk.Language) string {
	head := runes.Floor(text, budget/2)
	tail := runes.Ceil(text, len(text)-budget/2)
	said := inLanguage(lang,
		"\n[Tool result too large: %d of %d bytes left out. It was not saved: %s.]\n",
		"\n[工具结果过大：共 %[2]d 字节，此处省略 %[1]d 字节。结果未保存：%[3]s。]\n")
	return printable(text[:head]) + fmt.Sprintf(said, tail-head, len(text), reason) + printable(text[tail:])
}

func inLanguage(lang adk.Language, english, chinese string) string {
	if lang == adk.LanguageChinese {
		return chinese
	}
	return english
}

func checkLanguage(field string, lang adk.Language) error {
	if lang != adk.LanguageEnglish && lang != adk.LanguageChinese {
		return badConfig(field, lang, "adk.LanguageEnglish or adk.LanguageChinese")
	}
	return nil
}
