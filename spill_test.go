package toolresult_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eino-toolresult/toolresult"
	"github.com/eino-toolresult/toolresult/tokenest"
)

// uploads is a memory that takes results while they arrive, and counts what became of them.
type uploads struct {
	*memory
	opened, committed, aborted int
	failWrite, failCommit      error
}

func (u *uploads) Create(_ context.Context, req *toolresult.CreateRequest) (toolresult.Upload, error) {
	u.opened++
	return &memoryUpload{to: u, path: req.FilePath}, nil
}

type memoryUpload struct {
	to   *uploads
	path string
	text strings.Builder
}

func (m *memoryUpload) Write(p []byte) (int, error) { return m.WriteString(string(p)) }

func (m *memoryUpload) WriteString(s string) (int, error) {
	if m.to.failWrite != nil {
		return 0, m.to.failWrite
	}
	return m.text.WriteString(s)
}

func (m *memoryUpload) Commit() error {
	if m.to.failCommit != nil {
		return m.to.failCommit
	}
	err := exclusive{m.to.memory}.WriteNew(context.Background(), &toolresult.WriteRequest{FilePath: m.path, Content: m.text.String()})
	if err == nil {
		m.to.committed++
	}
	return err
}

func (m *memoryUpload) Abort() error { m.to.aborted++; return nil }

func newUploads() *uploads { return &uploads{memory: newMemory()} }

// chunked runs a stream of chunks through the middleware and returns what arrives.
func chunked(t *testing.T, mw compose.ToolMiddleware, call *compose.ToolInput, chunks ...string) ([]string, error) {
	t.Helper()
	next := func(context.Context, *compose.ToolInput) (*compose.StreamToolOutput, error) {
		return &compose.StreamToolOutput{Result: schema.StreamReaderFromArray(chunks)}, nil
	}
	out, err := mw.Streamable(next)(context.Background(), call)
	require.NoError(t, err)
	return receive(out.Result)
}

func TestStreamGoesThrough(t *testing.T) {
	masked := func(_ context.Context, _ *compose.ToolInput, text string) (string, error) { return text, nil }
	counter, err := toolresult.NewTokenCounter(t.Context(), &toolresult.TokenCounterConfig{Text: tokenest.Generic()})
	require.NoError(t, err)
	blind := toolresult.TokenCounterFunc(func(_ context.Context, messages []*schema.Message, _ []*schema.ToolInfo) (int64, error) {
		return int64(len(messages[0].Content)), nil
	})
	for _, c := range []struct {
		reason  string
		cfg     toolresult.OffloadConfig
		through bool
	}{
		{"nothing stands in the way", toolresult.OffloadConfig{}, true},
		{"a counter that can meter adds up over pieces", toolresult.OffloadConfig{TokenCounter: counter}, true},
		{"a counter that knows only messages needs the whole text", toolresult.OffloadConfig{TokenCounter: blind}, false},
		{"a transform needs the whole text", toolresult.OffloadConfig{Transform: masked}, false},
		{"to pass the result through when storing fails, it must still be there", toolresult.OffloadConfig{OnFailure: toolresult.PassThrough}, false},
		{"an excerpt needs the end of the text", toolresult.OffloadConfig{OnFailure: toolresult.TruncateInline}, false},
	} {
		t.Run(c.reason, func(t *testing.T) {
			backend := newUploads()
			c.cfg.Backend, c.cfg.TokenLimit = backend, 100
			text := numberedLines(3000)
			got, err := chunked(t, newOffload(t, &c.cfg), &compose.ToolInput{Name: "grep", CallID: "call_1"}, pieces(text, 77)...)
			require.NoError(t, err)
			require.Len(t, got, 1, "one notice")
			path := pathIn(t, got[0])
			assert.Equal(t, "/large_tool_result/call_1", path)
			stored := backend.stored()[path]
			assert.Equal(t, text, stored, "what is stored is what came")
			assert.Equal(t, c.through, backend.opened == 1, c.reason)
			assert.Equal(t, backend.opened, backend.committed)
			assert.Contains(t, got[0], fmt.Sprintf("Size: %d bytes, 3000 lines", len(stored)))
		})
	}
}

