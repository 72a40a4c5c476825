// Package s3sweep drops the unfinished uploads that a process leaves in an S3 bucket when it dies, or gives up, in the middle
// of a large result. No list shows them, nothing can read them, and they are paid for until somebody drops them.
//
// A lifecycle rule of the bucket (AbortIncompleteMultipartUpload) does the same, if you may set one. The package is apart because
// it imports the S3 client, which no other store needs.
package s3sweep

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"gocloud.dev/blob"

	"github.com/eino-toolresult/toolresult/blobbackend/internal/layout"
)

const defaultMinAge = 24 * time.Hour

// Config says which uploads are dropped.
type Config struct {
	// Bucket is the bucket of the blobbackend.Backend, opened by s3blob. Required.
	Bucket *blob.Bucket
	// Prefix is that of the Backend. Only its own uploads are dropped. Default "".
	Prefix string
	// MinAge is how long ago an upload must have begun. It must be longer than any tool call lasts. 0 means 24 hours; negative
	// values are refused.
	MinAge time.Duration
}

// Sweep drops what is old enough, and says how many uploads that was, also beside an error. For a bucket of another driver, where
// nothing of the kind is left behind, it gives an error for which errors.Is(err, errors.ErrUnsupported) holds.
//
// The credentials need s3:ListBucketMultipartUploads and s3:AbortMultipartUpload.
func Sweep(ctx context.Context, cfg *Config) (dropped int, err error) {
	s, err := newSweep(cfg)
	if err != nil {
		return 0, err
	}
	if err := s.locate(ctx, cfg.Bucket); err != nil {
		return 0, fmt.Errorf("s3sweep: %w", err)
	}
	if err := s.run(ctx); err != nil {
		return s.dropped, fmt.Errorf("s3sweep: bucket %s: %w", s.bucket, err)
	}
	return s.dropped, nil
}

type sweep struct {
	root    string // of our uploads
	before  time.Time
	client  *s3.Client
	bucket  string
	dropped int
}

func newSweep(cfg *Config) (*sweep, error) {
	if cfg == nil || cfg.Bucket == nil {
		return nil, errors.New("s3sweep: Config.Bucket is nil; want a bucket")
	}
	if cfg.MinAge < 0 {
		return nil, fmt.Errorf("s3sweep: Config.MinAge is %v; want 0 (for 24 hours) or more", cfg.MinAge)
	}
	keys, err := layout.New(cfg.Prefix)
	if err != nil {
		return nil, fmt.Errorf("s3sweep: Config.Prefix is %q; want %w", cfg.Prefix, err)
	}
	return &sweep{root: keys.DataRoot(), before: time.Now().Add(-cmp.Or(cfg.MinAge, defaultMinAge))}, nil
}

var errLocated = errors.New("located")

// locate asks the driver what the bucket does not tell: its client, its name and how a key really begins, for a bucket can be a
// view of a larger one. The driver would have put all that into a list, which is given up before it is sent.
func (s *sweep) locate(ctx context.Context, bucket *blob.Bucket) error {
	if !bucket.As(&s.client) {
		return fmt.Errorf("the bucket is not opened by s3blob: %w", errors.ErrUnsupported)
	}
	_, _, err := bucket.ListPage(ctx, blob.FirstPageToken, 1, &blob.ListOptions{Prefix: s.root, BeforeList: func(as func(any) bool) error {
		var list *s3.ListObjectsV2Input
		var legacy *s3.ListObjectsInput
		switch {
		case as(&list):
			s.bucket, s.root = aws.ToString(list.Bucket), aws.ToString(list.Prefix)
		case as(&legacy):
			s.bucket, s.root = aws.ToString(legacy.Bucket), aws.ToString(legacy.Prefix)
		}
		return errLocated
	}})
	if !errors.Is(err, errLocated) {
		return err
	}
	return nil
}

func (s *sweep) run(ctx context.Context) error {
	pages := s3.NewListMultipartUploadsPaginator(s.client, &s3.ListMultipartUploadsInput{
		Bucket: &s.bucket, Prefix: &s.root,
	})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return err
		}
		for _, upload := range page.Uploads {
			if err := s.drop(ctx, upload); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *sweep) drop(ctx context.Context, upload types.MultipartUpload) error {
	if !aws.ToTime(upload.Initiated).Before(s.before) {
		return nil
	}
	_, err := s.client.AbortMultipartUpload(ctx, &s3.AbortMultipartUploadInput{
		Bucket: &s.bucket, Key: upload.Key, UploadId: upload.UploadId,
	})
	var gone *types.NoSuchUpload // finished, or dropped by another sweep
	if errors.As(err, &gone) {
		return nil
	}
	if err == nil {
		s.dropped++
	}
	return err
}
