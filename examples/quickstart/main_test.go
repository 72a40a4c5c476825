package main

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/flow/agent/react"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eino-toolresult/toolresult/internal/provider"
)

func TestQuickstart(t *testing.T) {
	source, dir := goSource(t), t.TempDir()
	var out bytes.Buffer
	seen, err := run(t.Context(), &out, source, dir)
	require.NoError(t, err)
	t.Logf("\n%s", &out)

	t.Run("offloads, and what is stored is what the tool returned", func(t *testing.T) {
		require.NotEmpty(t, seen.stored)
		for id, event := range seen.stored {
			stored, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(event.Path)))
			require.NoError(t, err)
			assert.True(t, seen.whole[id] == string(stored), "%s differs from the result of %s", event.Path, id)
			assert.EqualValues(t, len(stored), event.Bytes, "the event of %s tells another size", id)
		}
	})
	t.Run("results run from bytes to megabytes", func(t *testing.T) {
		smallest, largest := 1<<30, 0
		for _, result := range seen.whole {
			smallest, largest = min(smallest, len(result)), max(largest, len(result))
		}
		assert.Less(t, smallest, 1_000)
		assert.Greater(t, largest, 1_000_000)
	})
	t.Run("reads back, page by page, what was stored", func(t *testing.T) {
		pages := seen.answers("read_file")
		require.GreaterOrEqual(t, len(pages), 2)
		back := joinPages(pages[0], pages[1])
		assert.Greater(t, len(back), 30_000, "two pages of 5 000 tokens")
		assert.True(t, strings.HasPrefix(seen.whole["call_1"], back), "the pages are not the beginning of the listing")
	})
	t.Run("searches in what was stored", func(t *testing.T) {
		found := seen.answers("search_file")
		require.NotEmpty(t, found)
		for _, answer := range found {
			assert.Regexp(t, `(?m)^\d+: net/http/server\.go[ :]`, answer)
		}
	})
	t.Run("prunes, and the results go for good", func(t *testing.T) {
		require.NotEmpty(t, seen.compactions)
		last := seen.requests[len(seen.requests)-1].messages
		for _, c := range seen.compactions {
			require.NotEmpty(t, c.Pruned)
			assert.Less(t, c.TokensAfter, c.TokensBefore)
			for _, p := range c.Pruned {
				assert.Equal(t, p.CallID, last[p.Index].ToolCallID)
				assert.Contains(t, last[p.Index].Content, "removed to free up context")
			}
		}
	})
	t.Run("stays within the window, which it would not have done", func(t *testing.T) {
		for i, q := range seen.requests {
			assert.LessOrEqual(t, q.tokens, window, "call %d", i+1)
			assert.Equal(t, i > 0, seen.without(q) > window, "call %d without the library: %d tokens", i+1, seen.without(q))
		}
	})
	t.Run("says so", func(t *testing.T) {
		said := out.String()
		assert.Regexp(t, `Answer:   In net/http/server\.go, line \d+, in \(c \*conn\) \w+\.`, said)
		assert.Contains(t, said, "would have ended at call 2")
		assert.Contains(t, said, "pruned at ")
		assert.Regexp(t, `Saved [\d ]+ of [\d ]+ tokens \(9\d\.\d%\)\. The \d large results lie in `+regexp.QuoteMeta(dir), said)
	})
	t.Run("says the same again, and leaves nothing but results", func(t *testing.T) {
		again := t.TempDir()
		var saidAgain bytes.Buffer
		goroutines, files := runtime.NumGoroutine(), openFiles()
		_, err := run(t.Context(), &saidAgain, source, again)
		require.NoError(t, err)
		assert.True(t, settles(func() bool { return runtime.NumGoroutine() <= goroutines }), "goroutines are left")
		assert.Equal(t, files, openFiles(), "files are left open")
		assert.Equal(t, out.String(), strings.ReplaceAll(saidAgain.String(), again, dir))
		assert.Len(t, filesBelow(t, again), len(seen.stored))
	})
}

func TestWithoutTheLibraryTheRunIsRefused(t *testing.T) {
	tools, err := sourceTools(os.DirFS(goSource(t)))
	require.NoError(t, err)
	seen, err := newRecord(t.Context())
	require.NoError(t, err)
	agent, err := react.NewAgent(t.Context(), &react.AgentConfig{
		ToolCallingModel: provider.New(script(), window, seen.count),
		ToolsConfig:      compose.ToolsNodeConfig{Tools: tools},
	})
	require.NoError(t, err)
	_, err = agent.Generate(t.Context(), []*schema.Message{schema.UserMessage(question)})
	require.ErrorIs(t, err, provider.ErrContextTooLong)
	assert.Len(t, seen.requests, 2, "the first large result ends the run")
}

