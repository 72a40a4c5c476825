package toolresult_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eino-toolresult/toolresult"
)

// dirCalls are all that take a path.
func dirCalls(t *testing.T, b *toolresult.DirBackend, path string) map[string]error {
	ctx := t.Context()
	calls := map[string]error{
		"Write":    b.Write(ctx, &toolresult.WriteRequest{FilePath: path, Content: "evil"}),
		"WriteNew": b.WriteNew(ctx, &toolresult.WriteRequest{FilePath: path, Content: "evil"}),
		"Delete":   b.Delete(ctx, &toolresult.DeleteRequest{FilePath: path}),
	}
	_, calls["Read"] = b.Read(ctx, &toolresult.ReadRequest{FilePath: path})
	_, calls["ReadRange"] = b.ReadRange(ctx, &toolresult.RangeRequest{FilePath: path, Length: 1})
	_, calls["FindLine"] = b.FindLine(ctx, &toolresult.LineRequest{FilePath: path})
	_, calls["Stat"] = b.Stat(ctx, &toolresult.StatRequest{FilePath: path})
	upload, err := b.Create(ctx, &toolresult.CreateRequest{FilePath: path})
	if err == nil {
		err = upload.Commit()
	}
	calls["Create"] = err
	return calls
}

var dirBadPaths = []struct{ path, reason string }{
	{"", "no name"},
	{"/", "the root is no file"},
	{"//./", "nor is it in other words"},
	{"..", "above the root"},
	{"/..", "above the root"},
	{"../outside", "above the root"},
	{"/../outside", "above the root"},
	{"/r/../../outside", "above the root, through a folder"},
	{"/r/../x", "inside after all, but nobody needs it"},
	{"/r/..", "a folder in other words"},
	{"/r/../", "with a slash behind it"},
	{`..\outside`, "above the root, on Windows"},
	{`/r\x`, "a folder on Windows and a file elsewhere"},
	{`C:\x`, "another volume"},
	{"/r/x\x00", "the name would end at the NUL"},
	{"/r/\x00/x", "likewise"},
	{"/r/" + strings.Repeat("n", 256), "too long for a file system"},
	{"/" + strings.Repeat("n", 256) + "/x", "too long for a file system"},
	{strings.Repeat("/n", 513), "so many folders take long"},
	{"/.toolresult/x", "where unfinished files are"},
	{"/.TOOLRESULT/x", "the same where names are blind to case"},
	{"/./.Toolresult", "the same in other words"},
	{"/.toolresult./x", "the same on Windows"},
}

func TestDirEscapes(t *testing.T) {
	outer := t.TempDir()
	dir := filepath.Join(outer, "dir")
	b := openDir(t, dir)
	require.NoError(t, os.WriteFile(filepath.Join(outer, "outside"), []byte("secret"), 0o600))
	dirWrite(t, b, "/r/there", "text")
	for _, c := range dirBadPaths {
		for call, err := range dirCalls(t, b, c.path) {
			assert.ErrorIs(t, err, fs.ErrInvalid, "%s(%.40q): %s", call, c.path, c.reason)
		}
	}
	for file, err := range b.List(t.Context(), &toolresult.ListRequest{Prefix: "/r/../.."}) {
		assert.ErrorIs(t, err, fs.ErrInvalid, "a prefix is a path too, and not %v", file)
	}
	assert.Equal(t, []string{"dir/", "dir/.toolresult/", "dir/r/", "dir/r/there", "outside"}, tree(t, outer),
		"nothing has come or gone")
}

// tree lists a directory, and does not follow links.
func tree(t *testing.T, dir string) (names []string) {
	t.Helper()
	require.NoError(t, fs.WalkDir(os.DirFS(dir), ".", func(path string, d fs.DirEntry, err error) error {
		if d.IsDir() {
			path += "/"
		}
		if path != "./" {
			names = append(names, path)
		}
		return err
	}))
	return names
}

