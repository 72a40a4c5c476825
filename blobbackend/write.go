package blobbackend

// How a whole result gets into the bucket, and how one request decides who was first.

import (
	"context"
	"crypto/rand"
	"errors"
	"io/fs"
	"time"

	"gocloud.dev/blob"

	"github.com/eino-toolresult/toolresult"
	"github.com/eino-toolresult/toolresult/internal/lines"
)

const (
	// conflictTries is how often a create is tried that collides with another one; conflictPause is how long it waits first.
	conflictTries = 5
	conflictPause = 50 * time.Millisecond
)

// Write stores a result. Whatever has the path already is replaced at once. The bytes of a large result that is replaced stay
// until SweepLeftOvers.
func (b *Backend) Write(ctx context.Context, req *toolresult.WriteRequest) error {
	return pathError("write", req.FilePath, b.store(ctx, req, false))
}

// WriteNew stores a result if nothing has the path.
func (b *Backend) WriteNew(ctx context.Context, req *toolresult.WriteRequest) error {
	return pathError("write", req.FilePath, b.store(ctx, req, true))
}

func (b *Backend) store(ctx context.Context, req *toolresult.WriteRequest, exclusive bool) error {
	key, err := b.layout.Result(req.FilePath)
	if err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if len(req.Content) <= wholeBytes {
		return b.putResult(ctx, key, req.Content, exclusive)
	}
	if exclusive {
		// Only a short cut, which saves sending what would be thrown away: the decision falls when the note is put.
		if err := b.checkFree(ctx, key); err != nil {
			return err
		}
	}
	u := &upload{backend: b, ctx: ctx, virtual: req.FilePath, key: key}
	if _, err := putText(u, req.Content, u.writeString); err != nil {
		return firstOf(err, u.drop())
	}
	if err := u.end(ctx, exclusive); err != nil {
		return firstOf(err, u.drop())
	}
	return nil
}

func (b *Backend) checkFree(ctx context.Context, key string) error {
	_, err := b.look(ctx, key)
	if err == nil {
		return fs.ErrExist
	}
	return unlessGone(err)
}

// putResult stores a small result, or the rest of a stream that has turned out to be small.
func (b *Backend) putResult(ctx context.Context, key, text string, exclusive bool) error {
	var index lines.Index
	lines.Add(&index, text)
	id := rand.Text()
	return b.put(ctx, key, text, id, exclusive, &blob.WriterOptions{
		ContentType: b.cfg.ContentType,
		Metadata:    fullMetadata(ctx, id, index.Size(), index.Lines()),
	})
}

// put stores a small object in one request.
func (b *Backend) put(ctx context.Context, key, text, id string, exclusive bool, opts *blob.WriterOptions) error {
	opts.IfNotExist = exclusive
	err := b.putOnce(ctx, key, text, opts)
	for try := 1; isConflict(err) && try < conflictTries; try++ {
		select {
		case <-time.After(conflictPause << try):
			err = b.putOnce(ctx, key, text, opts)
		case <-ctx.Done():
			return firstOf(ctx.Err(), err)
		}
	}
	if !exclusive || !isTaken(err) {
		return err
	}
	// An answer may get lost behind a success. The SDK then tries again, and finds what it has itself created.
	if o, lookErr := b.look(ctx, key); lookErr == nil && o.id == id {
		return nil
	}
	return fs.ErrExist
}

func (b *Backend) putOnce(ctx context.Context, key, text string, opts *blob.WriterOptions) error {
	w, err := b.newWriter(ctx, key, opts)
	if err != nil {
		return err
	}
	if _, err := w.out.WriteString(text); err != nil {
		w.abandon()
		return err
	}
	return w.finish()
}

// putNote makes the name of a large result point to it.
func (b *Backend) putNote(ctx context.Context, key, id string, index *lines.Index, exclusive bool) error {
	meta := fullMetadata(ctx, id, index.Size(), index.Lines())
	meta[metaNote] = "1"
	return b.put(ctx, key, note, id, exclusive, &blob.WriterOptions{ContentType: noteType, Metadata: meta})
}

// dropData deletes a large result that nothing points to.
func (b *Backend) dropData(ctx context.Context, id string) error {
	err := unlessGone(b.delete(ctx, b.layout.Data(id)))
	return errors.Join(err, unlessGone(b.delete(ctx, b.layout.Lines(id))))
}

func (b *Backend) delete(ctx context.Context, key string) error {
	return b.ask(ctx, func(ctx context.Context) error { return b.bucket.Delete(ctx, key) })
}
