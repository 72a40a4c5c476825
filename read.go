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
	// Scope names the session of a call: only what lies below PathPrefix and the session's folder can be read, as SessionPath
	// names it. Its error, or an empty name, is an error of the tool. Optional. Default: all below PathPrefix can be read.
	Scope func(ctx context.Context) (string, error)
	// OnError observes errors of a backend of which the model is told no more than that the result cannot be read just now.
	// A backend that is not both a RangeReader and a Stater has none: all its errors count as "nothing stored". It may be
	// called concurrently. Optional.
	OnError func(ctx context.Context, err error)
}

// NewReadTool returns the tool with which a model reads stored results: file_path, offset (the first line, from 1), limit
// (lines) and byte_offset (where in the first line to begin). A page has at most 2000 lines, is valid UTF-8, shows other bytes
// escaped, and ends with the arguments that ask for the next one. The tool is safe for concurrent use.
func NewReadTool(_ context.Context, cfg *ReadConfig) (tool.InvokableTool, error) {
	if cfg == nil {
		return nil, badConfig("ReadConfig", "nil", "a config with a Backend")
	}
	s, err := newShelf("ReadConfig", *cfg)
	if err != nil {
		return nil, err
	}
	return &readTool{s}, nil
}

type readTool struct{ *shelf }

// Info implements tool.BaseTool.
func (t *readTool) Info(context.Context) (*schema.ToolInfo, error) {
	number := func(english, chinese string) *schema.ParameterInfo {
		return &schema.ParameterInfo{Type: schema.Integer, Desc: t.say(english, chinese)}
	}
	return &schema.ToolInfo{
		Name: nonEmpty(t.ToolName, defaultReadToolName),
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
	place
	Limit looseInt `json:"limit"`
}

// InvokableRun implements tool.InvokableTool.
func (t *readTool) InvokableRun(ctx context.Context, arguments string, _ ...tool.Option) (string, error) {
	var args readArguments
	if answer := t.parse(arguments, &args); answer != "" {
		return answer, nil
	}
	text, answer, err := t.open(ctx, args.FilePath)
	if text == nil {
		return answer, err
	}
	if answer, err = t.read(ctx, text, &args); err != nil {
		return t.failed(ctx, args.FilePath, err)
	}
	return answer, nil
}

func (t *readTool) read(ctx context.Context, text storedText, args *readArguments) (string, error) {
	from, at, err := seek(ctx, text, &args.place)
	if err != nil {
		return "", err
	}
	if at >= text.size() {
		return t.behindEnd(from, text), nil
	}
	window, err := text.window(ctx, at, t.budget+utf8.UTFMax)
	if err != nil {
		return "", err
	}
	lines := maxPageLines
	if args.Limit > 0 {
		lines = int(min(args.Limit, maxPageLines))
	}
	p := pageOf(window, at+int64(len(window)) == text.size(), from, lines, t.budget)
	return p.body + t.footer(text, from, p, args.ByteOffset != nil), nil
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
	said += fmt.Sprintf(t.say(", %d bytes in all. ", "，%d 字节。"), text.size()) + t.escapes(p.escaped)
	if p.ended {
		return said + t.goOn(nil, always)
	}
	return said + t.goOn(&p.next, always)
}
