package toolresult

// Writing in the background. Everything that a caller can be told at once is decided at once: whether there is room, and
// whether the path is taken. The rest, the write itself, is tried later, and its failure is reported later.

import (
	"context"
	"fmt"
)

const (
	asyncBytes   = 64 << 20
	asyncEntries = 256
	asyncWorkers = 4
	// asyncFailures bounds how many failed paths are remembered.
	asyncFailures = 4096
)

// AsyncConfig configures an AsyncBackend.
type AsyncConfig struct {
	// Backend is where results end up. It must be a Reader too. The AsyncBackend does not close it. Required.
	Backend Backend
	// QueueBytes bounds the content waiting or being written, in bytes. A caller waits until there is room; a result that
	// is larger than the queue waits until it has it for itself. 0 means 64 MiB; negative values are refused.
	QueueBytes int
	// QueueEntries bounds the number of results waiting or being written. 0 means 256; negative values are refused.
	QueueEntries int
	// Workers is how many results are written at the same time. 0 means 4; negative values are refused.
	Workers int
	// OnError is told of every write that has failed, with the path and the content: it is the last who has them, and may
	// store them elsewhere. It may run concurrently, and must not use the AsyncBackend. The context is the writer's, without
	// its end. Optional: Read, Flush and Close tell of failures too.
	OnError func(ctx context.Context, req *WriteRequest, err error)
}

// AsyncBackend writes in the background, so that no tool call waits for a slow store.
//
// Do not use it where a result must not be lost: what is queued dies with the process. The model has then been told a path
// under which there is nothing. Nor is it of use over a fast store: a DirBackend takes 100 KB in less than a millisecond. And
// it takes memory, of up to QueueBytes.
//
// Read gives what was written through the same AsyncBackend, whether it is stored yet or not; other readers of the store see it
// only later. After a failed write Read gives an error for which errors.Is(err, fs.ErrNotExist) holds, and which names the
// reason; the last 4096 such paths are remembered. A second Write to a path waits until the first has ended.
//
// Where the backend underneath is both an ExclusiveWriter and a Creator, so is this one. WriteNew then answers for all that
// came through this AsyncBackend, and for what is stored when it is called. Against another process that stores something
// under the same path in between nothing is overwritten either, but the one who loses learns it as of a failed write, and not
// from WriteNew. Uploads are not queued: they go through as they are, and Commit waits for the store. Where the backend
// underneath is a RangeReader and a Stater, so is this one, and a LineFinder. To list or delete call Flush, and use the backend
// underneath.
type AsyncBackend interface {
	Backend
	Reader
	// Flush waits until everything that was queued before is stored, or has failed. It returns an error for writes that have
	// failed since the last Flush, or the context's when that ends first.
	Flush(ctx context.Context) error
	// Close is Flush, and ends the AsyncBackend: later writes, and those still waiting for room, fail with fs.ErrClosed. Reads go
	// on. If the context ends first, the rest of the queue is written all the same, as long as the process lasts; Close may be
	// called again to wait for it.
	Close(ctx context.Context) error
}

// NewAsyncBackend wraps a backend. It starts no goroutine before there is something to write, and none outlasts the queue.
func NewAsyncBackend(_ context.Context, cfg *AsyncConfig) (AsyncBackend, error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}
	queue := newAsyncQueue(*cfg)
	writer, writes := newAsyncWriter(queue)
	pager, pages := newAsyncPager(queue)
	switch {
	case writes && pages:
		return asyncWhole{queue, writer, pager}, nil
	case writes:
		return asyncWriting{queue, writer}, nil
	case pages:
		return asyncPaging{queue, pager}, nil
	}
	return queue, nil
}

// What the backend underneath can do decides which of these there is.
type (
	asyncWhole struct {
		*asyncQueue
		*asyncWriter
		*asyncPager
	}
	asyncWriting struct {
		*asyncQueue
		*asyncWriter
	}
	asyncPaging struct {
		*asyncQueue
		*asyncPager
	}
)

func (c *AsyncConfig) check() error {
	if c == nil || c.Backend == nil {
		return badConfig("AsyncConfig.Backend", nil, "a Backend that is also a Reader")
	}
	if _, ok := c.Backend.(Reader); !ok {
		return badConfig("AsyncConfig.Backend", fmt.Sprintf("a %T", c.Backend), "a Backend that is also a Reader")
	}
	for _, number := range []struct {
		field string
		value int
	}{{"QueueBytes", c.QueueBytes}, {"QueueEntries", c.QueueEntries}, {"Workers", c.Workers}} {
		if number.value < 0 {
			return badConfig("AsyncConfig."+number.field, number.value, "0 (for the default) or more")
		}
	}
	return nil
}
