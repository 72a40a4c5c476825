package blobbackend_test

// The server is killed in the middle of things, and comes back.

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cloudwego/eino/compose"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eino-toolresult/toolresult"
	"github.com/eino-toolresult/toolresult/blobbackend"
	"github.com/eino-toolresult/toolresult/internal/gateway"
)

// mortal is a server that may be killed, a bucket on it, and a backend that sees it through a proxy.
func mortal(t *testing.T) (*gateway.Server, *proxy, *blobbackend.Backend) {
	t.Helper()
	needServer(t)
	own, err := gateway.Start()
	require.NoError(t, err)
	t.Cleanup(own.Remove)
	require.NoError(t, own.MakeBucket("mortal"))
	p, bucket := newProxy(t, own, "mortal")
	return own, p, configured(t, &blobbackend.Config{Bucket: bucket, Name: "mortal", Timeout: 20 * time.Second})
}

// requireClear holds for the error of an operation whose server is gone.
func requireClear(t *testing.T, err error, path string) {
	t.Helper()
	var inPath *fs.PathError
	require.ErrorAs(t, err, &inPath)
	assert.Equal(t, path, inPath.Path)
	assert.ErrorContains(t, err, "bucket mortal: ", "which store")
	assert.NotErrorIs(t, err, fs.ErrNotExist, "a store that is gone is not one without the result")
	assert.NotErrorIs(t, err, fs.ErrExist)
	assert.NotErrorIs(t, err, context.Canceled, "nobody has cancelled anything")
}

func TestKilledInUpload(t *testing.T) {
	for how, upload := range map[string]func(b *blobbackend.Backend, kill func()) error{
		"whole": func(b *blobbackend.Backend, kill func()) error {
			return b.WriteNew(context.Background(), &toolresult.WriteRequest{FilePath: "/call_1", Content: textOf(40 << 20)})
		},
		"streamed": func(b *blobbackend.Backend, kill func()) error {
			u, err := b.Create(context.Background(), &toolresult.CreateRequest{FilePath: "/call_1"})
			if err != nil {
				return err
			}
			for range 40 {
				if _, err := u.WriteString(textOf(1 << 20)); err != nil {
					_ = u.Abort() // cannot reach the server either
					return err
				}
			}
			return u.Commit()
		},
		"before its name": func(b *blobbackend.Backend, kill func()) error {
			u, err := b.Create(context.Background(), &toolresult.CreateRequest{FilePath: "/call_1"})
			if err != nil {
				return err
			}
			if _, err := u.WriteString(textOf(2 << 20)); err != nil {
				return err
			}
			kill()
			return u.Commit()
		},
	} {
		t.Run(how, func(t *testing.T) {
			own, p, b := mortal(t)
			write(t, b, "/before", "content")
			var once sync.Once
			kill := func() { once.Do(own.Kill) }
			p.onRequest(killAtPart(3, kill))
			requireClear(t, upload(b, kill), "/call_1")
			requireClear(t, b.Write(t.Context(), &toolresult.WriteRequest{FilePath: "/x", Content: "x"}), "/x")

			p.onRequest(nil)
			require.NoError(t, own.Run())
			assert.Equal(t, []string{"/before"}, listed(t, b), "nothing half-written is to be seen")
			_, err := b.Stat(t.Context(), &toolresult.StatRequest{FilePath: "/call_1"})
			assert.ErrorIs(t, err, fs.ErrNotExist)
			require.NoError(t, b.WriteNew(t.Context(), &toolresult.WriteRequest{FilePath: "/call_1", Content: textOf(20 << 20)}), "the name is free")
			assert.True(t, textOf(20<<20) == read(t, b, "/call_1"))
		})
	}
}

// killAtPart kills before the given part of an upload is taken.
func killAtPart(part int, kill func()) func(http.ResponseWriter, *http.Request) bool {
	return func(w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Query().Get("partNumber") == fmt.Sprint(part) {
			kill()
		}
		return false
	}
}

func listed(t testing.TB, b toolresult.Lister) (paths []string) {
	t.Helper()
	for file, err := range b.List(t.Context(), &toolresult.ListRequest{}) {
		require.NoError(t, err)
		paths = append(paths, file.FilePath)
	}
	return paths
}

func TestKilledInRead(t *testing.T) {
	own, p, b := mortal(t)
	content := textOf(20 << 20)
	write(t, b, "/call_1", content)
	var once sync.Once
	p.onAnswer(func(r *http.Response) {
		if r.Request.Method == http.MethodGet {
			r.Body = &killingBody{r.Body, 4 << 20, func() { once.Do(own.Kill) }}
		}
	})
	_, err := b.Read(t.Context(), &toolresult.ReadRequest{FilePath: "/call_1"})
	requireClear(t, err, "/call_1")
	_, err = b.ReadRange(t.Context(), &toolresult.RangeRequest{FilePath: "/call_1", Length: 10})
	requireClear(t, err, "/call_1")

	p.onAnswer(nil)
	require.NoError(t, own.Run())
	assert.True(t, content == read(t, b, "/call_1"))
}

// killingBody kills the server once so much of an answer is through, and then finds out what is left of it.
type killingBody struct {
	io.ReadCloser
	left int
	kill func()
}

func (b *killingBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if b.left -= n; b.left < 0 {
		b.kill()
		return n, io.ErrUnexpectedEOF
	}
	return n, err
}

// TestKilledUnderAgent holds what the library promises when storing fails, for whole results and for streams.
func TestKilledUnderAgent(t *testing.T) {
	own, _, b := mortal(t)
	text := textOf(3 << 20)
	call := func(policy toolresult.FailurePolicy, id string) (string, error) {
		mw, err := toolresult.NewOffload(t.Context(), &toolresult.OffloadConfig{Backend: b, OnFailure: policy, TokenLimit: 1000})
		require.NoError(t, err)
		out, err := mw.Invokable(func(context.Context, *compose.ToolInput) (*compose.ToolOutput, error) {
			return &compose.ToolOutput{Result: text}, nil
		})(t.Context(), &compose.ToolInput{Name: "search", CallID: id})
		if err != nil {
			return "", err
		}
		return out.Result, nil
	}
	own.Kill()
	_, err := call(toolresult.FailCall, "call_1")
	require.ErrorContains(t, err, "bucket mortal: ")
	require.ErrorContains(t, err, "call_1")
	said, err := call(toolresult.PassThrough, "call_1")
	require.NoError(t, err)
	assert.True(t, said == text, "the whole result goes to the model")
	said, err = call(toolresult.TruncateInline, "call_1")
	require.NoError(t, err)
	assert.Less(t, len(said), 4100)
	assert.NotContains(t, said, "tool_result_offloaded", "no notice of what is not there")

	require.NoError(t, own.Run())
	assert.Empty(t, listed(t, b))
	said, err = call(toolresult.FailCall, "call_1")
	require.NoError(t, err)
	assert.True(t, strings.HasPrefix(said, "<tool_result_offloaded"))
	assert.True(t, text == read(t, b, "/large_tool_result/call_1"))
}
