package main

import (
	"context"
	"crypto/rand"
	"os"
	"regexp"
	"strings"
	"testing"

	"gocloud.dev/blob"
	"gocloud.dev/blob/memblob"

	"github.com/eino-toolresult/toolresult"
	"github.com/eino-toolresult/toolresult/backendtest"
	"github.com/eino-toolresult/toolresult/blobbackend"
	"github.com/eino-toolresult/toolresult/internal/gateway"
	"github.com/eino-toolresult/toolresult/zstdbackend"
)

// TestMain is also the way into the two processes, which are this program again.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "-bucket" {
		main()
		return
	}
	os.Exit(m.Run())
}

func TestTwoProcesses(t *testing.T) {
	server, err := gateway.ForTests()
	if err != nil {
		t.Fatal(err)
	}
	if server == nil {
		t.Skip(gateway.HowToGet)
	}
	server.Remove() // run starts its own
	for _, args := range [][]string{nil, {"-compress"}} {
		var out strings.Builder
		if err := run(t.Context(), &out, args); err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{
			`stored:   \d{7} bytes as /large_tool_result/call_1`,
			`answer:   The list is /large_tool_result/call_1`,
			`answer:   In line \d+ of net/http/server.go: func \(c \*conn\) serve\(`,
		} {
			if !regexp.MustCompile(want).MatchString(out.String()) {
				t.Errorf("%v: %q is missing in\n%s", args, want, out.String())
			}
		}
		processes := regexp.MustCompile(`Process (\d+),`).FindAllStringSubmatch(out.String(), -1)
		if len(processes) != 2 || processes[0][1] == processes[1][1] {
			t.Errorf("%v: want two processes:\n%s", args, out.String())
		}
	}
}

func TestRefused(t *testing.T) {
	for _, args := range [][]string{{"-no-such-flag"}, {"-role", "neither"}, {"-bucket", "nowhere://x"}} {
		var out strings.Builder
		if err := run(t.Context(), &out, args); err == nil {
			t.Errorf("%v: no error", args)
		}
	}
}

// TestContract holds that of the two backends together.
func TestContract(t *testing.T) {
	backendtest.Run(t, func(t *testing.T) toolresult.Backend {
		bucket := memblob.OpenBucket(nil)
		t.Cleanup(func() { bucket.Close() })
		_, backend := compressed(t, bucket)
		return backend
	})
}

func compressed(t *testing.T, bucket *blob.Bucket) (*blobbackend.Backend, zstdbackend.Backend) {
	t.Helper()
	stored, err := blobbackend.New(context.Background(), &blobbackend.Config{Bucket: bucket, ContentType: "application/zstd"})
	if err != nil {
		t.Fatal(err)
	}
	backend, err := zstdbackend.NewBackend(context.Background(), &zstdbackend.BackendConfig{Backend: stored})
	if err != nil {
		t.Fatal(err)
	}
	return stored, backend
}

// TestCompressed reads from the middle of a large result through both backends.
func TestCompressed(t *testing.T) {
	bucket := memblob.OpenBucket(nil)
	defer bucket.Close()
	stored, backend := compressed(t, bucket)
	text := strings.Repeat("a line that compresses well\n", 200_000) + "needle\n" + randomLines(100_000)
	if err := backend.Write(t.Context(), &toolresult.WriteRequest{FilePath: "/a", Content: text}); err != nil {
		t.Fatal(err)
	}
	got, err := backend.Read(t.Context(), &toolresult.ReadRequest{FilePath: "/a", Offset: 200_001, Limit: 1})
	if err != nil || got.Content != "needle" {
		t.Errorf("it reads %q, %v; want needle", got.Content, err)
	}
	stat, err := stored.Stat(t.Context(), &toolresult.StatRequest{FilePath: "/a"})
	if err != nil || stat.Size > int64(len(text)/2) || stat.Size < 1<<20 {
		t.Errorf("it takes %+v, %v; want less than half of %d bytes, and more than one object holds", stat, err, len(text))
	}
}

// randomLines do not compress to nothing.
func randomLines(n int) string {
	var text strings.Builder
	for range n {
		text.WriteString(rand.Text() + "\n")
	}
	return text.String()
}
