package backendtest

// The optional ways to write, delete and list.

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/eino-toolresult/toolresult"
)

const racers = 64

func testExclusiveWriter(t *testing.T, open func(t *testing.T) store[toolresult.ExclusiveWriter]) {
	for _, c := range contents {
		t.Run("stores "+c.name, func(t *testing.T) {
			b := open(t)
			if err := writeNew(t, b, path, c.content); err != nil {
				t.Fatalf("WriteNew: %v", err)
			}
			holds(t, b.Backend, path, c.content, c.reason)
		})
	}
	t.Run("leaves what is there", func(t *testing.T) {
		b := open(t)
		b.write(t, path, "the first")
		wantError(t, writeNew(t, b, path, "the second"), fs.ErrExist, "WriteNew over a file")
		wantError(t, writeNew(t, b, path, "the first"), fs.ErrExist, "WriteNew over a file of the same content")
		holds(t, b.Backend, path, "the first", "WriteNew must not replace")
	})
	t.Run("has one winner", func(t *testing.T) {
		b := open(t)
		for round := range 8 {
			path := fmt.Sprint("/large_tool_result/call_", round)
			winner := race(t, func(i int) error { return writeNew(t, b, path, contentOf(i)) })
			holds(t, b.Backend, path, contentOf(winner), "who is told that he has written must have written")
		}
	})
}

func writeNew(t *testing.T, b store[toolresult.ExclusiveWriter], path, content string) error {
	return b.can.WriteNew(ctx(t), &toolresult.WriteRequest{FilePath: path, Content: content})
}

func contentOf(i int) string { return strings.Repeat(fmt.Sprintln("by number", i), 1000) }

// race lets many at one path, of whom one may succeed, and says who.
func race(t *testing.T, try func(i int) error) (winner int) {
	t.Helper()
	var wg sync.WaitGroup
	var winners, last atomic.Int64
	start := make(chan struct{})
	for i := range racers {
		wg.Go(func() {
			<-start
			err := try(i)
			if err == nil {
				winners.Add(1)
				last.Store(int64(i))
				return
			}
			wantError(t, err, fs.ErrExist, "who comes too late")
		})
	}
	close(start)
	wg.Wait()
	if winners.Load() != 1 {
		t.Fatalf("%d of %d callers were told that they had created the file; want 1", winners.Load(), racers)
	}
	return int(last.Load())
}

func testCreator(t *testing.T, open func(t *testing.T) store[toolresult.Creator]) {
	for _, c := range contents {
		t.Run("stores "+c.name, func(t *testing.T) {
			b := open(t)
			u := create(t, b, ctx(t))
			feed(t, u, c.content)
			holdsNothing(t, b.Backend, path, "an upload is invisible before Commit")
			if err := u.Commit(); err != nil {
				t.Fatalf("Commit: %v", err)
			}
			holds(t, b.Backend, path, c.content, c.reason)
		})
	}
	t.Run("aborts", func(t *testing.T) {
		b := open(t)
		u := create(t, b, ctx(t))
		feed(t, u, contentOf(1))
		if err := u.Abort(); err != nil {
			t.Fatalf("Abort: %v", err)
		}
		holdsNothing(t, b.Backend, path, "an aborted upload leaves nothing")
	})
	t.Run("leaves what is there", func(t *testing.T) { testCommitTaken(t, open(t)) })
	t.Run("takes another name", func(t *testing.T) { testRenamer(t, open(t)) })
	t.Run("has one winner", func(t *testing.T) { testUploadRace(t, open(t)) })
	t.Run("ends without its context", func(t *testing.T) { testUploadWithoutContext(t, open) })
}

func testCommitTaken(t *testing.T, b store[toolresult.Creator]) {
	u := create(t, b, ctx(t))
	feed(t, u, contentOf(1))
	b.write(t, path, "the first")
	wantError(t, u.Commit(), fs.ErrExist, "Commit over a file")
	holds(t, b.Backend, path, "the first", "Commit must not replace")
	_ = u.Abort() // it may follow, and has nothing to do unless the upload is a Renamer
	holds(t, b.Backend, path, "the first", "Abort must not delete what it has not made")
}

