// Package zstdbackend keeps results compressed: it wraps any backend of toolresult, and what reads through it sees plain
// text. A result is stored in the seekable zstd format, in small frames that can be read one by one, so that a page from
// the middle costs a frame and not the file. zstd -dc reads a stored file as well.
//
// It does not choose what is worth compressing (text takes a fifth to a tenth of its size, and what is compressed already
// hardly more than before), does not encrypt, and does not compress what is stored already: that is read as it is.
package zstdbackend

import (
	"context"
	"fmt"
	"math/bits"

	"github.com/klauspost/compress/zstd"

	"github.com/eino-toolresult/toolresult"
)

const (
	defaultFrame = 128 << 10
	minFrame     = 1 << 10
	maxFrame     = 8 << 20
)

// BackendConfig configures a Backend.
type BackendConfig struct {
	// Backend is where the compressed results are stored. It must be a Reader too, and keep every byte as it is. Required.
	Backend toolresult.Backend
	// Level is how hard to try, from zstd.SpeedFastest to zstd.SpeedBestCompression. 0 means zstd.SpeedDefault.
	Level zstd.EncoderLevel
	// FrameBytes is how much plain text is compressed together, in bytes. A read decompresses whole frames; smaller ones make
	// pages cheaper, and files larger. 0 means 128 KiB; from 1 KiB to 8 MiB.
	FrameBytes int
}

// Backend is a compressing backend, safe for concurrent use. It has the optional interfaces of toolresult as the backend
// underneath has them: ExclusiveWriter and Creator together, Deleter and Lister together, and RangeReader, Stater and
// LineFinder where that one is a RangeReader and a Stater. Stat describes the plain text; List gives the size that a file
// takes in the store, which is what matters to a bound on the store.
//
// Without ranges underneath every read takes the whole compressed file.
type Backend interface {
	toolresult.Backend
	toolresult.Reader
}

// NewBackend wraps a backend.
func NewBackend(_ context.Context, cfg *BackendConfig) (Backend, error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}
	codec, err := newCodec(cfg)
	if err != nil {
		return nil, fmt.Errorf("zstdbackend: %w", err)
	}
	plain := &plainBackend{cfg.Backend, codec, newFiles(cfg.Backend, codec)}
	w, writes := newExclusiveBackend(plain)
	p, pages := newPagingBackend(plain)
	k, keeps := newKeepingBackend(plain)
	switch {
	case writes && pages && keeps:
		return everything{plain, w, p, k}, nil
	case writes && pages:
		return writingPaging{plain, w, p}, nil
	case writes && keeps:
		return writingKeeping{plain, w, k}, nil
	case pages && keeps:
		return pagingKeeping{plain, p, k}, nil
	case writes:
		return writing{plain, w}, nil
	case pages:
		return paging{plain, p}, nil
	case keeps:
		return keeping{plain, k}, nil
	}
	return plain, nil
}

// A type for each of the things that a backend underneath may be capable of.
type (
	everything struct {
		*plainBackend
		*exclusiveBackend
		*pagingBackend
		*keepingBackend
	}
	writingPaging struct {
		*plainBackend
		*exclusiveBackend
		*pagingBackend
	}
	writingKeeping struct {
		*plainBackend
		*exclusiveBackend
		*keepingBackend
	}
	pagingKeeping struct {
		*plainBackend
		*pagingBackend
		*keepingBackend
	}
	writing struct {
		*plainBackend
		*exclusiveBackend
	}
	paging struct {
		*plainBackend
		*pagingBackend
	}
	keeping struct {
		*plainBackend
		*keepingBackend
	}
)

func (c *BackendConfig) check() error {
	if c == nil || c.Backend == nil {
		return badConfig("Backend", nil, "a Backend that is also a Reader")
	}
	if _, ok := c.Backend.(toolresult.Reader); !ok {
		return badConfig("Backend", fmt.Sprintf("a %T", c.Backend), "a Backend that is also a Reader")
	}
	if c.Level < 0 || c.Level > zstd.SpeedBestCompression {
		return badConfig("Level", int(c.Level), fmt.Sprintf("0 (for the default) to %d", zstd.SpeedBestCompression))
	}
	if c.FrameBytes != 0 && (c.FrameBytes < minFrame || c.FrameBytes > maxFrame) {
		return badConfig("FrameBytes", c.FrameBytes, fmt.Sprintf("0 (for %d), or %d to %d", defaultFrame, minFrame, maxFrame))
	}
	return nil
}

func badConfig(field string, value any, want string) error {
	return fmt.Errorf("zstdbackend: BackendConfig.%s is %v; want %s", field, value, want)
}

// codec compresses and decompresses frames. Both halves work on the caller's goroutine, and keep nothing open.
type codec struct {
	frame int
	enc   *zstd.Encoder
	dec   *zstd.Decoder
}

func newCodec(cfg *BackendConfig) (*codec, error) {
	frame, level := cfg.FrameBytes, cfg.Level
	if frame == 0 {
		frame = defaultFrame
	}
	if level == 0 {
		level = zstd.SpeedDefault
	}
	window := 1 << bits.Len(uint(frame-1)) // no match can be further away than the frame is long
	enc, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(level), zstd.WithWindowSize(window), zstd.WithEncoderCRC(true))
	if err != nil {
		return nil, err
	}
	// A frame that says it is larger than any of ours is not worth the memory.
	dec, err := zstd.NewReader(nil, zstd.WithDecoderMaxMemory(maxFrame), zstd.WithDecoderConcurrency(0))
	return &codec{frame: frame, enc: enc, dec: dec}, err
}
