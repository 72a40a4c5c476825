package toolresult

// Where the lines of a stored file begin: the indexes of the files used last. They are built while a file is written, or grow
// while it is read.

import (
	"container/list"
	"io/fs"
	"os"
	"sync"

	"github.com/eino-toolresult/toolresult/internal/lines"
)

// dirIndexCost is what an entry takes beside its index: the description of the file, the list and the map.
const dirIndexCost = 600

// dirIndexCache keeps the indexes of the files used last, each for one state of one file: the same identity, size and
// time. Another process may replace a file at any moment, so that what is remembered is believed only together with these
// three, and never for its path alone.
type dirIndexCache struct {
	mu    sync.Mutex
	limit int
	used  int
	byKey map[string]*list.Element
	order list.List // of *dirIndexEntry, the one used last in front
}

type dirIndexEntry struct {
	key   string
	info  fs.FileInfo
	index *lines.Index
}

func newDirIndexCache(limit int) *dirIndexCache {
	if limit == 0 {
		limit = dirIndexBytes
	}
	return &dirIndexCache{limit: limit, byKey: map[string]*list.Element{}}
}

// get gives an empty index where none is known for this state of the file. An old one is left for put to replace.
func (c *dirIndexCache) get(key string, info fs.FileInfo) *lines.Index {
	c.mu.Lock()
	defer c.mu.Unlock()
	element, ok := c.byKey[key]
	if !ok {
		return &lines.Index{}
	}
	entry := element.Value.(*dirIndexEntry)
	if !sameState(entry.info, info) {
		return &lines.Index{}
	}
	c.order.MoveToFront(element)
	return entry.index
}

func sameState(a, b fs.FileInfo) bool {
	return a.Size() == b.Size() && a.ModTime().Equal(b.ModTime()) && os.SameFile(a, b)
}

// put keeps an index that is not changed any more. One that is larger than all of the memory goes again at once.
func (c *dirIndexCache) put(key string, info fs.FileInfo, index *lines.Index) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.remove(c.byKey[key])
	entry := &dirIndexEntry{key: key, info: info, index: index}
	c.byKey[key] = c.order.PushFront(entry)
	c.used += entry.cost()
	for c.used > c.limit {
		c.remove(c.order.Back())
	}
}

// drop forgets a file that was deleted.
func (c *dirIndexCache) drop(key string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.remove(c.byKey[key])
}

// remove takes nil for nothing to remove. The caller holds mu.
func (c *dirIndexCache) remove(element *list.Element) {
	if element == nil {
		return
	}
	entry := c.order.Remove(element).(*dirIndexEntry)
	delete(c.byKey, entry.key)
	c.used -= entry.cost()
}

// cost is in bytes, and not exact.
func (e *dirIndexEntry) cost() int {
	return dirIndexCost + len(e.key) + e.index.Bytes()
}
