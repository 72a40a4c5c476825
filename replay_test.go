package toolresult_test

// Conversations of real agents, replayed call by call: before each answer that they got the hook runs, and what it returns is
// kept, as an agent would.

import (
	"context"
	"fmt"
	"testing"

	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eino-toolresult/toolresult"
	"github.com/eino-toolresult/toolresult/internal/transcripts"
)

func realConversations(t *testing.T) map[string][][]*schema.Message {
	t.Helper()
	all, err := transcripts.Read(".")
	require.NoError(t, err)
	if len(all) == 0 {
		t.Skip("there are no transcripts in ../shared/data")
	}
	return all
}

// replay is how a run of conversations went.
type replay struct {
	window   int
	usage    bool // whether the provider reports one
	calls    int
	over     int // calls with a request over the window, as what cannot be pruned is alone
	freed    int // calls whose request would have been over the window without the hook
	rewrites int // in calls whose request is within the window
	forced   int // in calls whose request is over it, where any gain counts
	pruned   int // results
}

func (r *replay) String() string {
	return fmt.Sprintf("window %d, usage %t: %d calls, %d within the window with %d rewrites (%.3f a call), %d over it with %d; %d results pruned, %d requests kept within the window",
		r.window, r.usage, r.calls, r.calls-r.over, r.rewrites, r.rate(), r.over, r.forced, r.pruned, r.freed)
}

func (r *replay) rate() float64 { return float64(r.rewrites) / float64(r.calls-r.over) }

func TestReplay(t *testing.T) {
	files := realConversations(t)
	for window, rare := range map[int]float64{8_000: 0.25, 32_000: 0.05} { // in the small one hardly more than the prompt fits
		for _, usage := range []bool{false, true} {
			t.Run(fmt.Sprintf("window=%d/usage=%t", window, usage), func(t *testing.T) {
				t.Parallel()
				total := &replay{window: window, usage: usage}
				for _, conversations := range files {
					for _, messages := range conversations {
						total.run(t, messages)
					}
				}
				t.Log(total)
				assert.Positive(t, total.rewrites)
				assert.Greater(t, total.freed, 100, "it was of use")
				assert.Less(t, total.rate(), rare, "a rewrite costs the prompt cache")
			})
		}
	}
}

// run replays one conversation.
func (r *replay) run(t *testing.T, messages []*schema.Message) {
	hook := newHook(t, &toolresult.CompactionConfig{ContextWindow: r.window, OnCompaction: func(_ context.Context, c *toolresult.Compaction) {
		r.pruned += len(c.Pruned)
	}})
	var kept []*schema.Message
	var sent, unpruned int // tokens of what is kept, and of what was there
	for i, msg := range messages {
		if msg.Role == schema.Assistant {
			before := kept
			kept = beforeModel(t, hook, before)
			requireReplayed(t, messages[:i], before, kept)
			rewritten := !sameSlice(before, kept)
			if rewritten {
				sent = r.gained(t, sent, int(tokensOf(t, kept...)))
			}
			r.note(sent, unpruned, rewritten)
			msg = r.answer(msg, sent)
		}
		kept = append(kept, msg)
		tokens := int(tokensOf(t, msg))
		sent, unpruned = sent+tokens, unpruned+tokens
	}
}

func (r *replay) gained(t *testing.T, before, after int) int {
	if before <= r.window && !r.usage { // else the scale counts, too
		require.GreaterOrEqual(t, before-after, r.window/20, "within the window a rewrite is worth it")
	}
	return after
}

// note counts a call with a request of some tokens, which would have been more without the hook.
func (r *replay) note(sent, unpruned int, rewritten bool) {
	rewrites := &r.rewrites
	r.calls++
	switch {
	case sent > r.window:
		rewrites = &r.forced
		r.over++
	case unpruned > r.window:
		r.freed++
	}
	if rewritten {
		*rewrites++
	}
}

// answer is the answer as the provider gave it, with a usage where it reports one.
func (r *replay) answer(msg *schema.Message, sent int) *schema.Message {
	if !r.usage {
		return msg
	}
	reported := *msg
	reported.ResponseMeta = &schema.ResponseMeta{Usage: &schema.TokenUsage{PromptTokens: sent*5/4 + 300}}
	return &reported
}

// requireReplayed compares what is kept with what was kept before, and with what the agent had really seen.
func requireReplayed(t *testing.T, original, before, kept []*schema.Message) {
	t.Helper()
	require.Len(t, kept, len(original))
	if !sameSlice(before, kept) {
		requireShape(t, before, kept, 1)
	}
	for i, msg := range kept {
		want := original[i].Content
		if _, pruned := msg.Extra["context_compaction"]; pruned {
			want = placeholderOf(msg)
		}
		same := msg.Content == want && msg.Role == original[i].Role && msg.ToolCallID == original[i].ToolCallID && len(msg.ToolCalls) == len(original[i].ToolCalls)
		if !same { // an assertion for each would take most of the time
			require.Failf(t, "a message is not as it was", "message %d: %v", i, msg)
		}
	}
}

func placeholderOf(msg *schema.Message) string {
	name := msg.ToolName
	if name == "" {
		name = "the same tool"
	}
	return "[Tool result removed to free up context. Call `" + name + "` again if you need it.]"
}
