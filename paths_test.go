package toolresult_test

// Names of stored results. The IDs here were all seen in the wild or are what an attacker would try.

import (
	"context"
	"path"
	"strings"
	"testing"

	"github.com/cloudwego/eino/compose"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eino-toolresult/toolresult"
)

// plainIDs are used as they are.
func plainIDs() []string {
	return []string{
		"call_123", "call-1", "toolu_01A09q90qw90lq917835lq9", "chatcmpl-tool-8f2", "a", "A", "0", "a.b", "a..b", "x.tar.gz", "_", "-", "__", "a-b_c.d",
		"console", "com", "com10", "lpt", "nullable", "auxiliary.txt", strings.Repeat("x", 200),
	}
}

// hostileIDs must be encoded.
func hostileIDs() []string {
	return []string{
		"../../etc/passwd", "a/b", `a\b`, "..", ".", "...", "search:0", "/", "//", `\\host\share`, "C:", "c:/x", "~", "~root", "a~b",
		"a\nb", "a\"b'c", "a\x00b", "\xff", "\xff\xfe", " ", "a ", " a", "a.", ".a", ".gitignore", "*", "?", "a|b", "a<b>c", "%2e%2e", "${HOME}", "$(id)", "`id`",
		"CON", "con", "Con.txt", "con.", "NUL", "nul.tar.gz", "aux", "PRN.x", "COM1", "com0", "com9.log", "LPT1", "lpt3.a.b",
		"工具", "é", "e\u0301", "ａ", "😀", "\u202e", "\u200b", "a\u200bb", "\ufeff", "İ", "ı", "K",
		strings.Repeat("x", 201), strings.Repeat("x", 1400), strings.Repeat("y", 1400), strings.Repeat("x", 1399) + "y", strings.Repeat("/", 300), strings.Repeat("工", 300),
	}
}

func TestSafeName(t *testing.T) {
	for _, id := range plainIDs() {
		assert.Equal(t, id, toolresult.SafeName(id), "a portable file name is its own name")
	}
	seen := map[string]string{}
	for _, id := range append(append(hostileIDs(), plainIDs()...), "") {
		name := toolresult.SafeName(id)
		requireSafe(t, id, name)
		other, taken := seen[name]
		assert.False(t, taken, "%q and %q have one name, %q", id, other, name)
		seen[name] = id
		assert.NotEqual(t, name, toolresult.SafeName(name+" "), "an ID that looks encoded is an ID")
		if name != id {
			assert.NotEqual(t, name, toolresult.SafeName(name), "an ID that is another's name has a name of its own: %q", id)
		}
		assert.Equal(t, name, toolresult.SafeName(id), "always the same")
	}
}

