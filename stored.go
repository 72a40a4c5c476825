package toolresult

// A stored result, opened to be read in windows. Where the backend can read ranges, only these are read; else the whole text is.

import (
	"context"
	"strings"
)

type storedText interface {
	size() int64
	lines() int64 // -1: not known without reading all of it
	// lineStart is the byte at which a line begins, or size where there are fewer.
	lineStart(ctx context.Context, line int64) (int64, error)
	// window is n bytes from a byte on, fewer at the end.
	window(ctx context.Context, from int64, n int) (string, error)
}

// openStored returns nil without an error where nothing is stored under a path.
func openStored(ctx context.Context, backend Reader, path string) (storedText, error) {
	content, err := backend.Read(ctx, wholeFile(path))
	if err != nil || content == nil {
		return nil, ctx.Err()
	}
	return wholeText(content.Content), nil
}

// wholeText is a result in memory.
type wholeText string

func (t wholeText) size() int64  { return int64(len(t)) }
func (t wholeText) lines() int64 { return countLines(string(t)) }

func (t wholeText) lineStart(_ context.Context, line int64) (int64, error) {
	at := 0
	for ; line > 1; line-- {
		end := strings.IndexByte(string(t[at:]), '\n')
		if end < 0 {
			return t.size(), nil
		}
		at += end + 1
	}
	return int64(at), nil
}

func (t wholeText) window(_ context.Context, from int64, n int) (string, error) {
	rest := t[min(max(from, 0), t.size()):]
	return string(rest[:min(n, len(rest))]), nil
}
