package backendtest

// Write, Read and the other ways to read. What is right is said by plain string functions, a few lines each.

import (
	"fmt"
	"io/fs"
	"math"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/eino-toolresult/toolresult"
)

const path = "/large_tool_result/call_1"

var contents = []struct{ name, content, reason string }{
	{"empty", "", "an empty result is a result"},
	{"newline", "\n", "one empty line"},
	{"blank lines", "\n\n\n", "empty lines count"},
	{"no newline", "one line", "the last line needs no newline"},
	{"lines", "first\nsecond\nthird\n", "the plain case"},
	{"open end", "first\nsecond\nthird", "the last line needs no newline"},
	{"CRLF", "first\r\nsecond\r\n", "a carriage return is content"},
	{"not UTF-8", "a\xff\xfe\n\xc3\x28\n", "bytes are stored as they are"},
	{"NUL", "a\x00b\n\x00", "bytes are stored as they are"},
	{"multi-byte", "日本語\n😀😀\nё", "offsets are bytes, not characters"},
	{"long line", strings.Repeat("x", 200_000) + "\nend", "a line is longer than any scanner's buffer"},
	{"blocks", strings.Repeat(strings.Repeat("y", 63)+"\n", 5000), "lines end where blocks do"},
	{"large", numbered(20_000), "larger than buffers and blocks"},
}

func numbered(lines int) string {
	var text strings.Builder
	for i := range lines {
		fmt.Fprintf(&text, "line %d of the result, some words behind it\n", i+1)
	}
	return text.String()
}

func testBackend(t *testing.T, open func(t *testing.T) toolresult.Backend) {
	for _, c := range contents {
		t.Run("gives back "+c.name, func(t *testing.T) {
			b := open(t)
			write(t, b, path, c.content)
			holds(t, b, path, c.content, c.reason)
		})
	}
	t.Run("replaces", func(t *testing.T) {
		b := open(t)
		write(t, b, path, "a longer result than the next one")
		write(t, b, path, "short")
		holds(t, b, path, "short", "nothing of the old result may show")
	})
	t.Run("keeps names apart", func(t *testing.T) { testNames(t, open(t)) })
	t.Run("is safe for concurrent use", func(t *testing.T) { testConcurrent(t, open(t)) })
}

// testNames uses what SafeName leaves alone, and what it makes of the rest.
func testNames(t *testing.T, b toolresult.Backend) {
	names := []string{"a", "b", "a.txt", "a-b_c.d", "a b", "a%2Fb", "a+b", "a=b", strings.Repeat("n", 200)}
	for _, name := range names {
		write(t, b, "/large_tool_result/"+name, "of "+name)
		write(t, b, "/other/folder/"+name, "elsewhere, of "+name)
	}
	for _, name := range names {
		holds(t, b, "/large_tool_result/"+name, "of "+name, "each name has its own content")
		holds(t, b, "/other/folder/"+name, "elsewhere, of "+name, "each folder has its own names")
	}
}

func testConcurrent(t *testing.T, b toolresult.Backend) {
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			own := fmt.Sprintf("/parallel/call_%d", i)
			for round := range 8 {
				content := strings.Repeat(fmt.Sprintln(i, round), 2000)
				if err := b.Write(ctx(t), &toolresult.WriteRequest{FilePath: own, Content: content}); err != nil {
					t.Errorf("Write(%q): %v", own, err)
					return
				}
				if got, ok := tryRead(t, b, own); ok && got != content {
					t.Errorf("Read(%q) gives %s; want %s: it was written just before", own, show(got), show(content))
				}
			}
		})
	}
	wg.Wait()
}

func tryRead(t *testing.T, b toolresult.Backend, path string) (string, bool) {
	reader, ok := b.(toolresult.Reader)
	if !ok {
		return "", false
	}
	got, err := reader.Read(ctx(t), &toolresult.ReadRequest{FilePath: path})
	if err != nil {
		t.Errorf("Read(%q): %v", path, err)
		return "", false
	}
	return got.Content, true
}

func testReader(t *testing.T, open func(t *testing.T) store[toolresult.Reader]) {
	for _, c := range contents {
		t.Run("lines of "+c.name, func(t *testing.T) {
			b := open(t)
			b.write(t, path, c.content)
			for _, offset := range []int{-1, 0, 1, 3, 1000, 19_999, 20_001, math.MaxInt} {
				for _, limit := range []int{0, 1, 2, 1000, math.MaxInt} {
					testPage(t, b, c.content, offset, limit)
				}
			}
		})
	}
	t.Run("missing", func(t *testing.T) {
		b := open(t)
		b.write(t, "/large_tool_result/other", "there")
		for _, missing := range []string{path, "/large_tool_result", "/nowhere/call_1", "/large_tool_result/other/below"} {
			if got, err := b.can.Read(ctx(t), &toolresult.ReadRequest{FilePath: missing}); err == nil {
				t.Errorf("Read(%q) gives %s; want an error", missing, show(got.Content))
			}
		}
	})
}

// testPage leaves it to the backend whether the last line of a page has its newline.
func testPage(t *testing.T, b store[toolresult.Reader], content string, offset, limit int) {
	t.Helper()
	req := &toolresult.ReadRequest{FilePath: path, Offset: offset, Limit: limit}
	got, err := b.can.Read(ctx(t), req)
	if err != nil {
		t.Errorf("Read(offset %d, limit %d): %v; want no error, also behind the end", offset, limit, err)
		return
	}
	want := pageOf(content, offset, limit)
	if got.Content != want && got.Content != strings.TrimSuffix(want, "\n") {
		t.Errorf("Read(offset %d, limit %d) gives %s; want %s", offset, limit, show(got.Content), show(want))
	}
}

