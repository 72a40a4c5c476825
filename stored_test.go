package toolresult_test

// Backends that read ranges: what they spare, and what a model is told when they fail. What a page shows is the same for all
// of them, and tested with the pages.

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/adk/filesystem"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eino-toolresult/toolresult"
)

// rangedMemory is a memory that reads ranges. It fails the way a disk does, once it is told to.
type rangedMemory struct {
	*memory
	stat, read error // what Stat and ReadRange fail with
	short      bool  // ReadRange returns less than there is
	noLines    bool
	ranges     int // calls of ReadRange, and bytes that they gave
	bytes      int
	longest    int // of the ranges that were asked for
	whole      int // calls of Read
}

func (m *rangedMemory) Read(ctx context.Context, req *toolresult.ReadRequest) (*toolresult.FileContent, error) {
	m.mu.Lock()
	m.whole++
	m.mu.Unlock()
	return m.memory.Read(ctx, req)
}

func (m *rangedMemory) Stat(_ context.Context, req *toolresult.StatRequest) (*toolresult.StoredFile, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	text, found := m.files[req.FilePath]
	switch {
	case m.stat != nil:
		return nil, m.stat
	case !found:
		return nil, &os.PathError{Op: "stat", Path: req.FilePath, Err: os.ErrNotExist}
	}
	lines := int64(strings.Count(text, "\n"))
	if text != "" && !strings.HasSuffix(text, "\n") {
		lines++
	}
	if m.noLines {
		lines = -1
	}
	return &toolresult.StoredFile{FilePath: req.FilePath, Size: int64(len(text)), Lines: lines}, nil
}

func (m *rangedMemory) ReadRange(_ context.Context, req *toolresult.RangeRequest) (string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if req.Offset < 0 || req.Length < 0 || m.read != nil {
		return "", fmt.Errorf("range of %d bytes at %d: %w", req.Length, req.Offset, m.read)
	}
	text := m.files[req.FilePath]
	text = text[min(req.Offset, int64(len(text))):]
	text = text[:min(req.Length, len(text))]
	if m.short {
		text = text[:len(text)/2]
	}
	m.ranges++
	m.longest = max(m.longest, req.Length)
	m.bytes += len(text)
	return text, nil
}

// indexedMemory is a rangedMemory that knows where lines begin.
type indexedMemory struct{ *rangedMemory }

func (m indexedMemory) FindLine(_ context.Context, req *toolresult.LineRequest) (int64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	text, at := m.files[req.FilePath], 0
	for range req.Line - 1 {
		end := strings.IndexByte(text[at:], '\n')
		if end < 0 {
			return int64(len(text)), nil
		}
		at += end + 1
	}
	return int64(at), nil
}

// backends are a result in every backend that the tools must serve alike.
func backends(t testing.TB, path, text string) map[string]toolresult.Reader {
	t.Helper()
	eino := filesystem.NewInMemoryBackend()
	dir := openDir(t, t.TempDir())
	files := newMemory()
	for _, to := range []toolresult.Backend{eino, dir, files} {
		require.NoError(t, to.Write(context.Background(), &toolresult.WriteRequest{FilePath: path, Content: text}))
	}
	ranges := &rangedMemory{memory: files}
	return map[string]toolresult.Reader{
		"Eino's memory": eino, "DirBackend": dir, "memory": files, "ranges": ranges, "ranges with an index": indexedMemory{ranges},
	}
}

func TestErrorsOfABackend(t *testing.T) {
	missing, broken := &fs.PathError{Op: "stat", Path: pagePath, Err: fs.ErrNotExist}, errors.New("disk on fire at 10.0.0.7")
	for _, c := range []struct {
		reason   string
		backend  rangedMemory
		want     string
		observed error
	}{
		{"gone", rangedMemory{stat: missing}, "it is not, or no longer, stored", nil},
		{"gone between Stat and ReadRange", rangedMemory{read: missing}, "it is not, or no longer, stored", nil},
		{"no name for a file", rangedMemory{stat: fs.ErrInvalid}, "it is not, or no longer, stored", nil},
		{"Stat fails", rangedMemory{stat: broken}, "could not be read just now", broken},
		{"ReadRange fails", rangedMemory{read: broken}, "could not be read just now", broken},
		{"the backend's own time ran out", rangedMemory{read: context.DeadlineExceeded}, "could not be read just now", context.DeadlineExceeded},
		{"cut short meanwhile, so that hints would lead nowhere", rangedMemory{short: true}, "could not be read just now", fs.ErrInvalid},
	} {
		c.backend.memory = newMemory()
		c.backend.files[pagePath] = numberedLines(5)
		var observed []error
		cfg := toolresult.ReadConfig{Backend: &c.backend, MaxTokens: 100, OnError: func(_ context.Context, err error) { observed = append(observed, err) }}
		search := toolresult.SearchConfig(cfg)
		for _, answer := range []string{
			ask(t, newReader(t, &cfg), 100, map[string]any{"file_path": pagePath, "offset": 2}),
			ask(t, newReader(t, &cfg), 100, map[string]any{"file_path": pagePath, "byte_offset": 2}),
			ask(t, newSearcher(t, &search), 100, map[string]any{"file_path": pagePath, "pattern": "line"}),
		} {
			assert.Contains(t, answer, c.want, c.reason)
			assert.NotContains(t, answer, "10.0.0.7", "%s: what an error says is not for a model", c.reason)
		}
		if c.observed == nil {
			assert.Empty(t, observed, c.reason)
			continue
		}
		require.Len(t, observed, 3, c.reason)
		if !c.backend.short {
			assert.ErrorIs(t, observed[0], c.observed, c.reason)
		}
		assert.ErrorContains(t, observed[0], `toolresult: read back "`+pagePath+`"`, c.reason)
	}
}

