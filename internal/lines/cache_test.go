package lines_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/eino-toolresult/toolresult/internal/lines"
)

// small is an index that takes nothing beside the fixed part of an entry, which is 601 bytes with a key of one.
func small() *lines.Index { return &lines.Index{} }

func large() *lines.Index {
	var x lines.Index
	lines.Add(&x, strings.Repeat("x", 100*block))
	return &x
}

func TestCache(t *testing.T) {
	for _, c := range []struct {
		limit  int
		do     func(*lines.Cache[int])
		left   string
		reason string
	}{
		{5000, func(c *lines.Cache[int]) {}, "a b c", "there is room"},
		{1803, func(c *lines.Cache[int]) {}, "a b c", "just so"},
		{1802, func(c *lines.Cache[int]) {}, "b c", "a byte is missing: the one used longest ago goes"},
		{1803, func(c *lines.Cache[int]) { c.Get("a"); c.Put("d", small(), 4) }, "a c d", "what is asked for counts as used"},
		{1803, func(c *lines.Cache[int]) { c.Put("a", small(), 4); c.Put("d", small(), 4) }, "a c d", "what is put again, too, and takes room once"},
		{1803, func(c *lines.Cache[int]) { c.Get("d"); c.Put("d", small(), 4) }, "b c d", "asking for what is not there changes nothing"},
		{1803, func(c *lines.Cache[int]) { c.Drop("b"); c.Put("d", small(), 4) }, "a c d", "what is dropped gives its room back"},
		{1803, func(c *lines.Cache[int]) { c.Drop("d"); c.Drop("d") }, "a b c", "dropping what is not there changes nothing"},
		{2603, func(c *lines.Cache[int]) { c.Put("d", large(), 4) }, "c d", "an index takes 8 bytes a block"},
		{1300, func(c *lines.Cache[int]) { c.Put("d", large(), 4) }, "", "larger than the memory: nothing stays, itself neither"},
		{1803, func(c *lines.Cache[int]) { c.Put("d"+strings.Repeat("d", 601), small(), 4) }, "c", "keys take room"},
		{1, func(c *lines.Cache[int]) {}, "", "no room at all"},
	} {
		cache := lines.NewCache[int](c.limit)
		for i, key := range []string{"a", "b", "c"} {
			cache.Put(key, small(), i)
		}
		c.do(cache)
		assert.Equal(t, c.left, held(cache), "%d bytes: %s", c.limit, c.reason)
	}
}

// held lists the keys of one letter in a cache.
func held(c *lines.Cache[int]) string {
	var keys []string
	for _, key := range []string{"a", "b", "c", "d"} {
		if index, _ := c.Get(key); index != nil {
			keys = append(keys, key)
		}
	}
	return strings.Join(keys, " ")
}

func TestCacheState(t *testing.T) {
	cache := lines.NewCache[string](5000)
	index, state := cache.Get("a")
	assert.Nil(t, index, "nothing is known yet")
	assert.Empty(t, state)

	first, second := small(), small()
	cache.Put("a", first, "old")
	cache.Put("b", small(), "other")
	index, state = cache.Get("a")
	assert.Same(t, first, index)
	assert.Equal(t, "old", state)

	cache.Put("a", second, "new")
	index, state = cache.Get("a")
	assert.Same(t, second, index, "the index of one state never comes with another")
	assert.Equal(t, "new", state)
}

func TestCacheInParallel(t *testing.T) {
	cache := lines.NewCache[int](3000)
	var all sync.WaitGroup
	for worker := range 4 {
		all.Go(func() {
			for i := range 200 {
				key := fmt.Sprint((worker + i) % 8)
				cache.Put(key, small(), i)
				cache.Get(key)
				cache.Drop(fmt.Sprint(i % 8))
			}
		})
	}
	all.Wait()
	for _, key := range []string{"a", "b", "c", "d"} {
		cache.Put(key, small(), 0)
	}
	assert.Equal(t, "a b c d", held(cache), "the room is counted right after all of it")
}
