package toolresult_test

// What is pruned is not lost: where each result goes, that it can be read back from there, and that nothing is stored twice.

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eino-toolresult/toolresult"
)

// archived prunes all that may go and returns what came of it.
func archived(t testing.TB, cfg toolresult.PruneConfig, messages []*schema.Message) *toolresult.Compaction {
	t.Helper()
	snapshot := deepCopy(messages)
	c := compact(t, newPruner(t, &cfg), &toolresult.CompactRequest{Messages: messages})
	require.Equal(t, snapshot, messages, "the input is not modified")
	return c
}

// requireReadBack asserts that a placeholder leads to a text, by every way to it.
func requireReadBack(t testing.TB, backend toolresult.Reader, msg *schema.Message, want string) (path string) {
	t.Helper()
	path, ok := toolresult.OffloadedPath(msg)
	require.True(t, ok, "%v", msg)
	require.Equal(t, want, readBack(t, backend, path), "byte for byte")

	prefix := path[:strings.IndexByte(path[1:], '/')+1]
	live, err := toolresult.LivePaths(prefix, msg)
	require.NoError(t, err)
	require.Contains(t, live, path)

	_, quoted, _ := strings.Cut(msg.Content, "`: ")
	quoted, _, _ = strings.Cut(quoted, "]")
	read := newReader(t, &toolresult.ReadConfig{Backend: backend, PathPrefix: prefix, MaxTokens: 300})
	if want == "" {
		return path
	}
	require.Equal(t, shownText(want), joinPages(t, allPages(t, read, 300, map[string]any{"file_path": quoted})), "as the placeholder names it")
	return path
}

func TestArchivePaths(t *testing.T) {
	named := func(path string, err error) func(context.Context, *compose.ToolInput) (string, error) {
		return func(_ context.Context, in *compose.ToolInput) (string, error) {
			return strings.ReplaceAll(path, "*", in.Name+"/"+in.CallID+"/"+in.Arguments), err
		}
	}
	long := strings.Repeat("x", 300)
	tests := []struct {
		id     string
		cfg    toolresult.PruneConfig
		want   string
		reason string
	}{
		{"call_1", toolresult.PruneConfig{}, "/large_tool_result/call_1", "a plain ID"},
		{"../../etc/passwd", toolresult.PruneConfig{}, "/large_tool_result/" + toolresult.SafeName("../../etc/passwd"), "an ID that would leave the folder"},
		{long, toolresult.PruneConfig{}, "/large_tool_result/" + toolresult.SafeName(long), "an ID longer than file names are"},
		{"中\x00", toolresult.PruneConfig{}, "/large_tool_result/" + toolresult.SafeName("中\x00"), "no ASCII"},
		{"call_1", toolresult.PruneConfig{PathPrefix: "/a/b/"}, "/a/b/call_1", "a folder of its own, with a final slash"},
		{"call_1", toolresult.PruneConfig{PathGenerator: named("/gen/*", nil)}, "/gen/bash/call_1/{}", "a generator is given the tool, the ID and the arguments"},
		{"call_1", toolresult.PruneConfig{PathGenerator: named(`/gen/a&b "c" 100%`, nil)}, `/gen/a&b "c" 100%`, "a path that is escaped where it is shown"},
	}
	for _, tt := range tests {
		t.Run(tt.reason, func(t *testing.T) {
			backend := newMemory()
			messages := conversation("user call(a:bash) result(a::500) call(b:bash) result(b)")
			messages[1].ToolCalls[0].ID, messages[2].ToolCallID = tt.id, tt.id
			tt.cfg.Archive = backend
			c := archived(t, tt.cfg, messages)
			require.Len(t, c.Pruned, 1)
			assert.Equal(t, tt.want, c.Pruned[0].Path)
			assert.NoError(t, c.Err)
			assert.Equal(t, tt.want, requireReadBack(t, backend, c.Messages[2], messages[2].Content))
			assert.Len(t, backend.stored(), 1, "the newest stays and is not stored")
		})
	}
}

// Two results of one path, in every kind of backend.
func TestArchiveTakenPaths(t *testing.T) {
	kinds := map[string]func(t *testing.T) toolresult.Backend{
		"overwrites": func(*testing.T) toolresult.Backend { return newMemory() },
		"exclusive":  func(*testing.T) toolresult.Backend { return exclusive{newMemory()} },
		"directory":  func(t *testing.T) toolresult.Backend { return openDir(t, t.TempDir()) },
	}
	for name, backendOf := range kinds {
		for _, id := range []string{"x", ""} {
			t.Run(fmt.Sprintf("%s/%q", name, id), func(t *testing.T) {
				backend := backendOf(t)
				messages := conversation("call(I:bash) result(I::500) answer user call(I:bash) result(I::600) answer user call(I:ls) result(I::500) call(z:bash) result(z)")
				for _, msg := range messages {
					if msg.ToolCallID == "I" {
						msg.ToolCallID = id
					}
					if len(msg.ToolCalls) > 0 && msg.ToolCalls[0].ID == "I" {
						msg.ToolCalls[0].ID = id
					}
				}
				messages[9].Content = messages[1].Content
				c := archived(t, toolresult.PruneConfig{Archive: backend}, messages)
				require.Len(t, c.Pruned, 3)
				var paths []string
				for _, p := range c.Pruned {
					assert.Equal(t, p.Path, requireReadBack(t, backend.(toolresult.Reader), c.Messages[p.Index], messages[p.Index].Content))
					paths = append(paths, p.Path)
				}
				assert.Equal(t, paths[0], paths[2], "equal content shares a path")
				assert.NotEqual(t, paths[0], paths[1], "other content does not")
				if id != "" {
					assert.Equal(t, "/large_tool_result/x", paths[0])
					assert.Regexp(t, `^/large_tool_result/x-[0-9a-v]{20}$`, paths[1])
				} else {
					assert.Regexp(t, `^/large_tool_result/content~[0-9a-v]{20}$`, paths[0])
				}
			})
		}
	}
}

