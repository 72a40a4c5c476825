package toolresult

// How a result comes back: whole, by lines or by bytes. Lines are found through the index, so that a page from the
// middle of a large file costs as much as one from its beginning.

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"syscall"

	"github.com/eino-toolresult/toolresult/internal/lines"
)

var errDirChanged = errors.New("changed while it was being read")

// Read reads a result, or some lines of it, as Eino's backends do: Limit lines from line Offset on, without the newline
// of the last one. All lines that there are, newline included, where there are no more than Limit; nothing where Offset
// is behind the end.
func (b *DirBackend) Read(ctx context.Context, req *ReadRequest) (*FileContent, error) {
	file, err := b.openFile(ctx, req.FilePath)
	if err != nil {
		return nil, dirError("read", req.FilePath, err)
	}
	defer file.Close()
	text, err := file.pageOf(int64(max(req.Offset, 1)), int64(req.Limit))
	if err != nil {
		return nil, dirError("read", req.FilePath, err)
	}
	return &FileContent{Content: text}, nil
}

// ReadRange reads a range of bytes.
func (b *DirBackend) ReadRange(ctx context.Context, req *RangeRequest) (string, error) {
	if req.Offset < 0 || req.Length < 0 {
		return "", dirError("read", req.FilePath, fmt.Errorf("%w: range of %d bytes at %d", fs.ErrInvalid, req.Length, req.Offset))
	}
	file, err := b.openFile(ctx, req.FilePath)
	if err != nil {
		return "", dirError("read", req.FilePath, err)
	}
	defer file.Close()
	text, err := file.text(req.Offset, int64(req.Length))
	return text, dirError("read", req.FilePath, err)
}

// FindLine finds the byte at which a line begins. It reads the file up to there once; later calls read 64 KiB.
func (b *DirBackend) FindLine(ctx context.Context, req *LineRequest) (int64, error) {
	file, err := b.openFile(ctx, req.FilePath)
	if err != nil {
		return 0, dirError("read", req.FilePath, err)
	}
	defer file.Close()
	offset, _, err := file.behindNewline(max(req.Line, 1) - 1)
	return offset, dirError("read", req.FilePath, err)
}

// Stat describes a result. Lines is known of what this DirBackend has written, or has read to the end for FindLine.
func (b *DirBackend) Stat(ctx context.Context, req *StatRequest) (*StoredFile, error) {
	key, info, err := b.lookUp(req.FilePath)
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return nil, dirError("stat", req.FilePath, err)
	}
	return b.describe(key, info), nil
}

// describe adds what is known of the lines, which is all or nothing: an index that does not reach the end cannot say how
// many there are.
func (b *DirBackend) describe(key string, info fs.FileInfo) *StoredFile {
	known := int64(-1)
	if index := b.index(key, info); index.Size() == info.Size() {
		known = index.Lines()
	}
	return &StoredFile{FilePath: "/" + key, Size: info.Size(), Lines: known, ModTime: info.ModTime()}
}

// dirFile is a stored result, open for reading by one goroutine, for one call. Whatever happens to the path meanwhile, it is
// the same file: a call never mixes two versions of a result.
type dirFile struct {
	*os.File
	backend *DirBackend
	ctx     context.Context
	key     string
	info    fs.FileInfo
	block   *[lines.BlockBytes]byte // borrowed
	blockNo int64                   // which block of the file is in it; -1: none
}

// openFile opens what lookUp has found. If that was replaced in between, by a new result or by a link, it looks again: os.Root
// would follow the link, and only the comparison of what was found with what was opened shows that it did.
func (b *DirBackend) openFile(ctx context.Context, virtual string) (*dirFile, error) {
	for range dirRetries {
		key, info, err := b.lookUp(virtual)
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return nil, err
		}
		// Without O_NONBLOCK a pipe that has come into its place would hold us until somebody writes to it.
		file, err := b.root.OpenFile(key, os.O_RDONLY|syscall.O_NONBLOCK, 0)
		if err != nil {
			return nil, err
		}
		opened, err := file.Stat()
		// A pipe may have got the very inode that the file had.
		if err == nil && opened.Mode().IsRegular() && os.SameFile(info, opened) {
			block := b.blocks.Get().(*[lines.BlockBytes]byte)
			return &dirFile{File: file, backend: b, ctx: ctx, key: key, info: opened, block: block, blockNo: -1}, nil
		}
		if err = errors.Join(err, file.Close()); err != nil {
			return nil, err
		}
	}
	return nil, errDirChanged
}

