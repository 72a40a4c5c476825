package toolresult_test

// The handler in real agents: what it offloads, what it adds, when it prunes, and what it leaves alone.

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eino-toolresult/toolresult"
	"github.com/eino-toolresult/toolresult/internal/provider"
)

const handlerWindow = 40_000 // tokens, so results above 5 000 are offloaded

// toolKinds are the four shapes of a tool.
func toolKinds() []string {
	return []string{"invokable", "streamable", "enhanced invokable", "enhanced streamable"}
}

// inBothModes runs a test without streaming and with it.
func inBothModes(t *testing.T, test func(t *testing.T, streaming bool)) {
	for _, streaming := range []bool{false, true} {
		t.Run(fmt.Sprintf("streaming %t", streaming), func(t *testing.T) { test(t, streaming) })
	}
}

// A tool of each kind, with a large result and with a small one: all in one step, or in a step each where their results are
// streamed, as Eino v0.9.13 has a data race of its own between two enhanced tools of one streamed step.
func TestHandlerOffloadsAllKinds(t *testing.T) {
	large, small := numberedLines(1000), numberedLines(3)
	inBothModes(t, func(t *testing.T, streaming bool) {
		backend := newMemory()
		var tools []tool.BaseTool
		var step []schema.ToolCall
		for i, kind := range toolKinds() {
			tools = append(tools, fakeTool(kind, fmt.Sprint("large_", i), large), fakeTool(kind, fmt.Sprint("small_", i), small))
			step = append(step, toolCall(fmt.Sprint("call_large_", i), fmt.Sprint("large_", i)), toolCall(fmt.Sprint("call_small_", i), fmt.Sprint("small_", i)))
		}
		said := []*schema.Message{callsFor(step...)}
		if streaming {
			said = nil
			for _, call := range step {
				said = append(said, callsFor(call))
			}
		}
		chat := provider.New(scripted(append(said, answers("done"))...), handlerWindow, requestTokens)
		events := mustRun(t, newAgent(t, "agent", chat, tools, nil, newHandler(t, &toolresult.HandlerConfig{Backend: backend, ContextWindow: handlerWindow})), streaming, "go")

		read := lastOf(chat.Requests())
		require.Len(t, toolResults(read), 2*len(toolKinds()))
		for _, msg := range read {
			if strings.HasPrefix(msg.ToolCallID, "call_small") {
				assert.Equal(t, small, textOf(msg), msg.ToolName)
			}
			if strings.HasPrefix(msg.ToolCallID, "call_large") {
				path, ok := toolresult.OffloadedPath(msg)
				require.True(t, ok, "%s: %.200q", msg.ToolName, textOf(msg))
				assert.Equal(t, "/large_tool_result/"+msg.ToolCallID, path)
				assert.Equal(t, large, readBack(t, backend, path), msg.ToolName)
			}
		}
		assert.Equal(t, toolResults(read), toolResults(events), "the events hold what the model reads")
		assert.Equal(t, len(toolKinds()), len(backend.stored()))
	})
}

// The model follows the notice with the tools that the handler brought, and nothing that they return is offloaded again.
func TestHandlerBringsTools(t *testing.T) {
	inBothModes(t, func(t *testing.T, streaming bool) {
		backend, names := newMemory(), &toolNames{}
		oneLine := strings.Repeat("0123456789", 50_000)
		chat := provider.New(scripted(
			callsFor(toolCall("call_1", "fetch")),
			callsFor(callWith("call_2", "read_file", `{"file_path":"/large_tool_result/call_1"}`)),
			callsFor(callWith("call_3", "search_file", `{"file_path":"/large_tool_result/call_1","pattern":"9012"}`)),
			answers("done"),
		), handlerWindow, names.count)
		h := newHandler(t, &toolresult.HandlerConfig{Backend: backend, ContextWindow: handlerWindow})
		mustRun(t, newAgent(t, "agent", chat, []tool.BaseTool{fakeTool("invokable", "fetch", oneLine)}, nil, h), streaming, "go")

		assert.Equal(t, []string{"fetch", "read_file", "search_file"}, names.last)
		results := toolResults(lastOf(chat.Requests()))
		assert.Contains(t, results["call_2"], "byte_offset=", "a page, and how to go on in its only line")
		assert.Contains(t, results["call_3"], "9012", "a hit")
		assert.Equal(t, 1, len(backend.stored()), "pages are not offloaded")
	})
}

