package toolresult_test

import (
	"context"
	"strings"
	"testing"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/adk/filesystem"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eino-toolresult/toolresult"
	"github.com/eino-toolresult/toolresult/internal/provider"
)

// bagStore is a backend that cannot be compared: == would panic.
type bagStore struct {
	*memory
	tags []string
}

func TestHandlerConfigRefuses(t *testing.T) {
	ctx, backend, other := context.Background(), newMemory(), newMemory()
	tests := []struct {
		change func(cfg *toolresult.HandlerConfig)
		want   string
		reason string
	}{
		{func(c *toolresult.HandlerConfig) { c.Backend = nil }, "HandlerConfig.Backend is <nil>; want a Backend that is a Reader too", "none"},
		{func(c *toolresult.HandlerConfig) { c.Backend = writeOnly{backend} }, "HandlerConfig.Backend is toolresult_test.writeOnly; want a Backend that is a Reader", "the tools could read nothing"},
		{func(c *toolresult.HandlerConfig) { c.ContextWindow = 0 }, "HandlerConfig.ContextWindow is 0; want the model's window in tokens, above 0", "none"},
		{func(c *toolresult.HandlerConfig) { c.ContextWindow = -1 }, "HandlerConfig.ContextWindow is -1", "below 0"},
		{func(c *toolresult.HandlerConfig) { c.Compaction.ContextWindow = 7 }, "HandlerConfig.Compaction.ContextWindow is 7; want none, or 40000 as in HandlerConfig.ContextWindow", "two windows"},
		{func(c *toolresult.HandlerConfig) { c.Offload.Backend = other }, "HandlerConfig.Offload.Backend is a *toolresult_test.memory; want none, or a *toolresult_test.memory as in HandlerConfig.Backend", "results would go elsewhere"},
		{func(c *toolresult.HandlerConfig) { c.Read.Backend = other }, "HandlerConfig.Read.Backend is", "results would be read elsewhere"},
		{func(c *toolresult.HandlerConfig) { c.Search.Backend = other }, "HandlerConfig.Search.Backend is", "results would be searched elsewhere"},
		{func(c *toolresult.HandlerConfig) { c.Offload.Backend = bagStore{backend, nil} }, "HandlerConfig.Offload.Backend is", "one that cannot be compared"},
		{func(c *toolresult.HandlerConfig) {
			c.Backend, c.Offload.Backend = bagStore{backend, nil}, bagStore{backend, nil}
		}, "HandlerConfig.Offload.Backend is", "two that cannot be compared"},
		{func(c *toolresult.HandlerConfig) { c.Offload.PathPrefix, c.Read.PathPrefix = "/a", "/b" }, `HandlerConfig.Read.PathPrefix is "/b"; want none, or "/a" as in HandlerConfig.Offload.PathPrefix`, "two folders"},
		{func(c *toolresult.HandlerConfig) { c.Read.PathPrefix, c.Search.PathPrefix = "/a", "/b" }, `HandlerConfig.Search.PathPrefix is "/b"`, "two folders of the tools"},
		{func(c *toolresult.HandlerConfig) { c.Search.PathPrefix = "/" }, `OffloadConfig.PathPrefix is "/"`, "the root, shared before it is looked at"},
		{func(c *toolresult.HandlerConfig) { c.Offload.ReadToolName, c.Read.ToolName = "a", "b" }, `HandlerConfig.Read.ToolName is "b"; want none, or "a" as in HandlerConfig.Offload.ReadToolName`, "notices would name another tool"},
		{func(c *toolresult.HandlerConfig) { c.Offload.SearchToolName, c.Search.ToolName = "a", "b" }, `HandlerConfig.Search.ToolName is "b"`, "its pages would be offloaded"},
		{func(c *toolresult.HandlerConfig) { c.Read.ToolName, c.Search.ToolName = "a", "a" }, `HandlerConfig.Search.ToolName is "a"; want another name than the read tool has`, "two tools of one name"},
		{func(c *toolresult.HandlerConfig) { c.Search.ToolName = "read_file" }, `HandlerConfig.Search.ToolName is "read_file"`, "likewise, by default"},
		{func(c *toolresult.HandlerConfig) { c.Search.Language = 7 }, "OffloadConfig.Language is 7", "no language"},
		{func(c *toolresult.HandlerConfig) { c.Offload.TokenLimit = -1 }, "OffloadConfig.TokenLimit is -1", "what a part refuses"},
		{func(c *toolresult.HandlerConfig) { c.Compaction.CompactAt = 2 }, "CompactionConfig.CompactAt is 2", "likewise"},
		{func(c *toolresult.HandlerConfig) { c.Read.MaxTokens = 1 }, "ReadConfig.MaxTokens is 1", "likewise"},
		{func(c *toolresult.HandlerConfig) { c.Search.MaxTokens = 1 }, "SearchConfig.MaxTokens is 1", "likewise"},
	}
	for _, tt := range tests {
		cfg := &toolresult.HandlerConfig{Backend: backend, ContextWindow: handlerWindow}
		tt.change(cfg)
		h, err := toolresult.NewHandler(ctx, cfg)
		if assert.ErrorContains(t, err, "toolresult: "+tt.want, tt.reason) {
			assert.Nil(t, h, tt.reason)
		}
	}
	_, err := toolresult.NewHandler(ctx, nil)
	assert.ErrorContains(t, err, "toolresult: HandlerConfig is nil")
}

