package toolresult_test

//lint:file-ignore SA1019 Agents still have the deprecated filesystem middleware.

// Beside Eino's own middlewares: which order is right, what else a neighbour needs, and which one not to combine with, as the
// documentation of NewHandler says.

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/cloudwego/eino/adk"
	eino "github.com/cloudwego/eino/adk/filesystem"
	"github.com/cloudwego/eino/adk/middlewares/filesystem"
	"github.com/cloudwego/eino/adk/middlewares/patchtoolcalls"
	"github.com/cloudwego/eino/adk/middlewares/reduction"
	"github.com/cloudwego/eino/adk/middlewares/summarization"
	"github.com/cloudwego/eino/adk/prebuilt/deep"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eino-toolresult/toolresult"
	"github.com/eino-toolresult/toolresult/internal/provider"
)

func handlersOf(handlers ...adk.ChatModelAgentMiddleware) []adk.ChatModelAgentMiddleware {
	return handlers
}

// Eino's filesystem has a tool read_file, too. The provider refuses two tools of one name.
func TestHandlerBesideFilesystem(t *testing.T) {
	tests := []struct {
		handlerFirst bool
		readTool     string
		want         string
		bounded      bool
		reason       string
	}{
		{false, "read_result", "ls read_file write_file edit_file glob grep read_result search_file", true, "the order and the name that are right"},
		{true, "read_result", "read_result search_file ls read_file write_file edit_file glob grep", true, "with another name, any order will do"},
		{false, "", "ls read_file write_file edit_file glob grep search_file", false, "the filesystem's own tool reads, and bounds no page"},
		{true, "", "read_file search_file ls read_file write_file edit_file glob grep", false, "wrong: two tools of one name, and the last wins"},
	}
	for _, tt := range tests {
		backend, names := eino.NewInMemoryBackend(), &toolNames{}
		oneLine := strings.Repeat("0123456789", 20_000)
		files, err := filesystem.New(t.Context(), &filesystem.MiddlewareConfig{Backend: backend})
		require.NoError(t, err)
		cfg := &toolresult.HandlerConfig{Backend: backend, ContextWindow: handlerWindow, Read: toolresult.ReadConfig{ToolName: tt.readTool}}
		handlers := handlersOf(files, newHandler(t, cfg))
		if tt.handlerFirst {
			handlers = handlersOf(handlers[1], handlers[0])
		}
		name := tt.readTool
		if name == "" {
			name = "read_file"
		}
		chat := provider.New(scripted(
			callsFor(toolCall("call_1", "fetch")),
			callsFor(callWith("call_2", name, `{"file_path":"/large_tool_result/call_1"}`)),
			answers("done"),
		), 0, names.count)
		_, err = runAgent(t.Context(), newAgent(t, "agent", chat, []tool.BaseTool{fakeTool("invokable", "fetch", oneLine)}, nil, handlers...), false, schema.UserMessage("go"))
		assert.Equal(t, "fetch "+tt.want, strings.Join(names.last, " "), tt.reason)
		if err != nil {
			continue
		}
		results := toolResults(lastOf(chat.Requests()))
		assert.Contains(t, results["call_1"], "Please use the "+name+" tool", tt.reason)
		assert.Equal(t, tt.bounded, len(results["call_2"]) <= 20_000, "%s: a page of %d bytes", tt.reason, len(results["call_2"]))
		assert.Contains(t, results["call_2"], oneLine[:10_000], tt.reason)
	}
}

// A deep agent with a Backend has the filesystem built in, in front of what its user adds.
func TestHandlerInADeepAgentWithABackend(t *testing.T) {
	backend, names := eino.NewInMemoryBackend(), &toolNames{}
	chat := provider.New(scripted(
		callsFor(toolCall("call_1", "fetch")),
		callsFor(callWith("call_2", "read_result", `{"file_path":"/large_tool_result/call_1"}`)),
		callsFor(callWith("call_3", "read_file", `{"file_path":"/large_tool_result/call_1","offset":1,"limit":3}`)),
		answers("done"),
	), handlerWindow, names.count)
	cfg := &toolresult.HandlerConfig{Backend: backend, ContextWindow: handlerWindow, Read: toolresult.ReadConfig{ToolName: "read_result"}}
	agent, err := deep.New(t.Context(), &deep.Config{
		Name: "deep", Description: "an agent of the tests", ChatModel: chat, Backend: backend, Handlers: handlersOf(newHandler(t, cfg)),
		ToolsConfig: adk.ToolsConfig{ToolsNodeConfig: toolsNode(fakeTool("invokable", "fetch", numberedLines(1000)))},
	})
	require.NoError(t, err)
	mustRun(t, agent, false, "go")
	seen := make(map[string]bool)
	for _, name := range names.last {
		assert.False(t, seen[name], "two tools %s", name)
		seen[name] = true
	}
	results := toolResults(lastOf(chat.Requests()))
	assert.Contains(t, results["call_2"], "[Lines 1-")
	assert.Contains(t, results["call_3"], "line 000003", "its own tool reads from the same backend")
}