// A stream that is stored while it arrives reads like one that was held whole.
func TestStreamNoticeIsThatOfTheWhole(t *testing.T) {
	text := numberedLines(500) + "no newline at the end"
	call := &compose.ToolInput{Name: "grep", CallID: "call_1"}
	cfg := toolresult.OffloadConfig{TokenLimit: 100, Sampler: toolresult.HeadTailSampler(3, 3, 40)}
	for _, size := range []int{1, 7, 4096, len(text)} {
		var said [2]string
		for i, backend := range []toolresult.Backend{newUploads(), newMemory()} {
			cfg.Backend = backend
			got, err := chunked(t, newOffload(t, &cfg), call, pieces(text, size)...)
			require.NoError(t, err)
			said[i] = strings.Join(got, "")
		}
		assert.Equal(t, said[1], said[0], "in pieces of %d", size)
	}
}

func TestStreamUnderTheLimitOpensNothing(t *testing.T) {
	backend := newUploads()
	mw := newOffload(t, &toolresult.OffloadConfig{Backend: backend, TokenLimit: 1000})
	chunks := pieces(strings.Repeat("x", 4000), 100)
	got, err := chunked(t, mw, &compose.ToolInput{Name: "grep", CallID: "call_1"}, chunks...)
	require.NoError(t, err)
	assert.Equal(t, chunks, got)
	assert.Zero(t, backend.opened, "exactly the limit is not over it")
}

// The limit may be so low that the first chunk passes it, when no notice would be shorter yet.
func TestStreamNoticeIsNeverLonger(t *testing.T) {
	for size := range 3000 {
		if size%7 != 0 {
			continue
		}
		backend := newUploads()
		mw := newOffload(t, &toolresult.OffloadConfig{Backend: backend, TokenLimit: 1})
		text := strings.Repeat("y\n", size/2) + strings.Repeat("z", size%2)
		got, err := chunked(t, mw, &compose.ToolInput{Name: "grep", CallID: "call_1"}, pieces(text, 5)...)
		require.NoError(t, err)
		require.LessOrEqual(t, len(strings.Join(got, "")), len(text))
		if _, offloaded := toolresult.OffloadedPath(schema.ToolMessage(strings.Join(got, ""), "")); !offloaded {
			require.Equal(t, text, strings.Join(got, ""))
			require.Empty(t, backend.stored())
		}
	}
}

