package toolresult_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
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
