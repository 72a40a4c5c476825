package toolresult_test

// Pruning by the handler in real agents: what is archived is read back by the agent itself, and parallel results are limited
// together.

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
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

// pageOfCall is what call number n of fetch returns.
func pageOfCall(n int) string { return fmt.Sprintf("page %d\n%s", n, numberedLines(60)) }

// fetchTool returns another page at each call.
func fetchTool() tool.BaseTool {
	n := -1
	return textTool{"fetch", func(context.Context, string) (string, error) {
		n++
		return pageOfCall(n), nil
	}}
}

// reader is a model that fetches until its first result is pruned, and then reads that back, page by page.
type reader struct {
	tool  string
	path  string
	pages []string
}

func (r *reader) script(n int, messages []*schema.Message) (*schema.Message, error) {
	last := lastOf(messages)
	if r.path == "" {
		first := toolResults(messages)["call_0"]
		if !strings.Contains(first, "`"+r.tool+"`") {
			return callsFor(toolCall(fmt.Sprint("call_", n), "fetch")), nil
		}
		r.path, _, _ = strings.Cut(first[strings.IndexByte(first, '/'):], "]")
		return callsFor(callWith(fmt.Sprint("call_", n), r.tool, fmt.Sprintf(`{"file_path":%q}`, r.path))), nil
	}
	r.pages = append(r.pages, textOf(last))
	offset, byteOffset, _, more := nextArgs(textOf(last))
	if !more {
		return answers("done"), nil
	}
	return callsFor(callWith(fmt.Sprint("call_", n), r.tool, fmt.Sprintf(`{"file_path":%q,"offset":%d,"byte_offset":%d}`, r.path, offset, byteOffset))), nil
}

func TestAgentReadsBackWhatWasPruned(t *testing.T) {
	tests := []struct {
		change func(cfg *toolresult.HandlerConfig)
		path   string
		tool   string
		reason string
	}{
		{func(*toolresult.HandlerConfig) {}, "/large_tool_result/call_0", "read_file", "the defaults"},
		{func(c *toolresult.HandlerConfig) { c.Prune.ReadToolName = "peek" }, "/large_tool_result/call_0", "peek", "the tool has another name"},
		{func(c *toolresult.HandlerConfig) { c.Read.ToolName = "peek" }, "/large_tool_result/call_0", "peek", "likewise, said elsewhere"},
		{func(c *toolresult.HandlerConfig) { c.Prune.PathPrefix = "/kept/" }, "/kept/call_0", "read_file", "another folder"},
		{func(c *toolresult.HandlerConfig) { c.Search.PathPrefix = "/kept" }, "/kept/call_0", "read_file", "likewise, said elsewhere"},
		{func(c *toolresult.HandlerConfig) { c.Prune.Language = adk.LanguageChinese }, "/large_tool_result/call_0", "read_file", "in Chinese"},
		{func(c *toolresult.HandlerConfig) {
			c.Read.Scope = func(context.Context) (string, error) { return "session", nil }
		}, "/large_tool_result/session/call_0", "read_file", "in a session"},
		{func(c *toolresult.HandlerConfig) {
			c.Compaction.TokenCounter = requestCounter()
		}, "/large_tool_result/call_0", "read_file", "with a counter of one's own"},
	}
	for _, tt := range tests {
		t.Run(tt.reason, func(t *testing.T) {
			inBothModes(t, func(t *testing.T, streaming bool) {
				backend, r := newMemory(), &reader{tool: tt.tool}
				cfg := &toolresult.HandlerConfig{Backend: backend, ContextWindow: 8000}
				cfg.Prune.Archive, cfg.Offload.TokenLimit, cfg.Read.MaxTokens = backend, 5000, 300
				tt.change(cfg)
				chat := provider.New(r.script, 8000, requestTokens)
				mustRun(t, newAgent(t, "agent", chat, []tool.BaseTool{fetchTool()}, nil, newHandler(t, cfg)), streaming, "go")
				assert.Equal(t, tt.path, r.path)
				require.Greater(t, len(r.pages), 1)
				assert.Equal(t, shownText(pageOfCall(0)), joinPages(t, r.pages), "the agent has read it whole")
				for path, text := range backend.stored() {
					assert.True(t, strings.HasPrefix(text, "page "), "%s is no result of the tool, but %.80q", path, text)
				}
			})
		})
	}
}