// The deprecated filesystem middleware offloads by itself, around this handler: it takes what is excluded here.
func TestHandlerBesideTheOldFilesystem(t *testing.T) {
	for _, without := range []bool{true, false} {
		backend := eino.NewInMemoryBackend()
		old, err := filesystem.NewMiddleware(t.Context(), &filesystem.Config{Backend: backend, WithoutLargeToolResultOffloading: without})
		require.NoError(t, err)
		cfg := &toolresult.HandlerConfig{Backend: backend, ContextWindow: handlerWindow, Read: toolresult.ReadConfig{ToolName: "read_result"}}
		cfg.Offload.ExcludeTools = []string{"keep"}
		large := numberedLines(2000)
		tools := []tool.BaseTool{fakeTool("invokable", "fetch", large), fakeTool("invokable", "keep", large)}
		chat := provider.New(scripted(callsFor(toolCall("call_1", "fetch"), toolCall("call_2", "keep")), answers("done")), 0, requestTokens)
		mustRun(t, newAgent(t, "agent", chat, tools, func(cfg *adk.ChatModelAgentConfig) {
			cfg.Middlewares = []adk.AgentMiddleware{old}
		}, newHandler(t, cfg)), false, "go")
		results := toolResults(lastOf(chat.Requests()))
		assert.Equal(t, "/large_tool_result/call_1", pathIn(t, results["call_1"]), "offloaded once, here")
		assert.Equal(t, without, results["call_2"] == large, "excluded here")
	}
}

// Eino's reduction does the same two jobs. Where it clears, notices go as any result goes, and messages that others hold change.
func TestHandlerNotBesideReduction(t *testing.T) {
	tests := []struct {
		skipTruncation, skipClear bool
		noticeStays               bool
		reason                    string
	}{
		{true, true, true, "reduction that does nothing"},
		{false, true, true, "its truncation finds nothing left to do, as this handler is the inner one"},
		{true, false, false, "its clearing takes the notice, too"},
		{false, false, false, "likewise, as it is by default"},
	}
	for _, tt := range tests {
		backend := eino.NewInMemoryBackend()
		other, err := reduction.New(t.Context(), &reduction.Config{Backend: backend, SkipTruncation: tt.skipTruncation, SkipClear: tt.skipClear, MaxTokensForClear: 300})
		require.NoError(t, err)
		h := newHandler(t, &toolresult.HandlerConfig{Backend: backend, ContextWindow: handlerWindow})
		chat := provider.New(scripted(callsFor(toolCall("call_1", "fetch")), callsFor(toolCall("call_2", "fetch")), answers("done")), 0, requestTokens)
		mustRun(t, newAgent(t, "agent", chat, []tool.BaseTool{fakeTool("invokable", "fetch", numberedLines(2000))}, nil, other, h), false, "go")
		_, isNotice := toolresult.OffloadedPath(schema.ToolMessage(toolResults(lastOf(chat.Requests()))["call_1"], ""))
		assert.Equal(t, tt.noticeStays, isNotice, tt.reason)
	}
}

