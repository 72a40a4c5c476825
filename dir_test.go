package toolresult_test

import (
	"context"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

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