// testRenamer has three results for one path: the second finds another, and the third finds that taken too.
func testRenamer(t *testing.T, b store[toolresult.Creator]) {
	second, third := create(t, b, ctx(t)), create(t, b, ctx(t))
	feed(t, second, contentOf(2))
	feed(t, third, contentOf(3))
	b.write(t, path, "the first")
	for _, u := range []toolresult.Upload{second, third} {
		wantError(t, u.Commit(), fs.ErrExist, "Commit over a file")
		if renamer, ok := u.(toolresult.Renamer); ok {
			testCommitAs(t, renamer, u == second)
			holds(t, b.Backend, otherPath, contentOf(2), "it is the second that was stored there")
		} else {
			t.Logf("%T is no Renamer, which it need not be", u)
		}
	}
	_ = third.Abort()
	holds(t, b.Backend, path, "the first", "Commit must not replace")
}

const otherPath = "/large_tool_result/another"

func testCommitAs(t *testing.T, renamer toolresult.Renamer, isFree bool) {
	t.Helper()
	err := renamer.CommitAs(otherPath)
	if !isFree {
		wantError(t, err, fs.ErrExist, "CommitAs a path that is taken")
	} else if err != nil {
		t.Errorf("CommitAs a path that is free: %v", err)
	}
}

func testUploadRace(t *testing.T, b store[toolresult.Creator]) {
	winner := race(t, func(i int) error {
		u, err := b.can.Create(ctx(t), &toolresult.CreateRequest{FilePath: path})
		if err != nil {
			return err
		}
		_, err = io.WriteString(u, contentOf(i))
		if err == nil {
			err = u.Commit()
		}
		if err != nil {
			_ = u.Abort()
		}
		return err
	})
	holds(t, b.Backend, path, contentOf(winner), "who is told that he has written must have written")
}

func testUploadWithoutContext(t *testing.T, open func(t *testing.T) store[toolresult.Creator]) {
	for _, end := range []struct {
		name   string
		finish func(toolresult.Upload) error
		stored bool
	}{{"Commit", toolresult.Upload.Commit, true}, {"Abort", toolresult.Upload.Abort, false}} {
		b := open(t)
		during, cancel := context.WithCancel(ctx(t))
		defer cancel()
		u := create(t, b, during)
		feed(t, u, "content")
		cancel()
		if err := end.finish(u); err != nil {
			t.Errorf("%s after the context has ended: %v", end.name, err)
		}
		if end.stored {
			holds(t, b.Backend, path, "content", "Commit needs no context")
		} else {
			holdsNothing(t, b.Backend, path, "Abort needs no context")
		}
	}
}

func create(t *testing.T, b store[toolresult.Creator], during context.Context) toolresult.Upload {
	t.Helper()
	u, err := b.can.Create(during, &toolresult.CreateRequest{FilePath: path})
	if err != nil {
		t.Fatalf("Create: %v", err)
	}
	return u
}

// feed writes in pieces of growing size, by both methods, and spoils each piece after its use.
func feed(t *testing.T, u toolresult.Upload, content string) {
	t.Helper()
	for size := 1; content != ""; size = size*3 + 1 {
		piece := content[:min(size, len(content))]
		content = content[len(piece):]
		spoilt := []byte(piece)
		n, err := u.Write(spoilt[:len(piece)/2])
		clear(spoilt)
		if err != nil || n != len(piece)/2 {
			t.Fatalf("Upload.Write gives %d, %v; want %d", n, err, len(piece)/2)
		}
		n, err = u.WriteString(piece[len(piece)/2:])
		if err != nil || n != len(piece)-len(piece)/2 {
			t.Fatalf("Upload.WriteString gives %d, %v; want %d", n, err, len(piece)-len(piece)/2)
		}
	}
}

