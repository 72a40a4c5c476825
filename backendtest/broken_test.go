package backendtest_test

import (
	"context"
	"errors"
	"io/fs"
	"iter"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/eino-toolresult/toolresult"
	"github.com/eino-toolresult/toolresult/backendtest"
)

// A suite that passes everything is worth nothing. Each of these backends breaks one promise, and must fail in the test of
// that interface.
var broken = []struct {
	name, in string
	breaks   func(b *toolresult.DirBackend) toolresult.Backend
}{
	{"write loses a byte", "Backend", func(b *toolresult.DirBackend) toolresult.Backend { return losesByte{b} }},
	{"write changes its request", "Backend", func(b *toolresult.DirBackend) toolresult.Backend { return changesRequest{b} }},
	{"write does not replace", "Backend", func(b *toolresult.DirBackend) toolresult.Backend { return neverReplaces{b} }},
	{"paths lose their folder", "Backend", func(b *toolresult.DirBackend) toolresult.Backend { return flat{b} }},
	{"read ignores the limit", "Reader", func(b *toolresult.DirBackend) toolresult.Backend { return noLimit{b} }},
	{"a missing file is empty", "Reader", func(b *toolresult.DirBackend) toolresult.Backend { return missingIsEmpty{b} }},
	{"new replaces", "ExclusiveWriter", func(b *toolresult.DirBackend) toolresult.Backend { return newReplaces{b} }},
	{"new looks first", "ExclusiveWriter", func(b *toolresult.DirBackend) toolresult.Backend { return newLooks{b} }},
	{"new has its own error", "ExclusiveWriter", func(b *toolresult.DirBackend) toolresult.Backend { return newOwnError{b} }},
	{"commit replaces", "Creator", func(b *toolresult.DirBackend) toolresult.Backend { return uploads{b, commitReplaces} }},
	{"upload is visible", "Creator", func(b *toolresult.DirBackend) toolresult.Backend { return uploads{b, visible} }},
	{"abort commits", "Creator", func(b *toolresult.DirBackend) toolresult.Backend { return uploads{b, abortCommits} }},
	{"upload keeps pieces", "Creator", func(b *toolresult.DirBackend) toolresult.Backend { return uploads{b, keepsPieces} }},
	{"another name replaces", "Creator", func(b *toolresult.DirBackend) toolresult.Backend { return uploads{b, renameReplaces} }},
	{"commit needs the context", "Creator", func(b *toolresult.DirBackend) toolresult.Backend { return uploads{b, needsContext} }},
	{"a range behind the end is an error", "RangeReader", func(b *toolresult.DirBackend) toolresult.Backend { return strictRange{b} }},
	{"lines count from 0", "LineFinder", func(b *toolresult.DirBackend) toolresult.Backend { return linesFrom0{b} }},
	{"an open line does not count", "Stater", func(b *toolresult.DirBackend) toolresult.Backend { return countsNewlines{b} }},
	{"delete of nothing is fine", "Deleter", func(b *toolresult.DirBackend) toolresult.Backend { return deletesNothing{b} }},
	{"a prefix is a beginning", "Lister", func(b *toolresult.DirBackend) toolresult.Backend { return listsAll{b} }},
}

type (
	losesByte      struct{ *toolresult.DirBackend }
	changesRequest struct{ *toolresult.DirBackend }
	neverReplaces  struct{ *toolresult.DirBackend }
	flat           struct{ *toolresult.DirBackend }
	noLimit        struct{ *toolresult.DirBackend }
	missingIsEmpty struct{ *toolresult.DirBackend }
	newReplaces    struct{ *toolresult.DirBackend }
	newLooks       struct{ *toolresult.DirBackend }
	newOwnError    struct{ *toolresult.DirBackend }
	strictRange    struct{ *toolresult.DirBackend }
	linesFrom0     struct{ *toolresult.DirBackend }
	countsNewlines struct{ *toolresult.DirBackend }
	deletesNothing struct{ *toolresult.DirBackend }
	listsAll       struct{ *toolresult.DirBackend }
)

func (b losesByte) Write(ctx context.Context, req *toolresult.WriteRequest) error {
	return b.DirBackend.Write(ctx, &toolresult.WriteRequest{FilePath: req.FilePath, Content: strings.TrimSuffix(req.Content, "\n")})
}

func (b changesRequest) Write(ctx context.Context, req *toolresult.WriteRequest) error {
	defer func() { req.Content = "" }()
	return b.DirBackend.Write(ctx, req)
}

