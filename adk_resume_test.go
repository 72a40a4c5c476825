package toolresult_test

// A run that waits for a human goes on in another process: another backend on the same directory, another handler, another
// agent, and nothing in common but the files and the checkpoint.

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"testing"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eino-toolresult/toolresult"
	"github.com/eino-toolresult/toolresult/internal/provider"
)

const resumeWindow = 16_000 // tokens; results above 2 000 are offloaded

// process is all that does not outlive a process.
type process struct {
	backend *toolresult.DirBackend
	runner  *adk.Runner
}

// newProcess makes an agent whose tools are fetch, of a kind, small and confirm.
func newProcess(t *testing.T, dir, kind, fetched string, chat *provider.Model, store *checkpoints, streaming bool, told *reports) *process {
	t.Helper()
	backend, err := toolresult.NewDirBackend(t.Context(), &toolresult.DirConfig{Dir: dir})
	require.NoError(t, err)
	t.Cleanup(func() { backend.Close() })
	h := newHandler(t, &toolresult.HandlerConfig{Backend: backend, ContextWindow: resumeWindow, Compaction: toolresult.CompactionConfig{OnCompaction: told.add}})
	tools := []tool.BaseTool{
		fakeTool(kind, "fetch", fetched),
		fakeTool("invokable", "small", numberedLines(150)),
		confirmTool(),
	}
	agent := newAgent(t, "agent", chat, tools, nil, h)
	return &process{backend, adk.NewRunner(t.Context(), adk.RunnerConfig{Agent: agent, CheckPointStore: store, EnableStreaming: streaming})}
}

// confirmTool waits for a human.
func confirmTool() tool.BaseTool {
	return textTool{"confirm", func(ctx context.Context, _ string) (string, error) {
		if waited, _, _ := tool.GetInterruptState[any](ctx); waited {
			return "confirmed", nil
		}
		return "", tool.Interrupt(ctx, "really?")
	}}
}

// stored is all that lies in the backend.
func (p *process) stored(t *testing.T) map[string]string {
	t.Helper()
	files := make(map[string]string)
	for file, err := range p.backend.List(t.Context(), &toolresult.ListRequest{}) {
		require.NoError(t, err)
		files[file.FilePath] = readBack(t, p.backend, file.FilePath)
	}
	return files
}

func (p *process) begin(t *testing.T) {
	t.Helper()
	require.True(t, drain(t, p.runner.Query(t.Context(), "go", adk.WithCheckPointID("run"))), "it waits for a human")
}

func (p *process) resume(t *testing.T) {
	t.Helper()
	events, err := p.runner.Resume(t.Context(), "run")
	require.NoError(t, err)
	require.False(t, drain(t, events))
}

// inEveryShape runs a test for tools of all kinds, without streaming and with it.
func inEveryShape(t *testing.T, test func(t *testing.T, kind string, streaming bool)) {
	for _, kind := range toolKinds() {
		inBothModes(t, func(t *testing.T, streaming bool) {
			t.Run(kind, func(t *testing.T) { test(t, kind, streaming) })
		})
	}
}

// The checkpoint holds notices and placeholders. They are what the next process sends, and it prunes nothing again.
func TestHandlerAfterAResume(t *testing.T) {
	inEveryShape(t, func(t *testing.T, kind string, streaming bool) {
		chat := provider.New(nil, resumeWindow, requestTokens)
		chat.Script = func(n int, _ []*schema.Message) (*schema.Message, error) {
			switch {
			case n == 0:
				return callsFor(toolCall("call_0", "fetch")), nil
			case n < 6:
				return callsFor(toolCall(fmt.Sprint("call_", n), "small")), nil
			case n == 6:
				return callsFor(toolCall("call_6", "confirm"), toolCall("call_7", "fetch")), nil
			case n == 7:
				return readsFile("/large_tool_result/call_0"), nil
			}
			return answers("done"), nil
		}
		dir, store, fetched := t.TempDir(), &checkpoints{}, numberedLines(1200)+"the end"
		var told, toldAfter reports
		newProcess(t, dir, kind, fetched, chat, store, streaming, &told).begin(t)
		require.NotEmpty(t, told, "something was pruned before the interrupt")

		second := newProcess(t, dir, kind, fetched, chat, store, streaming, &toldAfter)
		second.resume(t)
		before, after := chat.Requests()[6], chat.Requests()[7]
		require.Len(t, after, len(before)+3)
		for i, msg := range before {
			assert.NotSame(t, msg, after[i], "it was loaded")
			assert.Equal(t, msg.Content, after[i].Content)
			assert.Equal(t, msg.UserInputMultiContent, after[i].UserInputMultiContent)
			assert.Equal(t, msg.Extra, after[i].Extra)
		}
		assert.Empty(t, toldAfter, "nothing is due after the resume")
		assert.Equal(t, map[string]string{"/large_tool_result/call_0": fetched, "/large_tool_result/call_7": fetched}, second.stored(t))
		assert.Contains(t, toolResults(lastOf(chat.Requests()))["call_2"], "the end", "the new process reads what the old one stored")
	})
}

// A process ends between storing a result and saving a checkpoint, so another one runs the tool again.
func TestToolRunAgainOnResume(t *testing.T) {
	same, other := numberedLines(1200), numberedLines(1201)
	script := scripted(callsFor(toolCall("call_0", "confirm")), callsFor(toolCall("call_1", "fetch")), answers("done"))
	inEveryShape(t, func(t *testing.T, kind string, streaming bool) {
		for _, again := range []string{same, other} {
			dir, store := t.TempDir(), &checkpoints{}
			var told reports
			chat := provider.New(script, 0, requestTokens)
			newProcess(t, dir, kind, same, chat, store, streaming, &told).begin(t)
			saved := maps.Clone(store.data)

			crashed := newProcess(t, dir, kind, same, chat, store, streaming, &told)
			crashed.resume(t)
			named := pathIn(t, toolResults(lastOf(chat.Requests()))["call_1"])
			require.Equal(t, same, crashed.stored(t)[named])

			store.data = saved
			chat = provider.New(func(n int, messages []*schema.Message) (*schema.Message, error) { return script(n+1, messages) }, 0, requestTokens)
			next := newProcess(t, dir, kind, again, chat, store, streaming, &told)
			next.resume(t)
			namedNow := pathIn(t, toolResults(lastOf(chat.Requests()))["call_1"])
			files := next.stored(t)
			assert.Equal(t, same, files[named], "what the first notice names is as it was")
			assert.Equal(t, again, files[namedNow], "and so is what the second names")
			if again == same {
				assert.Equal(t, named, namedNow)
				assert.Equal(t, 1, len(files), "no second copy")
			} else {
				assert.Equal(t, 2, len(files))
			}
		}
	})
}

// The saved run knows its results by path alone.
func TestCheckpointIsSmall(t *testing.T) {
	store := &checkpoints{}
	var told reports
	chat := provider.New(scripted(callsFor(toolCall("call_0", "fetch")), callsFor(toolCall("call_1", "confirm"))), 0, requestTokens)
	newProcess(t, t.TempDir(), "invokable", numberedLines(20_000)+"the end", chat, store, false, &told).begin(t)
	assert.Less(t, len(store.data["run"]), 100_000, "of a result of a megabyte")
	assert.True(t, bytes.Contains(store.data["run"], []byte("/large_tool_result/call_0")))
}
