package toolresult

// Where the lines of a stored file begin, sparsely: how many newlines there are up to the end of each block. A line is
// then found by a binary search and a look into one block. 200 MB take 25 KB of it.

import (
	"bytes"
	"container/list"
	"io/fs"
	"os"
	"slices"
	"strings"
	"sync"
)

const (
	// dirBlock is the distance of two entries, in bytes of the file. Smaller blocks would make a page hardly cheaper, as a
	// read of 64 KiB costs little more than the call itself, and the index larger.
	dirBlock = 64 << 10
	// dirIndexCost is what an entry takes beside its index: the description of the file, the list and the map.
	dirIndexCost = 600
)

// dirIndex covers the first size bytes of a file, not always all of it. Once in the cache it is never changed.
type dirIndex struct {
	size     int64
	newlines int64
	blocks   []int64 // newlines up to the end of each whole block
	open     bool    // the last byte is not a newline
}

// indexText takes the next bytes of the file into the index, in pieces of any size: a whole result, what a stream brings, or
// a block that is read again. It is the only look at the text that a write takes.
func indexText[T string | []byte](x *dirIndex, text T) {
	for len(text) > 0 {
		n := min(len(text), int(dirBlock-x.size%dirBlock))
		x.newlines += int64(countNewlines(text[:n]))
		x.open = text[n-1] != '\n'
		x.size += int64(n)
		if x.size%dirBlock == 0 {
			x.blocks = append(x.blocks, x.newlines)
		}
		text = text[n:]
	}
}

// countNewlines spares a copy of the text: strings and bytes have the same fast count, under two names.
func countNewlines[T string | []byte](text T) int {
	switch text := any(text).(type) {
	case string:
		return strings.Count(text, "\n")
	case []byte:
		return bytes.Count(text, []byte{'\n'})
	}
	return 0
}

// lines counts a last line without a newline too.
func (x *dirIndex) lines() int64 {
	if x.open {
		return x.newlines + 1
	}
	return x.newlines
}

// blockOf says which block has the nth newline, and how many newlines are before it. Behind the last whole block there is
// one more, which no entry stands for.
func (x *dirIndex) blockOf(n int64) (no, before int64) {
	i, _ := slices.BinarySearch(x.blocks, n)
	if i > 0 {
		before = x.blocks[i-1]
	}
	return int64(i), before
}

// clone lets an index grow although another reader has it in its hands.
func (x *dirIndex) clone() *dirIndex {
	c := *x
	c.blocks = slices.Clone(x.blocks)
	return &c
}

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
	index *dirIndex
}

func newDirIndexCache(limit int) *dirIndexCache {
	if limit == 0 {
		limit = dirIndexBytes
	}
	return &dirIndexCache{limit: limit, byKey: map[string]*list.Element{}}
}

// get gives an empty index where none is known for this state of the file. An old one is left for put to replace.
func (c *dirIndexCache) get(key string, info fs.FileInfo) *dirIndex {
	c.mu.Lock()
	defer c.mu.Unlock()
	element, ok := c.byKey[key]
	if !ok {
		return &dirIndex{}
	}
	entry := element.Value.(*dirIndexEntry)
	if !sameState(entry.info, info) {
		return &dirIndex{}
	}
	c.order.MoveToFront(element)
	return entry.index
}

func sameState(a, b fs.FileInfo) bool {
	return a.Size() == b.Size() && a.ModTime().Equal(b.ModTime()) && os.SameFile(a, b)
}

// put keeps an index that is not changed any more. One that is larger than all of the memory goes again at once.
func (c *dirIndexCache) put(key string, info fs.FileInfo, index *dirIndex) {
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
	return dirIndexCost + len(e.key) + 8*cap(e.index.blocks)
}
