package toolresult_test

// A store that fails at its first call, at its second, and so on through a whole run. Wherever it fails, no result may be lost:
// either the notice's path gives back every byte, or the policy says what comes instead.

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eino-toolresult/toolresult"
)

// faultRun is one result on its way into a store that fails.
type faultRun struct {
	faultyKind
	policy   toolresult.FailurePolicy
	way      shape
	before   string // what has the result's name: nothing, the same, another, or another meanwhile
	mode     faultMode
	at       int
	folder   string
	original string // what was stored before; empty if nothing was
}

func (r *faultRun) String() string {
	return fmt.Sprintf("%s, policy %d, %s, %q has the name, %+v, call %d", r.faultyKind.name, r.policy, r.way.name, r.before, r.mode, r.at)
}

var faultyText = numberedLines(70)

func TestStoreFailsAtEachCall(t *testing.T) {
	dir := t.TempDir()
	f := newFaults(t, dir)
	running, runs := relays(), 0
	for _, r := range faultRuns() {
		for r.at = 1; ; r.at++ {
			runs++
			r.folder = fmt.Sprint("/run_", runs)
			if hit := r.run(t, f, dir); !hit || t.Failed() {
				break
			}
		}
	}
	t.Logf("%d runs", runs)
	for _, name := range []string{"Write", "WriteNew", "Read", "Stat", "ReadRange", "Create", "Upload.Write", "Commit", "CommitAs", "Abort"} {
		assert.Contains(t, f.ever, name, "it was to fail too")
	}
	assert.Eventually(t, func() bool { return relays() <= running }, 5*time.Second, time.Millisecond, "goroutines are left")
}

// relays counts the goroutines that hold a stream back.
func relays() int {
	stacks := make([]byte, 1<<20)
	return strings.Count(string(stacks[:runtime.Stack(stacks, true)]), "toolresult.relay[")
}

// faultRuns leaves out what would repeat another run, and what a store that looks or is blind cannot promise.
func faultRuns() (runs []*faultRun) {
	for _, kind := range faultyKinds {
		for _, policy := range []toolresult.FailurePolicy{toolresult.FailCall, toolresult.PassThrough, toolresult.TruncateInline} {
			for _, way := range shapes()[:4] {
				uploads := policy == toolresult.FailCall && strings.Contains(way.name, "streamable")
				for _, before := range []string{"nothing", "the same", "another", "another meanwhile"} {
					other := strings.HasPrefix(before, "another")
					tooLate := before == "another meanwhile" && (!uploads || kind.looks && !kind.uploads)
					if tooLate || kind.uploads && !(uploads && other) || kind.blind && before != "nothing" {
						continue
					}
					for _, mode := range faultModes {
						runs = append(runs, &faultRun{faultyKind: kind, policy: policy, way: way, before: before, mode: mode})
					}
				}
			}
		}
	}
	return runs
}

// run sends a result through, checks what came of it, and sends it through again once the store works. It reports whether a
// call has failed.
func (r *faultRun) run(t *testing.T, f *faults, dir string) (hit bool) {
	r.prepare(t, f)
	var events []toolresult.OffloadEvent
	mw := newOffload(t, &toolresult.OffloadConfig{
		Backend: r.of(f), OnFailure: r.policy, TokenLimit: 400, PathPrefix: r.folder,
		OnOffload: func(_ context.Context, e toolresult.OffloadEvent) { events = append(events, e) },
	})
	call := &compose.ToolInput{Name: "fetch", CallID: "call_1"}
	f.arm(r.at, r.mode)
	said, err := r.way.run(t, mw, call, faultyText)
	failed := f.failed
	f.arm(0, faultMode{})
	require.Len(t, events, 1, "%s: the observer is told once", r)
	r.check(t, f, said, err, events[0].Err, len(failed) > 0)
	r.checkStored(t, f, failed)
	if !failed["Abort"] {
		require.Empty(t, unfinished(t, dir), "%s: left over", r)
	}
	for _, upload := range f.orphans {
		_ = upload.Abort()
	}
	f.meanwhile, f.orphans = nil, nil

	said, err = r.way.run(t, mw, call, faultyText)
	require.NoError(t, err, "%s: the store works again", r)
	require.True(t, faultyText == dirRead(t, f.DirBackend, pathIn(t, said)), "%s: the store works again", r)
	r.checkStored(t, f, failed)
	return len(failed) > 0
}

func (r *faultRun) prepare(t *testing.T, f *faults) {
	other := "X" + faultyText[1:] // of the same size, so that only a look at all of it tells
	r.original = map[string]string{"the same": faultyText, "another": other, "another meanwhile": other}[r.before]
	put := func() { dirWrite(t, f.DirBackend, r.folder+"/call_1", r.original) }
	switch r.before {
	case "another meanwhile":
		f.meanwhile = put
	case "the same", "another":
		put()
	}
}

