package zstdbackend_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cloudwego/eino/adk/filesystem"
	"github.com/klauspost/compress/zstd"

	"github.com/eino-toolresult/toolresult"
	"github.com/eino-toolresult/toolresult/backendtest"
	"github.com/eino-toolresult/toolresult/zstdbackend"
)

func must[T any](t testing.TB) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func openDir(t testing.TB, dir string) *toolresult.DirBackend {
	t.Helper()
	b := must[*toolresult.DirBackend](t)(toolresult.NewDirBackend(context.Background(), &toolresult.DirConfig{Dir: dir}))
	t.Cleanup(func() { b.Close() })
	return b
}

func wrap(t testing.TB, cfg zstdbackend.BackendConfig) zstdbackend.Backend {
	t.Helper()
	return must[zstdbackend.Backend](t)(zstdbackend.NewBackend(context.Background(), &cfg))
}

func TestContract(t *testing.T) {
	for name, underneath := range map[string]func(t *testing.T) toolresult.Backend{
		"directory":   func(t *testing.T) toolresult.Backend { return openDir(t, t.TempDir()) },
		"Eino memory": func(t *testing.T) toolresult.Backend { return filesystem.NewInMemoryBackend() },
		"queue over a directory": func(t *testing.T) toolresult.Backend {
			b := must[toolresult.AsyncBackend](t)(toolresult.NewAsyncBackend(t.Context(), &toolresult.AsyncConfig{Backend: openDir(t, t.TempDir())}))
			t.Cleanup(func() { b.Close(context.Background()) })
			return b
		},
	} {
		for _, frame := range []int{0, 1 << 10} {
			if frame > 0 && name != "directory" {
				continue
			}
			t.Run(fmt.Sprintf("%s, frames of %d", name, frame), func(t *testing.T) {
				backendtest.Run(t, func(t *testing.T) toolresult.Backend {
					return wrap(t, zstdbackend.BackendConfig{Backend: underneath(t), FrameBytes: frame})
				})
			})
		}
	}
}

// A queue in front of the compression is the better order: then the caller does not wait for it.
func TestContractUnderQueue(t *testing.T) {
	backendtest.Run(t, func(t *testing.T) toolresult.Backend {
		b := must[toolresult.AsyncBackend](t)(toolresult.NewAsyncBackend(t.Context(), &toolresult.AsyncConfig{
			Backend: wrap(t, zstdbackend.BackendConfig{Backend: openDir(t, t.TempDir())}),
		}))
		t.Cleanup(func() { b.Close(context.Background()) })
		return b
	})
}

type noReader struct{}

func (noReader) Write(context.Context, *toolresult.WriteRequest) error { return nil }

func TestConfig(t *testing.T) {
	good := filesystem.NewInMemoryBackend()
	for _, c := range []struct {
		cfg          *zstdbackend.BackendConfig
		want, reason string
	}{
		{nil, "zstdbackend: BackendConfig.Backend is <nil>; want a Backend that is also a Reader", "a backend is required"},
		{&zstdbackend.BackendConfig{Backend: noReader{}}, "zstdbackend: BackendConfig.Backend is a zstdbackend_test.noReader; want a Backend that is also a Reader", "only this package can read what it wrote"},
		{&zstdbackend.BackendConfig{Backend: good, Level: -1}, "zstdbackend: BackendConfig.Level is -1; want 0 (for the default) to 4", "no such level"},
		{&zstdbackend.BackendConfig{Backend: good, Level: 5}, "zstdbackend: BackendConfig.Level is 5; want 0 (for the default) to 4", "no such level"},
		{&zstdbackend.BackendConfig{Backend: good, FrameBytes: 1023}, "zstdbackend: BackendConfig.FrameBytes is 1023; want 0 (for 131072), or 1024 to 8388608", "the tables would be larger than the text"},
		{&zstdbackend.BackendConfig{Backend: good, FrameBytes: -1}, "zstdbackend: BackendConfig.FrameBytes is -1; want 0 (for 131072), or 1024 to 8388608", "no negative size"},
	} {
		_, err := zstdbackend.NewBackend(t.Context(), c.cfg)
		if err == nil || err.Error() != c.want {
			t.Errorf("the error is %v; want %s: %s", err, c.want, c.reason)
		}
	}
}

func log(lines int) string {
	var text strings.Builder
	for i := range lines {
		fmt.Fprintf(&text, "2025-01-02T03:04:%02d level=info request=%08x status=%d path=/api/v1/items/%d\n", i%60, i*2654435761, 200+i%5, i%977)
	}
	return text.String()
}

func write(t testing.TB, b toolresult.Backend, path, text string) {
	t.Helper()
	if err := b.Write(t.Context(), &toolresult.WriteRequest{FilePath: path, Content: text}); err != nil {
		t.Fatal(err)
	}
}

func read(t testing.TB, b toolresult.Reader, req toolresult.ReadRequest) string {
	t.Helper()
	return must[*toolresult.FileContent](t)(b.Read(t.Context(), &req)).Content
}

