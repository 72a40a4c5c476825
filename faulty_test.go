package toolresult_test

// The store of faults_test.go: a directory whose calls fail one after another, each in several ways.

import (
	"context"
	"errors"
	"iter"
	"testing"

	"github.com/eino-toolresult/toolresult"
)

var errFault = errors.New("the store failed")

// faultMode says in which way a call fails.
type faultMode struct {
	onward bool // and every later call too, as on a disk that is gone
	late   bool // all was done, and only the answer was lost
}

var faultModes = []faultMode{{}, {onward: true}, {late: true}}

// faults is a directory whose calls fail from a given one on. It is used by one goroutine at a time.
type faults struct {
	*toolresult.DirBackend
	mode      faultMode
	at, calls int             // the first call is 1; at 0: none fails
	failed    map[string]bool // what has failed since the last arm
	ever      map[string]bool // what has failed at all
	meanwhile func()          // what somebody else does between the look and the upload
	orphans   []toolresult.Upload
}

func newFaults(t *testing.T, dir string) *faults {
	return &faults{DirBackend: openDir(t, dir), ever: map[string]bool{}}
}

func (f *faults) arm(at int, mode faultMode) {
	f.at, f.calls, f.mode, f.failed = at, 0, mode, map[string]bool{}
}

// call does what it is given, or fails.
func (f *faults) call(name string, do func() error) error {
	f.calls++
	if f.at == 0 || f.calls < f.at || f.calls > f.at && !f.mode.onward {
		return do()
	}
	f.failed[name], f.ever[name] = true, true
	if f.mode.late {
		_ = do()
	}
	return errFault
}

func (f *faults) Write(ctx context.Context, req *toolresult.WriteRequest) error {
	return f.call("Write", func() error { return f.DirBackend.Write(ctx, req) })
}

func (f *faults) WriteNew(ctx context.Context, req *toolresult.WriteRequest) error {
	return f.call("WriteNew", func() error { return f.DirBackend.WriteNew(ctx, req) })
}

func (f *faults) Read(ctx context.Context, req *toolresult.ReadRequest) (*toolresult.FileContent, error) {
	return answer(f, "Read", func() (*toolresult.FileContent, error) { return f.DirBackend.Read(ctx, req) })
}

func (f *faults) ReadRange(ctx context.Context, req *toolresult.RangeRequest) (string, error) {
	return answer(f, "ReadRange", func() (string, error) { return f.DirBackend.ReadRange(ctx, req) })
}

func (f *faults) FindLine(ctx context.Context, req *toolresult.LineRequest) (int64, error) {
	return answer(f, "FindLine", func() (int64, error) { return f.DirBackend.FindLine(ctx, req) })
}

func (f *faults) Stat(ctx context.Context, req *toolresult.StatRequest) (*toolresult.StoredFile, error) {
	return answer(f, "Stat", func() (*toolresult.StoredFile, error) { return f.DirBackend.Stat(ctx, req) })
}

func (f *faults) Delete(ctx context.Context, req *toolresult.DeleteRequest) error {
	return f.call("Delete", func() error { return f.DirBackend.Delete(ctx, req) })
}

func (f *faults) List(ctx context.Context, req *toolresult.ListRequest) iter.Seq2[*toolresult.StoredFile, error] {
	return func(yield func(*toolresult.StoredFile, error) bool) {
		for file, err := range f.DirBackend.List(ctx, req) {
			if err == nil {
				err = f.call("List", func() error { return nil })
			}
			if !yield(file, err) || err != nil {
				return
			}
		}
	}
}

func answer[T any](f *faults, name string, ask func() (T, error)) (got T, err error) {
	err = f.call(name, func() (err error) { got, err = ask(); return err })
	if err != nil {
		got = *new(T)
	}
	return got, err
}

func (f *faults) Create(ctx context.Context, req *toolresult.CreateRequest) (toolresult.Upload, error) {
	if f.meanwhile != nil {
		f.meanwhile()
		f.meanwhile = nil
	}
	var upload toolresult.Upload
	err := f.call("Create", func() (err error) { upload, err = f.DirBackend.Create(ctx, req); return err })
	if err == nil {
		return &faultyUpload{f, upload}, nil
	}
	if upload != nil {
		_ = upload.Abort()
	}
	return nil, err
}

type faultyUpload struct {
	f *faults
	toolresult.Upload
}

func (u *faultyUpload) Write(p []byte) (int, error) { return u.WriteString(string(p)) }

// WriteString writes half of the text where it fails, so that a commit would publish a hole.
func (u *faultyUpload) WriteString(text string) (n int, err error) {
	err = u.f.call("Upload.Write", func() (err error) { n, err = u.Upload.WriteString(text); return err })
	if err != nil && n == 0 {
		n, _ = u.Upload.WriteString(text[:len(text)/2])
	}
	return n, err
}

func (u *faultyUpload) Commit() error { return u.f.call("Commit", u.Upload.Commit) }

func (u *faultyUpload) CommitAs(path string) error {
	return u.f.call("CommitAs", func() error { return u.Upload.(toolresult.Renamer).CommitAs(path) })
}

func (u *faultyUpload) Abort() error {
	u.f.orphans = append(u.f.orphans, u.Upload)
	return u.f.call("Abort", u.Upload.Abort)
}

// nameless is a store whose uploads cannot get another name.
type nameless struct{ *faults }

func (n nameless) Create(ctx context.Context, req *toolresult.CreateRequest) (toolresult.Upload, error) {
	upload, err := n.faults.Create(ctx, req)
	if err != nil {
		return nil, err
	}
	return struct{ toolresult.Upload }{upload}, nil
}

// faultyKind is how much of the store the library may see.
type faultyKind struct {
	name    string
	of      func(f *faults) toolresult.Backend
	looks   bool // it can only look whether a path is free, so where it cannot see, it writes
	blind   bool // nor can it look
	uploads bool // it differs from a whole store in uploads alone
	oneName bool // an upload whose name turns out to be taken fails
}

var faultyKinds = []faultyKind{
	{name: "all", of: func(f *faults) toolresult.Backend { return f }},
	{name: "uploads with one name", uploads: true, oneName: true, of: func(f *faults) toolresult.Backend { return nameless{f} }},
	{name: "uploads without Stat", uploads: true, looks: true, of: func(f *faults) toolresult.Backend {
		return struct {
			toolresult.Backend
			toolresult.Reader
			toolresult.Creator
		}{f, f, f}
	}},
	{name: "reads and writes", looks: true, of: func(f *faults) toolresult.Backend {
		return struct {
			toolresult.Backend
			toolresult.Reader
		}{f, f}
	}},
	{name: "writes", blind: true, of: func(f *faults) toolresult.Backend { return writeOnly{f} }},
}