func testDeleter(t *testing.T, open func(t *testing.T) store[toolresult.Deleter]) {
	t.Run("deletes one", func(t *testing.T) {
		b := open(t)
		b.write(t, path, "goes")
		b.write(t, path+"0", "stays")
		if err := b.can.Delete(ctx(t), &toolresult.DeleteRequest{FilePath: path}); err != nil {
			t.Fatalf("Delete: %v", err)
		}
		holds(t, b.Backend, path+"0", "stays", "a neighbour with a longer name is not touched")
		if got, ok := b.Backend.(toolresult.Reader); ok {
			if _, err := got.Read(ctx(t), &toolresult.ReadRequest{FilePath: path}); err == nil {
				t.Error("Read gives a deleted file")
			}
		}
		wantNotExist(t, b.can.Delete(ctx(t), &toolresult.DeleteRequest{FilePath: path}), "Delete for the second time")
		b.write(t, path, "is back")
		holds(t, b.Backend, path, "is back", "the path of a deleted file is free")
	})
	t.Run("missing", func(t *testing.T) {
		b := open(t)
		wantNotExist(t, b.can.Delete(ctx(t), &toolresult.DeleteRequest{FilePath: "/nowhere/call_1"}), "Delete of nothing")
	})
}

var listed = []string{"/a/1", "/a/2", "/a/b/c/3", "/ab/4", "/z"}

func testLister(t *testing.T, open func(t *testing.T) store[toolresult.Lister]) {
	for _, c := range []struct {
		prefix string
		want   []string
		reason string
	}{
		{"", listed, "no prefix: everything"},
		{"/", listed, "the root: everything"},
		{"/a", []string{"/a/1", "/a/2", "/a/b/c/3"}, "a prefix is a folder, and not the beginning of a name"},
		{"/a/", []string{"/a/1", "/a/2", "/a/b/c/3"}, "a slash at the end changes nothing"},
		{"/a/b", []string{"/a/b/c/3"}, "folders below folders"},
		{"/none", nil, "an unknown folder is empty, and no error"},
	} {
		t.Run("prefix "+c.prefix, func(t *testing.T) { testList(t, open(t), c.prefix, c.want, c.reason) })
	}
	t.Run("stops", func(t *testing.T) {
		b := open(t)
		for i := range 5 {
			b.write(t, fmt.Sprint("/a/", i), "")
		}
		for _, err := range b.can.List(ctx(t), &toolresult.ListRequest{}) {
			if err != nil {
				t.Errorf("List: %v", err)
			}
			break // a range over a function panics if that goes on
		}
	})
}

func testList(t *testing.T, b store[toolresult.Lister], prefix string, want []string, reason string) {
	before := time.Now()
	for _, path := range listed {
		b.write(t, path, "of "+path)
	}
	got := list(t, b.can, prefix)
	for path, file := range got {
		described := *file
		described.Size = int64(len("of " + path)) // in a list it may be what the file takes in the store
		testDescription(t, &described, path, "of "+path, before)
	}
	if !slices.Equal(sorted(got), want) {
		t.Errorf("List(%q) gives %v; want %v: %s", prefix, sorted(got), want, reason)
	}
}

func list(t *testing.T, lister toolresult.Lister, prefix string) map[string]*toolresult.StoredFile {
	t.Helper()
	listed := map[string]*toolresult.StoredFile{}
	for file, err := range lister.List(ctx(t), &toolresult.ListRequest{Prefix: prefix}) {
		if err != nil {
			t.Fatalf("List(%q): %v", prefix, err)
		}
		if listed[file.FilePath] != nil {
			t.Errorf("List(%q) gives %s twice", prefix, file.FilePath)
		}
		listed[file.FilePath] = file
	}
	return listed
}

func sorted(listed map[string]*toolresult.StoredFile) []string {
	var paths []string
	for path := range listed {
		paths = append(paths, path)
	}
	slices.Sort(paths)
	return paths
}
