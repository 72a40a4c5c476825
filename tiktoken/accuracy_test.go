package tiktoken_test

// How far off is tokenest, on texts that nothing was fitted to, by the true counts of two vocabularies?

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tiktoken-go/tokenizer"

	"github.com/eino-toolresult/toolresult"
	"github.com/eino-toolresult/toolresult/tokenest"
)

func TestEstimatesOnTextsOfOurOwn(t *testing.T) {
	cases := []struct {
		name, reason string
		encoding     tokenizer.Encoding
		estimate     func(string) int
		mean, worst  float64
	}{
		// A text of a kilobyte, by one hand, is further off than a kind of texts: German by cl100k is the worst here, then
		// prose in the plainest words, one token each.
		{"o200k", "the profile for this vocabulary", tokenizer.O200kBase, tokenest.O200K().Estimate, .06, .18},
		{"cl100k", "the profile for this vocabulary", tokenizer.Cl100kBase, tokenest.CL100K().Estimate, .07, .2},
		{"o200k by generic", "a model of which nothing is known", tokenizer.O200kBase, tokenest.Generic().Estimate, .16, .4},
		{"cl100k by generic", "a model of which nothing is known", tokenizer.Cl100kBase, tokenest.Generic().Estimate, .16, .4},
		{"o200k by bytes/4", "the rule of thumb, for comparison", tokenizer.O200kBase, toolresult.EstimateTokens, 1, 1},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			codec, err := tokenizer.Get(c.encoding)
			require.NoError(t, err)
			mean, all := 0.0, texts(t)
			for kind, text := range all {
				tokens, err := codec.Count(text)
				require.NoError(t, err)
				off := float64(c.estimate(text)-tokens) / float64(tokens)
				t.Logf("%-12s %5d tokens, estimate %+.1f %%", kind, tokens, 100*off)
				require.LessOrEqual(t, math.Abs(off), c.worst, "%s: %s", kind, c.reason)
				mean += math.Abs(off) / float64(len(all))
			}
			t.Logf("mean %.1f %%", 100*mean)
			require.LessOrEqual(t, mean, c.mean, c.reason)
		})
	}
}
