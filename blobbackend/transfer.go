package blobbackend

// Bytes on their way to the store and back.

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"gocloud.dev/blob"
)

// bufferBytes is how much goes through a driver's pipe at a time. In the small pieces of a stream of text a driver is three
// times slower.
const bufferBytes = 64 << 10

// objectWriter writes one object. It becomes visible in finish, if at all.
type objectWriter struct {
	backend *Backend
	wait    *wait
	object  *blob.Writer
	out     *bufio.Writer
	during  context.Context // ends a write that waits for the store, but not finish; may be nil
}

// newWriter opens an object. Its context must last until finish or abandon.
func (b *Backend) newWriter(ctx context.Context, key string, opts *blob.WriterOptions) (*objectWriter, error) {
	opts.BufferSize = b.cfg.PartBytes
	opts.MaxConcurrency = b.cfg.PartsAtOnce
	w := newWait(ctx, b.cfg.Timeout)
	object, err := b.bucket.NewWriter(w.ctx, key, opts)
	if isTaken(err) { // nothing was asked for yet: the bucket is closed
		err = fmt.Errorf("%w: %v", fs.ErrClosed, err)
	}
	if err != nil {
		err = b.storeError(w.explain(err))
		w.end()
		return nil, err
	}
	w.stop()
	o := &objectWriter{backend: b, wait: w, object: object}
	o.out = bufio.NewWriterSize(patientWriter{o}, bufferBytes)
	return o, nil
}

// patientWriter is what stands below the buffer, where a write may have to wait for the store.
type patientWriter struct{ *objectWriter }

func (o patientWriter) Write(p []byte) (int, error) {
	if during := o.during; during != nil {
		defer context.AfterFunc(during, func() { o.wait.cancel(context.Cause(during)) })()
	}
	o.wait.start()
	defer o.wait.stop()
	n, err := o.object.Write(p)
	return n, o.backend.storeError(o.wait.explain(err))
}

// finish completes the object.
func (o *objectWriter) finish() error {
	o.during = nil
	if err := o.out.Flush(); err != nil {
		o.abandon()
		return err
	}
	o.wait.start()
	err := o.backend.storeError(o.wait.explain(o.object.Close()))
	o.wait.end()
	return err
}

// abandon leaves nothing to be seen. The context must end before Close: to a driver, Close alone means that all has come, and
// half of an object would become visible. Close then fails, as it should. Parts that are in the store already stay there,
// because the driver's own request to drop them has the same context; package s3sweep drops them, or a rule of the bucket.
func (o *objectWriter) abandon() {
	o.wait.end()
	_ = o.object.Close()
}

// objectReader reads a range of one object.
type objectReader struct {
	backend *Backend
	wait    *wait
	object  *blob.Reader
}

// newReader opens a range, to the end of the object if length is negative.
func (b *Backend) newReader(ctx context.Context, key string, offset, length int64) (*objectReader, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	w := newWait(ctx, b.cfg.Timeout)
	object, err := b.bucket.NewRangeReader(w.ctx, key, offset, length, nil)
	if err != nil {
		err = b.storeError(w.explain(err))
		w.end()
		return nil, err
	}
	w.stop()
	return &objectReader{backend: b, wait: w, object: object}, nil
}

func (r *objectReader) Read(p []byte) (int, error) {
	r.wait.start()
	defer r.wait.stop()
	n, err := r.object.Read(p)
	if err != nil && err != io.EOF {
		err = r.backend.storeError(r.wait.explain(err))
	}
	return n, err
}

// Close gives no error: all that was asked for has been read, or its own error returned.
func (r *objectReader) Close() {
	r.wait.end()
	_ = r.object.Close()
}

// text reads exactly so many bytes, allocated once.
func (r *objectReader) text(length int64) (string, error) {
	buffer := r.backend.buffers.Get().(*[bufferBytes]byte)
	defer r.backend.buffers.Put(buffer)
	var text strings.Builder
	text.Grow(int(length))
	n, err := io.CopyBuffer(&text, r, buffer[:])
	if err == nil && n != length {
		err = r.backend.storeError(fmt.Errorf("%d bytes came of %d: %w", n, length, io.ErrUnexpectedEOF))
	}
	return text.String(), err
}

// fetch reads a range that lies within an object.
func (b *Backend) fetch(ctx context.Context, key string, offset, length int64) (string, error) {
	if length <= 0 {
		return "", nil
	}
	r, err := b.newReader(ctx, key, offset, length)
	if err != nil {
		return "", err
	}
	defer r.Close()
	return r.text(length)
}
