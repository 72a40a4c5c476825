// Package backendtest is the contract of toolresult's storage interfaces as a test suite. Whoever writes a backend gets
// its tests with one call:
//
//	func TestContract(t *testing.T) {
//		backendtest.Run(t, func(t *testing.T) toolresult.Backend { return newMyBackend(t.TempDir()) })
//	}
//
// A backend may lack any of the optional interfaces, and the suite logs which; it may not have one and break it. What
// the suite does not test: speed, what survives a crash, access rights, and other processes on the same store.
package backendtest

import (
	"context"
	"errors"
	"io/fs"
	"strings"
	"testing"

	"github.com/eino-toolresult/toolresult"
)

// Run runs the suite. It calls open once for every test; open gives an empty backend, which nothing else uses, and
// leaves its clean-up to t.Cleanup. Run it with the race detector on.
func Run(t *testing.T, open func(t *testing.T) toolresult.Backend) {
	t.Run("Backend", func(t *testing.T) { testBackend(t, open) })
	optional(t, open, "Reader", testReader)
	optional(t, open, "ExclusiveWriter", testExclusiveWriter)
	optional(t, open, "Creator", testCreator)
	optional(t, open, "RangeReader", testRangeReader)
	optional(t, open, "LineFinder", testLineFinder)
	optional(t, open, "Stater", testStater)
	optional(t, open, "Deleter", testDeleter)
	optional(t, open, "Lister", testLister)
}

// store is a backend with one of its optional powers.
type store[T any] struct {
	toolresult.Backend
	can T
}

// optional runs the test of one interface, each of its parts on a backend of its own.
func optional[T any](t *testing.T, open func(t *testing.T) toolresult.Backend, name string, test func(t *testing.T, open func(t *testing.T) store[T])) {
	t.Run(name, func(t *testing.T) {
		if b := open(t); !can[T](b) {
			t.Logf("%T is no %s, which it need not be", b, name)
			return
		}
		test(t, func(t *testing.T) store[T] {
			b := open(t)
			return store[T]{b, b.(T)}
		})
	})
}

func can[T any](b toolresult.Backend) bool {
	_, ok := b.(T)
	return ok
}

func (s store[T]) write(t *testing.T, path, content string) {
	t.Helper()
	write(t, s.Backend, path, content)
}

// write stores a result, and fails the test if the backend changes the request.
func write(t *testing.T, b toolresult.Backend, path, content string) {
	t.Helper()
	req := &toolresult.WriteRequest{FilePath: path, Content: content}
	if err := b.Write(ctx(t), req); err != nil {
		t.Fatalf("Write(%q): %v", path, err)
	}
	if req.FilePath != path || req.Content != content {
		t.Errorf("Write(%q) has changed its request", path)
	}
}

// holds fails the test unless the backend, if it can read at all, gives back the content.
func holds(t *testing.T, b toolresult.Backend, path, want, reason string) {
	t.Helper()
	reader, ok := b.(toolresult.Reader)
	if !ok {
		return
	}
	got, err := reader.Read(ctx(t), &toolresult.ReadRequest{FilePath: path})
	if err != nil {
		t.Fatalf("Read(%q): %v; want %d bytes: %s", path, err, len(want), reason)
	}
	if got.Content != want {
		t.Fatalf("Read(%q) gives %s; want %s: %s", path, show(got.Content), show(want), reason)
	}
}

// holdsNothing fails the test if something can be read, or is listed, under the path.
func holdsNothing(t *testing.T, b toolresult.Backend, path, reason string) {
	t.Helper()
	if reader, ok := b.(toolresult.Reader); ok {
		if got, err := reader.Read(ctx(t), &toolresult.ReadRequest{FilePath: path}); err == nil {
			t.Errorf("Read(%q) gives %s; want an error: %s", path, show(got.Content), reason)
		}
	}
	if lister, ok := b.(toolresult.Lister); ok {
		if listed := list(t, lister, ""); len(listed) > 0 {
			t.Errorf("List gives %v; want nothing: %s", listed, reason)
		}
	}
}

func wantError(t *testing.T, err, want error, doing string) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("%s: the error is %v; want errors.Is(err, %q)", doing, err, want)
	}
}

func wantNotExist(t *testing.T, err error, doing string) {
	t.Helper()
	wantError(t, err, fs.ErrNotExist, doing)
}

func show(content string) string {
	const most = 60
	if len(content) > most {
		return strings.ToValidUTF8(content[:most], "?") + "…"
	}
	return `"` + content + `"`
}

func ctx(t *testing.T) context.Context { return t.Context() }
