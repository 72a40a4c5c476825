package toolresult_test

// What holds of every conversation, however it was put together, and of every target.

import (
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/eino-toolresult/toolresult"
)

func FuzzPrune(f *testing.F) {
	for _, tt := range pairings {
		f.Add(tt.script, uint8(tt.keep), uint8(0), uint16(0), "")
	}
	f.Add(countedScript, uint8(1), uint8(1), uint16(700), "gone: {tool_name} {x}")
	f.Add("call(a:{tool_name}) result(a::15000) user(9)@5 answer(3)@70000 call(b:x) result(b)", uint8(0), uint8(20), uint16(15_000), "{tool_name}{tool_name}")
	f.Fuzz(func(t *testing.T, script string, keepSteps, minTokens uint8, target uint16, placeholder string) {
		if !utf8.ValidString(script) || len(script) > 4000 {
			t.Skip("a conversation is a text of some words")
		}
		cfg := &toolresult.PruneConfig{MinKeepSteps: int(keepSteps), MinTokens: int(minTokens), Placeholder: placeholder}
		pruner, err := toolresult.NewPruner(t.Context(), cfg)
		if err != nil {
			t.Skip(err)
		}
		messages := conversation(script)
		snapshot := deepCopy(messages)
		c := compact(t, pruner, &toolresult.CompactRequest{Messages: messages, TargetTokens: int64(target)})
		require.Equal(t, snapshot, messages, "the input is not modified")
		requireShape(t, messages, c.Messages, max(int(keepSteps), 1))
		require.LessOrEqual(t, c.TokensAfter, c.TokensBefore)
		requireNoMoreThanNeeded(t, c)

		again := compact(t, pruner, &toolresult.CompactRequest{Messages: c.Messages, TargetTokens: int64(target)})
		require.False(t, again.Changed, "a second pass finds nothing")
	})
}

// requireNoMoreThanNeeded asserts that it went from the oldest on and stopped at the target.
func requireNoMoreThanNeeded(t *testing.T, c *toolresult.Compaction) {
	for i, p := range c.Pruned {
		if i > 0 {
			require.Greater(t, p.Index, c.Pruned[i-1].Index, "oldest first")
		}
	}
	if c.Changed {
		last := c.Pruned[len(c.Pruned)-1]
		require.Greater(t, c.TokensAfter+last.TokensBefore-last.TokensAfter, c.TargetTokens, "without the last one it would not fit")
	}
}

func FuzzBeforeModel(f *testing.F) {
	for _, tt := range pairings {
		f.Add(tt.script, uint16(300), uint8(50), uint8(20), uint16(0))
	}
	f.Add("user(9) call(a:x)@900 result(a::400) call(b:x)@1 result(b::400) answer(3)@70000 call(c:x) result(c)", uint16(700), uint8(90), uint8(1), uint16(100))
	f.Fuzz(func(t *testing.T, script string, window uint16, at, to uint8, reserved uint16) {
		if !utf8.ValidString(script) || len(script) > 4000 {
			t.Skip("a conversation is a text of some words")
		}
		var told reports
		hook, err := toolresult.NewCompactionHook(t.Context(), &toolresult.CompactionConfig{
			ContextWindow: int(window), CompactAt: float64(at) / 100, CompactTo: float64(to) / 100, ReservedTokens: int(reserved), OnCompaction: told.add,
		})
		if err != nil {
			t.Skip(err)
		}
		messages := conversation(script)
		snapshot := deepCopy(messages)
		got := beforeModel(t, hook, messages)
		require.Equal(t, snapshot, messages, "the input is not modified")
		requireShape(t, messages, got, 1)
		require.LessOrEqual(t, tokensOf(t, got...), tokensOf(t, messages...))
		for _, c := range told {
			require.Equal(t, !sameSlice(messages, got), c.Changed, "what is reported is what happened")
		}
	})
}
