package toolresult_test

// What a hostile look at pruning has found, and restarts at every call.

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/schema"
	"github.com/eino-toolresult/toolresult"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A text that stands beside a notice in another part can be read nowhere else.
func TestPruneHardTextBesideNotice(t *testing.T) {
	_, _, forms := offloadedMessages(t, "n1")
	var notice string
	for _, m := range forms {
		notice = textOf(m)
		if strings.HasPrefix(notice, "<tool_result_offloaded") {
			break
		}
	}
	beside := strings.Repeat("SECRET beside ", 400)
	for name, result := range map[string]*schema.Message{
		"text part after notice part":  {Role: schema.Tool, ToolCallID: "a", UserInputMultiContent: []schema.MessageInputPart{inputText(notice), inputText(beside)}},
		"notice in content, text part": {Role: schema.Tool, ToolCallID: "a", Content: notice, UserInputMultiContent: []schema.MessageInputPart{inputText(beside)}},
	} {
		messages := conversation("user call(a:bash) result(a) call(b:bash) result(b)")
		messages[2] = result
		backend := newMemory()
		c := archived(t, toolresult.PruneConfig{Archive: backend, Pointers: toolresult.ShortenPointers, MinTokens: 1}, messages)
		if !c.Changed {
			continue // it stays: fine
		}
		found := strings.Contains(textOf(c.Messages[2]), "SECRET")
		for _, text := range backend.stored() {
			found = found || strings.Contains(text, "SECRET beside")
		}
		assert.True(t, found, "%s: the text beside the notice is lost; now %q", name, textOf(c.Messages[2]))
	}
}

// What was returned directly is not offloaded by the step limit either.
func TestPruneHardStepLimitReturnDirectly(t *testing.T) {
	h := newHandler(t, &toolresult.HandlerConfig{Backend: newMemory(), ContextWindow: 1_000_000, Offload: toolresult.OffloadConfig{StepTokenLimit: 1000}})
	ctx, _, err := h.BeforeAgent(t.Context(), &adk.ChatModelAgentContext{ReturnDirectly: map[string]bool{"show": true}})
	require.NoError(t, err)
	messages := conversation("user call(a:show,b:bash) result(a:show:3000) result(b:bash:10) user")
	_, state, err := h.BeforeModelRewriteState(ctx, &adk.ChatModelAgentState{Messages: messages}, nil)
	require.NoError(t, err)
	assert.Equal(t, messages[2].Content, state.Messages[2].Content, "left alone")
}

// The process restarts before every call: a new hook, a new pruner, the history from JSON.
func TestPruneHardRestartBeforeEveryCall(t *testing.T) {
	for seed := range uint64(120) {
		r := rand.New(rand.NewPCG(seed, 5))
		script, bits, window := randomScript(r, 3+r.IntN(12), true), keptSettings(r.Uint32()), 800+r.IntN(3000)
		messages := dressed(conversation(script))
		one, two := newMemory(), newMemory()
		hook := bits.hook(t, window, one)
		var kept, restarted []*schema.Message
		for i, msg := range messages {
			if msg.Role == schema.Assistant {
				kept = beforeModel(t, hook, kept)
				restarted = beforeModel(t, bits.hook(t, window, two), throughJSON(t, restarted))
				requireAlike(t, kept, restarted, i)
				answer := *msg
				answer.ResponseMeta = bits.usage(t, kept)
				msg = &answer
			}
			kept, restarted = append(kept, msg), append(restarted, msg)
		}
		require.Equal(t, one.stored(), two.stored(), "seed %d", seed)
	}
}

// A high usage is always believed, whatever its size.
func TestPruneHardHugeUsage(t *testing.T) {
	for _, usage := range []int{1 << 40, math.MaxInt64 / 2, math.MaxInt64 - 10, math.MaxInt64} {
		messages := conversation("user(100) call(a:bash) result(a::500) call(b:bash) result(b::500) call(c:bash) result(c::400)")
		for _, m := range messages {
			if m.Role == schema.Assistant {
				m.ResponseMeta = &schema.ResponseMeta{Usage: &schema.TokenUsage{PromptTokens: usage}}
			}
		}
		var told reports
		hook := newHook(t, &toolresult.CompactionConfig{ContextWindow: 4_000, OnCompaction: told.add})
		got := beforeModel(t, hook, messages)
		assert.False(t, sameSlice(got, messages), "usage %d: over the window", usage)
		other := newHook(t, &toolresult.CompactionConfig{ContextWindow: 4_000, TokenCounter: newTally(t)})
		assert.False(t, sameSlice(beforeModel(t, other, messages), messages), "usage %d: over the window, no replay", usage)
	}
}

// A deprecated part with a text and a picture is archived with both.
func TestPruneHardDeprecatedPartWithTextAndImage(t *testing.T) {
	messages := conversation("user call(a:shot) result(a) call(b:bash) result(b)")
	//lint:ignore SA1019 tools still set it
	messages[2].MultiContent = []schema.ChatMessagePart{{Type: schema.ChatMessagePartTypeImageURL, Text: "caption", ImageURL: &schema.ChatMessageImageURL{URL: "https://example.com/only-here.png"}}}
	messages[2].Content = ""
	backend := newMemory()
	c := archived(t, toolresult.PruneConfig{Archive: backend, MinTokens: 1}, messages)
	require.True(t, c.Changed)
	assert.Contains(t, backend.stored()["/large_tool_result/a"], "only-here.png")
}

