package toolresult_test

// A plan says of every result why it goes or stays. It changes and stores nothing, and what it says comes true.

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eino-toolresult/toolresult"
)

func planOf(t testing.TB, pruner *toolresult.Pruner, messages []*schema.Message, target int64) *toolresult.PrunePlan {
	t.Helper()
	plan, err := pruner.Plan(context.Background(), messages, target, nil)
	require.NoError(t, err)
	return plan
}

// everyReason is a conversation and a config in which most reasons occur.
func everyReason(t *testing.T) ([]*schema.Message, toolresult.PruneConfig) {
	script := []string{
		"system(50) user(20)",
		"call(old:bash) result(old::400)",
		"call(v1:view) result(v1::300)",
		"call(v2:view) result(v2::350)",
		"call(page:read_file) result(page::320)",
		"call(big:fetch) result(big)",
		"call(marked:bash) result(marked::300)",
		"call(excluded:ls) result(excluded::300)",
		"call(foreign:bash) result(foreign::300)",
		"call(failed:bash) result(failed::300)",
		"call(small:bash) result(small::5)",
		"call(same:bash) result(same::12)",
		"call(lost:bash) result(lost::300)",
		"call(w1:write) result(w1::5)",
		"call(w2:write) result(w2::5)",
		"call(s:write) result(s::5)",
		"call(x:bash) result(x::300) call(y:bash) result(y::300)",
	}
	messages := conversation(strings.Join(script, " "))
	at := make(map[string]*schema.Message)
	for _, msg := range messages {
		if msg.Role == schema.Tool {
			at[msg.ToolCallID] = msg
		}
		for i := range msg.ToolCalls {
			at["call "+msg.ToolCalls[i].ID] = msg
		}
	}
	arguments := func(id, args string) { at["call "+id].ToolCalls[0].Function.Arguments = args }
	for _, id := range []string{"w1", "w2", "s"} {
		arguments(id, `{"path": "a.go", "text": "`+strings.Repeat("code ", 200)+`"}`)
	}
	arguments("page", `{"file_path": "/large_tool_result/big"}`)
	at["call s"].Extra = map[string]any{"thought_signature": "abc"}
	at["marked"].Extra = map[string]any{"context_compaction": "x"}
	at["foreign"].Extra = map[string]any{"tool_result_offloaded": "/elsewhere"}
	at["failed"].Extra = map[string]any{"is_error": true}
	at["big"].Content = offload(t, newOffload(t, &toolresult.OffloadConfig{Backend: newMemory(), TokenLimit: 1000}), "big", numberedLines(2000))
	return messages, toolresult.PruneConfig{
		MinTokens: 10, ExcludeTools: []string{"ls"}, Superseded: []string{"view"}, PagesFirst: true, Pointers: toolresult.ShortenPointers,
		ArgumentTokens: map[string]int{"write": 100}, Archive: newMemory(),
		Keep: func(msg *schema.Message) bool { return msg.Extra["is_error"] == true },
		PathGenerator: func(_ context.Context, in *compose.ToolInput) (string, error) {
			if in.CallID == "lost" {
				return "", errors.New("no name")
			}
			return "/large_tool_result/" + in.CallID, nil
		},
	}
}

func TestPlanReasons(t *testing.T) {
	if *update {
		require.NoError(t, os.MkdirAll(filepath.Join("testdata", "plans"), 0o755))
	}
	seen := make(map[toolresult.PruneReason]bool)
	for name, lang := range map[string]adk.Language{"english.txt": adk.LanguageEnglish, "chinese.txt": adk.LanguageChinese} {
		messages, cfg := everyReason(t)
		cfg.Language = lang
		var b strings.Builder
		for _, run := range []struct {
			pointers toolresult.PointerPolicy
			target   int64
			messages []*schema.Message
		}{
			{toolresult.ShortenPointers, 2750, messages},
			{toolresult.KeepPointers, 4200, messages},
			{toolresult.KeepPointers, 0, conversation("call(late:bash) call(b:ls) result(b) result(late)")},
		} {
			cfg.Pointers = run.pointers
			plan := planOf(t, newPruner(t, &cfg), run.messages, run.target)
			for _, r := range plan.Results {
				seen[r.Reason] = true
				assert.Equal(t, r.Goes, r.Reason <= toolresult.ReasonArguments, "%v", r.Reason)
				assert.Equal(t, r.Goes, r.TokensAfter < r.TokensBefore, "%v", r.Reason)
			}
			fmt.Fprintln(&b, plan)
		}
		golden(t, filepath.Join("plans", name), b.String())
	}
	for reason := range toolresult.ReasonNotStored + 1 {
		assert.True(t, seen[reason], "%v occurs in no table", reason)
	}
}

func TestPruneReasonTexts(t *testing.T) {
	texts := make(map[string]bool)
	for reason := range toolresult.ReasonNotStored + 1 {
		assert.NotContains(t, reason.String(), "PruneReason(")
		texts[reason.String()] = true
	}
	assert.Equal(t, "PruneReason(-1)", toolresult.PruneReason(-1).String())
	assert.Equal(t, "PruneReason(99)", toolresult.PruneReason(99).String())
	assert.GreaterOrEqual(t, len(texts), int(toolresult.ReasonNotStored), "each says something else")
}

