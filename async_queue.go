package toolresult

// The queue of an AsyncBackend. It holds at most one entry for a path, so that no write overtakes another to the same path,
// and a reader knows which text is the newest.

import (
	"context"
	"fmt"
	"io/fs"
	"sync"
	"time"
)

type asyncQueue struct {
	cfg    AsyncConfig
	reader Reader
	locks  pathLocks
	turn   chan struct{} // held by the caller who waits for room, lest small results overtake a large one for ever

	mu      sync.Mutex
	byPath  map[string]*asyncEntry // waiting or being written
	waiting []*asyncEntry
	bytes   int
	workers int
	closed  bool
	changed chan struct{} // closed, and replaced, when there is more room, and at Close
	lost    lostWrites
}

// asyncEntry is a result in the queue.
type asyncEntry struct {
	key    string
	ctx    context.Context
	req    WriteRequest
	write  func(ctx context.Context, req *WriteRequest) error
	room   int
	queued time.Time
	done   chan struct{} // closed when it is stored, or lost
}

// newAsyncQueue has its own copy of the config, with the defaults filled in.
func newAsyncQueue(cfg AsyncConfig) *asyncQueue {
	cfg.QueueBytes = orDefault(cfg.QueueBytes, asyncBytes)
	cfg.QueueEntries = orDefault(cfg.QueueEntries, asyncEntries)
	cfg.Workers = orDefault(cfg.Workers, asyncWorkers)
	return &asyncQueue{
		cfg:     cfg,
		reader:  cfg.Backend.(Reader),
		turn:    make(chan struct{}, 1),
		byPath:  map[string]*asyncEntry{},
		changed: make(chan struct{}),
	}
}

// Write queues a result.
func (q *asyncQueue) Write(ctx context.Context, req *WriteRequest) error {
	return asyncError("write", req.FilePath, q.replace(ctx, req))
}

// replace waits for an earlier write to the same path. Taking its place in the queue would be faster, but a reader of the
// store would then never see what it was told is stored.
func (q *asyncQueue) replace(ctx context.Context, req *WriteRequest) error {
	key := rooted(req.FilePath)
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := q.locks.lock(ctx, key); err != nil {
		return err
	}
	defer q.locks.unlock(key)
	if before := q.entry(key); before != nil {
		if err := before.wait(ctx); err != nil {
			return err
		}
	}
	return q.add(ctx, key, req, q.cfg.Backend.Write)
}

// Read reads what is queued, or else what is stored.
func (q *asyncQueue) Read(ctx context.Context, req *ReadRequest) (*FileContent, error) {
	if entry := q.entry(rooted(req.FilePath)); entry != nil {
		return &FileContent{Content: linesOf(entry.req.Content, req.Offset, req.Limit)}, nil
	}
	if err := q.stored(req.FilePath); err != nil {
		return nil, asyncError("read", req.FilePath, err)
	}
	return q.reader.Read(ctx, req)
}

// add waits for room, and queues an entry. The caller holds the lock of its path. The entry keeps the values of the context,
// which may say whose store it is, but not its end: the call is over long before the write is.
func (q *asyncQueue) add(ctx context.Context, key string, req *WriteRequest, write func(context.Context, *WriteRequest) error) error {
	entry := &asyncEntry{
		key: key, ctx: context.WithoutCancel(ctx), req: *req, write: write,
		room: min(len(req.Content), q.cfg.QueueBytes), queued: time.Now(), done: make(chan struct{}),
	}
	select {
	case q.turn <- struct{}{}:
		defer func() { <-q.turn }()
	case <-ctx.Done():
		return ctx.Err()
	}
	for {
		changed, err := q.tryAdd(entry)
		if err != nil || changed == nil {
			return err
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// tryAdd answers with what to wait for where there is no room.
func (q *asyncQueue) tryAdd(entry *asyncEntry) (changed <-chan struct{}, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case q.closed:
		return nil, fs.ErrClosed
	case len(q.byPath) >= q.cfg.QueueEntries || q.bytes+entry.room > q.cfg.QueueBytes:
		return q.changed, nil
	}
	q.byPath[entry.key] = entry
	q.waiting = append(q.waiting, entry)
	q.bytes += entry.room
	if q.workers < q.cfg.Workers {
		q.workers++
		go q.work()
	}
	return nil, nil
}

// work writes until there is nothing left to write. The callback comes before the entry is finished, so that it has run when
// Flush returns.
func (q *asyncQueue) work() {
	for {
		entry := q.next()
		if entry == nil {
			return
		}
		err := entry.run()
		if err != nil && q.cfg.OnError != nil {
			q.cfg.OnError(entry.ctx, &entry.req, err)
		}
		q.finish(entry, err)
	}
}

// next gives nil, and the worker up, in one step: otherwise an entry could come in between that nobody takes.
func (q *asyncQueue) next() *asyncEntry {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.waiting) == 0 {
		q.workers--
		return nil
	}
	entry := q.waiting[0]
	q.waiting[0] = nil // or the array would hold the text
	q.waiting = q.waiting[1:]
	return entry
}

// run makes an error of a panic: Eino does so for a tool, and here no caller is left to do it.
func (e *asyncEntry) run() (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic in Write: %v", r)
		}
	}()
	req := e.req // the backend may do with it what it wants
	return e.write(e.ctx, &req)
}

// finish is the last that is done for an entry. From here on readers look in the store.
func (q *asyncQueue) finish(entry *asyncEntry, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.byPath, entry.key)
	q.bytes -= entry.room
	q.lost.set(entry.key, err)
	close(entry.done)
	q.announce()
}

// announce wakes whoever waits for room. The caller holds mu.
func (q *asyncQueue) announce() {
	close(q.changed)
	q.changed = make(chan struct{})
}

func (q *asyncQueue) entry(key string) *asyncEntry {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.byPath[key]
}

// stored says whether to look for a path in the backend underneath: not if the last write to it is lost.
func (q *asyncQueue) stored(path string) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.lost.at(rooted(path))
}

// found forgets that a path was lost.
func (q *asyncQueue) found(key string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.lost.set(key, nil)
}

// wait does not say how the write has ended: that is for lostWrites to tell.
func (e *asyncEntry) wait(ctx context.Context) error {
	select {
	case <-e.done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Flush waits for all that is queued now.
func (q *asyncQueue) Flush(ctx context.Context) error {
	for _, entry := range q.entries() {
		if err := entry.wait(ctx); err != nil {
			return fmt.Errorf("toolresult: wait for queued writes: %w", err)
		}
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.lost.report()
}

// entries is what Flush waits for. What comes after the call is not in it, or a busy queue would never be flushed.
func (q *asyncQueue) entries() []*asyncEntry {
	q.mu.Lock()
	defer q.mu.Unlock()
	entries := make([]*asyncEntry, 0, len(q.byPath))
	for _, entry := range q.byPath {
		entries = append(entries, entry)
	}
	return entries
}

// Close refuses what is still waiting for room, and waits for the rest.
func (q *asyncQueue) Close(ctx context.Context) error {
	q.mu.Lock()
	q.closed = true
	q.announce()
	q.mu.Unlock()
	return q.Flush(ctx)
}

// asyncError names the path of an error of the queue itself. The errors of the backend underneath name it already.
func asyncError(op, path string, err error) error {
	if err == nil {
		return nil
	}
	return &fs.PathError{Op: op, Path: path, Err: err}
}
