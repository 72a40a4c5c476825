package toolresult

// Where results go. Two methods are enough: Backend takes a result, Reader gives it back, and every Eino filesystem
// backend has both. What a store can do beyond that it says with the small interfaces below, which are found by type
// assertion. Each of them saves something (a copy, a read, a lost race); none of them is needed.

import (
	"context"
	"io"
	"iter"
	"time"

	"github.com/cloudwego/eino/adk/filesystem"
)

// WriteRequest asks for Content to be stored under FilePath. It is Eino's own type.
type WriteRequest = filesystem.WriteRequest

// ReadRequest asks for Limit lines of FilePath from line Offset on, the first line being 1; a Limit of 0 asks for all
// of them. It is Eino's own type.
type ReadRequest = filesystem.ReadRequest

// FileContent is what a Reader read. It is Eino's own type.
type FileContent = filesystem.FileContent

// Backend stores results. Any Eino filesystem backend is one.
//
// Write must store the content byte for byte and must return only when a Read of the same path would give it back. It
// may replace what is there; the library itself never writes over a path whose content it knows to differ. It must be
// safe for concurrent use, and never keeps or changes the request.
type Backend interface {
	Write(ctx context.Context, req *WriteRequest) error
}

// Reader gives stored results back. Any Eino filesystem backend is one.
//
// Read must return an error for a path that was never written, best one for which errors.Is(err, fs.ErrNotExist)
// holds. Because Eino's in-memory backend returns a plain error there, every error that is not the context's own
// counts as "nothing stored here".
type Reader interface {
	Read(ctx context.Context, req *ReadRequest) (*FileContent, error)
}

// ExclusiveWriter is a Backend that can create a file only if nothing has its name.
//
// WriteNew must be atomic: of any number of callers, on any number of machines, one wins, and every other gets an error
// for which errors.Is(err, fs.ErrExist) holds. It never changes what is stored already. With it two results can never
// share a path by accident; without it the library can only look before it writes.
type ExclusiveWriter interface {
	WriteNew(ctx context.Context, req *WriteRequest) error
}

// Creator is a Backend that can take a result while it is still being produced.
//
// Create opens an upload for a path. Nothing may be visible under the path until Commit, and Create itself need not
// notice that the path is taken.
type Creator interface {
	Create(ctx context.Context, req *CreateRequest) (Upload, error)
}

// CreateRequest names the path of an upload.
type CreateRequest struct {
	// FilePath is where the result is to be found after Commit. Required.
	FilePath string
}

// Upload is a result on its way into a backend. It is used by one goroutine.
//
// Commit or Abort ends it, also after a failed write; Abort may follow a failed Commit. Commit must make all that was written
// visible at once, and only if nothing has the name: otherwise its error must satisfy errors.Is(err, fs.ErrExist), and
// nothing of the upload may ever become visible, unless it is a Renamer. Abort must leave nothing behind. Both must work
// although the context of Create has ended.
type Upload interface {
	io.Writer
	io.StringWriter
	Commit() error
	Abort() error
}

// Renamer is an Upload that can be given another name when it turns out that its own is taken. After a Commit that failed
// with fs.ErrExist, such an upload is still open: CommitAs must do what Commit does, under the other path, or Abort ends it.
type Renamer interface {
	CommitAs(path string) error
}

// RangeReader is a Reader that can read from the middle of a file.
//
// ReadRange returns the Length bytes from byte Offset on, fewer only where the file ends, and an empty string at or
// behind its end. It must not load the whole file.
type RangeReader interface {
	ReadRange(ctx context.Context, req *RangeRequest) (string, error)
}

// RangeRequest names a range of bytes.
type RangeRequest struct {
	// FilePath is the path of the stored result. Required.
	FilePath string
	// Offset is the first byte, counted from 0. Negative values are refused.
	Offset int64
	// Length is how many bytes at the most. Negative values are refused.
	Length int
}

// LineFinder is a Reader that knows where lines begin, from an index of its own.
//
// FindLine returns the byte at which a line begins, the first line being 1, or the size of the file where there are
// fewer lines. A line ends behind its newline. It may build the index at the first call.
type LineFinder interface {
	FindLine(ctx context.Context, req *LineRequest) (offset int64, err error)
}

// LineRequest names a line.
type LineRequest struct {
	// FilePath is the path of the stored result. Required.
	FilePath string
	// Line is the number of the line, from 1. Smaller values count as 1.
	Line int64
}

// Stater is a Backend that knows the size of a file without reading it. Stat must return an error for which
// errors.Is(err, fs.ErrNotExist) holds where there is none.
type Stater interface {
	Stat(ctx context.Context, req *StatRequest) (*StoredFile, error)
}

// StatRequest names a stored file.
type StatRequest struct {
	// FilePath is the path of the stored result. Required.
	FilePath string
}

// StoredFile describes one stored result.
type StoredFile struct {
	// FilePath is the path under which the result can be read, absolute and clean.
	FilePath string
	// Size is its length in bytes. In a list it may be what the file takes in the store instead, where that differs.
	Size int64
	// Lines is its length in lines, a last one without a newline included, or -1 where the backend would have to read the
	// file to know.
	Lines int64
	// ModTime is when it was stored.
	ModTime time.Time
}

// Deleter is a Backend that can delete a file. Delete must return an error for which errors.Is(err, fs.ErrNotExist)
// holds where there is none.
type Deleter interface {
	Delete(ctx context.Context, req *DeleteRequest) error
}

// DeleteRequest names a file to delete.
type DeleteRequest struct {
	// FilePath is the path of the stored result. Required.
	FilePath string
}

// Lister is a Backend that can enumerate what it holds.
//
// List yields every file below the folder Prefix, in no particular order, and never an unfinished one. An error ends the
// sequence. Files that come or go meanwhile may be missing or listed. A folder that is not there is empty.
type Lister interface {
	List(ctx context.Context, req *ListRequest) iter.Seq2[*StoredFile, error]
}

// ListRequest says which files to list.
type ListRequest struct {
	// Prefix is the folder below which files are listed, such as /large_tool_result, with or without a slash at its end; a
	// file /a/bc is not below /a/b. Empty or "/" lists all.
	Prefix string
}
