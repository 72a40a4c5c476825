package toolresult_test

// Several turns: what an application is told of a run, what it must keep for the next one, and what it costs if it keeps
// something else.

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/flow/agent/react"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eino-toolresult/toolresult"
	"github.com/eino-toolresult/toolresult/internal/provider"
)

// largeThenSmall is a model that calls the tool large once, then small until the first of its results must be pruned.
func largeThenSmall() *provider.Model {
	return provider.New(func(n int, _ []*schema.Message) (*schema.Message, error) {
		switch {
		case n == 0:
			return callsFor(toolCall("large", "large")), nil
		case n < 12:
			return callsFor(toolCall(fmt.Sprint("small_", n), "small")), nil
		}
		return answers("done"), nil
	}, 0, requestTokens)
}

// Events hold a notice where the result was offloaded, and the whole of what is pruned later; an event sender behind the
// handler sees what the tool returned.
func TestEventsOfAHandler(t *testing.T) {
	inBothModes(t, func(t *testing.T, streaming bool) {
		for _, inside := range []bool{false, true} {
			large, small, chat := numberedLines(1000), numberedLines(80), largeThenSmall()
			handlers := handlersOf(newHandler(t, &toolresult.HandlerConfig{Backend: newMemory(), ContextWindow: 10_000}))
			if inside {
				handlers = append(handlers, adk.NewEventSenderToolWrapper())
			}
			tools := []tool.BaseTool{fakeTool("streamable", "large", large), fakeTool("enhanced streamable", "small", small)}
			events := mustRun(t, newAgent(t, "agent", chat, tools, nil, handlers...), streaming, "go")
			told, read := toolResults(events), toolResults(lastOf(chat.Requests()))
			assert.Equal(t, inside, told["large"] == large, "an event sender behind the handler tells all")
			if !inside {
				assert.Equal(t, read["large"], told["large"], "else the event is what the model reads")
			}
			assert.Contains(t, read["small_1"], "removed to free up context")
			assert.Equal(t, small, told["small_1"], "no event tells of the prune")
		}
	})
}

// react's future hands out the same: notices, and the whole of what is pruned later.
func TestMessagesOfReactsFuture(t *testing.T) {
	inBothModes(t, func(t *testing.T, streaming bool) {
		large, small, chat := numberedLines(1000), numberedLines(80), largeThenSmall()
		agent, err := react.NewAgent(t.Context(), &react.AgentConfig{
			ToolCallingModel: chat, MaxStep: 40,
			ToolsConfig: compose.ToolsNodeConfig{
				Tools:               []tool.BaseTool{fakeTool("streamable", "large", large), fakeTool("invokable", "small", small)},
				ToolCallMiddlewares: []compose.ToolMiddleware{newOffload(t, &toolresult.OffloadConfig{Backend: newMemory(), TokenLimit: 2000})},
			},
			MessageRewriter: newHook(t, &toolresult.CompactionConfig{ContextWindow: 10_000}).MessageRewriter(),
		})
		require.NoError(t, err)
		told, read := toolResults(futureOf(t, agent, streaming)), toolResults(lastOf(chat.Requests()))
		assert.Equal(t, read["large"], told["large"])
		assert.NotEqual(t, large, told["large"])
		assert.Contains(t, read["small_1"], "removed to free up context")
		assert.Equal(t, small, told["small_1"])
	})
}

// futureOf runs a react agent and returns the messages of its future.
func futureOf(t *testing.T, agent *react.Agent, streaming bool) (messages []*schema.Message) {
	t.Helper()
	option, future := react.WithMessageFuture()
	question := []*schema.Message{schema.UserMessage("go")}
	if !streaming {
		_, err := agent.Generate(t.Context(), question, option)
		require.NoError(t, err)
		return drained(t, future.GetMessages().Next)
	}
	_, err := joined(agent.Stream(t.Context(), question, option))
	require.NoError(t, err)
	for _, stream := range drained(t, future.GetMessageStreams().Next) {
		msg, err := schema.ConcatMessageStream(stream)
		require.NoError(t, err)
		messages = append(messages, msg)
	}
	return messages
}

func drained[T any](t *testing.T, next func() (T, bool, error)) (all []T) {
	t.Helper()
	for {
		item, more, err := next()
		require.NoError(t, err)
		if !more {
			return all
		}
		all = append(all, item)
	}
}

// keepHistory keeps the conversation as it is when a run ends. It is all that a multi-turn application needs.
type keepHistory struct {
	*adk.BaseChatModelAgentMiddleware
	messages []*schema.Message
}

