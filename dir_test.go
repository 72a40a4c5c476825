package toolresult_test

import (
	"context"
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

const dirHidden = ".toolresult"

func openDir(t testing.TB, dir string) *toolresult.DirBackend {
	t.Helper()
	b, err := toolresult.NewDirBackend(context.Background(), &toolresult.DirConfig{Dir: dir})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, b.Close()) })
	return b
}

func dirWrite(t testing.TB, b toolresult.Backend, path, content string) {
	t.Helper()
	require.NoError(t, b.Write(t.Context(), &toolresult.WriteRequest{FilePath: path, Content: content}))
}

func dirRead(t testing.TB, b toolresult.Reader, path string) string {
	t.Helper()
	got, err := b.Read(t.Context(), &toolresult.ReadRequest{FilePath: path})
	require.NoError(t, err)
	return got.Content
}

// unfinished lists the temporary files.
func unfinished(t testing.TB, dir string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(dir, dirHidden))
	require.NoError(t, err)
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return names
}

func TestDirConfig(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	for _, c := range []struct {
		cfg          *toolresult.DirConfig
		want, reason string
	}{
		{nil, `toolresult: DirConfig.Dir is ""; want a directory`, "a directory is required"},
		{&toolresult.DirConfig{}, `toolresult: DirConfig.Dir is ""; want a directory`, "a directory is required"},
		{&toolresult.DirConfig{Dir: t.TempDir(), IndexBytes: -1}, "toolresult: DirConfig.IndexBytes is -1; want 0 (for 4 MiB) or more", "memory is not negative"},
		{&toolresult.DirConfig{Dir: file}, "toolresult: open directory for results", "a file is no directory"},
	} {
		_, err := toolresult.NewDirBackend(t.Context(), c.cfg)
		assert.ErrorContains(t, err, c.want, c.reason)
	}
}

func TestDirCopiesConfig(t *testing.T) {
	dir := t.TempDir()
	cfg := &toolresult.DirConfig{Dir: filepath.Join(dir, "made/here")}
	b, err := toolresult.NewDirBackend(t.Context(), cfg)
	require.NoError(t, err)
	defer b.Close()
	cfg.Dir = dir
	dirWrite(t, b, "/r/1", "text")
	require.FileExists(t, filepath.Join(dir, "made/here/r/1"), "Dir is made, and /r/1 is the file r/1 below it")
}

func TestDirModes(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new")
	b := openDir(t, dir)
	dirWrite(t, b, "/large_tool_result/call_1", "text")
	require.NoError(t, b.WriteNew(t.Context(), &toolresult.WriteRequest{FilePath: "/large_tool_result/call_2"}))
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		require.NoError(t, err)
		info, err := d.Info()
		require.NoError(t, err)
		want := fs.FileMode(0o600)
		if d.IsDir() {
			want = 0o700
		}
		assert.Equal(t, want, info.Mode().Perm(), "%s: a result is nobody else's business", path)
		return nil
	})
	require.NoError(t, err)
}

