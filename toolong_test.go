package toolresult_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eino-toolresult/toolresult"
	"github.com/eino-toolresult/toolresult/internal/provider"
)

func TestIsContextTooLong(t *testing.T) {
	tests := []struct {
		text   string
		want   bool
		reason string
	}{
		{"error, status code: 400, status: 400 Bad Request, message: This model's maximum context length is 128000 tokens. However, your messages resulted in 131072 tokens. Please reduce the length of the messages.", true, "OpenAI, chat"},
		{`{"error":{"message":"…","type":"invalid_request_error","code":"context_length_exceeded"}}`, true, "OpenAI, by its code"},
		{"Your input exceeds the context window of this model. Please adjust your input and try again.", true, "OpenAI, responses"},
		{"Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in 300000 tokens.", true, "OpenAI, a configured limit"},
		{`POST "https://api.anthropic.com/v1/messages": 400 Bad Request {"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 208310 tokens > 200000 maximum"}}`, true, "Anthropic"},
		{"input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000, decrease input length or `max_tokens` and try again", true, "Anthropic, with the room for the answer"},
		{`413 {"type":"error","error":{"type":"request_too_large","message":"Request exceeds the maximum allowed number of bytes"}}`, true, "Anthropic, by bytes"},
		{"Error 400, Message: The input token count (1200293) exceeds the maximum number of tokens allowed (1048576)., Status: INVALID_ARGUMENT", true, "Google"},
		{"Unable to submit request because the input token count is 1069090 but model only supports up to 1048576.", true, "Google, Vertex"},
		{"ValidationException: Input is too long for requested model.", true, "Bedrock"},
		{"<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 258048]", true, "Qwen"},
		{"This model's maximum context length is 131072 tokens. However, you requested 141241 tokens (133241 in the messages, 8000 in the completion). Please reduce the length of the messages or completion.", true, "DeepSeek"},
		{"Total tokens of image and text exceed max message tokens. Request id: 0217", true, "Ark"},
		{"Input length 98385 exceeds the maximum length 98304", true, "Ark, older"},
		{"Prompt exceeds max length", true, "Zhipu"},
		{"Invalid request: Your request exceeded model token limit: 262144", true, "Moonshot"},
		{"invalid params, context window exceeds limit (2013)", true, "MiniMax"},
		{"Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length", true, "Mistral"},
		{"This model's maximum prompt length is 131072 but the request contains 537812 tokens.", true, "xAI"},
		{"prompt too long; exceeded max context length by 5021 tokens", true, "Ollama"},
		{`{"error":{"code":400,"message":"the request exceeds the available context size. try increasing the context size or enable context shift","type":"exceed_context_size_error"}}`, true, "llama.cpp"},
		{"'max_tokens' or 'max_completion_tokens' is too large: 8192. This model's maximum context length is 32768 tokens and your request has 30000 input tokens", true, "vLLM: a shorter conversation would do"},
		{"输入超出模型的上下文长度限制", true, "in Chinese"},
		{"PROMPT IS TOO LONG", true, "in capitals"},
		{"[NodeRunError] context deadline exceeded", false, "no time is no room"},
		{"ThrottlingException: Too many tokens, please wait before trying again.", false, "Bedrock's rate limit"},
		{"Rate limit reached for gpt-4o on tokens per min (TPM): Limit 30000, Used 29000, Requested 4000. Context length is no matter.", false, "OpenAI's rate limit"},
		{"Range of max_tokens should be [1, 8192]", false, "the room for the answer, not the question"},
		{"The parameter `max_tokens` specified in the request are not valid: integer above maximum value, expected a value <= 12288, but got 16384", false, "likewise, Ark"},
		{"max_tokens is too large: 65536. This model supports at most 16384 completion tokens", false, "likewise, OpenAI"},
		{"error, status code: 429, status: 429 Too Many Requests", false, "too many requests"},
		{"tool_call_id: string too long. Expected a string with maximum length 40", false, "another length"},
		{"connection reset by peer", false, "the network"},
		{"", false, "nothing"},
	}
	for _, tt := range tests {
		err := errors.New(tt.text)
		assert.Equal(t, tt.want, toolresult.IsContextTooLong(err), "%s: %s", tt.reason, tt.text)
		assert.Equal(t, tt.want, toolresult.IsContextTooLong(fmt.Errorf("run node ChatModel: %w", err)), "%s, wrapped", tt.reason)
		assert.Equal(t, tt.want, toolresult.IsContextTooLong(&adk.RetryExhaustedError{LastErr: err}), "%s, after retries", tt.reason)
	}
	assert.False(t, toolresult.IsContextTooLong(nil))
	assert.True(t, toolresult.IsContextTooLong(provider.ErrContextTooLong))
}

