package zstdbackend_test

import (
	"context"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/eino-toolresult/toolresult"
	"github.com/eino-toolresult/toolresult/zstdbackend"
)

// coarse is a store that keeps times in whole seconds, as S3 does.
type coarse struct{ *toolresult.DirBackend }

func (c coarse) Stat(ctx context.Context, req *toolresult.StatRequest) (*toolresult.StoredFile, error) {
	info, err := c.DirBackend.Stat(ctx, req)
	if err != nil {
		return nil, err
	}
	known := *info
	known.ModTime = info.ModTime.Truncate(time.Second)
	return &known, nil
}

// noise does not compress, so all of it is of one size, also when stored.
func noise(seed uint64) string {
	text := make([]byte, 100_000)
	random := rand.New(rand.NewPCG(seed, 0))
	for i := range text {
		text[i] = byte(random.Uint32())
	}
	return string(text)
}

// A file that is replaced within a second by one of its size looks the same to whoever goes by size and time.
func TestReplacedWithinASecond(t *testing.T) {
	store := coarse{openDir(t, t.TempDir())}
	for name, writer := range map[string]func() zstdbackend.Backend{
		"by the reader itself":       nil,
		"by another process's write": func() zstdbackend.Backend { return wrap(t, zstdbackend.BackendConfig{Backend: store}) },
	} {
		t.Run(name, func(t *testing.T) {
			reader := wrap(t, zstdbackend.BackendConfig{Backend: store})
			from := reader
			if writer != nil {
				from = writer()
			}
			for seed := range uint64(5) {
				write(t, from, "/r/1", noise(seed))
				if read(t, reader, toolresult.ReadRequest{FilePath: "/r/1"}) != noise(seed) {
					t.Fatalf("version %d reads as an older one", seed)
				}
			}
		})
	}
}