func (k *keepHistory) AfterAgent(ctx context.Context, state *adk.ChatModelAgentState) (context.Context, error) {
	k.messages = slices.DeleteFunc(slices.Clone(state.Messages), func(m *schema.Message) bool { return m.Role == schema.System })
	return ctx, nil
}

// turns plays a conversation of eight turns of five model calls, with the history that keep makes of the one before, the
// events of the turn, and what keepHistory has.
func turns(t *testing.T, streaming bool, keep func(history, events, state []*schema.Message) []*schema.Message) (chat *provider.Model, rewrites int, err error) {
	t.Helper()
	const window, stepsOfATurn = 12_000, 4
	chat = provider.New(func(n int, _ []*schema.Message) (*schema.Message, error) {
		if n%(stepsOfATurn+1) == stepsOfATurn {
			return answers("That was it."), nil
		}
		return callsFor(toolCall(fmt.Sprint("call_", n), "fetch")), nil
	}, window, requestTokens)
	var told reports
	h := newHandler(t, &toolresult.HandlerConfig{Backend: newMemory(), ContextWindow: window, Compaction: toolresult.CompactionConfig{
		OnCompaction: told.add, TokenCounter: requestCounter(),
	}})
	kept := &keepHistory{BaseChatModelAgentMiddleware: &adk.BaseChatModelAgentMiddleware{}}
	tools := []tool.BaseTool{fakeTool("invokable", "fetch", strings.Repeat("some text\n", 300))}
	agent := newAgent(t, "agent", chat, tools, func(cfg *adk.ChatModelAgentConfig) { cfg.Instruction = persona }, h, kept)
	var history []*schema.Message
	for range 8 {
		history = append(history[:len(history):len(history)], schema.UserMessage("And now?"))
		events, err := runAgent(t.Context(), agent, streaming, history...)
		if err != nil {
			return chat, 0, err
		}
		history = keep(history, events, kept.messages)
		// A store is between turns: what it loads is what counts.
		history = throughJSON(t, history)
	}
	for _, c := range told {
		if c.Changed {
			rewrites++
		}
	}
	return chat, rewrites, nil
}

// uncached is how many tokens of all requests a provider finds in no prefix of the request before.
func uncached(t *testing.T, requests [][]*schema.Message) (tokens int) {
	t.Helper()
	var before []*schema.Message
	for _, request := range requests {
		same := 0
		for same < min(len(before), len(request)) && textOf(before[same]) == textOf(request[same]) && before[same].Role == request[same].Role {
			same++
		}
		tokens += requestTokens(request[same:], nil)
		before = request
	}
	return tokens
}

func TestTurnsWithTheState(t *testing.T) {
	inBothModes(t, func(t *testing.T, streaming bool) {
		chat, _, err := turns(t, streaming, func(_, _, state []*schema.Message) []*schema.Message { return state })
		require.NoError(t, err)
		require.Len(t, chat.Requests(), 40)
		for i, request := range chat.Requests()[1:] {
			requireContinues(t, chat.Requests()[i], request)
			systems := 0
			for _, msg := range request {
				if msg.Role == schema.System {
					systems++
				}
			}
			require.Equal(t, 1, systems, "the system message comes anew each time, and once")
		}
	})
}

// The events bring back what was pruned, but the usage in them is that of the pruned conversation: so the estimate is too low,
// and sooner or later a request is refused. Without the usage all goes well, and costs more.
func TestTurnsWithTheEvents(t *testing.T) {
	inBothModes(t, func(t *testing.T, streaming bool) {
		_, _, err := turns(t, streaming, func(history, events, _ []*schema.Message) []*schema.Message { return append(history, events...) })
		assert.ErrorIs(t, err, provider.ErrContextTooLong)

		events, anew, err := turns(t, streaming, func(history, events, _ []*schema.Message) []*schema.Message {
			for _, msg := range events {
				msg.ResponseMeta = nil
			}
			return append(history, events...)
		})
		require.NoError(t, err)
		state, rewrites, err := turns(t, streaming, func(_, _, state []*schema.Message) []*schema.Message { return state })
		require.NoError(t, err)
		paid, paidAnew := uncached(t, state.Requests()), uncached(t, events.Requests())
		t.Logf("8 turns of 5 calls: with the state %d rewrites, %d tokens outside the cache; with the events %d and %d", rewrites, paid, anew, paidAnew)
		assert.Less(t, rewrites, anew, "pruned anew in every turn")
		assert.Less(t, paid, paidAnew, "and paid for anew")
	})
}
