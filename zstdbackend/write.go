package zstdbackend

// How a result is compressed: frames of plain text, then the count of newlines in each, hidden in a frame that zstd skips,
// then the seek table of the seekable format.

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"io/fs"
	"strings"

	seekable "github.com/SaveTheRbtz/zstd-seekable-format-go/pkg"

	"github.com/eino-toolresult/toolresult"
)

// plainBackend is a Backend and a Reader over what is no more than that.
type plainBackend struct {
	store toolresult.Backend
	codec *codec
	files *files
}

// Write compresses a result, and stores it. The compressed form is held in memory.
func (b *plainBackend) Write(ctx context.Context, req *toolresult.WriteRequest) error {
	packed, err := b.codec.pack(ctx, req.Content)
	if err != nil {
		return &fs.PathError{Op: "write", Path: req.FilePath, Err: err}
	}
	defer b.files.forget(req.FilePath)
	return b.store.Write(ctx, &toolresult.WriteRequest{FilePath: req.FilePath, Content: packed})
}

func (c *codec) pack(ctx context.Context, text string) (string, error) {
	var packed strings.Builder
	packer, err := newPacker(ctx, c, &packed)
	if err == nil {
		_, err = put(packer, text)
	}
	if err == nil {
		err = packer.end()
	}
	return packed.String(), err
}

// packer compresses what is written to it, a frame at a time. Frames know nothing of each other: that costs some of the
// compression, and is what makes each of them readable alone.
type packer struct {
	ctx   context.Context
	out   io.Writer
	enc   *seekable.Encoder
	frame []byte
	lines lineCounts
	err   error // the first failure
}

func newPacker(ctx context.Context, c *codec, out io.Writer) (*packer, error) {
	enc, err := seekable.NewEncoder(c.enc)
	return &packer{ctx: ctx, out: out, enc: enc, frame: make([]byte, 0, c.frame)}, err
}

// put copies into the frame. The encoder wants all of it in one piece.
func put[T string | []byte](p *packer, text T) (n int, err error) {
	for n < len(text) && p.err == nil {
		k := min(len(text)-n, cap(p.frame)-len(p.frame))
		p.frame = append(p.frame, text[n:n+k]...)
		n += k
		if len(p.frame) == cap(p.frame) {
			p.flush()
		}
	}
	return n, p.err
}

// flush compresses and writes the frame, if there is anything in it.
func (p *packer) flush() {
	if p.err = p.ctx.Err(); p.err != nil || len(p.frame) == 0 {
		return
	}
	var packed []byte
	if packed, p.err = p.enc.Encode(p.frame); p.err == nil {
		_, p.err = p.out.Write(packed)
	}
	p.lines.add(p.frame)
	p.frame = p.frame[:0]
}

// end writes the last frame, and the tables.
func (p *packer) end() error {
	if p.err != nil {
		return p.err
	}
	p.flush()
	if p.err == nil {
		_, p.err = p.out.Write(p.lines.marshal())
	}
	if p.err == nil {
		var table []byte
		if table, p.err = p.enc.EndStream(); p.err == nil {
			_, p.err = p.out.Write(table)
		}
	}
	return p.err
}

// lineCounts are the newlines in each frame.
type lineCounts struct {
	perFrame []uint32
	open     bool // the last byte is no newline
}

func (l *lineCounts) add(frame []byte) {
	l.perFrame = append(l.perFrame, uint32(bytes.Count(frame, []byte{'\n'})))
	l.open = frame[len(frame)-1] != '\n'
}

const (
	linesMagic  = 0x184D2A57 // one of the sixteen numbers that zstd keeps for frames to skip; the seek table has another
	linesTag    = "tool result lines 1\n"
	skipHeader  = 8 // magic number and size
	linesHeader = skipHeader + len(linesTag) + 1
)

// marshal gives the counts as a frame that every zstd decoder skips. The seek table must be the last of all, so this is the
// last but one.
func (l *lineCounts) marshal() []byte {
	size := len(linesTag) + 1 + 4*len(l.perFrame)
	data := make([]byte, 0, skipHeader+size)
	data = binary.LittleEndian.AppendUint32(data, linesMagic)
	data = binary.LittleEndian.AppendUint32(data, uint32(size))
	data = append(data, linesTag...)
	if l.open {
		data = append(data, 1)
	} else {
		data = append(data, 0)
	}
	for _, n := range l.perFrame {
		data = binary.LittleEndian.AppendUint32(data, n)
	}
	return data
}