// The hook comes down to 0.4 of the window; when the provider has refused, half of that, in tokens of which the refused
// conversation fills the window.
func TestCompactTooLong(t *testing.T) {
	tests := []struct {
		script string
		cfg    toolresult.CompactionConfig
		target int64
		reason string
	}{
		{"user(1000) call(a:x) result(a::7000) call(b:x) result(b::2000)", toolresult.CompactionConfig{ContextWindow: 10_000}, 2_000, "as long as the window by our count"},
		{"user(1000) call(a:x) result(a::3000) call(b:x) result(b::1000)", toolresult.CompactionConfig{ContextWindow: 10_000}, 1_000, "half the window by our count: a token is worth two of ours"},
		{"user(1000) call(a:x) result(a::15000) call(b:x) result(b::4000)", toolresult.CompactionConfig{ContextWindow: 10_000}, 2_000, "more than the window by our count, as we know"},
		{"user(1000) call(a:x) result(a::7000) call(b:x) result(b::1000)", toolresult.CompactionConfig{ContextWindow: 10_000, ReservedTokens: 1000}, 1_000, "what no message shows is taken off the target"},
		{"user(1000) call(a:x) result(a::7000) call(b:x) result(b::2000)", toolresult.CompactionConfig{ContextWindow: 10_000, CompactTo: 0.1, CompactAt: 0.2}, 500, "another mark"},
	}
	for _, tt := range tests {
		messages := conversation(tt.script)
		for i, msg := range messages { // the calls count a token or two: make the sums round
			if len(msg.ToolCalls) > 0 {
				messages[i].ToolCalls[0].Function = schema.FunctionCall{}
			}
		}
		before := deepCopy(messages)
		var told reports
		tt.cfg.OnCompaction = told.add
		compacted, changed, err := newHook(t, &tt.cfg).CompactTooLong(t.Context(), messages, nil)
		require.NoError(t, err)
		assert.True(t, changed, tt.reason)
		require.Len(t, told, 1, tt.reason)
		assert.InDelta(t, tt.target, told[0].TargetTokens, 1, tt.reason)
		assert.Contains(t, compacted[2].Extra, "context_compaction", tt.reason)
		assert.Equal(t, before, messages, "%s: the caller's messages are as they were", tt.reason)
	}
}

func TestCompactTooLongWithoutAnythingToGive(t *testing.T) {
	hook := newHook(t, &toolresult.CompactionConfig{ContextWindow: 1000})
	for _, script := range []string{"", "user(5000)", "user(5000) call(a:x) result(a::5000)", "user call(a:x) result(a::100) call(b:x) result(b::100)"} {
		messages := conversation(script)
		compacted, changed, err := hook.CompactTooLong(t.Context(), messages, nil)
		require.NoError(t, err)
		assert.False(t, changed, script)
		assert.Equal(t, messages, compacted, script)
	}
	broken := newHook(t, &toolresult.CompactionConfig{ContextWindow: 1000, TokenCounter: toolresult.TokenCounterFunc(
		func(context.Context, []*schema.Message, []*schema.ToolInfo) (int64, error) {
			return 0, context.DeadlineExceeded
		})})
	messages := conversation("user")
	compacted, changed, err := broken.CompactTooLong(t.Context(), messages, nil)
	assert.ErrorIs(t, err, context.DeadlineExceeded)
	assert.False(t, changed)
	assert.Equal(t, messages, compacted)
}

func TestShouldRetry(t *testing.T) {
	long := conversation("user(1000) call(a:x) result(a::7000) call(b:x) result(b::2000)")
	short := conversation("user(1000)")
	var failed []error
	cfg := &toolresult.CompactionConfig{ContextWindow: 10_000, OnError: func(_ context.Context, err error) { failed = append(failed, err) }}
	hook := newHook(t, cfg)
	tests := []struct {
		retry  adk.RetryContext
		want   bool
		reason string
	}{
		{adk.RetryContext{RetryAttempt: 1, InputMessages: long, Err: provider.ErrContextTooLong}, true, "too long"},
		{adk.RetryContext{RetryAttempt: 3, InputMessages: long, Err: provider.ErrContextTooLong}, true, "too long, after two tries that failed for other reasons"},
		{adk.RetryContext{RetryAttempt: 1, InputMessages: short, Err: provider.ErrContextTooLong}, false, "nothing can go"},
		{adk.RetryContext{RetryAttempt: 1, InputMessages: long, Err: context.DeadlineExceeded}, false, "another error"},
		{adk.RetryContext{RetryAttempt: 1, InputMessages: long, OutputMessage: answers("prompt is too long")}, false, "no error at all"},
		{adk.RetryContext{RetryAttempt: 1}, false, "an empty stream"},
	}
	for _, tt := range tests {
		decision := hook.ShouldRetry(t.Context(), &tt.retry)
		require.Equal(t, tt.want, decision != nil, tt.reason)
		if decision == nil {
			continue
		}
		assert.True(t, decision.Retry && decision.PersistModifiedInputMessages, tt.reason)
		assert.Contains(t, decision.ModifiedInputMessages[2].Extra, "context_compaction", tt.reason)
		again := tt.retry
		again.Options = decision.AdditionalOptions
		assert.Nil(t, hook.ShouldRetry(t.Context(), &again), "%s: once is enough", tt.reason)
	}
	assert.Empty(t, failed)

	cfg.TokenCounter = toolresult.TokenCounterFunc(func(context.Context, []*schema.Message, []*schema.ToolInfo) (int64, error) {
		return 0, errors.ErrUnsupported
	})
	assert.Nil(t, newHook(t, cfg).ShouldRetry(t.Context(), &tests[0].retry))
	require.Len(t, failed, 1)
	assert.ErrorIs(t, failed[0], errors.ErrUnsupported)
}

// The schemas of the request take their part of the room.
func TestShouldRetryCountsTools(t *testing.T) {
	var told reports
	hook := newHook(t, &toolresult.CompactionConfig{ContextWindow: 10_000, OnCompaction: told.add})
	retry := &adk.RetryContext{
		RetryAttempt: 1, Err: provider.ErrContextTooLong,
		InputMessages: conversation("user(1000) call(a:x) result(a::7000) call(b:x) result(b::2000)"),
	}
	require.NotNil(t, hook.ShouldRetry(t.Context(), retry))
	retry.Options = []model.Option{model.WithTools([]*schema.ToolInfo{{Name: "x", Desc: sizedText(0, "1000", 0)}})}
	require.NotNil(t, hook.ShouldRetry(t.Context(), retry))
	assert.Less(t, told[1].TargetTokens, told[0].TargetTokens-700)
}
