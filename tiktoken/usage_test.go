package tiktoken_test

import (
	"bufio"
	"compress/gzip"
	"context"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"

	"github.com/eino-toolresult/toolresult"
	"github.com/eino-toolresult/toolresult/tiktoken"
	"github.com/eino-toolresult/toolresult/tokenest"
)

// What a provider reported for one request tells, scaled, how large the next one will be. The provider here is the real
// vocabulary, the counter knows nothing of it, and the conversations are those of real agents.
func TestNextRequestIsEstimatedFromTheLastUsage(t *testing.T) {
	files, err := filepath.Glob("../../shared/data/transcripts/*.jsonl.gz")
	require.NoError(t, err)
	if len(files) == 0 {
		t.Skip("no conversations: ../shared/data/transcripts is absent")
	}
	exact, err := tiktoken.New(t.Context(), &tiktoken.Config{MaxBytes: 1 << 30})
	require.NoError(t, err)
	generic, err := toolresult.NewTokenCounter(t.Context(), &toolresult.TokenCounterConfig{Text: tokenest.Generic()})
	require.NoError(t, err)
	var errors []float64
	conversations := 0
	for _, file := range files {
		for messages := range readConversations(t, file) {
			conversations++
			errors = append(errors, usageErrors(t, messages, exact, generic)...)
		}
	}
	require.NotEmpty(t, errors)
	slices.Sort(errors)
	median, worst := errors[len(errors)/2], errors[len(errors)*99/100]
	t.Logf("%d conversations, %d requests: median error %.2f %%, 99 of 100 within %.1f %%", conversations, len(errors), 100*median, 100*worst)
	require.LessOrEqual(t, median, .015)
	require.LessOrEqual(t, worst, .12)
}

// usageErrors runs a conversation and returns how far the estimate of each request was off, from the second on.
func usageErrors(t *testing.T, messages []*schema.Message, exact, counter toolresult.TokenCounter) (errors []float64) {
	t.Helper()
	count := remember(t, counter)
	truth, known := 0, 0
	for i, msg := range messages {
		if msg.Role != schema.Assistant {
			continue
		}
		for ; known < i; known++ {
			n, err := exact.CountTokens(t.Context(), messages[known:known+1], nil)
			require.NoError(t, err)
			truth += int(n)
		}
		if i > 0 && messages[i-1].Role != schema.Assistant && hasUsage(messages[:i]) {
			estimate := estimateOf(t, messages[:i], count)
			errors = append(errors, math.Abs(float64(estimate-truth))/float64(truth))
		}
		msg.ResponseMeta = &schema.ResponseMeta{Usage: &schema.TokenUsage{PromptTokens: truth}}
	}
	return errors
}

func hasUsage(messages []*schema.Message) bool {
	return slices.ContainsFunc(messages, func(m *schema.Message) bool {
		return m.ResponseMeta != nil && m.ResponseMeta.Usage.PromptTokens > 0
	})
}

// remember counts each message once, as the estimate below is found by asking often.
func remember(t *testing.T, counter toolresult.TokenCounter) toolresult.TokenCounterFunc {
	known := map[*schema.Message]int64{}
	return func(ctx context.Context, messages []*schema.Message, tools []*schema.ToolInfo) (total int64, err error) {
		for _, m := range messages {
			n, found := known[m]
			if !found {
				if n, err = counter.CountTokens(ctx, []*schema.Message{m}, nil); err != nil {
					return 0, err
				}
				known[m] = n
			}
			total += n
		}
		return total, nil
	}
}

type asked struct{ due *bool }

func (a asked) Compact(_ context.Context, req *toolresult.CompactRequest) (*toolresult.Compaction, error) {
	*a.due = true
	return &toolresult.Compaction{Messages: req.Messages}, nil
}

// estimateOf finds the hook's estimate by the largest window that it thinks full.
func estimateOf(t *testing.T, messages []*schema.Message, counter toolresult.TokenCounter) int {
	t.Helper()
	low, high := 0, 1<<24
	for low+1 < high {
		window, due := (low+high)/2, false
		hook, err := toolresult.NewCompactionHook(t.Context(), &toolresult.CompactionConfig{
			ContextWindow: window, CompactAt: 1, Compactor: asked{&due}, TokenCounter: counter,
		})
		require.NoError(t, err)
		_, err = hook.BeforeModel(t.Context(), messages, nil)
		require.NoError(t, err)
		if due {
			low = window
		} else {
			high = window
		}
	}
	return low
}

func readConversations(t *testing.T, file string) func(yield func([]*schema.Message) bool) {
	return func(yield func([]*schema.Message) bool) {
		f, err := os.Open(file)
		require.NoError(t, err)
		defer f.Close()
		zipped, err := gzip.NewReader(f)
		require.NoError(t, err)
		lines := bufio.NewReader(zipped)
		for {
			line, err := lines.ReadBytes('\n')
			if len(line) == 0 {
				return
			}
			var conversation struct {
				Messages []struct {
					Role       string            `json:"role"`
					Content    json.RawMessage   `json:"content"`
					ToolCalls  []schema.ToolCall `json:"tool_calls"`
					ToolCallID string            `json:"tool_call_id"`
				} `json:"messages"`
			}
			require.NoError(t, json.Unmarshal(line, &conversation))
			var messages []*schema.Message
			for _, m := range conversation.Messages {
				text := ""
				if json.Unmarshal(m.Content, &text) != nil {
					text = string(m.Content)
				}
				messages = append(messages, &schema.Message{Role: schema.RoleType(m.Role), Content: text, ToolCalls: m.ToolCalls, ToolCallID: m.ToolCallID})
			}
			if !yield(messages) || err != nil {
				return
			}
		}
	}
}