func TestPlanTargets(t *testing.T) {
	const script = "user(100) call(a:bash) result(a::500) call(b:bash) result(b::600) call(c:bash) result(c::700)" // 1906 tokens
	tests := []struct {
		target int64
		want   string
		after  int64
		reason string
	}{
		{1906, "target met; target met; recent step", 1906, "nothing is due"},
		{1905, "oldest; target met; recent step", 1906 - 481, "one is enough"},
		{0, "oldest; oldest; recent step", 1906 - 481 - 581, "all that may go"},
		{-9, "oldest; oldest; recent step", 1906 - 481 - 581, "a target below 0 is 0"},
	}
	for _, tt := range tests {
		plan := planOf(t, newPruner(t, nil), conversation(script), tt.target)
		var said []string
		for _, r := range plan.Results {
			said = append(said, r.Reason.String())
		}
		assert.Equal(t, tt.want, strings.Join(said, "; "), tt.reason)
		assert.EqualValues(t, 1906, plan.TokensBefore, tt.reason)
		assert.Equal(t, tt.after, plan.TokensAfter, tt.reason)
		assert.Equal(t, max(tt.target, 0), plan.TargetTokens, tt.reason)
	}
	assert.Empty(t, planOf(t, newPruner(t, nil), nil, 0).Results)
}

func TestPlanErrors(t *testing.T) {
	messages := conversation(countedScript)
	snapshot := deepCopy(messages)
	for failAt := 1; failAt <= 10; failAt++ {
		counter := newTally(t)
		counter.failAt = failAt
		plan, err := newPruner(t, nil).Plan(t.Context(), messages, 0, counter)
		require.ErrorIs(t, err, errCounter, "count %d failed", failAt)
		assert.ErrorContains(t, err, "toolresult: ")
		assert.Nil(t, plan)
		assert.Equal(t, snapshot, messages)
	}
}

// requirePlanComesTrue compares a plan with what Compact does.
func requirePlanComesTrue(t testing.TB, pruner *toolresult.Pruner, backend *memory, messages []*schema.Message, target int64) {
	t.Helper()
	snapshot, written := deepCopy(messages), backend.written()
	plan := planOf(t, pruner, messages, target)
	require.Equal(t, snapshot, messages, "a plan changes nothing")
	require.Equal(t, written, backend.written(), "and stores nothing")

	c := compact(t, pruner, &toolresult.CompactRequest{Messages: messages, TargetTokens: target})
	var goes []toolresult.PrunedResult
	explained := make(map[int]bool)
	for i, r := range plan.Results {
		require.True(t, i == 0 || plan.Results[i-1].Index < r.Index, "in the order of the conversation")
		explained[r.Index] = true
		if r.Goes {
			goes = append(goes, r.PrunedResult)
		} else {
			require.Equal(t, r.TokensBefore, r.TokensAfter)
		}
	}
	for i, msg := range messages {
		require.True(t, msg == nil || msg.Role != schema.Tool || explained[i], "of every result")
	}
	require.Equal(t, c.Pruned, goes)
	require.Equal(t, c.TokensBefore, plan.TokensBefore)
	require.Equal(t, c.TokensAfter, plan.TokensAfter)
	require.Equal(t, c.TargetTokens, plan.TargetTokens)
}

// planned is a pruner with some options, as bits say.
func planned(t testing.TB, bits keptSettings) (*toolresult.Pruner, *memory) {
	backend := newMemory()
	return newPruner(t, bits.prune(backend)), backend
}

func TestPlanComesTrue(t *testing.T) {
	for seed := range uint64(80) {
		r := rand.New(rand.NewPCG(seed, 2))
		pruner, backend := planned(t, keptSettings(r.Uint32()))
		messages := dressed(conversation(randomScript(r, 2+r.IntN(12), false)))
		target := r.Int64N(tokensOf(t, messages...) + 100)
		if !t.Run(fmt.Sprint(seed), func(t *testing.T) { requirePlanComesTrue(t, pruner, backend, messages, target) }) {
			return
		}
	}
}

func FuzzPlan(f *testing.F) {
	for i, tt := range pairings {
		f.Add(tt.script, uint16(i*100), uint16(i*0x2f))
	}
	f.Fuzz(func(t *testing.T, script string, target, bits uint16) {
		if !utf8.ValidString(script) || len(script) > 600 {
			t.Skip("a conversation is a text of some words")
		}
		pruner, backend := planned(t, keptSettings(bits&^1)) // without an archive, where equal IDs are the same path
		requirePlanComesTrue(t, pruner, backend, dressed(conversation(script)), int64(target))
	})
}

func TestPlanIsLinear(t *testing.T) {
	messages := longHistory(40_000)
	cfg := &toolresult.PruneConfig{Superseded: []string{"bash"}, PagesFirst: true, ArgumentTokens: map[string]int{"*": 1}, MinTokens: 1}
	start := time.Now()
	plan := planOf(t, newPruner(t, cfg), messages, 0)
	assert.Len(t, plan.Results, 40_000)
	assert.NotEmpty(t, plan.String())
	assert.Less(t, time.Since(start), 5*time.Second, "it takes a tenth of that")
}