// Close gives back the borrowed block too.
func (f *dirFile) Close() error {
	f.backend.blocks.Put(f.block)
	return f.File.Close()
}

// pageOf reads lines. A limit below 1 is none. The newline of the last line goes only where another line follows the page:
// that is how Eino's own backends do it, and a tool that adds up pages counts on it.
func (f *dirFile) pageOf(line, limit int64) (string, error) {
	start, found, err := f.behindNewline(line - 1)
	if err != nil || !found {
		return "", err
	}
	end := f.info.Size()
	if limit > 0 && limit <= end { // there are no more lines than bytes
		next, found, err := f.behindNewline(line - 1 + limit)
		if err != nil {
			return "", err
		}
		if found {
			end = next - 1
		}
	}
	return f.text(start, end-start)
}

// text reads bytes. The result is allocated once, at its size, and the block serves as the buffer between.
func (f *dirFile) text(offset, length int64) (string, error) {
	length = min(length, f.info.Size()-offset)
	if length <= 0 {
		return "", nil
	}
	var text strings.Builder
	text.Grow(int(length))
	f.blockNo = -1
	_, err := io.CopyBuffer(&text, contextReader{f.ctx, io.NewSectionReader(f.File, offset, length)}, f.block[:])
	return text.String(), err
}

// contextReader looks at its context before every read.
type contextReader struct {
	ctx context.Context
	io.Reader
}

func (r contextReader) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.Reader.Read(p)
}

// behindNewline finds the byte behind the nth newline, or the end of the file where there are fewer. Line n+1 begins there.
// The index leads to the block, and the rest is a search of 64 KiB at the most.
func (f *dirFile) behindNewline(n int64) (offset int64, found bool, err error) {
	if n == 0 {
		return 0, true, nil
	}
	index, err := f.indexTo(n)
	if err != nil {
		return 0, false, err
	}
	if index.Newlines() < n {
		return f.info.Size(), false, nil
	}
	no := index.BlockOf(n)
	before := index.Before(no)
	block, err := f.readBlock(no)
	if err != nil {
		return 0, false, err
	}
	at := nthNewline(block, n-before)
	if at < 0 {
		return 0, false, errDirChanged
	}
	return no*lines.BlockBytes + int64(at) + 1, true, nil
}

// indexTo gives an index that reaches to the nth newline at least. What it had to read it leaves to the next call, so that
// paging through a file that another process has written reads it once. It reads no further than asked: the first page of
// a large file is cheap without any index.
func (f *dirFile) indexTo(n int64) (*lines.Index, error) {
	known := f.backend.index(f.key, f.info)
	if known.Newlines() >= n || known.Size() >= f.info.Size() {
		return known, nil
	}
	index := known.Clone()
	for index.Newlines() < n && index.Size() < f.info.Size() {
		if err := f.ctx.Err(); err != nil {
			return nil, err
		}
		block, err := f.readBlock(index.Size() / lines.BlockBytes)
		if err != nil {
			return nil, err
		}
		lines.Add(index, block[index.Size()%lines.BlockBytes:])
	}
	f.backend.lines.Put(f.key, index, f.info)
	return index, nil
}

// readBlock reads one block, unless it is there already: the first and the last line of a page are mostly in the same one.
// A file is never cut while it is one of ours, so less than expected means that somebody else is at work here.
func (f *dirFile) readBlock(no int64) ([]byte, error) {
	block := f.block[:min(lines.BlockBytes, f.info.Size()-no*lines.BlockBytes)]
	if f.blockNo == no {
		return block, nil
	}
	f.blockNo = -1
	_, err := f.ReadAt(block, no*lines.BlockBytes)
	switch {
	case errors.Is(err, io.EOF):
		return nil, errDirChanged
	case err != nil:
		return nil, err
	}
	f.blockNo = no
	return block, nil
}

// nthNewline gives -1 where there are fewer.
func nthNewline(text []byte, n int64) int {
	for at := 0; ; {
		next := bytes.IndexByte(text[at:], '\n')
		if next < 0 {
			return -1
		}
		if n--; n == 0 {
			return at + next
		}
		at += next + 1
	}
}
