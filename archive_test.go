package toolresult_test

// What is pruned is not lost: where each result goes, that it can be read back from there, and that nothing is stored twice.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/cloudwego/eino/adk"
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

// A store that fails for some paths.
func failingAt(backend toolresult.Backend, paths ...string) toolresult.Backend {
	return backendFunc(func(ctx context.Context, req *toolresult.WriteRequest) error {
		for _, path := range paths {
			if strings.HasSuffix(req.FilePath, path) {
				return &json.UnsupportedValueError{Str: path}
			}
		}
		return backend.Write(ctx, req)
	})
}

func TestWhatCannotBeArchivedStays(t *testing.T) {
	const five = "call(a:bash) result(a::500) call(b:bash) result(b::500) call(c:bash) result(c::500) call(d:bash) result(d::500) call(e:bash) result(e::500) call(z:bash) result(z)"
	tests := []struct {
		fails  []string
		target int64
		want   string
		reason string
	}{
		{nil, 0, "1:bash 3:bash 5:bash 7:bash 9:bash", "nothing fails"},
		{[]string{"/a"}, 0, "3:bash 5:bash 7:bash 9:bash", "the oldest cannot be stored, the others go on"},
		{[]string{"/a", "/b", "/d", "/e"}, 0, "5:bash", "two, a success, two: never three in a row"},
		{[]string{"/a"}, 2400, "3:bash", "one is enough, and the next goes in place of the one that stays"},
		{[]string{"/a", "/c"}, 1500, "3:bash 7:bash 9:bash", "likewise for two of them"},
	}
	for _, tt := range tests {
		t.Run(tt.reason, func(t *testing.T) {
			backend, messages := newMemory(), conversation(five)
			pruner := newPruner(t, &toolresult.PruneConfig{Archive: failingAt(backend, tt.fails...)})
			c := compact(t, pruner, &toolresult.CompactRequest{Messages: messages, TargetTokens: tt.target})
			assert.Equal(t, tt.want, prunedIn(c))
			for i, msg := range c.Messages {
				path, stored := toolresult.OffloadedPath(msg)
				if stored {
					require.Equal(t, messages[i].Content, readBack(t, backend, path))
				} else {
					require.Same(t, messages[i], msg)
				}
			}
			if tt.fails == nil {
				assert.NoError(t, c.Err)
				return
			}
			var cause *json.UnsupportedValueError
			require.ErrorAs(t, c.Err, &cause, "the cause is wrapped")
			for _, path := range tt.fails {
				assert.ErrorContains(t, c.Err, fmt.Sprintf(`toolresult: store the result of call "%s" in "/large_tool_result%s": `, path[1:], path))
			}
		})
	}
}

func TestArchiveNamingErrors(t *testing.T) {
	errNaming := errors.New("no name today")
	for reason, generate := range map[string]func() (string, error){
		"an error":             func() (string, error) { return "", errNaming },
		"no path":              func() (string, error) { return "", nil },
		"a path out of bounds": func() (string, error) { return "../x", nil },
		"control characters":   func() (string, error) { return "/a\nb", nil },
	} {
		backend := newMemory()
		messages := conversation("call(a:bash) result(a::500) call(b:bash) result(b)")
		c := archived(t, toolresult.PruneConfig{Archive: backend, PathGenerator: func(context.Context, *compose.ToolInput) (string, error) { return generate() }}, messages)
		assert.False(t, c.Changed, reason)
		assert.Empty(t, backend.stored(), reason)
		assert.ErrorContains(t, c.Err, `toolresult: name a file for the result of call "a": `, reason)
		if reason == "an error" {
			assert.ErrorIs(t, c.Err, errNaming)
		}
	}
}

func TestCancelledWhileArchiving(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	slow := backendFunc(func(ctx context.Context, _ *toolresult.WriteRequest) error {
		cancel()
		return ctx.Err()
	})
	messages := conversation("call(a:bash) result(a::500) call(b:bash) result(b)")
	snapshot := deepCopy(messages)
	c, err := newPruner(t, &toolresult.PruneConfig{Archive: slow}).Compact(ctx, &toolresult.CompactRequest{Messages: messages})
	require.ErrorIs(t, err, context.Canceled)
	assert.Nil(t, c)
	assert.Equal(t, snapshot, messages)
}

// The hook tells of results that could not be archived although nothing changed, and keeps on trying.
func TestHookTellsOfArchiveErrors(t *testing.T) {
	var told reports
	backend := newMemory()
	pruner := newPruner(t, &toolresult.PruneConfig{Archive: failingAt(backend, "/a")})
	messages := conversation("user(500) call(a:bash) result(a::500) call(b:bash) result(b)")
	for reason, counter := range map[string]toolresult.TokenCounter{"replayed": nil, "once": newTally(t)} {
		told = nil
		hook := newHook(t, &toolresult.CompactionConfig{ContextWindow: 1500, Compactor: pruner, TokenCounter: counter, OnCompaction: told.add})
		got := beforeModel(t, hook, messages)
		assert.True(t, sameSlice(messages, got), reason)
		require.Len(t, told, 1, reason)
		assert.False(t, told[0].Changed, reason)
		assert.ErrorContains(t, told[0].Err, "store the result", reason)
		assert.Equal(t, told[0].TokensBefore, told[0].TokensAfter, reason)
	}
}

func TestStoredPlaceholderTexts(t *testing.T) {
	mkPlaceholders(t)
	ids := []string{"call_1", "a b&c", "../x"}
	for name, cfg := range map[string]toolresult.PruneConfig{
		"stored_english.txt": {},
		"stored_chinese.txt": {Language: adk.LanguageChinese},
		"stored_custom.txt":  {StoredPlaceholder: `{"{tool_name}": "{file_path}", "by": "{read_tool_name}", "x": "{x}"} %d {file_path}`, ReadToolName: "读取"},
	} {
		var b strings.Builder
		for _, id := range ids {
			cfg.Archive = newMemory()
			cfg.PathGenerator = func(_ context.Context, in *compose.ToolInput) (string, error) {
				return "/results/" + toolresult.SafeName(in.CallID) + ` "<&%>`, nil
			}
			messages := conversation("call(a:bash) result(a) call(b:bash) result(b)")
			messages[0].ToolCalls[0].ID, messages[1].ToolCallID = id, id
			c := archived(t, cfg, messages)
			fmt.Fprintf(&b, "%q\n%s\n\n", id, c.Messages[1].Content)
		}
		golden(t, filepath.Join("placeholders", name), b.String())
	}
}

// No result grows, and what would is not stored.
func TestStoredPlaceholderSaves(t *testing.T) {
	for _, tokens := range []string{"10", "16", "17", "18", "40"} {
		backend := newMemory()
		c := archived(t, toolresult.PruneConfig{Archive: backend, MinTokens: 1}, conversation("call(a:bash) result(a::"+tokens+") call(b:bash) result(b)"))
		assert.Equal(t, c.Changed, len(backend.stored()) == 1, "%s tokens", tokens)
	}
}

// A name that turns out to be taken makes the placeholder longer. Where that saves nothing any more the result stays.
func TestTakenPathMaySaveNothing(t *testing.T) {
	backend := newMemory()
	messages := conversation("call(a:bash) result(a::20) call(b:bash) result(b)")
	cfg := toolresult.PruneConfig{Archive: backend, MinTokens: 1}
	require.True(t, archived(t, cfg, messages).Changed)
	backend.files["/large_tool_result/a"] = "something else"
	c := archived(t, cfg, messages)
	assert.False(t, c.Changed)
	assert.NoError(t, c.Err)
}
