// Objectstore has two agents that share a bucket, each in a process of its own, as they would run on two machines. The first
// searches the Go source tree of this machine, and its results, some of them megabytes, go to the bucket. It hands over
// nothing but a path. The second finds the answer in what lies there. The models are scripts, so no key of a provider is needed.
//
//	go run .                                                 # on an S3 server of its own, in a temporary directory
//	go run . -bucket 's3://my-results?region=eu-central-1'   # on your bucket, with the credentials of your environment
//	go run . -compress                                       # compressed at rest
//
// The server is versitygw: go install -ldflags='-s -w' github.com/versity/versitygw/cmd/versitygw@v1.8.0
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strings"

	"gocloud.dev/blob"
	_ "gocloud.dev/blob/s3blob" // the one driver that this program needs

	"github.com/eino-toolresult/toolresult"
	"github.com/eino-toolresult/toolresult/blobbackend"
	"github.com/eino-toolresult/toolresult/internal/gateway"
	"github.com/eino-toolresult/toolresult/zstdbackend"
)

// options are those of the command line.
type options struct {
	bucket   string
	compress bool
	role     string // "", or what one of the two processes does
	path     string
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Stdout, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "objectstore:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, out io.Writer, args []string) error {
	var opts options
	flags := flag.NewFlagSet("objectstore", flag.ContinueOnError)
	flags.StringVar(&opts.bucket, "bucket", "", "URL of an S3 bucket")
	flags.BoolVar(&opts.compress, "compress", false, "compress results")
	flags.StringVar(&opts.role, "role", "", "used by the program itself")
	flags.StringVar(&opts.path, "path", "", "used by the program itself")
	if err := flags.Parse(args); err != nil {
		return err
	}
	switch opts.role {
	case "":
		return runBoth(ctx, out, opts)
	case "collect", "answer":
		return runOne(ctx, out, opts)
	}
	return fmt.Errorf("-role is %q; want collect or answer", opts.role)
}

// runBoth runs the two processes, one after the other.
func runBoth(ctx context.Context, out io.Writer, opts options) error {
	if opts.bucket == "" {
		server, err := startServer(&opts)
		if err != nil {
			return err
		}
		defer server.Remove()
	}
	path, err := runProcess(ctx, out, opts, "collect", "")
	if err == nil {
		_, err = runProcess(ctx, out, opts, "answer", path)
	}
	return err
}

func startServer(opts *options) (*gateway.Server, error) {
	const bucket = "agent-results"
	server, err := gateway.Start()
	if err != nil {
		return nil, err
	}
	if err := errors.Join(server.MakeBucket(bucket), gateway.SetCredentials()); err != nil {
		server.Remove()
		return nil, err
	}
	opts.bucket = server.URL(bucket)
	return server, nil
}

// runProcess runs this program once more, and returns the last word that it says.
func runProcess(ctx context.Context, out io.Writer, opts options, role, path string) (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	var said bytes.Buffer
	process := exec.CommandContext(ctx, self, "-bucket", opts.bucket, fmt.Sprint("-compress=", opts.compress), "-role", role, "-path", path)
	process.Stdout, process.Stderr = io.MultiWriter(out, &said), os.Stderr
	if err := process.Run(); err != nil {
		return "", fmt.Errorf("process %s: %w", role, err)
	}
	words := strings.Fields(said.String())
	return words[len(words)-1], nil
}

// store is what the agents need of a backend.
type store interface {
	toolresult.Backend
	toolresult.Reader
}

// openBackend is the part to copy.
func openBackend(ctx context.Context, opts options) (backend store, closeBucket func() error, err error) {
	bucket, err := blob.OpenBucket(ctx, opts.bucket)
	if err != nil {
		return nil, nil, err
	}
	cfg := &blobbackend.Config{Bucket: bucket, Prefix: "example", Name: strings.SplitN(opts.bucket, "?", 2)[0]}
	if opts.compress {
		cfg.ContentType = "application/zstd"
	}
	stored, err := blobbackend.New(ctx, cfg)
	if err != nil || !opts.compress {
		return stored, bucket.Close, err
	}
	compressed, err := zstdbackend.NewBackend(ctx, &zstdbackend.BackendConfig{Backend: stored})
	return compressed, bucket.Close, err
}
