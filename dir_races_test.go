package toolresult_test

// What readers, writers and sweepers see of each other in one directory, and where its lines are.

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eino-toolresult/toolresult"
)

// A writer replaces a result again and again. Each read must give one version of it, and each page lines of one.
func TestDirTornReads(t *testing.T) {
	b := openDir(t, t.TempDir())
	version := func(i int) string {
		return strings.Repeat(fmt.Sprintf("version %06d\n", i), 20_000+i%3*7000)
	}
	dirWrite(t, b, "/r", version(0))
	stop := time.Now().Add(time.Second)
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := 1; time.Now().Before(stop); i++ {
			if !assert.NoError(t, b.Write(t.Context(), &toolresult.WriteRequest{FilePath: "/r", Content: version(i)})) {
				return
			}
		}
	})
	for _, req := range []toolresult.ReadRequest{{}, {Offset: 19_000, Limit: 500}, {Offset: 1, Limit: 3}} {
		req.FilePath = "/r"
		wg.Go(func() {
			for time.Now().Before(stop) {
				got, err := b.Read(t.Context(), &req)
				if !assert.NoError(t, err) {
					return
				}
				first, _, _ := strings.Cut(got.Content, "\n")
				lines := strings.Count(got.Content, first)
				if !assert.Equal(t, strings.TrimSuffix(strings.Repeat(first+"\n", lines), "\n"), strings.TrimSuffix(got.Content, "\n"), "torn") {
					return
				}
			}
		})
	}
	wg.Wait()
}

// Backends on one directory are to each other as processes are: they share nothing but the files.
func TestDirOneWinner(t *testing.T) {
	const writers = 64
	dir := t.TempDir()
	for round := range 10 {
		path := fmt.Sprint("/r/", round)
		won := make(chan string, writers)
		var wg sync.WaitGroup
		for i := range writers {
			b := openDir(t, dir)
			wg.Go(func() {
				content := strings.Repeat(fmt.Sprintln("writer", i), 1000)
				err := b.WriteNew(t.Context(), &toolresult.WriteRequest{FilePath: path, Content: content})
				if err == nil {
					won <- content
				} else {
					assert.ErrorIs(t, err, fs.ErrExist)
				}
			})
		}
		wg.Wait()
		require.Len(t, won, 1, "one winner")
		require.Equal(t, <-won, dirRead(t, openDir(t, dir), path), "and what he wrote is there")
	}
	require.Empty(t, unfinished(t, dir))
}

// A large result is in memory already. It must not be there twice.
func TestDirCopiesNothing(t *testing.T) {
	const size = 32 << 20
	b := openDir(t, t.TempDir())
	text := strings.Repeat("0123456789abcde\n", size/16)
	for name, write := range map[string]func(){
		"Write": func() { dirWrite(t, b, "/r", text) },
		"Create": func() {
			upload, err := b.Create(t.Context(), &toolresult.CreateRequest{FilePath: "/u"})
			require.NoError(t, err)
			for at := 0; at < size; at += 4096 {
				_, err = io.WriteString(upload, text[at:at+4096])
				require.NoError(t, err)
			}
			require.NoError(t, upload.Commit())
		},
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		write()
		runtime.ReadMemStats(&after)
		require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(1<<20), "%s of 32 MiB takes less than 1 MiB", name)
	}
}

// Writers, in several backends on one directory as in several processes, and a deleter that takes their folder away.
func TestDirFolderVanishes(t *testing.T) {
	dir := t.TempDir()
	var wg sync.WaitGroup
	for w := range 4 {
		b := openDir(t, dir)
		wg.Go(func() {
			for i := range 200 {
				path := fmt.Sprintf("/session/x/%d-%d", w, i)
				err := b.WriteNew(t.Context(), &toolresult.WriteRequest{FilePath: path, Content: path})
				if !assert.NoError(t, err) || !assert.NoError(t, b.Delete(t.Context(), &toolresult.DeleteRequest{FilePath: path})) {
					return
				}
			}
		})
	}
	wg.Wait()
	require.NoDirExists(t, filepath.Join(dir, "session"), "the last one out removes the folders")
	require.Empty(t, unfinished(t, dir))
}

func TestDirHiddenFolderVanishes(t *testing.T) {
	dir := t.TempDir()
	b := openDir(t, dir)
	require.NoError(t, os.RemoveAll(filepath.Join(dir, dirHidden)))
	dirWrite(t, b, "/r", "text")
	require.Equal(t, "text", dirRead(t, b, "/r"), "somebody tidied up, and we go on")
}

func TestDirSweepsLeftOvers(t *testing.T) {
	dir := t.TempDir()
	openDir(t, dir)
	hidden := filepath.Join(dir, dirHidden)
	for name, age := range map[string]time.Duration{
		"unfinished-OLD": 25 * time.Hour, "unfinished-YOUNG": 23 * time.Hour, "foreign": 1000 * time.Hour,
	} {
		file := filepath.Join(hidden, name)
		require.NoError(t, os.WriteFile(file, nil, 0o600))
		require.NoError(t, os.Chtimes(file, time.Time{}, time.Now().Add(-age)))
	}
	b := openDir(t, dir)
	require.ElementsMatch(t, []string{"unfinished-YOUNG", "foreign"}, unfinished(t, dir),
		"what is older than a day goes; what may still be written stays, and so does what is not ours")
	for file, err := range b.List(t.Context(), &toolresult.ListRequest{}) {
		require.NoError(t, err)
		t.Errorf("List shows %s, which is unfinished", file.FilePath)
	}
}

