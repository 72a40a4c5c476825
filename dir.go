package toolresult

// A directory on disk as a backend. A result is written under a random name in one hidden folder, and gets its own name
// only when all of it is there: a reader sees the whole or nothing, also when the writer dies. os.Root keeps every
// operation below the directory, whatever a path says and whatever links somebody has planted.
//
// It does not encrypt, compress or expire anything, it has no search of its own, and it does not watch for changes that
// others make. The directory is for results alone: whatever else lies in it is listed, and swept, like a result.

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"
	"sync"
	"time"

	"github.com/eino-toolresult/toolresult/internal/lines"
)

const (
	// dirHidden holds what is still being written. It is below the root because a rename cannot cross file systems.
	dirHidden = ".toolresult"
	// dirTempPrefix marks our own files in dirHidden; others there are not ours to sweep.
	dirTempPrefix = "unfinished-"
	// dirTempAge is how long nothing may have been written to an unfinished file before it counts as left over.
	dirTempAge = 24 * time.Hour
	// dirIndexBytes is the default of DirConfig.IndexBytes.
	dirIndexBytes = 4 << 20
)

// DirConfig configures a DirBackend.
type DirConfig struct {
	// Dir is the directory for results and nothing else, created with mode 0700 where it is missing. It may be a
	// symbolic link; nothing below it may be one. Its file system must have hard links, as all common ones but FAT,
	// exFAT and some network mounts do: only with them is WriteNew atomic. Required.
	Dir string
	// Sync makes a write return only when the result would survive a power failure. It costs about two thirds of the
	// throughput at 100 KB. Default false: a result survives the end of the process, but perhaps not of the machine.
	Sync bool
	// IndexBytes bounds the memory for line indexes, in bytes. A file takes about 600, and 8 more for every 64 KiB of
	// it; the files used longest ago give way, and are indexed again when a line in them is asked for. 0 means 4 MiB;
	// negative values are refused.
	IndexBytes int
}

// DirBackend stores results as files below one directory: the result /a/b is the file a/b, mode 0600, in folders of
// mode 0700. It has every optional interface of this package, and is safe for concurrent use, also by several processes
// on the same directory.
//
// Paths are cleaned, so that a/b, /a//b/ and /a/./b are the same. Refused are empty ones and any with a ".." part, a
// backslash, a NUL, more than 1024 bytes or 64 parts, or more than 255 bytes in a part; on Windows reserved names too.
// Errors are *fs.PathError with the path as it was given, never with the directory on disk. Anything on the way or at the
// end of a path that is neither a folder nor a regular file is refused as well: symbolic links are not followed, and
// pipes and devices not opened.
//
// Deleting the last file of a folder deletes the folder.
type DirBackend struct {
	root    *os.Root
	durable bool
	lines   *lines.Cache[fs.FileInfo]
	blocks  sync.Pool // of *[lines.BlockBytes]byte
}

var (
	_ Backend         = (*DirBackend)(nil)
	_ Reader          = (*DirBackend)(nil)
	_ ExclusiveWriter = (*DirBackend)(nil)
	_ Creator         = (*DirBackend)(nil)
	_ RangeReader     = (*DirBackend)(nil)
	_ LineFinder      = (*DirBackend)(nil)
	_ Stater          = (*DirBackend)(nil)
	_ Deleter         = (*DirBackend)(nil)
	_ Lister          = (*DirBackend)(nil)
)

// NewDirBackend opens the directory, which must be writable, and removes what writers that died more than a day ago
// have left behind.
func NewDirBackend(ctx context.Context, cfg *DirConfig) (*DirBackend, error) {
	if cfg == nil || cfg.Dir == "" {
		return nil, badConfig("DirConfig.Dir", `""`, "a directory")
	}
	if cfg.IndexBytes < 0 {
		return nil, badConfig("DirConfig.IndexBytes", cfg.IndexBytes, "0 (for 4 MiB) or more")
	}
	b := &DirBackend{durable: cfg.Sync, lines: lines.NewCache[fs.FileInfo](cmp.Or(cfg.IndexBytes, dirIndexBytes))}
	b.blocks.New = func() any { return new([lines.BlockBytes]byte) }
	if err := b.open(ctx, cfg.Dir); err != nil {
		return nil, fmt.Errorf("toolresult: open directory for results: %w", err)
	}
	return b, nil
}

func (b *DirBackend) open(ctx context.Context, dir string) (err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	if b.root, err = os.OpenRoot(dir); err != nil {
		return err
	}
	err = b.makeFolder(dirHidden)
	if err == nil {
		err = b.sweepLeftOvers(ctx)
	}
	if err == nil {
		err = b.tryLink()
	}
	if err != nil {
		return errors.Join(err, b.root.Close())
	}
	return nil
}

// sweepLeftOvers does not fail over a file that cannot be removed: no result is at stake, and there is a next time.
func (b *DirBackend) sweepLeftOvers(ctx context.Context) error {
	for name, err := range b.names(dirHidden) {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return err
		}
		temp := path.Join(dirHidden, name)
		info, err := b.root.Lstat(temp)
		if err == nil && isLeftOver(info) {
			_ = b.root.Remove(temp)
		}
	}
	return nil
}

func isLeftOver(info fs.FileInfo) bool {
	return info.Mode().IsRegular() && strings.HasPrefix(info.Name(), dirTempPrefix) &&
		time.Since(info.ModTime()) > dirTempAge
}

// tryLink finds out now what WriteNew would find out with the first large result, in the middle of somebody's work.
func (b *DirBackend) tryLink() error {
	temp, other := newTempName(), newTempName()
	file, err := b.root.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer b.root.Remove(temp)
	if err := file.Close(); err != nil {
		return err
	}
	if err := b.root.Link(temp, other); err != nil {
		return fmt.Errorf("its file system must have hard links: %w", err)
	}
	return b.root.Remove(other)
}

func newTempName() string {
	return path.Join(dirHidden, dirTempPrefix+rand.Text())
}

// Close releases the directory. What comes later fails with fs.ErrClosed.
func (b *DirBackend) Close() error {
	return b.root.Close()
}
