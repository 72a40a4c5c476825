package toolresult_test

// Parallel results that are each small enough and together are not: the largest are offloaded before the model sees any.

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eino-toolresult/toolresult"
)

// stepHook keeps a StepTokenLimit, far from any compaction. With a counter of its own it cannot replay.
func stepHook(t testing.TB, offload toolresult.OffloadConfig, counter toolresult.TokenCounter) *toolresult.CompactionHook {
	t.Helper()
	return newHook(t, &toolresult.CompactionConfig{ContextWindow: 1e9, Offload: &offload, TokenCounter: counter})
}

// offloadedIn names the results that are notices, by the ID of the call.
func offloadedIn(messages []*schema.Message) string {
	var ids []string
	for _, msg := range messages {
		if _, ok := toolresult.OffloadedPath(msg); ok {
			ids = append(ids, msg.ToolCallID)
		}
	}
	return strings.Join(ids, " ")
}

// A notice of these results has some 200 tokens at most with this sampler.
var noSample = toolresult.HeadSampler(1, 10)

func TestStepTokenLimit(t *testing.T) {
	const three = "user call(a:x,b:y,c:z) result(a::900) result(b::1200) result(c::700)" // 2800 tokens
	page := "user call(a:read_file,b:search_file,c:x) result(a::900) result(b::900) result(c::700)"
	tests := []struct {
		script string
		limit  int
		cfg    toolresult.OffloadConfig
		want   string
		reason string
	}{
		{three, 0, toolresult.OffloadConfig{}, "", "no limit"},
		{three, 2800, toolresult.OffloadConfig{}, "", "exactly the limit"},
		{three, 2799, toolresult.OffloadConfig{}, "b", "a token above it: the largest is enough"},
		{three, 1500, toolresult.OffloadConfig{}, "a b", "two"},
		{three, 1, toolresult.OffloadConfig{}, "a b c", "all, although even the notices are above it"},
		{three, 2000, toolresult.OffloadConfig{ExcludeTools: []string{"y"}}, "a", "an excluded tool counts and stays"},
		{three, 2000, toolresult.OffloadConfig{ToolTokenLimits: map[string]int{"y": -1}}, "a", "so does one that is never offloaded"},
		{three, 2000, toolresult.OffloadConfig{ToolTokenLimits: map[string]int{"y": 5000}}, "b", "a limit for single results is no obstacle"},
		{three, 2000, toolresult.OffloadConfig{TokenLimit: 5000}, "b", "nor is the general one"},
		{page, 1000, toolresult.OffloadConfig{}, "c", "pages are never offloaded"},
		{page, 500, toolresult.OffloadConfig{ReadToolName: "peek", SearchToolName: "grep"}, "a b c", "unless the tools have other names"},
		{"user call(a:x) result(a::900)", 500, toolresult.OffloadConfig{}, "a", "one result alone is a step too"},
		{"user call(a:x) result(a::900) answer user call(b:x,c:x) result(b::300) result(c::300)", 1000, toolresult.OffloadConfig{}, "", "steps are not added up"},
		{"user call(a:x,a:y) result(a::900) result(a::950)", 1000, toolresult.OffloadConfig{}, "a", "an ID twice"},
		{"user call(:x,:y) result(:x:900) result(:y:950)", 100, toolresult.OffloadConfig{}, " ", "no IDs"},
		{"user call(a:x,b:x,c:x) result(a::500) result(b::500) result(c::500)", 1200, toolresult.OffloadConfig{}, "a", "of equals the first"},
		{"user call(a:x,b:x) nil result(a::900) nil result(b::500)", 1000, toolresult.OffloadConfig{}, "a", "missing messages"},
		{"user(5000) call(a:x) result(a::100)", 1000, toolresult.OffloadConfig{}, "", "only results count"},
	}
	for _, tt := range tests {
		for _, counter := range []toolresult.TokenCounter{nil, newTally(t)} {
			t.Run(fmt.Sprintf("%s/replayed=%t", tt.reason, counter == nil), func(t *testing.T) {
				backend := newMemory()
				tt.cfg.Backend, tt.cfg.StepTokenLimit, tt.cfg.Sampler = backend, tt.limit, noSample
				messages := conversation(tt.script)
				snapshot := deepCopy(messages)
				got := beforeModel(t, stepHook(t, tt.cfg, counter), messages)
				assert.Equal(t, tt.want, offloadedIn(got))
				assert.Equal(t, snapshot, messages, "the input is not modified")
				assert.Equal(t, tt.want == "", sameSlice(messages, got))
				for i, msg := range got {
					if path, ok := toolresult.OffloadedPath(msg); ok {
						assert.Equal(t, messages[i].Content, readBack(t, backend, path))
						assert.NotContains(t, msg.Extra, "context_compaction", "it is a notice, and not pruned")
					} else {
						assert.Same(t, messages[i], msg)
					}
				}
			})
		}
	}
}

