package blobbackend

// How a result comes back: whole, by lines or by bytes.

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"strings"

	"github.com/eino-toolresult/toolresult"
	"github.com/eino-toolresult/toolresult/internal/lines"
)

var errChanged = errors.New("changed while it was being read")

// Read reads a result, or some lines of it, as Eino's backends do: Limit lines from line Offset on, without the newline of the
// last one. All lines that there are, newline included, where there are no more than Limit; nothing where Offset is behind
// the end. All of a result is one request, some lines of it are two, and a large one takes one more for its index at first.
func (b *Backend) Read(ctx context.Context, req *toolresult.ReadRequest) (*toolresult.FileContent, error) {
	first, limit := int64(max(req.Offset, 1)), int64(req.Limit)
	if limit <= 0 {
		limit = math.MaxInt64
	}
	text, err := b.read(ctx, req.FilePath, first, limit)
	if err != nil {
		return nil, pathError("read", req.FilePath, err)
	}
	return &toolresult.FileContent{Content: text}, nil
}

func (b *Backend) read(ctx context.Context, virtual string, first, limit int64) (string, error) {
	if first == 1 && limit >= math.MaxInt32 {
		text, found, err := b.readSmall(ctx, virtual)
		if found || err != nil {
			return text, err
		}
	}
	o, err := b.find(ctx, virtual)
	if err != nil {
		return "", err
	}
	if first == 1 && limit >= math.MaxInt32 {
		return b.fetch(ctx, o.data, 0, o.size)
	}
	a, err := b.area(ctx, o, first-1, min(first-1, math.MaxInt64-limit)+limit)
	if err != nil {
		return "", err
	}
	return a.page(first-1, limit), nil
}

// readSmall reads a result in one request, or reports that it must be looked at first.
func (b *Backend) readSmall(ctx context.Context, virtual string) (text string, found bool, err error) {
	key, err := b.layout.Result(virtual)
	if err != nil {
		return "", false, err
	}
	r, err := b.newReader(ctx, key, 0, -1)
	if err != nil {
		return "", false, err
	}
	defer r.Close()
	if mayBeNote(r.object.Size()) {
		return "", false, nil
	}
	text, err = r.text(r.object.Size())
	return text, true, err
}

// ReadRange reads a range of bytes, in two requests.
func (b *Backend) ReadRange(ctx context.Context, req *toolresult.RangeRequest) (string, error) {
	if req.Offset < 0 || req.Length < 0 {
		return "", pathError("read", req.FilePath, fmt.Errorf("%w: range of %d bytes at %d", fs.ErrInvalid, req.Length, req.Offset))
	}
	o, err := b.find(ctx, req.FilePath)
	if err != nil {
		return "", pathError("read", req.FilePath, err)
	}
	text, err := b.fetch(ctx, o.data, req.Offset, min(int64(req.Length), o.size-req.Offset))
	return text, pathError("read", req.FilePath, err)
}

// FindLine finds the byte at which a line begins, in two requests, and one more at the first look into a large result. Without an
// index it reads the result up to there once.
func (b *Backend) FindLine(ctx context.Context, req *toolresult.LineRequest) (int64, error) {
	o, err := b.find(ctx, req.FilePath)
	if err != nil {
		return 0, pathError("read", req.FilePath, err)
	}
	if req.Line <= 1 {
		return 0, nil
	}
	a, err := b.area(ctx, o, req.Line-1, req.Line-1)
	if err != nil {
		return 0, pathError("read", req.FilePath, err)
	}
	behind, found := a.behindNewline(req.Line - 1)
	if !found {
		return o.size, nil
	}
	return a.offset + int64(behind), nil
}

// area is a part of a text that has two of its newlines.
type area struct {
	text   string
	offset int64 // in the whole text
	before int64 // newlines before it
}

// area reads the part in which the newlines from and to are, and what is between them, in one request.
func (b *Backend) area(ctx context.Context, o *object, from, to int64) (area, error) {
	if o.isSmall() {
		text, err := b.fetch(ctx, o.data, 0, o.size)
		return area{text: text}, err
	}
	index, err := b.indexTo(ctx, o, b.index(ctx, o), to)
	if err != nil {
		return area{}, err
	}
	a, err := b.cutArea(ctx, o, index, from, to)
	if !errors.Is(err, errChanged) {
		return a, err
	}
	// The index tells of another text than the store has. What it has counts.
	b.indexes.Drop(o.id)
	if index, err = b.indexTo(ctx, o, &lines.Index{}, to); err != nil {
		return area{}, err
	}
	return b.cutArea(ctx, o, index, from, to)
}

func (b *Backend) cutArea(ctx context.Context, o *object, index *lines.Index, from, to int64) (area, error) {
	first, last := index.BlockOf(from), index.BlockOf(to)
	a := area{offset: first * lines.BlockBytes, before: index.Before(first)}
	end := min((last+1)*lines.BlockBytes, index.Size())
	var err error
	a.text, err = b.fetch(ctx, o.data, a.offset, end-a.offset)
	if err == nil && int64(lines.Count(a.text)) != index.Before(last+1)-a.before {
		err = errChanged
	}
	return a, err
}

// behindNewline finds the byte of the area behind the nth newline of the text.
func (a *area) behindNewline(n int64) (at int, found bool) {
	for n -= a.before; n > 0; n-- {
		next := strings.IndexByte(a.text[at:], '\n')
		if next < 0 {
			return len(a.text), false
		}
		at += next + 1
	}
	return at, true
}

// page is the lines behind newline n, so many or to the end. It is copied where it would keep a much larger area in memory.
func (a *area) page(n, limit int64) string {
	start, _ := a.behindNewline(n)
	page := a.text[start:]
	end := 0
	for ; limit > 0; limit-- {
		next := strings.IndexByte(page[end:], '\n')
		if next < 0 {
			return page
		}
		end += next + 1
	}
	page = page[:end-1]
	if len(page) < len(a.text)/2 {
		page = strings.Clone(page)
	}
	return page
}

// indexTo gives an index that reaches to the nth newline at least. What it had to read it leaves to the next call.
func (b *Backend) indexTo(ctx context.Context, o *object, known *lines.Index, n int64) (*lines.Index, error) {
	if known.Newlines() >= n || known.Size() >= o.size {
		return known, nil
	}
	index := known.Clone()
	r, err := b.newReader(ctx, o.data, index.Size(), -1)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	buffer := b.buffers.Get().(*[bufferBytes]byte)
	defer b.buffers.Put(buffer)
	for index.Newlines() < n && index.Size() < o.size {
		read, err := io.ReadFull(r, buffer[:min(bufferBytes, o.size-index.Size())])
		if err != nil {
			return nil, err
		}
		lines.Add(index, buffer[:read])
	}
	b.indexes.Put(o.id, index, struct{}{})
	return index, nil
}
