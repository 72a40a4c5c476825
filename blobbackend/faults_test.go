package blobbackend_test

// A store that answers badly, late or never.

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eino-toolresult/toolresult"
	"github.com/eino-toolresult/toolresult/blobbackend"
)

func newProxied(t *testing.T, timeout time.Duration) (*proxy, *blobbackend.Backend) {
	t.Helper()
	p, bucket := newProxy(t, server, newBucket(t))
	b := configured(t, &blobbackend.Config{Bucket: bucket, Name: "results", Timeout: timeout})
	p.reset()
	return p, b
}

func answer(status int, code string) func(http.ResponseWriter) {
	return func(w http.ResponseWriter) { refuse(w, status, code) }
}

// TestRetried leaves it to the SDK's own retryer, which knows what is worth another try.
func TestRetried(t *testing.T) {
	needServer(t)
	for _, c := range []struct {
		name   string
		method string
		answer func(http.ResponseWriter)
	}{
		{"throttled", http.MethodPut, answer(503, "SlowDown")},
		{"internal error", http.MethodPut, answer(500, "InternalError")},
		{"connection lost", http.MethodPut, hangUp},
		{"throttled look", http.MethodHead, answer(503, "SlowDown")},
		{"throttled read", http.MethodGet, answer(503, "SlowDown")},
		{"two creates at once", http.MethodPut, answer(409, "ConditionalRequestConflict")},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, b := newProxied(t, 0)
			p.onRequest(times(1, c.method, c.answer))
			for _, size := range []int{1000, 2 << 20} {
				path := fmt.Sprint("/", size)
				require.NoError(t, b.WriteNew(t.Context(), &toolresult.WriteRequest{FilePath: path, Content: textOf(size)}))
				_, err := b.Stat(t.Context(), &toolresult.StatRequest{FilePath: path})
				require.NoError(t, err)
				require.True(t, textOf(size) == read(t, b, path))
			}
		})
	}
}

func TestReported(t *testing.T) {
	needServer(t)
	for _, c := range []struct {
		name   string
		answer func(http.ResponseWriter)
		cause  string
	}{
		{"throttled", answer(503, "SlowDown"), "SlowDown"},
		{"internal error", answer(500, "InternalError"), "InternalError"},
		{"conflict", answer(409, "ConditionalRequestConflict"), "ConditionalRequestConflict"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, b := newProxied(t, 30*time.Second)
			p.onRequest(times(1000, http.MethodPut, c.answer))
			err := b.WriteNew(t.Context(), &toolresult.WriteRequest{FilePath: "/a", Content: "x"})
			require.ErrorContains(t, err, "write /a: bucket results: ")
			require.ErrorContains(t, err, c.cause)
			assert.NotErrorIs(t, err, fs.ErrExist)
			requests, _ := p.seen()
			assert.Greater(t, len(requests), 1, "it was tried again")
			assert.Less(t, len(requests), 10, "and then given up")
		})
	}
}

// TestLostAnswer is a create that has worked, but whose answer was lost: the SDK tries again, and finds its own object.
func TestLostAnswer(t *testing.T) {
	needServer(t)
	for _, size := range []int{1000, 2 << 20} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			p, b := newProxied(t, 0)
			lost := false
			p.onAnswer(func(r *http.Response) {
				if r.Request.Method == http.MethodPut && strings.HasSuffix(r.Request.URL.Path, ".result") && !lost {
					lost = true
					r.Body.Close()
					r.StatusCode, r.Body = 500, io.NopCloser(strings.NewReader(""))
					r.ContentLength = 0
				}
			})
			require.NoError(t, b.WriteNew(t.Context(), &toolresult.WriteRequest{FilePath: "/a", Content: textOf(size)}))
			require.True(t, lost)
			require.True(t, textOf(size) == read(t, b, "/a"))
			err := b.WriteNew(t.Context(), &toolresult.WriteRequest{FilePath: "/a", Content: textOf(size)})
			assert.ErrorIs(t, err, fs.ErrExist, "another writer is still too late")
		})
	}
}

// TestSilence is a store that takes a request and never answers.
func TestSilence(t *testing.T) {
	needServer(t)
	const timeout = 300 * time.Millisecond
	for _, method := range []string{http.MethodHead, http.MethodGet, http.MethodPut, http.MethodPost} {
		t.Run(method, func(t *testing.T) {
			p, b := newProxied(t, timeout)
			write(t, b, "/small", "content")
			write(t, b, "/large", textOf(2<<20))
			ended := make(chan struct{})
			t.Cleanup(func() { close(ended) })
			p.onRequest(func(_ http.ResponseWriter, r *http.Request) bool {
				if r.Method != method {
					return false
				}
				_, _ = io.Copy(io.Discard, r.Body)
				<-ended
				return true
			})
			begun := time.Now()
			err := firstError(t, b)
			require.ErrorIs(t, err, os.ErrDeadlineExceeded)
			require.ErrorContains(t, err, "bucket results: ")
			require.ErrorContains(t, err, "no answer for 300ms")
			assert.Less(t, time.Since(begun), 5*time.Second)
		})
	}
}

