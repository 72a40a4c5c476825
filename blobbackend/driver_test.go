package blobbackend_test

// What a driver gets to see. Each of these cost somebody an afternoon.

import (
	"context"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gocloud.dev/blob"
	"gocloud.dev/blob/driver"
	"gocloud.dev/gcerrors"

	"github.com/eino-toolresult/toolresult"
	"github.com/eino-toolresult/toolresult/blobbackend"
)

// watched is a store that takes everything and notes how it came.
type watched struct {
	driver.Bucket // nil: what is not below is not used

	mu      sync.Mutex
	objects []*watchedObject
}

type watchedObject struct {
	key, contentType string
	opts             driver.WriterOptions
	ctx              context.Context
	pieces           []int
	cancelled        bool // at Close
}

func (w *watched) ListPaged(context.Context, *driver.ListOptions) (*driver.ListPage, error) {
	return &driver.ListPage{}, nil
}
func (w *watched) ErrorCode(error) gcerrors.ErrorCode { return gcerrors.NotFound }
func (w *watched) Attributes(context.Context, string) (*driver.Attributes, error) {
	return nil, assert.AnError
}
func (w *watched) Close() error { return nil }

func (w *watched) NewTypedWriter(ctx context.Context, key, contentType string, opts *driver.WriterOptions) (driver.Writer, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	o := &watchedObject{key: key, contentType: contentType, opts: *opts, ctx: ctx}
	w.objects = append(w.objects, o)
	return o, nil
}

func (o *watchedObject) Write(p []byte) (int, error) {
	o.pieces = append(o.pieces, len(p))
	return len(p), nil
}

func (o *watchedObject) Close() error {
	o.cancelled = o.ctx.Err() != nil
	return o.ctx.Err()
}

func newWatched(t *testing.T, cfg blobbackend.Config) (*watched, *blobbackend.Backend) {
	store := &watched{}
	cfg.Bucket = blob.NewBucket(store)
	t.Cleanup(func() { cfg.Bucket.Close() })
	return store, configured(t, &cfg)
}

func TestLargeStreamReachesDriverInLargePieces(t *testing.T) {
	store, b := newWatched(t, blobbackend.Config{})
	u, err := b.Create(t.Context(), &toolresult.CreateRequest{FilePath: "/a"})
	require.NoError(t, err)
	line := strings.Repeat("x", 99) + "\n"
	for range 40_000 {
		_, err := u.WriteString(line)
		require.NoError(t, err)
	}
	require.NoError(t, u.Commit())

	require.Len(t, store.objects, 3)
	data, index, note := store.objects[0], store.objects[1], store.objects[2]
	for _, piece := range data.pieces[:len(data.pieces)-1] {
		assert.GreaterOrEqual(t, piece, 64<<10, "a driver's pipe is slow with small pieces")
	}
	assert.Equal(t, 5<<20, data.opts.BufferSize, "the drivers' own parts take more memory")
	assert.Equal(t, 4, data.opts.MaxConcurrency, "likewise")
	assert.Equal(t, "text/plain; charset=utf-8", data.contentType, "a driver that must guess holds back the first bytes")
	assert.True(t, strings.HasPrefix(data.key, ".toolresult/data/"))
	assert.True(t, strings.HasPrefix(index.key, ".toolresult/lines/"))
	assert.Equal(t, "a.result", note.key, "the name comes last, when all is there")
	assert.False(t, data.opts.IfNotExist, "stores that can create a small object only if absent cannot always do it with parts")
	assert.True(t, note.opts.IfNotExist)
	assert.Equal(t, "4000000", note.opts.Metadata["toolresult-bytes"])
	assert.Equal(t, "40000", note.opts.Metadata["toolresult-lines"])
	assert.NotEmpty(t, note.opts.Metadata["toolresult-id"])
	for _, o := range store.objects {
		assert.False(t, o.cancelled, o.key)
	}
}

// TestAbortCancelsBeforeClose is the trap in which half of an object becomes visible: Close means that all has come.
func TestAbortCancelsBeforeClose(t *testing.T) {
	store, b := newWatched(t, blobbackend.Config{})
	u, err := b.Create(t.Context(), &toolresult.CreateRequest{FilePath: "/a"})
	require.NoError(t, err)
	_, err = u.WriteString(strings.Repeat("x", 3<<20))
	require.NoError(t, err)
	require.NoError(t, u.Abort())
	require.Len(t, store.objects, 1)
	assert.True(t, store.objects[0].cancelled)
}

func TestSmallResultIsOneRequest(t *testing.T) {
	store, b := newWatched(t, blobbackend.Config{ContentType: "application/json", PartBytes: 8 << 20, PartsAtOnce: 3})
	require.NoError(t, b.WriteNew(t.Context(), &toolresult.WriteRequest{FilePath: "/a", Content: strings.Repeat("x\n", 50_000)}))
	require.Len(t, store.objects, 1)
	o := store.objects[0]
	assert.True(t, o.opts.IfNotExist)
	assert.Equal(t, "application/json", o.contentType)
	assert.Equal(t, 8<<20, o.opts.BufferSize)
	assert.Equal(t, 3, o.opts.MaxConcurrency)
	assert.Equal(t, "100000", o.opts.Metadata["toolresult-bytes"])
	assert.Equal(t, "50000", o.opts.Metadata["toolresult-lines"])
}
