package toolresult_test

// Conversations as a line of words, and which result answers which call in them. Call IDs alone do not tell: models use
// them again, twice in one step, or give none, and runs are interrupted.

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eino-toolresult/toolresult"
)

// conversation writes a conversation from its short form, a word a message:
//
//	user answer system       a text, user(100) one of 100 tokens of the default counter
//	call(x:bash,y:grep)      a step: calls with ID and tool
//	result(x:bash:500)       a result with ID, tool and tokens; without them no tool, and 300 tokens
//	nil                      a missing message
//
// A word may end in @ and the prompt tokens that an answer reports. Anything else is a user's text, so that every string is
// a conversation.
func conversation(script string) []*schema.Message {
	var messages []*schema.Message
	for i, word := range strings.Fields(script) {
		word, usage, reported := strings.Cut(word, "@")
		kind, args, _ := strings.Cut(strings.TrimSuffix(word, ")"), "(")
		msg := message(kind, args, i)
		if reported && msg != nil {
			tokens, _ := strconv.Atoi(usage)
			msg.ResponseMeta = &schema.ResponseMeta{Usage: &schema.TokenUsage{PromptTokens: tokens}}
		}
		messages = append(messages, msg)
	}
	return messages
}

func message(kind, args string, i int) *schema.Message {
	switch kind {
	case "nil":
		return nil
	case "call":
		msg := schema.AssistantMessage("", nil)
		for _, call := range strings.Split(args, ",") {
			id, tool, _ := strings.Cut(call, ":")
			msg.ToolCalls = append(msg.ToolCalls, toolCall(id, tool))
		}
		return msg
	case "result":
		fields := append(strings.Split(args, ":"), "", "")
		return schema.ToolMessage(sizedText(i, fields[2], 300), fields[0], schema.WithToolName(fields[1]))
	case "answer":
		return schema.AssistantMessage(sizedText(i, args, 1), nil)
	case "system":
		return schema.SystemMessage(sizedText(i, args, 1))
	}
	return schema.UserMessage(sizedText(i, args, 1))
}

// sizedText is a text of exactly so many tokens of the default counter, unlike that of any other message.
func sizedText(i int, size string, byDefault int) string {
	tokens, err := strconv.Atoi(size)
	if err != nil || tokens < 0 || tokens > 20_000 {
		tokens = byDefault
	}
	line := fmt.Sprintf("message %d. ", i)
	return strings.Repeat(line, 4*tokens/len(line)+1)[:4*tokens]
}

// prunedIn says which results were replaced, as index:tool.
func prunedIn(c *toolresult.Compaction) string {
	var pruned []string
	for _, p := range c.Pruned {
		pruned = append(pruned, fmt.Sprintf("%d:%s", p.Index, p.ToolName))
	}
	return strings.Join(pruned, " ")
}

