package toolresult_test

// What the hook does with a rewrite: when it is worth the prompt cache, what it keeps off a second one, and what a caller gets.

import (
	"context"
	"errors"
	"math"
	"testing"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eino-toolresult/toolresult"
)

// reports collects what OnCompaction was told.
type reports []*toolresult.Compaction

func (r *reports) add(_ context.Context, c *toolresult.Compaction) { *r = append(*r, c) }

func beforeModel(t testing.TB, hook *toolresult.CompactionHook, messages []*schema.Message) []*schema.Message {
	t.Helper()
	got, err := hook.BeforeModel(context.Background(), messages, nil)
	require.NoError(t, err)
	return got
}

// A result of 300 tokens becomes a placeholder of 19, so every rewrite here gains 281 tokens of the counter.
func TestMinGain(t *testing.T) {
	const plain = "user(500) call(a:bash) result(a) call(b:bash) result(b::100)"      // 904 tokens
	const twice = "user(500) call(a:bash) result(a) call(b:bash)@1604 result(b::100)" // 1808 of the provider's
	tests := []struct {
		script  string
		window  int
		gain    float64
		rewrite bool
		reason  string
	}{
		{plain, 1200, 0, true, "the default gate is far below"},
		{plain, 1124, 0.25, true, "it gains exactly a quarter of the window"},
		{plain, 1128, 0.25, false, "it gains a token less than that"},
		{plain, 1128, -1, true, "there is no gate"},
		{plain, 1128, math.Inf(-1), true, "nor here"},
		{plain, 904, 0.5, false, "the request just fits the window"},
		{plain, 903, 0.5, true, "the request would be refused, so any gain is worth it"},
		{twice, 2248, 0.25, true, "the gain counts in the provider's tokens"},
		{twice, 2252, 0.25, false, "and here it is less"},
	}
	for _, tt := range tests {
		t.Run(tt.reason, func(t *testing.T) {
			var told reports
			messages := conversation(tt.script)
			hook := newHook(t, &toolresult.CompactionConfig{ContextWindow: tt.window, MinGain: tt.gain, OnCompaction: told.add})
			got := beforeModel(t, hook, messages)
			require.Len(t, told, 1, "a dropped rewrite is reported, too")
			c := told[0]
			assert.Equal(t, tt.rewrite, c.Changed)
			assert.Equal(t, tt.rewrite, !sameSlice(messages, got))
			assert.True(t, sameSlice(c.Messages, got))
			assert.EqualValues(t, 904, c.TokensBefore)
			assert.Positive(t, c.TargetTokens)
			if tt.rewrite {
				assert.EqualValues(t, 904-281, c.TokensAfter)
				assert.Equal(t, "2:bash", prunedIn(c))
			} else {
				assert.EqualValues(t, 904, c.TokensAfter)
				assert.Empty(t, c.Pruned)
			}
		})
	}
}

// The usage is from before the rewrite, and the hook runs again without an answer between.
func TestStaleUsageDoesNotPruneAgain(t *testing.T) {
	const script = "user(1000) call(x:bash) result(x::2000) call(y:bash) result(y::2000) call(z:bash)@10008 result(z::100)"
	var told reports
	hook := newHook(t, &toolresult.CompactionConfig{ContextWindow: 14_000, OnCompaction: told.add})
	messages := conversation(script)
	assert.Equal(t, 10008+2*102, estimateOf(t, toolresult.CompactionConfig{}, messages))
	first := beforeModel(t, hook, messages)
	require.Len(t, told, 1)
	require.Equal(t, "2:bash 4:bash", prunedIn(told[0]))
	assert.Equal(t, 10008+2*102-2*2*1981, estimateOf(t, toolresult.CompactionConfig{}, first))

	again := map[string][]*schema.Message{
		"after a failed call":                     first,
		"the user has said something":             append(first[:len(first):len(first)], schema.UserMessage("Still there?")),
		"a new process has loaded the history":    throughJSON(t, first),
		"a new result of 2000 tokens has come in": append(first[:len(first):len(first)], schema.ToolMessage(sizedText(7, "2000", 0), "z")),
	}
	for reason, history := range again {
		told = nil
		assert.True(t, sameSlice(history, beforeModel(t, hook, history)), reason)
		assert.Empty(t, told, reason)
	}

	unmarked := deepCopy(first)
	for _, msg := range unmarked {
		delete(msg.Extra, "context_compaction_at")
	}
	require.Nil(t, asked(t, toolresult.CompactionConfig{ContextWindow: 14_000}, first))
	require.NotNil(t, asked(t, toolresult.CompactionConfig{ContextWindow: 14_000}, unmarked), "it is the marks that tell")
}

