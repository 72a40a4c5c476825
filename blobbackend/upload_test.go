package blobbackend_test

import (
	"context"
	"io/fs"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eino-toolresult/toolresult"
	"github.com/eino-toolresult/toolresult/blobbackend"
)

// Sizes of uploads: held, just held, just too large, and in parts.
var sizes = map[string]int{"small": 1000, "just small": 1 << 20, "just large": 1<<20 + 1, "large": 3 << 20}

func textOf(size int) string {
	text := numbered(size)
	return text[:size]
}

func create(t testing.TB, b toolresult.Creator, path, content string) toolresult.Upload {
	t.Helper()
	u, err := b.Create(t.Context(), &toolresult.CreateRequest{FilePath: path})
	require.NoError(t, err)
	for rest := content; rest != ""; {
		piece := rest[:min(len(rest), 7777)]
		n, err := u.WriteString(piece)
		require.NoError(t, err)
		require.Equal(t, len(piece), n)
		rest = rest[len(piece):]
	}
	return u
}

func TestUploadIsRenamed(t *testing.T) {
	for name, size := range sizes {
		t.Run(name, func(t *testing.T) {
			bucket := memBucket(t)
			b := newBackend(t, bucket)
			content := textOf(size)
			write(t, b, "/taken", "the first")
			write(t, b, "/taken too", "the second")
			u := create(t, b, "/taken", content)
			require.ErrorIs(t, u.Commit(), fs.ErrExist)
			_, err := u.WriteString("more")
			assert.ErrorIs(t, err, fs.ErrClosed, "who commits has no more to say")
			other := u.(toolresult.Renamer)
			require.ErrorIs(t, other.CommitAs("/taken too"), fs.ErrExist, "another name may be taken as well")
			require.ErrorIs(t, other.CommitAs("/../x"), fs.ErrInvalid, "or be none")
			require.NoError(t, other.CommitAs("/free"), "it is still open")
			assert.Equal(t, "the first", read(t, b, "/taken"))
			assert.Equal(t, content, read(t, b, "/free"))
			assert.ErrorIs(t, u.Commit(), fs.ErrClosed, "only once")
			assert.ErrorIs(t, u.Abort(), fs.ErrClosed, "it is too late")
			assert.Equal(t, content, read(t, b, "/free"))
		})
	}
}

func TestUploadLeavesNothing(t *testing.T) {
	for name, size := range sizes {
		for how, end := range map[string]func(toolresult.Upload) error{
			"aborted":               toolresult.Upload.Abort,
			"aborted after a loss":  func(u toolresult.Upload) error { _ = u.Commit(); return u.Abort() },
			"aborted, then written": func(u toolresult.Upload) error { err := u.Abort(); _, _ = u.WriteString("more"); return err },
		} {
			t.Run(name+" "+how, func(t *testing.T) {
				bucket := memBucket(t)
				b := newBackend(t, bucket)
				write(t, b, "/a", "there")
				require.NoError(t, end(create(t, b, "/a", textOf(size))))
				assert.Equal(t, []string{"a.result"}, keys(t, bucket))
				assert.Equal(t, "there", read(t, b, "/a"))
			})
		}
	}
}

// TestUploadOutlivesContext is what a caller may rely on: a result that is complete can be committed.
func TestUploadOutlivesContext(t *testing.T) {
	for name, size := range sizes {
		t.Run(name, func(t *testing.T) {
			b := newBackend(t, memBucket(t))
			ctx, cancel := context.WithCancel(t.Context())
			u, err := b.Create(ctx, &toolresult.CreateRequest{FilePath: "/a"})
			require.NoError(t, err)
			_, err = u.Write([]byte(textOf(size)))
			require.NoError(t, err)
			cancel()
			require.NoError(t, u.Commit())
			assert.Equal(t, textOf(size), read(t, b, "/a"))
		})
	}
}

func TestUploadEndsWithContext(t *testing.T) {
	for name, size := range sizes {
		t.Run(name, func(t *testing.T) {
			bucket := memBucket(t)
			b := newBackend(t, bucket)
			ctx, cancel := context.WithCancel(t.Context())
			u, err := b.Create(ctx, &toolresult.CreateRequest{FilePath: "/a"})
			require.NoError(t, err)
			_, err = u.WriteString(textOf(size))
			require.NoError(t, err)
			cancel()
			_, err = u.WriteString("more")
			require.ErrorIs(t, err, context.Canceled)
			require.ErrorIs(t, u.Commit(), context.Canceled, "half of a result is none")
			assert.ErrorIs(t, u.Abort(), fs.ErrClosed, "Commit has cleaned up")
			assert.Empty(t, keys(t, bucket))
		})
	}
}

