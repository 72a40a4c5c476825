package toolresult_test

// A caller who keeps what BeforeModel returned and one who hands in the whole conversation each time send the same bytes.

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eino-toolresult/toolresult"
)

// bothCallers replays a conversation for both, and compares every request. report gives the usage of an answer, nil where there is none.
func bothCallers(t *testing.T, cfg toolresult.CompactionConfig, messages []*schema.Message, report func(sent []*schema.Message) *schema.ResponseMeta) (rewrites, requests int) {
	t.Helper()
	var events [2]reports
	hooks := make([]*toolresult.CompactionHook, 2)
	for i := range hooks {
		cfg.OnCompaction = events[i].add
		hooks[i] = newHook(t, &cfg)
	}
	var kept, whole []*schema.Message
	for i, msg := range messages {
		if msg.Role == schema.Assistant {
			before := kept
			kept = beforeModel(t, hooks[0], before)
			requireSameMessages(t, kept, beforeModel(t, hooks[1], whole), i)
			requests++
			if !sameSlice(before, kept) {
				rewrites++
			}
			answer := *msg
			answer.ResponseMeta = report(kept)
			msg = &answer
		}
		kept, whole = append(kept, msg), append(whole, msg)
	}
	return rewrites, requests
}

// requireSameMessages compares the very messages first: to render those that both have alike would take most of the time.
func requireSameMessages(t *testing.T, kept, whole []*schema.Message, at int) {
	t.Helper()
	require.Equal(t, len(kept), len(whole))
	for i := range kept {
		if kept[i] == whole[i] {
			continue
		}
		a, err := json.Marshal(kept[i])
		require.NoError(t, err)
		b, err := json.Marshal(whole[i])
		require.NoError(t, err)
		require.Equal(t, string(a), string(b), "message %d of the request at %d", i, at)
	}
}

func TestKeptOrNotTheSameBytes(t *testing.T) {
	files := realConversations(t)
	usages := map[string]func(t testing.TB, sent []*schema.Message) *schema.ResponseMeta{
		"no usage": func(testing.TB, []*schema.Message) *schema.ResponseMeta { return nil },
		"usage": func(t testing.TB, sent []*schema.Message) *schema.ResponseMeta {
			return &schema.ResponseMeta{Usage: &schema.TokenUsage{PromptTokens: providerTokens(t, sent)}}
		},
		"low usage": func(t testing.TB, sent []*schema.Message) *schema.ResponseMeta {
			return &schema.ResponseMeta{Usage: &schema.TokenUsage{PromptTokens: int(tokensOf(t, sent...)) * 7 / 10}}
		},
	}
	settings := map[string]func(t testing.TB) *toolresult.PruneConfig{
		"default": func(testing.TB) *toolresult.PruneConfig { return nil },
		"everything": func(t testing.TB) *toolresult.PruneConfig {
			return &toolresult.PruneConfig{
				MinTokens: 50, MinKeepSteps: 2, Archive: newMemory(), Pointers: toolresult.ShortenPointers, PagesFirst: true,
				Superseded: []string{"bash", "view", "open", "search_dir"}, ArgumentTokens: map[string]int{"*": 100},
			}
		},
	}
	for _, run := range []struct {
		window         int
		usage, setting string
	}{
		{8_000, "no usage", "default"}, {8_000, "usage", "default"}, {8_000, "usage", "everything"},
		{32_000, "no usage", "everything"}, {32_000, "low usage", "default"},
	} {
		t.Run(fmt.Sprintf("window=%d/%s/%s", run.window, run.usage, run.setting), func(t *testing.T) {
			t.Parallel()
			var rewrites, requests int
			for _, conversations := range files {
				for _, messages := range conversations {
					cfg := toolresult.CompactionConfig{ContextWindow: run.window, Compactor: newPruner(t, settings[run.setting](t))}
					r, n := bothCallers(t, cfg, messages, func(sent []*schema.Message) *schema.ResponseMeta { return usages[run.usage](t, sent) })
					rewrites, requests = rewrites+r, requests+n
				}
			}
			t.Logf("%d requests alike, %d rewrites", requests, rewrites)
			assert.Greater(t, rewrites, 30, "there was something to compare")
		})
	}
}

// With another compactor, or a counter of one's own, the decision is made at the end alone.
func TestOthersDecideAtTheEnd(t *testing.T) {
	const script = "user(100) call(a:bash) result(a::500) call(b:bash) result(b::500) call(c:bash) result(c::100)"
	messages := conversation(script)
	at := func(cfg toolresult.CompactionConfig) any {
		cfg.ContextWindow = 900
		return beforeModel(t, newHook(t, &cfg), messages)[2].Extra["context_compaction_at"]
	}
	assert.Equal(t, 5, at(toolresult.CompactionConfig{}), "it was due before the third call")
	assert.Equal(t, 7, at(toolresult.CompactionConfig{TokenCounter: newTally(t)}), "a counter of one's own is asked once about the whole")
	wrapped := compactorFunc(func(req *toolresult.CompactRequest) (*toolresult.Compaction, error) {
		return newPruner(t, nil).Compact(context.Background(), req)
	})
	assert.Equal(t, 7, at(toolresult.CompactionConfig{Compactor: wrapped}))
}

// A hook that comes to a conversation which went on without it finds, in the usages, that nothing was pruned so far. It prunes to the
// target now, and no more than that; from then on it goes by its own decisions.
func TestHookComesLate(t *testing.T) {
	hook := newHook(t, &toolresult.CompactionConfig{ContextWindow: 10_000})
	grow := func(messages []*schema.Message, sent func([]*schema.Message) []*schema.Message, steps int) []*schema.Message {
		for range steps {
			n := len(messages)
			answer := callsFor(toolCall(fmt.Sprint("call_", n), "bash"))
			answer.ResponseMeta = &schema.ResponseMeta{Usage: &schema.TokenUsage{PromptTokens: providerTokens(t, sent(messages))}}
			messages = append(messages, answer, schema.ToolMessage(sizedText(n, "500", 0), answer.ToolCalls[0].ID))
		}
		return messages
	}
	asItIs := func(messages []*schema.Message) []*schema.Message { return messages }
	late := grow(conversation("user(100)"), asItIs, 18)
	got := beforeModel(t, hook, late)
	ats := map[any]int{}
	for _, msg := range got {
		if at, ok := msg.Extra["context_compaction_at"]; ok {
			ats[at]++
		}
	}
	assert.Len(t, ats, 1, "one rewrite")
	assert.Contains(t, ats, len(late), "and that now")
	assert.Greater(t, tokensOf(t, got...), int64(2_000), "no more than is needed")

	throughHook := func(messages []*schema.Message) []*schema.Message { return beforeModel(t, hook, messages) }
	later := grow(late, throughHook, 1)
	requireSameMessages(t, got, beforeModel(t, hook, later)[:len(got)], len(later))
}

// However the usages look, a conversation costs what it has in messages.
func TestReplayIsLinear(t *testing.T) {
	cost := func(n int) float64 {
		messages := longHistory(n)
		for i, msg := range messages {
			if msg.Role == schema.Assistant {
				msg.ResponseMeta = &schema.ResponseMeta{Usage: &schema.TokenUsage{PromptTokens: 520 * i}}
			}
		}
		hook := newHook(t, &toolresult.CompactionConfig{ContextWindow: 20_000})
		return testing.AllocsPerRun(3, func() { beforeModel(t, hook, messages) })
	}
	small, large := cost(500), cost(4000)
	assert.Less(t, large, 10*small, "eight times as many messages")
}
