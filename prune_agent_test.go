package toolresult_test

// Real agents of sixty steps on a model that refuses what providers refuse. Their tools return several times what the
// window holds, so without the hook they end in the middle, and with it they must never send a request that is refused.

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/flow/agent/react"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eino-toolresult/toolresult"
	"github.com/eino-toolresult/toolresult/internal/provider"
)

const (
	agentSteps  = 60
	agentWindow = 40_000 // of the provider's tokens, of three bytes each
	agentTools  = 60     // schemas of 600 bytes, 12 000 tokens that no message shows
	persona     = "You are a careful assistant who reads files. "
)

// sixtySteps is a model that makes one, two or three calls a step, and uses the same IDs in every step, as some do.
func sixtySteps(window int) *provider.Model {
	script := func(n int, _ []*schema.Message) (*schema.Message, error) {
		if n == agentSteps {
			return schema.AssistantMessage("done", nil), nil
		}
		calls := []schema.ToolCall{toolCall("call_0", "search"), toolCall("call_1", "fetch"), toolCall("call_2", "fetch")}
		answer := schema.AssistantMessage(fmt.Sprint("step ", n), calls[:1+n%3])
		answer.ReasoningContent = "It is worth another look."
		return answer, nil
	}
	return provider.New(script, window, agentTokens)
}

// agentTokens counts a third of the bytes, and the frame of every message and tool.
func agentTokens(messages []*schema.Message, tools []*schema.ToolInfo) int {
	bytes := 600 * len(tools)
	for _, msg := range messages {
		bytes += 12 + len(msg.Content) + len(msg.ReasoningContent)
		for _, call := range msg.ToolCalls {
			bytes += 30 + len(call.Function.Name) + len(call.Function.Arguments)
		}
	}
	return bytes / 3
}

func newTools() compose.ToolsNodeConfig {
	tools := []tool.BaseTool{
		fakeTool("invokable", "search", strings.Repeat("a hit that is not so important after all\n", 40)),
		fakeTool("streamable", "fetch", strings.Repeat("a paragraph of some page of the documentation\n", 80)),
	}
	for len(tools) < agentTools {
		tools = append(tools, fakeTool("invokable", fmt.Sprint("idle_", len(tools)), ""))
	}
	return compose.ToolsNodeConfig{Tools: tools}
}

// agent runs to its final answer.
type agent func(t *testing.T, model *provider.Model, hook *toolresult.CompactionHook) (*schema.Message, error)

func agents() map[string]agent {
	return map[string]agent{
		"react by Generate": func(t *testing.T, model *provider.Model, hook *toolresult.CompactionHook) (*schema.Message, error) {
			return newReact(t, model, hook).Generate(t.Context(), []*schema.Message{schema.UserMessage("go")})
		},
		"react by Stream": func(t *testing.T, model *provider.Model, hook *toolresult.CompactionHook) (*schema.Message, error) {
			return joined(newReact(t, model, hook).Stream(t.Context(), []*schema.Message{schema.UserMessage("go")}))
		},
		"graph by Invoke": func(t *testing.T, model *provider.Model, hook *toolresult.CompactionHook) (*schema.Message, error) {
			return newLoop(t, model, hook).Invoke(t.Context(), []*schema.Message{schema.SystemMessage(persona), schema.UserMessage("go")})
		},
		"graph by Stream": func(t *testing.T, model *provider.Model, hook *toolresult.CompactionHook) (*schema.Message, error) {
			return joined(newLoop(t, model, hook).Stream(t.Context(), []*schema.Message{schema.SystemMessage(persona), schema.UserMessage("go")}))
		},
	}
}

func joined(stream *schema.StreamReader[*schema.Message], err error) (*schema.Message, error) {
	if err != nil {
		return nil, err
	}
	chunks, err := receive(stream)
	if err != nil {
		return nil, err
	}
	return schema.ConcatMessages(chunks)
}

// newReact is a react agent whose system prompt the hook never sees.
func newReact(t *testing.T, model *provider.Model, hook *toolresult.CompactionHook) *react.Agent {
	t.Helper()
	cfg := &react.AgentConfig{
		ToolCallingModel: model,
		ToolsConfig:      newTools(),
		MaxStep:          3 * agentSteps,
		MessageModifier: func(_ context.Context, messages []*schema.Message) []*schema.Message {
			return append([]*schema.Message{schema.SystemMessage(strings.Repeat(persona, 20))}, messages...)
		},
	}
	if hook != nil {
		cfg.MessageRewriter = hook.MessageRewriter()
	}
	built, err := react.NewAgent(t.Context(), cfg)
	require.NoError(t, err)
	return built
}

