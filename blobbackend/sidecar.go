package blobbackend

// Line indexes beside their results. The metadata of an object must be complete before its first byte, so the index of a stream
// cannot be in it. It is a convenience: where it is missing or wrong the result itself is read.

import (
	"container/list"
	"context"
	"crypto/rand"
	"sync"

	"gocloud.dev/blob"

	"github.com/eino-toolresult/toolresult/internal/lines"
)

const (
	linesType = "application/vnd.toolresult.lines"
	// indexCost is what an entry of the cache takes beside its index.
	indexCost = 600
)

// putLines stores an index. Its error is no error of the result, which is safe and only slower to read.
func (b *Backend) putLines(ctx context.Context, id string, index *lines.Index) {
	b.indexes.put(id, index)
	_ = b.put(ctx, b.layout.Lines(id), index.Encode(id), rand.Text(), false, &blob.WriterOptions{ContentType: linesType})
}

// index gives what is known of the lines of a result: from memory, from the store, or nothing.
func (b *Backend) index(ctx context.Context, o *object) *lines.Index {
	if known := b.indexes.get(o.id); known != nil {
		return known
	}
	index := &lines.Index{}
	if o.isNote() {
		if stored, err := b.loadLines(ctx, o); err == nil {
			index = stored
			b.indexes.put(o.id, index)
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

// indexCache keeps the indexes of the results used last. A result of one ID never changes, so none goes out of date.
type indexCache struct {
	mu    sync.Mutex
	limit int
	used  int
	byID  map[string]*list.Element
	order list.List // of *indexEntry, the one used last in front
}

type indexEntry struct {
	id    string
	index *lines.Index
}

func (e *indexEntry) cost() int { return indexCost + e.index.Bytes() }

func newIndexCache(limit int) *indexCache {
	return &indexCache{limit: limit, byID: map[string]*list.Element{}}
}

// get gives nil where nothing is known.
func (c *indexCache) get(id string) *lines.Index {
	c.mu.Lock()
	defer c.mu.Unlock()
	element, ok := c.byID[id]
	if !ok {
		return nil
	}
	c.order.MoveToFront(element)
	return element.Value.(*indexEntry).index
}

func (c *indexCache) put(id string, index *lines.Index) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.remove(c.byID[id])
	entry := &indexEntry{id, index}
	c.byID[id] = c.order.PushFront(entry)
	c.used += entry.cost()
	for c.used > c.limit {
		c.remove(c.order.Back())
	}
}

func (c *indexCache) drop(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.remove(c.byID[id])
}

func (c *indexCache) remove(element *list.Element) {
	if element == nil {
		return
	}
	entry := c.order.Remove(element).(*indexEntry)
	delete(c.byID, entry.id)
	c.used -= entry.cost()
}
