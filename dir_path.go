package toolresult

// How a path becomes the name of a file below the directory, and what may stand in its way. os.Root alone would do to
// stay inside, but it follows links that point to somewhere else inside: to another session's results, for instance.

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

const (
	// dirMaxPart is the bound of ext4, APFS and most others, in bytes.
	dirMaxPart = 255
	// dirMaxPath is the bound of object stores.
	dirMaxPath = 1024
	// dirMaxParts keeps a path of very many folders from taking very long: each is looked at from the root on.
	dirMaxParts = 64
)

var (
	errDirPath = fmt.Errorf("%w: want a path below the root, without \"..\", backslash or NUL, of at most %d bytes and %d parts, and %d bytes in a part",
		fs.ErrInvalid, dirMaxPath, dirMaxParts, dirMaxPart)
	errDirReserved   = fmt.Errorf("%w: the folder %s is reserved", fs.ErrInvalid, dirHidden)
	errDirNotFolder  = dirFault("a part of the path is not a folder")
	errDirIsFolder   = dirFault("is a folder")
	errDirNotRegular = dirFault("not a regular file")
)

// dirFault is what is wrong with a path as things lie in the directory. To try again would not help, hence fs.ErrInvalid.
type dirFault string

func (f dirFault) Error() string        { return string(f) }
func (f dirFault) Is(target error) bool { return target == fs.ErrInvalid }

// dirKey gives the name of the file below the root. It does by itself all that keeps a path inside, so that nothing
// depends on how os.Root treats dots and slashes.
func dirKey(virtual string) (string, error) {
	key := path.Clean(strings.Trim(virtual, "/"))
	if key == "." || len(virtual) > dirMaxPath || strings.ContainsAny(virtual, "\\\x00") || !filepath.IsLocal(filepath.FromSlash(key)) {
		return "", errDirPath
	}
	if strings.Count(key, "/") >= dirMaxParts {
		return "", errDirPath
	}
	for part := range strings.SplitSeq(virtual, "/") {
		if part == ".." || len(part) > dirMaxPart {
			return "", errDirPath
		}
	}
	first, _, _ := strings.Cut(key, "/")
	// Blind to case, and to the dots and spaces that Windows drops.
	if strings.EqualFold(strings.TrimRight(first, ". "), dirHidden) {
		return "", errDirReserved
	}
	return key, nil
}

// makeParents makes the folders above a file.
func (b *DirBackend) makeParents(key string) error {
	return eachParent(key, b.makeFolder)
}

// makeFolder is not os.Root.MkdirAll, which takes a link to a folder for a folder.
func (b *DirBackend) makeFolder(dir string) error {
	err := b.checkFolder(dir)
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := b.root.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return b.checkFolder(dir)
}

// checkFolder does not follow a link, and takes one for what it is: no folder.
func (b *DirBackend) checkFolder(dir string) error {
	info, err := b.root.Lstat(dir)
	if err == nil && !info.IsDir() {
		err = errDirNotFolder
	}
	return err
}

// lookUp describes the file that a path names, which must be one of ours: regular, and below real folders.
func (b *DirBackend) lookUp(virtual string) (key string, info fs.FileInfo, err error) {
	if key, err = dirKey(virtual); err != nil {
		return "", nil, err
	}
	if err = eachParent(key, b.checkFolder); err != nil {
		return "", nil, err
	}
	info, err = b.root.Lstat(key)
	switch {
	case err != nil:
		return "", nil, err
	case info.IsDir():
		return "", nil, errDirIsFolder
	case !info.Mode().IsRegular():
		return "", nil, errDirNotRegular
	}
	return key, info, nil
}

// eachParent calls do for the folders above a file, from the root down.
func eachParent(key string, do func(dir string) error) error {
	for i := range len(key) {
		if key[i] != '/' {
			continue
		}
		if err := do(key[:i]); err != nil {
			return err
		}
	}
	return nil
}

// dirError says what failed for which path. The errors of package os are stripped of theirs, because the ones of an open
// file name the directory on disk, and the text may end before a model.
func dirError(op, virtual string, err error) error {
	if err == nil {
		return nil
	}
	var inPath *fs.PathError
	var inLink *os.LinkError
	switch {
	case errors.As(err, &inPath):
		err = inPath.Err
	case errors.As(err, &inLink):
		err = inLink.Err
	}
	return &fs.PathError{Op: op, Path: virtual, Err: err}
}
