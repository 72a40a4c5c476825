package zstdbackend

// The plain text of an open file, in parts: frames are fetched and decompressed one by one, and only where they are needed.

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	seekable "github.com/SaveTheRbtz/zstd-seekable-format-go/pkg"

	"github.com/eino-toolresult/toolresult"
)

// fileReader reads a file for one call.
type fileReader struct {
	*file
	files   *files
	ctx     context.Context
	fetched int // ranges that came from the store
}

// size is that of the plain text.
func (r *fileReader) size() int64 {
	if r.table == nil {
		return r.stored.Size
	}
	return int64(r.table.Size())
}

// text reads a range of the plain text. It does not believe the table as far as memory goes: a damaged one may promise any
// size, and the frames behind it will not be there.
func (r *fileReader) text(offset, length int64) (string, error) {
	length = min(length, r.size()-offset)
	if length <= 0 {
		return "", nil
	}
	if r.table == nil {
		return r.raw(offset, int(length))
	}
	var text strings.Builder
	text.Grow(int(min(length, maxFrame)))
	for length > 0 {
		entry, ok := r.table.EntryByDecompressedOffset(uint64(offset))
		if !ok {
			return "", broken(r.path, fmt.Errorf("no frame at byte %d", offset))
		}
		frame, err := r.frame(entry)
		if err != nil {
			return "", err
		}
		part := frame[offset-int64(entry.DecompressedOffset):]
		part = part[:min(length, int64(len(part)))]
		text.Write(part)
		offset += int64(len(part))
		length -= int64(len(part))
	}
	return text.String(), nil
}

// raw reads from the file as it is stored, and counts: from the second range on the file may be another one.
func (r *fileReader) raw(offset int64, length int) (string, error) {
	if r.files.ranges == nil {
		return r.whole[offset:][:length], nil
	}
	r.fetched++
	text, err := r.files.ranges.ReadRange(r.ctx, &toolresult.RangeRequest{FilePath: r.path, Offset: offset, Length: length})
	if err == nil && len(text) < length {
		err = broken(r.path, io.ErrUnexpectedEOF)
	}
	return text, err
}

// frame gives a frame of plain text, which is not to be changed. The last one is kept with the file, because a page asks for
// its first line, its last line and its text one after another. zstd's own checksum tells whether the frame is whole.
func (r *fileReader) frame(entry seekable.FrameOffsetEntry) ([]byte, error) {
	r.mu.Lock()
	last, lastID := r.last, r.lastID
	r.mu.Unlock()
	if lastID == entry.ID {
		return last, nil
	}
	if err := r.ctx.Err(); err != nil {
		return nil, err
	}
	if entry.DecompressedSize > maxFrame || entry.CompressedSize > 2*maxFrame {
		return nil, broken(r.path, fmt.Errorf("frame %d is too large", entry.ID))
	}
	packed, err := r.raw(int64(entry.CompressedOffset), int(entry.CompressedSize))
	if err != nil {
		return nil, err
	}
	frame, err := r.files.codec.dec.DecodeAll([]byte(packed), make([]byte, 0, entry.DecompressedSize))
	if err == nil && len(frame) != int(entry.DecompressedSize) {
		err = errors.New("its length is not the one in the table")
	}
	if err != nil {
		return nil, broken(r.path, fmt.Errorf("frame %d: %w", entry.ID, err))
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.last, r.lastID = frame, entry.ID
	return frame, nil
}

// behindNewline finds the byte behind the nth newline, or the end of the text where there are fewer.
func (r *fileReader) behindNewline(n int64) (offset int64, found bool, err error) {
	if n == 0 {
		return 0, true, nil
	}
	if r.table == nil {
		return r.scan(n)
	}
	id, _ := slices.BinarySearch(r.ends, n)
	if id == len(r.ends) {
		return r.size(), false, nil
	}
	if id > 0 {
		n -= r.ends[id-1]
	}
	entry, _ := r.table.EntryByID(int64(id))
	frame, err := r.frame(entry)
	if err != nil {
		return 0, false, err
	}
	at, missing := skipLines(frame, n)
	if missing > 0 {
		return 0, false, broken(r.path, errors.New("the index of lines is wrong"))
	}
	return int64(entry.DecompressedOffset) + int64(at), true, nil
}

// scan is for what was not compressed by us, and so has no index. It looks for the nth newline in a file without tables.
func (r *fileReader) scan(n int64) (offset int64, found bool, err error) {
	for offset < r.size() {
		block, err := r.raw(offset, int(min(1<<20, r.size()-offset)))
		if err != nil {
			return 0, false, err
		}
		at, missing := skipLines(block, n)
		offset += int64(at)
		if missing == 0 {
			return offset, true, nil
		}
		n = missing
	}
	return r.size(), false, nil
}

// skipLines returns the index behind the nth newline of a text, or its end and how many newlines it lacks.
func skipLines[T string | []byte](text T, n int64) (at int, missing int64) {
	for ; n > 0; n-- {
		next := indexNewline(text[at:])
		if next < 0 {
			return len(text), n
		}
		at += next + 1
	}
	return at, 0
}

// indexNewline spares a copy of the text: strings and bytes have the same fast search, under two names.
func indexNewline[T string | []byte](text T) int {
	switch text := any(text).(type) {
	case string:
		return strings.IndexByte(text, '\n')
	case []byte:
		return bytes.IndexByte(text, '\n')
	}
	return -1
}