// pairings are conversations with the results that may go, which are those of all but the newest steps.
var pairings = []struct {
	script string
	keep   int
	want   string
	reason string
}{
	{"user call(x:bash) result(x) call(y:grep) result(y)", 1, "2:bash", "the older result goes, the newest stays"},
	{"user call(x:bash) result(x) call(y:grep) result(y)", 2, "", "both steps are protected"},
	{"user call(x:bash) result(x) call(y:grep) result(y)", 9, "", "there are fewer steps than are protected"},
	{"user call(x:bash,y:grep) result(x) result(y)", 1, "", "parallel results are one step"},
	{"user call(x:bash,y:grep) result(x) result(y) call(z:ls) result(z)", 1, "2:bash 3:grep", "parallel results grow old together"},
	{"user call(x:bash) result(x) answer user answer user", 1, "", "an answer without calls is no step, so the last step is still this one"},
	{"user call(x:bash) result(x) call(y:grep) result(y) answer user", 1, "2:bash", "nor does a final answer take the protection away"},
	{"user call(x:alias) result(x:bash) call(y:ls) result(y)", 1, "2:bash", "the name in the result comes before the name in the call"},

	{"user call(x:bash) result(x) answer user call(x:grep) result(x)", 1, "2:bash", "the ID is used again in a later turn"},
	{"user call(x:bash) user call(x:grep) result(x) call(y:ls) result(y)", 1, "4:grep", "the result answers the newer call, not the interrupted one"},
	{"user call(x:bash) user call(x:grep) result(x) call(y:ls) result(y)", 2, "", "and so it is of a protected step"},
	{"user call(x:bash) user call(x:grep) result(x) result(x) call(y:ls) result(y)", 2, "5:bash", "a second result answers what is still open"},
	{"user call(x:bash,x:grep) result(x) result(x) call(y:ls) result(y)", 1, "2:bash 3:grep", "equal IDs in one step are answered in order"},
	{"user call(:bash,:grep) result() result() call(:ls) result()", 1, "2:bash 3:grep", "so are calls without an ID"},
	{"user call(:bash,:grep) result() user call(:ls) result() call(:cat) result()", 1, "2:bash 5:ls", "a call that an interrupted step left open takes no later result"},
	{"user call(:bash) result(x) call(y:ls) result(y)", 1, "2:", "a result with an ID does not answer a call without one"},

	{"user call(x:bash) user result(x) call(y:ls) result(y)", 1, "3:bash", "a message stands between call and result"},
	{"user call(x:bash,y:grep) result(y) result(x) call(z:ls) result(z)", 1, "2:grep 3:bash", "results in another order than the calls"},
	{"user call(x:bash) call(y:grep) result(y) result(x) call(z:ls) result(z)", 2, "4:bash", "a late result is as old as its call, not as its place"},
	{"user call(x:bash) call(y:grep) result(y) result(x)", 1, "", "a late result that the model has not answered to is new to it"},
	{"user call(x:bash) call(y:grep) result(y) result(x) answer user", 1, "4:bash", "any answer will do for that"},

	{"user call(x:bash) result(x) call(y:grep,z:ls) result(y) user", 1, "2:bash", "the newest step was interrupted half-way"},
	{"user call(x:bash) result(x) call(y:grep) user", 1, "2:bash", "the newest step was interrupted before any result"},
	{"user call(x:bash,y:grep) result(y) user call(z:ls) result(z)", 1, "2:grep", "an older step was interrupted half-way"},
	{"user result(o:bash) call(x:ls) result(x)", 1, "1:bash", "a result without a call is as old as its place"},
	{"user result(o) call(x:ls) result(x)", 1, "1:", "its tool may be unknown"},
	{"user call(x:ls) result(x) result(o:bash) answer user", 1, "", "within the newest step it is protected"},
	{"user call(x:bash) result(x) result(x) call(y:ls) result(y)", 1, "2:bash 3:", "a second result for one call has no call"},
	{"result(x) call(x:bash) answer user", 1, "0:", "a result before its call does not answer it"},
	{"user result(o:bash) answer user", 1, "", "without a step nothing is older than the newest"},

	{"nil user nil call(x:bash) nil result(x) nil call(y:ls) result(y) nil", 1, "5:bash", "missing messages are passed over"},
	{"nil", 1, "", "nothing but a missing message"},
	{"", 1, "", "nothing at all"},
}

func TestPairing(t *testing.T) {
	for _, tt := range pairings {
		t.Run(tt.script, func(t *testing.T) {
			messages := conversation(tt.script)
			pruner := newPruner(t, &toolresult.PruneConfig{MinKeepSteps: tt.keep})
			c := compact(t, pruner, &toolresult.CompactRequest{Messages: messages})
			assert.Equal(t, tt.want, prunedIn(c), tt.reason)
			requireShape(t, messages, c.Messages, tt.keep)
		})
	}
}

