package blobbackend

// A result that arrives bit by bit. Its beginning is kept, for most are small and then take one request. Once there is too
// much of it, it goes up under a random name, where it can wait for the name that it gets in the end.

import (
	"context"
	"crypto/rand"
	"errors"
	"io/fs"
	"strings"

	"gocloud.dev/blob"

	"github.com/eino-toolresult/toolresult"
	"github.com/eino-toolresult/toolresult/internal/lines"
)

// chunkBytes is how much is taken in between two looks at the context.
const chunkBytes = 256 << 10

// Create opens an upload. It makes no request yet, and holds up to 1 MiB; beyond that what PartBytes says.
//
// An upload is a toolresult.Renamer at any size: a large result under another name is one small request.
func (b *Backend) Create(ctx context.Context, req *toolresult.CreateRequest) (toolresult.Upload, error) {
	key, err := b.layout.Result(req.FilePath)
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return nil, pathError("create", req.FilePath, err)
	}
	return &upload{backend: b, ctx: ctx, virtual: req.FilePath, key: key}, nil
}

type upload struct {
	backend *Backend
	ctx     context.Context // of Create; ends what is being written, but not Commit
	virtual string
	key     string

	held     strings.Builder // while the result is small
	id       string          // once it is not
	data     *objectWriter   // until all of it is in the store
	index    lines.Index
	err      error // the first failed write
	complete bool  // no more is to come
	stored   bool  // all of a large result is in the store
	ended    bool
}

var _ toolresult.Renamer = (*upload)(nil)

// Write adds to the result. It fails once the context of Create has ended.
func (u *upload) Write(p []byte) (int, error) {
	n, err := putText(u, p, u.write)
	return n, pathError("write", u.virtual, err)
}

// WriteString is Write for a string.
func (u *upload) WriteString(s string) (int, error) {
	n, err := putText(u, s, u.writeString)
	return n, pathError("write", u.virtual, err)
}

func putText[T string | []byte](u *upload, text T, write func(T) (int, error)) (n int, err error) {
	if u.ended || u.complete {
		return 0, fs.ErrClosed
	}
	for err = u.err; n < len(text) && err == nil; {
		if err = u.ctx.Err(); err != nil {
			break
		}
		chunk := text[n:min(len(text), n+chunkBytes)]
		if err = u.makeRoom(len(chunk)); err != nil {
			break
		}
		var k int
		k, err = write(chunk)
		lines.Add(&u.index, chunk)
		n += k
	}
	u.err = err
	return n, err
}

func (u *upload) write(p []byte) (int, error) {
	if u.data == nil {
		return u.held.Write(p)
	}
	return u.data.out.Write(p)
}

func (u *upload) writeString(s string) (int, error) {
	if u.data == nil {
		return u.held.WriteString(s)
	}
	return u.data.out.WriteString(s)
}

// makeRoom begins to send what is held once it is too much.
func (u *upload) makeRoom(more int) error {
	if u.data != nil || u.held.Len()+more <= wholeBytes {
		return nil
	}
	u.id = rand.Text()
	base := context.WithoutCancel(u.ctx)
	data, err := u.backend.newWriter(base, u.backend.layout.Data(u.id), &blob.WriterOptions{
		ContentType: u.backend.cfg.ContentType,
		Metadata:    metadata(base, u.id),
	})
	if err != nil {
		return err
	}
	// Between writes the end of Create's context must leave the upload alone, because Commit has to work then.
	data.during = u.ctx
	u.data = data
	held := u.held.String()
	u.held.Reset()
	_, err = u.writeString(held)
	return err
}

// Commit makes the result visible, if nothing has its path. If something has, the upload stays open for CommitAs or Abort;
// any other error ends it.
func (u *upload) Commit() error {
	ctx := context.WithoutCancel(u.ctx)
	err := u.end(ctx, true)
	if err != nil && !u.ended && !errors.Is(err, fs.ErrExist) {
		err = firstOf(err, u.drop())
	}
	return pathError("commit", u.virtual, err)
}

// CommitAs is Commit under another path.
func (u *upload) CommitAs(virtual string) error {
	key, err := u.backend.layout.Result(virtual)
	if err != nil {
		return pathError("commit", virtual, err)
	}
	u.virtual, u.key = virtual, key
	return u.Commit()
}

// Abort forgets the result. Where it fails, or where some parts of the result are in the store already, these stay until
// package s3sweep or SweepLeftOvers comes for them.
func (u *upload) Abort() error {
	if u.ended {
		return pathError("abort", u.virtual, fs.ErrClosed)
	}
	return pathError("abort", u.virtual, u.drop())
}

func (u *upload) drop() error {
	u.ended = true
	u.held.Reset()
	if u.data != nil {
		u.data.abandon()
		u.data = nil
	}
	if !u.stored {
		return nil
	}
	return u.backend.dropData(context.WithoutCancel(u.ctx), u.id)
}

// end gives the result its name. Until that has worked the upload is open.
func (u *upload) end(ctx context.Context, exclusive bool) error {
	switch {
	case u.ended:
		return fs.ErrClosed
	case u.err != nil:
		return u.err
	}
	u.complete = true
	err := u.finish(ctx)
	if err == nil && u.stored {
		err = u.backend.putNote(ctx, u.key, u.id, &u.index, exclusive)
	} else if err == nil {
		err = u.backend.putResult(ctx, u.key, u.held.String(), exclusive)
	}
	if err == nil {
		u.ended = true
		u.held.Reset()
	}
	return err
}

// finish brings all of a large result into the store, with its index, before anything points to it.
func (u *upload) finish(ctx context.Context) error {
	if u.data == nil {
		return nil
	}
	data := u.data
	u.data = nil
	if err := data.finish(); err != nil {
		return err
	}
	u.stored = true
	u.backend.putLines(ctx, u.id, &u.index)
	return nil
}
