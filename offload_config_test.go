package toolresult_test

// The configuration: what is refused, and that nothing a caller changes later changes the middleware.

import (
	"context"
	"errors"
	"testing"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/adk/filesystem"
	"github.com/cloudwego/eino/compose"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eino-toolresult/toolresult"
)

func TestNewOffloadRefuses(t *testing.T) {
	ok := newMemory()
	const plain = "plain {name}, {{ and }}"
	cases := []struct {
		cfg    *toolresult.OffloadConfig
		names  []string // field, value, range
		reason string
	}{
		{nil, []string{"OffloadConfig", "nil", "a config"}, "there is no default Backend"},
		{&toolresult.OffloadConfig{}, []string{"OffloadConfig.Backend", "nil", "want a Backend"}, "it is required"},
		{&toolresult.OffloadConfig{TokenLimit: -1}, []string{"OffloadConfig.TokenLimit", "-1", "0 (the default, 20000) or more"}, "never is said by ExcludeTools"},
		{&toolresult.OffloadConfig{OnFailure: 3}, []string{"OffloadConfig.OnFailure", "3", "FailCall, PassThrough or TruncateInline"}, "no such policy"},
		{&toolresult.OffloadConfig{OnFailure: -1}, []string{"OffloadConfig.OnFailure", "-1", "FailCall"}, "no such policy"},
		{&toolresult.OffloadConfig{Language: 7}, []string{"OffloadConfig.Language", "7", "adk.LanguageEnglish or adk.LanguageChinese"}, "no such text"},
		{&toolresult.OffloadConfig{PathPrefix: "results"}, []string{"OffloadConfig.PathPrefix", `"results"`, "absolute"}, "it is relative"},
		{&toolresult.OffloadConfig{PathPrefix: "/"}, []string{"OffloadConfig.PathPrefix", `"/"`, `other than "/"`}, "the read tool would give out everything"},
		{&toolresult.OffloadConfig{PathPrefix: "//"}, []string{"OffloadConfig.PathPrefix", `"//"`, "clean"}, "it is the root, written twice"},
		{&toolresult.OffloadConfig{PathPrefix: "/a/../b"}, []string{"OffloadConfig.PathPrefix", `"/a/../b"`, "clean"}, "it is not clean"},
		{&toolresult.OffloadConfig{PathPrefix: "/a//b"}, []string{"OffloadConfig.PathPrefix", `"/a//b"`, "clean"}, "it is not clean"},
		{&toolresult.OffloadConfig{PathPrefix: "/a//"}, []string{"OffloadConfig.PathPrefix", `"/a//"`, "clean"}, "one final slash is allowed, not two"},
		{&toolresult.OffloadConfig{PathPrefix: "/../x"}, []string{"OffloadConfig.PathPrefix", `"/../x"`, "clean"}, "it leaves the root"},
		{&toolresult.OffloadConfig{PathPrefix: "/a\nb"}, []string{"OffloadConfig.PathPrefix", `"/a\nb"`, "control"}, "it has a control character"},
		{&toolresult.OffloadConfig{PathPrefix: "/a\xff"}, []string{"OffloadConfig.PathPrefix", `"/a\xff"`, "UTF-8"}, "it is not UTF-8"},
		{&toolresult.OffloadConfig{Template: "no path"}, []string{"OffloadConfig.Template", `"no path"`, "{file_path}"}, "the result could not be found again"},
		{&toolresult.OffloadConfig{Template: "{file_path} {}"}, []string{"OffloadConfig.Template", "{}", plain}, "pyfmt prints something for {}"},
		{&toolresult.OffloadConfig{Template: "{file_path} {0}"}, []string{"OffloadConfig.Template", "{0}", plain}, "positions have no meaning here"},
		{&toolresult.OffloadConfig{Template: "{file_path:>40}"}, []string{"OffloadConfig.Template", "{file_path:>40}", plain}, "a width would cut or pad a path"},
		{&toolresult.OffloadConfig{Template: "{file_path!r}"}, []string{"OffloadConfig.Template", "{file_path!r}", plain}, "a conversion changes the path"},
		{&toolresult.OffloadConfig{Template: "{file_path:d}"}, []string{"OffloadConfig.Template", "{file_path:d}", plain}, "pyfmt prints %!d without an error"},
		{&toolresult.OffloadConfig{Template: "{file_path.x}"}, []string{"OffloadConfig.Template", "{file_path.x}", plain}, "a path has no fields"},
		{&toolresult.OffloadConfig{Template: "{file_path} {path}"}, []string{"OffloadConfig.Template", "{path}", "tool_call_id, tool_name, file_path, content_sample, read_tool_name, total_bytes, total_lines, total_tokens"}, "no such variable"},
		{&toolresult.OffloadConfig{Template: "{file_path} {"}, []string{"OffloadConfig.Template", plain}, "the brace is not closed"},
		{&toolresult.OffloadConfig{Template: "{file_path} }"}, []string{"OffloadConfig.Template", plain}, "the brace was not opened"},
		{&toolresult.OffloadConfig{Template: "{file_path}}"}, []string{"OffloadConfig.Template", plain}, "the second brace was not opened"},
		{&toolresult.OffloadConfig{Template: "{{file_path}}"}, []string{"OffloadConfig.Template", "{file_path}"}, "that is literal text, not the path"},
		{&toolresult.OffloadConfig{Template: "{file_path {content_sample}}"}, []string{"OffloadConfig.Template", plain}, "names do not nest"},
		{&toolresult.OffloadConfig{Template: "{file_path}\n</tool_result_offloaded>\nmore"}, []string{"OffloadConfig.Template", "without the tags of a notice"}, "it would close the notice early"},
		{&toolresult.OffloadConfig{Template: "<tool_result_offloaded path=\"x\">{file_path}"}, []string{"OffloadConfig.Template", "without the tags of a notice"}, "the tags are added by the library"},
		{&toolresult.OffloadConfig{Template: "{file_path}\x00"}, []string{"OffloadConfig.Template", `\x00`, "without NUL"}, "providers refuse NUL"},
		{&toolresult.OffloadConfig{Template: "{file_path}\xff"}, []string{"OffloadConfig.Template", `\xff`, "valid UTF-8"}, "providers refuse it"},
	}
	for _, tc := range cases {
		if tc.cfg != nil && tc.names[0] != "OffloadConfig.Backend" {
			tc.cfg.Backend = ok
		}
		mw, err := toolresult.NewOffload(t.Context(), tc.cfg)
		require.Error(t, err, tc.reason)
		assert.Nil(t, mw.Invokable, "a refused config makes no middleware")
		for _, part := range append(tc.names, "toolresult: ") {
			assert.ErrorContains(t, err, part, tc.reason)
		}
	}
}