// What is stored is small, and readable for everybody who has zstd: the tables are skipped.
func TestStoredForm(t *testing.T) {
	dir := t.TempDir()
	b := wrap(t, zstdbackend.BackendConfig{Backend: openDir(t, dir)})
	text := log(100_000)
	write(t, b, "/r/1", text)
	packed := must[[]byte](t)(os.ReadFile(filepath.Join(dir, "r/1")))
	if len(packed)*4 > len(text) {
		t.Errorf("%d bytes take %d in the store; want a quarter at most", len(text), len(packed))
	}
	plain := must[*zstd.Decoder](t)(zstd.NewReader(bytes.NewReader(packed)))
	defer plain.Close()
	if got := must[[]byte](t)(io.ReadAll(plain)); string(got) != text {
		t.Error("a zstd decoder that knows nothing of tables reads something else")
	}
}

// metered counts what is read from the store.
type metered struct {
	*toolresult.DirBackend
	bytes int
}

func (m *metered) ReadRange(ctx context.Context, req *toolresult.RangeRequest) (string, error) {
	text, err := m.DirBackend.ReadRange(ctx, req)
	m.bytes += len(text)
	return text, err
}

func (m *metered) Read(context.Context, *toolresult.ReadRequest) (*toolresult.FileContent, error) {
	return nil, errors.New("the whole file was asked for")
}

func TestPagesAreCheap(t *testing.T) {
	store := &metered{DirBackend: openDir(t, t.TempDir())}
	b := wrap(t, zstdbackend.BackendConfig{Backend: store})
	text := log(200_000)
	lines := strings.Split(text, "\n")
	write(t, b, "/r/1", text)
	for i, page := range []struct{ offset, most int }{
		{100_000, 100_000}, // the tables, and a frame or two
		{100_010, 40_000},  // a frame or two
		{5, 20_000},        // a frame
	} {
		store.bytes = 0
		got := read(t, b, toolresult.ReadRequest{FilePath: "/r/1", Offset: page.offset, Limit: 10})
		if want := strings.Join(lines[page.offset-1:page.offset+9], "\n"); got != want {
			t.Errorf("page %d is %q; want %q", i, got, want)
		}
		if store.bytes > page.most {
			t.Errorf("page %d has read %d bytes from the store; want %d at most", i, store.bytes, page.most)
		}
	}
}

// What was stored before the backend was wrapped, or beside it, is read as it is.
func TestReadsPlainFiles(t *testing.T) {
	packed := func(text string) string {
		dir := t.TempDir()
		write(t, wrap(t, zstdbackend.BackendConfig{Backend: openDir(t, dir)}), "/r", text)
		return string(must[[]byte](t)(os.ReadFile(filepath.Join(dir, "r"))))
	}
	whole := packed("some text\nand more\n")
	for _, c := range []struct{ name, stored, reason string }{
		{"empty", "", "nothing"},
		{"plain", log(30_000), "text"},
		{"short", "12345678", "shorter than a footer"},
		{"cut at the end", whole[:len(whole)-1], "no footer"},
		{"cut in front", whole[1:], "the frames do not end where the tables begin"},
		{"longer in front", "x" + whole, "likewise"},
		{"tables alone", whole[len(whole)-62:], "likewise"},
		{"other table", strings.Replace(whole, "tool result", "TOOL RESULT", 1), "a seekable file of somebody else"},
		{"forged footer", strings.Repeat("x", 100) + "\xff\xff\xff\xff\x80\xb1\xea\x92\x8f", "a table larger than the file"},
	} {
		for _, store := range []toolresult.Backend{openDir(t, t.TempDir()), filesystem.NewInMemoryBackend()} {
			write(t, store, "/r", c.stored)
			b := wrap(t, zstdbackend.BackendConfig{Backend: store})
			if got := read(t, b, toolresult.ReadRequest{FilePath: "/r"}); got != c.stored {
				t.Errorf("%s, %T: it is not read as it is stored: %s", c.name, store, c.reason)
			}
			plain := read(t, store.(toolresult.Reader), toolresult.ReadRequest{FilePath: "/r", Offset: 2, Limit: 9})
			if got := read(t, b, toolresult.ReadRequest{FilePath: "/r", Offset: 2, Limit: 9}); got != plain {
				t.Errorf("%s, %T: lines are %q; want %q: %s", c.name, store, got, plain, c.reason)
			}
		}
	}
}

