package blobbackend_test

// A proxy before the server that sees every request, and can answer in its place.

import (
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"testing"

	"gocloud.dev/blob"

	"github.com/eino-toolresult/toolresult/internal/gateway"
)

type proxy struct {
	front *httptest.Server

	mu       sync.Mutex
	requests []string // method and key
	headers  []http.Header
	read     int64                                             // bytes of all answers
	meet     func(w http.ResponseWriter, r *http.Request) bool // true: it has answered
	change   func(r *http.Response)                            // sees the server's answers
}

// newProxy stands before the given server, and opens a bucket through it.
func newProxy(t testing.TB, to *gateway.Server, bucketName string) (*proxy, *blob.Bucket) {
	t.Helper()
	p := &proxy{}
	target := &url.URL{Scheme: "http", Host: to.Address()}
	forward := &httputil.ReverseProxy{
		// The host is part of what is signed, so it must stay.
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target); r.Out.Host = r.In.Host },
		ModifyResponse: func(r *http.Response) error {
			r.Body = &countingBody{r.Body, p}
			p.mu.Lock()
			change := p.change
			p.mu.Unlock()
			if change != nil {
				change(r)
			}
			return nil
		},
		ErrorLog:     log.New(io.Discard, "", 0), // broken connections are what the tests are about
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) { hangUp(w) },
	}
	p.front = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.mu.Lock()
		p.requests = append(p.requests, r.Method+" "+strings.TrimPrefix(r.URL.Path, "/"+bucketName+"/"))
		p.headers = append(p.headers, r.Header.Clone())
		meet := p.meet
		p.mu.Unlock()
		if meet == nil || !meet(w, r) {
			forward.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(p.front.Close)
	return p, openBucket(t, gateway.URL(bucketName, strings.TrimPrefix(p.front.URL, "http://")))
}

// reset forgets what it has seen.
func (p *proxy) reset() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.requests, p.headers, p.read = nil, nil, 0
}

func (p *proxy) seen() (requests []string, bytesRead int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string(nil), p.requests...), p.read
}

func (p *proxy) onRequest(meet func(w http.ResponseWriter, r *http.Request) bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.meet = meet
}

func (p *proxy) onAnswer(change func(r *http.Response)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.change = change
}

type countingBody struct {
	io.ReadCloser
	proxy *proxy
}

func (b *countingBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.proxy.mu.Lock()
	defer b.proxy.mu.Unlock()
	b.proxy.read += int64(n)
	return n, err
}

// hangUp breaks the connection in place of an answer.
func hangUp(w http.ResponseWriter) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err == nil {
		conn.Close()
	}
}

// refuse answers as S3 does.
func refuse(w http.ResponseWriter, status int, code string) {
	w.Header().Set("Content-Type", "application/xml")
	w.WriteHeader(status)
	io.WriteString(w, `<?xml version="1.0" encoding="UTF-8"?><Error><Code>`+code+`</Code><Message>as the test wants it</Message></Error>`)
}

// times answers only the first so many requests of a kind.
func times(n int, method string, answer func(w http.ResponseWriter)) func(http.ResponseWriter, *http.Request) bool {
	var mu sync.Mutex
	return func(w http.ResponseWriter, r *http.Request) bool {
		mu.Lock()
		defer mu.Unlock()
		if r.Method != method || n == 0 {
			return false
		}
		n--
		io.Copy(io.Discard, r.Body)
		answer(w)
		return true
	}
}