// TestPageFarIntoAResult measures what a page at line 1 000 000 costs: with an index no more than the page itself.
func TestPageFarIntoAResult(t *testing.T) {
	files := newMemory()
	files.files[pagePath] = strings.Repeat("0123456789\n", 1_100_000)
	args := map[string]any{"file_path": pagePath, "offset": 1_000_000, "byte_offset": 3}
	ranges := &rangedMemory{memory: files}
	want := ask(t, newReader(t, &toolresult.ReadConfig{Backend: files}), 0, args)
	require.True(t, strings.HasPrefix(want, "1000000: 3456789\n1000001: 0123456789\n"), "%.100q", want)

	require.Equal(t, want, ask(t, newReader(t, &toolresult.ReadConfig{Backend: indexedMemory{ranges}}), 0, args))
	require.Less(t, ranges.bytes, 21_000, "with an index only the page is read")
	require.Equal(t, want, ask(t, newReader(t, &toolresult.ReadConfig{Backend: ranges}), 0, args))
	require.LessOrEqual(t, ranges.longest, 1<<20, "without an index the text is read a part at a time")
	require.Less(t, ranges.bytes, 15_000_000, "and up to the line only once")
	require.Zero(t, ranges.whole, "a file is never loaded whole")

	dir := openDir(t, t.TempDir())
	require.NoError(t, dir.Write(t.Context(), &toolresult.WriteRequest{FilePath: pagePath, Content: files.files[pagePath]}))
	read := newReader(t, &toolresult.ReadConfig{Backend: dir})
	began := time.Now()
	for range 20 {
		require.Equal(t, want, ask(t, read, 0, args))
	}
	t.Logf("a page at line 1 000 000 in a directory: %v", time.Since(began)/20)
}

// TestUnknownNumberOfLines leaves out of an answer what a backend would have to read the file for, and nothing else.
func TestUnknownNumberOfLines(t *testing.T) {
	files := newMemory()
	files.files[pagePath] = numberedLines(100)
	whole, ranges := newReader(t, &toolresult.ReadConfig{Backend: files}), newReader(t, &toolresult.ReadConfig{Backend: &rangedMemory{memory: files, noLines: true}})
	for _, offset := range []int{1, 90, 200} {
		args := map[string]any{"file_path": pagePath, "offset": offset, "limit": 5}
		want := strings.Replace(ask(t, whole, 0, args), " of 100", "", 1)
		want = strings.Replace(want, "The result has 100 lines. ", "", 1)
		require.Equal(t, want, ask(t, ranges, 0, args))
	}
}

// endless is a result of 2^62 bytes, two a line, of which one is no text.
type endless struct{ *memory }

func (endless) Stat(context.Context, *toolresult.StatRequest) (*toolresult.StoredFile, error) {
	return &toolresult.StoredFile{Size: 1 << 62, Lines: 1 << 61}, nil
}

func (endless) FindLine(_ context.Context, req *toolresult.LineRequest) (int64, error) {
	return 2 * (req.Line - 1), nil
}

func (endless) ReadRange(_ context.Context, req *toolresult.RangeRequest) (string, error) {
	return strings.Repeat("\xff\n", req.Length/2+1)[req.Offset%2:][:req.Length], nil
}

// TestLargestNumbersFit has the longest numbers that an answer can carry.
func TestLargestNumbersFit(t *testing.T) {
	for _, lang := range []adk.Language{adk.LanguageEnglish, adk.LanguageChinese} {
		for tokens := 100; tokens < 120; tokens++ {
			cfg := toolresult.ReadConfig{Backend: endless{newMemory()}, MaxTokens: tokens, Language: lang}
			search := toolresult.SearchConfig(cfg)
			args := map[string]any{"file_path": pagePath, "offset": 1 << 53, "byte_offset": 0, "pattern": ".", "context": 20}
			for _, answer := range []string{ask(t, newReader(t, &cfg), tokens, args), ask(t, newSearcher(t, &search), tokens, args)} {
				require.Contains(t, answer, `9007199254740992: \xff`)
				_, _, _, more := nextArgs(answer)
				require.True(t, more, "%q", answer)
			}
		}
	}
}
