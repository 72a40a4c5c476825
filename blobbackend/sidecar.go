package blobbackend

// Line indexes beside their results. The metadata of an object must be complete before its first byte, so the index of a stream
// cannot be in it. It is a convenience: where it is missing or wrong the result itself is read.

import (
	"context"
	"crypto/rand"

	"gocloud.dev/blob"

	"github.com/eino-toolresult/toolresult/internal/lines"
)

const linesType = "application/vnd.toolresult.lines"

// indexCache is by ID. A result of one ID never changes, so no index in it goes out of date, and no state is kept with one.
type indexCache = lines.Cache[struct{}]

// putLines stores an index. Its error is no error of the result, which is safe and only slower to read.
func (b *Backend) putLines(ctx context.Context, id string, index *lines.Index) {
	b.indexes.Put(id, index, struct{}{})
	_ = b.put(ctx, b.layout.Lines(id), index.Encode(id), rand.Text(), false, &blob.WriterOptions{ContentType: linesType})
}

// index gives what is known of the lines of a result: from memory, from the store, or nothing.
func (b *Backend) index(ctx context.Context, o *object) *lines.Index {
	if known, _ := b.indexes.Get(o.id); known != nil {
		return known
	}
	index := &lines.Index{}
	if o.isNote() {
		if stored, err := b.loadLines(ctx, o); err == nil {
			index = stored
			b.indexes.Put(o.id, index, struct{}{})
		}
	}
	return index
}

func (b *Backend) loadLines(ctx context.Context, o *object) (*lines.Index, error) {
	r, err := b.newReader(ctx, b.layout.Lines(o.id), 0, -1)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	if r.object.Size() > maxLinesBytes(o.size) {
		return nil, lines.ErrBad
	}
	encoded, err := r.text(r.object.Size())
	if err != nil {
		return nil, err
	}
	return lines.Decode(encoded, o.id, o.size)
}

// maxLinesBytes keeps something else under the name of an index from being loaded.
func maxLinesBytes(size int64) int64 { return 1024 + size/lines.BlockBytes*3 }
