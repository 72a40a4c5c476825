package toolresult

// How a result gets into the directory: one way for whole results and for those that arrive bit by bit. They differ in
// the last step alone, the one that gives the file its name.

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"runtime"

	"github.com/eino-toolresult/toolresult/internal/lines"
)

const (
	// dirChunk is how much is written between two looks at the context.
	dirChunk = 256 << 10
	// dirBuffer collects the small pieces of a stream, a line of text at a time perhaps.
	dirBuffer = 64 << 10
	// dirRetries is how often a folder may vanish, its last file being deleted, just before ours gets into it.
	dirRetries = 100
)

// Write stores a result. Whatever has the path already is replaced at once: a reader sees the old result or the new one.
func (b *DirBackend) Write(ctx context.Context, req *WriteRequest) error {
	return dirError("write", req.FilePath, b.store(ctx, req, b.replace))
}

// WriteNew stores a result if nothing has the path.
func (b *DirBackend) WriteNew(ctx context.Context, req *WriteRequest) error {
	// Only a short cut, which saves writing what would be thrown away: the decision falls when the file is linked.
	if _, _, err := b.lookUp(req.FilePath); err == nil {
		return dirError("write", req.FilePath, fs.ErrExist)
	}
	return dirError("write", req.FilePath, b.store(ctx, req, b.link))
}

// store is an upload of one piece, without a buffer: a large text goes from where it is straight into the file.
func (b *DirBackend) store(ctx context.Context, req *WriteRequest, place func(temp, key string) error) error {
	upload, err := b.begin(ctx, req.FilePath)
	if err != nil {
		return err
	}
	upload.out = upload.file
	if _, err = upload.WriteString(req.Content); err == nil {
		err = upload.end(place)
	}
	if err != nil && !upload.ended {
		err = errors.Join(err, upload.abort())
	}
	return err
}

// Create opens an upload. It holds an open file and 64 KiB of memory until it ends.
func (b *DirBackend) Create(ctx context.Context, req *CreateRequest) (Upload, error) {
	upload, err := b.begin(ctx, req.FilePath)
	if err != nil {
		return nil, dirError("create", req.FilePath, err)
	}
	buffer := bufio.NewWriterSize(upload.file, dirBuffer)
	upload.out, upload.flush = buffer, buffer.Flush
	return upload, nil
}

// dirUpload is an unfinished file. The index grows with it, as the bytes pass by anyway.
type dirUpload struct {
	backend *DirBackend
	ctx     context.Context
	virtual string
	key     string
	temp    string
	file    *os.File
	out     stringWriter
	flush   func() error // nil: out is not buffered
	index   lines.Index
	err     error       // the first failed write
	info    fs.FileInfo // once all of the result is in the file, and the file closed
	ended   bool
}

// stringWriter is what *os.File and *bufio.Writer have in common. Both take a string without a copy.
type stringWriter interface {
	io.Writer
	io.StringWriter
}

// begin opens a new file in the hidden folder. That its name is random and O_EXCL given leaves nobody a chance to plant
// something there first.
func (b *DirBackend) begin(ctx context.Context, virtual string) (*dirUpload, error) {
	key, err := dirKey(virtual)
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return nil, err
	}
	upload := &dirUpload{backend: b, ctx: ctx, virtual: virtual, key: key, temp: newTempName()}
	upload.file, err = b.root.OpenFile(upload.temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrNotExist) { // somebody tidied up the hidden folder
		if err = b.makeFolder(dirHidden); err == nil {
			upload.file, err = b.root.OpenFile(upload.temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		}
	}
	return upload, err
}

// Write adds to the result. It fails once the context of Create has ended.
func (u *dirUpload) Write(p []byte) (int, error) {
	n, err := putText(u, p, u.out.Write)
	return n, dirError("write", u.virtual, err)
}

// WriteString is Write for a string, without a copy.
func (u *dirUpload) WriteString(s string) (int, error) {
	n, err := putText(u, s, u.out.WriteString)
	return n, dirError("write", u.virtual, err)
}

