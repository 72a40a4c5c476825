package toolresult_test

// When a rewrite is worth what it costs in the provider's prompt cache. The hook decides once here, as its counter is another, so
// that each row is one decision.

import (
	"math"
	"testing"

	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eino-toolresult/toolresult"
)

// pricedHistory is a conversation of 128 000 tokens and 19 answers, so of 6400 tokens a call, in which a rewrite would save so
// many tokens and have 40 000 behind its first change.
func pricedHistory(t *testing.T, saved int) []*schema.Message {
	const behind, total, answers, results, placeholder = 40_000, 128_000, 19, 10, 19
	messages := []*schema.Message{schema.UserMessage("")}
	for i := range results {
		share := saved / results
		if i == 0 {
			share += saved % results
		}
		messages = append(messages, message("call", "x:bash", 0), schema.ToolMessage(padding(share+placeholder), "x"))
	}
	messages = append(messages, conversation("call(z:bash) result(z::1)")...)
	for range answers - results - 1 {
		messages = append(messages, schema.AssistantMessage("yes.", nil))
	}
	messages = append(messages, schema.UserMessage(padding(behind+saved-int(tokensOf(t, messages[2:]...)))))
	messages[0].Content = padding(total - int(tokensOf(t, messages...)))
	require.EqualValues(t, total, tokensOf(t, messages...))
	require.EqualValues(t, behind+saved, tokensOf(t, messages[2:]...))
	return messages
}

// padding is a text of so many tokens.
func padding(tokens int) string { return string(make([]byte, 4*tokens)) }

// reportUsage gives the answers of a conversation usages. The first misses of them read nothing from the cache, but for the very
// first, which never can.
func reportUsage(messages []*schema.Message, usages, misses int) []*schema.Message {
	for i, msg := range messages {
		if msg.Role != schema.Assistant || usages == 0 {
			continue
		}
		answer, usage := *msg, &schema.TokenUsage{PromptTokens: 10} // not believed, so that it scales nothing
		if misses--; misses < -1 {
			usage.PromptTokenDetails.CachedTokens = 10
		}
		if usages--; usages >= 0 {
			answer.ResponseMeta = &schema.ResponseMeta{Usage: usage}
		}
		messages[i] = &answer
	}
	return messages
}

// rewrites reports whether a hook with these prices prunes a conversation.
func rewrites(t *testing.T, cfg toolresult.CompactionConfig, messages []*schema.Message) bool {
	t.Helper()
	var told reports
	cfg.TokenCounter, cfg.OnCompaction = newTally(t), told.add
	cfg.CompactAt, cfg.CompactTo = 0.001, 0.0001
	cfg.Compactor = newPruner(t, &toolresult.PruneConfig{MinTokens: 20})
	if cfg.ContextWindow == 0 {
		cfg.ContextWindow = 1_000_000
	}
	got := beforeModel(t, newHook(t, &cfg), messages)
	require.Len(t, told, 1, "what is dropped is reported, too")
	assert.Equal(t, told[0].Changed, !sameSlice(messages, got))
	if !told[0].Changed {
		assert.Equal(t, told[0].TokensBefore, told[0].TokensAfter)
	}
	return told[0].Changed
}

func TestCachePrices(t *testing.T) {
	anthropic := toolresult.CachePrices{Read: 0.1, Write: 1.25}
	remaining := func(p toolresult.CachePrices, calls int) toolresult.CachePrices {
		p.RemainingCalls = calls
		return p
	}
	tests := []struct {
		prices toolresult.CachePrices
		cold   int // of ten calls
		least  int // that must be saved
		reason string
	}{
		{anthropic, 0, 76_734, "the example: √(2·1.15·40000·6400/0.1)"},
		{anthropic, 1, 49_647, "one call in ten is cold: √(2·1.035·40000·6400/0.215)"},
		{toolresult.CachePrices{Read: 0.5, Write: 1}, 0, 22_628, "reading is dearer: √(2·0.5·40000·6400/0.5)"},
		{remaining(anthropic, 10), 0, 46_001, "ten calls remain: 10·0.1·S > 1.15·40000"},
		{remaining(anthropic, 100), 0, 4_601, "a hundred"},
		{remaining(anthropic, 10), 1, 19_256, "ten, and one in ten cold: 10·0.215·S > 1.035·40000"},
		{remaining(toolresult.CachePrices{Write: 1}, 10), 1, 36_001, "reading is free: 10·0.1·S > 0.9·40000"},
	}
	for _, tt := range tests {
		for saved, want := range map[int]bool{tt.least - 1: false, tt.least: true} {
			messages := reportUsage(pricedHistory(t, saved), 11, tt.cold)
			cfg := toolresult.CompactionConfig{Cache: &tt.prices, MinGain: -1}
			assert.Equal(t, want, rewrites(t, cfg, messages), "%s: %d tokens saved", tt.reason, saved)
		}
	}
}