func TestNewOffloadAccepts(t *testing.T) {
	for reason, cfg := range map[string]*toolresult.OffloadConfig{
		"a final slash is allowed":           {PathPrefix: "/results/"},
		"a path may have any letters":        {PathPrefix: "/结果/a b"},
		"braces can be written":              {Template: "{{ {file_path} }} {{{total_lines}}}"},
		"the largest limit does not wrap":    {TokenLimit: int(^uint(0) >> 1)},
		"only the path is needed":            {Template: "{file_path}"},
		"every text exists in both of these": {Language: adk.LanguageChinese},
	} {
		store := newMemory()
		cfg.Backend = store
		cfg.ToolTokenLimits = map[string]int{"fetch": 10}
		said := offload(t, newOffload(t, cfg), "call_1", numberedLines(100))
		assert.Contains(t, store.stored(), pathIn(t, said), reason)
	}
	store := newMemory()
	said := offload(t, newOffload(t, &toolresult.OffloadConfig{Backend: store, TokenLimit: 10, PathPrefix: "/results/"}), "call_1", numberedLines(100))
	assert.Equal(t, "/results/call_1", pathIn(t, said), "the final slash is not doubled")
}

func TestConfigIsCopied(t *testing.T) {
	text := numberedLines(100)
	store := newMemory()
	cfg := &toolresult.OffloadConfig{
		Backend: store, TokenLimit: 1000,
		ExcludeTools: []string{"answer"}, ToolTokenLimits: map[string]int{"roomy": 100_000},
	}
	mw := newOffload(t, cfg)
	cfg.TokenLimit = 1
	cfg.Backend = backendFunc(func(context.Context, *toolresult.WriteRequest) error { return errors.New("not the one that was given") })
	cfg.ExcludeTools[0] = "fetch"
	cfg.ToolTokenLimits["roomy"] = 1
	cfg.ToolTokenLimits["fetch"] = -1
	cfg.Transform = func(context.Context, *compose.ToolInput, string) (string, error) { return "changed", nil }
	for name, stored := range map[string]bool{"fetch": true, "answer": false, "roomy": false} {
		said, err := callInvokable(t, mw, &compose.ToolInput{Name: name, CallID: "call_" + name}, text)
		require.NoError(t, err)
		assert.Equal(t, stored, said != text, name)
	}
	assert.Equal(t, map[string]string{"/large_tool_result/call_fetch": text}, store.stored())

	given := &toolresult.OffloadConfig{Backend: store}
	newOffload(t, given)
	assert.Equal(t, &toolresult.OffloadConfig{Backend: store}, given, "defaults are not written into the caller's config")
}

