package toolresult_test

// How queued writes end, and who may look at them on the way.

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cloudwego/eino/adk/filesystem"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eino-toolresult/toolresult"
)

func TestAsyncClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newGated()
		b := newAsync(t, toolresult.AsyncConfig{Backend: store, QueueEntries: 1})
		require.NoError(t, asyncWrite(b, "/1", "one"))
		var wg sync.WaitGroup
		for i := range 3 {
			wg.Go(func() {
				assert.ErrorIs(t, asyncWrite(b, fmt.Sprint("/waits", i), ""), fs.ErrClosed, "who waits is told")
			})
		}
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		require.ErrorIs(t, b.Close(ctx), context.DeadlineExceeded, "the store hangs, and Close has its limit")
		wg.Wait()
		require.ErrorIs(t, asyncWrite(b, "/late", ""), fs.ErrClosed)
		store.gate <- nil
		require.NoError(t, b.Close(t.Context()), "it may be called again")
		got, err := asyncRead(store, "/1")
		require.NoError(t, err)
		require.Equal(t, "one", got, "what was queued was written all the same")
	})
}

func TestAsyncLeavesNoGoroutine(t *testing.T) {
	b := newAsync(t, toolresult.AsyncConfig{Backend: filesystem.NewInMemoryBackend()})
	for i := range 100 {
		require.NoError(t, asyncWrite(b, fmt.Sprint("/", i), "text"))
	}
	require.NoError(t, b.Flush(t.Context()))
	require.Eventually(t, func() bool {
		stacks := make([]byte, 1<<20)
		return !strings.Contains(string(stacks[:runtime.Stack(stacks, true)]), "asyncQueue")
	}, 10*time.Second, time.Millisecond, "an idle queue needs no goroutine, and so none is left where Close is forgotten")
}

// racingDir stores something of another process just before a write of ours.
type racingDir struct {
	*toolresult.DirBackend
	theirs string
}

func (r racingDir) WriteNew(ctx context.Context, req *toolresult.WriteRequest) error {
	if err := r.DirBackend.WriteNew(ctx, &toolresult.WriteRequest{FilePath: req.FilePath, Content: r.theirs}); err != nil {
		return err
	}
	return r.DirBackend.WriteNew(ctx, req)
}

func TestAsyncNeverOverwrites(t *testing.T) {
	dir := openDir(t, t.TempDir())
	b := newAsync(t, toolresult.AsyncConfig{Backend: racingDir{dir, "theirs"}})
	writeNew := func(path, content string) error {
		return b.(toolresult.ExclusiveWriter).WriteNew(t.Context(), &toolresult.WriteRequest{FilePath: path, Content: content})
	}
	require.NoError(t, writeNew("/r", "ours"), "nothing was there when it was called")
	require.ErrorIs(t, b.Flush(t.Context()), fs.ErrExist, "who comes too late learns it later")
	require.Equal(t, "theirs", dirRead(t, dir, "/r"), "nothing is overwritten")
	_, err := asyncRead(b, "/r")
	require.ErrorIs(t, err, fs.ErrNotExist, "and theirs is not given out as ours")
	_, err = b.(toolresult.Stater).Stat(t.Context(), &toolresult.StatRequest{FilePath: "/r"})
	require.ErrorIs(t, err, fs.ErrNotExist)
	_, err = b.(toolresult.RangeReader).ReadRange(t.Context(), &toolresult.RangeRequest{FilePath: "/r", Length: 1})
	require.ErrorIs(t, err, fs.ErrNotExist)
	_, err = b.(toolresult.LineFinder).FindLine(t.Context(), &toolresult.LineRequest{FilePath: "/r", Line: 1})
	require.ErrorIs(t, err, fs.ErrNotExist)
	require.ErrorIs(t, writeNew("/r", "ours"), fs.ErrExist, "now it is there")
	require.NoError(t, writeNew("/same", "theirs"))
	require.NoError(t, b.Close(t.Context()), "the same content is as good as ours")
	require.Equal(t, "theirs", dirRead(t, b, "/same"))
}

// slowDir holds writes back, and has all that a directory has.
type slowDir struct {
	*toolresult.DirBackend
	gate chan struct{}
}

func (s slowDir) WriteNew(ctx context.Context, req *toolresult.WriteRequest) error {
	<-s.gate
	return s.DirBackend.WriteNew(ctx, req)
}