// putText writes in chunks, and looks at the context before each. The first failure stays: a result with a hole in it must
// not be committed, even if later writes would succeed.
func putText[T string | []byte](u *dirUpload, text T, write func(T) (int, error)) (n int, err error) {
	if u.ended || u.info != nil {
		return 0, fs.ErrClosed
	}
	for err = u.err; n < len(text) && err == nil; {
		if err = u.ctx.Err(); err != nil {
			break
		}
		chunk := text[n:min(len(text), n+dirChunk)]
		var k int
		k, err = write(chunk)
		lines.Add(&u.index, chunk)
		n += k
	}
	u.err = err
	return n, err
}

// Commit makes the result visible, if nothing has its path. If something has, the upload stays open for CommitAs or Abort;
// any other error ends it.
func (u *dirUpload) Commit() error {
	err := u.end(u.backend.link)
	if err != nil && !u.ended && !errors.Is(err, fs.ErrExist) {
		err = errors.Join(err, u.abort())
	}
	return dirError("commit", u.virtual, err)
}

// CommitAs is Commit under another path.
func (u *dirUpload) CommitAs(virtual string) error {
	key, err := dirKey(virtual)
	if err != nil {
		return dirError("commit", virtual, err)
	}
	u.virtual, u.key = virtual, key
	return u.Commit()
}

// Abort forgets the result.
func (u *dirUpload) Abort() error {
	if u.ended {
		return dirError("abort", u.virtual, fs.ErrClosed)
	}
	return dirError("abort", u.virtual, u.abort())
}

func (u *dirUpload) abort() error {
	u.ended = true
	var err error
	if u.info == nil {
		err = u.file.Close()
	}
	return errors.Join(err, u.backend.root.Remove(u.temp))
}

// end gives the finished file its name. Until that has worked the upload is open.
func (u *dirUpload) end(place func(temp, key string) error) error {
	if u.ended {
		return fs.ErrClosed
	}
	if u.info == nil {
		info, err := u.finish()
		if err == nil {
			err = u.file.Close()
		}
		if err != nil {
			return err
		}
		u.info = info
	}
	if err := u.backend.publish(u.key, func() error { return place(u.temp, u.key) }); err != nil {
		return err
	}
	u.ended = true
	u.backend.lines.Put(u.key, &u.index, u.info)
	return u.backend.syncFolders(u.key)
}

// finish brings all of the result into the file, and asks for its identity last, when nothing changes its time any more. A
// file gets another name without getting another time or identity, so that the index stays valid.
func (u *dirUpload) finish() (fs.FileInfo, error) {
	if u.err != nil {
		return nil, u.err
	}
	if u.flush != nil {
		if err := u.flush(); err != nil {
			return nil, err
		}
	}
	if u.backend.durable {
		if err := u.file.Sync(); err != nil {
			return nil, err
		}
	}
	return u.file.Stat()
}

// publish gives a finished file its name. Beside it the last file of the same folder may be deleted, and the folder
// with it: then the folder is made again. Where the temporary file itself has gone the attempts end soon.
func (b *DirBackend) publish(key string, place func() error) (err error) {
	for range dirRetries {
		if err = b.makeParents(key); err == nil {
			err = place()
		}
		if !errors.Is(err, fs.ErrNotExist) {
			break
		}
	}
	return err
}

// replace is a rename, which takes the place of whatever has the name, a link or a pipe included, and follows nothing. A
// folder it leaves alone.
func (b *DirBackend) replace(temp, key string) error {
	err := b.root.Rename(temp, key)
	if errors.Is(err, fs.ErrExist) {
		return errDirIsFolder
	}
	return err
}

// link is the create-if-absent of every file system with hard links, also over NFS. Once the result has its name, a
// temporary name that stays is no failure: it is swept later, and the result lives on.
func (b *DirBackend) link(temp, key string) error {
	if err := b.root.Link(temp, key); err != nil {
		return err
	}
	_ = b.root.Remove(temp)
	return nil
}

// syncFolders makes the names last, as Sync on a file does for what is in it. Windows cannot, and need not.
func (b *DirBackend) syncFolders(key string) error {
	if !b.durable || runtime.GOOS == "windows" {
		return nil
	}
	for dir := path.Dir(key); ; dir = path.Dir(dir) {
		if err := b.syncFolder(dir); err != nil {
			return fmt.Errorf("stored, but perhaps not for good: %w", err)
		}
		if dir == "." {
			return nil
		}
	}
}

func (b *DirBackend) syncFolder(dir string) error {
	folder, err := b.root.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}
