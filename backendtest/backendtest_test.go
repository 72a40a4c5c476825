package backendtest_test

import (
	"context"
	"errors"
	"testing"

	"github.com/cloudwego/eino/adk/filesystem"

	"github.com/eino-toolresult/toolresult"
	"github.com/eino-toolresult/toolresult/backendtest"
)

func TestDirBackend(t *testing.T) {
	for name, cfg := range map[string]toolresult.DirConfig{
		"default":       {},
		"without index": {IndexBytes: 1},
	} {
		t.Run(name, func(t *testing.T) {
			backendtest.Run(t, func(t *testing.T) toolresult.Backend {
				cfg.Dir = t.TempDir()
				b, err := toolresult.NewDirBackend(context.Background(), &cfg)
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() {
					if err := b.Close(); err != nil {
						t.Error(err)
					}
				})
				return b
			})
		})
	}
}

// An AsyncBackend has what the backend underneath has, as far as a queue can.
func TestAsyncBackend(t *testing.T) {
	for name, underneath := range map[string]func(t *testing.T) toolresult.Backend{
		"over a directory": func(t *testing.T) toolresult.Backend {
			b, err := toolresult.NewDirBackend(context.Background(), &toolresult.DirConfig{Dir: t.TempDir()})
			if err != nil {
				t.Fatal(err)
			}
			return b
		},
		"over Eino's memory": func(*testing.T) toolresult.Backend { return filesystem.NewInMemoryBackend() },
	} {
		t.Run(name, func(t *testing.T) {
			backendtest.Run(t, func(t *testing.T) toolresult.Backend {
				b, err := toolresult.NewAsyncBackend(context.Background(), &toolresult.AsyncConfig{Backend: underneath(t)})
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() {
					if err := b.Close(context.Background()); err != nil {
						t.Error(err)
					}
				})
				return b
			})
		})
	}
}

func TestEinoInMemory(t *testing.T) {
	backendtest.Run(t, func(*testing.T) toolresult.Backend { return filesystem.NewInMemoryBackend() })
}

// writeOnly is the least that a backend can be.
type writeOnly struct{}

func (writeOnly) Write(_ context.Context, req *toolresult.WriteRequest) error {
	if req.FilePath == "" {
		return errors.New("no path")
	}
	return nil
}

func TestWriteOnly(t *testing.T) {
	backendtest.Run(t, func(*testing.T) toolresult.Backend { return writeOnly{} })
}