func TestStreamFailures(t *testing.T) {
	broken := errors.New("disk on fire")
	call := &compose.ToolInput{Name: "grep", CallID: "call_1"}
	t.Run("a failed write ends the stream and the upload", func(t *testing.T) {
		backend := newUploads()
		backend.failWrite = broken
		var events []toolresult.OffloadEvent
		mw := newOffload(t, &toolresult.OffloadConfig{Backend: backend, TokenLimit: 10, OnOffload: func(_ context.Context, e toolresult.OffloadEvent) { events = append(events, e) }})
		_, err := chunked(t, mw, call, pieces(numberedLines(500), 100)...)
		require.ErrorIs(t, err, broken)
		assert.ErrorContains(t, err, `toolresult: store the result of call "call_1" in "/large_tool_result/call_1"`)
		assert.Equal(t, 1, backend.aborted)
		require.Len(t, events, 1)
		assert.ErrorIs(t, events[0].Err, broken)
	})
	t.Run("a failed commit leaves nothing", func(t *testing.T) {
		backend := newUploads()
		backend.failCommit = broken
		_, err := chunked(t, newOffload(t, &toolresult.OffloadConfig{Backend: backend, TokenLimit: 10}), call, pieces(numberedLines(500), 100)...)
		require.ErrorIs(t, err, broken)
		assert.Equal(t, 1, backend.aborted)
		assert.Empty(t, backend.stored())
	})
	t.Run("a source that fails late aborts the upload, and its error is the one that arrives", func(t *testing.T) {
		dir := t.TempDir()
		backend := openDir(t, dir)
		reader, writer := schema.Pipe[string](0)
		go func() {
			defer writer.Close()
			for range 100 {
				writer.Send(numberedLines(10), nil)
			}
			writer.Send("", broken)
		}()
		mw := newOffload(t, &toolresult.OffloadConfig{Backend: backend, TokenLimit: 10})
		out, err := mw.Streamable(func(context.Context, *compose.ToolInput) (*compose.StreamToolOutput, error) {
			return &compose.StreamToolOutput{Result: reader}, nil
		})(t.Context(), call)
		require.NoError(t, err)
		_, err = receive(out.Result)
		assert.Same(t, broken, err)
		require.Eventually(t, func() bool { return countFiles(t, dir) == 0 }, time.Second, time.Millisecond, "nothing half-written stays")
	})
	t.Run("a consumer that leaves aborts the upload", func(t *testing.T) {
		dir := t.TempDir()
		reader, writer := schema.Pipe[string](0)
		mw := newOffload(t, &toolresult.OffloadConfig{Backend: openDir(t, dir), TokenLimit: 10})
		out, err := mw.Streamable(func(context.Context, *compose.ToolInput) (*compose.StreamToolOutput, error) {
			return &compose.StreamToolOutput{Result: reader}, nil
		})(t.Context(), call)
		require.NoError(t, err)
		for range 20 {
			writer.Send(numberedLines(10), nil)
		}
		require.NotZero(t, countFiles(t, dir), "the upload is under way")
		out.Result.Close()
		writer.Send("one more, which wakes the reader", nil)
		require.Eventually(t, func() bool { return writer.Send("", nil) }, time.Second, time.Millisecond, "the source is closed")
		require.Eventually(t, func() bool { return countFiles(t, dir) == 0 }, time.Second, time.Millisecond, "nothing half-written stays")
	})
}

func countFiles(t *testing.T, dir string) (files int) {
	t.Helper()
	require.NoError(t, filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			files++
		}
		return nil
	}))
	return files
}

func TestStreamsUnderOneName(t *testing.T) {
	backend := openDir(t, t.TempDir())
	mw := newOffload(t, &toolresult.OffloadConfig{Backend: backend, TokenLimit: 10})
	call := &compose.ToolInput{Name: "grep", CallID: "call_1"}
	first, second := numberedLines(500), numberedLines(501)
	var paths []string
	for _, text := range []string{first, second, first} {
		got, err := chunked(t, mw, call, pieces(text, 1000)...)
		require.NoError(t, err)
		path := pathIn(t, got[0])
		assert.Equal(t, text, dirRead(t, backend, path))
		paths = append(paths, path)
	}
	assert.Equal(t, "/large_tool_result/call_1", paths[0])
	assert.NotEqual(t, paths[0], paths[1], "other content gets a path of its own")
	assert.Equal(t, paths[0], paths[2], "a tool that runs again stores no second copy")
	assert.Equal(t, first, dirRead(t, backend, paths[0]), "what a notice names is never replaced")

	t.Run("two at once", func(t *testing.T) {
		var readers []*schema.StreamReader[string]
		var writers []*schema.StreamWriter[string]
		for range 2 {
			reader, writer := schema.Pipe[string](0)
			out, err := mw.Streamable(func(context.Context, *compose.ToolInput) (*compose.StreamToolOutput, error) {
				return &compose.StreamToolOutput{Result: reader}, nil
			})(t.Context(), &compose.ToolInput{Name: "grep", CallID: "call_2"})
			require.NoError(t, err)
			readers, writers = append(readers, out.Result), append(writers, writer)
		}
		for i, writer := range writers { // both are well on their way before one ends
			for range 30 {
				writer.Send(fmt.Sprintf("%d: %s", i, numberedLines(10)), nil)
			}
		}
		found := map[string]bool{}
		for i, writer := range writers {
			writer.Close()
			got, err := receive(readers[i])
			require.NoError(t, err)
			path := pathIn(t, got[0])
			assert.True(t, strings.HasPrefix(dirRead(t, backend, path), fmt.Sprintf("%d: ", i)))
			found[path] = true
		}
		assert.Len(t, found, 2)
	})
}

