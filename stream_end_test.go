package toolresult_test

// What is left behind when a stream ends before its time. These tests run in a bubble of testing/synctest, which fails when
// a goroutine stays.

import (
	"context"
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
			assert.ErrorContains(t, err, "stream_end_test.go", "the stack says where")
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
