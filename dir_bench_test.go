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
// names that are new. Compare within one run; the figures of one disk are not those of another.
func BenchmarkDirWrite(b *testing.B) {
	for _, size := range []int{100e3, 100e6} {
		text := strings.Repeat("a line of sixty characters, as they come from a log file...\n", size/60)
		b.Run(fmt.Sprintf("bytes=%d/by=os.WriteFile", size), func(b *testing.B) {
			dir, data := b.TempDir(), []byte(text)
			benchmarkWrites(b, dir, size, func(name string) error {
				return os.WriteFile(filepath.Join(dir, name), data, 0o600)
			})
		})
		b.Run(fmt.Sprintf("bytes=%d/by=DirBackend", size), func(b *testing.B) {
			dir := b.TempDir()
			store := openDir(b, dir)
			benchmarkWrites(b, dir, size, func(name string) error {
				return store.Write(b.Context(), &toolresult.WriteRequest{FilePath: name, Content: text})
			})
		})
	}
}

// benchmarkWrites keeps at most 200 MB on the disk, and deletes with the clock stopped.
func benchmarkWrites(b *testing.B, dir string, size int, write func(name string) error) {
	b.SetBytes(int64(size))
	b.ReportAllocs()
	keep := 200_000_000 / size
	for i := 0; b.Loop(); i++ {
		require.NoError(b, write(fmt.Sprint(i)))
		if i%keep != keep-1 {
			continue
		}
		b.StopTimer()
		for old := i - keep + 1; old <= i; old++ {
			require.NoError(b, os.Remove(filepath.Join(dir, fmt.Sprint(old))))
		}
		b.StartTimer()
	}
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