// firstError does one of each and gives the first error: what is asked by HEAD, GET, PUT and POST.
func firstError(t *testing.T, b *blobbackend.Backend) error {
	if _, err := b.Stat(t.Context(), &toolresult.StatRequest{FilePath: "/small"}); err != nil {
		return err
	}
	if _, err := b.Read(t.Context(), &toolresult.ReadRequest{FilePath: "/small"}); err != nil {
		return err
	}
	if err := b.Write(t.Context(), &toolresult.WriteRequest{FilePath: "/new", Content: "x"}); err != nil {
		return err
	}
	return b.Write(t.Context(), &toolresult.WriteRequest{FilePath: "/parts", Content: textOf(17 << 20)})
}

// TestDeadline is the caller's own.
func TestDeadline(t *testing.T) {
	needServer(t)
	p, b := newProxied(t, 0)
	write(t, b, "/x", "there")
	ended := make(chan struct{})
	t.Cleanup(func() { close(ended) })
	p.onRequest(func(http.ResponseWriter, *http.Request) bool { <-ended; return true })
	for op, try := range operations(b, "/x") {
		if op == "Create" { // makes no request
			continue
		}
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		begun := time.Now()
		assert.ErrorIs(t, try(ctx), context.DeadlineExceeded, op)
		assert.Less(t, time.Since(begun), 3*time.Second, op)
		cancel()
	}
	testUploadDeadline(t, b)
}

// testUploadDeadline has a write that waits for the store.
func testUploadDeadline(t *testing.T, b *blobbackend.Backend) {
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	u, err := b.Create(ctx, &toolresult.CreateRequest{FilePath: "/stream"})
	require.NoError(t, err)
	for range 100 {
		if _, err = u.WriteString(textOf(1 << 20)); err != nil {
			break
		}
	}
	require.ErrorIs(t, err, context.DeadlineExceeded)
	assert.NoError(t, u.Abort())
}

// TestSilenceInTheMiddle is a store that stops in the middle of an answer.
func TestSilenceInTheMiddle(t *testing.T) {
	needServer(t)
	p, b := newProxied(t, 300*time.Millisecond)
	write(t, b, "/a", textOf(2<<20))
	ended := make(chan struct{})
	t.Cleanup(func() { close(ended) })
	p.onAnswer(func(r *http.Response) {
		if r.Request.Method == http.MethodGet && strings.Contains(r.Request.URL.Path, "/data/") {
			r.Body = &stallingBody{ReadCloser: r.Body, left: 1 << 20, ended: ended}
		}
	})
	_, err := b.Read(t.Context(), &toolresult.ReadRequest{FilePath: "/a"})
	require.ErrorIs(t, err, os.ErrDeadlineExceeded)
	require.ErrorContains(t, err, "read /a: bucket results: ")
}

type stallingBody struct {
	io.ReadCloser
	left  int
	ended chan struct{}
}

func (b *stallingBody) Read(p []byte) (int, error) {
	if b.left <= 0 {
		<-b.ended
		return 0, io.EOF
	}
	n, err := b.ReadCloser.Read(p[:min(len(p), b.left)])
	b.left -= n
	return n, err
}

// TestCutAnswer is a store that says less than it has announced.
func TestCutAnswer(t *testing.T) {
	needServer(t)
	p, b := newProxied(t, 0)
	write(t, b, "/a", textOf(100_000))
	p.onAnswer(func(r *http.Response) {
		if r.Request.Method == http.MethodGet {
			r.Body = &cutBody{ReadCloser: r.Body, left: 50_000}
		}
	})
	_, err := b.Read(t.Context(), &toolresult.ReadRequest{FilePath: "/a"})
	require.ErrorIs(t, err, io.ErrUnexpectedEOF, "half of a result is none")
	require.ErrorContains(t, err, "bucket results: ")
}

type cutBody struct {
	io.ReadCloser
	left int
}

func (b *cutBody) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, io.ErrUnexpectedEOF
	}
	n, err := b.ReadCloser.Read(p[:min(len(p), b.left)])
	b.left -= n
	return n, err
}

// TestPlainRequests holds what stores other than AWS need: no checksums of the SDK's own making, which they do not know.
func TestPlainRequests(t *testing.T) {
	needServer(t)
	p, b := newProxied(t, 0)
	write(t, b, "/small", "content")
	write(t, b, "/parts", textOf(17<<20))
	p.mu.Lock()
	defer p.mu.Unlock()
	require.NotEmpty(t, p.headers)
	for i, header := range p.headers {
		for name := range header {
			assert.False(t, strings.HasPrefix(strings.ToLower(name), "x-amz-checksum"), "%s has %s", p.requests[i], name)
			assert.NotEqual(t, "X-Amz-Sdk-Checksum-Algorithm", name, p.requests[i])
			assert.NotEqual(t, "X-Amz-Trailer", name, p.requests[i])
		}
		assert.NotContains(t, header.Get("Content-Encoding"), "aws-chunked", p.requests[i])
	}
}
