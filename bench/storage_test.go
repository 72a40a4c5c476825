package bench_test

// The directory backend beside os.WriteFile, io.Copy and eino-ext's local backend, on real files. All sides of a question take
// turns within one benchmark, so that a disk which is slow for a while is slow for all of them.

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cloudwego/eino-ext/adk/backend/local"
	"github.com/cloudwego/eino/adk/filesystem"
	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/schema"
	"github.com/eino-toolresult/toolresult"
)

// BenchmarkWrite asks what the care costs: a temporary file, a name that is given only once, and an index of lines. A result
// comes as a string, which os.WriteFile can only take as a copy; the row for ready bytes is the one that we lose.
func BenchmarkWrite(b *testing.B) {
	for _, size := range []int{100e3, 100e6} {
		b.Run(fmt.Sprintf("bytes=%d", size), func(b *testing.B) {
			dir := b.TempDir()
			text := logText(size, 1)
			data := []byte(text)
			ours, theirs := newDir(b, dir), newLocal(b)
			writing := func(by string, write func(name string) error) rival {
				return rival{by, writingAnew(b, dir, by, size, write)}
			}
			inTurn(b,
				writing("ours", func(name string) error {
					return ours.Write(b.Context(), &toolresult.WriteRequest{FilePath: name, Content: text})
				}),
				writing("os.WriteFile", func(name string) error {
					return os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600)
				}),
				writing("ready-bytes", func(name string) error {
					return os.WriteFile(filepath.Join(dir, name), data, 0o600)
				}),
				writing("eino-ext", func(name string) error {
					return theirs.Write(b.Context(), &filesystem.WriteRequest{FilePath: filepath.Join(dir, name), Content: text})
				}))
		})
	}
}

// writingAnew writes a file that is not there before each op: to write over an old one costs something else.
func writingAnew(tb testing.TB, dir, name string, size int, write func(name string) error) contender {
	remove := func() {
		if err := os.Remove(filepath.Join(dir, name)); err != nil && !os.IsNotExist(err) {
			tb.Fatal(err)
		}
	}
	op := func() { check(tb, write(name)) }
	op()
	if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Size() != int64(size) {
		tb.Fatalf("%s: want %d bytes, got %v, %v", name, size, info, err)
	}
	return contender{prepare: remove, op: op}
}

// BenchmarkPageOfLargeFile asks what a model waits for a page from the middle of 200 MB. Ours is all that its read tool does;
// theirs is the backend alone, which reads up to the line every time.
func BenchmarkPageOfLargeFile(b *testing.B) {
	const line, lines = 1_000_000, 100
	dir := b.TempDir()
	ours, theirs := newDir(b, dir), newLocal(b)
	text := strings.Repeat(strings.Repeat("x", 99)+"\n", 2_000_000)
	check(b, ours.Write(b.Context(), &toolresult.WriteRequest{FilePath: "/large_tool_result/big", Content: text}))
	read, err := toolresult.NewReadTool(b.Context(), &toolresult.ReadConfig{Backend: ours})
	check(b, err)
	arguments, err := json.Marshal(map[string]any{"file_path": "/large_tool_result/big", "offset": line, "limit": lines})
	check(b, err)
	page := func() {
		said, err := read.InvokableRun(b.Context(), string(arguments))
		check(b, err)
		if !strings.Contains(said, "[Lines 1000000-1000099 of 2000000") {
			b.Fatalf("want the page of line %d, got %q", line, said)
		}
	}
	request := &filesystem.ReadRequest{FilePath: filepath.Join(dir, "large_tool_result", "big"), Offset: line, Limit: lines}
	theirPage := func() {
		got, err := theirs.Read(b.Context(), request)
		check(b, err)
		if len(got.Content) != 100*lines-1 { // but for the last newline
			b.Fatalf("want %d bytes, got %d", 100*lines-1, len(got.Content))
		}
	}
	inTurn(b, rival{"ours", contender{op: page}}, rival{"eino-ext", contender{op: theirPage}})
}