// One wrong bit is an error, or hits nothing that matters; it is never wrong text.
func TestDamage(t *testing.T) {
	dir := t.TempDir()
	text := log(2000)
	write(t, wrap(t, zstdbackend.BackendConfig{Backend: openDir(t, dir), FrameBytes: 4 << 10}), "/r", text)
	file := filepath.Join(dir, "r")
	whole := must[[]byte](t)(os.ReadFile(file))
	tables := bytes.Index(whole, []byte("tool result")) - 8
	for range 100 {
		damaged := bytes.Clone(whole)
		damaged[rand.IntN(tables)] ^= 1 << rand.IntN(8)
		if err := os.WriteFile(file, damaged, 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := wrap(t, zstdbackend.BackendConfig{Backend: openDir(t, dir)}).Read(t.Context(), &toolresult.ReadRequest{FilePath: "/r"})
		if err == nil && got.Content != text {
			t.Fatal("damage has changed the text, and nobody has noticed")
		}
		var inPath *fs.PathError
		if err != nil && !errors.As(err, &inPath) {
			t.Errorf("the error does not name the path: %v", err)
		}
	}
}

// Readers of a result that is replaced all the time see one version or another, or an error.
func TestTornReads(t *testing.T) {
	b := wrap(t, zstdbackend.BackendConfig{Backend: openDir(t, t.TempDir()), FrameBytes: 1 << 10})
	version := func(i int) string { return strings.Repeat(fmt.Sprintf("version %06d\n", i), 1000+i%3*500) }
	write(t, b, "/r", version(0))
	stop := time.Now().Add(time.Second / 2)
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := 1; time.Now().Before(stop); i++ {
			if err := b.Write(t.Context(), &toolresult.WriteRequest{FilePath: "/r", Content: version(i)}); err != nil {
				t.Error(err)
				return
			}
			time.Sleep(time.Millisecond)
		}
	})
	whole := 0
	wg.Go(func() {
		for time.Now().Before(stop) {
			got, err := b.Read(t.Context(), &toolresult.ReadRequest{FilePath: "/r"})
			if err != nil {
				continue
			}
			whole++
			first, _, _ := strings.Cut(got.Content, "\n")
			if got.Content != strings.Repeat(first+"\n", strings.Count(got.Content, "\n")) {
				t.Error("torn")
				return
			}
		}
	})
	wg.Wait()
	if whole == 0 {
		t.Error("no read came through")
	}
}

func TestUploadUnderContext(t *testing.T) {
	dir := t.TempDir()
	b := wrap(t, zstdbackend.BackendConfig{Backend: openDir(t, dir)})
	ctx, cancel := context.WithCancel(t.Context())
	upload := must[toolresult.Upload](t)(b.(toolresult.Creator).Create(ctx, &toolresult.CreateRequest{FilePath: "/u"}))
	must[int](t)(io.WriteString(upload, log(10_000)))
	cancel()
	if _, err := io.WriteString(upload, "more"); !errors.Is(err, context.Canceled) {
		t.Errorf("a write after the end of the context gives %v", err)
	}
	if err := upload.Commit(); !errors.Is(err, context.Canceled) {
		t.Errorf("Commit of what has lost a write gives %v", err)
	}
	if left := must[[]os.DirEntry](t)(os.ReadDir(filepath.Join(dir, ".toolresult"))); len(left) > 0 {
		t.Errorf("%d unfinished files are left", len(left))
	}
}

func FuzzRoundTrip(f *testing.F) {
	f.Add([]byte("a\nb\n"), 3, 2)
	f.Add([]byte(log(200)), 7, 5000)
	f.Add([]byte("\n\n\n"), 1, 1)
	store := filesystem.NewInMemoryBackend()
	b := must[zstdbackend.Backend](f)(zstdbackend.NewBackend(context.Background(), &zstdbackend.BackendConfig{Backend: store, FrameBytes: 1 << 10}))
	f.Fuzz(func(t *testing.T, text []byte, repeat, line int) {
		content := strings.Repeat(string(text), min(max(repeat, 0), 100))
		write(t, b, "/packed", content)
		write(t, store, "/plain", content)
		line = max(line, 0) // a very negative one is too much for Eino
		for _, req := range []toolresult.ReadRequest{{}, {Offset: line}, {Offset: line, Limit: 3}, {Limit: line}} {
			req.FilePath = "/packed"
			got := read(t, b, req)
			req.FilePath = "/plain"
			if want := read(t, store, req); got != want {
				t.Errorf("Read(%+v) gives %q; want %q", req, got, want)
			}
		}
	})
}

// Neither half of the codec keeps a goroutine, so that there is nothing to close.
func TestLeavesNoGoroutine(t *testing.T) {
	b := wrap(t, zstdbackend.BackendConfig{Backend: filesystem.NewInMemoryBackend()})
	write(t, b, "/r", log(10_000))
	read(t, b, toolresult.ReadRequest{FilePath: "/r"})
	stacks := make([]byte, 1<<20)
	if stacks = stacks[:runtime.Stack(stacks, true)]; bytes.Contains(stacks, []byte("klauspost")) {
		t.Errorf("%s", stacks)
	}
}

func BenchmarkPage(b *testing.B) {
	store := wrap(b, zstdbackend.BackendConfig{Backend: openDir(b, b.TempDir())})
	write(b, store, "/r", log(2_500_000))
	req := toolresult.ReadRequest{FilePath: "/r", Limit: 100}
	for i := 0; b.Loop(); i++ {
		req.Offset = 1_000_000 + i%1000*1000
		read(b, store, req)
	}
}

func BenchmarkWrite(b *testing.B) {
	text := log(100_000)
	for _, level := range []zstd.EncoderLevel{zstd.SpeedFastest, zstd.SpeedDefault} {
		b.Run(level.String(), func(b *testing.B) {
			store := wrap(b, zstdbackend.BackendConfig{Backend: openDir(b, b.TempDir()), Level: level})
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				write(b, store, "/r", text)
			}
		})
	}
}
