package toolresult_test

// Nothing is overwritten with something else, as far as the backend lets the library know: one that creates only if absent
// decides itself, one that can read is looked at first, and one that can only write is guarded by memory.

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eino-toolresult/toolresult"
)

// backendKinds are the kinds of backends, each over a memory that a test can look into. survives says whether a second middleware
// over the same backend knows what the first has written.
func backendKinds() []backendKind {
	return []backendKind{
		{"create only if absent", true, true, func(m *memory) toolresult.Backend { return exclusive{m} }},
		{"create only if absent, no reading", true, false, func(m *memory) toolresult.Backend {
			return struct {
				toolresult.Backend
				toolresult.ExclusiveWriter
			}{m, exclusive{m}}
		}},
		{"can read", true, true, func(m *memory) toolresult.Backend { return m }},
		{"write only", false, true, func(m *memory) toolresult.Backend { return writeOnly{m} }},
	}
}

type backendKind struct {
	name             string
	survives, shares bool // shares: equal content is found again
	over             func(*memory) toolresult.Backend
}

// A model may use one call ID in turn 1 and in turn 5. Both results stay readable where their notices say.
func TestSameIDNeverOverwrites(t *testing.T) {
	for _, kind := range backendKinds() {
		for _, way := range shapes() {
			t.Run(kind.name+"/"+way.name, func(t *testing.T) {
				store := newMemory()
				mw := newOffload(t, &toolresult.OffloadConfig{Backend: kind.over(store), TokenLimit: 1000})
				want := map[string]string{}
				for turn := range 5 {
					text := fmt.Sprint("turn ", turn%3, "\n", numberedLines(200))
					said, err := way.run(t, mw, &compose.ToolInput{Name: "fetch", CallID: "call_1"}, text)
					require.NoError(t, err)
					p := pathIn(t, said)
					assert.Contains(t, said, "\nTool Call ID: call_1\nFile Path: "+p+"\n")
					if want[p] != "" {
						assert.Equal(t, want[p], text, "the path was taken")
					}
					want[p] = text
				}
				assert.Equal(t, want, store.stored())
				if kind.shares {
					assert.Len(t, want, 3, "equal content needs no second file")
				}
			})
		}
	}
}

// Two sessions share a backend and, as models count calls from 1, their IDs.
func TestSessionsShareABackend(t *testing.T) {
	for _, kind := range backendKinds() {
		store := newMemory()
		backend := kind.over(store)
		want := map[string]string{}
		for session := range 3 {
			mw := newOffload(t, &toolresult.OffloadConfig{Backend: backend, TokenLimit: 100})
			text := fmt.Sprint("session ", session, "\n", numberedLines(100))
			want[pathIn(t, offload(t, mw, "call_1", text))] = text
		}
		if kind.survives {
			assert.Len(t, want, 3, "%s: never an overwrite", kind.name)
			assert.Equal(t, want, store.stored(), kind.name)
		}

		scoped := newMemory()
		for session := range 3 {
			mw := newOffload(t, &toolresult.OffloadConfig{Backend: kind.over(scoped), TokenLimit: 100, PathPrefix: fmt.Sprint("/sessions/", session)})
			offload(t, mw, "call_1", fmt.Sprint("session ", session, "\n", numberedLines(100)))
		}
		assert.Len(t, scoped.stored(), 3, "%s: a prefix of its own keeps each session apart, even where a backend can only write", kind.name)
	}
}

// Parallel calls with one ID must not both find the path free.
func TestParallelCallsWithOneID(t *testing.T) {
	for _, kind := range backendKinds() {
		t.Run(kind.name, func(t *testing.T) {
			store := newMemory()
			mw := newOffload(t, &toolresult.OffloadConfig{Backend: kind.over(store), TokenLimit: 100})
			var wg sync.WaitGroup
			said := make([]string, 40)
			text := func(i int) string { return fmt.Sprint("variant ", i%8, "\n", numberedLines(100)) }
			for i := range said {
				wg.Go(func() { said[i] = offload(t, mw, "call_1", text(i)) })
			}
			wg.Wait()
			for i := range said {
				assert.Equal(t, text(i), store.stored()[pathIn(t, said[i])], "call %d", i)
			}
			if kind.shares {
				assert.Len(t, store.stored(), 8)
			}
		})
	}
}

