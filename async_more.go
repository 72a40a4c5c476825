package toolresult

// What an AsyncBackend can do beyond Write and Read, where the backend underneath can: create only if absent, take uploads,
// and read parts of a result. Each of these asks the queue first.

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
)

// asyncWriter is the ExclusiveWriter and Creator of a queue.
type asyncWriter struct {
	queue     *asyncQueue
	exclusive ExclusiveWriter
	creator   Creator
	stater    Stater // nil where the backend is none
}

func newAsyncWriter(queue *asyncQueue) (*asyncWriter, bool) {
	exclusive, writesNew := queue.cfg.Backend.(ExclusiveWriter)
	creator, creates := queue.cfg.Backend.(Creator)
	stater, _ := queue.cfg.Backend.(Stater)
	return &asyncWriter{queue: queue, exclusive: exclusive, creator: creator, stater: stater}, writesNew && creates
}

// WriteNew queues a result if nothing is queued or stored under its path.
func (w *asyncWriter) WriteNew(ctx context.Context, req *WriteRequest) error {
	return asyncError("write", req.FilePath, w.writeNew(ctx, req))
}

func (w *asyncWriter) writeNew(ctx context.Context, req *WriteRequest) error {
	key := rooted(req.FilePath)
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := w.queue.locks.lock(ctx, key); err != nil {
		return err
	}
	defer w.queue.locks.unlock(key)
	if w.queue.entry(key) != nil {
		return fs.ErrExist
	}
	taken, err := w.isStored(ctx, req.FilePath)
	if err != nil {
		return err
	}
	if taken {
		return fs.ErrExist
	}
	return w.queue.add(ctx, key, req, w.writeLater)
}

// isStored asks the backend now, as nobody can be told later.
func (w *asyncWriter) isStored(ctx context.Context, path string) (bool, error) {
	var err error
	if w.stater != nil {
		_, err = w.stater.Stat(ctx, &StatRequest{FilePath: path})
	} else {
		_, err = w.queue.reader.Read(ctx, &ReadRequest{FilePath: path, Limit: 1})
	}
	switch {
	case err == nil:
		return true, nil
	case ctx.Err() != nil:
		return false, ctx.Err()
	case w.stater != nil && !errors.Is(err, fs.ErrNotExist):
		return false, err
	}
	return false, nil
}

// writeLater never overwrites what another process has stored meanwhile. The same content there is as good as ours.
func (w *asyncWriter) writeLater(ctx context.Context, req *WriteRequest) error {
	err := w.exclusive.WriteNew(ctx, req)
	if !errors.Is(err, fs.ErrExist) {
		return err
	}
	stored, readErr := w.queue.reader.Read(ctx, &ReadRequest{FilePath: req.FilePath})
	if readErr == nil && stored != nil && stored.Content == req.Content {
		return nil
	}
	return err
}

// Create opens an upload of the backend underneath.
func (w *asyncWriter) Create(ctx context.Context, req *CreateRequest) (Upload, error) {
	upload, err := w.creator.Create(ctx, req)
	if err != nil {
		return nil, err
	}
	renamer, renames := upload.(Renamer)
	beside := &asyncUpload{Upload: upload, renamer: renamer, queue: w.queue, path: req.FilePath}
	if renames {
		return asyncRenamer{beside}, nil
	}
	return beside, nil
}

// asyncUpload commits beside the queue.
type asyncUpload struct {
	Upload
	renamer Renamer // nil where the upload is none
	queue   *asyncQueue
	path    string
}

// Commit waits for others at the same path without an end, as its contract is to work without a context.
func (u *asyncUpload) Commit() error { return u.commit(u.path, u.Upload.Commit) }

func (u *asyncUpload) commit(path string, commit func() error) error {
	key := rooted(path)
	if err := u.queue.locks.lock(context.Background(), key); err != nil {
		return err
	}
	defer u.queue.locks.unlock(key)
	if u.queue.entry(key) != nil {
		return asyncError("commit", path, errors.Join(fs.ErrExist, u.giveUp()))
	}
	if err := commit(); err != nil {
		return err
	}
	u.queue.found(key)
	return nil
}

