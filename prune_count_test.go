package toolresult_test

// What pruning costs: how often anything is counted, what is allocated, and what happens when counting fails.

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eino-toolresult/toolresult"
)

// tally is the default counter with a record of how many messages each count was asked for.
type tally struct {
	toolresult.TokenCounter
	counts []int
	tools  int
	failAt int // the count that fails, from 1
}

var errCounter = errors.New("the tokenizer is gone")

func newTally(t testing.TB) *tally {
	t.Helper()
	counter, err := toolresult.NewTokenCounter(context.Background(), nil)
	require.NoError(t, err)
	return &tally{TokenCounter: counter}
}

func (c *tally) CountTokens(ctx context.Context, messages []*schema.Message, tools []*schema.ToolInfo) (int64, error) {
	c.counts = append(c.counts, len(messages))
	c.tools += len(tools)
	if len(c.counts) == c.failAt {
		return 0, errCounter
	}
	return c.TokenCounter.CountTokens(ctx, messages, tools)
}

// Six messages are candidates or not: two results go, one is small, one is excluded, one is marked, one is protected.
const countedScript = "call(a:bash) result(a:bash) call(b:bash) result(b:bash:10) call(c:ls) result(c:ls) call(d:bash) result(d:bash) call(e:bash) result(e:bash)"

func TestWholeIsCountedOnce(t *testing.T) {
	messages := conversation(countedScript)
	pruner := newPruner(t, &toolresult.PruneConfig{ExcludeTools: []string{"ls"}})
	candidates := []int{1, 1, 1, 1, 1} // original and placeholder of two, and the small one

	counter := newTally(t)
	compact(t, pruner, &toolresult.CompactRequest{Messages: messages, Counter: counter})
	assert.Equal(t, append([]int{10}, candidates...), counter.counts, "the whole, then original and replacement of each candidate")

	counter = newTally(t)
	compact(t, pruner, &toolresult.CompactRequest{Messages: messages, Counter: counter, Tokens: tokensOf(t, messages...)})
	assert.Equal(t, candidates, counter.counts, "the request brought the count of the whole")

	counter = newTally(t)
	compact(t, pruner, &toolresult.CompactRequest{Messages: messages, Counter: counter, TargetTokens: 1e6})
	assert.Equal(t, []int{10}, counter.counts, "nothing is due")
}

func TestHookAndPrunerCountTogether(t *testing.T) {
	messages := conversation(countedScript)
	messages[6].ResponseMeta = &schema.ResponseMeta{Usage: &schema.TokenUsage{PromptTokens: 900}}
	counter := newTally(t)
	tools := []*schema.ToolInfo{{Name: "bash"}}
	hook := newHook(t, &toolresult.CompactionConfig{ContextWindow: 1000, TokenCounter: counter})
	_, err := hook.BeforeModel(t.Context(), messages, tools)
	require.NoError(t, err)
	assert.Equal(t, []int{6, 4, 0, 1, 1, 1, 1, 1, 1, 1}, counter.counts,
		"what the usage covers, what came since, the schemas, and then the candidates alone")
	assert.Equal(t, 1, counter.tools, "schemas are counted once")
}

func TestCounterErrorsAreReturned(t *testing.T) {
	messages := conversation(countedScript)
	input := deepCopy(messages)
	for failAt := 1; failAt <= 6; failAt++ {
		counter := newTally(t)
		counter.failAt = failAt
		c, err := newPruner(t, nil).Compact(t.Context(), &toolresult.CompactRequest{Messages: messages, Counter: counter})
		require.ErrorIs(t, err, errCounter, "count %d failed", failAt)
		assert.ErrorContains(t, err, "toolresult: ")
		assert.Nil(t, c)
		assert.Equal(t, input, messages)
	}
}

func TestNilRequestIsRefused(t *testing.T) {
	_, err := newPruner(t, nil).Compact(t.Context(), nil)
	assert.EqualError(t, err, "toolresult: CompactRequest is nil; want a request")
}

// longHistory has n messages, every second one a result of 4 KB.
func longHistory(n int) []*schema.Message {
	messages := make([]*schema.Message, 0, n)
	for i := 0; i < n; i += 2 {
		id := fmt.Sprint("call_", i)
		messages = append(messages, schema.AssistantMessage("", []schema.ToolCall{toolCall(id, "bash")}),
			schema.ToolMessage(strings.Repeat("x", 4096), id))
	}
	return messages
}

func TestIdleCheckAllocatesNothing(t *testing.T) {
	for _, n := range []int{100, 10_000} {
		messages := longHistory(n)
		messages[n/2].ResponseMeta = &schema.ResponseMeta{Usage: &schema.TokenUsage{PromptTokens: 512 * n}}
		hook := newHook(t, &toolresult.CompactionConfig{ContextWindow: 1e9})
		allocs := testing.AllocsPerRun(10, func() {
			got, err := hook.BeforeModel(context.Background(), messages, nil)
			if err != nil || !sameSlice(got, messages) {
				t.Error("nothing is due", err)
			}
		})
		assert.Zero(t, allocs, "%d messages", n)
	}
}

func TestPruningIsLinear(t *testing.T) {
	short, long := costOfOne(t, 5_000), costOfOne(t, 10_000)
	for i, what := range []string{"allocations", "bytes"} {
		assert.Less(t, long[i], 2.5*short[i], "twice the messages, twice the %s", what)
	}
	assert.Less(t, long[1], 10_000*300.0, "no text of 4 KB is copied")

	counter := newTally(t)
	c := compact(t, newPruner(t, nil), &toolresult.CompactRequest{Messages: longHistory(10_000), Counter: counter})
	assert.Len(t, c.Pruned, 4_999)
	assert.Len(t, counter.counts, 1+2*4_999, "two small counts for each candidate")
}

// costOfOne is what pruning the oldest of many results allocates, in number and in bytes.
func costOfOne(t *testing.T, n int) [2]float64 {
	messages := longHistory(n)
	pruner, tokens := newPruner(t, nil), tokensOf(t, messages...)
	req := &toolresult.CompactRequest{Messages: messages, Tokens: tokens, TargetTokens: tokens - 1}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	c, err := pruner.Compact(context.Background(), req)
	runtime.ReadMemStats(&after)
	require.NoError(t, err)
	require.Len(t, c.Pruned, 1)
	return [2]float64{float64(after.Mallocs - before.Mallocs), float64(after.TotalAlloc - before.TotalAlloc)}
}

// One Pruner and one hook serve any number of conversations at once.
func TestConcurrentUse(t *testing.T) {
	var rewrites atomic.Int64
	hook := newHook(t, &toolresult.CompactionConfig{
		ContextWindow: 1000,
		Tools:         []*schema.ToolInfo{{Name: "bash"}},
		OnCompaction:  func(context.Context, *toolresult.Compaction) { rewrites.Add(1) },
	})
	messages := conversation("call(a:bash) result(a) call(b:bash) result(b) call(c:bash) result(c)")
	done := make(chan []*schema.Message)
	for range 8 {
		go func() {
			got, _ := hook.BeforeModel(context.Background(), messages, nil)
			done <- got
		}()
	}
	first := <-done
	for range 7 {
		assert.Equal(t, first, <-done)
	}
	assert.EqualValues(t, 8, rewrites.Load())
}
