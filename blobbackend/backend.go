package blobbackend

// A bucket as a backend. A result is an object under its own name, created in one request, which the store makes all or
// nothing and, if asked, only where there was none. What is too large for one request goes up first, under a random name,
// and then the object under its own name only points there. So that one small request decides everything: who was first, when
// the result becomes visible, and which line index belongs to it.

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"mime"
	"sync"
	"time"

	"gocloud.dev/blob"

	"github.com/eino-toolresult/toolresult"
	"github.com/eino-toolresult/toolresult/blobbackend/internal/layout"
	"github.com/eino-toolresult/toolresult/internal/lines"
)

const (
	// wholeBytes is how large a result may be that is stored as one object, and read as a whole to find a line.
	wholeBytes = 1 << 20

	minPartBytes       = 5 << 20 // S3 refuses smaller ones
	maxPartBytes       = 1 << 30
	maxPartsAtOnce     = 64
	defaultPartsAtOnce = 4
	defaultTimeout     = time.Minute
	defaultIndexBytes  = 4 << 20
	defaultContentType = "text/plain; charset=utf-8"
)

// Config configures a Backend.
type Config struct {
	// Bucket is where results go. The Backend does not close it. Required.
	Bucket *blob.Bucket
	// Prefix is the folder in the bucket below which everything lies, such as team-a/results; slashes around it change
	// nothing. The Prefix of one Backend must not lie within that of another. Default "": the whole bucket.
	Prefix string
	// Name is what errors call the bucket. The Bucket does not tell its own name, and the errors of a store often do not
	// either. Default "": errors say "object storage".
	Name string
	// ContentType is the MIME type of results, for whoever looks at the bucket by other means. Default
	// "text/plain; charset=utf-8".
	ContentType string
	// PartBytes is how much of a large result goes up in one request, in bytes. A store takes 10 000 parts, so it bounds a
	// result at 10 000 times as much, and an upload takes about (PartsAtOnce+1) times as much memory, and 20 to 40 MB beside.
	// 0 means 5 MiB; else 5 MiB to 1 GiB.
	PartBytes int
	// PartsAtOnce is how many parts of one upload are on their way at the same time. 0 means 4; at most 64.
	PartsAtOnce int
	// Timeout is how long the store may be silent: until an answer comes, or until the next piece of a transfer is taken or
	// given, with all retries of the SDK. Deadlines of the caller's context hold beside it. On a slow line, PartBytes times
	// PartsAtOnce must get through in that time. 0 means 1 minute; negative values are refused.
	Timeout time.Duration
	// IndexBytes bounds the memory for line indexes, in bytes. One takes about 600, and 8 more for every 64 KiB of the result;
	// those used longest ago give way, and are read again when they are needed. 0 means 4 MiB; negative values are refused.
	IndexBytes int
}

// Backend stores results as objects of one bucket. It has every optional interface of package toolresult, and is safe for
// concurrent use, also by any number of processes and machines on the same bucket.
//
// The result /a/b is found under the key Prefix + a/b.result. Up to 1 MiB it is that object. A larger one lies below
// Prefix + .toolresult/, with an index of its lines beside it, and a/b.result only says where; a write has then three small
// requests more, and a page in the middle is two small reads. The metadata of an object has the tool, the call ID, and, where
// they are known before the first byte is sent, bytes and lines.
//
// Paths are cleaned, so that a/b, /a//b/ and /a/./b are the same. Refused are empty ones, any that is not UTF-8 or has a ".."
// part, a backslash or a control character, a part longer than 255 bytes or a last one longer than 248, and keys over 1024
// bytes. A path may be a result and a folder at the same time.
//
// Errors are *fs.PathError with the path as it was given. They match fs.ErrNotExist, fs.ErrExist, fs.ErrPermission and, when the
// store was silent for too long, os.ErrDeadlineExceeded; the store's own error is reachable with errors.As.
type Backend struct {
	bucket  *blob.Bucket
	cfg     Config // defaults filled in
	layout  layout.Layout
	indexes *indexCache
	buffers sync.Pool // of *[bufferBytes]byte
}

