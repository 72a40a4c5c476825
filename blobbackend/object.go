package blobbackend

// What is known of a result from one look at its object.

import (
	"context"
	"errors"
	"io/fs"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/cloudwego/eino/compose"
	"gocloud.dev/blob"

	"github.com/eino-toolresult/toolresult"
)

const (
	// note is the content of an object that only points to a large result. It is always as long as this, which is how a list,
	// that knows sizes alone, tells what it must look at more closely.
	note     = "This tool result is too large for one object. Its metadata names the one below .toolresult/data/ that holds it.\n"
	noteType = "application/vnd.toolresult.note"

	// Metadata. Dashes, because some proxies drop headers with an underscore.
	metaID    = "toolresult-id"
	metaNote  = "toolresult-note" // only on a note
	metaBytes = "toolresult-bytes"
	metaLines = "toolresult-lines"
	metaTool  = "toolresult-tool"
	metaCall  = "toolresult-call-id"

	// maxMetaValue bounds a name that a model may have made up, in bytes. S3 takes 2 KiB of metadata in all, and escaping
	// makes three of one.
	maxMetaValue = 200
)

var errDamaged = errors.New("the object that points to the result is damaged")

// object is a stored result.
type object struct {
	key     string // under which it is found
	data    string // of its bytes; the same for a small one
	id      string // tells its content from any other
	size    int64
	lines   int64 // -1: not known
	modTime time.Time
}

func (o *object) isNote() bool  { return o.data != o.key }
func (o *object) isSmall() bool { return o.size <= wholeBytes }

// find looks at the object of a result.
func (b *Backend) find(ctx context.Context, virtual string) (*object, error) {
	key, err := b.layout.Result(virtual)
	if err != nil {
		return nil, err
	}
	return b.look(ctx, key)
}

func (b *Backend) look(ctx context.Context, key string) (*object, error) {
	attrs, err := b.attributes(ctx, key)
	if err != nil {
		return nil, err
	}
	o := &object{key: key, data: key, size: attrs.Size, lines: -1, modTime: attrs.ModTime}
	o.id = attrs.Metadata[metaID]
	if o.id == "" { // put there by somebody else
		o.id = attrs.ETag
	}
	bytes, bytesErr := strconv.ParseInt(attrs.Metadata[metaBytes], 10, 64)
	lines, linesErr := strconv.ParseInt(attrs.Metadata[metaLines], 10, 64)
	if _, pointing := attrs.Metadata[metaNote]; pointing {
		if bytesErr != nil || linesErr != nil || strings.Contains(o.id, "/") {
			return nil, errDamaged
		}
		o.data, o.size = b.layout.Data(o.id), bytes
	}
	if bytes == o.size && linesErr == nil {
		o.lines = lines
	}
	return o, nil
}

func (b *Backend) attributes(ctx context.Context, key string) (attrs *blob.Attributes, err error) {
	err = b.ask(ctx, func(ctx context.Context) (err error) {
		attrs, err = b.bucket.Attributes(ctx, key)
		return err
	})
	return attrs, err
}

// mayBeNote holds for the sizes of notes. Few results have the same one.
func mayBeNote(size int64) bool { return size == int64(len(note)) }

// metadata is what is known of a result before its first byte is sent.
func metadata(ctx context.Context, id string) map[string]string {
	meta := map[string]string{metaID: id}
	tool, call := toolCall(ctx)
	for name, value := range map[string]string{metaTool: tool, metaCall: call} {
		if value = metaValue(value); value != "" {
			meta[name] = value
		}
	}
	return meta
}

// fullMetadata is the same once all of the result is there.
func fullMetadata(ctx context.Context, id string, bytes, lines int64) map[string]string {
	meta := metadata(ctx, id)
	meta[metaBytes] = strconv.FormatInt(bytes, 10)
	meta[metaLines] = strconv.FormatInt(lines, 10)
	return meta
}

// toolCall finds the call in which a context was made. Eino's tool nodes leave it there.
func toolCall(ctx context.Context) (tool, callID string) {
	address := compose.GetCurrentAddress(ctx)
	for i := len(address) - 1; i >= 0; i-- {
		if address[i].Type == compose.AddressSegmentTool {
			return address[i].ID, address[i].SubID
		}
	}
	return "", ""
}

func metaValue(value string) string {
	value = strings.ToValidUTF8(value, "?")
	if len(value) <= maxMetaValue {
		return value
	}
	cut := maxMetaValue
	for !utf8.RuneStart(value[cut]) {
		cut--
	}
	return value[:cut]
}

// Stat describes a result. Lines is known of all that a Backend has written.
func (b *Backend) Stat(ctx context.Context, req *toolresult.StatRequest) (*toolresult.StoredFile, error) {
	o, err := b.find(ctx, req.FilePath)
	if err != nil {
		return nil, pathError("stat", req.FilePath, err)
	}
	return b.describe(o)
}

func (b *Backend) describe(o *object) (*toolresult.StoredFile, error) {
	virtual, ok := b.layout.Path(o.key)
	if !ok {
		return nil, pathError("stat", o.key, fs.ErrInvalid)
	}
	return &toolresult.StoredFile{FilePath: virtual, Size: o.size, Lines: o.lines, ModTime: o.modTime}, nil
}