func TestHandlerConfigAccepts(t *testing.T) {
	backend := newMemory()
	tests := []struct {
		change func(cfg *toolresult.HandlerConfig)
		reason string
	}{
		{func(c *toolresult.HandlerConfig) {}, "the two required fields"},
		{func(c *toolresult.HandlerConfig) { c.Backend = filesystem.NewInMemoryBackend() }, "a backend of Eino's"},
		{func(c *toolresult.HandlerConfig) { c.Backend = bagStore{backend, []string{"x"}} }, "a backend that cannot be compared"},
		{func(c *toolresult.HandlerConfig) {
			c.Offload.Backend, c.Read.Backend, c.Search.Backend = backend, backend, backend
		}, "the same backend again"},
		{func(c *toolresult.HandlerConfig) { c.Compaction.ContextWindow = handlerWindow }, "the same window again"},
		{func(c *toolresult.HandlerConfig) { c.Offload.PathPrefix, c.Search.PathPrefix = "/a", "/a/" }, "the same folder, with a final slash and without"},
		{func(c *toolresult.HandlerConfig) { c.Offload.ReadToolName, c.Read.ToolName = "a", "a" }, "the same name again"},
		{func(c *toolresult.HandlerConfig) { c.Offload.Language, c.Read.Language = 1, 1 }, "the same language again"},
	}
	for _, tt := range tests {
		cfg := &toolresult.HandlerConfig{Backend: backend, ContextWindow: handlerWindow}
		tt.change(cfg)
		before := *cfg
		_, err := toolresult.NewHandler(t.Context(), cfg)
		require.NoError(t, err, tt.reason)
		assert.Equal(t, before.Offload.PathPrefix, cfg.Offload.PathPrefix, "%s: the caller's config is as it was", tt.reason)
		assert.Equal(t, before.Read.Backend, cfg.Read.Backend, "%s: the caller's config is as it was", tt.reason)
	}
}

// What one part says holds for all: each row sets one field, and the run must show it everywhere.
func TestHandlerConfigIsShared(t *testing.T) {
	tests := []struct {
		change         func(cfg *toolresult.HandlerConfig)
		folder         string
		read, search   string
		notice, footer string
		reason         string
	}{
		{func(c *toolresult.HandlerConfig) {}, "/large_tool_result", "read_file", "search_file", "Tool result too large", "[Lines 1-", "nothing set"},
		{func(c *toolresult.HandlerConfig) { c.Search.PathPrefix = "/a/" }, "/a", "read_file", "search_file", "Tool result too large", "[Lines 1-", "the prefix by the search tool"},
		{func(c *toolresult.HandlerConfig) { c.Read.ToolName = "peek" }, "/large_tool_result", "peek", "search_file", "Please use the peek tool", "[Lines 1-", "the name by the read tool"},
		{func(c *toolresult.HandlerConfig) { c.Offload.ReadToolName = "peek" }, "/large_tool_result", "peek", "search_file", "Please use the peek tool", "[Lines 1-", "the name by the offloader"},
		{func(c *toolresult.HandlerConfig) { c.Offload.SearchToolName = "grep" }, "/large_tool_result", "read_file", "grep", "Tool result too large", "[Lines 1-", "the other name by the offloader"},
		{func(c *toolresult.HandlerConfig) { c.Compaction.Language = adk.LanguageChinese }, "/large_tool_result", "read_file", "search_file", "工具结果过大", "[第 1-", "the language by the pruning"},
	}
	for _, tt := range tests {
		names := &toolNames{}
		cfg := &toolresult.HandlerConfig{Backend: newMemory(), ContextWindow: handlerWindow}
		tt.change(cfg)
		path := `{"file_path":"` + tt.folder + `/call_1","pattern":"line 000007"}`
		chat := provider.New(scripted(
			callsFor(toolCall("call_1", "fetch")),
			callsFor(callWith("call_2", tt.read, path), callWith("call_3", tt.search, path)),
			answers("done"),
		), handlerWindow, names.count)
		mustRun(t, newAgent(t, "agent", chat, []tool.BaseTool{fakeTool("invokable", "fetch", numberedLines(1000))}, nil, newHandler(t, cfg)), false, "go")
		results := toolResults(lastOf(chat.Requests()))
		assert.Equal(t, []string{"fetch", tt.read, tt.search}, names.last, tt.reason)
		assert.Equal(t, tt.folder+"/call_1", pathIn(t, results["call_1"]), tt.reason)
		assert.Contains(t, results["call_1"], tt.notice, tt.reason)
		assert.Contains(t, results["call_2"], tt.footer, tt.reason)
		assert.Contains(t, results["call_3"], "7: line 000007", tt.reason)
	}
}

