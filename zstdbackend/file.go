package zstdbackend

// Stored files: how they are opened, and remembered. The backend underneath gives ranges of a file, or, where it cannot, all
// of it. At the end of a file are the tables: where each frame begins, and how many newlines it has.

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io/fs"
	"math"
	"slices"
	"sync"
	"time"

	seekable "github.com/SaveTheRbtz/zstd-seekable-format-go/pkg"

	"github.com/eino-toolresult/toolresult"
)

const (
	// maxOpen is how many files are remembered: their tables, and the frame that was read last, of up to FrameBytes.
	maxOpen = 16
	// firstTail is how much is read from the end of a file at first: enough for a result of 200 MB.
	firstTail = 32 << 10
	// minAge is how old a file must be to be remembered where the store keeps times in whole seconds: a younger one could be
	// replaced by another of its size without a trace.
	minAge = 2 * time.Second
	// maxTries is how often a file is read again that was replaced while it was being read.
	maxTries = 10
)

// files opens files. Every call asks the backend underneath for size and time of the file, and what is remembered is believed
// only if both are still the same.
type files struct {
	codec  *codec
	reader toolresult.Reader
	ranges toolresult.RangeReader // nil unless the backend underneath is both that and a Stater
	stater toolresult.Stater

	mu   sync.Mutex
	open []*file // the one used last in front
}

func newFiles(store toolresult.Backend, codec *codec) *files {
	f := &files{codec: codec, reader: store.(toolresult.Reader)}
	ranges, hasRanges := store.(toolresult.RangeReader)
	stater, hasStat := store.(toolresult.Stater)
	if hasRanges && hasStat {
		f.ranges, f.stater = ranges, stater
	}
	return f
}

// file is a stored file in one of its states. Only what mu guards changes.
type file struct {
	path   string
	stored toolresult.StoredFile // as it lies in the store
	whole  string                // all of it, where there are no ranges
	table  *seekable.SeekTable   // nil: not compressed by us
	ends   []int64               // newlines up to the end of each frame
	lines  int64

	mu     sync.Mutex
	lastID int64
	last   []byte
}

// with calls do with an open file. It calls again if the file was replaced under its hands: one range is a range of one
// version of it, but two need not be.
func (f *files) with(ctx context.Context, path string, do func(r *fileReader) error) error {
	for range maxTries {
		opened, fresh, err := f.find(ctx, path)
		if err != nil {
			return err
		}
		r := &fileReader{file: opened, files: f, ctx: ctx}
		err = do(r)
		if f.ranges == nil || ctx.Err() != nil || err == nil && !fresh && r.fetched < 2 {
			return err
		}
		now, statErr := f.stater.Stat(ctx, &toolresult.StatRequest{FilePath: path})
		if statErr != nil {
			return statErr
		}
		if opened.is(now) {
			f.remember(opened)
			return err
		}
	}
	return broken(path, errors.New("it is replaced all the time"))
}

// broken is the error for a file that the backend underneath has given, but that is of no use.
func broken(path string, err error) error {
	return &fs.PathError{Op: "read", Path: path, Err: err}
}

func (f *file) is(now *toolresult.StoredFile) bool {
	return f.stored.Size == now.Size && f.stored.ModTime.Equal(now.ModTime)
}

// find says whether it had to open the file, or knew it.
func (f *files) find(ctx context.Context, path string) (opened *file, fresh bool, err error) {
	if f.ranges == nil {
		opened, err = f.load(ctx, path)
		return opened, true, err
	}
	now, err := f.stater.Stat(ctx, &toolresult.StatRequest{FilePath: path})
	if err != nil {
		return nil, false, err
	}
	if known := f.known(path, now); known != nil {
		return known, false, nil
	}
	opened = &file{path: path, stored: *now, lastID: -1}
	err = opened.readTail(func(offset int64, length int) (string, error) {
		return f.ranges.ReadRange(ctx, &toolresult.RangeRequest{FilePath: path, Offset: offset, Length: length})
	})
	return opened, true, err
}

// load asks for all lines by number, because some backends take a limit of 0 for a page of theirs.
func (f *files) load(ctx context.Context, path string) (*file, error) {
	content, err := f.reader.Read(ctx, &toolresult.ReadRequest{FilePath: path, Offset: 1, Limit: math.MaxInt32})
	if err != nil {
		return nil, err
	}
	if content == nil {
		return nil, broken(path, fs.ErrNotExist)
	}
	opened := &file{path: path, whole: content.Content, lastID: -1}
	opened.stored.Size = int64(len(opened.whole))
	err = opened.readTail(func(offset int64, length int) (string, error) {
		return opened.whole[offset:][:length], nil
	})
	return opened, err
}

