package layout_test

import (
	"io/fs"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eino-toolresult/toolresult/blobbackend/internal/layout"
)

func newLayout(t testing.TB, prefix string) layout.Layout {
	t.Helper()
	l, err := layout.New(prefix)
	require.NoError(t, err)
	return l
}

var results = []struct{ prefix, path, key, reason string }{
	{"", "/large_tool_result/call_1", "large_tool_result/call_1.result", "the plain case"},
	{"", "call_1", "call_1.result", "no slash in front, no folder"},
	{"", "//a/./b/", "a/b.result", "paths are cleaned"},
	{"team", "/a", "team/a.result", "below a prefix"},
	{"/team/results/", "/a", "team/results/a.result", "slashes around the prefix change nothing"},
	{"/", "/a", "a.result", "the root is no prefix"},
	{"", "/a.result", "a.result.result", "a name that ends like a key"},
	{"", "/a.result/b", "a.result+/b.result", "a folder must not end like a result"},
	{"", "/a.result+/b", "a.result++/b.result", "nor be taken for another folder"},
	{"", "/a+/b", "a+/b.result", "a plus is a plus elsewhere"},
	{"", "/日本/é ~=%2F", "日本/é ~=%2F.result", "characters are kept"},
	{"", "/x/.toolresult", "x/.toolresult.result", "the hidden folder is one of the root"},
	{"", "/.toolresults/x", ".toolresults/x.result", "and has one name"},
	{"", "/" + strings.Repeat("n", 248), strings.Repeat("n", 248) + ".result", "the longest name"},
	{"", "/" + strings.Repeat("n", 255) + "/x", strings.Repeat("n", 255) + "/x.result", "the longest folder"},
}

func TestResult(t *testing.T) {
	for _, c := range results {
		l := newLayout(t, c.prefix)
		key, err := l.Result(c.path)
		require.NoError(t, err, c.reason)
		assert.Equal(t, c.key, key, c.reason)
		back, ok := l.Path(key)
		assert.True(t, ok, c.reason)
		again, err := l.Result(back)
		require.NoError(t, err, c.reason)
		assert.Equal(t, key, again, c.reason)
	}
}

func TestResultRefuses(t *testing.T) {
	l := newLayout(t, "")
	for _, c := range []struct{ path, reason string }{
		{"", "no path"}, {"/", "the root"}, {"///", "the root"}, {".", "the root"}, {"/./", "the root"},
		{"..", "above the root"}, {"/a/../b", "even if it stays below"}, {"/a/..", "even at the end"}, {"../a", "above the root"},
		{`/a\b`, "a separator elsewhere"}, {"/a\x00b", "NUL"}, {"/a\nb", "a control character"}, {"/a\u0085b", "another"}, {"/a\xff", "not UTF-8"},
		{"/.toolresult/data/x", "ours"}, {"/.ToolResult/x", "ours on a file system that is blind to case"}, {"/.toolresult", "ours"},
		{"/" + strings.Repeat("n", 249), "the name would be longer than a file's may be"},
		{"/" + strings.Repeat("n", 256) + "/x", "and the folder"},
		{"/" + strings.Repeat("é", 128) + "/x", "bytes count"},
		{"/" + strings.Repeat("n", 248) + ".result/x", "with what escaping adds"},
		{strings.Repeat("/nnnnnnnnn", 103), "a key has 1024 bytes at the most"},
	} {
		key, err := l.Result(c.path)
		assert.ErrorIs(t, err, fs.ErrInvalid, "%q gives %q: %s", c.path, key, c.reason)
	}
}

func TestPathRefuses(t *testing.T) {
	l := newLayout(t, "team")
	for _, c := range []struct{ key, reason string }{
		{"a.result", "outside the prefix"},
		{"teams/a.result", "outside the prefix"},
		{"team/a", "no result"},
		{"team/", "a console's mark of a folder"},
		{"team/.result", "no name"},
		{"team/a/", "no result"},
		{"team/a.result/b.result", "no folder of ours"},
		{"team//a.result", "not clean"},
		{"team/a/../b.result", "not clean"},
		{"team/.toolresult/data/x", "hidden"},
		{"team/.toolresult/data/x.result", "hidden"},
	} {
		path, ok := l.Path(c.key)
		assert.False(t, ok, "%q gives %q: %s", c.key, path, c.reason)
	}
}

func TestNew(t *testing.T) {
	for _, prefix := range []string{"..", "a/../b", "a\\b", "a\xff", ".toolresult", ".toolresult/data", strings.Repeat("n", 256)} {
		_, err := layout.New(prefix)
		assert.ErrorIs(t, err, fs.ErrInvalid, prefix)
	}
}

func TestFolder(t *testing.T) {
	l := newLayout(t, "team")
	for path, want := range map[string]string{"": "team/", "/": "team/", "/a": "team/a/", "/a/": "team/a/", "/a.result/b": "team/a.result+/b/"} {
		got, err := l.Folder(path)
		require.NoError(t, err)
		assert.Equal(t, want, got, path)
	}
	_, err := l.Folder("/a/..")
	assert.ErrorIs(t, err, fs.ErrInvalid)
}

// FuzzResult holds that paths and keys are one to one, and that no key can be a folder of another: a server over a file
// system has x or x/y, but not both.
func FuzzResult(f *testing.F) {
	for _, c := range results {
		f.Add(c.prefix, c.path, c.path+"/below")
		f.Add(c.prefix, c.path, c.path+".result/below")
	}
	f.Fuzz(func(t *testing.T, prefix, a, b string) {
		l, err := layout.New(prefix)
		if err != nil {
			return
		}
		keyA, errA := l.Result(a)
		keyB, errB := l.Result(b)
		if errA == nil {
			back, ok := l.Path(keyA)
			again, err := l.Result(back)
			if !ok || err != nil || again != keyA {
				t.Fatalf("%q gives key %q, which gives %q, %v", a, keyA, back, ok)
			}
		}
		if errA != nil || errB != nil {
			return
		}
		backA, _ := l.Path(keyA)
		backB, _ := l.Path(keyB)
		if (keyA == keyB) != (backA == backB) {
			t.Fatalf("keys %q and %q, paths %q and %q", keyA, keyB, backA, backB)
		}
		for _, hidden := range []string{l.DataRoot(), l.LinesRoot()} {
			if strings.HasPrefix(keyA, hidden) || strings.HasPrefix(hidden, keyA+"/") {
				t.Fatalf("%q is in the way of %q", keyA, hidden)
			}
		}
		if strings.HasPrefix(keyB, keyA+"/") {
			t.Fatalf("%q is below %q", keyB, keyA)
		}
	})
}
