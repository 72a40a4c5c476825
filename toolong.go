package toolresult

// When the provider says that the context is too long, the estimate was wrong. Then the conversation is compacted once more,
// below what the hook would have come down to, and sent again.

import (
	"context"
	"slices"
	"strings"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/schema"
)

// IsContextTooLong reports whether an error of a model reads like a request over the context window. Providers have no common
// code for it, and clients wrap what they were sent, so the text of the error decides. It knows the words of OpenAI,
// Anthropic, Google, Bedrock, Qwen, DeepSeek, Ark, Zhipu, Moonshot, MiniMax, Mistral, xAI, Ollama, llama.cpp and vLLM. A rate
// limit is none. Ollama may cut a request short without any error.
func IsContextTooLong(err error) bool {
	if err == nil {
		return false
	}
	text := strings.ToLower(err.Error())
	says := func(words string) bool { return strings.Contains(text, words) }
	return slices.ContainsFunc(contextTooLong(), says) && !slices.ContainsFunc(rateLimited(), says)
}

// contextTooLong are parts of messages, in lower case, that providers send for a request over the window.
func contextTooLong() []string {
	return []string{
		"context_length_exceeded", "context length", "context window", "context_window_exceeded", // OpenAI and its likes
		"input tokens exceed", "reduce the length of the", // OpenAI, DeepSeek, Groq
		"prompt is too long", "exceed context limit", "request_too_large", // Anthropic
		"input token count", "exceeds the maximum number of tokens", // Google
		"input is too long", "too many tokens", // Bedrock, Cohere
		"input length", "exceed max message tokens", // Qwen, Ark
		"prompt exceeds", "exceeded model token limit", "maximum prompt length", "prompt token count", // Zhipu, Moonshot, xAI, Copilot
		"prompt too long", "available context size", "exceed_context_size", // Ollama, llama.cpp
		"上下文长度",
	}
}

// rateLimited are parts of messages that count tokens too, but tokens of a span of time.
func rateLimited() []string {
	return []string{"throttl", "please wait", "tokens per ", "rate limit", "rate_limit"}
}

// ShouldRetry is for the slot of that name in adk.ModelRetryConfig, with MaxRetries of at least 1. When a model call failed
// because the context was too long, it compacts the conversation below what BeforeModel would, has it kept, and tries once
// more at once; a second such failure in the same call is accepted as it is. So is everything else: wrap it to retry for other
// reasons too. Make the hook with the config that the handler has. Eino's deep agent does not give its retry config to its
// general sub-agent.
func (h *CompactionHook) ShouldRetry(ctx context.Context, retry *adk.RetryContext) *adk.RetryDecision {
	if !IsContextTooLong(retry.Err) || model.GetImplSpecificOptions(&tooLong{}, retry.Options...).retried {
		return nil
	}
	tools := model.GetCommonOptions(&model.Options{}, retry.Options...).Tools
	messages, changed, err := h.CompactTooLong(ctx, retry.InputMessages, tools)
	if err != nil && h.cfg.OnError != nil {
		h.cfg.OnError(ctx, err)
	}
	if !changed {
		return nil
	}
	return &adk.RetryDecision{
		Retry:                        true,
		ModifiedInputMessages:        messages,
		PersistModifiedInputMessages: true,
		AdditionalOptions:            []model.Option{model.WrapImplSpecificOptFn(func(o *tooLong) { o.retried = true })},
		Backoff:                      1, // a nanosecond: 0 would be Eino's default
	}
}

// tooLong is an option that no model knows. It tells one attempt of a model call from the next, as ADK hands the options on
// from attempt to attempt and forgets them with the call.
type tooLong struct{ retried bool }

// CompactTooLong compacts a conversation that the provider has refused as too long: down to half of what BeforeModel aims at,
// whatever the estimate says and however small the gain. tools are as in BeforeModel. changed is false where nothing more can
// go, and beside an error; then another try would be refused too. It is what a graph or an agent written by hand calls before
// it tries again; keep what it returns.
func (h *CompactionHook) CompactTooLong(ctx context.Context, messages []*schema.Message, tools []*schema.ToolInfo) (compacted []*schema.Message, changed bool, err error) {
	e, err := h.estimate(ctx, messages, h.toolsOr(tools))
	if err != nil {
		return messages, false, err
	}
	// The provider has just shown that the conversation fills the window at least, so a token of ours is worth more than
	// the estimate thought.
	if counted := float64(e.counted + e.overhead); counted > 0 {
		e.scale = max(e.scale, h.window/counted)
	}
	c, err := h.compact(ctx, messages, e, h.cfg.CompactTo/2)
	if err != nil {
		return messages, false, err
	}
	h.report(ctx, c, false)
	return c.Messages, c.Changed, nil
}