// A step with notices in it: they count and stay.
func TestNoticesOfAStepStay(t *testing.T) {
	backend := newMemory()
	cfg := toolresult.OffloadConfig{Backend: backend, StepTokenLimit: 1000, TokenLimit: 1000, Sampler: noSample}
	said := offload(t, newOffload(t, &cfg), "a", numberedLines(2000))
	messages := conversation("user call(a:fetch,b:fetch) result(a) result(b::990)")
	messages[2].Content = said
	got := beforeModel(t, stepHook(t, cfg, nil), messages)
	assert.Same(t, messages[2], got[2])
	assert.Equal(t, "a b", offloadedIn(got))
	again := beforeModel(t, stepHook(t, cfg, nil), got)
	assert.True(t, sameSlice(got, again))
	assert.Equal(t, 2, backend.written())
}

func TestStepLimitWithoutOffload(t *testing.T) {
	backend := newMemory()
	messages := conversation("user call(a:x,b:y) result(a::900) result(b::1200)")
	hook := stepHook(t, toolresult.OffloadConfig{Backend: backend, StepTokenLimit: 100}, nil)
	got, err := hook.BeforeModel(toolresult.WithoutOffload(t.Context()), messages, nil)
	require.NoError(t, err)
	assert.True(t, sameSlice(messages, got))
	assert.Empty(t, backend.stored())
}

// The texts of parts are judged together, and what else there is stays in its place.
func TestStepLimitInParts(t *testing.T) {
	backend := newMemory()
	messages := conversation("user call(a:x,b:y) result(a::10) result(b::900)")
	image := imageInput("eA==")
	messages[2].UserInputMultiContent = []schema.MessageInputPart{
		image, inputText(sizedText(1, "800", 0)), inputText(sizedText(2, "800", 0)), image, inputText(sizedText(3, "800", 0)),
	}
	messages[2].UserInputMultiContent[1].Extra = map[string]any{"mine": 1}
	messages[2].Content = ""
	snapshot := deepCopy(messages)
	got := beforeModel(t, stepHook(t, toolresult.OffloadConfig{Backend: backend, StepTokenLimit: 2000}, nil), messages)
	assert.Equal(t, snapshot, messages)
	parts := got[2].UserInputMultiContent
	require.Len(t, parts, 3, "image, notice, image")
	assert.Equal(t, image, parts[0])
	assert.Equal(t, image, parts[2])
	path, ok := toolresult.OffloadedPath(got[2])
	require.True(t, ok)
	assert.Equal(t, map[string]any{"mine": 1, "tool_result_offloaded": path}, parts[1].Extra)
	assert.Equal(t, sizedText(1, "800", 0)+sizedText(2, "800", 0)+"\n"+sizedText(3, "800", 0), readBack(t, backend, path))
	assert.Same(t, messages[3], got[3])
}

func TestStepLimitFailures(t *testing.T) {
	down := backendFunc(func(context.Context, *toolresult.WriteRequest) error { return errFault })
	const script = "user call(a:x,b:y) result(a::900) result(b::1200)"
	inParts := conversation(script)
	inParts[3].UserInputMultiContent, inParts[3].Content = []schema.MessageInputPart{inputText(inParts[3].Content), imageInput("eA==")}, ""
	for form, messages := range map[string][]*schema.Message{"text": conversation(script), "parts": inParts} {
		for _, counter := range []toolresult.TokenCounter{nil, newTally(t)} {
			var events []toolresult.OffloadEvent
			hook := func(policy toolresult.FailurePolicy) *toolresult.CompactionHook {
				events = nil
				return stepHook(t, toolresult.OffloadConfig{Backend: down, StepTokenLimit: 1000, OnFailure: policy, OnOffload: func(_ context.Context, e toolresult.OffloadEvent) { events = append(events, e) }}, counter)
			}
			got, err := hook(toolresult.FailCall).BeforeModel(t.Context(), messages, nil)
			require.ErrorIs(t, err, errFault, form)
			assert.ErrorContains(t, err, `toolresult: store the result of call "b" in "/large_tool_result/b"`, form)
			assert.True(t, sameSlice(messages, got), form)
			require.Len(t, events, 1, form)
			assert.ErrorIs(t, events[0].Err, errFault, form)

			got = beforeModel(t, hook(toolresult.PassThrough), messages)
			assert.True(t, sameSlice(messages, got), "%s: what cannot be stored passes as it is", form)
			assert.Len(t, events, 2, form)

			got = beforeModel(t, hook(toolresult.TruncateInline), messages)
			for i, msg := range messages[2:] {
				short := textOf(got[2+i])
				assert.Contains(t, short, "It was not saved: writing failed.", form)
				assert.LessOrEqual(t, toolresult.EstimateTokens(short), 500, "%s: each has its share", form)
				assert.Greater(t, toolresult.EstimateTokens(short), 300, form)
				assert.Len(t, got[2+i].UserInputMultiContent, len(msg.UserInputMultiContent), form)
			}
			again := beforeModel(t, hook(toolresult.TruncateInline), got)
			assert.True(t, sameSlice(got, again), "%s: what was cut fits", form)
		}
	}
}

