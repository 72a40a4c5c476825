package toolresult_test

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/eino-toolresult/toolresult"
)

// BenchmarkDirWrite asks what the care costs: a temporary file, a rename and an index against a plain os.WriteFile, on
// names that are new. A result comes as a string, so that os.WriteFile has to copy it; the row for bytes that are there
// already is the one that DirBackend loses. Compare within one run; the figures of one disk are not those of another.
func BenchmarkDirWrite(b *testing.B) {
	for _, size := range []int{100e3, 100e6} {
		text := strings.Repeat("a line of sixty characters, as they come from a log file...\n", size/60)
		data := []byte(text)
		dir := b.TempDir()
		store := openDir(b, dir)
		for _, c := range []struct {
			by    string
			write func(name string) error
		}{
			{"DirBackend", func(name string) error {
				return store.Write(b.Context(), &toolresult.WriteRequest{FilePath: name, Content: text})
			}},
			{"os.WriteFile,string", func(name string) error {
				return os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600)
			}},
			{"os.WriteFile,bytes", func(name string) error {
				return os.WriteFile(filepath.Join(dir, name), data, 0o600)
			}},
		} {
			b.Run(fmt.Sprintf("bytes=%d/by=%s", size, c.by), func(b *testing.B) { benchmarkWrites(b, dir, size, c.write) })
		}
	}
}

// benchmarkWrites keeps at most 200 MB on the disk, and deletes with the clock stopped.
func benchmarkWrites(b *testing.B, dir string, size int, write func(name string) error) {
	b.SetBytes(int64(size))
	b.ReportAllocs()
	keep := 200_000_000 / size
	var names []string
	clean := func() {
		for _, name := range names {
			require.NoError(b, os.Remove(filepath.Join(dir, name)))
		}
		names = names[:0]
	}
	for i := 0; b.Loop(); i++ {
		names = append(names, fmt.Sprint(i))
		require.NoError(b, write(names[len(names)-1]))
		if len(names) == keep {
			b.StopTimer()
			clean()
			b.StartTimer()
		}
	}
	clean()
}

func BenchmarkDirPage(b *testing.B) {
	const lines = 2_000_000
	dir := b.TempDir()
	store := openDir(b, dir)
	upload, err := store.Create(b.Context(), &toolresult.CreateRequest{FilePath: "/big"})
	require.NoError(b, err)
	line := strings.Repeat("x", 99) + "\n"
	for range lines {
		_, err = io.WriteString(upload, line)
		require.NoError(b, err)
	}
	require.NoError(b, upload.Commit())
	req := &toolresult.ReadRequest{FilePath: "/big", Offset: 1_000_000, Limit: 100}
	b.Run("indexed", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			page, err := store.Read(b.Context(), req)
			require.NoError(b, err)
			require.Len(b, page.Content, 100*100-1)
		}
	})
	b.Run("first", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			page, err := openDir(b, dir).Read(b.Context(), req)
			require.NoError(b, err)
			require.Len(b, page.Content, 100*100-1)
		}
	})
}
