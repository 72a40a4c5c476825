package blobbackend

// What the bucket holds, how something goes, and what is left when a process has died.

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"iter"
	"strings"
	"time"

	"gocloud.dev/blob"

	"github.com/eino-toolresult/toolresult"
)

// leftOverAge is how old data must be that nothing points to.
const leftOverAge = 24 * time.Hour

// Delete deletes a result. Its bytes go first, so that a Delete which fails on the way can be repeated.
func (b *Backend) Delete(ctx context.Context, req *toolresult.DeleteRequest) error {
	o, err := b.find(ctx, req.FilePath)
	if err == nil && o.isNote() {
		b.indexes.Drop(o.id)
		err = b.dropData(ctx, o.id)
	}
	if err == nil {
		err = b.delete(ctx, o.key)
	}
	return pathError("delete", req.FilePath, err)
}

// List lists what is below a folder, in no particular order, a thousand with one request, and a request for every large result.
// It skips objects that are not ours.
func (b *Backend) List(ctx context.Context, req *toolresult.ListRequest) iter.Seq2[*toolresult.StoredFile, error] {
	return func(yield func(*toolresult.StoredFile, error) bool) {
		prefix, err := b.layout.Folder(req.Prefix)
		if err != nil {
			yield(nil, pathError("list", req.Prefix, err))
			return
		}
		for entry, err := range b.entries(ctx, prefix) {
			var file *toolresult.StoredFile
			if err == nil {
				file, err = b.listed(ctx, entry)
			}
			if err != nil {
				yield(nil, pathError("list", req.Prefix, err))
				return
			}
			if file != nil && !yield(file, nil) {
				return
			}
		}
	}
}

// listed describes one object of a list, and answers with nil where it is no result, or no longer.
func (b *Backend) listed(ctx context.Context, entry *blob.ListObject) (*toolresult.StoredFile, error) {
	virtual, ok := b.layout.Path(entry.Key)
	if !ok {
		return nil, nil
	}
	if !mayBeNote(entry.Size) {
		return &toolresult.StoredFile{FilePath: virtual, Size: entry.Size, Lines: -1, ModTime: entry.ModTime}, nil
	}
	o, err := b.look(ctx, entry.Key)
	if err != nil {
		return nil, unlessGone(err)
	}
	return b.describe(o)
}

// entries gives the objects whose keys have a prefix.
func (b *Backend) entries(ctx context.Context, prefix string) iter.Seq2[*blob.ListObject, error] {
	return func(yield func(*blob.ListObject, error) bool) {
		objects := b.bucket.List(&blob.ListOptions{Prefix: prefix})
		for {
			var entry *blob.ListObject
			var end error
			err := b.ask(ctx, func(ctx context.Context) (err error) {
				if entry, err = objects.Next(ctx); err == io.EOF {
					end, err = err, nil
				}
				return err
			})
			if end != nil || !yield(entry, err) || err != nil {
				return
			}
		}
	}
}

// SweepLeftOvers deletes what lies below .toolresult and nothing points to: because a process died between the last byte of a
// large result and its name, because a large result was replaced, or because a deletion failed. Only what is at least minAge old
// goes, which must be longer than any tool call lasts. 0 means 24 hours; negative values are refused. It lists all that
// is below Prefix if there is anything to decide, and looks at every large result.
func (b *Backend) SweepLeftOvers(ctx context.Context, minAge time.Duration) (deleted int, err error) {
	if minAge < 0 {
		return 0, badConfig("the age of SweepLeftOvers", minAge, "0 (for 24 hours) or more")
	}
	if minAge == 0 {
		minAge = leftOverAge
	}
	doubtful := map[string]bool{}
	for _, root := range []string{b.layout.DataRoot(), b.layout.LinesRoot()} {
		if err := b.findDoubtful(ctx, root, time.Now().Add(-minAge), doubtful); err != nil {
			return 0, pathError("sweep", "/", err)
		}
	}
	if err := b.clear(ctx, doubtful); err != nil {
		return 0, pathError("sweep", "/", err)
	}
	for id := range doubtful {
		if err := b.dropData(ctx, id); err != nil {
			return deleted, pathError("sweep", "/", err)
		}
		deleted++
	}
	return deleted, nil
}

func (b *Backend) findDoubtful(ctx context.Context, root string, before time.Time, ids map[string]bool) error {
	for entry, err := range b.entries(ctx, root) {
		if err != nil {
			return err
		}
		if entry.ModTime.Before(before) {
			ids[strings.TrimPrefix(entry.Key, root)] = true
		}
	}
	return nil
}

// clear strikes out what a note points to.
func (b *Backend) clear(ctx context.Context, doubtful map[string]bool) error {
	if len(doubtful) == 0 {
		return nil
	}
	for entry, err := range b.entries(ctx, b.layout.Root()) {
		if err != nil {
			return err
		}
		if _, ours := b.layout.Path(entry.Key); !ours || !mayBeNote(entry.Size) {
			continue
		}
		o, err := b.look(ctx, entry.Key)
		// A note that cannot be understood may point to anything.
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if err == nil {
			delete(doubtful, o.id)
		}
	}
	return nil
}