func TestDirErrors(t *testing.T) {
	dir := t.TempDir()
	b := openDir(t, dir)
	dirWrite(t, b, "/folder/file", "text")
	ctx := t.Context()
	write := func(path string) error { return b.Write(ctx, &toolresult.WriteRequest{FilePath: path}) }
	read := func(path string) error {
		_, err := b.Read(ctx, &toolresult.ReadRequest{FilePath: path})
		return err
	}
	for _, c := range []struct {
		err          error
		is           error
		text, reason string
	}{
		{read("/folder/none"), fs.ErrNotExist, "read /folder/none: no such file or directory", "a missing file"},
		{read("/none/none"), fs.ErrNotExist, "read /none/none: no such file or directory", "a missing folder"},
		{read("/folder"), nil, "read /folder: is a folder", "a folder is no result"},
		{read("/folder/file/x"), nil, "read /folder/file/x: a part of the path is not a folder", "a file is no folder"},
		{write("/folder"), nil, "write /folder: is a folder", "a folder is never replaced"},
		{write("/folder/file/x"), nil, "write /folder/file/x: a part of the path is not a folder", "a file is no folder"},
		{b.WriteNew(ctx, &toolresult.WriteRequest{FilePath: "/folder/file"}), fs.ErrExist, "write /folder/file: file already exists", "the path is taken"},
		{b.WriteNew(ctx, &toolresult.WriteRequest{FilePath: "/folder"}), fs.ErrExist, "write /folder: file exists", "the path is taken by a folder"},
		{b.Delete(ctx, &toolresult.DeleteRequest{FilePath: "/folder"}), nil, "delete /folder: is a folder", "only results are deleted"},
		{write("/folder/../x"), fs.ErrInvalid, "write /folder/../x: invalid argument: want a path below the root", "no climbing"},
	} {
		require.Error(t, c.err, c.reason)
		if c.is != nil {
			assert.ErrorIs(t, c.err, c.is, c.reason)
		}
		assert.ErrorContains(t, c.err, c.text, c.reason)
		assert.NotContains(t, c.err.Error(), dir, "the model need not know where the directory is: %s", c.reason)
		var pathErr *fs.PathError
		assert.ErrorAs(t, c.err, &pathErr, c.reason)
	}
	assert.Equal(t, "text", dirRead(t, b, "/folder/file"), "no failed operation has changed anything")
	assert.Empty(t, unfinished(t, dir), "a failed write leaves nothing")
}

// Whether a disk keeps what it was told to keep only a power failure can tell. Here it is that all of the ways in work.
func TestDirSync(t *testing.T) {
	b, err := toolresult.NewDirBackend(t.Context(), &toolresult.DirConfig{Dir: t.TempDir(), Sync: true})
	require.NoError(t, err)
	defer b.Close()
	dirWrite(t, b, "/a/b/1", "one")
	require.NoError(t, b.WriteNew(t.Context(), &toolresult.WriteRequest{FilePath: "/a/b/2", Content: "two"}))
	upload, err := b.Create(t.Context(), &toolresult.CreateRequest{FilePath: "/3"})
	require.NoError(t, err)
	_, err = io.WriteString(upload, "three")
	require.NoError(t, err)
	require.NoError(t, upload.Commit())
	require.ErrorIs(t, b.WriteNew(t.Context(), &toolresult.WriteRequest{FilePath: "/3"}), fs.ErrExist)
	for path, want := range map[string]string{"/a/b/1": "one", "/a/b/2": "two", "/3": "three"} {
		require.Equal(t, want, dirRead(t, b, path))
	}
}

func TestDirClosed(t *testing.T) {
	b, err := toolresult.NewDirBackend(t.Context(), &toolresult.DirConfig{Dir: t.TempDir()})
	require.NoError(t, err)
	require.NoError(t, b.Close())
	require.ErrorIs(t, b.Write(t.Context(), &toolresult.WriteRequest{FilePath: "/x"}), fs.ErrClosed)
}

// endingContext ends after some looks at it: in the middle of things, and at the same place each time.
type endingContext struct {
	context.Context
	looks int
}

func (c *endingContext) Err() error {
	if c.looks--; c.looks < 0 {
		return context.Canceled
	}
	return nil
}

