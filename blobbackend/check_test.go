package blobbackend_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gocloud.dev/blob"

	"github.com/eino-toolresult/toolresult/internal/gateway"
)

func TestCheck(t *testing.T) {
	for name, open := range map[string]func(testing.TB) *blob.Bucket{"memblob": memBucket, "versitygw": s3Bucket, "gofakes3": fakeBucket} {
		t.Run(name, func(t *testing.T) {
			bucket := open(t)
			require.NoError(t, newBackend(t, bucket).Check(t.Context()))
			assert.Empty(t, keys(t, bucket), "it leaves nothing")
		})
	}
}

func TestCheckFinds(t *testing.T) {
	for _, c := range []struct {
		name  string
		spoil func(r *http.Request)
		want  string
	}{
		{"no conditions", func(r *http.Request) { r.Header.Del("If-None-Match") }, "bucket results: the store does not create only if absent"},
		{"no metadata", func(r *http.Request) { r.Header.Del("X-Amz-Meta-Toolresult-Id") }, "does not keep metadata"},
		{"no ranges", func(r *http.Request) { r.Header.Del("Range") }, "bytes came of 6"},
	} {
		t.Run(c.name, func(t *testing.T) {
			backend := s3mem.New()
			require.NoError(t, backend.CreateBucket("fake"))
			sound := gofakes3.New(backend).Server()
			poor := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				c.spoil(r)
				sound.ServeHTTP(w, r)
			}))
			t.Cleanup(poor.Close)
			bucket := openBucket(t, gateway.URL("fake", strings.TrimPrefix(poor.URL, "http://")))
			err := newBackend(t, bucket).Check(t.Context())
			require.ErrorContains(t, err, c.want)
			if c.name != "no ranges" {
				assert.True(t, errors.Is(err, errors.ErrUnsupported))
			}
			assert.Empty(t, keys(t, bucket), "it leaves nothing")
		})
	}
}