// BenchmarkOffloadStream asks how far a stream of 200 MB in chunks of 4 KB is behind io.Copy into a file. A pipe or a socket
// hands over a chunk at a time, and io.Copy writes it at once; a reader that fills io.Copy's buffer of 32 KB with several is
// the harder one to follow.
func BenchmarkOffloadStream(b *testing.B) {
	const size, chunk = 200 << 20, 4 << 10
	text := strings.Repeat(logText(1<<20, 1), size>>20)
	chunks := chunked(text, size/chunk)
	dir := b.TempDir()
	copying := func(by string, source func() io.Reader) rival {
		return rival{by, writingAnew(b, dir, by, size, func(name string) error { return copyInto(filepath.Join(dir, name), source()) })}
	}
	inTurn(b,
		rival{"ours", writingAnew(b, dir, "large_tool_result/call_1", size, streamInto(b, newDir(b, dir), chunks))},
		copying("io.Copy", func() io.Reader { return &chunkReader{text, chunk} }),
		copying("full-buffers", func() io.Reader { return struct{ io.Reader }{strings.NewReader(text)} }))
}

// streamInto offloads chunks under the name that the call's ID leads to.
func streamInto(tb testing.TB, backend toolresult.Backend, chunks []string) func(string) error {
	mw, err := toolresult.NewOffload(context.Background(), &toolresult.OffloadConfig{Backend: backend})
	check(tb, err)
	endpoint := mw.Streamable(func(context.Context, *compose.ToolInput) (*compose.StreamToolOutput, error) {
		return &compose.StreamToolOutput{Result: schema.StreamReaderFromArray(chunks)}, nil
	})
	return func(string) error {
		out, err := endpoint(context.Background(), callOf(1))
		check(tb, err)
		if said := drain(tb, out.Result); said > 10_000 {
			tb.Fatalf("%d bytes arrived, want a notice", said)
		}
		return nil
	}
}

func copyInto(name string, source io.Reader) error {
	file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	if _, err := io.Copy(file, source); err != nil {
		return err
	}
	return file.Close()
}

// chunkReader hands over a chunk a time.
type chunkReader struct {
	text  string
	chunk int
}

func (r *chunkReader) Read(p []byte) (int, error) {
	if r.text == "" {
		return 0, io.EOF
	}
	n := copy(p, r.text[:min(r.chunk, len(r.text))])
	r.text = r.text[n:]
	return n, nil
}

func newDir(tb testing.TB, dir string) *toolresult.DirBackend {
	backend, err := toolresult.NewDirBackend(context.Background(), &toolresult.DirConfig{Dir: dir})
	check(tb, err)
	tb.Cleanup(func() { check(tb, backend.Close()) })
	return backend
}

func newLocal(tb testing.TB) *local.Local {
	backend, err := local.NewBackend(context.Background(), &local.Config{})
	check(tb, err)
	return backend
}

// rival is one of several sides of a comparison.
type rival struct {
	name string
	contender
}

// inTurn times a batch of each side per iteration, and reports our median beside that of every other. Who goes first rotates.
func inTurn(b *testing.B, sides ...rival) {
	sizes, times := make([]int, len(sides)), make([][]float64, len(sides))
	for i, side := range sides {
		sizes[i] = side.batchSize()
	}
	for round := 0; b.Loop(); round++ {
		for i := range sides {
			k := (round + i) % len(sides)
			times[k] = append(times[k], sides[k].perOp(sizes[k]))
		}
	}
	for i, side := range sides[1:] {
		b.ReportMetric(median(times[0])/median(times[i+1]), "x-"+side.name)
	}
	b.ReportMetric(median(times[0])/1e3, "our-µs")
	b.ReportMetric(float64(len(times[0])), "rounds")
	b.ReportMetric(0, "ns/op") // would be the time of a round
}