func TestAsyncPartsOfQueuedResult(t *testing.T) {
	gate := make(chan struct{})
	b := newAsync(t, toolresult.AsyncConfig{Backend: slowDir{openDir(t, t.TempDir()), gate}})
	ctx := t.Context()
	exclusive := b.(toolresult.ExclusiveWriter)
	text := "one\ntwo\nthree"
	require.NoError(t, exclusive.WriteNew(ctx, &toolresult.WriteRequest{FilePath: "/r", Content: text}))
	require.ErrorIs(t, exclusive.WriteNew(ctx, &toolresult.WriteRequest{FilePath: "/r", Content: text}), fs.ErrExist, "what is queued has the path")
	upload, err := b.(toolresult.Creator).Create(ctx, &toolresult.CreateRequest{FilePath: "/r"})
	require.NoError(t, err)
	_, err = io.WriteString(upload, "stream")
	require.NoError(t, err)
	require.ErrorIs(t, upload.Commit(), fs.ErrExist, "also against uploads")
	for stored := range 2 {
		file, err := b.(toolresult.Stater).Stat(ctx, &toolresult.StatRequest{FilePath: "r"})
		require.NoError(t, err)
		assert.Equal(t, "/r", file.FilePath)
		assert.EqualValues(t, len(text), file.Size)
		assert.EqualValues(t, 3, file.Lines)
		part, err := b.(toolresult.RangeReader).ReadRange(ctx, &toolresult.RangeRequest{FilePath: "/r", Offset: 4, Length: 3})
		require.NoError(t, err)
		assert.Equal(t, "two", part)
		_, err = b.(toolresult.RangeReader).ReadRange(ctx, &toolresult.RangeRequest{FilePath: "/r", Offset: -1, Length: 3})
		assert.ErrorIs(t, err, fs.ErrInvalid)
		part, err = b.(toolresult.RangeReader).ReadRange(ctx, &toolresult.RangeRequest{FilePath: "/r", Offset: 99, Length: 3})
		require.NoError(t, err)
		assert.Empty(t, part)
		at, err := b.(toolresult.LineFinder).FindLine(ctx, &toolresult.LineRequest{FilePath: "/r", Line: 3})
		require.NoError(t, err)
		assert.EqualValues(t, 8, at)
		if stored == 0 {
			gate <- struct{}{}
			require.NoError(t, b.Flush(ctx))
		}
	}
	require.NoError(t, b.Close(ctx))
}

// rangesOnly has no index of lines.
type rangesOnly struct {
	toolresult.Backend
	toolresult.Reader
	toolresult.RangeReader
	toolresult.Stater
}

func TestAsyncFindsLinesWithoutIndex(t *testing.T) {
	dir := openDir(t, t.TempDir())
	b := newAsync(t, toolresult.AsyncConfig{Backend: rangesOnly{dir, dir, dir, dir}})
	dirWrite(t, dir, "/r", strings.Repeat("0123456789abcde\n", 200_000))
	for _, line := range []int64{-1, 1, 2, 70_000, 200_000, 200_001, 300_000} {
		at, err := b.(toolresult.LineFinder).FindLine(t.Context(), &toolresult.LineRequest{FilePath: "/r", Line: line})
		require.NoError(t, err)
		require.Equal(t, 16*(min(max(line, 1), 200_001)-1), at, "line %d", line)
	}
	_, exclusive := b.(toolresult.ExclusiveWriter)
	require.False(t, exclusive, "it cannot promise what the backend underneath cannot")
}

// A store that fails half the time loses nothing without saying so.
func TestAsyncStorm(t *testing.T) {
	const writers, writes = 8, 100
	store := &flaky{InMemoryBackend: filesystem.NewInMemoryBackend()}
	var mu sync.Mutex
	failed := map[string]bool{}
	b := newAsync(t, toolresult.AsyncConfig{
		Backend: store, QueueEntries: 5, QueueBytes: 1000,
		OnError: func(_ context.Context, req *toolresult.WriteRequest, _ error) {
			mu.Lock()
			defer mu.Unlock()
			failed[req.FilePath] = true
		},
	})
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for i := range writes {
				path := fmt.Sprintf("/%d/%d", w, i)
				assert.NoError(t, asyncWrite(b, path, strings.Repeat(path, i%50)))
				if got, err := asyncRead(b, path); err == nil {
					assert.Equal(t, strings.Repeat(path, i%50), got)
				} else {
					assert.ErrorIs(t, err, errAsync)
				}
			}
		})
	}
	wg.Wait()
	require.ErrorIs(t, b.Close(t.Context()), errAsync)
	lost := 0
	for w := range writers {
		for i := range writes {
			path := fmt.Sprintf("/%d/%d", w, i)
			_, err := asyncRead(b, path)
			if failed[path] {
				lost++
				assert.ErrorIs(t, err, errAsync, path)
			} else {
				assert.NoError(t, err, path)
			}
		}
	}
	assert.Equal(t, writers*writes/2, lost)
}

// flaky fails with every second write.
type flaky struct {
	*filesystem.InMemoryBackend
	mu sync.Mutex
	n  int
}

func (f *flaky) Write(ctx context.Context, req *toolresult.WriteRequest) error {
	f.mu.Lock()
	f.n++
	fails := f.n%2 == 0
	f.mu.Unlock()
	if fails {
		return errAsync
	}
	return f.InMemoryBackend.Write(ctx, req)
}

// The memory of lost writes is bounded too: the oldest are forgotten, and are then simply not there.
func TestAsyncForgetsOldFailures(t *testing.T) {
	b := newAsync(t, toolresult.AsyncConfig{Backend: failing{filesystem.NewInMemoryBackend()}})
	const writes, remembered = 5000, 4096
	for i := range writes {
		require.NoError(t, asyncWrite(b, fmt.Sprint("/", i), "x"))
	}
	require.ErrorContains(t, b.Close(t.Context()), "toolresult: 5000 queued writes have failed")
	known := 0
	for i := range writes {
		_, err := asyncRead(b, fmt.Sprint("/", i))
		require.Error(t, err)
		if errors.Is(err, errAsync) {
			known++
		}
	}
	require.Equal(t, remembered, known)
}

type failing struct{ *filesystem.InMemoryBackend }

func (failing) Write(context.Context, *toolresult.WriteRequest) error { return errAsync }