// known gives a file that was opened before, if it is still as it was then.
func (f *files) known(path string, now *toolresult.StoredFile) *file {
	f.mu.Lock()
	defer f.mu.Unlock()
	i := slices.IndexFunc(f.open, func(known *file) bool { return known.path == path })
	if i < 0 || !f.open[i].is(now) {
		return nil
	}
	known := f.open[i]
	copy(f.open[1:i+1], f.open[:i])
	f.open[0] = known
	return known
}

// remember takes the place of an older state of the same file, and lets go of the file that was used longest ago.
func (f *files) remember(opened *file) {
	f.forget(opened.path)
	if stored := opened.stored.ModTime; stored.Nanosecond() == 0 && time.Since(stored) < minAge {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.open = slices.DeleteFunc(f.open, func(known *file) bool { return known.path == opened.path }) // another reader's
	f.open = slices.Insert(f.open, 0, opened)
	if len(f.open) > maxOpen {
		f.open[maxOpen] = nil
		f.open = f.open[:maxOpen]
	}
}

// forget lets go of a file that is being replaced. The clock of the store may differ from ours, so its age alone does not tell.
func (f *files) forget(path string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.open = slices.DeleteFunc(f.open, func(known *file) bool { return known.path == path })
}

// readTail reads the tables at the end of a file, with one range in most cases. A file that has none is not ours, and its
// text is what is stored.
func (f *file) readTail(read func(offset int64, length int) (string, error)) error {
	length := min(f.stored.Size, firstTail)
	tail, err := read(f.stored.Size-length, int(length))
	if err != nil {
		return err
	}
	need, ok := tailSize(tail)
	if !ok || need > f.stored.Size {
		return nil
	}
	if need > int64(len(tail)) {
		if tail, err = read(f.stored.Size-need, int(need)); err != nil {
			return err
		}
	}
	f.parseTail(tail[max(0, int64(len(tail))-need):])
	return nil
}

const (
	tableMagic  = 0x8F92EAB1
	tableFooter = 9
	entryBytes  = 12 // with a checksum, as ours are
)

// tailSize tells from the last bytes of a file how long the tables are, if it is ours.
func tailSize(tail string) (size int64, ok bool) {
	if len(tail) < tableFooter {
		return 0, false
	}
	footer := []byte(tail[len(tail)-tableFooter:])
	frames := int64(binary.LittleEndian.Uint32(footer))
	ok = binary.LittleEndian.Uint32(footer[5:]) == tableMagic
	return int64(linesHeader) + 4*frames + skipHeader + entryBytes*frames + tableFooter, ok
}

// parseTail leaves the file as it is unless everything fits together, down to the last byte: a plain result may end like one of
// ours by chance, or because somebody wanted it to.
func (f *file) parseTail(tail string) {
	frames := (len(tail) - linesHeader - skipHeader - tableFooter) / (4 + entryBytes)
	counts, seek := []byte(tail[:linesHeader+4*frames]), []byte(tail[linesHeader+4*frames:])
	want := binary.LittleEndian.AppendUint32(nil, linesMagic)
	want = binary.LittleEndian.AppendUint32(want, uint32(len(counts)-skipHeader))
	if !bytes.HasPrefix(counts, append(want, linesTag...)) {
		return
	}
	table, err := seekable.NewSeekTable(seek)
	if err != nil || table.NumFrames() != int64(frames) || framesEnd(table) != uint64(f.stored.Size)-uint64(len(tail)) {
		return
	}
	f.table = table
	for i := linesHeader; i < len(counts); i += 4 {
		f.lines += int64(binary.LittleEndian.Uint32(counts[i:]))
		f.ends = append(f.ends, f.lines)
	}
	f.lines += int64(counts[linesHeader-1])
}

// framesEnd is how many compressed bytes the frames have.
func framesEnd(table *seekable.SeekTable) uint64 {
	last, ok := table.EntryByID(table.NumFrames() - 1)
	if !ok {
		return 0
	}
	return last.CompressedOffset + uint64(last.CompressedSize)
}
