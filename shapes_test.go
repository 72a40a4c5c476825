package toolresult_test

// The twelve ways in which a result passes the middleware. What holds for one of them must hold for all.

import (
	"context"
	"strings"
	"testing"

	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"
)

// shape is one of the ways in which a result passes the middleware.
type shape struct {
	name string
	run  func(t *testing.T, mw compose.ToolMiddleware, call *compose.ToolInput, text string) (string, error)
}

// shapes are the four endpoints, each called directly, and in a tools node by Invoke and by Stream.
func shapes() []shape {
	all := []shape{
		{"invokable", callInvokable}, {"streamable", callStreamable},
		{"enhanced invokable", callEnhancedInvokable}, {"enhanced streamable", callEnhancedStreamable},
	}
	for _, kind := range []string{"invokable", "streamable", "enhanced invokable", "enhanced streamable"} {
		for _, how := range []string{"Invoke", "Stream"} {
			all = append(all, shape{kind + " in a node by " + how, func(t *testing.T, mw compose.ToolMiddleware, call *compose.ToolInput, text string) (string, error) {
				return callInNode(t, mw, kind, how, call, text)
			}})
		}
	}
	return all
}

func callInvokable(t *testing.T, mw compose.ToolMiddleware, call *compose.ToolInput, text string) (string, error) {
	out, err := mw.Invokable(func(context.Context, *compose.ToolInput) (*compose.ToolOutput, error) {
		return &compose.ToolOutput{Result: text}, nil
	})(t.Context(), call)
	if err != nil {
		return "", err
	}
	return out.Result, nil
}

func callStreamable(t *testing.T, mw compose.ToolMiddleware, call *compose.ToolInput, text string) (string, error) {
	out, err := mw.Streamable(func(context.Context, *compose.ToolInput) (*compose.StreamToolOutput, error) {
		return &compose.StreamToolOutput{Result: schema.StreamReaderFromArray(pieces(text, 1001))}, nil
	})(t.Context(), call)
	if err != nil {
		return "", err
	}
	chunks, err := receive(out.Result)
	return strings.Join(chunks, ""), err
}

func callEnhancedInvokable(t *testing.T, mw compose.ToolMiddleware, call *compose.ToolInput, text string) (string, error) {
	out, err := mw.EnhancedInvokable(func(context.Context, *compose.ToolInput) (*compose.EnhancedInvokableToolOutput, error) {
		return &compose.EnhancedInvokableToolOutput{Result: &schema.ToolResult{Parts: []schema.ToolOutputPart{textPart(text)}}}, nil
	})(t.Context(), call)
	if err != nil {
		return "", err
	}
	return joinParts(out.Result), nil
}

func callEnhancedStreamable(t *testing.T, mw compose.ToolMiddleware, call *compose.ToolInput, text string) (string, error) {
	out, err := mw.EnhancedStreamable(func(context.Context, *compose.ToolInput) (*compose.EnhancedStreamableToolOutput, error) {
		return &compose.EnhancedStreamableToolOutput{Result: schema.StreamReaderFromArray(partChunks(text))}, nil
	})(t.Context(), call)
	if err != nil {
		return "", err
	}
	chunks, err := receive(out.Result)
	return joinParts(chunks...), err
}

func partChunks(text string) []*schema.ToolResult {
	var chunks []*schema.ToolResult
	for _, piece := range pieces(text, 1001) {
		chunks = append(chunks, &schema.ToolResult{Parts: []schema.ToolOutputPart{textPart(piece)}})
	}
	return chunks
}

func joinParts(results ...*schema.ToolResult) string {
	var text string
	for _, result := range results {
		for _, part := range result.Parts {
			text += part.Text
		}
	}
	return text
}

func callInNode(t *testing.T, mw compose.ToolMiddleware, kind, how string, call *compose.ToolInput, text string) (string, error) {
	node := newNode(t, mw, fakeTool(kind, call.Name, text))
	var messages []*schema.Message
	var err error
	if how == "Stream" {
		messages, err = streamNode(t.Context(), node, toolCall(call.CallID, call.Name))
	} else {
		messages, err = node.Invoke(t.Context(), schema.AssistantMessage("", []schema.ToolCall{toolCall(call.CallID, call.Name)}))
	}
	if err != nil {
		return "", err
	}
	require.Len(t, messages, 1)
	require.Equal(t, call.CallID, messages[0].ToolCallID, "the result must stay with its call")
	return textOf(messages[0]), nil
}

// fakeTool is a tool of a kind that returns one text.
func fakeTool(kind, name, text string) tool.BaseTool {
	switch kind {
	case "invokable":
		return textTool{fakeInfo(name), func(context.Context, string) (string, error) { return text, nil }}
	case "streamable":
		return streamTool{fakeInfo(name), func(context.Context, string) (*schema.StreamReader[string], error) {
			return schema.StreamReaderFromArray(pieces(text, 1001)), nil
		}}
	case "enhanced invokable":
		return partsTool{fakeInfo(name), func(context.Context, string) (*schema.ToolResult, error) {
			return &schema.ToolResult{Parts: []schema.ToolOutputPart{textPart(text)}}, nil
		}}
	default:
		return partsStreamTool{fakeInfo(name), func(context.Context, string) (*schema.StreamReader[*schema.ToolResult], error) {
			return schema.StreamReaderFromArray(partChunks(text)), nil
		}}
	}
}
