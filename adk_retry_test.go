package toolresult_test

// What happens when a model call fails: ADK tries again, with the same conversation or a shorter one, or with another model.

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/adk/prebuilt/deep"
	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eino-toolresult/toolresult"
	"github.com/eino-toolresult/toolresult/internal/provider"
)

var errNetwork = errors.New("connection reset by peer")

// wrongWindow is what the application takes the window for; realWindow is what the provider takes. So the estimate is wrong.
const wrongWindow, realWindow = 40_000, 16_000

// retried runs an agent of so many steps with a result of 1 300 real tokens in each, and returns what it ended with.
func retried(t *testing.T, chat *provider.Model, streaming bool, change func(cfg *adk.ChatModelAgentConfig)) error {
	t.Helper()
	h := newHandler(t, &toolresult.HandlerConfig{Backend: newMemory(), ContextWindow: wrongWindow})
	agent := newAgent(t, "agent", chat, []tool.BaseTool{fakeTool("invokable", "fetch", strings.Repeat("some text\n", 400))}, change, h)
	messages, err := runAgent(t.Context(), agent, streaming, schema.UserMessage("go"))
	if err == nil {
		assert.Equal(t, "done", lastOf(messages).Content)
	}
	return err
}

func retryWith(shouldRetry func(context.Context, *adk.RetryContext) *adk.RetryDecision) func(cfg *adk.ChatModelAgentConfig) {
	return func(cfg *adk.ChatModelAgentConfig) {
		cfg.ModelRetryConfig = &adk.ModelRetryConfig{MaxRetries: 3, ShouldRetry: shouldRetry}
	}
}

func messageTokens(messages []*schema.Message, _ []*schema.ToolInfo) int {
	return requestTokens(messages, nil)
}

// refused counts the requests over the real window.
func refused(chat *provider.Model) (n int) {
	for _, request := range chat.Requests() {
		if messageTokens(request, nil) > realWindow {
			n++
		}
	}
	return n
}

func TestShouldRetryInAnAgent(t *testing.T) {
	inBothModes(t, func(t *testing.T, streaming bool) {
		chat := provider.New(manySteps(30), realWindow, messageTokens)
		assert.ErrorIs(t, retried(t, chat, streaming, nil), provider.ErrContextTooLong, "without it the run ends")

		chat = provider.New(manySteps(30), realWindow, messageTokens)
		chat.Script = skippingRefused(chat, manySteps(30))
		var told reports
		hook := newHook(t, &toolresult.CompactionConfig{ContextWindow: wrongWindow, OnCompaction: told.add})
		require.NoError(t, retried(t, chat, streaming, retryWith(hook.ShouldRetry)))
		assert.Greater(t, len(told), 1, "each time that it comes to this")
		assert.Len(t, chat.Requests(), 31+len(told), "one more request each time")
		for i, request := range chat.Requests()[1:] {
			requireContinues(t, chat.Requests()[i], request)
		}
	})
}

// skippingRefused numbers only the requests that the provider took.
func skippingRefused(chat *provider.Model, script provider.Script) provider.Script {
	return func(_ int, messages []*schema.Message) (*schema.Message, error) {
		return script(len(chat.Requests())-1-refused(chat), messages)
	}
}

// requireContinues asserts that what was pruned once stays pruned with the same text.
func requireContinues(t *testing.T, before, after []*schema.Message) {
	t.Helper()
	require.GreaterOrEqual(t, len(after), len(before))
	for i, msg := range before {
		if _, pruned := msg.Extra["context_compaction"]; pruned {
			require.Equal(t, msg.Content, after[i].Content)
		}
	}
}

func TestShouldRetryOnlyOnce(t *testing.T) {
	inBothModes(t, func(t *testing.T, streaming bool) {
		for from, want := range map[int]int{0: 1, 1: 2, 4: 6} { // by the request from which on all are refused
			hook := newHook(t, &toolresult.CompactionConfig{ContextWindow: wrongWindow})
			chat := provider.New(func(n int, messages []*schema.Message) (*schema.Message, error) {
				if n >= from {
					return nil, provider.ErrContextTooLong
				}
				return manySteps(10)(n, messages)
			}, 0, requestTokens)
			err := retried(t, chat, streaming, retryWith(hook.ShouldRetry))
			assert.ErrorIs(t, err, provider.ErrContextTooLong, "the provider's own error")
			assert.Len(t, chat.Requests(), want, "from request %d on, of which nothing can go before the second", from)
		}
	})
}

