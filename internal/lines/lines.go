// Package lines knows where the lines of a large text begin, sparsely: how many newlines there are up to the end of each block.
// A line is then found by a binary search and a look into one block. 200 MB take 25 KB of it in memory, and 6 KB encoded.
package lines

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"slices"
	"strings"
)

// BlockBytes is how much of a text is one block.
const BlockBytes = 64 << 10

const magic = "toolresult lines 1\n"

// ErrBad is the error of Decode.
var ErrBad = errors.New("not an index of these lines")

// Index covers the first bytes of a text, not always all of it. The zero value covers none.
type Index struct {
	size     int64
	newlines int64
	blocks   []int64 // newlines up to the end of each whole block
	open     bool    // the last byte is not a newline
}

// Add takes the next bytes of the text into the index.
func Add[T string | []byte](x *Index, text T) {
	for len(text) > 0 {
		n := min(len(text), int(BlockBytes-x.size%BlockBytes))
		x.newlines += int64(Count(text[:n]))
		x.open = text[n-1] != '\n'
		x.size += int64(n)
		if x.size%BlockBytes == 0 {
			x.blocks = append(x.blocks, x.newlines)
		}
		text = text[n:]
	}
}

// Count counts newlines.
func Count[T string | []byte](text T) int {
	switch text := any(text).(type) {
	case string:
		return strings.Count(text, "\n")
	case []byte:
		return bytes.Count(text, []byte{'\n'})
	}
	return 0
}

// Size is how many bytes the index covers.
func (x *Index) Size() int64 { return x.size }

// Newlines is how many newlines are in them.
func (x *Index) Newlines() int64 { return x.newlines }

// Lines counts a last line without a newline too.
func (x *Index) Lines() int64 {
	if x.open {
		return x.newlines + 1
	}
	return x.newlines
}

// BlockOf says which block has the nth newline; the last one where there are fewer.
func (x *Index) BlockOf(n int64) int64 {
	i, _ := slices.BinarySearch(x.blocks, n)
	return int64(i)
}

// Before counts the newlines before a block, or all of them before one that is not there.
func (x *Index) Before(block int64) int64 {
	switch {
	case block == 0:
		return 0
	case block > int64(len(x.blocks)):
		return x.newlines
	}
	return x.blocks[block-1]
}

// Clone makes an index that can grow by itself.
func (x *Index) Clone() *Index {
	c := *x
	c.blocks = slices.Clone(x.blocks)
	return &c
}

// Bytes is the memory that an index takes beside a fixed part.
func (x *Index) Bytes() int { return 8 * cap(x.blocks) }

// Encode writes the index of a whole text, two bytes a block for most texts. It carries an ID of the text, and a
// sum.
func (x *Index) Encode(id string) string {
	b := []byte(magic)
	b = binary.AppendUvarint(b, uint64(len(id)))
	b = append(b, id...)
	b = binary.AppendUvarint(b, uint64(x.size))
	var open uint64
	if x.open {
		open = 1
	}
	b = binary.AppendUvarint(b, open)
	before := int64(0)
	for _, newlines := range append(slices.Clip(x.blocks), x.newlines) {
		b = binary.AppendUvarint(b, uint64(newlines-before))
		before = newlines
	}
	return string(binary.LittleEndian.AppendUint32(b, crc32.ChecksumIEEE(b)))
}

// Decode reads what Encode wrote for the text of this ID and size. It trusts nothing: anybody may have put it there.
func Decode(encoded, id string, size int64) (*Index, error) {
	text, ok := checkSum(encoded)
	if !ok {
		return nil, ErrBad
	}
	rest, ok := strings.CutPrefix(text, magic)
	d := &decoder{rest: []byte(rest), failed: !ok}
	if d.text() != id || d.number() != size {
		return nil, ErrBad
	}
	x := &Index{size: size, open: d.number() == 1}
	for range size / BlockBytes {
		if d.failed {
			return nil, ErrBad
		}
		x.newlines += d.number()
		x.blocks = append(x.blocks, x.newlines)
	}
	x.newlines += d.number()
	if d.failed || len(d.rest) > 0 {
		return nil, ErrBad
	}
	return x, nil
}

func checkSum(encoded string) (text string, ok bool) {
	end := len(encoded) - crc32.Size
	if end < 0 {
		return "", false
	}
	sum := binary.LittleEndian.Uint32([]byte(encoded[end:]))
	return encoded[:end], sum == crc32.ChecksumIEEE([]byte(encoded[:end]))
}

type decoder struct {
	rest   []byte
	failed bool
}

// number reads a number that fits into a size. A failed decoder reads zeros.
func (d *decoder) number() int64 {
	n, width := binary.Uvarint(d.rest)
	if width <= 0 || n > 1<<62 {
		d.failed, d.rest = true, nil
		return 0
	}
	d.rest = d.rest[width:]
	return int64(n)
}

func (d *decoder) text() string {
	n := d.number()
	if n > int64(len(d.rest)) {
		d.failed = true
		return ""
	}
	text := string(d.rest[:n])
	d.rest = d.rest[n:]
	return text
}
