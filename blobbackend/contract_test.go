package blobbackend_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"gocloud.dev/blob"
	"gocloud.dev/secrets/localsecrets"

	"github.com/eino-toolresult/toolresult"
	"github.com/eino-toolresult/toolresult/backendtest"
	"github.com/eino-toolresult/toolresult/blobbackend"
)

func TestContract(t *testing.T) {
	for name, open := range map[string]func(testing.TB) *blob.Bucket{"memblob": memBucket, "versitygw": s3Bucket, "gofakes3": fakeBucket} {
		t.Run(name, func(t *testing.T) {
			if name == "versitygw" {
				needServer(t)
			}
			backendtest.Run(t, func(t *testing.T) toolresult.Backend { return newBackend(t, open(t)) })
		})
	}
	t.Run("below a prefix", func(t *testing.T) {
		backendtest.Run(t, func(t *testing.T) toolresult.Backend {
			return configured(t, &blobbackend.Config{Bucket: memBucket(t), Prefix: "/team-a/results/", IndexBytes: 1})
		})
	})
}

// TestSealed holds that what the documentation shows is a backend.
func TestSealed(t *testing.T) {
	backendtest.Run(t, func(t *testing.T) toolresult.Backend {
		key, err := localsecrets.NewRandomKey()
		require.NoError(t, err)
		keeper := localsecrets.NewKeeper(key)
		t.Cleanup(func() { keeper.Close() })
		return &sealed{newBackend(t, memBucket(t)), keeper}
	})
}