func TestDirCleanPaths(t *testing.T) {
	b := openDir(t, t.TempDir())
	dirWrite(t, b, "/a/b", "text")
	for _, c := range []struct{ path, reason string }{
		{"a/b", "every path begins at the root"},
		{"//a//b", "slashes count once"},
		{"/a/./b", "a dot is nothing"},
		{"/a/b/", "a slash at the end does not make it a folder"},
	} {
		assert.Equal(t, "text", dirRead(t, b, c.path), c.reason)
	}
	for _, c := range []struct{ path, reason string }{
		{"/r/..x", "two dots are a part only by themselves"},
		{"/r/x..", "likewise"},
		{"/r/...", "three dots are a name"},
		{"/r/.toolresult/x", "only the one at the root is reserved"},
		{"/" + strings.Repeat("n", 255), "the longest name there is"},
		{"/r/日本語 😀\n\"'*?<>|:", "where the file system has no rules, we add none"},
	} {
		if err := b.Write(t.Context(), &toolresult.WriteRequest{FilePath: c.path, Content: c.path}); err != nil && filepath.Separator != '/' {
			continue // Windows has rules
		} else {
			require.NoError(t, err, c.reason)
		}
		assert.Equal(t, c.path, dirRead(t, b, c.path), c.reason)
	}
}

// Where names are blind to case, the second of two such names is taken. In no case may the first result be lost.
func TestDirCaseBlindNames(t *testing.T) {
	dir := t.TempDir()
	b := openDir(t, dir)
	require.NoError(t, b.WriteNew(t.Context(), &toolresult.WriteRequest{FilePath: "/r/Call", Content: "upper"}))
	err := b.WriteNew(t.Context(), &toolresult.WriteRequest{FilePath: "/r/call", Content: "lower"})
	if _, statErr := os.Stat(filepath.Join(dir, "R")); statErr == nil {
		assert.ErrorIs(t, err, fs.ErrExist, "this file system is blind to case")
	} else {
		require.NoError(t, err, "this file system is not blind to case")
		assert.Equal(t, "lower", dirRead(t, b, "/r/call"))
	}
	assert.Equal(t, "upper", dirRead(t, b, "/r/Call"))
}

// A link may stand anywhere. It is never followed: not out of the directory, and not to another place inside.
func TestDirSymlinks(t *testing.T) {
	for _, target := range []struct{ folder, reason string }{
		{"../outside", "out of the directory"},
		{"inside", "to another place inside: another session, for instance"},
	} {
		outer := t.TempDir()
		dir := filepath.Join(outer, "dir")
		b := openDir(t, dir)
		for _, folder := range []string{"outside", "dir/inside"} {
			require.NoError(t, os.MkdirAll(filepath.Join(outer, folder), 0o700))
			require.NoError(t, os.WriteFile(filepath.Join(outer, folder, "secret"), []byte("secret"), 0o600))
		}
		link := func(to, at string) {
			require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, at)), 0o700))
			if err := os.Symlink(to, filepath.Join(dir, at)); err != nil {
				t.Skip("cannot make symbolic links here:", err)
			}
		}
		link(target.folder, "first")
		link("../"+target.folder, "r/middle")
		link("../"+target.folder+"/secret", "r/last")
		link("../"+target.folder+"/none", "r/dangling")
		before := tree(t, outer)
		for _, path := range []string{"/first/secret", "/first/new", "/r/middle/secret", "/r/middle/new/deep", "/r/last", "/r/last/", "/r/dangling"} {
			testDirSymlink(t, b, path, target.reason)
		}
		for file, err := range b.List(t.Context(), &toolresult.ListRequest{}) {
			require.NoError(t, err)
			assert.Equal(t, "/inside/secret", file.FilePath, "a link is not listed: %s", target.reason)
		}
		assert.Equal(t, before, tree(t, outer), "nothing has come or gone: %s", target.reason)
		for _, folder := range []string{"outside", "dir/inside"} {
			got, err := os.ReadFile(filepath.Join(outer, folder, "secret"))
			require.NoError(t, err)
			assert.Equal(t, "secret", string(got), target.reason)
		}
	}
}

