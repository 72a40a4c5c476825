package blobbackend_test

import (
	"context"
	"io/fs"
	"net"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eino-toolresult/toolresult"
	"github.com/eino-toolresult/toolresult/blobbackend"
	"github.com/eino-toolresult/toolresult/internal/gateway"
)

func TestConfigRefused(t *testing.T) {
	bucket := memBucket(t)
	for _, c := range []struct {
		cfg  *blobbackend.Config
		want string
	}{
		{nil, "Config.Bucket is nil; want a bucket"},
		{&blobbackend.Config{}, "Config.Bucket is nil; want a bucket"},
		{&blobbackend.Config{Bucket: bucket, Prefix: "a/../b"}, `Config.Prefix is "a/../b"; want`},
		{&blobbackend.Config{Bucket: bucket, Prefix: ".toolresult"}, `Config.Prefix is ".toolresult"; want`},
		{&blobbackend.Config{Bucket: bucket, ContentType: "no type at all"}, `Config.ContentType is "no type at all"; want a MIME type`},
		{&blobbackend.Config{Bucket: bucket, PartBytes: 5<<20 - 1}, "Config.PartBytes is 5242879; want 0 (for 5 MiB), or 5 MiB to 1 GiB"},
		{&blobbackend.Config{Bucket: bucket, PartBytes: 1<<30 + 1}, "Config.PartBytes is 1073741825; want"},
		{&blobbackend.Config{Bucket: bucket, PartsAtOnce: -1}, "Config.PartsAtOnce is -1; want 0 (for 4), or 1 to 64"},
		{&blobbackend.Config{Bucket: bucket, PartsAtOnce: 65}, "Config.PartsAtOnce is 65; want"},
		{&blobbackend.Config{Bucket: bucket, Timeout: -1}, "Config.Timeout is -1ns; want 0 (for 1 minute) or more"},
		{&blobbackend.Config{Bucket: bucket, IndexBytes: -1}, "Config.IndexBytes is -1; want 0 (for 4 MiB) or more"},
	} {
		_, err := blobbackend.New(t.Context(), c.cfg)
		assert.ErrorContains(t, err, c.want)
	}
}

func TestNewFindsTrouble(t *testing.T) {
	name := newBucket(t)
	for _, c := range []struct {
		name, bucket, address, secret string
		timeout                       time.Duration
		kind                          error
		cause                         string
	}{
		{"wrong key", name, server.Address(), "wrong", 0, fs.ErrPermission, "SignatureDoesNotMatch"},
		{"missing bucket", "no-such-bucket", server.Address(), gateway.SecretKey, 0, nil, "NoSuchBucket"},
		{"nobody there", name, nobody(t), gateway.SecretKey, 0, nil, "connection refused"},
		{"no such host", name, "host.invalid", gateway.SecretKey, 0, nil, "host.invalid"},
		{"no answer", name, silent(t), gateway.SecretKey, time.Second, os.ErrDeadlineExceeded, "no answer for 1s"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Setenv("AWS_SECRET_ACCESS_KEY", c.secret)
			bucket := openBucket(t, gateway.URL(c.bucket, c.address))
			begun := time.Now()
			_, err := blobbackend.New(t.Context(), &blobbackend.Config{Bucket: bucket, Name: "the-" + c.bucket, Timeout: c.timeout})
			require.ErrorContains(t, err, "blobbackend: open: bucket the-"+c.bucket, "it says which bucket")
			assert.ErrorContains(t, err, c.cause, "and why")
			assert.NotErrorIs(t, err, fs.ErrNotExist, "a store that cannot be reached is not one without the result")
			if c.kind != nil {
				assert.ErrorIs(t, err, c.kind)
			}
			assert.Less(t, time.Since(begun), 10*time.Second)
		})
	}
}

// nobody is an address at which nothing listens.
func nobody(t *testing.T) string {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer listener.Close()
	return listener.Addr().String()
}