// Which calls count as cold.
func TestColdCaches(t *testing.T) {
	cold := func(messages []*schema.Message) bool { // with one call in ten cold it pays, else not
		return rewrites(t, toolresult.CompactionConfig{Cache: &toolresult.CachePrices{Read: 0.1, Write: 1.25}, MinGain: -1}, messages)
	}
	history := func(usages, misses int) []*schema.Message {
		return reportUsage(pricedHistory(t, 50_000), usages, misses)
	}
	assert.False(t, cold(history(0, 0)), "no usage is reported")
	assert.False(t, cold(history(11, 0)), "all calls find the cache warm")
	assert.True(t, cold(history(11, 1)), "one in ten does not")
	assert.False(t, cold(history(12, 1)), "one in eleven is not enough")
	assert.False(t, cold(history(11, 11)), "a provider that never reports a read tells nothing")

	half := history(11, 1)
	half[3].ResponseMeta.Usage.PromptTokenDetails.CachedTokens = 5
	assert.False(t, cold(half), "half of the prompt before is warm")
	half[3].ResponseMeta.Usage.PromptTokenDetails.CachedTokens = 4
	assert.True(t, cold(half), "less is not")

	rewritten := history(11, 1)
	marked := *rewritten[0]
	marked.Extra = map[string]any{"context_compaction": "x", "context_compaction_at": 3, "context_compaction_original_tokens": 0}
	rewritten[0] = &marked
	require.Zero(t, rewritten[3].ResponseMeta.Usage.PromptTokenDetails.CachedTokens)
	assert.False(t, cold(rewritten), "a call right after a rewrite is cold for no other reason")
}

func TestCacheGate(t *testing.T) {
	dear, cheap := &toolresult.CachePrices{Read: 0.1, Write: 1.25}, &toolresult.CachePrices{Read: 0.1, Write: 1.25, RemainingCalls: 1e6}
	free := &toolresult.CachePrices{Write: 1}
	tests := []struct {
		cfg    toolresult.CompactionConfig
		want   bool
		reason string
	}{
		{toolresult.CompactionConfig{}, true, "without prices only MinGain decides"},
		{toolresult.CompactionConfig{Cache: dear}, false, "it does not pay"},
		{toolresult.CompactionConfig{Cache: dear, ContextWindow: 128_000}, false, "the window is just filled"},
		{toolresult.CompactionConfig{Cache: dear, ContextWindow: 127_999}, true, "the window is exceeded: the price does not matter"},
		{toolresult.CompactionConfig{Cache: cheap}, true, "it pays in the long run"},
		{toolresult.CompactionConfig{Cache: cheap, MinGain: 0.06}, false, "but gains less than it must"},
		{toolresult.CompactionConfig{Cache: free}, false, "where reading costs nothing a rewrite saves nothing"},
		{toolresult.CompactionConfig{Cache: free, ContextWindow: 127_999}, true, "but may be needed"},
	}
	for _, tt := range tests {
		assert.Equal(t, tt.want, rewrites(t, tt.cfg, pricedHistory(t, 52_000)), tt.reason)
	}
}

// With replays the prices decide at each answer of the model, as they would have decided then.
func TestCachePricesReplayed(t *testing.T) {
	count := func(cache *toolresult.CachePrices) (pruned int) {
		hook := newHook(t, &toolresult.CompactionConfig{ContextWindow: 200_000, CompactAt: 0.05, CompactTo: 0.01, MinGain: -1, Cache: cache})
		for _, msg := range beforeModel(t, hook, longHistory(100)) {
			if _, marked := msg.Extra["context_compaction"]; marked {
				pruned++
			}
		}
		return pruned
	}
	all, cheap, dear := count(nil), count(&toolresult.CachePrices{Read: 0.5, Write: 0.6}), count(&toolresult.CachePrices{Read: 0.1, Write: 12.5})
	t.Log(all, cheap, dear)
	assert.Greater(t, all, dear, "the dearer the cache, the later")
	assert.GreaterOrEqual(t, cheap, dear)
	assert.Positive(t, dear, "in the end it pays")
}

