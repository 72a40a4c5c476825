package toolresult_test

// Streams that are stored while they arrive: the promises about errors, names and length hold although the text is gone by
// the time they are called in.

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"testing"

	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eino-toolresult/toolresult"
)

// refusing is a backend whose uploads cannot be opened.
type refusing struct {
	*memory
	err error
}

func (r refusing) Create(context.Context, *toolresult.CreateRequest) (toolresult.Upload, error) {
	return nil, r.err
}

// An error at any stage comes alone: no chunk before it, nothing in the backend, one event.
func TestUploadsFail(t *testing.T) {
	broken := errors.New("broken")
	for stage, tc := range map[string]struct {
		cfg   toolresult.OffloadConfig
		cause error
		said  string
	}{
		"create": {toolresult.OffloadConfig{Backend: refusing{newMemory(), broken}}, broken, "store the result"},
		"path": {toolresult.OffloadConfig{PathGenerator: func(context.Context, *compose.ToolInput) (string, error) {
			return "", broken
		}}, broken, "name a file for the result"},
		"sample": {toolresult.OffloadConfig{Sampler: func() toolresult.Sample { return brokenSample{broken} }}, broken, "sample the result"},
		"taken":  {toolresult.OffloadConfig{}, fs.ErrExist, "store the result"},
	} {
		store := newUploads()
		if tc.cfg.Backend == nil {
			tc.cfg.Backend = store
		}
		if stage == "taken" { // only the end of the upload tells
			store.files["/large_tool_result/call_1"] = "another"
			tc.cfg.Backend = struct {
				toolresult.Backend
				toolresult.Creator
			}{store, store}
		}
		var events []toolresult.OffloadEvent
		tc.cfg.TokenLimit, tc.cfg.OnOffload = 1000, func(_ context.Context, e toolresult.OffloadEvent) { events = append(events, e) }
		src, closed := newSource(pieces(numberedLines(2000), 1000), io.EOF)
		got, err := receive(hold(t.Context(), t, newOffload(t, &tc.cfg), src))
		<-closed
		require.ErrorIs(t, err, tc.cause, stage)
		assert.ErrorContains(t, err, tc.said+` of call "call_1"`, stage)
		assert.Equal(t, 1, strings.Count(err.Error(), "toolresult: "), "wrapped once: %v", err)
		assert.Empty(t, got, "%s: nothing comes before the error", stage)
		assert.Equal(t, store.opened, store.aborted, stage)
		delete(store.files, "/large_tool_result/call_1")
		assert.Empty(t, store.stored(), "%s: nothing half-written", stage)
		require.Len(t, events, 1, stage)
		assert.ErrorIs(t, events[0].Err, tc.cause, stage)
	}
}

// A backend that has uploads and can read, but knows no Stat, is looked at as any other.
func TestUploadsUnderOneIDWithoutStat(t *testing.T) {
	store := newUploads()
	mw := newOffload(t, &toolresult.OffloadConfig{Backend: store, TokenLimit: 1000})
	want := map[string]string{}
	for turn := range 3 {
		text := fmt.Sprint("turn ", turn, "\n", numberedLines(2000))
		got, err := receive(hold(t.Context(), t, mw, schema.StreamReaderFromArray(pieces(text, 997))))
		require.NoError(t, err)
		require.Len(t, got, 1)
		want[pathIn(t, got[0])] = text
	}
	assert.Contains(t, want, "/large_tool_result/call_1")
	assert.Equal(t, want, store.stored())
}

// The notice says the same, and the event tells the same, as for a text that is held whole.
func TestUploadsSayTheSame(t *testing.T) {
	text := buildLog() + "\n" + strings.Repeat("世界 ", 10_000)
	say := func(backend toolresult.Backend) (said string, events []toolresult.OffloadEvent) {
		mw := newOffload(t, &toolresult.OffloadConfig{
			Backend: backend, TokenLimit: 1000, Sampler: toolresult.HeadTailSampler(0, 0, 0),
			Template:  "{tool_call_id} {tool_name} {file_path} {read_tool_name} {total_bytes} {total_lines} {total_tokens}\n{content_sample}",
			OnOffload: func(_ context.Context, e toolresult.OffloadEvent) { events = append(events, e) },
		})
		got, err := receive(hold(t.Context(), t, mw, schema.StreamReaderFromArray(pieces(text, 997))))
		require.NoError(t, err)
		require.Len(t, got, 1)
		return got[0], events
	}
	whole, wholeEvents := say(newMemory())
	for name, backend := range map[string]toolresult.Backend{"fake": newUploads(), "directory": openDir(t, t.TempDir())} {
		said, events := say(backend)
		assert.Equal(t, whole, said, name)
		assert.Equal(t, wholeEvents, events, name)
	}
}

// The upload begins before the notice is known. However long the names and numbers in it become, it is shorter.
func TestUploadsNeverMakeLonger(t *testing.T) {
	long := "/" + strings.Repeat("folder/", 60)
	for name, cfg := range map[string]toolresult.OffloadConfig{
		"default": {}, "long prefix": {PathPrefix: long},
		"escaped path": {PathGenerator: func(context.Context, *compose.ToolInput) (string, error) {
			return long + strings.Repeat(`'"`, 100), nil
		}},
		"path again and again": {PathPrefix: "/" + strings.Repeat("p", 100), Template: strings.Repeat("{file_path} {total_bytes} {total_lines} {total_tokens} {tool_call_id}\n", 20)},
	} {
		for size := 40; size < 60_000; size += 1 + size/6 {
			for _, id := range []string{"call_1", "", "a b", strings.Repeat("'\n", 100)} {
				store := newUploads()
				store.files["/large_tool_result/call_1"] = "another"
				cfg.Backend, cfg.ToolTokenLimits = store, map[string]int{"fetch": 1}
				text := strings.Repeat("x", size)
				got, err := chunked(t, newOffload(t, &cfg), &compose.ToolInput{Name: "fetch", CallID: id}, pieces(text, 7)...)
				require.NoError(t, err)
				if said := strings.Join(got, ""); said != text {
					require.Less(t, len(said), len(text), "%s, %d bytes, ID %.5q", name, size, id)
					require.Equal(t, text, store.stored()[pathIn(t, said)])
				}
			}
		}
	}
}
