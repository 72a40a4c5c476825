package s3sweep_test

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gocloud.dev/blob"
	"gocloud.dev/blob/memblob"
	_ "gocloud.dev/blob/s3blob"

	"github.com/eino-toolresult/toolresult"
	"github.com/eino-toolresult/toolresult/blobbackend"
	"github.com/eino-toolresult/toolresult/blobbackend/s3sweep"
	"github.com/eino-toolresult/toolresult/internal/gateway"
)

var server *gateway.Server // nil where it is not installed

func TestMain(m *testing.M) {
	os.Exit(gateway.RunTests(m, &server))
}

// unfinished are the uploads that a bucket has parts of.
func unfinished(t *testing.T, bucket *blob.Bucket, name string) int {
	t.Helper()
	var client *s3.Client
	require.True(t, bucket.As(&client))
	out, err := client.ListMultipartUploads(t.Context(), &s3.ListMultipartUploadsInput{Bucket: &name})
	require.NoError(t, err)
	return len(out.Uploads)
}

// giveUp aborts an upload of which parts are in the store already.
func giveUp(t *testing.T, bucket *blob.Bucket, prefix string) {
	t.Helper()
	b, err := blobbackend.New(t.Context(), &blobbackend.Config{Bucket: bucket, Prefix: prefix})
	require.NoError(t, err)
	u, err := b.Create(t.Context(), &toolresult.CreateRequest{FilePath: "/a"})
	require.NoError(t, err)
	_, err = u.WriteString(strings.Repeat("x", 30<<20))
	require.NoError(t, err)
	require.NoError(t, u.Abort())
}

func TestSweep(t *testing.T) {
	if server == nil {
		t.Skip(gateway.HowToGet)
	}
	require.NoError(t, server.MakeBucket("sweep"))
	bucket, err := blob.OpenBucket(t.Context(), server.URL("sweep"))
	require.NoError(t, err)
	giveUp(t, bucket, "ours")
	giveUp(t, bucket, "theirs")
	require.Equal(t, 2, unfinished(t, bucket, "sweep"), "what is given up stays in the store, out of sight")

	dropped, err := s3sweep.Sweep(t.Context(), &s3sweep.Config{Bucket: bucket, Prefix: "/ours/"})
	require.NoError(t, err)
	assert.Zero(t, dropped, "nothing is a day old")

	time.Sleep(1100 * time.Millisecond) // the store's times are whole seconds
	dropped, err = s3sweep.Sweep(t.Context(), &s3sweep.Config{Bucket: bucket, Prefix: "/ours/", MinAge: 1})
	require.NoError(t, err)
	assert.Equal(t, 1, dropped)
	assert.Equal(t, 1, unfinished(t, bucket, "sweep"), "that of another prefix is left alone")

	view := blob.PrefixedBucket(bucket, "theirs/")
	defer view.Close()
	dropped, err = s3sweep.Sweep(t.Context(), &s3sweep.Config{Bucket: view, MinAge: 1})
	require.NoError(t, err)
	assert.Equal(t, 1, dropped, "also through a view of the bucket")
	assert.Zero(t, unfinished(t, view, "sweep"))

	missing, err := blob.OpenBucket(t.Context(), server.URL("missing"))
	require.NoError(t, err)
	defer missing.Close()
	_, err = s3sweep.Sweep(t.Context(), &s3sweep.Config{Bucket: missing})
	assert.ErrorContains(t, err, "s3sweep: bucket missing: ")
}

func TestSweepRefuses(t *testing.T) {
	mem := memblob.OpenBucket(nil)
	defer mem.Close()
	for _, c := range []struct {
		cfg  *s3sweep.Config
		want string
	}{
		{nil, "Config.Bucket is nil"},
		{&s3sweep.Config{}, "Config.Bucket is nil"},
		{&s3sweep.Config{Bucket: mem, MinAge: -1}, "Config.MinAge is -1ns; want 0 (for 24 hours) or more"},
		{&s3sweep.Config{Bucket: mem, Prefix: "../x"}, `Config.Prefix is "../x"; want`},
	} {
		_, err := s3sweep.Sweep(context.Background(), c.cfg)
		assert.ErrorContains(t, err, c.want)
	}
	_, err := s3sweep.Sweep(context.Background(), &s3sweep.Config{Bucket: mem})
	assert.True(t, errors.Is(err, errors.ErrUnsupported), "nothing of the kind is left in memory")
}