func pageOf(content string, offset, limit int) string {
	lines := strings.SplitAfter(content, "\n")
	lines = lines[min(max(offset, 1)-1, len(lines)):]
	if limit > 0 {
		lines = lines[:min(limit, len(lines))]
	}
	return strings.Join(lines, "")
}

func testRangeReader(t *testing.T, open func(t *testing.T) store[toolresult.RangeReader]) {
	for _, c := range contents {
		t.Run("ranges of "+c.name, func(t *testing.T) {
			b := open(t)
			b.write(t, path, c.content)
			size := len(c.content)
			for _, offset := range []int{0, 1, 2, size / 2, size - 1, size, size + 1, 65_535, 65_536, math.MaxInt} {
				for _, length := range []int{0, 1, 3, 1000, 70_000, math.MaxInt} {
					testRange(t, b, c.content, offset, length)
				}
			}
		})
	}
	t.Run("refuses", func(t *testing.T) {
		b := open(t)
		b.write(t, path, "content")
		for _, req := range []*toolresult.RangeRequest{
			{FilePath: path, Offset: -1, Length: 1},
			{FilePath: path, Offset: 0, Length: -1},
			{FilePath: "/large_tool_result/missing", Offset: 0, Length: 1},
		} {
			if got, err := b.can.ReadRange(ctx(t), req); err == nil {
				t.Errorf("ReadRange(%+v) gives %s; want an error", *req, show(got))
			}
		}
	})
}

func testRange(t *testing.T, b store[toolresult.RangeReader], content string, offset, length int) {
	t.Helper()
	if offset < 0 {
		return // of an empty or tiny content
	}
	req := &toolresult.RangeRequest{FilePath: path, Offset: int64(offset), Length: length}
	got, err := b.can.ReadRange(ctx(t), req)
	if err != nil {
		t.Errorf("ReadRange(offset %d, length %d): %v; want no error, also behind the end", offset, length, err)
		return
	}
	want := content[min(offset, len(content)):]
	want = want[:min(length, len(want))]
	if got != want {
		t.Errorf("ReadRange(offset %d, length %d) gives %s; want %s", offset, length, show(got), show(want))
	}
}

func testLineFinder(t *testing.T, open func(t *testing.T) store[toolresult.LineFinder]) {
	for _, c := range contents {
		t.Run("lines of "+c.name, func(t *testing.T) {
			b := open(t)
			b.write(t, path, c.content)
			for _, line := range []int64{math.MinInt64, -1, 0, 1, 2, 3, 4, 1000, 1024, 1025, 19_999, 20_001, math.MaxInt64} {
				got, err := b.can.FindLine(ctx(t), &toolresult.LineRequest{FilePath: path, Line: line})
				if want := lineStart(c.content, line); err != nil || got != want {
					t.Errorf("FindLine(%d) gives %d, %v; want %d", line, got, err, want)
				}
			}
		})
	}
	t.Run("missing", func(t *testing.T) {
		_, err := open(t).can.FindLine(ctx(t), &toolresult.LineRequest{FilePath: path, Line: 1})
		if err == nil {
			t.Error("FindLine of a missing file gives no error")
		}
	})
}

func lineStart(content string, line int64) int64 {
	start := 0
	for ; line > 1; line-- {
		next := strings.IndexByte(content[start:], '\n')
		if next < 0 {
			return int64(len(content))
		}
		start += next + 1
	}
	return int64(start)
}

func testStater(t *testing.T, open func(t *testing.T) store[toolresult.Stater]) {
	for _, c := range contents {
		t.Run("describes "+c.name, func(t *testing.T) {
			b := open(t)
			before := time.Now()
			b.write(t, path, c.content)
			got, err := b.can.Stat(ctx(t), &toolresult.StatRequest{FilePath: path})
			if err != nil {
				t.Fatalf("Stat: %v", err)
			}
			testDescription(t, got, path, c.content, before)
		})
	}
	t.Run("missing", func(t *testing.T) {
		b := open(t)
		b.write(t, path, "there")
		for _, missing := range []string{"/large_tool_result/other", "/nowhere/call_1"} {
			_, err := b.can.Stat(ctx(t), &toolresult.StatRequest{FilePath: missing})
			wantError(t, err, fs.ErrNotExist, "Stat of a missing file")
		}
	})
}

// testDescription allows for a store whose clock is its own.
func testDescription(t *testing.T, got *toolresult.StoredFile, path, content string, before time.Time) {
	t.Helper()
	if got.FilePath != path || got.Size != int64(len(content)) {
		t.Errorf("it is described as %q of %d bytes; want %q of %d", got.FilePath, got.Size, path, len(content))
	}
	if want := lineCount(content); got.Lines != -1 && got.Lines != want {
		t.Errorf("%s is said to have %d lines; want %d, or -1", path, got.Lines, want)
	}
	if d := got.ModTime.Sub(before); d.Abs() > 10*time.Minute {
		t.Errorf("ModTime is %v off", d)
	}
}

func lineCount(content string) int64 {
	n := int64(strings.Count(content, "\n"))
	if content != "" && !strings.HasSuffix(content, "\n") {
		n++
	}
	return n
}
