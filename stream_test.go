package toolresult_test

// Streams: what arrives, in which pieces, and what is left behind when something ends before its time. The tests that watch
// goroutines run in a bubble of testing/synctest, which fails when one of them stays.

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

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

// Callbacks of the user run in a goroutine of the library when the result is a stream. A panic there would end the process.
func TestStreamSurvivesPanics(t *testing.T) {
	boom := func() { panic("boom") }
	for name, cfg := range map[string]*toolresult.OffloadConfig{
		"Transform": {Transform: func(context.Context, *compose.ToolInput, string) (string, error) { boom(); return "", nil }},
		"TokenCounter": {TokenCounter: toolresult.TokenCounterFunc(func(context.Context, []*schema.Message, []*schema.ToolInfo) (int64, error) {
			boom()
			return 0, nil
		})},
		"PathGenerator": {PathGenerator: func(context.Context, *compose.ToolInput) (string, error) { boom(); return "", nil }},
		"Backend":       {Backend: backendFunc(func(context.Context, *toolresult.WriteRequest) error { boom(); return nil })},
		"OnOffload":     {OnOffload: func(context.Context, toolresult.OffloadEvent) { boom() }},
		"a source":      {},
	} {
		synctest.Test(t, func(t *testing.T) {
			if cfg.Backend == nil {
				cfg.Backend = newMemory()
			}
			cfg.TokenLimit = 10
			src, closed := newSource([]string{numberedLines(100)}, io.EOF)
			if name == "a source" {
				src = schema.StreamReaderWithConvert(src, func(string) (string, error) { boom(); return "", nil })
			}
			got, err := receive(hold(t.Context(), t, newOffload(t, cfg), src))
			require.ErrorContains(t, err, "toolresult: panic", name)
			assert.ErrorContains(t, err, "boom", name)
			assert.ErrorContains(t, err, "stream_test.go", "the stack says where")
			assert.Empty(t, got, name)
			<-closed
		})
	}
}

func TestStreamConsumerCloses(t *testing.T) {
	mw := newOffload(t, &toolresult.OffloadConfig{Backend: newMemory(), TokenLimit: 1000})
	t.Run("while the source is silent", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			src, writer := schema.Pipe[string](0)
			out := hold(t.Context(), t, mw, src)
			assert.False(t, writer.Send("early", nil))
			out.Close()
			synctest.Wait()
			assert.False(t, writer.Send("late", nil), "nothing can wake the source's Recv but the source")
			synctest.Wait()
			assert.True(t, writer.Send("later", nil), "once it has returned, the source is closed")
		})
	})
	t.Run("while the source is far ahead", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			src, closed := newSource(make([]string, 10_000), io.EOF)
			out := hold(t.Context(), t, mw, src)
			synctest.Wait()
			out.Close()
			<-closed
		})
	})
	t.Run("while chunks are delivered", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			src, closed := newSource(pieces(strings.Repeat("x", 3000), 2), io.EOF)
			out := hold(t.Context(), t, mw, src)
			_, err := out.Recv()
			require.NoError(t, err)
			out.Close()
			<-closed
		})
	})
	t.Run("before anything else", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			src, closed := newSource([]string{"a"}, errSource)
			hold(t.Context(), t, mw, src).Close()
			<-closed
		})
	})
}

func TestStreamContextEnds(t *testing.T) {
	for name, backend := range map[string]toolresult.Backend{"held whole": newMemory(), "stored while it arrives": openDir(t, t.TempDir())} {
		mw := newOffload(t, &toolresult.OffloadConfig{Backend: backend, TokenLimit: 1000})
		t.Run(name+", mid-way", func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				src, writer := schema.Pipe[string](0)
				out := hold(ctx, t, mw, src)
				writer.Send(numberedLines(500), nil)
				cancel()
				writer.Send(numberedLines(500), nil)
				got, err := receive(out)
				assert.ErrorIs(t, err, context.Canceled)
				assert.Empty(t, got)
				synctest.Wait()
				assert.True(t, writer.Send("more", nil), "the source is closed")
			})
		})
		t.Run(name+", while nobody reads", func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				src, closed := newSource(make([]string, 10_000), io.EOF)
				out := hold(ctx, t, mw, src)
				synctest.Wait()
				cancel()
				<-closed // a consumer that was cancelled itself may never close its stream
				_, err := receive(out)
				assert.ErrorIs(t, err, context.Canceled, "what was cut off must not look like an end")
			})
		})
		t.Run(name+", while chunks are delivered", func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				src, closed := newSource(pieces(strings.Repeat("x", 3000), 2), io.EOF)
				out := hold(ctx, t, mw, src)
				_, err := out.Recv()
				require.NoError(t, err)
				synctest.Wait()
				cancel()
				<-closed
				got, err := receive(out)
				assert.ErrorIs(t, err, context.Canceled, "what was cut off must not look like an end")
				assert.Less(t, len(got), 1499)
			})
		})
		assert.Empty(t, storedIn(t, backend), "nothing half-written is left")
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

// Eino drops the streams of all tools, without closing them, when one tool fails.
func TestStreamIsDropped(t *testing.T) {
	mw := newOffload(t, &toolresult.OffloadConfig{Backend: newMemory(), TokenLimit: 1000})
	src, closed := newSource(make([]string, 10_000), io.EOF)
	node := newNode(t, mw,
		streamTool{"good", func(context.Context, string) (*schema.StreamReader[string], error) { return src, nil }},
		streamTool{"bad", func(context.Context, string) (*schema.StreamReader[string], error) { return nil, errSource }})
	_, err := node.Stream(t.Context(), schema.AssistantMessage("", []schema.ToolCall{toolCall("1", "good"), toolCall("2", "bad")}))
	require.ErrorIs(t, err, errSource)
	for range 500 {
		runtime.GC()
		select {
		case <-closed:
			return
		case <-time.After(10 * time.Millisecond):
		}
	}
	t.Error("the goroutine that held the stream back is still there")
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
