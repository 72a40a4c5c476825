package toolresult_test

// What becomes of results that cannot be archived, and what the placeholder says of those that can.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/compose"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eino-toolresult/toolresult"
)

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