func TestStreamOfPartsGoesThrough(t *testing.T) {
	backend := newUploads()
	mw := newOffload(t, &toolresult.OffloadConfig{Backend: backend, TokenLimit: 10})
	chunks := []*schema.ToolResult{
		{Parts: []schema.ToolOutputPart{imagePart("aGk="), textPart(numberedLines(100))}},
		{Parts: []schema.ToolOutputPart{textPart("same text")}},
		nil,
		{Parts: []schema.ToolOutputPart{{Type: schema.ToolPartTypeFile, File: &schema.ToolOutputFile{}}, textPart("apart")}},
	}
	out, err := mw.EnhancedStreamable(func(context.Context, *compose.ToolInput) (*compose.EnhancedStreamableToolOutput, error) {
		return &compose.EnhancedStreamableToolOutput{Result: schema.StreamReaderFromArray(chunks)}, nil
	})(t.Context(), &compose.ToolInput{Name: "look", CallID: "call_1"})
	require.NoError(t, err)
	got, err := receive(out.Result)
	require.NoError(t, err)
	require.Len(t, got, 1)
	parts := got[0].Parts
	require.Len(t, parts, 3, "image, notice, file")
	assert.Equal(t, schema.ToolPartTypeImage, parts[0].Type)
	assert.Equal(t, schema.ToolPartTypeFile, parts[2].Type)
	path := pathIn(t, parts[1].Text)
	assert.Equal(t, path, parts[1].Extra["tool_result_offloaded"])
	assert.Equal(t, numberedLines(100)+"same text\napart", backend.stored()[path])
	assert.Equal(t, 1, backend.committed)
}

// A stream of 200 MB needs little more memory than what is held back to judge it.
func TestStreamNeedsLittleMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("writes 200 MB")
	}
	const chunks, size = 200 << 20 / 4096, 4096
	chunk := strings.Repeat(strings.Repeat("m", 127)+"\n", size/128)
	reader, writer := schema.Pipe[string](0)
	var peak uint64
	go func() {
		defer writer.Close()
		var stats runtime.MemStats
		for i := range chunks {
			writer.Send(strings.Clone(chunk), nil)
			if i%2000 == 0 {
				runtime.ReadMemStats(&stats)
				peak = max(peak, stats.HeapAlloc)
			}
		}
	}()
	runtime.GC()
	var before runtime.MemStats
	runtime.ReadMemStats(&before)
	dir := t.TempDir()
	mw := newOffload(t, &toolresult.OffloadConfig{Backend: openDir(t, dir), Sampler: toolresult.HeadTailSampler(0, 0, 0)})
	out, err := mw.Streamable(func(context.Context, *compose.ToolInput) (*compose.StreamToolOutput, error) {
		return &compose.StreamToolOutput{Result: reader}, nil
	})(t.Context(), &compose.ToolInput{Name: "tail", CallID: "call_1"})
	require.NoError(t, err)
	got, err := receive(out.Result)
	require.NoError(t, err)
	assert.Contains(t, got[0], "Size: 209715200 bytes, 1638400 lines")
	info, err := os.Stat(filepath.Join(dir, "large_tool_result", "call_1"))
	require.NoError(t, err)
	assert.Equal(t, int64(200<<20), info.Size())
	grown := int64(peak) - int64(before.HeapAlloc)
	t.Logf("heap grew by %.1f MB at most", float64(grown)/(1<<20))
	assert.Less(t, grown, int64(24<<20))
}