// A medium's name is the result's and a suffix: both together must fit, as with other suffixes.
func TestPruneHardMediaOfLongNames(t *testing.T) {
	backend, err := toolresult.NewDirBackend(t.Context(), &toolresult.DirConfig{Dir: t.TempDir()})
	require.NoError(t, err)
	long := "/large_tool_result/" + strings.Repeat("x", 253)
	c := archived(t, toolresult.PruneConfig{Archive: backend, MinTokens: 1, PathGenerator: func(context.Context, *compose.ToolInput) (string, error) { return long, nil }},
		withParts(inputText(strings.Repeat("t", 3000)), mediaPart(schema.ChatMessagePartTypeImageURL, "image/png", "aGVsbG8=", "")))
	assert.NoError(t, c.Err)
	assert.True(t, c.Changed)
}

// A generator that is cancelled for arguments, as for results.
func TestPruneHardCancelledWhileNamingArguments(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	p := newPruner(t, &toolresult.PruneConfig{Archive: newMemory(), ArgumentTokens: map[string]int{"*": 20}, PathGenerator: func(ctx context.Context, _ *compose.ToolInput) (string, error) {
		cancel()
		return "", ctx.Err()
	}})
	messages := dressed(conversation("user(100) call(w:write) result(w::10) call(b:bash) result(b::10) call(c:bash) result(c::10)"))
	_, err := p.Compact(ctx, &toolresult.CompactRequest{Messages: messages})
	assert.ErrorIs(t, err, context.Canceled)
}

// Marks whose counts came back as texts, as int64 does through protojson.
func TestPruneHardMarksAsText(t *testing.T) {
	base := conversation("user(100) call(a:bash) result(a::500) call(b:bash) result(b::500) call(c:bash) result(c::400) call(d:bash) result(d::10)")
	c := compact(t, newPruner(t, nil), &toolresult.CompactRequest{Messages: base, TargetTokens: 1000})
	for _, form := range []func(n int) any{func(n int) any { return fmt.Sprint(n) }, func(n int) any { return json.Number(fmt.Sprintf("%d.0", n)) }} {
		messages := deepCopy(c.Messages)
		for _, m := range messages {
			for _, key := range []string{"context_compaction_at", "context_compaction_original_tokens"} {
				if n, ok := m.Extra[key].(int); ok {
					m.Extra[key] = form(n)
				}
			}
		}
		messages[7].ResponseMeta = &schema.ResponseMeta{Usage: &schema.TokenUsage{PromptTokens: 1600}}
		hook := newHook(t, &toolresult.CompactionConfig{ContextWindow: 2200, MinGain: -1})
		assert.True(t, sameSlice(messages, beforeModel(t, hook, messages)), "the usage is from before the prune: %T", form(1))
	}
}

// Malformed arguments are equal only where they are the same bytes.
func TestPruneHardMalformedArgumentsAreNotEqual(t *testing.T) {
	for _, other := range []string{`{"f":1}}`, `{"f":1}]`, `{"f":1} }`} {
		messages := withArguments("user call(z:bash) result(z::300) call(a:view) result(a::300) call(b:view) result(b::300) call(c:bash) result(c::10)", "{}", `{"f":1}`, other)
		gone := goneFirst(t, toolresult.PruneConfig{Superseded: []string{"view"}}, messages)
		assert.Equal(t, "2 4 6", gone, "%s is no JSON, so nothing is superseded", other)
	}
}

// Tools write base64 in several ways.
func TestPruneHardURLSafeBase64(t *testing.T) {
	bytes := string([]byte{0xfb, 0xff, 0xfe, 0x01})
	for name, data := range map[string]string{"std": "+//+AQ==", "unpadded": "+//+AQ", "url": "-__-AQ=="} {
		backend := newMemory()
		c := archived(t, toolresult.PruneConfig{Archive: backend, MinTokens: 1}, withParts(mediaPart(schema.ChatMessagePartTypeImageURL, "image/png", data, "")))
		require.True(t, c.Changed)
		found := false
		for _, text := range backend.stored() {
			found = found || text == bytes
		}
		assert.True(t, found, "%s: %q", name, backend.stored())
	}
}

// A rewrite that is dropped at one answer is asked for again at the next, and nothing is weighed anew for it.
func TestPruneHardDroppedIsLinear(t *testing.T) {
	weighed := func(n int, prune toolresult.PruneConfig, cache *toolresult.CachePrices) (calls int) {
		messages := longHistory(n)
		prune.Keep = func(*schema.Message) bool { calls++; return false }
		hook := newHook(t, &toolresult.CompactionConfig{
			ContextWindow: int(tokensOf(t, messages...)) * 10 / 9, CompactAt: 0.1, CompactTo: 0.05, MinGain: 0.99,
			Cache: cache, Compactor: newPruner(t, &prune),
		})
		require.True(t, sameSlice(messages, beforeModel(t, hook, messages)))
		return calls
	}
	for _, prune := range []toolresult.PruneConfig{{}, {PagesFirst: true, ArgumentTokens: map[string]int{"*": 1000}}} {
		assert.Less(t, weighed(4000, prune, nil), 10*weighed(500, prune, nil), "eight times as many messages")
	}
	prices := &toolresult.CachePrices{Read: 0.0001, Write: 12.5, RemainingCalls: 1}
	assert.Less(t, weighed(4000, toolresult.PruneConfig{}, prices), 10*weighed(500, toolresult.PruneConfig{}, prices))
}