// slow is a backend whose Write waits, so that a test can see what happens meanwhile.
type slow struct {
	*memory
	begun   chan string
	release chan struct{}
}

func (s *slow) Write(ctx context.Context, req *toolresult.WriteRequest) error {
	s.begun <- req.FilePath
	<-s.release
	return s.memory.Write(ctx, req)
}

// Only calls of one path wait for each other, and a call that waits can be cancelled.
func TestPathsWaitOnlyForThemselves(t *testing.T) {
	for _, blind := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			store := &slow{newMemory(), make(chan string, 10), make(chan struct{})}
			cfg := &toolresult.OffloadConfig{Backend: store, TokenLimit: 100}
			if blind {
				cfg.Backend = writeOnly{store}
			}
			mw := newOffload(t, cfg)
			var wg sync.WaitGroup
			wg.Go(func() { offload(t, mw, "a", "first\n"+numberedLines(100)) })
			wg.Go(func() { offload(t, mw, "b", "other\n"+numberedLines(100)) })
			synctest.Wait()
			assert.ElementsMatch(t, []string{"/large_tool_result/a", "/large_tool_result/b"}, []string{<-store.begun, <-store.begun}, "different paths do not wait")

			ctx, cancel := context.WithCancel(t.Context())
			var cancelled error
			wg.Go(func() {
				_, cancelled = mw.Invokable(func(context.Context, *compose.ToolInput) (*compose.ToolOutput, error) {
					return &compose.ToolOutput{Result: "second\n" + numberedLines(100)}, nil
				})(ctx, &compose.ToolInput{Name: "fetch", CallID: "a"})
			})
			synctest.Wait()
			assert.Empty(t, store.begun, "the same path waits")
			cancel()
			synctest.Wait()
			assert.ErrorIs(t, cancelled, context.Canceled)
			close(store.release)
			wg.Wait()
			assert.Len(t, store.stored(), 2)
		})
	}
}

// The memory of a backend that can only write is bounded. What it has forgotten may be overwritten, as the docs say.
func TestMemoryOfWrittenPathsIsBounded(t *testing.T) {
	store := newMemory()
	mw := newOffload(t, &toolresult.OffloadConfig{Backend: writeOnly{store}, TokenLimit: 100})
	text := numberedLines(20)
	first := pathIn(t, offload(t, mw, "call_0", text))
	for i := range 4095 {
		offload(t, mw, fmt.Sprint("call_", i+1), text)
	}
	assert.NotEqual(t, first, pathIn(t, offload(t, mw, "call_0", "other"+text)), "4096 paths are remembered")
	assert.Equal(t, text, store.stored()[first])
	assert.Equal(t, first, pathIn(t, offload(t, mw, "call_0", "third"+text)), "the oldest is forgotten first")
}

// A write that failed was told to nobody, so its path is free.
func TestFailedWriteFreesThePath(t *testing.T) {
	store := newMemory()
	fail := true
	flaky := backendFunc(func(ctx context.Context, req *toolresult.WriteRequest) error {
		if fail {
			return errors.New("try again")
		}
		return store.Write(ctx, req)
	})
	mw := newOffload(t, &toolresult.OffloadConfig{Backend: flaky, TokenLimit: 100})
	_, err := callInvokable(t, mw, &compose.ToolInput{Name: "fetch", CallID: "call_1"}, "first\n"+numberedLines(100))
	require.Error(t, err)
	fail = false
	assert.Equal(t, "/large_tool_result/call_1", pathIn(t, offload(t, mw, "call_1", "second\n"+numberedLines(100))))
}

