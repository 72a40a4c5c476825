package blobbackend_test

// Where the tests run: in memory, on a real S3 server in a process of its own, and on an S3 server in this process.

import (
	"fmt"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
	"github.com/stretchr/testify/require"
	"gocloud.dev/blob"
	"gocloud.dev/blob/memblob"
	_ "gocloud.dev/blob/s3blob"

	"github.com/eino-toolresult/toolresult"
	"github.com/eino-toolresult/toolresult/blobbackend"
	"github.com/eino-toolresult/toolresult/internal/gateway"
)

var (
	server  *gateway.Server // nil where it is not installed
	buckets atomic.Int64
)

func TestMain(m *testing.M) {
	os.Exit(gateway.RunTests(m, &server))
}

func needServer(t testing.TB) {
	t.Helper()
	if server == nil {
		t.Skip(gateway.HowToGet)
	}
}

// newBucket makes a bucket on the server and says its name.
func newBucket(t testing.TB) string {
	t.Helper()
	needServer(t)
	buckets.Add(1)
	require.NoError(t, server.MakeBucket(lastBucket()))
	return lastBucket()
}

func lastBucket() string { return fmt.Sprintf("results-%d", buckets.Load()) }

func openBucket(t testing.TB, url string) *blob.Bucket {
	t.Helper()
	bucket, err := blob.OpenBucket(t.Context(), url)
	require.NoError(t, err)
	t.Cleanup(func() { bucket.Close() })
	return bucket
}

func memBucket(t testing.TB) *blob.Bucket {
	t.Helper()
	bucket := memblob.OpenBucket(nil)
	t.Cleanup(func() { bucket.Close() })
	return bucket
}

func s3Bucket(t testing.TB) *blob.Bucket {
	t.Helper()
	name := newBucket(t)
	return openBucket(t, server.URL(name))
}

// fakeBucket is right for small objects only: it answers ranges of large ones wrongly.
func fakeBucket(t testing.TB) *blob.Bucket {
	t.Helper()
	backend := s3mem.New()
	require.NoError(t, backend.CreateBucket("fake"))
	fake := httptest.NewServer(gofakes3.New(backend).Server())
	t.Cleanup(fake.Close)
	return openBucket(t, gateway.URL("fake", strings.TrimPrefix(fake.URL, "http://")))
}

func newBackend(t testing.TB, bucket *blob.Bucket) *blobbackend.Backend {
	t.Helper()
	return configured(t, &blobbackend.Config{Bucket: bucket, Name: "results"})
}

func configured(t testing.TB, cfg *blobbackend.Config) *blobbackend.Backend {
	t.Helper()
	b, err := blobbackend.New(t.Context(), cfg)
	require.NoError(t, err)
	return b
}

func write(t testing.TB, b toolresult.Backend, path, content string) {
	t.Helper()
	require.NoError(t, b.Write(t.Context(), &toolresult.WriteRequest{FilePath: path, Content: content}))
}

func read(t testing.TB, b toolresult.Reader, path string) string {
	t.Helper()
	got, err := b.Read(t.Context(), &toolresult.ReadRequest{FilePath: path})
	require.NoError(t, err)
	return got.Content
}

// keys lists all that a bucket holds.
func keys(t testing.TB, bucket *blob.Bucket) (all []string) {
	t.Helper()
	objects, end := bucket.List(nil).All(t.Context())
	for object := range objects {
		all = append(all, object.Key)
	}
	require.NoError(t, end())
	return all
}

// numbered is a text of lines that say their number, of at least so many bytes.
func numbered(bytes int) string {
	var text strings.Builder
	text.Grow(bytes + 64)
	for i := 1; text.Len() < bytes; i++ {
		fmt.Fprintf(&text, "line %d of the result, some words behind it\n", i)
	}
	return text.String()
}

// damageNote takes the metadata apart that says where a large result lies.
func damageNote(t testing.TB, bucket *blob.Bucket, key string) {
	t.Helper()
	note, err := bucket.ReadAll(t.Context(), key)
	require.NoError(t, err)
	require.NoError(t, bucket.WriteAll(t.Context(), key, note, &blob.WriterOptions{Metadata: map[string]string{"toolresult-note": "1"}}))
}