// Every call of this step has the same ID, and none of an earlier one was answered. Whoever looks for the open call by
// going through all of them needs minutes for it.
func TestPairingIsLinear(t *testing.T) {
	const n = 100_000
	open, step := schema.AssistantMessage("", nil), schema.AssistantMessage("", nil)
	for range n {
		open.ToolCalls = append(open.ToolCalls, toolCall("", "bash"))
		step.ToolCalls = append(step.ToolCalls, toolCall("", "grep"))
	}
	messages := []*schema.Message{open, schema.UserMessage("go on"), step}
	for range n {
		messages = append(messages, schema.ToolMessage("", ""))
	}
	messages = append(messages, conversation("result(:late) call(x:ls) result(x)")...)
	start := time.Now()
	c := compact(t, newPruner(t, nil), &toolresult.CompactRequest{Messages: messages})
	assert.Equal(t, fmt.Sprintf("%d:late", n+3), prunedIn(c))
	assert.Less(t, time.Since(start), 3*time.Second, "it takes a tenth of a second")
}

// requireShape asserts what holds of every compaction by a Pruner: as many messages in the same order, each the very same
// or, where it was a result that may go, its replacement.
func requireShape(t testing.TB, before, after []*schema.Message, keepSteps int) {
	t.Helper()
	require.Len(t, after, len(before), "no message is added or removed")
	stays := protected(before, keepSteps)
	for i, msg := range after {
		if msg == before[i] {
			continue
		}
		require.False(t, stays[i], "message %d is no result of an older step", i)
		requireReplacement(t, before[i], msg, len(before))
	}
}

func requireReplacement(t testing.TB, before, after *schema.Message, at int) {
	t.Helper()
	require.NotContains(t, before.Extra, "context_compaction", "what was pruned is not pruned again")
	want := *before
	want.Content, want.MultiContent, want.UserInputMultiContent, want.AssistantGenMultiContent = after.Content, nil, nil, nil
	want.Extra = after.Extra
	require.Equal(t, &want, after, "only content and metadata change")
	for key, value := range before.Extra {
		require.Equal(t, value, after.Extra[key], "metadata stays")
	}
	require.Equal(t, "tool_result_pruning", after.Extra["context_compaction"])
	require.IsType(t, 0, after.Extra["context_compaction_at"])
	require.LessOrEqual(t, after.Extra["context_compaction_at"], at, "it was decided at an earlier answer, or now")
	require.Positive(t, after.Extra["context_compaction_at"])
	require.IsType(t, 0, after.Extra["context_compaction_original_tokens"])
}

// protected finds, the slow way, all that must not be touched: whatever is no result, the results of the newest steps, and
// those that no answer of the model stands behind.
func protected(messages []*schema.Message, keepSteps int) []bool {
	var steps []int
	lastAnswer := -1
	for i, msg := range messages {
		if msg == nil || msg.Role != schema.Assistant {
			continue
		}
		lastAnswer = i
		if len(msg.ToolCalls) > 0 {
			steps = append(steps, i)
		}
	}
	oldest := len(messages) // the first of the newest steps
	if len(steps) > 0 {
		oldest = steps[max(len(steps)-keepSteps, 0)]
	}
	callers := answeredStep(messages)
	stays := make([]bool, len(messages))
	for i, msg := range messages {
		isResult := msg != nil && msg.Role == schema.Tool
		stays[i] = !isResult || callers[i] >= oldest || i > lastAnswer || len(steps) == 0
	}
	return stays
}

// answeredStep finds, for each result, the place of the message whose call it answers, or its own place where none does.
func answeredStep(messages []*schema.Message) []int {
	var callers []int
	answered := make(map[[2]int]bool)
	for i, msg := range messages {
		callers = append(callers, i)
		if msg == nil || msg.Role != schema.Tool {
			continue
		}
	search:
		for j := i - 1; j >= 0; j-- {
			if messages[j] == nil || messages[j].Role != schema.Assistant {
				continue
			}
			for k, call := range messages[j].ToolCalls {
				if call.ID == msg.ToolCallID && !answered[[2]int{j, k}] {
					answered[[2]int{j, k}] = true
					callers[i] = j
					break search
				}
			}
		}
	}
	return callers
}