func TestStepLimitCounterErrors(t *testing.T) {
	failing := toolresult.TokenCounterFunc(func(context.Context, []*schema.Message, []*schema.ToolInfo) (int64, error) { return 0, errCounter })
	messages := conversation("user call(a:x,b:y) result(a::900) result(b::1200)")
	hook := stepHook(t, toolresult.OffloadConfig{Backend: newMemory(), StepTokenLimit: 1000, TokenCounter: failing}, nil)
	got, err := hook.BeforeModel(t.Context(), messages, nil)
	require.ErrorIs(t, err, errCounter)
	assert.True(t, sameSlice(messages, got))
}

// Whoever hands in the whole conversation at each call has each step limited anew: to the same bytes and the same files.
func TestStepLimitReplayed(t *testing.T) {
	backend := newMemory()
	hook := stepHook(t, toolresult.OffloadConfig{Backend: backend, StepTokenLimit: 1000, Sampler: noSample}, nil)
	messages := conversation("user call(a:x,b:y) result(a::900) result(b::800) call(c:x,a:y) result(c::700) result(a::600) answer user")
	var last []*schema.Message
	for _, end := range []int{4, 4, 7, 8, 9} {
		got := beforeModel(t, hook, throughJSON(t, messages[:end]))
		for i := range last {
			require.Equal(t, last[i].Content, got[i].Content, "message %d of %d", i, end)
		}
		last = got
	}
	assert.Equal(t, "a c", offloadedIn(last))
	assert.Equal(t, 2, backend.written())
}

// Mere offloading is no compaction: OnOffload is told of it, and OnCompaction is not.
func TestWhoIsToldOfStepLimits(t *testing.T) {
	for _, counter := range []toolresult.TokenCounter{nil, newTally(t)} {
		var told reports
		var events []toolresult.OffloadEvent
		offload := &toolresult.OffloadConfig{Backend: newMemory(), StepTokenLimit: 1000, Sampler: noSample, OnOffload: func(_ context.Context, e toolresult.OffloadEvent) { events = append(events, e) }}
		hook := newHook(t, &toolresult.CompactionConfig{ContextWindow: 3000, Offload: offload, TokenCounter: counter, OnCompaction: told.add})
		got := beforeModel(t, hook, conversation("user call(a:x,b:y) result(a::900) result(b::800)"))
		require.Equal(t, "a", offloadedIn(got))
		assert.Empty(t, told)
		require.Len(t, events, 1)
		assert.Equal(t, "x", events[0].ToolName)
		assert.EqualValues(t, 900, events[0].TokensBefore)
		assert.Less(t, events[0].TokensAfter, int64(400))
		assert.NoError(t, events[0].Err)
	}
}

// What was offloaded counts no more: a step that alone would be over the window needs no compaction.
func TestStepLimitComesBeforeThePrune(t *testing.T) {
	for _, counter := range []toolresult.TokenCounter{nil, newTally(t)} {
		var told reports
		offload := &toolresult.OffloadConfig{Backend: newMemory(), StepTokenLimit: 800, Sampler: noSample}
		hook := newHook(t, &toolresult.CompactionConfig{ContextWindow: 2000, Offload: offload, TokenCounter: counter, OnCompaction: told.add})
		got := beforeModel(t, hook, conversation("user call(o:x) result(o::300) call(a:x,b:y) result(a::1500) result(b::500)"))
		assert.Equal(t, "a", offloadedIn(got))
		assert.Empty(t, told)
	}
}

// A limited step grows old like any other: its notices stay, or are shortened.
func TestLimitedStepGrowsOld(t *testing.T) {
	backend := newMemory()
	hook := newHook(t, &toolresult.CompactionConfig{
		ContextWindow: 2000, MinGain: -1, Offload: &toolresult.OffloadConfig{Backend: backend, StepTokenLimit: 1000},
		Compactor: newPruner(t, &toolresult.PruneConfig{Archive: backend, Pointers: toolresult.ShortenPointers}),
	})
	messages := conversation("user call(a:x,b:y) result(a::900) result(b::800) call(c:x) result(c::900) answer user")
	got := beforeModel(t, hook, messages)
	assert.Equal(t, "a b", offloadedIn(got))
	for _, i := range []int{2, 3} {
		assert.Contains(t, got[i].Extra, "context_compaction")
		requireReadBack(t, backend, got[i], messages[i].Content)
	}
	assert.Equal(t, 2, backend.written())
}

func TestStepTokenLimitIsChecked(t *testing.T) {
	_, err := toolresult.NewOffload(t.Context(), &toolresult.OffloadConfig{Backend: newMemory(), StepTokenLimit: -1})
	assert.EqualError(t, err, "toolresult: OffloadConfig.StepTokenLimit is -1; want 0 (no limit) or more")
	_, err = toolresult.NewCompactionHook(t.Context(), &toolresult.CompactionConfig{ContextWindow: 1, Offload: &toolresult.OffloadConfig{}})
	assert.EqualError(t, err, "toolresult: OffloadConfig.Backend is nil; want a Backend")
}