// testDirSymlink leaves out Write on a link that is the last part: see TestDirReplacesLink.
func testDirSymlink(t *testing.T, b *toolresult.DirBackend, path, reason string) {
	t.Helper()
	ctx := t.Context()
	errs := map[string]error{
		"WriteNew": b.WriteNew(ctx, &toolresult.WriteRequest{FilePath: path, Content: "evil"}),
		"Delete":   b.Delete(ctx, &toolresult.DeleteRequest{FilePath: path}),
	}
	_, errs["Read"] = b.Read(ctx, &toolresult.ReadRequest{FilePath: path})
	_, errs["Stat"] = b.Stat(ctx, &toolresult.StatRequest{FilePath: path})
	for call, err := range errs {
		assert.Error(t, err, "%s(%q): %s", call, path, reason)
	}
	for file := range b.List(ctx, &toolresult.ListRequest{Prefix: path}) {
		t.Errorf("List(%q) gives %s: %s", path, file.FilePath, reason)
	}
}

func TestDirReplacesLink(t *testing.T) {
	outer := t.TempDir()
	outside, dir := filepath.Join(outer, "outside"), filepath.Join(outer, "dir")
	require.NoError(t, os.WriteFile(outside, []byte("secret"), 0o600))
	b := openDir(t, dir)
	if err := os.Symlink(outside, filepath.Join(dir, "link")); err != nil {
		t.Skip("cannot make symbolic links here:", err)
	}
	dirWrite(t, b, "/link", "text")
	assert.Equal(t, "text", dirRead(t, b, "/link"), "Write puts a file in the place of the link")
	got, err := os.ReadFile(outside)
	require.NoError(t, err)
	assert.Equal(t, "secret", string(got), "and leaves alone what it pointed to")
}

// The hidden folder is a folder, or the directory is not opened.
func TestDirHiddenIsLink(t *testing.T) {
	outer := t.TempDir()
	dir := filepath.Join(outer, "dir")
	require.NoError(t, os.MkdirAll(dir, 0o700))
	if err := os.Symlink("..", filepath.Join(dir, dirHidden)); err != nil {
		t.Skip("cannot make symbolic links here:", err)
	}
	_, err := toolresult.NewDirBackend(t.Context(), &toolresult.DirConfig{Dir: dir})
	require.ErrorContains(t, err, "not a folder")
}

func FuzzDirPath(f *testing.F) {
	for _, c := range dirBadPaths {
		f.Add(c.path)
	}
	for _, path := range []string{"/large_tool_result/call_1", "a/b/c", "/a/./b//c/", "日本語"} {
		f.Add(path)
	}
	outer := f.TempDir()
	b := openDir(f, filepath.Join(outer, "dir"))
	f.Fuzz(func(t *testing.T, path string) {
		if b.WriteNew(t.Context(), &toolresult.WriteRequest{FilePath: path, Content: path}) != nil {
			return
		}
		require.Equal(t, path, dirRead(t, b, path), "what was written can be read")
		stored, err := b.Stat(t.Context(), &toolresult.StatRequest{FilePath: path})
		require.NoError(t, err)
		for file, err := range b.List(t.Context(), &toolresult.ListRequest{}) {
			require.NoError(t, err)
			require.Equal(t, stored.FilePath, file.FilePath, "what was written is listed, and nothing else is there")
			require.Equal(t, path, dirRead(t, b, file.FilePath), "what is listed can be read")
		}
		require.NoError(t, b.Delete(t.Context(), &toolresult.DeleteRequest{FilePath: path}))
		require.Equal(t, []string{"dir/", "dir/.toolresult/"}, tree(t, outer), "it was inside, and has gone")
	})
}
