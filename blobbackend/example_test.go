package blobbackend_test

import (
	"context"
	"fmt"
	"log"
	"strings"

	"gocloud.dev/blob/memblob"
	"gocloud.dev/secrets"
	"gocloud.dev/secrets/localsecrets"

	"github.com/eino-toolresult/toolresult"
	"github.com/eino-toolresult/toolresult/blobbackend"
)

// A bucket in memory stands in for blob.OpenBucket(ctx, "s3://agent-results?region=eu-central-1").
func Example() {
	ctx := context.Background()
	bucket := memblob.OpenBucket(nil)
	defer bucket.Close()
	backend, err := blobbackend.New(ctx, &blobbackend.Config{Bucket: bucket, Name: "agent-results", Prefix: "team-a"})
	if err != nil {
		log.Fatal(err)
	}
	if err := backend.WriteNew(ctx, &toolresult.WriteRequest{FilePath: "/large_tool_result/call_1", Content: "one\ntwo\nthree\n"}); err != nil {
		log.Fatal(err)
	}
	page, err := backend.Read(ctx, &toolresult.ReadRequest{FilePath: "/large_tool_result/call_1", Offset: 2, Limit: 1})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(page.Content)
	// Output: two
}

// sealed encrypts results before they leave the process, with a key that the store never sees. It is a backend that can write,
// create only if absent and read: ranges of what is encrypted are of no use.
type sealed struct {
	stored *blobbackend.Backend
	keeper *secrets.Keeper
}

func (s *sealed) Write(ctx context.Context, req *toolresult.WriteRequest) error {
	return s.seal(ctx, req, s.stored.Write)
}

func (s *sealed) WriteNew(ctx context.Context, req *toolresult.WriteRequest) error {
	return s.seal(ctx, req, s.stored.WriteNew)
}

func (s *sealed) seal(ctx context.Context, req *toolresult.WriteRequest, write func(context.Context, *toolresult.WriteRequest) error) error {
	text, err := s.keeper.Encrypt(ctx, []byte(req.Content))
	if err != nil {
		return err
	}
	return write(ctx, &toolresult.WriteRequest{FilePath: req.FilePath, Content: string(text)})
}

func (s *sealed) Read(ctx context.Context, req *toolresult.ReadRequest) (*toolresult.FileContent, error) {
	content, err := s.stored.Read(ctx, &toolresult.ReadRequest{FilePath: req.FilePath})
	if err != nil {
		return nil, err
	}
	text, err := s.keeper.Decrypt(ctx, []byte(content.Content))
	if err != nil {
		return nil, err
	}
	lines := strings.SplitAfter(string(text), "\n")
	lines = lines[min(max(req.Offset, 1)-1, len(lines)):]
	if req.Limit > 0 {
		lines = lines[:min(req.Limit, len(lines))]
	}
	return &toolresult.FileContent{Content: strings.Join(lines, "")}, nil
}

// Encryption in the process, for a store that must not be able to read results. Most want the bucket's own instead, which costs
// nothing and keeps pages cheap. A keeper of a key management service takes small texts only: let it keep the key of a local one.
func Example_keeper() {
	ctx := context.Background()
	bucket := memblob.OpenBucket(nil)
	defer bucket.Close()
	stored, err := blobbackend.New(ctx, &blobbackend.Config{Bucket: bucket, ContentType: "application/octet-stream"})
	if err != nil {
		log.Fatal(err)
	}
	key, err := localsecrets.NewRandomKey()
	if err != nil {
		log.Fatal(err)
	}
	backend := &sealed{stored, localsecrets.NewKeeper(key)}
	defer backend.keeper.Close()

	if err := backend.WriteNew(ctx, &toolresult.WriteRequest{FilePath: "/call_1", Content: "a secret\nof two lines\n"}); err != nil {
		log.Fatal(err)
	}
	raw, _ := bucket.ReadAll(ctx, "call_1.result")
	fmt.Println(strings.Contains(string(raw), "secret"))
	page, err := backend.Read(ctx, &toolresult.ReadRequest{FilePath: "/call_1", Offset: 2, Limit: 1})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Print(page.Content)
	// Output:
	// false
	// of two lines
}
