package toolresult_test

// Streams: what arrives, and in which pieces.

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eino-toolresult/toolresult"
)

// newSource is a stream of chunks that ends with an error, io.EOF being the good one. closed is closed once its reader
// was; a second time would make Eino panic.
func newSource[T any](chunks []T, end error) (reader *schema.StreamReader[T], closed chan struct{}) {
	reader, writer := schema.Pipe[T](0)
	closed = make(chan struct{})
	go func() {
		defer close(closed)
		for _, chunk := range chunks {
			if writer.Send(chunk, nil) {
				return
			}
		}
		for !writer.Send(*new(T), end) {
		}
	}()
	return reader, closed
}

// hold passes a stream of text through the middleware.
func hold(ctx context.Context, t *testing.T, mw compose.ToolMiddleware, src *schema.StreamReader[string]) *schema.StreamReader[string] {
	t.Helper()
	out, err := mw.Streamable(func(context.Context, *compose.ToolInput) (*compose.StreamToolOutput, error) {
		return &compose.StreamToolOutput{Result: src}, nil
	})(ctx, &compose.ToolInput{Name: "fetch", CallID: "call_1"})
	require.NoError(t, err)
	return out.Result
}

var errSource = errors.New("the source failed")

var streamCases = []struct {
	name   string
	chunks []string
	end    error
	stored bool
	reason string
}{
	{"below the limit", []string{"a", "", "b\n", "\xe4", "\xb8\x96", "c"}, io.EOF, false, "every chunk arrives as it was, empty ones and halves of characters too"},
	{"many small chunks", pieces(numberedLines(80), 3), io.EOF, false, "more chunks than any buffer holds"},
	{"exactly the limit", pieces(strings.Repeat("x", 4000), 999), io.EOF, false, "the limit itself is not above it"},
	{"one byte above, in the last chunk", append(pieces(strings.Repeat("x", 4000), 999), "x"), io.EOF, true, "a stream is judged as a whole"},
	{"above the limit in one chunk", []string{numberedLines(1000)}, io.EOF, true, "one notice takes its place"},
	{"far above the limit", pieces(numberedLines(20_000), 4096), io.EOF, true, "one notice takes its place"},
	{"a character in two chunks", append(pieces(strings.Repeat("世", 3000), 4), "\n"), io.EOF, true, "what is stored is joined, not mended"},
	{"no chunks", nil, io.EOF, false, "Eino cannot join nothing, so one empty chunk comes"},
	{"fails below the limit", []string{"1", "2", "3", "4", "5", "6", "7"}, errSource, false, "the same error, behind what came before it"},
	{"fails above the limit", pieces(numberedLines(1000), 7000)[:7], errSource, false, "the same error, and nothing half-written"},
	{"fails at once", nil, errSource, false, "an error is not an empty stream"},
	{"fails with an end inside", []string{"1"}, fmt.Errorf("connection lost: %w", io.EOF), false, "Eino takes only a plain io.EOF for an end"},
}

func TestStreamArrives(t *testing.T) {
	for name, open := range map[string]func() toolresult.Backend{
		"held whole": func() toolresult.Backend { return newMemory() },
		"stored while it arrives": func() toolresult.Backend {
			return openDir(t, t.TempDir())
		},
	} {
		for _, tc := range streamCases {
			t.Run(name+"/"+tc.name, func(t *testing.T) {
				backend := open()
				src, closed := newSource(tc.chunks, tc.end)
				got, err := receive(hold(t.Context(), t, newOffload(t, &toolresult.OffloadConfig{Backend: backend, TokenLimit: 1000}), src))
				<-closed
				whole := strings.Join(tc.chunks, "")
				switch {
				case tc.end != io.EOF:
					assert.True(t, err == tc.end, "%s: %v", tc.reason, err)
					assert.True(t, strings.HasPrefix(whole, strings.Join(got, "")), tc.reason)
					assert.Empty(t, storedIn(t, backend), tc.reason)
				case tc.stored:
					require.NoError(t, err)
					require.Len(t, got, 1, tc.reason)
					assert.Equal(t, map[string]string{pathIn(t, got[0]): whole}, storedIn(t, backend), tc.reason)
				default:
					require.NoError(t, err)
					if tc.chunks == nil {
						tc.chunks = []string{""}
					}
					assert.Equal(t, tc.chunks, got, tc.reason)
					assert.Empty(t, storedIn(t, backend), tc.reason)
				}
			})
		}
	}
}

// storedIn is all that a backend holds, unfinished uploads included where it has any.
func storedIn(t *testing.T, backend toolresult.Backend) map[string]string {
	t.Helper()
	switch b := backend.(type) {
	case *memory:
		return b.stored()
	case exclusive:
		return b.stored()
	}
	files := make(map[string]string)
	for file, err := range backend.(toolresult.Lister).List(t.Context(), &toolresult.ListRequest{}) {
		require.NoError(t, err)
		content, err := backend.(toolresult.Reader).Read(t.Context(), &toolresult.ReadRequest{FilePath: file.FilePath})
		require.NoError(t, err)
		files[file.FilePath] = content.Content
	}
	return files
}