func (b neverReplaces) Write(ctx context.Context, req *toolresult.WriteRequest) error {
	if err := b.WriteNew(ctx, req); !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

func (b flat) Write(ctx context.Context, req *toolresult.WriteRequest) error {
	return b.DirBackend.Write(ctx, &toolresult.WriteRequest{FilePath: lastPart(req.FilePath), Content: req.Content})
}

func (b flat) Read(ctx context.Context, req *toolresult.ReadRequest) (*toolresult.FileContent, error) {
	return b.DirBackend.Read(ctx, &toolresult.ReadRequest{FilePath: lastPart(req.FilePath), Offset: req.Offset, Limit: req.Limit})
}

func lastPart(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }

func (b noLimit) Read(ctx context.Context, req *toolresult.ReadRequest) (*toolresult.FileContent, error) {
	return b.DirBackend.Read(ctx, &toolresult.ReadRequest{FilePath: req.FilePath, Offset: req.Offset})
}

func (b missingIsEmpty) Read(ctx context.Context, req *toolresult.ReadRequest) (*toolresult.FileContent, error) {
	got, err := b.DirBackend.Read(ctx, req)
	if errors.Is(err, fs.ErrNotExist) {
		return &toolresult.FileContent{}, nil
	}
	return got, err
}

func (b newReplaces) WriteNew(ctx context.Context, req *toolresult.WriteRequest) error {
	return b.Write(ctx, req)
}

func (b newLooks) WriteNew(ctx context.Context, req *toolresult.WriteRequest) error {
	if _, err := b.Stat(ctx, &toolresult.StatRequest{FilePath: req.FilePath}); err == nil {
		return fs.ErrExist
	}
	time.Sleep(time.Millisecond) // enough for others to look too
	return b.Write(ctx, req)
}

func (b newOwnError) WriteNew(ctx context.Context, req *toolresult.WriteRequest) error {
	if b.DirBackend.WriteNew(ctx, req) != nil {
		return errors.New("taken")
	}
	return nil
}

func (b strictRange) ReadRange(ctx context.Context, req *toolresult.RangeRequest) (string, error) {
	text, err := b.DirBackend.ReadRange(ctx, req)
	if err == nil && text == "" && req.Length > 0 {
		err = errors.New("behind the end")
	}
	return text, err
}

func (b linesFrom0) FindLine(ctx context.Context, req *toolresult.LineRequest) (int64, error) {
	return b.DirBackend.FindLine(ctx, &toolresult.LineRequest{FilePath: req.FilePath, Line: max(req.Line, 0) + 1})
}

func (b countsNewlines) Stat(ctx context.Context, req *toolresult.StatRequest) (*toolresult.StoredFile, error) {
	file, err := b.DirBackend.Stat(ctx, req)
	if err != nil {
		return nil, err
	}
	text, err := b.Read(ctx, &toolresult.ReadRequest{FilePath: req.FilePath})
	file.Lines = int64(strings.Count(text.Content, "\n"))
	return file, err
}

func (b deletesNothing) Delete(ctx context.Context, req *toolresult.DeleteRequest) error {
	if err := b.DirBackend.Delete(ctx, req); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

func (b listsAll) List(ctx context.Context, req *toolresult.ListRequest) iter.Seq2[*toolresult.StoredFile, error] {
	return func(yield func(*toolresult.StoredFile, error) bool) {
		for file, err := range b.DirBackend.List(ctx, &toolresult.ListRequest{}) {
			if err != nil || strings.HasPrefix(file.FilePath, req.Prefix) {
				if !yield(file, err) {
					return
				}
			}
		}
	}
}

type fault int

const (
	commitReplaces fault = iota
	visible
	abortCommits
	keepsPieces
	needsContext
	renameReplaces
)

// uploads holds uploads in memory, and does one thing wrong.
type uploads struct {
	*toolresult.DirBackend
	fault fault
}

func (b uploads) Create(ctx context.Context, req *toolresult.CreateRequest) (toolresult.Upload, error) {
	if b.fault == renameReplaces {
		return renaming{&upload{b: b, ctx: ctx, path: req.FilePath}}, nil
	}
	return &upload{b: b, ctx: ctx, path: req.FilePath}, nil
}

type renaming struct{ *upload }

func (u renaming) CommitAs(path string) error {
	u.path = path
	return u.b.Write(context.Background(), u.request())
}

type upload struct {
	b      uploads
	ctx    context.Context
	path   string
	pieces [][]byte
}

func (u *upload) Write(p []byte) (int, error) {
	piece := p
	if u.b.fault != keepsPieces {
		piece = []byte(string(p))
	}
	u.pieces = append(u.pieces, piece)
	if u.b.fault == visible {
		return len(p), u.b.Write(context.Background(), u.request())
	}
	return len(p), nil
}

func (u *upload) WriteString(s string) (int, error) { return u.Write([]byte(s)) }

func (u *upload) request() *toolresult.WriteRequest {
	var text strings.Builder
	for _, piece := range u.pieces {
		text.Write(piece)
	}
	return &toolresult.WriteRequest{FilePath: u.path, Content: text.String()}
}

func (u *upload) Commit() error {
	switch u.b.fault {
	case commitReplaces, visible:
		return u.b.Write(context.Background(), u.request())
	case needsContext:
		return u.b.WriteNew(u.ctx, u.request())
	}
	return u.b.WriteNew(context.Background(), u.request())
}

func (u *upload) Abort() error {
	if u.b.fault == abortCommits {
		return u.Commit()
	}
	return nil
}

// TestBroken runs in a process of its own, where it may fail.
func TestBroken(t *testing.T) {
	if os.Getenv("BACKENDTEST_BROKEN") == "" {
		t.Skip("only of use to TestSuiteFindsFaults")
	}
	for _, c := range broken {
		t.Run(c.name, func(t *testing.T) {
			backendtest.Run(t, func(t *testing.T) toolresult.Backend {
				b, err := toolresult.NewDirBackend(context.Background(), &toolresult.DirConfig{Dir: t.TempDir()})
				if err != nil {
					t.Fatal(err)
				}
				return c.breaks(b)
			})
		})
	}
}

func TestSuiteFindsFaults(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	victim := exec.Command(self, "-test.run=^TestBroken$", "-test.v")
	victim.Env = append(os.Environ(), "BACKENDTEST_BROKEN=1")
	out, err := victim.CombinedOutput()
	if err == nil {
		t.Error("nothing has failed")
	}
	for _, c := range broken {
		test := "TestBroken/" + strings.ReplaceAll(c.name, " ", "_") + "/"
		if !strings.Contains(string(out), "--- FAIL: "+test+c.in+" ") {
			t.Errorf("the suite has found no fault in %s of a backend in which %s", c.in, c.name)
		}
	}
	if t.Failed() {
		t.Logf("%s", out)
	}
}
