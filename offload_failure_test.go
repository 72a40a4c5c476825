package toolresult_test

// What a call returns when its result cannot be stored. Each policy, at each stage, in each shape.

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eino-toolresult/toolresult"
)

// errBackend is an error with a type of its own, as clients of object stores have.
type errBackend struct{ host string }

func (e *errBackend) Error() string { return "no route to " + e.host }

// brokenSample fails while it takes the text in.
type brokenSample struct{ err error }

func (s brokenSample) WriteString(string) (int, error) { return 0, s.err }
func (s brokenSample) String() string                  { return "unused" }

type failureCase struct {
	stage   string // as the error names it
	cause   error
	cfg     toolresult.OffloadConfig
	english string // the word an excerpt gives
	chinese string
	path    string // as far as there was one
}

func failureCases() []failureCase {
	full := &errBackend{"store.internal"}
	naming, sampling, counting := errors.New("no name today"), errors.New("no sample"), errors.New("tokenizer down")
	return []failureCase{
		{
			stage: "store", cause: full, english: "writing failed", chinese: "写入失败", path: "/large_tool_result/call_1",
			cfg: toolresult.OffloadConfig{Backend: backendFunc(func(context.Context, *toolresult.WriteRequest) error { return full })},
		},
		{
			stage: "name a file for", cause: naming, english: "naming failed", chinese: "命名失败",
			cfg: toolresult.OffloadConfig{PathGenerator: func(context.Context, *compose.ToolInput) (string, error) { return "", naming }},
		},
		{
			stage: "sample", cause: sampling, english: "sampling failed", chinese: "采样失败",
			cfg: toolresult.OffloadConfig{Sampler: func() toolresult.Sample { return brokenSample{sampling} }},
		},
		{
			stage: "count", cause: counting, english: "counting failed", chinese: "计数失败",
			cfg: toolresult.OffloadConfig{TokenCounter: toolresult.TokenCounterFunc(func(context.Context, []*schema.Message, []*schema.ToolInfo) (int64, error) {
				return 0, counting
			})},
		},
	}
}

// config fills a case in and collects the events of its middleware.
func (f failureCase) config(policy toolresult.FailurePolicy, lang adk.Language) (*toolresult.OffloadConfig, *memory, *[]toolresult.OffloadEvent) {
	store, events := newMemory(), new([]toolresult.OffloadEvent)
	cfg := f.cfg
	cfg.OnFailure, cfg.Language, cfg.TokenLimit = policy, lang, 1000
	if cfg.Backend == nil {
		cfg.Backend = store
	}
	cfg.OnOffload = func(_ context.Context, e toolresult.OffloadEvent) { *events = append(*events, e) }
	return &cfg, store, events
}

func TestFailurePolicies(t *testing.T) {
	text := "the first line\n" + numberedLines(1000) + "the verdict"
	call := &compose.ToolInput{Name: "fetch", CallID: "call_1"}
	for _, tc := range failureCases() {
		for _, way := range shapes() {
			t.Run(tc.stage+"/"+way.name, func(t *testing.T) {
				run := func(policy toolresult.FailurePolicy, lang adk.Language) (string, error) {
					cfg, store, events := tc.config(policy, lang)
					said, err := way.run(t, newOffload(t, cfg), call, text)
					requireFailed(t, *events, tc)
					assert.Empty(t, store.stored())
					return said, err
				}
				_, err := run(toolresult.FailCall, adk.LanguageEnglish)
				require.ErrorIs(t, err, tc.cause, "the caller can tell what went wrong")
				assert.ErrorContains(t, err, "toolresult: "+tc.stage+` the result of call "call_1"`)
				assert.Equal(t, 1, strings.Count(err.Error(), "toolresult: "), "wrapped once: %v", err)

				said, err := run(toolresult.PassThrough, adk.LanguageEnglish)
				require.NoError(t, err)
				assert.Equal(t, text, said, "the run goes on with the original")

				said, err = run(toolresult.TruncateInline, adk.LanguageEnglish)
				require.NoError(t, err)
				requireExcerpt(t, text, said, "It was not saved: "+tc.english+".")

				said, err = run(toolresult.TruncateInline, adk.LanguageChinese)
				require.NoError(t, err)
				requireExcerpt(t, text, said, "结果未保存："+tc.chinese)
			})
		}
	}
}

