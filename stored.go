package toolresult

// A stored result, opened to be read in windows. Where the backend can read ranges, only these are read; else the whole text
// is. What a model sees is the same either way.

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"strings"
)

// scanBytes is how much is read at a time to find a line where the backend has no index of lines.
const scanBytes = 1 << 20

type storedText interface {
	size() int64
	lines() int64 // -1: not known without reading all of it
	// lineStart is the byte at which a line begins, or size where there are fewer.
	lineStart(ctx context.Context, line int64) (int64, error)
	// window is n bytes from a byte on, fewer only at the end.
	window(ctx context.Context, from int64, n int) (string, error)
}

// openStored returns an error that is fs.ErrNotExist where nothing is stored under a path.
func openStored(ctx context.Context, backend Reader, path string) (storedText, error) {
	ranges, canRange := backend.(RangeReader)
	stater, canStat := backend.(Stater)
	if canRange && canStat {
		return openRanged(ctx, ranges, stater, path)
	}
	text, found, err := readWhole(ctx, backend, path)
	switch {
	case err != nil:
		return nil, err
	case !found:
		return nil, fs.ErrNotExist
	}
	return wholeText(text), nil
}

// wholeText is a result in memory.
type wholeText string

func (t wholeText) size() int64  { return int64(len(t)) }
func (t wholeText) lines() int64 { return countLines(string(t)) }

func (t wholeText) lineStart(_ context.Context, line int64) (int64, error) {
	at, _ := skipLines(string(t), line-1)
	return int64(at), nil
}

func (t wholeText) window(_ context.Context, from int64, n int) (string, error) {
	rest := t[min(max(from, 0), t.size()):]
	return string(rest[:min(n, len(rest))]), nil
}

// skipLines returns the index behind the nth newline of a text, or its end and how many newlines it lacks.
func skipLines(text string, n int64) (at int, missing int64) {
	for ; n > 0; n-- {
		end := strings.IndexByte(text[at:], '\n')
		if end < 0 {
			return len(text), n
		}
		at += end + 1
	}
	return at, 0
}

// rangedText is a result in a backend that reads ranges. It serves one call of a tool.
type rangedText struct {
	backend RangeReader
	finder  LineFinder // nil: lines are found by reading up to them
	path    string
	bytes   int64
	count   int64 // of lines; -1: not known

	found   int64 // the line that was found last, and where it begins
	foundAt int64
}

func openRanged(ctx context.Context, ranges RangeReader, stater Stater, path string) (storedText, error) {
	file, err := stater.Stat(ctx, &StatRequest{FilePath: path})
	if err != nil {
		return nil, err
	}
	if file == nil {
		return nil, fs.ErrNotExist
	}
	finder, _ := ranges.(LineFinder)
	return &rangedText{backend: ranges, finder: finder, path: path, bytes: file.Size, count: file.Lines, found: 1}, nil
}

func (t *rangedText) size() int64  { return t.bytes }
func (t *rangedText) lines() int64 { return t.count }

func (t *rangedText) lineStart(ctx context.Context, line int64) (int64, error) {
	if t.finder != nil {
		at, err := t.finder.FindLine(ctx, &LineRequest{FilePath: t.path, Line: line})
		return min(max(at, 0), t.bytes), err
	}
	if line < t.found {
		t.found, t.foundAt = 1, 0
	}
	at, missing := t.foundAt, line-t.found
	for missing > 0 && at < t.bytes {
		block, err := t.window(ctx, at, scanBytes)
		if err != nil {
			return 0, err
		}
		var skipped int
		skipped, missing = skipLines(block, missing)
		at += int64(skipped)
	}
	if missing == 0 {
		t.found, t.foundAt = line, at
	}
	return at, nil
}

// window takes what is missing before the end for a file that was cut or replaced meanwhile: its hints would lead nowhere.
func (t *rangedText) window(ctx context.Context, from int64, n int) (string, error) {
	n = int(min(int64(n), t.bytes-from))
	if n <= 0 {
		return "", nil
	}
	text, err := t.backend.ReadRange(ctx, &RangeRequest{FilePath: t.path, Offset: from, Length: n})
	if err == nil && len(text) != n {
		err = fmt.Errorf("%d of %d bytes at %d: %w", len(text), n, from, io.ErrUnexpectedEOF)
	}
	return text, err
}
