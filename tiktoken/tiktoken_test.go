package tiktoken_test

import (
	"context"
	"strings"
	"sync"
	"testing"

	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"
	"github.com/tiktoken-go/tokenizer"

	"github.com/eino-toolresult/toolresult"
	"github.com/eino-toolresult/toolresult/tiktoken"
	"github.com/eino-toolresult/toolresult/tokenest"
)

var _ toolresult.TokenCounter = (*tiktoken.Counter)(nil)

func newCounter(t testing.TB, cfg *tiktoken.Config) *tiktoken.Counter {
	t.Helper()
	c, err := tiktoken.New(context.Background(), cfg)
	require.NoError(t, err)
	return c
}

func count(t testing.TB, c toolresult.TokenCounter, texts ...string) int {
	t.Helper()
	var messages []*schema.Message
	for _, text := range texts {
		messages = append(messages, schema.ToolMessage(text, "call_1"))
	}
	n, err := c.CountTokens(context.Background(), messages, nil)
	require.NoError(t, err)
	return int(n)
}

func TestCountIsExact(t *testing.T) {
	for _, encoding := range []string{tiktoken.O200K, tiktoken.CL100K} {
		codec, err := tokenizer.Get(tokenizer.Encoding(encoding))
		require.NoError(t, err)
		c, sum := newCounter(t, &tiktoken.Config{Encoding: encoding}), 0
		for kind, text := range texts(t) {
			want, err := codec.Count(text)
			require.NoError(t, err)
			require.Equal(t, want, count(t, c, text), "%s by %s", kind, encoding)
			require.Equal(t, want, count(t, c, text), "%s by %s, from memory", kind, encoding)
			sum += want
		}
		var all []string
		for _, text := range texts(t) {
			all = append(all, text)
		}
		require.Equal(t, sum, count(t, c, all...), "counts add up")
	}
}

func TestKnownCounts(t *testing.T) {
	c := newCounter(t, nil)
	cases := []struct {
		text, reason string
		want         int
	}{
		{"", "nothing is no token", 0},
		{"hello world", "two words of the vocabulary", 2},
		{"<|endoftext|>", "in a tool result it is text and no special token", 7},
	}
	for _, k := range cases {
		require.Equal(t, k.want, count(t, c, k.text), "%q: %s", k.text, k.reason)
	}
}

func TestMessagesCostWhatTheConfigSays(t *testing.T) {
	c := newCounter(t, &tiktoken.Config{Messages: toolresult.TokenCounterConfig{TokensPerMessage: 3}})
	require.Equal(t, 2*(2+3), count(t, c, "hello world", "hello world"))
}

func TestExceedsAgreesWithTheCountOfOrdinaryText(t *testing.T) {
	c := newCounter(t, nil)
	for kind, text := range texts(t) {
		n := count(t, c, text)
		for _, limit := range []int{-1, 0, 1, n / 2, n - n/10, n - 1, n, n + 1, n + n/10, 2 * n, len(text), 1 << 40} {
			require.Equal(t, n > limit, c.ExceedsTokens(text, limit), "%s has %d tokens, limit %d", kind, n, limit)
		}
	}
	require.False(t, c.ExceedsTokens("", 0), "nothing exceeds nothing")
	require.True(t, c.ExceedsTokens("", -1), "nothing exceeds less than nothing")
}

func TestOverMaxBytesTheEstimateDecides(t *testing.T) {
	text := strings.Repeat("UUIDs are 9f0c2a4e-58d1-4b6f-8c37-1d2e3f405162.\n", 100)
	c := newCounter(t, &tiktoken.Config{MaxBytes: len(text) - 1})
	estimate := tokenest.O200K().Estimate(text)
	require.Equal(t, estimate, count(t, c, text), "one byte over the cap")
	require.True(t, c.ExceedsTokens(text, estimate-1), "near the limit, but over the cap")
	require.False(t, c.ExceedsTokens(text, estimate))
	exact := newCounter(t, &tiktoken.Config{MaxBytes: len(text)})
	require.NotEqual(t, estimate, count(t, exact, text), "at the cap it is tokenized; pick another text if the two agree by chance")
}