func TestOnOffloadTells(t *testing.T) {
	text := numberedLines(100) + "and a line without an end"
	var events []toolresult.OffloadEvent
	cfg := &toolresult.OffloadConfig{Backend: newMemory(), TokenLimit: 1000, OnOffload: func(_ context.Context, e toolresult.OffloadEvent) {
		events = append(events, e)
	}}
	mw := newOffload(t, cfg)
	offload(t, mw, "small", "small")
	assert.Empty(t, events, "a result that passes is no event")
	said := offload(t, mw, "call_1", text)
	require.Len(t, events, 1)
	assert.Equal(t, toolresult.OffloadEvent{
		ToolName: "fetch", CallID: "call_1", Path: "/large_tool_result/call_1", Bytes: int64(len(text)), Lines: 101,
		TokensBefore: int64(toolresult.EstimateTokens(text)), TokensAfter: int64(toolresult.EstimateTokens(said)),
	}, events[0])

	events = nil
	full := errors.New("disk full")
	cfg.Backend = backendFunc(func(context.Context, *toolresult.WriteRequest) error { return full })
	_, err := callStreamable(t, newOffload(t, cfg), &compose.ToolInput{Name: "fetch", CallID: "call_2"}, text)
	require.ErrorIs(t, err, full)
	require.Len(t, events, 1, "what should have been stored is an event too")
	assert.ErrorIs(t, events[0].Err, full)
	events[0].Err = nil
	assert.Equal(t, toolresult.OffloadEvent{
		ToolName: "fetch", CallID: "call_2", Path: "/large_tool_result/call_2", Bytes: int64(len(text)), Lines: 101,
	}, events[0])
}

// Eino's own backend serves as it is; it is what most users start with.
func TestOffloadToEinoBackend(t *testing.T) {
	text := numberedLines(100)
	backend := filesystem.NewInMemoryBackend()
	mw := newOffload(t, &toolresult.OffloadConfig{Backend: backend, TokenLimit: 1000})
	first := pathIn(t, offload(t, mw, "call_1", text))
	assert.Equal(t, first, pathIn(t, offload(t, mw, "call_1", text)), "the same text again needs no second file")
	second := pathIn(t, offload(t, mw, "call_1", text+"\n"))
	assert.NotEqual(t, first, second, "one more newline is another text")
	for path, want := range map[string]string{first: text, second: text + "\n"} {
		stored, err := backend.Read(t.Context(), &toolresult.ReadRequest{FilePath: path})
		require.NoError(t, err)
		assert.Equal(t, want, stored.Content, path)
	}
}