func requireFailed(t *testing.T, events []toolresult.OffloadEvent, tc failureCase) {
	t.Helper()
	require.Len(t, events, 1, "the observer sees each failure once")
	assert.ErrorIs(t, events[0].Err, tc.cause)
	assert.Equal(t, tc.path, events[0].Path)
	assert.Equal(t, "call_1", events[0].CallID)
}

func requireExcerpt(t *testing.T, text, said, word string) {
	t.Helper()
	assert.True(t, strings.HasPrefix(said, "the first line\n") && strings.HasSuffix(said, "the verdict"), "head and tail: %q", said)
	assert.Contains(t, said, word)
	assert.LessOrEqual(t, len(said), 4000, "within the limit, its own words included")
	assert.NotContains(t, said, "store.internal", "the model need not know of hosts")
	_, isNotice := toolresult.OffloadedPath(schema.ToolMessage(said, "call_1"))
	assert.False(t, isNotice, "there is no path to read")
}

func TestFailureKeepsTheErrorsType(t *testing.T) {
	cfg, _, _ := failureCases()[0].config(toolresult.FailCall, adk.LanguageEnglish)
	_, err := callInvokable(t, newOffload(t, cfg), &compose.ToolInput{Name: "fetch", CallID: "a\nb"}, numberedLines(1000))
	var own *errBackend
	require.ErrorAs(t, err, &own)
	assert.Equal(t, "store.internal", own.host)
	assert.ErrorContains(t, err, `call "a\nb"`, "an ID cannot break the line of a log")
}

// An excerpt stays within the limit and below the original. Where no excerpt can, the original is less evil than a lie.
func TestTruncateInlineStaysWithinLimit(t *testing.T) {
	broken := backendFunc(func(context.Context, *toolresult.WriteRequest) error { return errors.New("full") })
	texts := map[string]string{
		"lines": numberedLines(2000), "one line": strings.Repeat("x", 100_000), "CJK": strings.Repeat("工具结果", 10_000),
		"emoji": strings.Repeat("😀", 20_000), "invalid": strings.Repeat("\xff\xfe", 40_000), "NUL": strings.Repeat("\x00", 80_000),
		"just a little more": strings.Repeat("y", 4001), "short": strings.Repeat("z", 90), "tiny": "abcde",
	}
	for name, text := range texts {
		for _, limit := range []int{0, 1, 10, 30, 100, 1000, 1 << 40} {
			mw := newOffload(t, &toolresult.OffloadConfig{
				Backend: broken, OnFailure: toolresult.TruncateInline, ToolTokenLimits: map[string]int{"fetch": limit}, Sampler: emptySampler,
			})
			said := offload(t, mw, "call_1", text)
			if said == text {
				continue
			}
			reason := fmt.Sprint(name, " with a limit of ", limit)
			assert.LessOrEqual(t, toolresult.EstimateTokens(said), limit, reason)
			assert.Less(t, len(said), len(text), reason)
			assert.True(t, utf8.ValidString(said) && !strings.Contains(said, "\x00"), reason)
			assert.Contains(t, said, "It was not saved", reason)
		}
	}
	mw := newOffload(t, &toolresult.OffloadConfig{Backend: broken, OnFailure: toolresult.TruncateInline, TokenLimit: 1000})
	said := offload(t, mw, "call_1", texts["lines"])
	assert.Greater(t, len(said), 3000, "the limit is made use of")

	countX := &spy{count: func(text string) int64 { return int64(strings.Count(text, "x")) }}
	mw = newOffload(t, &toolresult.OffloadConfig{Backend: broken, OnFailure: toolresult.TruncateInline, TokenLimit: 200, TokenCounter: countX, Sampler: emptySampler})
	text := strings.Repeat("x", 350)
	said = offload(t, mw, "call_1", text)
	assert.Contains(t, said, "It was not saved")
	assert.Less(t, len(said), len(text), "below the original in bytes too, whatever the counter says")
}