func TestUsageFromAfterThePruneIsBelieved(t *testing.T) {
	hook := newHook(t, &toolresult.CompactionConfig{ContextWindow: 5000})
	history := beforeModel(t, hook, conversation("user(1000) call(x:bash) result(x::2000) call(y:bash) result(y::1000)"))
	sent := int(tokensOf(t, history...))
	require.Less(t, sent, 2100)

	history = append(history, message("call", "z:bash", 0), schema.ToolMessage(sizedText(6, "100", 0), "z"))
	history[5].ResponseMeta = &schema.ResponseMeta{Usage: &schema.TokenUsage{PromptTokens: 2 * sent}}
	assert.Equal(t, 2*sent+2*102, estimateOf(t, toolresult.CompactionConfig{}, history), "what it covers was pruned already")
}

// Two marks: a rewrite goes deep, so that the next one is far away.
func TestNoRewriteUntilTheContextHasGrownBack(t *testing.T) {
	var told reports
	hook := newHook(t, &toolresult.CompactionConfig{ContextWindow: 10_000, ReservedTokens: 134, OnCompaction: told.add})
	history := conversation("user(500)")
	var rewrites []int
	for call := range 60 {
		before := providerTokens(t, history)
		history = beforeModel(t, hook, history)
		after := providerTokens(t, history)
		if len(told) > len(rewrites) {
			rewrites = append(rewrites, call)
			assert.GreaterOrEqual(t, before, 7000, "call %d is rewritten at the upper mark", call)
			assert.LessOrEqual(t, after, 4000, "and down to the lower one")
			assert.Greater(t, after, 3000, "but hardly further")
		} else {
			assert.Less(t, before, 7000, "call %d is not", call)
		}
		answer := message("call", "x:bash", 0)
		answer.ResponseMeta = &schema.ResponseMeta{Usage: &schema.TokenUsage{PromptTokens: after}}
		history = append(history, answer, schema.ToolMessage(sizedText(call, "300", 0), "x"))
	}
	require.GreaterOrEqual(t, len(rewrites), 3)
	for i := 1; i < len(rewrites); i++ {
		assert.Greater(t, rewrites[i]-rewrites[i-1], 5)
	}
}

// providerTokens counts as a provider might: other tokens, and a frame that no message shows, of 134 tokens of ours.
func providerTokens(t testing.TB, messages []*schema.Message) int {
	return int(1.5*float64(tokensOf(t, messages...))) + 200
}

// What is protected is larger than the target, here even than the mark.
func TestTargetOutOfReach(t *testing.T) {
	var told reports
	hook := newHook(t, &toolresult.CompactionConfig{ContextWindow: 1700, OnCompaction: told.add, Compactor: newPruner(t, &toolresult.PruneConfig{MinTokens: 10})})
	history := beforeModel(t, hook, conversation("user(1200) call(a:bash) result(a::300) call(b:bash) result(b::60)"))
	require.Len(t, told, 1)
	assert.Equal(t, "2:bash", prunedIn(told[0]), "what can be pruned is")
	assert.Greater(t, told[0].TokensAfter, told[0].TargetTokens, "the report says that the target was missed")

	again := beforeModel(t, hook, history)
	assert.True(t, sameSlice(history, again), "there is nothing left")
	assert.Len(t, told, 1)

	history = append(again, conversation("call(c:bash) result(c::60)")...)
	again = beforeModel(t, hook, history)
	assert.True(t, sameSlice(history, again), "a gain of 41 tokens is not worth a rewrite")
	require.Len(t, told, 2)
	assert.False(t, told[1].Changed)
}