// Pruning first, then a summary of what is left, where that is needed at all. The summary's own counter goes by the usage of the
// last answer, and so by what the conversation was before the prune.
func TestHandlerBesideSummarization(t *testing.T) {
	const window, trigger = 20_000, 15_000
	counted := func(_ context.Context, input *summarization.TypedTokenCounterInput[*schema.Message]) (int, error) {
		return requestTokens(input.Messages, input.Tools), nil
	}
	tests := []struct {
		handlerFirst bool
		counter      summarization.TokenCounterFunc
		summaries    bool
		reason       string
	}{
		{true, counted, false, "pruning is enough, and the counter sees that"},
		{true, nil, true, "the default counter does not see it"},
		{false, counted, true, "summarised before there was a prune"},
	}
	for _, tt := range tests {
		writer := provider.New(func(int, []*schema.Message) (*schema.Message, error) { return answers("<summary>short</summary>"), nil }, 0, requestTokens)
		writer.NoUsage = true
		summary, err := summarization.New(t.Context(), &summarization.Config{Model: writer, TokenCounter: tt.counter, Trigger: &summarization.TriggerCondition{ContextTokens: trigger}})
		require.NoError(t, err)
		chat := provider.New(manySteps(40), window, requestTokens)
		h := newHandler(t, &toolresult.HandlerConfig{Backend: newMemory(), ContextWindow: window})
		handlers := handlersOf(h, summary)
		if !tt.handlerFirst {
			handlers = handlersOf(summary, h)
		}
		mustRun(t, newAgent(t, "agent", chat, []tool.BaseTool{fakeTool("invokable", "fetch", strings.Repeat("some text\n", 500))}, nil, handlers...), false, "go")
		assert.Equal(t, tt.summaries, len(writer.Requests()) > 0, "%s: %d summaries", tt.reason, len(writer.Requests()))
	}
}

// manySteps calls fetch so many times.
func manySteps(n int) provider.Script {
	return func(i int, _ []*schema.Message) (*schema.Message, error) {
		if i == n {
			return answers("done"), nil
		}
		return callsFor(toolCall(fmt.Sprint("call_", i), "fetch")), nil
	}
}

// A history with calls that were never answered is repaired first; then what is pruned and what is asked fits together.
func TestHandlerBesidePatchToolCalls(t *testing.T) {
	patch, err := patchtoolcalls.New(t.Context(), nil)
	require.NoError(t, err)
	history := conversation("user call(a:fetch) result(a::12000) call(b:fetch,c:fetch) result(c::12000) user(10) call(d:fetch) user")
	for _, patchFirst := range []bool{true, false} {
		h := newHandler(t, &toolresult.HandlerConfig{Backend: newMemory(), ContextWindow: handlerWindow / 2})
		handlers := handlersOf(patch, h)
		if !patchFirst {
			handlers = handlersOf(h, patch)
		}
		chat := provider.New(scripted(callsFor(toolCall("e", "fetch")), answers("done")), 0, requestTokens)
		agent := newAgent(t, "agent", chat, []tool.BaseTool{fakeTool("invokable", "fetch", "text")}, nil, handlers...)
		_, err := runAgent(t.Context(), agent, false, history...)
		require.NoError(t, err, "patch first: %t", patchFirst)
		results := toolResults(lastOf(chat.Requests()))
		assert.Contains(t, results["a"], "removed to free up context", "patch first: %t", patchFirst)
		assert.Contains(t, results["b"], "was canceled", "patch first: %t", patchFirst)
	}
}

// All of them at once, in the order of the documentation, over many steps.
func TestHandlerAmongAll(t *testing.T) {
	const window = 20_000
	inBothModes(t, func(t *testing.T, streaming bool) {
		backend := eino.NewInMemoryBackend()
		patch, err := patchtoolcalls.New(t.Context(), nil)
		require.NoError(t, err)
		files, err := filesystem.New(t.Context(), &filesystem.MiddlewareConfig{Backend: backend})
		require.NoError(t, err)
		writer := provider.New(func(int, []*schema.Message) (*schema.Message, error) { return answers("<summary>short</summary>"), nil }, 0, requestTokens)
		summary, err := summarization.New(t.Context(), &summarization.Config{Model: writer, Trigger: &summarization.TriggerCondition{ContextTokens: window * 9 / 10},
			TokenCounter: func(_ context.Context, input *summarization.TypedTokenCounterInput[*schema.Message]) (int, error) {
				return requestTokens(input.Messages, input.Tools), nil
			}})
		require.NoError(t, err)
		h := newHandler(t, &toolresult.HandlerConfig{Backend: backend, ContextWindow: window, Read: toolresult.ReadConfig{ToolName: "read_result"}})
		chat := provider.New(manySteps(60), window, requestTokens)
		tools := []tool.BaseTool{fakeTool("streamable", "fetch", strings.Repeat("some text\n", 1100))}
		messages := mustRun(t, newAgent(t, "agent", chat, tools, nil, patch, files, h, summary), streaming, "go")
		assert.Equal(t, "done", lastOf(messages).Content)
		assert.Equal(t, 61, len(chat.Requests()))
	})
}
