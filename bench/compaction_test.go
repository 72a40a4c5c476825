package bench_test

// Pruning beside the clear phase of Eino's reduction middleware: what the check before every model call costs, and what it
// costs when something is due. Both then replace every result but that of the newest step, and neither stores anything.

import (
	"context"
	"slices"
	"strconv"
	"testing"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/adk/middlewares/reduction"
	"github.com/cloudwego/eino/schema"
	"github.com/eino-toolresult/toolresult"
)

// BenchmarkIdle asks what a conversation costs in which nothing is due.
func BenchmarkIdle(b *testing.B) {
	for _, messages := range []int{2_000, 20_000} {
		b.Run(strconv.Itoa(messages), func(b *testing.B) {
			history := conversation(messages)
			window := messages * resultBytes / 4
			compare(b, ourCheck(history, window), einoCheck(history, window))
		})
	}
}

// BenchmarkPrune asks what a conversation costs in which all is due, and what share of that is the mere copying: a new
// message and a new map with three marks for each result.
func BenchmarkPrune(b *testing.B) {
	history := conversation(2_000)
	b.Run("2000", func(b *testing.B) {
		compare(b, ourPrune(history), einoPrune(history))
		b.Run("copy", newContender(copying(history)).bench)
		b.Run("copyratio", func(b *testing.B) { reportRatio(b, copying(history)(b), einoPrune(history)(b)) })
	})
}

func ourHook(tb testing.TB, window int, compactTo float64) *toolresult.CompactionHook {
	hook, err := toolresult.NewCompactionHook(context.Background(), &toolresult.CompactionConfig{ContextWindow: window, CompactTo: compactTo})
	check(tb, err)
	return hook
}

// einoReduction clears at the same mark as ours, 0.7 of a window.
func einoReduction(tb testing.TB, window int) adk.ChatModelAgentMiddleware {
	m, err := reduction.New(context.Background(), &reduction.Config{SkipTruncation: true, MaxTokensForClear: int64(window) * 7 / 10})
	check(tb, err)
	return m
}

func ourCheck(history []*schema.Message, window int) newContender {
	return func(tb testing.TB) contender {
		hook := ourHook(tb, window, 0)
		ctx := context.Background()
		return contender{op: func() {
			checked, err := hook.BeforeModel(ctx, history, nil)
			check(tb, err)
			if &checked[0] != &history[0] {
				tb.Fatal("our hook pruned where nothing is due")
			}
		}}
	}
}

func einoCheck(history []*schema.Message, window int) newContender {
	return func(tb testing.TB) contender {
		m := einoReduction(tb, window)
		ctx := context.Background()
		state := &adk.ChatModelAgentState{Messages: history}
		return contender{op: func() {
			_, checked, err := m.BeforeModelRewriteState(ctx, state, nil)
			check(tb, err)
			if &checked.Messages[0] != &history[0] {
				tb.Fatal("Eino's reduction cleared where nothing is due")
			}
		}}
	}
}

// pruneWindow is one of which the mark is passed by the newest results alone, as it is where the hook runs before every call.
const pruneWindow = 1_470_700

// ourPrune has a copy made for every op as well, which it does not need, so that both sides leave the same garbage.
func ourPrune(history []*schema.Message) newContender {
	return func(tb testing.TB) contender {
		hook := ourHook(tb, pruneWindow, 1e-6)
		ctx := context.Background()
		var fresh []*schema.Message
		return contender{
			prepare: func() { fresh = copyOf(history) },
			op: func() {
				pruned, err := hook.BeforeModel(ctx, fresh, nil)
				check(tb, err)
				checkPruned(tb, pruned)
			},
		}
	}
}

// einoPrune needs a copy for every op, because the reduction writes into the messages.
func einoPrune(history []*schema.Message) newContender {
	return func(tb testing.TB) contender {
		m := einoReduction(tb, pruneWindow)
		ctx := context.Background()
		var state *adk.ChatModelAgentState
		return contender{
			prepare: func() { state = &adk.ChatModelAgentState{Messages: copyOf(history)} },
			op: func() {
				_, pruned, err := m.BeforeModelRewriteState(ctx, state, nil)
				check(tb, err)
				checkPruned(tb, pruned.Messages)
			},
		}
	}
}

// copying does what every pruning must that leaves the messages of others alone, and no more.
func copying(history []*schema.Message) newContender {
	return func(testing.TB) contender {
		var fresh []*schema.Message
		return contender{
			prepare: func() { fresh = copyOf(history) },
			op: func() {
				copies := slices.Clone(fresh)
				for i, msg := range copies[:len(copies)-1] {
					if msg.Role == schema.Tool {
						short := *msg
						short.Extra = map[string]any{"mark": "pruned", "tokens": i + 1000, "at": len(copies)}
						copies[i] = &short
					}
				}
				fresh = copies
			},
		}
	}
}

// checkPruned looks at the oldest result, the newest but one, and the newest.
func checkPruned(tb testing.TB, pruned []*schema.Message) {
	last := len(pruned) - 1
	if len(pruned[3].Content) > 200 || len(pruned[last-2].Content) > 200 || len(pruned[last].Content) != resultBytes {
		tb.Fatal("want every result pruned but the newest")
	}
}