var (
	_ toolresult.Backend         = (*Backend)(nil)
	_ toolresult.Reader          = (*Backend)(nil)
	_ toolresult.ExclusiveWriter = (*Backend)(nil)
	_ toolresult.Creator         = (*Backend)(nil)
	_ toolresult.RangeReader     = (*Backend)(nil)
	_ toolresult.LineFinder      = (*Backend)(nil)
	_ toolresult.Stater          = (*Backend)(nil)
	_ toolresult.Deleter         = (*Backend)(nil)
	_ toolresult.Lister          = (*Backend)(nil)
)

// New makes a backend of a bucket, and asks the store once, so that a wrong key, a missing bucket or an unreachable host is
// found now. The credentials must be allowed to list: without that S3 answers for a missing object as for a forbidden one.
func New(ctx context.Context, cfg *Config) (*Backend, error) {
	b, err := newBackend(cfg)
	if err != nil {
		return nil, err
	}
	if err := b.tryList(ctx); err != nil {
		return nil, fmt.Errorf("blobbackend: open: %w", err)
	}
	return b, nil
}

func newBackend(cfg *Config) (*Backend, error) {
	if cfg == nil || cfg.Bucket == nil {
		return nil, badConfig("Bucket", "nil", "a bucket")
	}
	keys, err := layout.New(cfg.Prefix)
	if err != nil {
		return nil, badConfig("Prefix", fmt.Sprintf("%q", cfg.Prefix), err.Error())
	}
	b := &Backend{bucket: cfg.Bucket, cfg: *cfg, layout: keys}
	b.cfg.ContentType = cmp.Or(cfg.ContentType, defaultContentType)
	b.cfg.PartBytes = cmp.Or(cfg.PartBytes, minPartBytes)
	b.cfg.PartsAtOnce = cmp.Or(cfg.PartsAtOnce, defaultPartsAtOnce)
	b.cfg.Timeout = cmp.Or(cfg.Timeout, defaultTimeout)
	b.cfg.IndexBytes = cmp.Or(cfg.IndexBytes, defaultIndexBytes)
	b.indexes = lines.NewCache[struct{}](b.cfg.IndexBytes)
	b.buffers.New = func() any { return new([bufferBytes]byte) }
	return b, b.cfg.check()
}

func (c *Config) check() error {
	if _, _, err := mime.ParseMediaType(c.ContentType); err != nil {
		return badConfig("ContentType", fmt.Sprintf("%q", c.ContentType), "a MIME type")
	}
	for _, n := range []struct {
		field            string
		value, low, high int
		want             string
	}{
		{"PartBytes", c.PartBytes, minPartBytes, maxPartBytes, "0 (for 5 MiB), or 5 MiB to 1 GiB"},
		{"PartsAtOnce", c.PartsAtOnce, 1, maxPartsAtOnce, "0 (for 4), or 1 to 64"},
		{"IndexBytes", c.IndexBytes, 0, math.MaxInt, "0 (for 4 MiB) or more"},
	} {
		if n.value < n.low || n.value > n.high {
			return badConfig(n.field, n.value, n.want)
		}
	}
	if c.Timeout < 0 {
		return badConfig("Timeout", c.Timeout, "0 (for 1 minute) or more")
	}
	return nil
}

func badConfig(field string, value any, want string) error {
	return fmt.Errorf("blobbackend: Config.%s is %v; want %s", field, value, want)
}

// tryList is not Bucket.IsAccessible, which keeps to itself why a bucket is not.
func (b *Backend) tryList(ctx context.Context) error {
	return b.ask(ctx, func(ctx context.Context) error {
		_, _, err := b.bucket.ListPage(ctx, blob.FirstPageToken, 1, &blob.ListOptions{Prefix: b.layout.Root()})
		return err
	})
}
