package toolresult_test

// What a release wrote, every later one must read: conversations with notices and placeholders, and checkpoints of ADK. The
// samples below testdata/compat are written once for a release and never again:
//
//	go test -run TestCompat -compat v1.2.3

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
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

var compatRelease = flag.String("compat", "", "write samples of this release, where there are none yet")

const compatDir = "testdata/compat"

func TestCompatMessages(t *testing.T) {
	if *compatRelease != "" {
		data, err := json.MarshalIndent(compatMessages(t), "", " ")
		require.NoError(t, err)
		writeCompat(t, "messages.json", data)
	}
	for _, file := range compatFiles(t, "messages.json") {
		data, err := os.ReadFile(file)
		require.NoError(t, err)
		var messages []*schema.Message
		require.NoError(t, json.Unmarshal(data, &messages))

		notices := make(map[string]string)
		for _, msg := range messages {
			if path, ok := toolresult.OffloadedPath(msg); ok {
				notices[msg.ToolCallID] = path
			}
		}
		assert.Equal(t, map[string]string{"en": "/large_tool_result/en", "zh": "/large_tool_result/zh", "odd <id>&": "/large_tool_result/odd__id__~nlkvu0pcdsig1mla04hq", "parts": "/large_tool_result/parts"}, notices, file)

		results := toolResults(messages)
		assert.Contains(t, results["p"], "工具结果已移除", file)
		assert.Contains(t, results["q"], "removed to free up context", file)
		c := compact(t, newPruner(t, &toolresult.PruneConfig{MinTokens: 1}), &toolresult.CompactRequest{Messages: messages})
		assert.Equal(t, "", prunedIn(c), "%s: neither a notice nor a placeholder is pruned", file)
		unmarked := deepCopy(messages)
		for _, msg := range unmarked {
			delete(msg.Extra, "context_compaction_at")
		}
		assert.NotEqual(t, estimateOf(t, toolresult.CompactionConfig{}, messages), estimateOf(t, toolresult.CompactionConfig{}, unmarked),
			"%s: what was pruned since the last usage is known", file)
		live := livePaths(t, messages...)
		for _, path := range notices {
			assert.Contains(t, live, path, file)
		}
		assert.Contains(t, live, "/large_tool_result/quoted", file)
	}
}

// compatMessages is a conversation with all that the library writes.
func compatMessages(t *testing.T) []*schema.Message {
	t.Helper()
	backend, large := newMemory(), numberedLines(1000)
	english := newOffload(t, &toolresult.OffloadConfig{Backend: backend, TokenLimit: 1000})
	chinese := newOffload(t, &toolresult.OffloadConfig{Backend: backend, TokenLimit: 1000, Language: adk.LanguageChinese})
	messages := conversation("system user call(p:bash,q:bash) result(p:bash:2000) result(q:bash:2000) user call(en:fetch,zh:fetch,x:fetch,parts:fetch)@9000")
	messages[6].ToolCalls[2].ID = "odd <id>&"
	withImage := partsTool{"fetch", func(context.Context, string) (*schema.ToolResult, error) {
		return &schema.ToolResult{Parts: []schema.ToolOutputPart{imagePart("aGVsbG8="), textPart(large)}}, nil
	}}
	for _, result := range []struct {
		id   string
		mw   compose.ToolMiddleware
		tool tool.BaseTool
	}{
		{"en", english, fakeTool("invokable", "fetch", large)},
		{"zh", chinese, fakeTool("invokable", "fetch", large)},
		{"odd <id>&", english, fakeTool("invokable", "fetch", large)},
		{"parts", english, withImage},
	} {
		results, err := newNode(t, result.mw, result.tool).Invoke(t.Context(), callsFor(toolCall(result.id, "fetch")))
		require.NoError(t, err)
		messages = append(messages, results...)
	}
	messages = append(messages, schema.UserMessage("A summary: the log is in `/large_tool_result/quoted`."))
	messages = append(messages, conversation("call(last:bash) result(last:bash:10)")...)
	// The oldest result goes in Chinese, the next in English.
	c := compact(t, newPruner(t, &toolresult.PruneConfig{Language: adk.LanguageChinese}), &toolresult.CompactRequest{Messages: messages, TargetTokens: tokensOf(t, messages...) - 1000})
	messages = c.Messages
	return beforeModel(t, newHook(t, &toolresult.CompactionConfig{ContextWindow: 10_000}), messages)
}

// What an archive has taken in is found by what the messages say.
func TestCompatArchived(t *testing.T) {
	if *compatRelease != "" {
		data, err := json.MarshalIndent(archivedMessages(t, newMemory()), "", " ")
		require.NoError(t, err)
		writeCompat(t, "archived.json", data)
	}
	for _, file := range compatFiles(t, "archived.json") {
		data, err := os.ReadFile(file)
		require.NoError(t, err)
		var messages []*schema.Message
		require.NoError(t, json.Unmarshal(data, &messages))
		found := make(map[string]string)
		for _, msg := range messages {
			if path, ok := toolresult.OffloadedPath(msg); ok {
				found[msg.ToolCallID] = path
			}
		}
		assert.Equal(t, map[string]string{"n": "/large_tool_result/n", "a": "/large_tool_result/a", "m": "/large_tool_result/m"}, found, file)
		live := livePaths(t, messages...)
		for _, path := range []string{"/large_tool_result/n", "/large_tool_result/a", "/large_tool_result/m", "/large_tool_result/m.1.png", "/large_tool_result/w-arguments"} {
			assert.Contains(t, live, path, file)
		}
		backend := newMemory()
		again := compact(t, newPruner(t, archiving(backend)), &toolresult.CompactRequest{Messages: messages})
		assert.Equal(t, "", prunedIn(again), file)
		assert.Empty(t, backend.stored(), "%s: nothing is stored again", file)
	}
}