// newLoop is the same loop as a plain graph: the hook runs in a handler of the model's node and keeps what it returns in the
// state.
func newLoop(t *testing.T, model *provider.Model, hook *toolresult.CompactionHook) compose.Runnable[[]*schema.Message, *schema.Message] {
	t.Helper()
	type state struct{ history []*schema.Message }
	cfg := newTools()
	infos := toolInfos(t, cfg.Tools)
	bound, err := model.WithTools(infos)
	require.NoError(t, err)
	node, err := compose.NewToolNode(t.Context(), &cfg)
	require.NoError(t, err)

	graph := compose.NewGraph[[]*schema.Message, *schema.Message](compose.WithGenLocalState(func(context.Context) *state { return &state{} }))
	require.NoError(t, graph.AddChatModelNode("model", bound, compose.WithStatePreHandler(func(ctx context.Context, input []*schema.Message, s *state) (_ []*schema.Message, err error) {
		s.history = append(s.history, input...)
		if hook != nil {
			s.history, err = hook.BeforeModel(ctx, s.history, infos)
		}
		return s.history, err
	})))
	require.NoError(t, graph.AddToolsNode("tools", node, compose.WithStatePreHandler(func(_ context.Context, answer *schema.Message, s *state) (*schema.Message, error) {
		s.history = append(s.history, answer)
		return answer, nil
	})))
	require.NoError(t, graph.AddEdge(compose.START, "model"))
	require.NoError(t, graph.AddEdge("tools", "model"))
	require.NoError(t, graph.AddBranch("model", compose.NewStreamGraphBranch(toolsOrEnd, map[string]bool{"tools": true, compose.END: true})))
	loop, err := graph.Compile(t.Context(), compose.WithMaxRunSteps(3*agentSteps))
	require.NoError(t, err)
	return loop
}

func toolInfos(t *testing.T, tools []tool.BaseTool) (infos []*schema.ToolInfo) {
	t.Helper()
	for _, tool := range tools {
		info, err := tool.Info(t.Context())
		require.NoError(t, err)
		infos = append(infos, info)
	}
	return infos
}

func toolsOrEnd(_ context.Context, answer *schema.StreamReader[*schema.Message]) (string, error) {
	chunks, err := receive(answer)
	if err != nil {
		return "", err
	}
	msg, err := schema.ConcatMessages(chunks)
	if err != nil || len(msg.ToolCalls) == 0 {
		return compose.END, err
	}
	return "tools", nil
}

func TestAgentsOfSixtySteps(t *testing.T) {
	for name, run := range agents() {
		t.Run(name, func(t *testing.T) {
			model := sixtySteps(agentWindow)
			_, err := run(t, model, nil)
			require.ErrorIs(t, err, provider.ErrContextTooLong, "without the hook the window overflows")
			require.Less(t, len(model.Requests()), agentSteps/2)

			for _, noUsage := range []bool{false, true} {
				model = sixtySteps(agentWindow)
				model.NoUsage = noUsage
				requireSixtySteps(t, run, model)
			}
		})
	}
}

func requireSixtySteps(t *testing.T, run agent, model *provider.Model) {
	t.Helper()
	var told reports
	cfg := agentConfig(t, model)
	cfg.OnCompaction = told.add
	answer, err := run(t, model, newHook(t, cfg))
	require.NoError(t, err)
	assert.Equal(t, "done", answer.Content)

	requests := model.Requests()
	require.Len(t, requests, agentSteps+1)
	assert.Greater(t, len(told), 5, "it is pruned again and again")
	assert.Less(t, len(told), agentSteps/3, "but rarely")
	largest := 0
	for i, request := range requests {
		largest = max(largest, agentTokens(request, cfg.Tools))
		if i > 0 {
			requireSamePrefix(t, requests[i-1], request)
		}
	}
	assert.Greater(t, largest, agentWindow/2, "nor is it pruned far too early")
	t.Logf("usage reported %t: %d rewrites in %d calls, largest request %d of %d", !model.NoUsage, len(told), len(requests), largest, agentWindow)
}

// agentConfig tells the hook of all that it does not see. Where the provider reports no usage there is nothing but the
// counter, which must fit.
func agentConfig(t *testing.T, model *provider.Model) *toolresult.CompactionConfig {
	cfg := &toolresult.CompactionConfig{
		ContextWindow:  agentWindow,
		ReservedTokens: 20 * len(persona) / 3,
		Tools:          toolInfos(t, newTools().Tools),
		OnError:        func(_ context.Context, err error) { assert.NoError(t, err) },
	}
	if model.NoUsage {
		cfg.TokenCounter = toolresult.TokenCounterFunc(func(_ context.Context, messages []*schema.Message, tools []*schema.ToolInfo) (int64, error) {
			return int64(agentTokens(messages, tools)), nil
		})
	}
	return cfg
}

func TestSchemasThatTheHookDoesNotSee(t *testing.T) {
	for _, tt := range []struct {
		noUsage, tools bool
		want           error
		reason         string
	}{
		{true, false, provider.ErrContextTooLong, "nothing tells the hook of them"},
		{true, true, nil, "the config does"},
		{false, false, nil, "a usage does"},
	} {
		model := sixtySteps(agentWindow)
		model.NoUsage = tt.noUsage
		cfg := agentConfig(t, model)
		cfg.CompactAt = 0.9
		if !tt.tools {
			cfg.Tools = nil
		}
		_, err := agents()["react by Generate"](t, model, newHook(t, cfg))
		assert.ErrorIs(t, err, tt.want, tt.reason)
	}
}

// requireSamePrefix asserts that a request continues the one before it: what was pruned stays pruned with the same text, and the
// rest is the same or newly pruned.
func requireSamePrefix(t *testing.T, before, after []*schema.Message) {
	t.Helper()
	require.Greater(t, len(after), len(before))
	for i, msg := range before {
		if _, pruned := msg.Extra["context_compaction"]; pruned || msg.Role != schema.Tool {
			require.Equal(t, msg, after[i])
			continue
		}
		require.Equal(t, msg.ToolCallID, after[i].ToolCallID)
		if _, pruned := after[i].Extra["context_compaction"]; !pruned {
			require.Equal(t, msg, after[i])
		}
	}
}