// giveUp ends what cannot have another name.
func (u *asyncUpload) giveUp() error {
	if u.renamer != nil {
		return nil
	}
	return u.Abort()
}

// asyncRenamer is an asyncUpload of a Renamer.
type asyncRenamer struct{ *asyncUpload }

// CommitAs is Commit under another path.
func (u asyncRenamer) CommitAs(path string) error {
	return u.commit(path, func() error { return u.renamer.CommitAs(path) })
}

// asyncPager is the RangeReader, Stater and LineFinder of a queue.
type asyncPager struct {
	queue  *asyncQueue
	ranges RangeReader
	stater Stater
	finder LineFinder // nil where the backend is none
}

func newAsyncPager(queue *asyncQueue) (*asyncPager, bool) {
	ranges, hasRanges := queue.cfg.Backend.(RangeReader)
	stater, hasStat := queue.cfg.Backend.(Stater)
	finder, _ := queue.cfg.Backend.(LineFinder)
	return &asyncPager{queue: queue, ranges: ranges, stater: stater, finder: finder}, hasRanges && hasStat
}

// find gives what is queued; where it gives nil, the answer is underneath.
func (p *asyncPager) find(op, path string) (*asyncEntry, error) {
	if entry := p.queue.entry(rooted(path)); entry != nil {
		return entry, nil
	}
	return nil, asyncError(op, path, p.queue.stored(path))
}

// ReadRange reads a range of bytes.
func (p *asyncPager) ReadRange(ctx context.Context, req *RangeRequest) (string, error) {
	entry, err := p.find("read", req.FilePath)
	switch {
	case err != nil:
		return "", err
	case entry == nil:
		return p.ranges.ReadRange(ctx, req)
	case req.Offset < 0 || req.Length < 0:
		return "", asyncError("read", req.FilePath, fmt.Errorf("%w: range of %d bytes at %d", fs.ErrInvalid, req.Length, req.Offset))
	}
	text := entry.req.Content
	text = text[min(req.Offset, int64(len(text))):]
	return strings.Clone(text[:min(req.Length, len(text))]), nil // a small range must not keep a large result in memory
}

// Stat describes a result. A queued one was stored when it was queued.
func (p *asyncPager) Stat(ctx context.Context, req *StatRequest) (*StoredFile, error) {
	entry, err := p.find("stat", req.FilePath)
	switch {
	case err != nil:
		return nil, err
	case entry == nil:
		return p.stater.Stat(ctx, req)
	}
	text := entry.req.Content
	return &StoredFile{FilePath: entry.key, Size: int64(len(text)), Lines: countLines(text), ModTime: entry.queued}, nil
}

// FindLine finds the byte at which a line begins. Where the backend underneath has no index it reads up to there.
func (p *asyncPager) FindLine(ctx context.Context, req *LineRequest) (int64, error) {
	entry, err := p.find("read", req.FilePath)
	switch {
	case err != nil:
		return 0, err
	case entry != nil:
		at, _ := skipLines(entry.req.Content, max(req.Line, 1)-1)
		return int64(at), nil
	case p.finder != nil:
		return p.finder.FindLine(ctx, req)
	}
	text, err := openRanged(ctx, p.ranges, p.stater, req.FilePath)
	if err != nil {
		return 0, err
	}
	return text.lineStart(ctx, max(req.Line, 1))
}

// linesOf is what a Read of a text gives.
func linesOf(text string, offset, limit int) string {
	start, missing := skipLines(text, int64(max(offset, 1))-1)
	if missing > 0 {
		return ""
	}
	if limit < 1 {
		return text[start:]
	}
	end, missing := skipLines(text[start:], int64(limit))
	if missing > 0 {
		return text[start:]
	}
	return text[start : start+end-1]
}