// exclusiveBackend is the ExclusiveWriter and Creator.
type exclusiveBackend struct {
	plain     *plainBackend
	exclusive toolresult.ExclusiveWriter
	creator   toolresult.Creator
}

func newExclusiveBackend(plain *plainBackend) (*exclusiveBackend, bool) {
	exclusive, writesNew := plain.store.(toolresult.ExclusiveWriter)
	creator, creates := plain.store.(toolresult.Creator)
	return &exclusiveBackend{plain: plain, exclusive: exclusive, creator: creator}, writesNew && creates
}

// WriteNew compresses a result, and stores it if nothing has its path.
func (b *exclusiveBackend) WriteNew(ctx context.Context, req *toolresult.WriteRequest) error {
	packed, err := b.plain.codec.pack(ctx, req.Content)
	if err != nil {
		return &fs.PathError{Op: "write", Path: req.FilePath, Err: err}
	}
	return b.exclusive.WriteNew(ctx, &toolresult.WriteRequest{FilePath: req.FilePath, Content: packed})
}

// Create opens an upload. It holds one frame in memory, and four bytes for every one that has gone.
func (b *exclusiveBackend) Create(ctx context.Context, req *toolresult.CreateRequest) (toolresult.Upload, error) {
	if err := ctx.Err(); err != nil {
		return nil, &fs.PathError{Op: "create", Path: req.FilePath, Err: err}
	}
	// Commit must work after the end of ctx, and has a frame and the tables still to write.
	during, cancel := context.WithCancel(context.WithoutCancel(ctx))
	upload, err := b.creator.Create(during, req)
	if err != nil {
		cancel()
		return nil, err
	}
	packer, err := newPacker(during, b.plain.codec, upload)
	if err != nil {
		defer cancel()
		return nil, errors.Join(err, upload.Abort())
	}
	renamer, renames := upload.(toolresult.Renamer)
	packed := &packedUpload{packer: packer, upload: upload, renamer: renamer, ctx: ctx, cancel: cancel}
	if renames {
		return packedRenamer{packed}, nil
	}
	return packed, nil
}

// packedUpload is an upload of the compressed form.
type packedUpload struct {
	packer  *packer
	upload  toolresult.Upload
	renamer toolresult.Renamer // nil where the upload is none
	ctx     context.Context
	cancel  context.CancelFunc // of the upload
	whole   bool               // all of it has been written
}

// Write adds to the result. It fails once the context of Create has ended.
func (u *packedUpload) Write(text []byte) (int, error) { return putUnderContext(u, text) }

// WriteString is Write for a string.
func (u *packedUpload) WriteString(text string) (int, error) { return putUnderContext(u, text) }

// putUnderContext ends the upload underneath with the context while a write waits for it, and only then: Commit and Abort
// come later, and must work without the context.
func putUnderContext[T string | []byte](u *packedUpload, text T) (int, error) {
	if u.packer.err == nil {
		u.packer.err = u.ctx.Err()
	}
	stop := context.AfterFunc(u.ctx, u.cancel)
	defer stop()
	return put(u.packer, text)
}

// Commit makes the result visible, if nothing has its path.
func (u *packedUpload) Commit() error { return u.commit(u.upload.Commit) }

// commit finishes the compressed form once, and may then be called for one path after another.
func (u *packedUpload) commit(commit func() error) error {
	if !u.whole {
		if err := u.packer.end(); err != nil {
			return errors.Join(err, u.Abort())
		}
		u.packer.err, u.whole = fs.ErrClosed, true
	}
	err := commit()
	if u.renamer == nil || !errors.Is(err, fs.ErrExist) {
		u.cancel()
	}
	return err
}

// Abort forgets the result.
func (u *packedUpload) Abort() error {
	defer u.cancel()
	return u.upload.Abort()
}

// packedRenamer is a packedUpload of a Renamer.
type packedRenamer struct{ *packedUpload }

// CommitAs is Commit under another path.
func (u packedRenamer) CommitAs(path string) error {
	return u.commit(func() error { return u.renamer.CommitAs(path) })
}