func TestDirContext(t *testing.T) {
	dir := t.TempDir()
	b := openDir(t, dir)
	text := strings.Repeat("0123456789abcde\n", 1<<18) // 4 MiB
	dirWrite(t, b, "/there", text)
	calls := map[string]func(ctx context.Context) error{
		"Write": func(ctx context.Context) error {
			return b.Write(ctx, &toolresult.WriteRequest{FilePath: "/new", Content: text})
		},
		"WriteNew": func(ctx context.Context) error {
			return b.WriteNew(ctx, &toolresult.WriteRequest{FilePath: "/new", Content: text})
		},
		"Read": func(ctx context.Context) error {
			_, err := b.Read(ctx, &toolresult.ReadRequest{FilePath: "/there"})
			return err
		},
		"FindLine": func(ctx context.Context) error {
			_, err := openDir(t, dir).FindLine(ctx, &toolresult.LineRequest{FilePath: "/there", Line: 1 << 18})
			return err
		},
		"List": func(ctx context.Context) error {
			for _, err := range b.List(ctx, &toolresult.ListRequest{}) {
				if err != nil {
					return err
				}
			}
			return nil
		},
	}
	for name, call := range calls {
		require.NoError(t, call(&endingContext{t.Context(), 1000}), "%s works while the context lasts", name)
		_ = b.Delete(t.Context(), &toolresult.DeleteRequest{FilePath: "/new"})
		for _, looks := range []int{0, 1, 3} {
			if name == "List" && looks > 1 {
				continue // it looks once for a file
			}
			require.ErrorIs(t, call(&endingContext{t.Context(), looks}), context.Canceled, "%s after %d looks", name, looks)
		}
		require.NoFileExists(t, filepath.Join(dir, "new"), "%s shows nothing", name)
		require.Empty(t, unfinished(t, dir), "%s leaves nothing", name)
	}
}

func TestDirUploadContext(t *testing.T) {
	dir := t.TempDir()
	b := openDir(t, dir)
	ctx, cancel := context.WithCancel(t.Context())
	upload, err := b.Create(ctx, &toolresult.CreateRequest{FilePath: "/u"})
	require.NoError(t, err)
	_, err = io.WriteString(upload, "first")
	require.NoError(t, err)
	cancel()
	_, err = io.WriteString(upload, "second")
	require.ErrorIs(t, err, context.Canceled, "no write after the end of the context")
	require.ErrorIs(t, upload.Commit(), context.Canceled, "what a write has lost cannot be committed")
	require.ErrorIs(t, upload.Abort(), fs.ErrClosed, "it has ended already")
	require.NoFileExists(t, filepath.Join(dir, "u"))
	require.Empty(t, unfinished(t, dir))
}

func TestDirUploadEndsOnce(t *testing.T) {
	b := openDir(t, t.TempDir())
	upload, err := b.Create(t.Context(), &toolresult.CreateRequest{FilePath: "/u"})
	require.NoError(t, err)
	require.NoError(t, upload.Commit())
	require.ErrorIs(t, upload.Commit(), fs.ErrClosed)
	require.ErrorIs(t, upload.Abort(), fs.ErrClosed)
	_, err = io.WriteString(upload, "late")
	require.Error(t, err, "nothing can be added to a result")
	require.Empty(t, dirRead(t, b, "/u"))
}

// An upload whose path is taken is still there, for another path or for nothing.
func TestDirCommitAs(t *testing.T) {
	dir := t.TempDir()
	b := openDir(t, dir)
	dirWrite(t, b, "/taken", "the first")
	begin := func() toolresult.Upload {
		upload, err := b.Create(t.Context(), &toolresult.CreateRequest{FilePath: "/taken"})
		require.NoError(t, err)
		_, err = io.WriteString(upload, "the second")
		require.NoError(t, err)
		require.ErrorIs(t, upload.Commit(), fs.ErrExist)
		require.Len(t, unfinished(t, dir), 1, "it is not thrown away")
		return upload
	}
	upload := begin()
	_, err := io.WriteString(upload, "more")
	require.ErrorIs(t, err, fs.ErrClosed, "it is finished, and only lacks a name")
	require.ErrorIs(t, upload.(toolresult.Renamer).CommitAs("/../x"), fs.ErrInvalid)
	require.ErrorIs(t, upload.(toolresult.Renamer).CommitAs("/taken/"), fs.ErrExist)
	require.NoError(t, upload.(toolresult.Renamer).CommitAs("/free"))
	require.Equal(t, "the second", dirRead(t, b, "/free"))
	require.Empty(t, unfinished(t, dir))
	require.ErrorIs(t, upload.(toolresult.Renamer).CommitAs("/again"), fs.ErrClosed, "one result has one name")
	require.NoError(t, begin().Abort())
	require.Empty(t, unfinished(t, dir))
	require.Equal(t, "the first", dirRead(t, b, "/taken"))
}

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