func TestMarginDecidesWhatIsTokenized(t *testing.T) {
	// Far more tokens than any estimator expects: words that no vocabulary has.
	text := strings.Repeat("xqzjvkwq", 500)
	codec, err := tokenizer.Get(tokenizer.O200kBase)
	require.NoError(t, err)
	n, err := codec.Count(text)
	require.NoError(t, err)
	estimate := tokenest.O200K().Estimate(text)
	require.Less(t, 3*estimate, 2*n, "the text must mislead the estimator, or this tests nothing")
	limit := (estimate + n) / 2
	narrow := newCounter(t, &tiktoken.Config{Margin: .01})
	wide := newCounter(t, &tiktoken.Config{Margin: 1})
	require.False(t, narrow.ExceedsTokens(text, limit), "beyond the margin the estimate decides")
	require.True(t, wide.ExceedsTokens(text, limit), "within it the tokenizer does")
}

// A tokenizer that is quadratic on such texts takes minutes for each, which is how this test fails.
func TestHostileTextsComeToAnEnd(t *testing.T) {
	c := newCounter(t, nil)
	for _, piece := range []string{"a", " ", "\n", "*", "7", "中", "🙂", "\x00", "\x80", "xqzjvkw"} {
		for _, size := range []int{256 << 10, 1 << 20} {
			text := strings.Repeat(piece, size/len(piece))
			count(t, c, text)
			for _, limit := range []int{100, 20_000, len(text) / 8} {
				c.ExceedsTokens(text, limit)
			}
			if len(text) > 256<<10 {
				require.Equal(t, tokenest.O200K().Estimate(text), count(t, c, text), "beyond the cap the estimate answers: %q", piece)
			}
		}
	}
}

func TestMemoryOfCountsIsBoundedAndRight(t *testing.T) {
	for name, cached := range map[string]int{"none": -1, "two": 2, "default": 0} {
		c := newCounter(t, &tiktoken.Config{CachedTexts: cached})
		for round := range 3 {
			for i := range 9 {
				require.Equal(t, i+1, count(t, c, strings.Repeat(" the", i+1)), "%s, round %d", name, round)
			}
		}
	}
}

func TestConcurrentUse(t *testing.T) {
	c, all := newCounter(t, &tiktoken.Config{CachedTexts: 3}), texts(t)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for _, text := range all {
				n, err := c.CountTokens(context.Background(), []*schema.Message{schema.ToolMessage(text, "call_1")}, nil)
				if err != nil || c.ExceedsTokens(text, int(n)) || !c.ExceedsTokens(text, int(n)-1) {
					t.Errorf("%d tokens, error %v", n, err)
				}
			}
		})
	}
	wg.Wait()
}

func TestBadConfigIsRefused(t *testing.T) {
	cases := []struct {
		cfg    tiktoken.Config
		want   string
		reason string
	}{
		{tiktoken.Config{Encoding: "gpt2"}, `tiktoken.Config.Encoding is "gpt2"; want "o200k_base"`, "not a vocabulary that has a profile"},
		{tiktoken.Config{Margin: -.1}, "tiktoken.Config.Margin is -0.1; want", "a band cannot be negative"},
		{tiktoken.Config{Margin: 1.1}, "tiktoken.Config.Margin is 1.1; want", "below a limit there is nothing under 0"},
		{tiktoken.Config{MaxBytes: -1}, "tiktoken.Config.MaxBytes is -1; want", "zero asks for the default"},
		{tiktoken.Config{Messages: toolresult.TokenCounterConfig{Text: tokenest.O200K()}}, "Messages.Text is *tokenest.Estimator; want nil", "two opinions on one text"},
		{tiktoken.Config{Messages: toolresult.TokenCounterConfig{TokensPerMessage: -1}}, "TokenCounterConfig.TokensPerMessage", "what the root refuses"},
	}
	for _, c := range cases {
		_, err := tiktoken.New(context.Background(), &c.cfg)
		require.ErrorContains(t, err, c.want, c.reason)
	}
}