func TestStreamChunksBeforeAnErrorArrive(t *testing.T) {
	mw := newOffload(t, &toolresult.OffloadConfig{Backend: newMemory(), TokenLimit: 1000})
	src, _ := newSource([]string{"1", "2", "3"}, errSource)
	out := hold(t.Context(), t, mw, src)
	defer out.Close()
	for _, want := range []string{"1", "2", "3"} {
		got, err := out.Recv()
		require.NoError(t, err)
		assert.Equal(t, want, got)
	}
	_, err := out.Recv()
	assert.True(t, err == errSource, "the same error, not one like it: %v", err)
	_, err = out.Recv()
	assert.True(t, err == io.EOF, "a stream has an end behind its error: %v", err)
}

// Some agents merge named streams; each of them reports its own end as an error that is none.
func TestStreamOfMergedNamedStreams(t *testing.T) {
	for _, tc := range []struct {
		lines  int
		stored bool
	}{{3, false}, {1000, true}} {
		store := newMemory()
		merged := schema.MergeNamedStreamReaders(map[string]*schema.StreamReader[string]{
			"a": schema.StreamReaderFromArray(pieces(numberedLines(tc.lines), 40)),
			"b": schema.StreamReaderFromArray(pieces(numberedLines(tc.lines), 70)),
			"c": schema.StreamReaderFromArray([]string{}),
		})
		got, err := receive(hold(t.Context(), t, newOffload(t, &toolresult.OffloadConfig{Backend: store, TokenLimit: 1000}), merged))
		require.NoError(t, err, "the end of one source is not an error of all")
		if tc.stored {
			require.Len(t, got, 1)
			assert.Len(t, store.stored()[pathIn(t, got[0])], 2*len(numberedLines(tc.lines)))
			continue
		}
		assert.Len(t, strings.Join(got, ""), 2*len(numberedLines(tc.lines)))
		assert.Empty(t, store.stored())
	}
}

// Tools that run in parallel must not wait for each other's results, nor for a reader that takes them one by one.
func TestStreamsOfParallelToolsAreIndependent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mw := newOffload(t, &toolresult.OffloadConfig{Backend: newMemory(), TokenLimit: 1000})
		slow, writer := schema.Pipe[string](0)
		node := newNode(t, mw, fakeTool("streamable", "quick", numberedLines(1000)),
			streamTool{"slow", func(context.Context, string) (*schema.StreamReader[string], error) { return slow, nil }})
		reader, err := node.Stream(t.Context(), schema.AssistantMessage("", []schema.ToolCall{toolCall("1", "slow"), toolCall("2", "quick")}))
		require.NoError(t, err)
		defer reader.Close()
		first, err := reader.Recv()
		require.NoError(t, err)
		assert.Equal(t, "/large_tool_result/2", pathIn(t, first[1].Content), "the quick one does not wait for the slow one")
		writer.Send("done at last", nil)
		writer.Close()
		second, err := reader.Recv()
		require.NoError(t, err)
		assert.Equal(t, "done at last", second[0].Content)
	})
	synctest.Test(t, func(t *testing.T) {
		mw := newOffload(t, &toolresult.OffloadConfig{Backend: newMemory(), TokenLimit: 1000})
		ready := make(chan struct{})
		node := newNode(t, mw,
			textTool{"first", func(context.Context, string) (string, error) { <-ready; return numberedLines(1000), nil }},
			streamTool{"second", func(context.Context, string) (*schema.StreamReader[string], error) {
				defer close(ready)
				return schema.StreamReaderFromArray(pieces(numberedLines(1000), 100)), nil
			}})
		messages, err := node.Invoke(t.Context(), schema.AssistantMessage("", []schema.ToolCall{toolCall("1", "first"), toolCall("2", "second")}))
		require.NoError(t, err)
		pathIn(t, messages[0].Content)
		pathIn(t, messages[1].Content)
	})
}

// An excluded stream is not held back: its first chunk arrives while the source still runs.
func TestStreamOfExcludedToolFlows(t *testing.T) {
	src, writer := schema.Pipe[string](1)
	mw := newOffload(t, &toolresult.OffloadConfig{Backend: newMemory(), TokenLimit: 1, ExcludeTools: []string{"fetch"}})
	out := hold(t.Context(), t, mw, src)
	writer.Send(numberedLines(100), nil)
	got, err := out.Recv()
	require.NoError(t, err)
	assert.Equal(t, numberedLines(100), got)
	writer.Close()
	out.Close()
}
