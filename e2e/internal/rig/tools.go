package rig

// The tools. One argument says what kind of result is wanted, so that the script of the model decides what comes.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/schema"
)

// Kinds of results, by the argument of the tools.
const (
	Text     = "text" // of a size
	Empty    = "empty"
	Blank    = "blank"
	Null     = "null"
	Nothing  = "nothing" // a JSON object without a key
	Object   = "object"
	Array    = "array"
	NUL      = "nul"
	Broken   = "broken" // not UTF-8
	Fails    = "fails"
	Image    = "image"
	Picture  = "picture" // an image without a text
	TextPart = "part"    // an enhanced result without an image
)

// Ask is the arguments of a tool.
type Ask struct {
	// Kind is what sort of result is asked for, one of the constants above.
	Kind string `json:"kind"`
	// Size is that of a text. Bytes.
	Size int `json:"size"`
	// Seed makes one text different from another.
	Seed int `json:"seed"`
}

// JSON is the arguments as a model writes them.
func (a Ask) JSON() string {
	text, err := json.Marshal(a)
	if err != nil {
		panic(err) // scalars
	}
	return string(text)
}

// text is the result. It is the same for the same arguments.
func (a Ask) text() string {
	switch a.Kind {
	case Empty:
		return ""
	case Blank:
		return " \n\t"
	case Null:
		return "null"
	case Nothing:
		return "{}"
	case Object:
		return fmt.Sprintf(`{"hits":%d,"path":"/src/net/http/server.go","ok":true}`, a.Seed)
	case Array:
		return `[{"id":1},{"id":2}]`
	}
	line := fmt.Sprintf("%d: some text of a tool, as it may be, 一些文本, with \"quotes\" and <tags>\n", a.Seed)
	text := strings.Repeat(line, a.Size/len(line)+1)
	switch a.Kind {
	case NUL:
		return "\x00 a NUL, " + text + "\x00"
	case Broken:
		return "\xff\xfe no UTF-8, " + text + "\xff"
	}
	return text
}

// pixel is a PNG.
const pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

// Toolbox are the tools of one agent, and what they returned.
type Toolbox struct {
	mu       sync.Mutex
	returned []string
}

// Returned reports whether a tool returned just this text.
func (b *Toolbox) Returned(text string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Contains(b.returned, text)
}

func (b *Toolbox) take(arguments string) (Ask, string, error) {
	var ask Ask
	if err := json.Unmarshal([]byte(arguments), &ask); err != nil {
		return ask, "", err
	}
	if ask.Kind == Fails {
		return ask, "", fmt.Errorf("tool %d: %w", ask.Seed, errors.ErrUnsupported)
	}
	text := ask.text()
	b.mu.Lock()
	b.returned = append(b.returned, text)
	b.mu.Unlock()
	return ask, text, nil
}

// Tools are one tool of each of the four kinds.
func (b *Toolbox) Tools() []tool.BaseTool {
	return []tool.BaseTool{plainTool{base{b, "fetch"}}, streamTool{base{b, "tail"}}, enhancedTool{base{b, "look"}}, enhancedStreamTool{base{b, "watch"}}}
}

type base struct {
	box  *Toolbox
	name string
}

func (t base) Info(context.Context) (*schema.ToolInfo, error) {
	return &schema.ToolInfo{Name: t.name, Desc: "Returns what is asked for.", ParamsOneOf: schema.NewParamsOneOfByParams(map[string]*schema.ParameterInfo{
		"kind": {Type: schema.String, Desc: "The kind of result.", Required: true},
		"size": {Type: schema.Integer, Desc: "The size of a text."},
		"seed": {Type: schema.Integer, Desc: "Any number."},
	})}, nil
}

type plainTool struct{ base }

func (t plainTool) InvokableRun(_ context.Context, arguments string, _ ...tool.Option) (string, error) {
	_, text, err := t.box.take(arguments)
	return text, err
}

type streamTool struct{ base }

func (t streamTool) StreamableRun(_ context.Context, arguments string, _ ...tool.Option) (*schema.StreamReader[string], error) {
	_, text, err := t.box.take(arguments)
	if err != nil {
		return nil, err
	}
	return schema.StreamReaderFromArray(pieces(text)), nil
}

func pieces(text string) (all []string) {
	for ; len(text) > 4096; text = text[4096:] {
		all = append(all, text[:4096])
	}
	return append(all, text)
}

type enhancedTool struct{ base }

func (t enhancedTool) InvokableRun(_ context.Context, argument *schema.ToolArgument, _ ...tool.Option) (*schema.ToolResult, error) {
	ask, text, err := t.box.take(argument.Text)
	if err != nil {
		return nil, err
	}
	result := textResult(text)
	if ask.Kind == Picture {
		result.Parts = nil
	}
	if ask.Kind == Image || ask.Kind == Picture {
		data := pixel
		result.Parts = append(result.Parts, schema.ToolOutputPart{
			Type:  schema.ToolPartTypeImage,
			Image: &schema.ToolOutputImage{MessagePartCommon: schema.MessagePartCommon{Base64Data: &data, MIMEType: "image/png"}},
		})
	}
	return result, nil
}

func textResult(text string) *schema.ToolResult {
	return &schema.ToolResult{Parts: []schema.ToolOutputPart{{Type: schema.ToolPartTypeText, Text: text}}}
}

type enhancedStreamTool struct{ base }

func (t enhancedStreamTool) StreamableRun(_ context.Context, argument *schema.ToolArgument, _ ...tool.Option) (*schema.StreamReader[*schema.ToolResult], error) {
	_, text, err := t.box.take(argument.Text)
	if err != nil {
		return nil, err
	}
	var chunks []*schema.ToolResult
	for _, piece := range pieces(text) {
		chunks = append(chunks, textResult(piece))
	}
	return schema.StreamReaderFromArray(chunks), nil
}

// rescue turns the error of a tool into a result, as most agents do. It stands behind the offloader.
func rescue() compose.ToolMiddleware {
	said := func(err error) string { return "The tool failed: " + err.Error() }
	return compose.ToolMiddleware{
		Invokable: func(next compose.InvokableToolEndpoint) compose.InvokableToolEndpoint {
			return func(ctx context.Context, input *compose.ToolInput) (*compose.ToolOutput, error) {
				out, err := next(ctx, input)
				if errors.Is(err, errors.ErrUnsupported) {
					return &compose.ToolOutput{Result: said(err)}, nil
				}
				return out, err
			}
		},
		Streamable: func(next compose.StreamableToolEndpoint) compose.StreamableToolEndpoint {
			return func(ctx context.Context, input *compose.ToolInput) (*compose.StreamToolOutput, error) {
				out, err := next(ctx, input)
				if errors.Is(err, errors.ErrUnsupported) {
					return &compose.StreamToolOutput{Result: schema.StreamReaderFromArray([]string{said(err)})}, nil
				}
				return out, err
			}
		},
	}
}
