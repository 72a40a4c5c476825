package toolresult_test

// What must hold at the edges: errors pass, one handler serves many agents at once, and what others hold stays as it is.

import (
	"context"
	"fmt"
	"io/fs"
	"sync"
	"syscall"
	"testing"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eino-toolresult/toolresult"
	"github.com/eino-toolresult/toolresult/internal/provider"
)

// Errors of tools pass, and so do those of the backend and of an agent's tool that cannot introduce itself.
func TestHandlerPassesErrorsOn(t *testing.T) {
	failing := func(kind string) tool.BaseTool {
		fail := fs.ErrPermission
		switch kind {
		case "invokable":
			return textTool{"fetch", func(context.Context, string) (string, error) { return "", fail }}
		case "streamable":
			return streamTool{"fetch", func(context.Context, string) (*schema.StreamReader[string], error) { return nil, fail }}
		case "enhanced invokable":
			return partsTool{"fetch", func(context.Context, string) (*schema.ToolResult, error) { return nil, fail }}
		}
		return partsStreamTool{"fetch", func(context.Context, string) (*schema.StreamReader[*schema.ToolResult], error) { return nil, fail }}
	}
	run := func(backend toolresult.Backend, tools ...tool.BaseTool) error {
		chat := provider.New(scripted(callsFor(toolCall("call_1", "fetch")), answers("done")), 0, requestTokens)
		h := newHandler(t, &toolresult.HandlerConfig{Backend: backend, ContextWindow: handlerWindow})
		_, err := runAgent(t.Context(), newAgent(t, "agent", chat, tools, nil, h), false, schema.UserMessage("go"))
		return err
	}
	for _, kind := range toolKinds() {
		assert.ErrorIs(t, run(newMemory(), failing(kind)), fs.ErrPermission, "an error of a tool that is %s", kind)
		assert.ErrorIs(t, run(fullDisk{newMemory()}, fakeTool(kind, "fetch", numberedLines(1000))), syscall.ENOSPC, "an error of the backend below one that is %s", kind)
	}
	unnamed := namelessTool{fakeInfo("x")}
	h := newHandler(t, &toolresult.HandlerConfig{Backend: newMemory(), ContextWindow: handlerWindow})
	_, _, err := h.BeforeAgent(t.Context(), &adk.ChatModelAgentContext{Tools: []tool.BaseTool{unnamed}})
	assert.ErrorIs(t, err, fs.ErrInvalid)
}

// fullDisk is a backend without room.
type fullDisk struct{ *memory }

func (fullDisk) Write(context.Context, *toolresult.WriteRequest) error { return syscall.ENOSPC }

type namelessTool struct{ fakeInfo }

func (namelessTool) Info(context.Context) (*schema.ToolInfo, error) { return nil, fs.ErrInvalid }

// A counter that fails fails the model call.
func TestHandlerPassesCounterErrorsOn(t *testing.T) {
	cfg := &toolresult.HandlerConfig{Backend: newMemory(), ContextWindow: handlerWindow}
	cfg.Compaction.TokenCounter = toolresult.TokenCounterFunc(func(context.Context, []*schema.Message, []*schema.ToolInfo) (int64, error) { return 0, fs.ErrInvalid })
	_, err := runAgent(t.Context(), newAgent(t, "agent", provider.New(scripted(answers("done")), 0, requestTokens), nil, nil, newHandler(t, cfg)), false, schema.UserMessage("go"))
	assert.ErrorIs(t, err, fs.ErrInvalid)
}

// One handler, many agents at once, each with results of its own under the same IDs.
func TestHandlerServesManyAgents(t *testing.T) {
	backend := exclusive{newMemory()}
	h := newHandler(t, &toolresult.HandlerConfig{Backend: backend, ContextWindow: handlerWindow})
	var group sync.WaitGroup
	for i := range 16 {
		group.Go(func() {
			own := numberedLines(1000) + fmt.Sprint("of agent ", i)
			chat := provider.New(scripted(callsFor(toolCall("call_1", "fetch"), toolCall("call_2", "fetch")), answers("done")), handlerWindow, requestTokens)
			_, err := runAgent(context.Background(), newAgent(t, "agent", chat, []tool.BaseTool{fakeTool(toolKinds()[i%4], "fetch", own)}, nil, h), i%4 < 2, schema.UserMessage("go"))
			assert.NoError(t, err)
			for _, said := range toolResults(lastOf(chat.Requests())) {
				path, ok := toolresult.OffloadedPath(schema.ToolMessage(said, ""))
				if assert.True(t, ok) {
					content, err := backend.Read(context.Background(), &toolresult.ReadRequest{FilePath: path})
					assert.NoError(t, err)
					assert.Equal(t, own, content.Content)
				}
			}
		})
	}
	group.Wait()
}

// Other handlers hold the slice of tools, too.
func TestHandlerLeavesTheSliceOfToolsAlone(t *testing.T) {
	h := newHandler(t, &toolresult.HandlerConfig{Backend: newMemory(), ContextWindow: handlerWindow})
	run := &adk.ChatModelAgentContext{Tools: make([]tool.BaseTool, 0, 4)}
	_, extended, err := h.BeforeAgent(t.Context(), run)
	require.NoError(t, err)
	assert.Len(t, extended.Tools, 2)
	assert.Empty(t, run.Tools)
	assert.Equal(t, make([]tool.BaseTool, 4), run.Tools[:4], "not even behind its end")
}

// When nothing is due, Eino's own state goes back as it came.
func TestHandlerKeepsStateThatNeedsNothing(t *testing.T) {
	h := newHandler(t, &toolresult.HandlerConfig{Backend: newMemory(), ContextWindow: handlerWindow})
	for _, messages := range [][]*schema.Message{nil, {}, {schema.UserMessage("go")}} {
		state := &adk.ChatModelAgentState{Messages: messages}
		_, kept, err := h.BeforeModelRewriteState(t.Context(), state, nil)
		require.NoError(t, err)
		assert.Same(t, state, kept)
	}
	full := &adk.ChatModelAgentState{Messages: conversation("user call(a:x) result(a::20000) call(b:x) result(b::20000)")}
	before := deepCopy(full.Messages)
	_, pruned, err := h.BeforeModelRewriteState(t.Context(), full, nil)
	require.NoError(t, err)
	assert.NotSame(t, full, pruned)
	assert.Contains(t, pruned.Messages[2].Extra, "context_compaction")
	assert.Equal(t, before, full.Messages, "the state that was handed in is as it was")
}