// Foreign backends have plain errors for what is not there. Only the context's own is taken for what it is.
func TestErrorsOfReaders(t *testing.T) {
	plain := errors.New("file not found: /large_tool_result/call_1")
	store := newMemory()
	mw := newOffload(t, &toolresult.OffloadConfig{Backend: readerWith{store, plain}, TokenLimit: 100})
	assert.Equal(t, "/large_tool_result/call_1", pathIn(t, offload(t, mw, "call_1", numberedLines(100))), "a plain error is nothing stored")

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := mw.Invokable(func(context.Context, *compose.ToolInput) (*compose.ToolOutput, error) {
		return &compose.ToolOutput{Result: numberedLines(200)}, nil
	})(ctx, &compose.ToolInput{Name: "fetch", CallID: "call_1"})
	require.ErrorIs(t, err, context.Canceled, "a cancelled look says nothing, so nothing is written over")
	assert.Equal(t, 1, store.written())
}

type readerWith struct {
	*memory
	err error
}

func (r readerWith) Read(context.Context, *toolresult.ReadRequest) (*toolresult.FileContent, error) {
	return nil, r.err
}

// A backend's other errors are no reason to try another name.
func TestErrorsOfExclusiveWriters(t *testing.T) {
	denied := &fs.PathError{Op: "create", Path: "/x", Err: fs.ErrPermission}
	tries := 0
	backend := struct {
		toolresult.Backend
		toolresult.ExclusiveWriter
	}{newMemory(), writerFunc(func() error { tries++; return denied })}
	_, err := callInvokable(t, newOffload(t, &toolresult.OffloadConfig{Backend: backend, TokenLimit: 100}), &compose.ToolInput{Name: "fetch", CallID: "call_1"}, numberedLines(100))
	require.ErrorIs(t, err, fs.ErrPermission)
	assert.Equal(t, 1, tries)
}

type writerFunc func() error

func (f writerFunc) WriteNew(context.Context, *toolresult.WriteRequest) error { return f() }

// The text goes to the backend as it is: no copy, no other string.
func TestStoreDoesNotCopy(t *testing.T) {
	text := strings.Repeat("0123456789abcdef", 1<<16)
	var got string
	mw := newOffload(t, &toolresult.OffloadConfig{Backend: backendFunc(func(_ context.Context, req *toolresult.WriteRequest) error {
		got = req.Content
		return nil
	})})
	endpoint := mw.Invokable(func(context.Context, *compose.ToolInput) (*compose.ToolOutput, error) {
		return &compose.ToolOutput{Result: text}, nil
	})
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for i := range 10 {
		_, err := endpoint(t.Context(), &compose.ToolInput{Name: "fetch", CallID: fmt.Sprint("call_", i)})
		require.NoError(t, err)
	}
	runtime.ReadMemStats(&after)
	assert.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(len(text)), "ten megabytes on their way must not be copied")
	assert.Equal(t, text, got)
}

// An agent may have many calls in one answer, and a model may give two of them one ID.
func TestOneAnswerWithOneIDTwice(t *testing.T) {
	store := newMemory()
	mw := newOffload(t, &toolresult.OffloadConfig{Backend: store, TokenLimit: 100})
	node := newNode(t, mw, fakeTool("invokable", "one", "one\n"+numberedLines(100)), fakeTool("streamable", "two", "two\n"+numberedLines(100)))
	messages, err := node.Invoke(t.Context(), schema.AssistantMessage("", []schema.ToolCall{toolCall("call_0", "one"), toolCall("call_0", "two")}))
	require.NoError(t, err)
	for i, word := range []string{"one", "two"} {
		assert.True(t, strings.HasPrefix(store.stored()[pathIn(t, messages[i].Content)], word+"\n"))
	}
}