func TestCachePricesAreChecked(t *testing.T) {
	const read, write = "0 or more, and below Write, which is ", "a price above 0"
	tests := []struct {
		prices toolresult.CachePrices
		want   string
	}{
		{toolresult.CachePrices{}, "Write is 0; want " + write},
		{toolresult.CachePrices{Read: 0.1}, "Write is 0; want " + write},
		{toolresult.CachePrices{Read: 0.1, Write: -1}, "Write is -1; want " + write},
		{toolresult.CachePrices{Read: 0.1, Write: math.NaN()}, "Write is NaN; want " + write},
		{toolresult.CachePrices{Read: math.Inf(1), Write: math.Inf(1)}, "Write is +Inf; want " + write},
		{toolresult.CachePrices{Read: 1, Write: 1}, "Read is 1; want " + read + "1"},
		{toolresult.CachePrices{Read: -0.1, Write: 2}, "Read is -0.1; want " + read + "2"},
		{toolresult.CachePrices{Read: math.NaN(), Write: 1}, "Read is NaN; want " + read + "1"},
		{toolresult.CachePrices{Read: 0.1, Write: 1, RemainingCalls: -1}, "RemainingCalls is -1; want 0 (unknown) or more"},
	}
	for _, tt := range tests {
		hook, err := toolresult.NewCompactionHook(t.Context(), &toolresult.CompactionConfig{ContextWindow: 1000, Cache: &tt.prices})
		assert.EqualError(t, err, "toolresult: CompactionConfig.Cache."+tt.want)
		assert.Nil(t, hook)
	}
}

func TestHookCopiesItsPrices(t *testing.T) {
	var told reports
	prices := &toolresult.CachePrices{Read: 0.1, Write: 1.25}
	hook := newHook(t, &toolresult.CompactionConfig{
		ContextWindow: 1_000_000, CompactAt: 0.001, CompactTo: 0.0001, MinGain: -1, Cache: prices, TokenCounter: newTally(t), OnCompaction: told.add,
	})
	prices.RemainingCalls = 1e6
	beforeModel(t, hook, pricedHistory(t, 52_000))
	require.Len(t, told, 1)
	assert.False(t, told[0].Changed)
}

// Where the window is exceeded and nothing can go, the hook says so, at every call and whoever decides.
func TestOverWindow(t *testing.T) {
	tests := []struct {
		script string
		window int
		over   bool
		pruned string
		reason string
	}{
		{"user(1001)", 1000, true, "", "there is nothing but text"},
		{"user(1000)", 1000, false, "", "the window is just filled"},
		{"user(1100) call(a:bash) result(a::500) call(b:bash) result(b)", 1400, true, "2:bash", "what can go is not enough"},
		{"user(1000) call(a:bash) result(a::500) call(b:bash) result(b)", 1400, false, "2:bash", "it is enough"},
		{"user(10) call(a:bash) result(a::2000)", 1000, true, "", "the newest result alone"},
		{"user(500) answer(1)@1100 user(1)", 1000, true, "", "by the provider's count"},
	}
	for _, tt := range tests {
		for _, counter := range []toolresult.TokenCounter{nil, newTally(t)} {
			var told reports
			hook := newHook(t, &toolresult.CompactionConfig{ContextWindow: tt.window, TokenCounter: counter, OnCompaction: told.add})
			history := beforeModel(t, hook, conversation(tt.script))
			if !tt.over && tt.pruned == "" {
				assert.Empty(t, told, tt.reason)
				continue
			}
			require.Len(t, told, 1, tt.reason)
			assert.Equal(t, tt.over, told[0].OverWindow, tt.reason)
			assert.Equal(t, tt.pruned, prunedIn(told[0]), tt.reason)
			assert.Equal(t, tt.pruned != "", told[0].Changed, tt.reason)

			beforeModel(t, hook, history)
			assert.Equal(t, tt.over, len(told) == 2 && told[1].OverWindow && !told[1].Changed, "%s: and again", tt.reason)
		}
	}
}
