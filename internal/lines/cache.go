package lines

import (
	"container/list"
	"sync"
)

// entryBytes is what an entry takes beside its key and its index: a description of the text, the list and the map.
const entryBytes = 600

// Cache keeps the indexes of the texts used last, within a bound of bytes. With each it keeps the state of the text that the
// index is of, by which the caller tells whether it is still good. It is safe for concurrent use.
type Cache[S any] struct {
	mu    sync.Mutex
	limit int
	used  int
	byKey map[string]*list.Element
	order list.List // of *entry[S], the one used last in front
}

type entry[S any] struct {
	key   string
	index *Index
	state S
}

// NewCache makes a cache of about so many bytes.
func NewCache[S any](limit int) *Cache[S] {
	return &Cache[S]{limit: limit, byKey: map[string]*list.Element{}}
}

// Get gives nil where nothing is known. What it gives is shared, so it must not be changed.
func (c *Cache[S]) Get(key string) (index *Index, state S) {
	c.mu.Lock()
	defer c.mu.Unlock()
	element, ok := c.byKey[key]
	if !ok {
		return nil, state
	}
	c.order.MoveToFront(element)
	e := element.Value.(*entry[S])
	return e.index, e.state
}

// Put keeps an index that is not changed any more, in place of an older one. One that is larger than all of the memory goes
// again at once.
func (c *Cache[S]) Put(key string, index *Index, state S) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.remove(c.byKey[key])
	e := &entry[S]{key, index, state}
	c.byKey[key] = c.order.PushFront(e)
	c.used += e.cost()
	for c.used > c.limit {
		c.remove(c.order.Back())
	}
}

// Drop forgets an index.
func (c *Cache[S]) Drop(key string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.remove(c.byKey[key])
}

// remove takes nil for nothing to remove. The caller holds mu.
func (c *Cache[S]) remove(element *list.Element) {
	if element == nil {
		return
	}
	e := c.order.Remove(element).(*entry[S])
	delete(c.byKey, e.key)
	c.used -= e.cost()
}

// cost is in bytes, and not exact.
func (e *entry[S]) cost() int { return entryBytes + len(e.key) + e.index.Bytes() }