// Other reasons to try again and this one do not get in each other's way, whichever comes first.
func TestShouldRetryBesideOtherReasons(t *testing.T) {
	tests := []struct {
		fail   []error
		want   error
		reason string
	}{
		{[]error{errNetwork, provider.ErrContextTooLong}, nil, "the network, then too long"},
		{[]error{provider.ErrContextTooLong, errNetwork}, nil, "too long, then the network"},
		{[]error{provider.ErrContextTooLong, errNetwork, provider.ErrContextTooLong}, provider.ErrContextTooLong, "too long twice in one call"},
	}
	inBothModes(t, func(t *testing.T, streaming bool) {
		for _, tt := range tests {
			const at = 6 // the request from which on calls fail
			hook := newHook(t, &toolresult.CompactionConfig{ContextWindow: wrongWindow})
			chat := provider.New(nil, 0, requestTokens)
			chat.Script = func(n int, messages []*schema.Message) (*schema.Message, error) {
				if n >= at && n < at+len(tt.fail) {
					return nil, tt.fail[n-at]
				}
				if n >= at {
					n -= len(tt.fail)
				}
				return manySteps(8)(n, messages)
			}
			err := retried(t, chat, streaming, retryWith(func(ctx context.Context, retry *adk.RetryContext) *adk.RetryDecision {
				if decision := hook.ShouldRetry(ctx, retry); decision != nil {
					return decision
				}
				return &adk.RetryDecision{Retry: errors.Is(retry.Err, errNetwork), Backoff: 1}
			}))
			assert.ErrorIs(t, err, tt.want, tt.reason)
			if tt.want == nil {
				assert.Len(t, chat.Requests(), 9+len(tt.fail), tt.reason)
				assert.Contains(t, lastOf(chat.Requests())[2].Extra, "context_compaction", tt.reason)
			}
		}
	})
}

// brokenStream is a model whose stream breaks off after a piece, the first times.
type brokenStream struct {
	*provider.Model
	breaks int
}

func (b *brokenStream) Stream(ctx context.Context, messages []*schema.Message, opts ...model.Option) (*schema.StreamReader[*schema.Message], error) {
	if b.breaks == 0 {
		return b.Model.Stream(ctx, messages, opts...)
	}
	b.breaks--
	reader, writer := schema.Pipe[*schema.Message](2)
	writer.Send(answers("I think"), nil)
	writer.Send(nil, provider.ErrContextTooLong)
	writer.Close()
	return reader, nil
}

// A provider may find out in the middle of its answer.
func TestShouldRetryWhenAStreamBreaksOff(t *testing.T) {
	chat := &brokenStream{provider.New(scripted(answers("done")), 0, requestTokens), 1}
	hook := newHook(t, &toolresult.CompactionConfig{ContextWindow: wrongWindow})
	h := newHandler(t, &toolresult.HandlerConfig{Backend: newMemory(), ContextWindow: wrongWindow})
	agent := newAgent(t, "agent", chat, nil, retryWith(hook.ShouldRetry), h)
	messages, err := runAgent(t.Context(), agent, true, conversation("user call(a:x) result(a::9000) call(b:x) result(b) user")...)
	require.NoError(t, err)
	assert.Equal(t, "done", lastOf(messages).Content)
	assert.Contains(t, lastOf(chat.Requests())[2].Extra, "context_compaction")
}

func noPause(context.Context, int) time.Duration { return 0 }