func TestReplace(t *testing.T) {
	for _, c := range []struct {
		first, second int
		reason        string
	}{
		{10, 20, "one object by another"},
		{3 << 20, 10, "a large result by a small one"},
		{10, 3 << 20, "a small one by a large one"},
		{3 << 20, 2 << 20, "a large one by a large one"},
	} {
		bucket := memBucket(t)
		b := newBackend(t, bucket)
		write(t, b, "/a", textOf(c.first))
		write(t, b, "/a", textOf(c.second))
		assert.Equal(t, textOf(c.second), read(t, b, "/a"), c.reason)
		stat, err := b.Stat(t.Context(), &toolresult.StatRequest{FilePath: "/a"})
		require.NoError(t, err)
		assert.EqualValues(t, c.second, stat.Size, c.reason)

		_, err = b.SweepLeftOvers(t.Context(), 1)
		require.NoError(t, err)
		assert.Equal(t, textOf(c.second), read(t, b, "/a"), "a sweep leaves what is in use")
		require.NoError(t, b.Delete(t.Context(), &toolresult.DeleteRequest{FilePath: "/a"}))
		assert.Empty(t, keys(t, bucket), c.reason)
	}
}

// TestFolderBesideResult is refused by a server over a file system where keys are not prefix-free.
func TestFolderBesideResult(t *testing.T) {
	b := newBackend(t, s3Bucket(t))
	paths := []string{"/x", "/x/y", "/x/y/z", "/x.result/y", "/x.result"}
	for _, path := range paths {
		write(t, b, path, "of "+path)
	}
	for _, path := range paths {
		assert.Equal(t, "of "+path, read(t, b, path))
	}
}

// TestNoteLength keeps a result from being taken for a note because it is as long as one.
func TestNoteLength(t *testing.T) {
	bucket := memBucket(t)
	b := newBackend(t, bucket)
	write(t, b, "/large", textOf(2<<20))
	note, err := bucket.ReadAll(t.Context(), "large.result")
	require.NoError(t, err)
	write(t, b, "/copy of a note", string(note))
	write(t, b, "/same length", strings.Repeat("x", len(note)))
	assert.Equal(t, string(note), read(t, b, "/copy of a note"))
	assert.Equal(t, strings.Repeat("x", len(note)), read(t, b, "/same length"))
	sizes := map[string]int64{}
	for file, err := range b.List(t.Context(), &toolresult.ListRequest{}) {
		require.NoError(t, err)
		sizes[file.FilePath] = file.Size
	}
	assert.Equal(t, map[string]int64{"/large": 2 << 20, "/copy of a note": int64(len(note)), "/same length": int64(len(note))}, sizes)
}

// TestForeignObjects are those that somebody else has put into the bucket.
func TestForeignObjects(t *testing.T) {
	bucket := memBucket(t)
	b := configured(t, &blobbackend.Config{Bucket: bucket, Prefix: "ours"})
	large := textOf(3 << 20)
	for key, content := range map[string]string{
		"theirs/a.result": "x", "ours/readme.txt": "x", "ours/": "", "ours//b.result": "x",
		"ours/by hand.result": "put there by hand\nwithout metadata", "ours/large by hand.result": large,
	} {
		require.NoError(t, bucket.WriteAll(t.Context(), key, []byte(content), nil))
	}
	listed := map[string]int64{}
	for file, err := range b.List(t.Context(), &toolresult.ListRequest{}) {
		require.NoError(t, err)
		listed[file.FilePath] = file.Size
	}
	assert.Equal(t, map[string]int64{"/by hand": 34, "/large by hand": 3 << 20}, listed)
	assert.Equal(t, "put there by hand\nwithout metadata", read(t, b, "/by hand"))
	stat, err := b.Stat(t.Context(), &toolresult.StatRequest{FilePath: "/by hand"})
	require.NoError(t, err)
	assert.EqualValues(t, -1, stat.Lines)
	at, err := b.FindLine(t.Context(), &toolresult.LineRequest{FilePath: "/large by hand", Line: 50_000})
	require.NoError(t, err)
	assert.True(t, strings.HasPrefix(large[at:], "line 50000 "))
	require.NoError(t, b.Delete(t.Context(), &toolresult.DeleteRequest{FilePath: "/large by hand"}))
}
