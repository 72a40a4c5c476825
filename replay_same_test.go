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
	files := transcripts(t)
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
