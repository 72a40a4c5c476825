package tiktoken

import (
	"hash/maphash"
	"sync"
)

// counts remembers the counts of texts by a hash of 64 bits and the length, and not the texts. Before a model call nearly all
// texts of a conversation are those of the call before, and hashing is a thousand times faster than tokenizing.
//
// It holds two generations. When the young one is full it becomes the old one; what is asked for again moves over. So the
// memory is bounded, and what is in use stays, without a list of uses.
type counts struct {
	seed maphash.Seed
	size int // of a generation

	mu         sync.Mutex
	young, old map[textKey]int
}

type textKey struct {
	hash  uint64
	bytes int
}

func newCounts(size int) *counts {
	return &counts{seed: maphash.MakeSeed(), size: size, young: make(map[textKey]int)}
}

// of returns the count of text, from count where it is not known. Two goroutines may count the same text at once: waiting
// for one another would cost more. A nil receiver knows nothing and learns nothing.
func (c *counts) of(text string, count func() int) int {
	if c == nil {
		return count()
	}
	key := textKey{maphash.String(c.seed, text), len(text)}
	if n, ok := c.get(key); ok {
		return n
	}
	n := count()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.put(key, n)
	return n
}

func (c *counts) get(key textKey) (int, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n, ok := c.young[key]
	if ok {
		return n, true
	}
	if n, ok = c.old[key]; ok {
		c.put(key, n)
	}
	return n, ok
}

// put needs the lock.
func (c *counts) put(key textKey, n int) {
	if len(c.young) >= c.size {
		c.old, c.young = c.young, make(map[textKey]int, c.size)
	}
	c.young[key] = n
}
