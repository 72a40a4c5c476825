package toolresult_test

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

// gated is an Eino backend that lets a write through when the test says so, with the error that the test chooses.
type gated struct {
	*filesystem.InMemoryBackend
	gate chan error
	mu   sync.Mutex
	seen []string
}

func newGated() *gated {
	return &gated{InMemoryBackend: filesystem.NewInMemoryBackend(), gate: make(chan error)}
}

func (g *gated) Write(ctx context.Context, req *toolresult.WriteRequest) error {
	g.mu.Lock()
	g.seen = append(g.seen, req.FilePath)
	g.mu.Unlock()
	if err := <-g.gate; err != nil {
		return err
	}
	return g.InMemoryBackend.Write(ctx, req)
}

func newAsync(t *testing.T, cfg toolresult.AsyncConfig) toolresult.AsyncBackend {
	t.Helper()
	b, err := toolresult.NewAsyncBackend(t.Context(), &cfg)
	require.NoError(t, err)
	return b
}

func asyncWrite(b toolresult.Backend, path, content string) error {
	return b.Write(context.Background(), &toolresult.WriteRequest{FilePath: path, Content: content})
}

func asyncRead(b toolresult.Reader, path string) (string, error) {
	got, err := b.Read(context.Background(), &toolresult.ReadRequest{FilePath: path})
	if err != nil {
		return "", err
	}
	return got.Content, nil
}

func TestAsyncConfig(t *testing.T) {
	good := filesystem.NewInMemoryBackend()
	for _, c := range []struct {
		cfg          *toolresult.AsyncConfig
		want, reason string
	}{
		{nil, "toolresult: AsyncConfig.Backend is <nil>; want a Backend that is also a Reader", "a backend is required"},
		{&toolresult.AsyncConfig{}, "toolresult: AsyncConfig.Backend is <nil>; want a Backend that is also a Reader", "a backend is required"},
		{&toolresult.AsyncConfig{Backend: noReader{}}, "toolresult: AsyncConfig.Backend is a toolresult_test.noReader; want a Backend that is also a Reader", "what is readable while it is queued must be so later"},
		{&toolresult.AsyncConfig{Backend: good, QueueBytes: -1}, "toolresult: AsyncConfig.QueueBytes is -1; want 0 (for the default) or more", "no negative bound"},
		{&toolresult.AsyncConfig{Backend: good, QueueEntries: -2}, "toolresult: AsyncConfig.QueueEntries is -2; want 0 (for the default) or more", "no negative bound"},
		{&toolresult.AsyncConfig{Backend: good, Workers: -3}, "toolresult: AsyncConfig.Workers is -3; want 0 (for the default) or more", "no negative bound"},
	} {
		_, err := toolresult.NewAsyncBackend(t.Context(), c.cfg)
		assert.EqualError(t, err, c.want, c.reason)
	}
}

type noReader struct{}

func (noReader) Write(context.Context, *toolresult.WriteRequest) error { return nil }

// Under synctest nothing sleeps in earnest, a deadlock fails the test, and so does a goroutine that is left.

func TestAsyncReadsItsOwnWrites(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newGated()
		b := newAsync(t, toolresult.AsyncConfig{Backend: store})
		req := &toolresult.WriteRequest{FilePath: "/r/1", Content: "one\ntwo\nthree\n"}
		require.NoError(t, b.Write(t.Context(), req))
		*req = toolresult.WriteRequest{}
		synctest.Wait()
		_, err := asyncRead(store, "/r/1")
		require.Error(t, err, "it is not stored yet")
		for _, c := range []struct {
			offset, limit int
			want          string
		}{{0, 0, "one\ntwo\nthree\n"}, {2, 1, "two"}, {2, 9, "two\nthree\n"}, {4, 1, ""}, {9, 1, ""}, {9, 0, ""}} {
			for _, path := range []string{"/r/1", "r//1"} {
				got, err := b.Read(t.Context(), &toolresult.ReadRequest{FilePath: path, Offset: c.offset, Limit: c.limit})
				require.NoError(t, err)
				require.Equal(t, c.want, got.Content, "lines %d, %d", c.offset, c.limit)
			}
		}
		store.gate <- nil
		require.NoError(t, b.Close(t.Context()))
		got, err := asyncRead(store, "/r/1")
		require.NoError(t, err)
		require.Equal(t, "one\ntwo\nthree\n", got, "it is stored now, whatever became of the request")
		got, err = asyncRead(b, "/r/1")
		require.NoError(t, err, "reads go on after Close")
		require.Equal(t, "one\ntwo\nthree\n", got)
	})
}

func TestAsyncIsBounded(t *testing.T) {
	for _, c := range []struct {
		cfg    toolresult.AsyncConfig
		reason string
	}{
		{toolresult.AsyncConfig{QueueEntries: 2}, "two results, of any size"},
		{toolresult.AsyncConfig{QueueBytes: 20}, "20 bytes: two results of ten"},
		{toolresult.AsyncConfig{QueueBytes: 29}, "29 bytes: still two"},
	} {
		synctest.Test(t, func(t *testing.T) {
			store := newGated()
			c.cfg.Backend = store
			b := newAsync(t, c.cfg)
			require.NoError(t, asyncWrite(b, "/1", "0123456789"))
			require.NoError(t, asyncWrite(b, "/2", "0123456789"))
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			err := b.Write(ctx, &toolresult.WriteRequest{FilePath: "/3", Content: "0123456789"})
			require.ErrorIs(t, err, context.DeadlineExceeded, "the caller waits, as long as he wants: %s", c.reason)
			_, err = asyncRead(b, "/3")
			require.Error(t, err, "what was refused is not there: %s", c.reason)
			third := make(chan error)
			go func() { third <- asyncWrite(b, "/3", "0123456789") }()
			store.gate <- nil
			require.NoError(t, <-third, "one has gone, one may come: %s", c.reason)
			store.gate <- nil
			store.gate <- nil
			require.NoError(t, b.Close(t.Context()))
		})
	}
}

