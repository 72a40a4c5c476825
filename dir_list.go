package toolresult

// What the directory holds, and how something goes.

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"iter"
	"os"
	"path"
	"strings"
	"syscall"
)

// dirNames is how many names of a folder are held at a time. There may be a million.
const dirNames = 1024

// Delete deletes a result, and the folders that it leaves empty.
func (b *DirBackend) Delete(ctx context.Context, req *DeleteRequest) error {
	key, _, err := b.lookUp(req.FilePath)
	if err == nil {
		err = ctx.Err()
	}
	if err == nil {
		err = b.root.Remove(key)
	}
	if err != nil {
		return dirError("delete", req.FilePath, err)
	}
	b.lines.Drop(key)
	b.removeEmpty(path.Dir(key))
	return nil
}

// removeEmpty removes a folder and those above it while they are empty, which the attempt alone can tell: a folder that
// somebody is just writing into stays, and who has found it a moment ago makes it again (see publish). It looks first, lest
// it remove a file that has come into the place of the folder. What cannot be removed is left, as it harms nobody.
func (b *DirBackend) removeEmpty(dir string) {
	for ; dir != "."; dir = path.Dir(dir) {
		if b.checkFolder(dir) != nil || b.root.Remove(dir) != nil {
			return
		}
	}
}

// List lists what is below a folder, in no particular order. It skips what is not a result, such as links and pipes, and
// files with names that no path can have. It goes down without recursion and with one open folder at a time, so that deep
// trees do not use up the files that a process may open.
func (b *DirBackend) List(ctx context.Context, req *ListRequest) iter.Seq2[*StoredFile, error] {
	return func(yield func(*StoredFile, error) bool) {
		start, err := b.folderKey(req.Prefix)
		if err != nil {
			yield(nil, dirError("list", req.Prefix, err))
			return
		}
		for pending := []string{start}; len(pending) > 0; {
			dir := pending[len(pending)-1]
			pending = pending[:len(pending)-1]
			for key, info := range b.entries(ctx, dir, &err) {
				switch {
				case info.IsDir():
					pending = append(pending, key)
				case !yield(b.describe(key, info), nil):
					return
				}
			}
			if err != nil {
				yield(nil, dirError("list", req.Prefix, err))
				return
			}
		}
	}
}

// folderKey is dirKey for a folder, which may be the root.
func (b *DirBackend) folderKey(prefix string) (string, error) {
	if strings.Trim(prefix, "/") == "" {
		return ".", nil
	}
	return dirKey(prefix)
}

// entries gives the folders and the results in a folder. What has gone meanwhile, or was never a folder, is empty. It looks
// at all of the way again, because since the folder was listed a link may have come into its place. An error is left in
// failed, so that the loop over the entries stays a plain one.
func (b *DirBackend) entries(ctx context.Context, dir string, failed *error) iter.Seq2[string, fs.FileInfo] {
	return func(yield func(string, fs.FileInfo) bool) {
		if err := eachParent(dir+"/", b.checkFolder); err != nil {
			*failed = unlessGone(err)
			return
		}
		for name, err := range b.names(dir) {
			if err == nil {
				err = ctx.Err()
			}
			if err != nil {
				*failed = unlessGone(err)
				return
			}
			key, info, err := b.entry(dir, name)
			if err != nil {
				*failed = err
				return
			}
			if info != nil && !yield(key, info) {
				return
			}
		}
	}
}

// entry describes one name in a folder, and answers with nil where it is no folder and no result. It asks the root and not
// the name that the folder gave out, whose own description follows a path outside of the root's protection.
func (b *DirBackend) entry(dir, name string) (string, fs.FileInfo, error) {
	key := path.Join(dir, name)
	if clean, err := dirKey(key); err != nil || clean != key {
		return "", nil, nil
	}
	info, err := b.root.Lstat(key)
	if err != nil || !info.IsDir() && !info.Mode().IsRegular() {
		return "", nil, unlessGone(err)
	}
	return key, info, nil
}

// unlessGone forgives what can happen to any listing beside which others delete.
func unlessGone(err error) error {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, errDirNotFolder) {
		return nil
	}
	return err
}

// names gives what is in a folder, a batch at a time, in the order of the file system.
func (b *DirBackend) names(dir string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		folder, err := b.root.OpenFile(dir, os.O_RDONLY|syscall.O_NONBLOCK, 0)
		if err != nil {
			yield("", err)
			return
		}
		defer folder.Close()
		for {
			names, err := folder.Readdirnames(dirNames)
			for _, name := range names {
				if !yield(name, nil) {
					return
				}
			}
			if err != nil {
				if !errors.Is(err, io.EOF) {
					yield("", err)
				}
				return
			}
		}
	}
}