func TestCustomCompactor(t *testing.T) {
	messages := conversation("user(1000)")
	short := conversation("user(10)")
	failed := errors.New("no summary today")
	tests := []struct {
		reason string
		answer *toolresult.Compaction
		err    error
		want   []*schema.Message
	}{
		{"it has made the conversation smaller", &toolresult.Compaction{Messages: short, Changed: true, TokensBefore: 1000, TokensAfter: 10}, nil, short},
		{"its gain is too small", &toolresult.Compaction{Messages: short, Changed: true, TokensBefore: 1000, TokensAfter: 990}, nil, messages},
		{"it has changed nothing", &toolresult.Compaction{Messages: short, TokensBefore: 1000, TokensAfter: 10}, nil, messages},
		{"it has nothing to say", nil, nil, messages},
		{"it failed", nil, failed, messages},
	}
	for _, tt := range tests {
		hook := newHook(t, &toolresult.CompactionConfig{ContextWindow: 1200, Compactor: compactorFunc(func(*toolresult.CompactRequest) (*toolresult.Compaction, error) {
			return tt.answer, tt.err
		})})
		got, err := hook.BeforeModel(t.Context(), messages, nil)
		assert.ErrorIs(t, err, tt.err, tt.reason)
		assert.True(t, sameSlice(tt.want, got), tt.reason)
	}
}

func TestDefaultCompactorSpeaksTheLanguage(t *testing.T) {
	hook := newHook(t, &toolresult.CompactionConfig{ContextWindow: 600, Language: adk.LanguageChinese})
	got := beforeModel(t, hook, conversation("call(a:bash) result(a) call(b:bash) result(b)"))
	assert.Equal(t, "[工具结果已移除以释放上下文。如有需要，请再次调用 `bash`。]", got[1].Content)
}

// A rewriter of messages cannot return an error. The conversation goes on as it was.
func TestMessageRewriter(t *testing.T) {
	messages := conversation(countedScript)
	for failAt := range 4 {
		counter := newTally(t)
		counter.failAt = failAt
		var told []error
		cfg := &toolresult.CompactionConfig{ContextWindow: 1000, TokenCounter: counter, Tools: []*schema.ToolInfo{weather}}
		silent := newHook(t, cfg).MessageRewriter()
		cfg.OnError = func(_ context.Context, err error) { told = append(told, err) }
		got := newHook(t, cfg).MessageRewriter()(t.Context(), messages)
		if failAt == 0 {
			assert.Empty(t, told)
			assert.Equal(t, beforeModel(t, newHook(t, cfg), messages), got)
			assert.False(t, sameSlice(messages, got))
			continue
		}
		require.Len(t, told, 1, "count %d failed", failAt)
		assert.ErrorIs(t, told[0], errCounter)
		assert.True(t, sameSlice(messages, got))

		counter.counts = nil
		assert.True(t, sameSlice(messages, silent(t.Context(), messages)), "without OnError, too")
	}
}

func TestErrorsLeaveTheConversation(t *testing.T) {
	messages := conversation("user(500) call(a:bash) result(a) call(b:bash)@900 result(b)")
	for failAt := 1; failAt <= 5; failAt++ {
		counter := newTally(t)
		counter.failAt = failAt
		hook := newHook(t, &toolresult.CompactionConfig{ContextWindow: 1000, TokenCounter: counter, Tools: []*schema.ToolInfo{weather}})
		got, err := hook.BeforeModel(t.Context(), messages, nil)
		assert.ErrorIs(t, err, errCounter, "count %d failed", failAt)
		assert.True(t, sameSlice(messages, got))
	}
}

func TestHookCopiesItsConfig(t *testing.T) {
	cfg := &toolresult.CompactionConfig{ContextWindow: 1100, CompactAt: 1, Tools: []*schema.ToolInfo{weather}}
	hook := newHook(t, cfg)
	cfg.ContextWindow, cfg.ReservedTokens, cfg.Tools[0] = 10, 1e6, nil
	idle, due := conversation("user(1088)"), conversation("user(489) call(a:bash) result(a) call(b:bash) result(b::296)")
	assert.True(t, sameSlice(idle, beforeModel(t, hook, idle)), "1099 tokens with the schema")
	assert.False(t, sameSlice(due, beforeModel(t, hook, due)), "1100 tokens with the schema")
}