// ADK's plain retries send the same conversation again. The handler does its work once for all of them.
func TestHandlerWithPlainRetries(t *testing.T) {
	inBothModes(t, func(t *testing.T, streaming bool) {
		chat := provider.New(nil, 0, requestTokens)
		chat.Script = func(n int, messages []*schema.Message) (*schema.Message, error) {
			if n%3 != 2 {
				return nil, errNetwork
			}
			return manySteps(40)(n/3, messages)
		}
		require.NoError(t, retried(t, chat, streaming, func(cfg *adk.ChatModelAgentConfig) {
			cfg.ModelRetryConfig = &adk.ModelRetryConfig{MaxRetries: 2, BackoffFunc: noPause}
		}))
		requests := chat.Requests()
		require.Len(t, requests, 3*41)
		for i := 0; i < len(requests); i += 3 {
			assert.Equal(t, requests[i], requests[i+1])
			assert.Equal(t, requests[i], requests[i+2])
		}
		assert.Contains(t, lastOf(requests)[2].Extra, "context_compaction")
	})
}

// The second model of a failover has a smaller window. Its first refusal is answered as any is, and what it then gets is kept.
func TestHandlerWithFailover(t *testing.T) {
	inBothModes(t, func(t *testing.T, streaming bool) {
		for _, withRetry := range []bool{true, false} {
			backup := provider.New(nil, realWindow, messageTokens)
			backup.Script = skippingRefused(backup, manySteps(20))
			chat := provider.New(func(n int, messages []*schema.Message) (*schema.Message, error) {
				if n >= 14 {
					return nil, errNetwork
				}
				return callsFor(toolCall(fmt.Sprint("early_", n), "fetch")), nil
			}, 0, requestTokens)
			hook := newHook(t, &toolresult.CompactionConfig{ContextWindow: wrongWindow})
			err := retried(t, chat, streaming, func(cfg *adk.ChatModelAgentConfig) {
				if withRetry {
					retryWith(hook.ShouldRetry)(cfg)
				}
				cfg.ModelFailoverConfig = &adk.ModelFailoverConfig[*schema.Message]{
					MaxRetries:     1,
					ShouldFailover: func(_ context.Context, _ *schema.Message, err error) bool { return errors.Is(err, errNetwork) },
					GetFailoverModel: func(context.Context, *adk.FailoverContext[*schema.Message]) (model.BaseModel[*schema.Message], []*schema.Message, error) {
						return backup, nil, nil
					},
				}
			})
			if !withRetry {
				assert.ErrorIs(t, err, provider.ErrContextTooLong)
				continue
			}
			require.NoError(t, err)
			assert.Greater(t, refused(backup), 1)
			for i, request := range backup.Requests()[1:] {
				requireContinues(t, backup.Requests()[i], request)
			}
		}
	})
}

// Eino's deep agent keeps its retry config to itself: what its general sub-agent is refused ends the run.
func TestShouldRetryInADeepAgent(t *testing.T) {
	for inSubAgent, want := range map[bool]error{false: nil, true: provider.ErrContextTooLong} {
		hook := newHook(t, &toolresult.CompactionConfig{ContextWindow: wrongWindow})
		script := []*schema.Message{fetches(), callsFor(toolCall("call_2", "fetch")), answers("done")}
		if inSubAgent {
			script = append([]*schema.Message{callsFor(callWith("call_0", "task", `{"subagent_type":"general-purpose","description":"x"}`))}, append(script, answers("done"))...)
		}
		refusing := true
		chat := provider.New(nil, 0, requestTokens)
		chat.Script = func(n int, messages []*schema.Message) (*schema.Message, error) {
			if refusing && lastOf(messages).ToolCallID == "call_2" {
				refusing = false
				return nil, provider.ErrContextTooLong
			}
			if !refusing {
				n--
			}
			return script[n], nil
		}
		agent, err := deep.New(t.Context(), &deep.Config{
			Name: "deep", Description: "an agent of the tests", ChatModel: chat, Instruction: "You look things up.",
			ToolsConfig:      adk.ToolsConfig{ToolsNodeConfig: toolsNode(fakeTool("invokable", "fetch", strings.Repeat("some text\n", 400)))},
			Handlers:         handlersOf(newHandler(t, &toolresult.HandlerConfig{Backend: newMemory(), ContextWindow: wrongWindow})),
			ModelRetryConfig: &adk.ModelRetryConfig{MaxRetries: 1, ShouldRetry: hook.ShouldRetry},
		})
		require.NoError(t, err)
		_, err = runAgent(t.Context(), agent, false, schema.UserMessage("go"))
		assert.ErrorIs(t, err, want, "in the sub-agent: %t", inSubAgent)
	}
}