// requireSafe holds for a name that is one segment on every file system.
func requireSafe(t testing.TB, id, name string) {
	t.Helper()
	require.NotEmpty(t, name, "%q", id)
	require.LessOrEqual(t, len(name), 200, "%q", id)
	for _, r := range name {
		require.True(t, strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.~", r), "%q has %q", name, r)
	}
	require.False(t, strings.HasPrefix(name, ".") || strings.HasSuffix(name, "."), "%q", name)
	require.Equal(t, "/p/"+name, path.Join("/p", name), "one segment below its folder")
	stem, _, _ := strings.Cut(strings.ToUpper(name), ".")
	require.NotContains(t, []string{"CON", "PRN", "AUX", "NUL", "COM0", "COM1", "COM9", "LPT0", "LPT1", "LPT9"}, stem, "a device of Windows")
}

// IDs that were seen to collide, to escape, or to break the file system elsewhere. Each gets a file of its own below the root,
// on a real disk.
func TestResultsOfHostileIDsStayApart(t *testing.T) {
	for name, open := range map[string]func() toolresult.Backend{
		"memory": func() toolresult.Backend { return newMemory() }, "directory": func() toolresult.Backend { return openDir(t, t.TempDir()) },
	} {
		backend := open()
		mw := newOffload(t, &toolresult.OffloadConfig{Backend: backend, TokenLimit: 100, PathPrefix: "/r"})
		want := map[string]string{}
		for _, id := range append(hostileIDs(), plainIDs()...) {
			text := "result of " + id + "\n" + numberedLines(100)
			p := pathIn(t, offload(t, mw, id, text))
			require.Equal(t, "/r", path.Dir(p), "%s: %q lies directly below its root", name, id)
			require.Equal(t, path.Clean(p), p, "%q", id)
			require.NotContains(t, want, p, "%s: %q", name, id)
			want[p] = text
		}
		assert.Equal(t, want, storedIn(t, backend), name)
	}
}

func TestResultsWithoutAnID(t *testing.T) {
	first, second := "first\n"+numberedLines(200), "second\n"+numberedLines(200)
	for _, way := range shapes() {
		store := newMemory()
		mw := newOffload(t, &toolresult.OffloadConfig{Backend: store, TokenLimit: 1000})
		var paths []string
		for _, text := range []string{first, second, first} {
			said, err := way.run(t, mw, &compose.ToolInput{Name: "fetch"}, text)
			require.NoError(t, err, way.name)
			paths = append(paths, pathIn(t, said))
			assert.Equal(t, text, store.stored()[pathIn(t, said)], way.name)
			assert.Contains(t, said, "\nTool Call ID: \n", "the ID is shown as it is")
		}
		assert.Equal(t, paths[0], paths[2], "%s: the name comes from the content", way.name)
		assert.Len(t, store.stored(), 2, way.name)
		assert.True(t, strings.HasPrefix(paths[0], "/large_tool_result/content~"), paths[0])
	}
	for _, id := range []string{"content", "content~", "content~" + strings.Repeat("0", 20), "content "} {
		assert.False(t, strings.HasPrefix(toolresult.SafeName(id), "content~") && id != "content ", "no ID takes the names of results without one: %q", id)
	}
}

// The suffix of a second result goes before the extension, so that a file keeps its type, and the name stays short enough.
func TestSecondNames(t *testing.T) {
	for own, want := range map[string]string{
		"/a/report.json": `^/a/report-[a-z0-9]+\.json$`, "/a/report": `^/a/report-[a-z0-9]+$`, "/a.b/report": `^/a\.b/report-[a-z0-9]+$`, "/a/.hidden": `^/a/\.hidden-[a-z0-9]+$`,
		"/a/x.tar.gz": `^/a/x\.tar-[a-z0-9]+\.gz$`, "/a/x." + strings.Repeat("e", 60): `^/a/x\.e{60}-[a-z0-9]+$`, "rel/x.txt": `^rel/x-[a-z0-9]+\.txt$`, "x": `^x-[a-z0-9]+$`,
		"/a/" + strings.Repeat("n", 255):           `^/a/n{234}-[a-z0-9]{20}$`,
		"/a/" + strings.Repeat("工", 85):            `^/a/工{78}-[a-z0-9]{20}$`,
		"/a/" + strings.Repeat("n", 250) + ".json": `^/a/n{229}-[a-z0-9]{20}\.json$`,
	} {
		store := newMemory()
		mw := newOffload(t, &toolresult.OffloadConfig{Backend: store, TokenLimit: 100, PathGenerator: func(context.Context, *compose.ToolInput) (string, error) {
			return own, nil
		}})
		first, second := "first\n"+numberedLines(100), "second\n"+numberedLines(100)
		assert.Equal(t, own, pathIn(t, offload(t, mw, "call_1", first)))
		p := pathIn(t, offload(t, mw, "call_1", second))
		assert.Regexp(t, want, p)
		assert.LessOrEqual(t, len(path.Base(p)), 255, "file systems allow no more")
		assert.Equal(t, map[string]string{own: first, p: second}, store.stored())
	}
}

func TestSafeNameServesGenerators(t *testing.T) {
	store := newMemory()
	mw := newOffload(t, &toolresult.OffloadConfig{Backend: store, TokenLimit: 100, PathGenerator: func(_ context.Context, input *compose.ToolInput) (string, error) {
		return "/sessions/" + toolresult.SafeName("user/42") + "/" + toolresult.SafeName(input.Name) + "/" + toolresult.SafeName(input.CallID) + ".txt", nil
	}})
	p := pathIn(t, offload(t, mw, "../x", numberedLines(100)))
	assert.Regexp(t, `^/sessions/user_42~[a-z0-9]{20}/fetch/___x~[a-z0-9]{20}\.txt$`, p)
}
