package toolresult_test

// What the handler costs when there is nothing to do: on a small tool call, and before a model call.

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eino-toolresult/toolresult"
)

// smallCalls are a tool call of each kind that is not streamed, through a handler.
func smallCalls(h adk.ChatModelAgentMiddleware) map[string]func() {
	ctx := context.WithValue(context.Background(), struct{ adk.Agent }{}, true) // agents have deep contexts
	call := &adk.ToolContext{Name: "fetch", CallID: "call_1"}
	text := adk.InvokableToolCallEndpoint(func(context.Context, string, ...tool.Option) (string, error) { return "small", nil })
	result, argument := &schema.ToolResult{Parts: []schema.ToolOutputPart{textPart("small")}}, &schema.ToolArgument{Text: "{}"}
	parts := adk.EnhancedInvokableToolCallEndpoint(func(context.Context, *schema.ToolArgument, ...tool.Option) (*schema.ToolResult, error) {
		return result, nil
	})
	return map[string]func(){
		"invokable": func() {
			endpoint, _ := h.WrapInvokableToolCall(ctx, text, call)
			endpoint(ctx, "{}")
		},
		"enhanced invokable": func() {
			endpoint, _ := h.WrapEnhancedInvokableToolCall(ctx, parts, call)
			endpoint(ctx, argument)
		},
	}
}

func TestHandlerAllocations(t *testing.T) {
	h := newHandler(t, &toolresult.HandlerConfig{Backend: newMemory(), ContextWindow: 128_000})
	for kind, run := range smallCalls(h) {
		assert.LessOrEqual(t, testing.AllocsPerRun(100, run), 3.0, kind)
	}
	state := &adk.ChatModelAgentState{Messages: benchHistory(100), ToolInfos: []*schema.ToolInfo{{Name: "fetch", Desc: "It fetches."}}}
	assert.Zero(t, testing.AllocsPerRun(100, func() {
		_, same, err := h.BeforeModelRewriteState(context.Background(), state, nil)
		if err != nil || same != state {
			t.Error("something was due")
		}
	}), "before a model call")
}

// quarters is the default estimator by another name, so that the counter does not know it.
type quarters struct{}

func (quarters) Estimate(text string) int            { return toolresult.EstimateTokens(text) }
func (quarters) Exceeds(text string, limit int) bool { return toolresult.EstimateTokens(text) > limit }

// The default counter has a loop of its own. It counts what any other counter of a quarter of the bytes counts.
func TestDefaultCounterCountsAsAnyOther(t *testing.T) {
	messages := append(benchHistory(40), nil, &schema.Message{Content: "not sent", UserInputMultiContent: []schema.MessageInputPart{{Type: schema.ChatMessagePartTypeText, Text: "sent"}}})
	for _, cfg := range []toolresult.TokenCounterConfig{{}, {IgnoreReasoning: true}, {TokensPerMessage: 3}} {
		fast, err := toolresult.NewTokenCounter(t.Context(), &cfg)
		require.NoError(t, err)
		cfg.Text = quarters{}
		slow, err := toolresult.NewTokenCounter(t.Context(), &cfg)
		require.NoError(t, err)
		for i := range messages {
			want, err := slow.CountTokens(t.Context(), messages[i:], nil)
			require.NoError(t, err)
			got, err := fast.CountTokens(t.Context(), messages[i:], nil)
			require.NoError(t, err)
			assert.Equal(t, want, got, "%+v", cfg)
		}
	}
}

func BenchmarkHandlerSmallCall(b *testing.B) {
	h := newHandler(b, &toolresult.HandlerConfig{Backend: newMemory(), ContextWindow: 128_000})
	for kind, run := range smallCalls(h) {
		b.Run(kind, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				run()
			}
		})
	}
}

// benchHistory is a conversation as ADK has it: with metadata in every message, and a usage in every answer.
func benchHistory(n int) []*schema.Message {
	text := strings.Repeat("x", 4000)
	history := []*schema.Message{schema.SystemMessage("You are careful."), schema.UserMessage("go")}
	for i := 0; len(history) < n; i++ {
		answer := callsFor(callWith(fmt.Sprint("call_", i), "fetch", `{"page":"1"}`))
		answer.ReasoningContent = "It is worth another look."
		answer.ResponseMeta = &schema.ResponseMeta{Usage: &schema.TokenUsage{PromptTokens: 500 * i}}
		history = append(history, answer, schema.ToolMessage(text, fmt.Sprint("call_", i), schema.WithToolName("fetch")))
	}
	for i, msg := range history {
		msg.Extra = map[string]any{"_eino_msg_id": fmt.Sprint("00000000-0000-0000-0000-", i)}
	}
	return history
}

// BenchmarkHandlerNothingDue asks what the handler adds to a model call when nothing is due, beside the least that any estimate
// must do: walk the messages and add up the lengths of their texts.
func BenchmarkHandlerNothingDue(b *testing.B) {
	for _, n := range []int{200, 2_000, 20_000} {
		state := &adk.ChatModelAgentState{Messages: benchHistory(n), ToolInfos: []*schema.ToolInfo{{Name: "fetch", Desc: "It fetches."}}}
		b.Run(fmt.Sprintf("%d messages/walk", n), func(b *testing.B) {
			for b.Loop() {
				if addUpLengths(state.Messages) == 0 {
					b.Fatal("no text")
				}
			}
		})
		h := newHandler(b, &toolresult.HandlerConfig{Backend: newMemory(), ContextWindow: 100_000_000})
		b.Run(fmt.Sprintf("%d messages/handler", n), func(b *testing.B) {
			for b.Loop() {
				_, same, err := h.BeforeModelRewriteState(context.Background(), state, nil)
				if err != nil || same != state {
					b.Fatal("something was due")
				}
			}
		})
	}
}

func addUpLengths(messages []*schema.Message) (bytes int) {
	for _, msg := range messages {
		bytes += len(msg.Content) + len(msg.ReasoningContent)
		for i := range msg.ToolCalls {
			bytes += len(msg.ToolCalls[i].Function.Name) + len(msg.ToolCalls[i].Function.Arguments)
		}
		for i := range msg.UserInputMultiContent {
			bytes += len(msg.UserInputMultiContent[i].Text)
		}
		for i := range msg.AssistantGenMultiContent {
			bytes += len(msg.AssistantGenMultiContent[i].Text)
		}
	}
	return bytes
}