// silent is an address that takes connections and never answers.
func silent(t *testing.T) string {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { listener.Close() })
	return listener.Addr().String()
}

// TestBucketGone is a bucket that was there when the backend was made.
func TestBucketGone(t *testing.T) {
	bucket := s3Bucket(t)
	b := newBackend(t, bucket)
	write(t, b, "/a", "content")
	require.NoError(t, server.RemoveBucket(lastBucket()))
	_, err := b.Read(t.Context(), &toolresult.ReadRequest{FilePath: "/a"})
	assert.ErrorContains(t, err, "bucket results: ")
	assert.ErrorContains(t, err, "NoSuchBucket")
	assert.NotErrorIs(t, err, fs.ErrNotExist, "the model must not be told that a result has expired")
	err = b.WriteNew(t.Context(), &toolresult.WriteRequest{FilePath: "/b", Content: "x"})
	assert.ErrorContains(t, err, "NoSuchBucket")
}

// TestClosedBucket is not taken for a path that is taken, although the code of the error is the same.
func TestClosedBucket(t *testing.T) {
	bucket := memBucket(t)
	b := newBackend(t, bucket)
	require.NoError(t, bucket.Close())
	err := b.WriteNew(t.Context(), &toolresult.WriteRequest{FilePath: "/a", Content: "x"})
	assert.ErrorIs(t, err, fs.ErrClosed)
	assert.NotErrorIs(t, err, fs.ErrExist)
}

func TestUnnamedBucket(t *testing.T) {
	bucket := memBucket(t)
	require.NoError(t, bucket.Close())
	_, err := blobbackend.New(t.Context(), &blobbackend.Config{Bucket: bucket})
	assert.ErrorContains(t, err, "object storage: ")
}

// TestErrorNamesPath holds for every operation.
func TestErrorNamesPath(t *testing.T) {
	b := newBackend(t, memBucket(t))
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for _, c := range []struct {
		path string
		ctx  context.Context
		want error
	}{{"/../x", t.Context(), fs.ErrInvalid}, {"/x", ended, context.Canceled}} {
		for op, try := range operations(b, c.path) {
			err := try(c.ctx)
			var inPath *fs.PathError
			require.ErrorAs(t, err, &inPath, op)
			assert.Equal(t, c.path, inPath.Path, op)
			assert.ErrorIs(t, err, c.want, op)
		}
	}
}

func operations(b *blobbackend.Backend, path string) map[string]func(context.Context) error {
	return map[string]func(context.Context) error{
		"Write": func(ctx context.Context) error { return b.Write(ctx, &toolresult.WriteRequest{FilePath: path}) },
		"WriteNew": func(ctx context.Context) error {
			return b.WriteNew(ctx, &toolresult.WriteRequest{FilePath: path, Content: "x"})
		},
		"Create": func(ctx context.Context) error {
			_, err := b.Create(ctx, &toolresult.CreateRequest{FilePath: path})
			return err
		},
		"Read": func(ctx context.Context) error {
			_, err := b.Read(ctx, &toolresult.ReadRequest{FilePath: path})
			return err
		},
		"ReadRange": func(ctx context.Context) error {
			_, err := b.ReadRange(ctx, &toolresult.RangeRequest{FilePath: path, Length: 1})
			return err
		},
		"FindLine": func(ctx context.Context) error {
			_, err := b.FindLine(ctx, &toolresult.LineRequest{FilePath: path, Line: 1})
			return err
		},
		"Stat": func(ctx context.Context) error {
			_, err := b.Stat(ctx, &toolresult.StatRequest{FilePath: path})
			return err
		},
		"Delete": func(ctx context.Context) error { return b.Delete(ctx, &toolresult.DeleteRequest{FilePath: path}) },
		"List": func(ctx context.Context) (failed error) {
			for _, err := range b.List(ctx, &toolresult.ListRequest{Prefix: path}) {
				failed = err
			}
			return failed
		},
	}
}
