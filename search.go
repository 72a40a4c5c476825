package toolresult

// Searching in one stored result. A line that matches is shown whole if it is short, and else as windows around its matches,
// each with the arguments that read on from there: most machine output is one line, or lines far longer than a page.

import (
	"context"
	"fmt"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/schema"
)

const (
	defaultMatches  = 50
	maxMatches      = 500
	maxContextLines = 20
	maxPatternBytes = 1_000
)

// SearchConfig configures NewSearchTool.
type SearchConfig struct {
	// Backend is where the results lie. Required.
	Backend Reader
	// ToolName is the name of the tool; the offloader must know it by the same. Optional. Default "search_file".
	ToolName string
	// MaxTokens bounds an answer, its hints included, at four bytes a token. Tokens. Optional. 0 means 5000. Values below 100
	// are refused.
	MaxTokens int
	// PathPrefix is the folder that can be searched; any other path is refused. It is absolute, clean, not "/", with or
	// without a final slash. Optional. Default "/large_tool_result".
	PathPrefix string
	// Language is that of the description and of the answers. Optional. Default English.
	Language adk.Language
	// Scope names the session of a call, as ReadConfig.Scope does. Optional. Default: all below PathPrefix can be searched.
	Scope func(ctx context.Context) (string, error)
	// OnError observes errors of the backend, as ReadConfig.OnError does. Optional.
	OnError func(ctx context.Context, err error)
}

// NewSearchTool returns the tool with which a model searches in one stored result: file_path and pattern (RE2), offset (the
// first line to search), byte_offset, context (lines around a match), limit (matches) and ignore_case.
//
// Patterns see one line at a time, without its line ending. An answer shows "12: text" for a line that matches, once however
// often it does, and "12- text" for one around it; of a line over 500 bytes it shows some 600 around each match, with the
// arguments that read on from there. A line may fill half of an answer. Every answer ends with the arguments for what it does
// not show yet.
//
// A search costs one pass over the text. In a line over 1 MiB, matches longer than 4 KiB can be missed or be shown twice. The
// tool is safe for concurrent use.
func NewSearchTool(_ context.Context, cfg *SearchConfig) (tool.InvokableTool, error) {
	if cfg == nil {
		return nil, badConfig("SearchConfig", "nil", "a config with a Backend")
	}
	s, err := newShelf("SearchConfig", ReadConfig(*cfg))
	if err != nil {
		return nil, err
	}
	return &searchTool{s}, nil
}

type searchTool struct{ *shelf }

// Info implements tool.BaseTool.
func (t *searchTool) Info(context.Context) (*schema.ToolInfo, error) {
	param := func(kind schema.DataType, english, chinese string) *schema.ParameterInfo {
		return &schema.ParameterInfo{Type: kind, Desc: t.say(english, chinese)}
	}
	pattern := param(schema.String, "Regular expression (RE2), matched line by line.", "正则表达式（RE2），逐行匹配。")
	pattern.Required = true
	return &schema.ToolInfo{
		Name: nonEmpty(t.ToolName, defaultSearchToolName),
		Desc: t.say(
			"Searches in a stored tool result. Every answer ends with the arguments that search on.",
			"在已保存的工具结果中搜索。每次回答末尾给出继续搜索所需的参数。"),
		ParamsOneOf: schema.NewParamsOneOfByParams(map[string]*schema.ParameterInfo{
			"file_path":   t.pathParam(),
			"pattern":     pattern,
			"ignore_case": param(schema.Boolean, "Whether to ignore case. Default false.", "是否忽略大小写。默认 false。"),
			"context":     param(schema.Integer, "Lines to show around a match. Default 0, at most 20.", "匹配行前后显示的行数。默认 0，最多 20。"),
			"limit":       param(schema.Integer, "How many matches to show. Default 50, at most 500.", "最多返回的匹配数。默认 50，最多 500。"),
			"offset":      param(schema.Integer, "First line to search, from 1. Default 1.", "起始行号，从 1 开始。默认 1。"),
			"byte_offset": param(schema.Integer, "Byte of the first line to begin at. Default 0.", "从起始行的第几个字节开始。默认 0。"),
		}),
	}, nil
}

type searchArguments struct {
	place
	Pattern    string    `json:"pattern"`
	IgnoreCase looseBool `json:"ignore_case"`
	Context    looseInt  `json:"context"`
	Limit      looseInt  `json:"limit"`
}

// InvokableRun implements tool.InvokableTool.
func (t *searchTool) InvokableRun(ctx context.Context, arguments string, _ ...tool.Option) (string, error) {
	var args searchArguments
	if answer := t.parse(arguments, &args); answer != "" {
		return answer, nil
	}
	pattern, answer := t.compile(&args)
	if answer != "" {
		return answer, nil
	}
	text, answer, err := t.open(ctx, args.FilePath)
	if text == nil {
		return answer, err
	}
	if answer, err = t.search(ctx, text, pattern, &args); err != nil {
		return t.failed(ctx, args.FilePath, err)
	}
	return answer, nil
}

func (t *searchTool) compile(args *searchArguments) (searchPattern, string) {
	if args.Pattern == "" || len(args.Pattern) > maxPatternBytes {
		return searchPattern{}, fmt.Sprintf(t.say("Give a pattern of 1 to %d bytes.", "请提供 1 到 %d 字节的 pattern。"), maxPatternBytes)
	}
	expression := args.Pattern
	if args.IgnoreCase {
		expression = "(?i)" + expression
	}
	pattern, err := compilePattern(expression)
	if err != nil {
		return pattern, fmt.Sprintf(t.say(
			`The pattern is not valid RE2 (%s). Use a simpler one, or put a backslash before each of \.+*?()|[]{}^$ to search for it literally.`,
			`pattern 不是有效的 RE2 表达式（%s）。请使用更简单的表达式，或在 \.+*?()|[]{}^$ 每个字符前加反斜杠以按字面搜索。`), t.brief(err.Error()))
	}
	return pattern, ""
}

func (t *searchTool) search(ctx context.Context, text storedText, pattern searchPattern, args *searchArguments) (string, error) {
	from, at, err := seek(ctx, text, &args.place)
	if err != nil {
		return "", err
	}
	if at >= text.size() {
		return t.behindEnd(from, text), nil
	}
	h := newHits(pattern, t.budget, args, from)
	if err := h.search(ctx, text, from, at); err != nil {
		return "", err
	}
	return h.shown.String() + t.footer(text, from, h, args.ByteOffset != nil), nil
}

// footer says how much was found and what to ask for next.
func (t *searchTool) footer(text storedText, from position, h *hits, always bool) string {
	said := fmt.Sprintf(t.say("[Matches from line %d", "[从第 %d 行"), from.line)
	if total := text.lines(); total >= 0 {
		said += fmt.Sprintf(t.say(" of %d", "（共 %d 行）"), total)
	}
	said += fmt.Sprintf(t.say(" on: %d", "起的匹配数：%d"), h.found)
	if h.next != nil {
		said += fmt.Sprintf(t.say(" so far, more in line %d", "，第 %d 行还有更多"), h.next.line)
	}
	return said + t.say(". ", "。") + t.escapes(h.odd) + t.goOn(h.next, always)
}