// The next turn, made of the events of the last, begins with the same bytes, and stores nothing again.
func TestNextTurnOfAnArchivingAgent(t *testing.T) {
	backend, r := newMemory(), &reader{tool: "read_file"}
	newOne := func(chat *provider.Model) adk.Agent {
		cfg := &toolresult.HandlerConfig{Backend: backend, ContextWindow: 8000}
		cfg.Prune.Archive, cfg.Prune.PagesFirst, cfg.Read.MaxTokens = backend, true, 300
		cfg.Offload.StepTokenLimit = 5000
		return newAgent(t, "agent", chat, []tool.BaseTool{fetchTool()}, nil, newHandler(t, cfg))
	}
	chat := provider.New(r.script, 8000, requestTokens)
	events := mustRun(t, newOne(chat), false, "go")
	before, written := lastOf(chat.Requests()), backend.written()

	next := provider.New(scripted(answers("hello")), 8000, requestTokens)
	_, err := runAgent(t.Context(), newOne(next), false, append(append([]*schema.Message{schema.UserMessage("go")}, events...), schema.UserMessage("and now?"))...)
	require.NoError(t, err)
	after := next.Requests()[0]
	require.Len(t, after, len(before)+2)
	for i, msg := range before {
		assert.Equal(t, textOf(msg), textOf(after[i]), "message %d", i)
	}
	assert.Equal(t, written, backend.written())
}

func TestHandlerLimitsSteps(t *testing.T) {
	inBothModes(t, func(t *testing.T, streaming bool) {
		for _, counter := range []toolresult.TokenCounter{nil, requestCounter()} {
			backend := newMemory()
			sizes := []int{100, 140, 60, 120} // lines of 50 bytes
			var tools []tool.BaseTool
			var calls []schema.ToolCall
			for i, kind := range []string{"invokable", "streamable", "invokable", "enhanced invokable"} {
				name := fmt.Sprint("tool_", i)
				tools = append(tools, fakeTool(kind, name, numberedLines(sizes[i])))
				calls = append(calls, toolCall(fmt.Sprint("call_", i), name))
			}
			var mu sync.Mutex
			var offloaded []string
			cfg := &toolresult.HandlerConfig{Backend: backend, ContextWindow: handlerWindow}
			cfg.Offload.StepTokenLimit, cfg.Offload.Sampler = 3000, noSample
			cfg.Offload.OnOffload = func(_ context.Context, e toolresult.OffloadEvent) {
				mu.Lock()
				defer mu.Unlock()
				offloaded = append(offloaded, e.CallID)
			}
			cfg.Compaction.TokenCounter = counter
			var told reports
			cfg.Compaction.OnCompaction = told.add
			chat := provider.New(scripted(callsFor(calls...), callsFor(toolCall("again", "tool_2")), answers("done")), handlerWindow, requestTokens)
			mustRun(t, newAgent(t, "agent", chat, tools, nil, newHandler(t, cfg)), streaming, "go")

			requests := chat.Requests()
			require.Len(t, requests, 3)
			for _, read := range requests[1:] {
				assert.Equal(t, "call_1 call_3", offloadedIn(read), "the largest two")
			}
			assert.Equal(t, toolResults(requests[1])["call_1"], toolResults(requests[2])["call_1"])
			for _, i := range []int{1, 3} {
				assert.Equal(t, numberedLines(sizes[i]), readBack(t, backend, fmt.Sprint("/large_tool_result/call_", i)))
			}
			assert.Equal(t, 2, backend.written())
			assert.Equal(t, []string{"call_1", "call_3"}, offloaded, "the largest first, and each once")
			assert.Empty(t, told)
		}
	})
}

// What the tools cannot read is not archived, and so stays.
func TestHandlerArchivesWhereItsToolsRead(t *testing.T) {
	var told reports
	backend := newMemory()
	cfg := &toolresult.HandlerConfig{Backend: backend, ContextWindow: 8000}
	cfg.Prune.Archive = backend
	cfg.Prune.PathGenerator = func(_ context.Context, in *compose.ToolInput) (string, error) { return "/elsewhere/" + in.CallID, nil }
	cfg.Compaction.OnCompaction = told.add
	chat := provider.New(func(n int, _ []*schema.Message) (*schema.Message, error) {
		if n < 8 {
			return callsFor(toolCall(fmt.Sprint("call_", n), "fetch")), nil
		}
		return answers("done"), nil
	}, 0, requestTokens)
	mustRun(t, newAgent(t, "agent", chat, []tool.BaseTool{fetchTool()}, nil, newHandler(t, cfg)), false, "go")
	assert.Empty(t, backend.stored())
	require.NotEmpty(t, told)
	assert.ErrorContains(t, told[0].Err, "PathGenerator returned \"/elsewhere/call_0\"; want a path below /large_tool_result, where the tools can read it")
	assert.Equal(t, pageOfCall(0), toolResults(lastOf(chat.Requests()))["call_0"])
}