func TestHandlerLeavesToolsOfTheseNames(t *testing.T) {
	tests := []struct {
		agent  []string
		read   string
		want   []string
		reason string
	}{
		{nil, "", []string{"read_file", "search_file"}, "an agent without tools"},
		{[]string{"search_file"}, "", []string{"search_file", "read_file"}, "the agent has its own search tool"},
		{[]string{"read_file", "search_file"}, "", []string{"read_file", "search_file"}, "it has both"},
		{[]string{"read_file"}, "read_result", []string{"read_file", "read_result", "search_file"}, "the name is another"},
	}
	for _, tt := range tests {
		names := &toolNames{}
		var tools []tool.BaseTool
		for _, name := range tt.agent {
			tools = append(tools, fakeTool("invokable", name, "the agent's own"))
		}
		chat := provider.New(func(n int, messages []*schema.Message) (*schema.Message, error) {
			if n == 0 && len(tools) > 0 {
				return callsFor(toolCall("call_1", tt.agent[0])), nil
			}
			return answers("done"), nil
		}, 0, names.count)
		cfg := &toolresult.HandlerConfig{Backend: newMemory(), ContextWindow: handlerWindow, Read: toolresult.ReadConfig{ToolName: tt.read}}
		mustRun(t, newAgent(t, "agent", chat, tools, nil, newHandler(t, cfg)), false, "go")
		assert.Equal(t, tt.want, names.last, tt.reason)
		if len(tools) > 0 {
			assert.Equal(t, "the agent's own", toolResults(lastOf(chat.Requests()))["call_1"], tt.reason)
		}
	}
}

// A result that the user gets and the model never reads stays whole, whatever its kind.
func TestHandlerLeavesWhatIsReturnedDirectly(t *testing.T) {
	large := numberedLines(1000)
	inBothModes(t, func(t *testing.T, streaming bool) {
		for _, kind := range toolKinds() {
			for _, value := range []bool{true, false} { // Eino looks for the name alone
				backend := newMemory()
				chat := provider.New(scripted(callsFor(toolCall("call_1", "report"))), 0, requestTokens)
				agent := newAgent(t, "agent", chat, []tool.BaseTool{fakeTool(kind, "report", large)}, func(cfg *adk.ChatModelAgentConfig) {
					cfg.ToolsConfig.ReturnDirectly = map[string]bool{"report": value}
				}, newHandler(t, &toolresult.HandlerConfig{Backend: backend, ContextWindow: handlerWindow}))
				events := mustRun(t, agent, streaming, "go")
				assert.Equal(t, large, toolResults(events)["call_1"], "%s, %t", kind, value)
				assert.Zero(t, len(backend.stored()), "%s, %t", kind, value)
			}
		}
	})
}

// returnsDirectly makes a tool return directly when the run begins.
type returnsDirectly struct {
	*adk.BaseChatModelAgentMiddleware
	tool string
}

func (r returnsDirectly) BeforeAgent(ctx context.Context, run *adk.ChatModelAgentContext) (context.Context, *adk.ChatModelAgentContext, error) {
	changed := *run
	changed.ReturnDirectly = map[string]bool{r.tool: true}
	return ctx, &changed, nil
}

// What an earlier handler makes return directly is known in BeforeAgent; what the application alone knows is excluded by name.
func TestHandlerKnowsLateReturnDirectly(t *testing.T) {
	large := numberedLines(1000)
	tests := []struct {
		exclude []string
		early   bool
		stored  int
		reason  string
	}{
		{nil, true, 0, "set by a handler in front"},
		{nil, false, 1, "set by a handler behind, too late"},
		{[]string{"report"}, false, 0, "excluded by name"},
	}
	for _, tt := range tests {
		backend := newMemory()
		h := newHandler(t, &toolresult.HandlerConfig{Backend: backend, ContextWindow: handlerWindow, Offload: toolresult.OffloadConfig{ExcludeTools: tt.exclude}})
		handlers := []adk.ChatModelAgentMiddleware{h, returnsDirectly{&adk.BaseChatModelAgentMiddleware{}, "report"}}
		if tt.early {
			handlers[0], handlers[1] = handlers[1], handlers[0]
		}
		chat := provider.New(scripted(callsFor(toolCall("call_1", "report"))), 0, requestTokens)
		mustRun(t, newAgent(t, "agent", chat, []tool.BaseTool{fakeTool("invokable", "report", large)}, nil, handlers...), false, "go")
		assert.Equal(t, tt.stored, len(backend.stored()), tt.reason)
	}
}