// The index must never answer for another file than the one that is there now.
func TestDirIndexIsOfThisFile(t *testing.T) {
	dir := t.TempDir()
	b, other := openDir(t, dir), openDir(t, dir)
	find := func(line int64) int64 {
		at, err := b.FindLine(t.Context(), &toolresult.LineRequest{FilePath: "/r", Line: line})
		require.NoError(t, err)
		return at
	}
	dirWrite(t, b, "/r", strings.Repeat("a\n", 100_000))
	require.EqualValues(t, 100_000, find(50_001))
	dirWrite(t, other, "/r", strings.Repeat("aaa\n", 50_000)) // as many bytes, and perhaps at the same time
	require.EqualValues(t, 40_000, find(10_001), "replaced by another process")
	dirWrite(t, b, "/r", strings.Repeat("bbbb\n", 40_000))
	require.EqualValues(t, 50_000, find(10_001), "replaced by this one")
	require.NoError(t, b.Delete(t.Context(), &toolresult.DeleteRequest{FilePath: "/r"}))
	dirWrite(t, other, "/r", strings.Repeat("a\n", 100_000))
	require.EqualValues(t, 100_000, find(50_001), "deleted and written by another process")
}

func TestDirLines(t *testing.T) {
	dir := t.TempDir()
	b := openDir(t, dir)
	dirWrite(t, b, "/r", "one\ntwo\nthree")
	lines := func(b *toolresult.DirBackend) int64 {
		file, err := b.Stat(t.Context(), &toolresult.StatRequest{FilePath: "/r"})
		require.NoError(t, err)
		return file.Lines
	}
	require.EqualValues(t, 3, lines(b), "counted while it was written")
	other := openDir(t, dir)
	require.EqualValues(t, -1, lines(other), "never read")
	_, err := other.FindLine(t.Context(), &toolresult.LineRequest{FilePath: "/r", Line: 4})
	require.NoError(t, err)
	require.EqualValues(t, 3, lines(other), "read to the end")
}

// Everything must come out right however little of it is remembered.
func TestDirSmallIndexMemory(t *testing.T) {
	for _, bytes := range []int{1, 700, 2000, 0} {
		b, err := toolresult.NewDirBackend(t.Context(), &toolresult.DirConfig{Dir: t.TempDir(), IndexBytes: bytes})
		require.NoError(t, err)
		for i := range 10 {
			dirWrite(t, b, fmt.Sprint("/r", i), strings.Repeat(fmt.Sprint(i, "\n"), 100_000))
		}
		for i := range 10 {
			got, err := b.Read(t.Context(), &toolresult.ReadRequest{FilePath: fmt.Sprint("/r", i), Offset: 99_999})
			require.NoError(t, err)
			require.Equal(t, strings.Repeat(fmt.Sprint(i, "\n"), 2), got.Content, "with %d bytes", bytes)
		}
		require.NoError(t, b.Close())
	}
}

// A stream is written in tiny pieces and found by line: the index grows as well over pieces as over a whole text.
func TestDirUploadIndex(t *testing.T) {
	b := openDir(t, t.TempDir())
	upload, err := b.Create(t.Context(), &toolresult.CreateRequest{FilePath: "/u"})
	require.NoError(t, err)
	for i := range 30_000 {
		_, err := fmt.Fprintf(upload, "line %06d\n", i+1)
		require.NoError(t, err)
	}
	require.NoError(t, upload.Commit())
	for _, line := range []int{1, 2, 5461, 5462, 15_000, 30_000} {
		got, err := b.Read(t.Context(), &toolresult.ReadRequest{FilePath: "/u", Offset: line, Limit: 1})
		require.NoError(t, err)
		require.Equal(t, fmt.Sprintf("line %06d", line), got.Content)
	}
	file, err := b.Stat(t.Context(), &toolresult.StatRequest{FilePath: "/u"})
	require.NoError(t, err)
	require.EqualValues(t, 30_000, file.Lines)
}

func TestDirDeleteRemovesEmptyFolders(t *testing.T) {
	dir := t.TempDir()
	b := openDir(t, dir)
	dirWrite(t, b, "/a/b/c/1", "")
	dirWrite(t, b, "/a/2", "")
	require.NoError(t, b.Delete(t.Context(), &toolresult.DeleteRequest{FilePath: "/a/b/c/1"}))
	require.NoDirExists(t, filepath.Join(dir, "a/b"), "no session leaves its empty folders behind")
	require.FileExists(t, filepath.Join(dir, "a/2"))
	require.NoError(t, b.Delete(t.Context(), &toolresult.DeleteRequest{FilePath: "/a/2"}))
	require.NoDirExists(t, filepath.Join(dir, "a"))
	require.DirExists(t, dir, "the directory itself stays")
}