// A result larger than the queue waits until it is alone. Small ones that come later do not overtake it for ever.
func TestAsyncLargeResult(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newGated()
		b := newAsync(t, toolresult.AsyncConfig{Backend: store, QueueBytes: 10, Workers: 1})
		require.NoError(t, asyncWrite(b, "/small1", "12345"))
		var wg sync.WaitGroup
		for _, late := range []struct{ path, content string }{{"/large", strings.Repeat("x", 100)}, {"/small2", "12345"}} {
			wg.Go(func() { assert.NoError(t, asyncWrite(b, late.path, late.content)) })
			synctest.Wait()
		}
		for range 3 {
			store.gate <- nil
			synctest.Wait()
		}
		wg.Wait()
		require.NoError(t, b.Close(t.Context()))
		require.Equal(t, []string{"/small1", "/large", "/small2"}, store.seen)
	})
}

func TestAsyncKeepsOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newGated()
		b := newAsync(t, toolresult.AsyncConfig{Backend: store})
		require.NoError(t, asyncWrite(b, "/r", "old"))
		var wg sync.WaitGroup
		wg.Go(func() { assert.NoError(t, asyncWrite(b, "r/", "new")) })
		synctest.Wait()
		got, err := asyncRead(b, "/r")
		require.NoError(t, err)
		require.Equal(t, "old", got, "the second write has not returned")
		store.gate <- nil
		wg.Wait()
		got, err = asyncRead(b, "/r")
		require.NoError(t, err)
		require.Equal(t, "new", got)
		store.gate <- nil
		require.NoError(t, b.Close(t.Context()))
		got, err = asyncRead(store, "/r")
		require.NoError(t, err)
		require.Equal(t, "new", got, "no write overtakes another to the same path")
	})
}

var errAsync = errors.New("the disk is gone")

func TestAsyncFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		type failure struct {
			req toolresult.WriteRequest
			err error
		}
		failures := make(chan failure, 10)
		store := newGated()
		b := newAsync(t, toolresult.AsyncConfig{Backend: store, OnError: func(ctx context.Context, req *toolresult.WriteRequest, err error) {
			assert.Equal(t, "value", ctx.Value(failure{}), "the context is the writer's")
			assert.NoError(t, ctx.Err(), "without its end")
			failures <- failure{*req, err}
		}})
		ctx, cancel := context.WithCancel(context.WithValue(t.Context(), failure{}, "value"))
		require.NoError(t, b.Write(ctx, &toolresult.WriteRequest{FilePath: "/r/1", Content: "text"}))
		cancel()
		store.gate <- errAsync
		err := b.Flush(t.Context())
		require.EqualError(t, err, "toolresult: 1 queued writes have failed, the first: the disk is gone")
		require.ErrorIs(t, err, errAsync)
		require.NoError(t, b.Flush(t.Context()), "a failure is reported once by Flush")
		got := <-failures
		require.Equal(t, toolresult.WriteRequest{FilePath: "/r/1", Content: "text"}, got.req, "the callback has what it needs to save it elsewhere")
		require.ErrorIs(t, got.err, errAsync)
		_, err = asyncRead(b, "/r/1")
		require.EqualError(t, err, "read /r/1: file does not exist: its write has failed: the disk is gone")
		require.ErrorIs(t, err, fs.ErrNotExist)
		require.ErrorIs(t, err, errAsync)
		require.NoError(t, asyncWrite(b, "/r/1", "again"))
		store.gate <- nil
		require.NoError(t, b.Close(t.Context()))
		text, err := asyncRead(b, "/r/1")
		require.NoError(t, err, "a later write makes it good")
		require.Equal(t, "again", text)
	})
}

func TestAsyncPanic(t *testing.T) {
	store := &panicking{InMemoryBackend: filesystem.NewInMemoryBackend()}
	b := newAsync(t, toolresult.AsyncConfig{Backend: store})
	require.NoError(t, asyncWrite(b, "/r", "text"))
	require.ErrorContains(t, b.Close(t.Context()), "panic in Write: no disk")
	_, err := asyncRead(b, "/r")
	require.ErrorIs(t, err, fs.ErrNotExist)
}

type panicking struct{ *filesystem.InMemoryBackend }

func (*panicking) Write(context.Context, *toolresult.WriteRequest) error { panic("no disk") }

// TestAsyncCancelled tries often, as it is a matter of luck which of two channels that are ready a select takes.
func TestAsyncCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	b := newAsync(t, toolresult.AsyncConfig{Backend: openDir(t, t.TempDir())})
	for i := range 30 {
		req := &toolresult.WriteRequest{FilePath: fmt.Sprint("/", i)}
		require.ErrorIs(t, b.Write(ctx, req), context.Canceled, "there is room, but nobody waits for the answer any more")
		require.ErrorIs(t, b.(toolresult.ExclusiveWriter).WriteNew(ctx, req), context.Canceled, "likewise")
		_, err := asyncRead(b, req.FilePath)
		require.ErrorIs(t, err, fs.ErrNotExist, "and nothing was queued")
	}
}

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