// Sixty steps with more output than the window holds: without the handler the agent ends in the middle; with it, it must not
// send a request that is refused.
func TestHandlerKeepsSixtyStepsBelowTheWindow(t *testing.T) {
	const window = 24_000
	tools := func() (tools []tool.BaseTool) {
		return append(tools, fakeTool("enhanced invokable", "search", strings.Repeat("a hit that is not so important after all\n", 80)),
			fakeTool("streamable", "fetch", strings.Repeat("a paragraph of some page of the documentation\n", 300)))
	}
	inBothModes(t, func(t *testing.T, streaming bool) {
		bare := sixtySteps(window)
		bare.Count = requestTokens
		_, err := runAgent(t.Context(), newAgent(t, "agent", bare, tools(), nil), streaming, schema.UserMessage("go"))
		require.ErrorIs(t, err, provider.ErrContextTooLong)

		var told reports
		backend, chat := newMemory(), sixtySteps(window)
		chat.Count = requestTokens
		h := newHandler(t, &toolresult.HandlerConfig{Backend: backend, ContextWindow: window,
			Offload:    toolresult.OffloadConfig{Sampler: toolresult.HeadSampler(2, 100)}, // notices stay, so they should be short
			Compaction: toolresult.CompactionConfig{OnCompaction: told.add}})
		events := mustRun(t, newAgent(t, "agent", chat, tools(), nil, h), streaming, "go")
		assert.Equal(t, "done", lastOf(events).Content)
		require.Len(t, chat.Requests(), agentSteps+1)
		for i := 1; i <= agentSteps; i++ {
			requireSamePrefix(t, chat.Requests()[i-1], chat.Requests()[i])
		}
		assert.Greater(t, len(told), 2)
		assert.Less(t, len(told), agentSteps/4)
		assert.Equal(t, 2, len(backend.stored()), "the same page again and again, under two IDs that come again, is stored once for each")
	})
}

// Schemas fill a third of this window. A hook that did not count them would prune too late.
func TestHandlerCountsSchemas(t *testing.T) {
	const window = 12_000
	verbose := describedTool{fakeTool("invokable", "fetch", strings.Repeat("some text\n", 250)), strings.Repeat("It fetches. ", 1000)}
	chat := provider.New(func(n int, _ []*schema.Message) (*schema.Message, error) {
		if n == 20 {
			return answers("done"), nil
		}
		return callsFor(toolCall(fmt.Sprint("call_", n), "fetch")), nil
	}, window, requestTokens)
	chat.NoUsage = true // else the provider's count would tell of the schemas
	h := newHandler(t, &toolresult.HandlerConfig{Backend: newMemory(), ContextWindow: window, Compaction: toolresult.CompactionConfig{TokenCounter: requestCounter()}})
	mustRun(t, newAgent(t, "agent", chat, []tool.BaseTool{verbose}, nil, h), false, "go")
	for _, request := range chat.Requests() {
		assert.Less(t, requestTokens(request, nil), window*7/10-4000+2000, "the schemas were counted")
	}
}

// describedTool is a tool with a long description.
type describedTool struct {
	tool.BaseTool
	desc string
}

func (d describedTool) Info(ctx context.Context) (*schema.ToolInfo, error) {
	info, err := d.BaseTool.Info(ctx)
	info.Desc = d.desc
	return info, err
}

func (d describedTool) InvokableRun(ctx context.Context, arguments string, opts ...tool.Option) (string, error) {
	return d.BaseTool.(tool.InvokableTool).InvokableRun(ctx, arguments, opts...)
}

// The tools read below the prefix alone, so a notice of what lies elsewhere would be of no use.
func TestHandlerRefusesPathsOutsideThePrefix(t *testing.T) {
	tests := []struct {
		path   string
		ok     bool
		reason string
	}{
		{"/results/a", true, "below it"},
		{"/results/s1/a", true, "deep below it"},
		{"/results", false, "the folder itself"},
		{"/results2/a", false, "another folder that begins alike"},
		{"/large_tool_result/a", false, "the default prefix, which is not in use"},
		{"results/a", false, "a relative path"},
		{"/results/../etc/passwd", false, "out of it"},
	}
	for _, tt := range tests {
		backend := newMemory()
		cfg := &toolresult.HandlerConfig{Backend: backend, ContextWindow: handlerWindow}
		cfg.Read.PathPrefix = "/results/"
		cfg.Offload.PathGenerator = func(context.Context, *compose.ToolInput) (string, error) { return tt.path, nil }
		chat := provider.New(scripted(callsFor(toolCall("call_1", "fetch")), answers("done")), 0, requestTokens)
		agent := newAgent(t, "agent", chat, []tool.BaseTool{fakeTool("invokable", "fetch", numberedLines(1000))}, nil, newHandler(t, cfg))
		_, err := runAgent(t.Context(), agent, false, schema.UserMessage("go"))
		if tt.ok {
			assert.NoError(t, err, tt.reason)
			continue
		}
		assert.ErrorContains(t, err, fmt.Sprintf("PathGenerator returned %q", tt.path), tt.reason)
		assert.Zero(t, len(backend.stored()), tt.reason)
	}
}
