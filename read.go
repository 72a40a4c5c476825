package toolresult

// How results come back. The tools answer everything that a model can get wrong (a path, a number, a pattern) with a text
// that says what to do instead: an error would end the run. Only the end of the context is an error.

import (
	"context"
	"fmt"
	"unicode/utf8"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/schema"
)

// maxPageLines is as Eino's own read tool has it.
const maxPageLines = 2_000

// ReadConfig configures NewReadTool.
type ReadConfig struct {
	// Backend is where the results lie. Required.
	Backend Reader
	// ToolName is the name of the tool; the offloader must know it by the same. Optional. Default "read_file".
	ToolName string
	// MaxTokens bounds a page, its hints included, at four bytes a token. Tokens. Optional. 0 means 5000. Values below 100 are
	// refused.
	MaxTokens int
	// PathPrefix is the folder that can be read; any other path is refused. It is absolute, clean, not "/", with or without a
	// final slash. Optional. Default "/large_tool_result".
	PathPrefix string
	// Language is that of the description and of the pages. Optional. Default English.
	Language adk.Language
}

// NewReadTool returns the tool with which a model reads stored results: file_path, offset (the first line, from 1), limit
// (lines) and byte_offset (where in the first line to begin). A page has at most 2000 lines, is valid UTF-8, shows other bytes
// escaped, and ends with the arguments that ask for the next one. The tool is safe for concurrent use.
func NewReadTool(_ context.Context, cfg *ReadConfig) (tool.InvokableTool, error) {
	if cfg == nil {
		return nil, badConfig("ReadConfig", "nil", "a config with a Backend")
	}
	s, err := newShelf("ReadConfig", cfg.Backend, cfg.MaxTokens, cfg.PathPrefix, cfg.Language)
	if err != nil {
		return nil, err
	}
	return &readTool{s, nonEmpty(cfg.ToolName, defaultReadToolName)}, nil
}

type readTool struct {
	*shelf
	name string
}

// Info implements tool.BaseTool.
func (t *readTool) Info(context.Context) (*schema.ToolInfo, error) {
	number := func(english, chinese string) *schema.ParameterInfo {
		return &schema.ParameterInfo{Type: schema.Integer, Desc: t.say(english, chinese)}
	}
	return &schema.ToolInfo{
		Name: t.name,
		Desc: t.say(
			"Reads a stored tool result, a part at a time. Every page ends with the arguments that ask for the next one.",
			"分段读取已保存的工具结果。每一页末尾给出读取下一页所需的参数。"),
		ParamsOneOf: schema.NewParamsOneOfByParams(map[string]*schema.ParameterInfo{
			"file_path":   t.pathParam(),
			"offset":      number("First line to read, from 1. Default 1.", "起始行号，从 1 开始。默认 1。"),
			"limit":       number("How many lines at the most. Default 2000.", "最多读取的行数。默认 2000。"),
			"byte_offset": number("Byte of the first line to begin at, for lines longer than a page. Default 0.", "从起始行的第几个字节开始，用于超过一页的长行。默认 0。"),
		}),
	}, nil
}

type readArguments struct {
	FilePath   string    `json:"file_path"`
	Offset     looseInt  `json:"offset"`
	Limit      looseInt  `json:"limit"`
	ByteOffset *looseInt `json:"byte_offset"`
}

// InvokableRun implements tool.InvokableTool.
func (t *readTool) InvokableRun(ctx context.Context, arguments string, _ ...tool.Option) (string, error) {
	var args readArguments
	if complaint := t.parse(arguments, &args); complaint != "" {
		return complaint, nil
	}
	text, complaint, err := t.open(ctx, args.FilePath)
	if err != nil || text == nil {
		return complaint, err
	}
	from, at, err := seek(ctx, text, int64(args.Offset), args.ByteOffset)
	if err != nil {
		return t.unreadable(ctx)
	}
	if at >= text.size() {
		return t.behindEnd(from.line, text), nil
	}
	window, err := text.window(ctx, at, t.budget)
	if err != nil {
		return t.unreadable(ctx)
	}
	lines := maxPageLines
	if args.Limit > 0 {
		lines = int(min(args.Limit, maxPageLines))
	}
	p := pageOf(window, at+int64(len(window)) >= text.size(), from, lines, t.budget-hintBytes)
	return p.body + t.footer(text, from, p, args.ByteOffset != nil), nil
}

// seek finds the byte of a text at which a page begins. A byte offset that cuts a character goes back to its beginning; one
// behind its line goes to the next.
func seek(ctx context.Context, text storedText, line int64, byteOffset *looseInt) (position, int64, error) {
	from := position{line: max(line, 1)}
	start, err := text.lineStart(ctx, from.line)
	if err != nil || byteOffset == nil || *byteOffset <= 0 {
		return from, start, err
	}
	end, err := text.lineStart(ctx, from.line+1)
	if err != nil {
		return from, start, err
	}
	at := start + int64(*byteOffset)
	if at >= end {
		return position{line: from.line + 1}, end, nil
	}
	back := min(int64(utf8.UTFMax-1), at-start)
	around, err := text.window(ctx, at-back, 2*utf8.UTFMax)
	if err != nil {
		return from, start, err
	}
	at -= back - int64(runeFloor(around, int(back)))
	from.byte = at - start
	return from, at, nil
}

// footer says what a page shows and what to ask for next.
func (t *readTool) footer(text storedText, from position, p page, always bool) string {
	last := p.next.line
	if p.next.byte == 0 {
		last--
	}
	said := fmt.Sprintf(t.say("[Lines %d-%d", "[第 %d-%d 行"), from.line, last)
	if total := text.lines(); total >= 0 {
		said += fmt.Sprintf(t.say(" of %d", "，共 %d 行"), total)
	}
	said += fmt.Sprintf(t.say(", %d bytes in all. ", "，%d 字节。"), text.size())
	if p.escaped {
		said += t.say(`\xNN is a byte that is not text. `, `\xNN 表示非文本字节。`)
	}
	if p.ended {
		return said + t.say("End of result.]", "结果到此结束。]")
	}
	return said + t.say("Next: ", "下一页：") + p.next.hint(always) + "]"
}