// emptySampler makes the shortest notice.
func emptySampler() toolresult.Sample { return new(nothing) }

type nothing struct{}

func (*nothing) WriteString(s string) (int, error) { return len(s), nil }
func (*nothing) String() string                    { return "" }

// What a generator returns is checked, because it goes to a backend as it is.
func TestPathGeneratorIsChecked(t *testing.T) {
	for bad, reason := range map[string]string{
		"": "there is no path", "/": "the root is no file", ".": "the folder itself", "..": "above the root", "../x": "above the root",
		"/../x": "above the root", "/a/../../x": "above the root", "a/../../x": "above the root", "/a//b": "not clean", "/a/./b": "not clean",
		"/a/": "a folder", "./a": "not clean", "/a\nb": "control character", "/a\x00b": "NUL", "/a\x7f": "control character",
		"/a\xffb": "not UTF-8", "/a\u0085b": "control character",
	} {
		store := newMemory()
		var events []toolresult.OffloadEvent
		mw := newOffload(t, &toolresult.OffloadConfig{
			Backend: store, TokenLimit: 100,
			PathGenerator: func(context.Context, *compose.ToolInput) (string, error) { return bad, nil },
			OnOffload:     func(_ context.Context, e toolresult.OffloadEvent) { events = append(events, e) },
		})
		_, err := callInvokable(t, mw, &compose.ToolInput{Name: "fetch", CallID: "call_1"}, numberedLines(100))
		require.Error(t, err, "%q: %s", bad, reason)
		assert.ErrorContains(t, err, "name a file for the result of call", "%q: %s", bad, reason)
		assert.ErrorContains(t, err, fmt.Sprintf("%q", bad), reason)
		assert.Equal(t, 1, strings.Count(err.Error(), "toolresult: "), "wrapped once: %v", err)
		assert.Empty(t, store.stored(), "%q: %s", bad, reason)
		require.Len(t, events, 1)
		assert.Empty(t, events[0].Path, "a path that was refused is none")
	}
	for good, reason := range map[string]string{
		"/agent_results/2025-01-31/call.json": "folders by date", "results/call.json": "relative to the backend's root",
		"/..a/b..": "dots in names", `/a\b`: "a backslash is a letter", "/结果/ü 1": "any letters", `/a"b<c>&d'e`: "what must be escaped",
		"/a\u202eb": "a mark of direction",
	} {
		store := newMemory()
		mw := newOffload(t, &toolresult.OffloadConfig{
			Backend: store, TokenLimit: 100,
			PathGenerator: func(_ context.Context, input *compose.ToolInput) (string, error) {
				return good, nil
			},
		})
		said := offload(t, mw, "call_1", numberedLines(100))
		assert.Equal(t, good, pathIn(t, said), reason)
		assert.Contains(t, store.stored(), good, reason)
	}
}

// A backend that answers nonsense must not make the library lose a result or hang.
func TestBackendThatMisbehaves(t *testing.T) {
	text := numberedLines(100)
	always := &alwaysTaken{memory: newMemory()}
	mw := newOffload(t, &toolresult.OffloadConfig{Backend: always, TokenLimit: 100})
	_, err := callInvokable(t, mw, &compose.ToolInput{Name: "fetch", CallID: "call_1"}, text)
	require.ErrorIs(t, err, fs.ErrExist, "a backend where every path is taken")
	assert.Empty(t, always.stored())

	mw = newOffload(t, &toolresult.OffloadConfig{Backend: nilReader{newMemory()}, TokenLimit: 100})
	said := offload(t, mw, "call_1", text)
	assert.Equal(t, "/large_tool_result/call_1", pathIn(t, said), "no content and no error is nothing stored")
}

type alwaysTaken struct{ *memory }

func (*alwaysTaken) Read(context.Context, *toolresult.ReadRequest) (*toolresult.FileContent, error) {
	return &toolresult.FileContent{Content: "something else"}, nil
}

type nilReader struct{ *memory }

func (nilReader) Read(context.Context, *toolresult.ReadRequest) (*toolresult.FileContent, error) {
	return nil, nil
}
