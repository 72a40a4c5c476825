package zstdbackend

// The reading half, and what passes through to the backend underneath.

import (
	"context"
	"fmt"
	"io/fs"
	"iter"

	"github.com/eino-toolresult/toolresult"
)

// Read reads a result, or some lines of it.
func (b *plainBackend) Read(ctx context.Context, req *toolresult.ReadRequest) (*toolresult.FileContent, error) {
	content := &toolresult.FileContent{}
	err := b.files.with(ctx, req.FilePath, func(r *fileReader) (err error) {
		content.Content, err = r.pageOf(int64(max(req.Offset, 1)), int64(req.Limit))
		return err
	})
	if err != nil {
		return nil, err
	}
	return content, nil
}

// pageOf reads lines. A limit below 1 is none.
func (r *fileReader) pageOf(line, limit int64) (string, error) {
	start, found, err := r.behindNewline(line - 1)
	if err != nil || !found {
		return "", err
	}
	end := r.size()
	if limit > 0 && limit <= end { // there are no more lines than bytes
		next, found, err := r.behindNewline(line - 1 + limit)
		if err != nil {
			return "", err
		}
		if found {
			end = next - 1
		}
	}
	return r.text(start, end-start)
}

// pagingBackend is the RangeReader, Stater and LineFinder.
type pagingBackend struct{ files *files }

func newPagingBackend(plain *plainBackend) (*pagingBackend, bool) {
	return &pagingBackend{plain.files}, plain.files.ranges != nil
}

// ReadRange reads a range of bytes of the plain text.
func (b *pagingBackend) ReadRange(ctx context.Context, req *toolresult.RangeRequest) (text string, err error) {
	if req.Offset < 0 || req.Length < 0 {
		return "", &fs.PathError{Op: "read", Path: req.FilePath, Err: fmt.Errorf("%w: range of %d bytes at %d", fs.ErrInvalid, req.Length, req.Offset)}
	}
	err = b.files.with(ctx, req.FilePath, func(r *fileReader) (err error) {
		text, err = r.text(req.Offset, int64(req.Length))
		return err
	})
	return text, err
}

// FindLine finds the byte of the plain text at which a line begins.
func (b *pagingBackend) FindLine(ctx context.Context, req *toolresult.LineRequest) (offset int64, err error) {
	err = b.files.with(ctx, req.FilePath, func(r *fileReader) (err error) {
		offset, _, err = r.behindNewline(max(req.Line, 1) - 1)
		return err
	})
	return offset, err
}

// Stat describes the plain text.
func (b *pagingBackend) Stat(ctx context.Context, req *toolresult.StatRequest) (*toolresult.StoredFile, error) {
	var described toolresult.StoredFile
	err := b.files.with(ctx, req.FilePath, func(r *fileReader) error {
		described = r.stored
		if r.table != nil {
			described.Size, described.Lines = r.size(), r.lines
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return &described, nil
}

// keepingBackend is the Deleter and Lister, both of the backend underneath.
type keepingBackend struct {
	deleter toolresult.Deleter
	lister  toolresult.Lister
}

func newKeepingBackend(plain *plainBackend) (*keepingBackend, bool) {
	deleter, deletes := plain.store.(toolresult.Deleter)
	lister, lists := plain.store.(toolresult.Lister)
	return &keepingBackend{deleter, lister}, deletes && lists
}

// Delete deletes a result.
func (b *keepingBackend) Delete(ctx context.Context, req *toolresult.DeleteRequest) error {
	return b.deleter.Delete(ctx, req)
}

// List lists what is below a folder, with the sizes that files take in the store.
func (b *keepingBackend) List(ctx context.Context, req *toolresult.ListRequest) iter.Seq2[*toolresult.StoredFile, error] {
	return func(yield func(*toolresult.StoredFile, error) bool) {
		for file, err := range b.lister.List(ctx, req) {
			if file != nil {
				packed := *file
				packed.Lines = -1 // they were counted in the compressed form
				file = &packed
			}
			if !yield(file, err) {
				return
			}
		}
	}
}