func archiving(backend *memory) *toolresult.PruneConfig {
	return &toolresult.PruneConfig{MinTokens: 1, Archive: backend, Pointers: toolresult.ShortenPointers, ArgumentTokens: map[string]int{"*": 100}}
}

// archivedMessages is a conversation with a shortened notice, an archived text, an archived picture and archived arguments.
func archivedMessages(t *testing.T, backend *memory) []*schema.Message {
	t.Helper()
	notice := offload(t, newOffload(t, &toolresult.OffloadConfig{Backend: backend, TokenLimit: 1000}), "n", numberedLines(1000))
	messages := conversation("user call(n:fetch,a:fetch,m:look,w:write) result(n:fetch) result(a:fetch:400) result(m:look) result(w:write:2) call(last:bash) result(last:bash:10)")
	messages[1].ToolCalls[3].Function.Arguments = `{"path":"notes.txt","text":"` + strings.Repeat("a note, ", 100) + `"}`
	messages[2].Content = notice
	messages[4].Content, messages[4].UserInputMultiContent = "", []schema.MessageInputPart{imageInput("aGVsbG8=")}
	return compact(t, newPruner(t, archiving(backend)), &toolresult.CompactRequest{Messages: messages}).Messages
}

func TestCompatCheckpoint(t *testing.T) {
	if *compatRelease != "" {
		store := &checkpoints{}
		begun := compatRunner(t, newMemory(), store, provider.New(compatScript, 0, requestTokens))
		require.True(t, drain(t, begun.Query(t.Context(), "go", adk.WithCheckPointID("run"))))
		writeCompat(t, "checkpoint.gob", store.data["run"])
	}
	for _, file := range compatFiles(t, "checkpoint.gob") {
		data, err := os.ReadFile(file)
		require.NoError(t, err)
		backend := newMemory()
		backend.files["/large_tool_result/call_0"] = numberedLines(1200)
		chat := provider.New(func(n int, messages []*schema.Message) (*schema.Message, error) { return compatScript(n+6, messages) }, 0, requestTokens)
		events, err := compatRunner(t, backend, &checkpoints{data: map[string][]byte{"run": data}}, chat).Resume(t.Context(), "run")
		require.NoError(t, err, file)
		require.False(t, drain(t, events), file)

		results := toolResults(lastOf(chat.Requests()))
		assert.Equal(t, "/large_tool_result/call_0", pathIn(t, results["call_0"]), file)
		assert.Contains(t, results["call_1"], "removed to free up context", file)
		assert.Equal(t, "confirmed", results["call_5"], file)
		assert.Contains(t, results["call_2"], "line 001200", "%s: what the old release stored is read", file)
		assert.Equal(t, 0, backend.written(), file)
	}
}

// compatScript fetches something large, then small things, then asks a human, then reads what is stored.
func compatScript(n int, _ []*schema.Message) (*schema.Message, error) {
	switch {
	case n == 0:
		return callsFor(toolCall("call_0", "fetch")), nil
	case n < 5:
		return callsFor(toolCall(fmt.Sprint("call_", n), "small")), nil
	case n == 5:
		return callsFor(toolCall("call_5", "confirm")), nil
	case n == 6:
		return readsFile("/large_tool_result/call_0"), nil
	}
	return answers("done"), nil
}

func compatRunner(t *testing.T, backend *memory, store *checkpoints, chat *provider.Model) *adk.Runner {
	t.Helper()
	h := newHandler(t, &toolresult.HandlerConfig{Backend: backend, ContextWindow: 3_000})
	tools := []tool.BaseTool{fakeTool("enhanced invokable", "fetch", numberedLines(1200)), fakeTool("invokable", "small", numberedLines(30)), confirmTool()}
	return adk.NewRunner(t.Context(), adk.RunnerConfig{Agent: newAgent(t, "agent", chat, tools, nil, h), CheckPointStore: store})
}

// writeCompat writes a sample of a new release.
func writeCompat(t *testing.T, name string, data []byte) {
	t.Helper()
	dir := filepath.Join(compatDir, *compatRelease)
	require.NoError(t, os.MkdirAll(dir, 0o755))
	file, err := os.OpenFile(filepath.Join(dir, name), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	require.NoError(t, err, "samples are never written anew")
	_, err = file.Write(data)
	require.NoError(t, err)
	require.NoError(t, file.Close())
}

// compatFiles are the samples of all releases.
func compatFiles(t *testing.T, name string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(compatDir, "*", name))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	return files
}