func TestHandlerPruneIsChecked(t *testing.T) {
	backend := newMemory()
	tests := []struct {
		change func(cfg *toolresult.HandlerConfig)
		want   string
		reason string
	}{
		{func(c *toolresult.HandlerConfig) { c.Compaction.Compactor, c.Prune.MinTokens = newPruner(t, nil), 5 }, "HandlerConfig.Prune is set; want none beside HandlerConfig.Compaction.Compactor, which prunes in its own way", "two ways to prune"},
		{func(c *toolresult.HandlerConfig) { c.Prune.PathPrefix, c.Read.PathPrefix = "/a", "/b" }, `HandlerConfig.Prune.PathPrefix is "/a"; want none, or "/b" as in HandlerConfig.Read.PathPrefix`, "two folders"},
		{func(c *toolresult.HandlerConfig) { c.Prune.ReadToolName, c.Read.ToolName = "a", "b" }, `HandlerConfig.Prune.ReadToolName is "a"; want none, or "b" as in HandlerConfig.Read.ToolName`, "placeholders would name another tool"},
		{func(c *toolresult.HandlerConfig) { c.Prune.SearchToolName, c.Search.ToolName = "a", "b" }, `HandlerConfig.Prune.SearchToolName is "a"; want none, or "b" as in HandlerConfig.Search.ToolName`, "its pages would be archived"},
		{func(c *toolresult.HandlerConfig) { c.Prune.MinTokens = -1 }, "PruneConfig.MinTokens is -1", "what the pruner refuses"},
		{func(c *toolresult.HandlerConfig) { c.Prune.Pointers = 9 }, "PruneConfig.Pointers is 9", "likewise"},
		{func(c *toolresult.HandlerConfig) { c.Prune.ArgumentTokens = map[string]int{"x": 0} }, `PruneConfig.ArgumentTokens["x"] is 0`, "likewise"},
		{func(c *toolresult.HandlerConfig) { c.Prune.StoredPlaceholder = "gone" }, "PruneConfig.StoredPlaceholder", "likewise"},
		{func(c *toolresult.HandlerConfig) { c.Offload.StepTokenLimit = -1 }, "OffloadConfig.StepTokenLimit is -1", "what the offloader refuses"},
		{func(c *toolresult.HandlerConfig) { c.Compaction.Cache = &toolresult.CachePrices{} }, "CompactionConfig.Cache.Write is 0", "what the hook refuses"},
	}
	for _, tt := range tests {
		cfg := &toolresult.HandlerConfig{Backend: backend, ContextWindow: handlerWindow}
		tt.change(cfg)
		h, err := toolresult.NewHandler(t.Context(), cfg)
		if assert.ErrorContains(t, err, "toolresult: "+tt.want, tt.reason) {
			assert.Nil(t, h, tt.reason)
		}
	}
}

// A store that is down ends no run: results stay until they no longer can.
func TestArchiveDownInAnAgent(t *testing.T) {
	var told reports
	down := &downBackend{memory: newMemory()}
	cfg := &toolresult.HandlerConfig{Backend: down, ContextWindow: 8000}
	cfg.Prune.Archive = down
	cfg.Compaction.OnCompaction = told.add
	n := 0
	chat := provider.New(func(int, []*schema.Message) (*schema.Message, error) {
		if n++; n < 9 {
			return callsFor(toolCall(fmt.Sprint("call_", n), "fetch")), nil
		}
		return answers("done"), nil
	}, 0, requestTokens)
	mustRun(t, newAgent(t, "agent", chat, []tool.BaseTool{fetchTool()}, nil, newHandler(t, cfg)), false, "go")
	require.NotEmpty(t, told)
	for _, c := range told {
		assert.True(t, errors.Is(c.Err, errFault))
		assert.False(t, c.Changed)
	}
	assert.Equal(t, pageOfCall(0), toolResults(lastOf(chat.Requests()))["call_1"])
}

type downBackend struct{ *memory }

func (downBackend) Write(context.Context, *toolresult.WriteRequest) error { return errFault }