func TestTools(t *testing.T) {
	tools, err := sourceTools(fstest.MapFS{
		"a/two.go":    {Data: []byte("one\ntwo two\n\ntwo")},
		"a/b/one.go":  {Data: []byte("two\r\n")},
		"a/binary.go": {Data: []byte("two\xff\n")},
		"a/two.txt":   {Data: []byte("two\n")},
	})
	require.NoError(t, err)
	for _, c := range []struct{ reason, tool, arguments, want string }{
		{"every file, in order, with its size", "list_source", `{"path":"."}`, "a/b/one.go 5\na/binary.go 5\na/two.go 16\na/two.txt 4\n"},
		{"a folder", "list_source", `{"path":"a/b"}`, "a/b/one.go 5\n"},
		{"a line once, the last one too; no text, no hit", "search_source", `{"path":".","pattern":"two"}`, "a/b/one.go:1: two\r\na/two.go:2: two two\na/two.go:4: two\n"},
		{"one file", "search_source", `{"path":"a/two.go","pattern":"^one"}`, "a/two.go:1: one\n"},
		{"an empty match", "search_source", `{"path":"a/b/one.go","pattern":"x*$"}`, "a/b/one.go:2: \n"},
		{"nothing there", "search_source", `{"path":".","pattern":"three"}`, "Nothing found."},
		{"a bad pattern does not end the run", "search_source", `{"path":".","pattern":"("}`, "Not a pattern: error parsing regexp: missing closing ): `(`"},
		{"nor does a missing folder", "list_source", `{"path":"c"}`, "No such file or folder: c"},
		{"nor one outside the tree", "list_source", `{"path":"../etc"}`, "No such file or folder: ../etc"},
	} {
		t.Run(c.reason, func(t *testing.T) {
			for _, candidate := range tools {
				if info, err := candidate.Info(t.Context()); assert.NoError(t, err) && info.Name == c.tool {
					got, err := candidate.(tool.InvokableTool).InvokableRun(t.Context(), c.arguments)
					require.NoError(t, err)
					assert.Equal(t, c.want, got)
				}
			}
		})
	}
}

func TestToolsEndWithTheContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := tree{fstest.MapFS{"a.go": {}}}.list(ctx, listArguments{Path: "."})
	assert.ErrorIs(t, err, context.Canceled)
}

func TestSourceBelow(t *testing.T) {
	_, err := sourceBelow(t.TempDir())
	require.Error(t, err)
	assert.Contains(t, err.Error(), "install Go from", "it says what to do")
}

// goSource finds what the quickstart runs on.
func goSource(t *testing.T) string {
	source, err := sourceTree(t.Context())
	if err != nil {
		t.Skipf("the quickstart needs the sources of Go: %v", err)
	}
	return source
}

// answers are the results of a tool as the model first read them, in order.
func (r *record) answers(name string) (texts []string) {
	for i, q := range r.requests[1:] {
		for _, msg := range q.messages[len(r.requests[i].messages):] {
			if msg.Role == schema.Tool && msg.ToolName == name {
				texts = append(texts, msg.Content)
			}
		}
	}
	return texts
}

// joinPages takes line numbers and hints off pages. A number that stands twice in a row is one line over two pages.
func joinPages(pages ...string) string {
	var text strings.Builder
	number := ""
	for _, page := range pages {
		for _, line := range regexp.MustCompile(`(?m)^(\d+): (.*)$`).FindAllStringSubmatch(page, -1) {
			if number != "" && number != line[1] {
				text.WriteByte('\n')
			}
			number = line[1]
			text.WriteString(line[2])
		}
	}
	return text.String()
}

func filesBelow(t *testing.T, dir string) (names []string) {
	require.NoError(t, filepath.WalkDir(dir, func(name string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			names = append(names, name)
		}
		return err
	}))
	return names
}

// settles waits for a condition. assert.Eventually would not do: it starts a goroutine to find out.
func settles(condition func() bool) bool {
	for range 200 {
		if condition() {
			return true
		}
		time.Sleep(10 * time.Millisecond)
	}
	return false
}

// openFiles counts what this process has open, as far as the system tells.
func openFiles() string {
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return "unknown"
	}
	return fmt.Sprint(len(entries))
}