// A session that one tool knows, both know: else the other would show what lies in any session.
func TestHandlerSharesTheScope(t *testing.T) {
	type sessionKey struct{}
	session := func(ctx context.Context) (string, error) {
		name, _ := ctx.Value(sessionKey{}).(string)
		return name, nil
	}
	for _, setBy := range []string{"read", "search"} {
		cfg := &toolresult.HandlerConfig{Backend: newMemory(), ContextWindow: handlerWindow}
		cfg.Offload.PathGenerator = toolresult.SessionPath("", session)
		if setBy == "read" {
			cfg.Read.Scope = session
		} else {
			cfg.Search.Scope = session
		}
		h := newHandler(t, cfg)
		for _, user := range []string{"ann", "bob"} {
			path := `{"file_path":"/large_tool_result/ann/call_1","pattern":"line"}`
			chat := provider.New(scripted(
				callsFor(toolCall("call_1", "fetch")),
				callsFor(callWith("call_2", "read_file", path), callWith("call_3", "search_file", path)),
				answers("done"),
			), handlerWindow, requestTokens)
			agent := newAgent(t, "agent", chat, []tool.BaseTool{fakeTool("invokable", "fetch", user+numberedLines(1000))}, nil, h)
			_, err := runAgent(context.WithValue(t.Context(), sessionKey{}, user), agent, false, schema.UserMessage("go"))
			require.NoError(t, err)
			results := toolResults(lastOf(chat.Requests()))
			assert.Equal(t, "/large_tool_result/"+user+"/call_1", pathIn(t, results["call_1"]))
			for _, id := range []string{"call_2", "call_3"} {
				assert.Equal(t, user == "ann", strings.Contains(results[id], "annline"), "%s asks for a result of ann, the scope is set by %s: %.100q", user, setBy, results[id])
			}
		}
	}
}

func TestHandlerTokenLimit(t *testing.T) {
	tests := []struct {
		window, limit, bytes int
		stored               bool
		reason               string
	}{
		{8_000, 0, 4_000, false, "an eighth of the window"},
		{8_000, 0, 4_001, true, "a byte above it"},
		{1_000_000, 0, 80_000, false, "the default of the offloader, as an eighth would be more"},
		{1_000_000, 0, 80_001, true, "a byte above it"},
		{8_000, 2_000, 8_000, false, "a limit of one's own"},
		{8_000, 2_000, 8_001, true, "a byte above it"},
		{1, 0, 5_000, true, "a window without an eighth"},
	}
	for _, tt := range tests {
		backend := newMemory()
		h := newHandler(t, &toolresult.HandlerConfig{Backend: backend, ContextWindow: tt.window, Offload: toolresult.OffloadConfig{TokenLimit: tt.limit}})
		call := &adk.ToolContext{Name: "fetch", CallID: "call_1"}
		endpoint, err := h.WrapInvokableToolCall(t.Context(), func(context.Context, string, ...tool.Option) (string, error) {
			return strings.Repeat("x", tt.bytes), nil
		}, call)
		require.NoError(t, err)
		_, err = endpoint(t.Context(), "{}")
		require.NoError(t, err)
		assert.Equal(t, tt.stored, backend.written() == 1, tt.reason)
	}
}

// Generators and transforms see the call as it was made.
func TestHandlerHandsTheCallOn(t *testing.T) {
	var seen []compose.ToolInput
	cfg := &toolresult.HandlerConfig{Backend: newMemory(), ContextWindow: handlerWindow}
	cfg.Offload.Transform = func(_ context.Context, input *compose.ToolInput, result string) (string, error) {
		seen = append(seen, *input)
		return result, nil
	}
	for _, kind := range toolKinds() {
		seen = nil
		chat := provider.New(scripted(callsFor(callWith("call_1", "fetch", `{"x":1}`)), answers("done")), 0, requestTokens)
		mustRun(t, newAgent(t, "agent", chat, []tool.BaseTool{fakeTool(kind, "fetch", "text")}, nil, newHandler(t, cfg)), false, "go")
		require.NotEmpty(t, seen, kind)
		assert.Equal(t, []string{"fetch", "call_1", `{"x":1}`}, []string{seen[0].Name, seen[0].CallID, seen[0].Arguments}, kind)
	}
}
