package blobbackend_test

// The line index: what it saves, and that nothing depends on it.

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gocloud.dev/blob"

	"github.com/eino-toolresult/toolresult"
	"github.com/eino-toolresult/toolresult/blobbackend"
)

const indexFolder = ".toolresult/lines/"

// page reads a page as the read tool does: it looks, finds the line, and reads what is there.
func page(t testing.TB, b *blobbackend.Backend, line int64) string {
	t.Helper()
	stat, err := b.Stat(t.Context(), &toolresult.StatRequest{FilePath: "/a"})
	require.NoError(t, err)
	at, err := b.FindLine(t.Context(), &toolresult.LineRequest{FilePath: "/a", Line: line})
	require.NoError(t, err)
	text, err := b.ReadRange(t.Context(), &toolresult.RangeRequest{FilePath: "/a", Offset: at, Length: int(min(4000, stat.Size-at))})
	require.NoError(t, err)
	return text
}

func requirePage(t testing.TB, b *blobbackend.Backend, line int64, reason string) {
	t.Helper()
	require.True(t, strings.HasPrefix(page(t, b, line), fmt.Sprintf("line %d of", line)), reason)
	two, err := b.Read(t.Context(), &toolresult.ReadRequest{FilePath: "/a", Offset: int(line), Limit: 2})
	require.NoError(t, err)
	require.Equal(t, fmt.Sprintf("line %d of the result, some words behind it\nline %d of the result, some words behind it", line, line+1), two.Content, reason)
}

// TestDeepPageIsSmall counts what goes over the line.
func TestDeepPageIsSmall(t *testing.T) {
	needServer(t)
	writer, b := newProxied(t, 0)
	write(t, b, "/a", numbered(40<<20))
	stat, err := b.Stat(t.Context(), &toolresult.StatRequest{FilePath: "/a"})
	require.NoError(t, err)
	assert.Greater(t, stat.Lines, int64(800_000))

	reader, bucket := newProxy(t, server, lastBucket())
	other := newBackend(t, bucket)
	for _, c := range []struct {
		requests int
		bytes    int64
		reason   string
	}{
		{6, 64<<10 + 4000 + 10_000, "at first, with the index"},
		{5, 64<<10 + 4000, "then from memory"},
	} {
		reader.reset()
		page(t, other, 700_000)
		requests, bytes := reader.seen()
		assert.Len(t, requests, c.requests, "%s: %v", c.reason, requests)
		assert.LessOrEqual(t, bytes, c.bytes, c.reason)
	}
	writer.reset()
	page(t, b, 700_000)
	requests, _ := writer.seen()
	assert.Len(t, requests, 5, "who has written it knows its lines")
	requirePage(t, other, 700_000, "and it is the right page")
}

func TestIndexMissingOrWrong(t *testing.T) {
	text := numbered(3 << 20)
	for _, c := range []struct {
		name  string
		spoil func(t *testing.T, bucket *blob.Bucket, key string)
	}{
		{"sound", func(*testing.T, *blob.Bucket, string) {}},
		{"missing", func(t *testing.T, bucket *blob.Bucket, key string) {
			require.NoError(t, bucket.Delete(t.Context(), key))
		}},
		{"empty", overwrite(func(string) string { return "" })},
		{"cut", overwrite(func(index string) string { return index[:len(index)/2] })},
		{"damaged", overwrite(func(index string) string { return strings.Replace(index, index[40:41], "\xff", 1) })},
		{"something else", overwrite(func(string) string { return numbered(2000) })},
		{"huge", overwrite(func(index string) string { return index + strings.Repeat("\x00", 1<<20) })},
		{"of another text", func(t *testing.T, bucket *blob.Bucket, key string) {
			// The index is sound, but the text has changed under it, at the same length.
			data := strings.Replace(key, "/lines/", "/data/", 1)
			put(t, bucket, data, strings.ReplaceAll(text[:1<<20], "\n", " ")+text[1<<20:])
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			bucket := memBucket(t)
			write(t, newBackend(t, bucket), "/a", text)
			c.spoil(t, bucket, indexKey(t, bucket))
			b := newBackend(t, bucket)
			if c.name != "of another text" {
				for _, line := range []int64{60_000, 1, 2, 30_000, 65_000} {
					requirePage(t, b, line, c.name)
				}
				return
			}
			lines := int64(strings.Count(text[:1<<20], "\n"))
			got, err := b.Read(t.Context(), &toolresult.ReadRequest{FilePath: "/a", Offset: 2, Limit: 1})
			require.NoError(t, err)
			assert.Equal(t, fmt.Sprintf("line %d of the result, some words behind it", lines+2), got.Content, "what the store has counts")
		})
	}
}

func overwrite(by func(index string) string) func(t *testing.T, bucket *blob.Bucket, key string) {
	return func(t *testing.T, bucket *blob.Bucket, key string) {
		index, err := bucket.ReadAll(t.Context(), key)
		require.NoError(t, err)
		put(t, bucket, key, by(string(index)))
	}
}

func put(t testing.TB, bucket *blob.Bucket, key, content string) {
	t.Helper()
	require.NoError(t, bucket.WriteAll(t.Context(), key, []byte(content), &blob.WriterOptions{ContentType: "text/plain"}))
}

func indexKey(t *testing.T, bucket *blob.Bucket) string {
	t.Helper()
	for _, key := range keys(t, bucket) {
		if strings.HasPrefix(key, indexFolder) {
			return key
		}
	}
	t.Fatal("there is no index")
	return ""
}

// TestHugeIndex is not loaded: whoever can write into the bucket must not be able to fill a reader's memory.
func TestHugeIndex(t *testing.T) {
	needServer(t)
	bucket := s3Bucket(t)
	write(t, newBackend(t, bucket), "/a", numbered(2<<20))
	put(t, bucket, indexKey(t, bucket), strings.Repeat("x", 64<<20))
	p, through := newProxy(t, server, lastBucket())
	requirePage(t, newBackend(t, through), 30_000, "without it")
	_, bytes := p.seen()
	assert.Less(t, bytes, int64(32<<20))
}

// TestIndexSize holds the promise of the documentation.
func TestIndexSize(t *testing.T) {
	bucket := memBucket(t)
	write(t, newBackend(t, bucket), "/a", numbered(20<<20))
	attrs, err := bucket.Attributes(t.Context(), indexKey(t, bucket))
	require.NoError(t, err)
	assert.Less(t, attrs.Size, int64(800), "200 MB take 6 KB")
}

// TestNoIndexInMemory has room for none, so each is read again.
func TestNoIndexInMemory(t *testing.T) {
	b := configured(t, &blobbackend.Config{Bucket: memBucket(t), IndexBytes: 1})
	write(t, b, "/a", numbered(3<<20))
	for _, line := range []int64{60_000, 1, 30_000, 65_000} {
		requirePage(t, b, line, "without memory")
	}
}