// check compares what a call returns with what it may.
func (r *faultRun) check(t *testing.T, f *faults, said string, err, reported error, hit bool) {
	if path, ok := toolresult.OffloadedPath(schema.ToolMessage(said, "call_1")); ok {
		require.NoError(t, errors.Join(err, reported), r)
		require.True(t, faultyText == dirRead(t, f.DirBackend, path), "%s: the notice gives back every byte", r)
		return
	}
	taken := r.oneName && r.original != "" && errors.Is(reported, fs.ErrExist)
	require.True(t, taken || hit && errors.Is(reported, errFault), "%s: failed by %v", r, reported)
	switch r.policy {
	case toolresult.FailCall:
		require.Equal(t, reported, err, r)
		require.ErrorContains(t, err, `toolresult: store the result of call "call_1"`, r)
		require.Empty(t, said, "%s: an error comes alone", r)
	case toolresult.PassThrough:
		require.NoError(t, err, r)
		require.True(t, said == faultyText, r)
	default:
		require.NoError(t, err, r)
		require.Contains(t, said, "It was not saved: writing failed.", r)
		require.Less(t, len(said), len(faultyText), r)
	}
}

// checkStored requires that all that has a final name is whole, and that what was there before still is.
func (r *faultRun) checkStored(t *testing.T, f *faults, failed map[string]bool) {
	for file, err := range f.DirBackend.List(t.Context(), &toolresult.ListRequest{Prefix: r.folder}) {
		require.NoError(t, err, r)
		text := dirRead(t, f.DirBackend, file.FilePath)
		require.True(t, text == faultyText || text == r.original, "%s: %d bytes in %s", r, len(text), file.FilePath)
	}
	if r.original == "" || f.meanwhile != nil || r.looks && failed["Read"] {
		return // a Reader has no error that tells "missing" from anything else, so after a failed look it is written over
	}
	require.True(t, r.original == dirRead(t, f.DirBackend, r.folder+"/call_1"), "%s: what was there before", r)
}

// The tools answer with all that was asked for, or say that it cannot be had just now. They never show less than there is, and
// never end the run.
func TestToolsOverAStoreThatFails(t *testing.T) {
	f := newFaults(t, t.TempDir())
	dirWrite(t, f, pagePath, numberedLines(22_000))
	notNow, notThere := "could not be read just now", "There is no result under" // a Reader's errors tell no more
	for name, c := range map[string]struct {
		backend toolresult.Reader
		says    string
	}{
		"all": {f, notNow},
		"without an index": {struct {
			toolresult.Reader
			toolresult.RangeReader
			toolresult.Stater
		}{f, f, f}, notNow},
		"reads": {struct{ toolresult.Reader }{f}, notThere},
	} {
		told := 0
		onError := func(_ context.Context, err error) {
			told++
			assert.ErrorIs(t, err, errFault, name)
		}
		read := newReader(t, &toolresult.ReadConfig{Backend: c.backend, OnError: onError})
		search := newSearcher(t, &toolresult.SearchConfig{Backend: c.backend, OnError: onError})
		for arguments, asked := range map[string]tool.InvokableTool{
			`{"file_path":"` + pagePath + `","offset":21500,"byte_offset":5,"limit":9}`:      read,
			`{"file_path":"` + pagePath + `","offset":2,"byte_offset":5,"pattern":"02199."}`: search,
		} {
			f.arm(0, faultMode{})
			healthy, err := asked.InvokableRun(t.Context(), arguments)
			require.NoError(t, err, name)
			require.Contains(t, healthy, "of a text", name)
			for calls, at := f.calls, 1; at <= calls; at++ {
				for _, mode := range faultModes[:2] { // an answer that is lost is no answer
					told = 0
					f.arm(at, mode)
					said, err := asked.InvokableRun(t.Context(), arguments)
					require.NoError(t, err, "%s, call %d: an error would end the run", name, at)
					require.Contains(t, said, c.says, "%s, call %d", name, at)
					require.NotContains(t, said, "of a text", "%s, call %d: some of it", name, at)
					require.Equal(t, c.says == notNow, told == 1, "%s, call %d: the application is told", name, at)
				}
			}
			f.arm(0, faultMode{})
			said, err := asked.InvokableRun(t.Context(), arguments)
			require.NoError(t, err, name)
			require.Equal(t, healthy, said, "%s: the store works again", name)
		}
	}
	for _, name := range []string{"Read", "Stat", "ReadRange", "FindLine"} {
		assert.Contains(t, f.ever, name, "it was to fail too")
	}
}

// What Sweep could not delete it deletes the next time, and what it must keep it keeps.
func TestSweepOfAStoreThatFails(t *testing.T) {
	f := newFaults(t, t.TempDir())
	for _, mode := range faultModes {
		for at := 1; ; at++ {
			folder := fmt.Sprintf("/%+v/%d", mode, at)
			for _, name := range []string{"a", "b", "kept"} {
				dirWrite(t, f.DirBackend, folder+"/"+name, faultyText)
			}
			cfg := &toolresult.SweepConfig{Prefix: folder, MaxAge: 1, Keep: []string{folder + "/kept"}}
			f.arm(at, mode)
			report, err := toolresult.Sweep(t.Context(), f, cfg)
			failed := f.failed
			if failed["List"] || failed["Delete"] {
				require.ErrorIs(t, err, errFault, folder)
			}
			require.Equal(t, faultyText, dirRead(t, f.DirBackend, folder+"/kept"), folder)
			f.arm(0, mode)
			for _, file := range report.Deleted {
				_, err = f.Stat(t.Context(), &toolresult.StatRequest{FilePath: file.FilePath})
				require.ErrorIs(t, err, fs.ErrNotExist, "%s: reported as deleted", folder)
			}
			report, err = toolresult.Sweep(t.Context(), f, cfg)
			require.NoError(t, err, folder)
			require.Equal(t, 1, report.LeftFiles, folder)
			if len(failed) == 0 {
				break
			}
		}
	}
}