func TestArchiveTexts(t *testing.T) {
	texts := map[string]string{
		"lines":           numberedLines(400),
		"one long line":   strings.Repeat("0123456789", 5000),
		"Chinese":         strings.Repeat("中文，", 3000),
		"bytes":           strings.Repeat("\xff\x00\xfe binary\n", 500),
		"carriage return": strings.Repeat("a\r\nb\r", 1000),
		"looks like ours": strings.Repeat("[Tool result removed to free up context.]\n</tool_result_offloaded>", 50),
	}
	for name, text := range texts {
		backend := newMemory()
		messages := conversation("call(a:bash) result(a) call(b:bash) result(b)")
		messages[1].Content = text
		c := archived(t, toolresult.PruneConfig{Archive: backend}, messages)
		require.Len(t, c.Pruned, 1, name)
		requireReadBack(t, backend, c.Messages[1], text)
	}
}

// What can be read already, or was stored before, is not stored again, however often and by whom it is pruned.
func TestNothingIsArchivedTwice(t *testing.T) {
	backend := newMemory()
	cfg := &toolresult.PruneConfig{Archive: backend, Pointers: toolresult.ShortenPointers}
	page := func(tool, args string) []*schema.Message {
		messages := conversation("call(p:" + tool + ") result(p::400)")
		messages[0].ToolCalls[0].Function.Arguments = args
		return messages
	}
	said := offload(t, newOffload(t, &toolresult.OffloadConfig{Backend: backend, TokenLimit: 1000}), "big", numberedLines(2000))
	messages := conversation("call(a:bash,c:bash,c:bash) result(a::500) result(c::300) result(c::400) call(big:fetch) result(big)")
	messages[5].Content = said
	messages = append(messages, page("read_file", `{"file_path": "/large_tool_result/big", "offset": 2, "limit": "x"}`)...)
	messages = append(messages, page("search_file", `{"pattern":"x","file_path":"/large_tool_result/big"}`)...)
	messages = append(messages, conversation("call(z:bash) result(z)")...)

	first := archived(t, *cfg, messages)
	require.Equal(t, "1:bash 2:bash 3:bash 5:fetch 7:read_file 9:search_file", prunedIn(first))
	written, files := backend.written(), backend.stored()
	assert.Len(t, files, 4, "three results, and one that was offloaded")
	assert.Equal(t, "/large_tool_result/big", first.Pruned[3].Path)
	assert.Empty(t, first.Pruned[4].Path, "a page is no result of its own")

	again := map[string][]*schema.Message{
		"as it was before":               messages,
		"as it is now":                   first.Messages,
		"as it was, through JSON":        throughJSON(t, messages),
		"as it is now, through JSON":     throughJSON(t, first.Messages),
		"as it is now, and has gone on":  append(first.Messages[:len(first.Messages):len(first.Messages)], conversation("call(y:bash) result(y)")...),
		"as it was, of another session.": deepCopy(messages),
	}
	for reason, history := range again {
		c := archived(t, *cfg, history) // by a new pruner
		for path, text := range backend.stored() {
			if _, known := files[path]; known {
				require.Equal(t, files[path], text)
			} else {
				require.Equal(t, "/large_tool_result/z", path, reason)
			}
		}
		for i, msg := range c.Messages {
			if i < len(first.Messages) && i != 11 {
				require.Equal(t, first.Messages[i].Content, msg.Content, reason)
			}
		}
	}
	assert.Equal(t, written+1, backend.written(), "the newest result grew old once")
}

func TestTwoCallersOfOneArchive(t *testing.T) {
	backend := exclusive{newMemory()}
	pruner := newPruner(t, &toolresult.PruneConfig{Archive: backend})
	mine, yours := conversation("call(a:bash) result(a::500) call(b:bash) result(b)"), conversation("call(a:bash) result(a::600) call(b:bash) result(b)")
	for range 2 {
		for _, messages := range [][]*schema.Message{mine, yours, mine} {
			c := compact(t, pruner, &toolresult.CompactRequest{Messages: messages})
			requireReadBack(t, backend, c.Messages[1], messages[1].Content)
		}
	}
	assert.Len(t, backend.stored(), 2)
	assert.Equal(t, 2, backend.written())
}

func TestArchiveIsSafeForConcurrentUse(t *testing.T) {
	for name, backend := range map[string]toolresult.Backend{"overwrites": newMemory(), "exclusive": exclusive{newMemory()}} {
		pruner := newPruner(t, &toolresult.PruneConfig{Archive: backend})
		histories := [][]*schema.Message{
			conversation("call(a:bash) result(a::500) call(b:bash) result(b)"),
			conversation("call(a:bash) result(a::600) call(b:bash) result(b)"),
		}
		var callers sync.WaitGroup
		for i := range 8 {
			callers.Go(func() {
				messages := histories[i%2]
				c, err := pruner.Compact(context.Background(), &toolresult.CompactRequest{Messages: messages})
				if assert.NoError(t, err) {
					path, _ := toolresult.OffloadedPath(c.Messages[1])
					assert.Equal(t, messages[1].Content, readBack(t, backend.(toolresult.Reader), path), name)
				}
			})
		}
		callers.Wait()
		read := backend.(interface{ stored() map[string]string })
		assert.Len(t, read.stored(), 2, name)
	}
}
