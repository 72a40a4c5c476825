package toolresult

// Where the lines of a stored file begin: the indexes of the files used last. They are built while a file is written, or grow
// while it is read.

import (
	"io/fs"
	"os"

	"github.com/eino-toolresult/toolresult/internal/lines"
)

// index gives what is known of the lines of a file, an empty index where that is nothing. Another process may replace a file
// at any moment, so what is remembered is believed only for the same identity, size and time, and never for a path alone.
func (b *DirBackend) index(key string, info fs.FileInfo) *lines.Index {
	known, of := b.lines.Get(key)
	if known == nil || !sameState(of, info) {
		return &lines.Index{}
	}
	return known
}

func sameState(a, b fs.FileInfo) bool {
	return a.Size() == b.Size() && a.ModTime().Equal(b.ModTime()) && os.SameFile(a, b)
}
