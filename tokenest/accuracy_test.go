package tokenest_test

// Accuracy on texts that the shipped costs were not fitted to. The error of a kind of text is |sum of the estimates - sum
// of the true counts| / sum of the true counts, over the chunks of that kind that were held back: every fourth.

import (
	"archive/tar"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/eino-toolresult/toolresult/tokenest"
)

const (
	corpusFile = "../../shared/tokens/fit-corpus.tar.gz"
	holdout    = 4
)

func TestAccuracyOnHeldBackTexts(t *testing.T) {
	c := readCorpus(t)
	cases := []struct {
		tokenizer   string
		e           *tokenest.Estimator
		mean, worst float64
		reason      string
	}{
		{"o200k", tokenest.O200K(), .03, .12, "the family that most agents use"},
		{"cl100k", tokenest.CL100K(), .035, .14, "no other family may be far behind"},
		{"llama3", tokenest.Llama(), .035, .14, "no other family may be far behind"},
		{"qwen3", tokenest.Qwen(), .035, .14, "it takes digits one by one"},
		{"deepseek3", tokenest.DeepSeek(), .035, .14, "no other family may be far behind"},
		{"gemma3", tokenest.Gemini(), .035, .14, "it takes digits one by one, and has a vocabulary of its own kind"},
		{"claude2", tokenest.Claude(), .04, .16, "the oldest vocabulary, with the fewest scripts"},
	}
	for _, k := range cases {
		t.Run(k.tokenizer, func(t *testing.T) {
			mean, worst, kind := c.errors(k.e.Estimate, k.tokenizer)
			t.Logf("mean error of a kind %.2f %%, worst %.1f %% (%s)", 100*mean, 100*worst, kind)
			require.LessOrEqual(t, mean, k.mean, "mean: %s", k.reason)
			require.LessOrEqual(t, worst, k.worst, "worst, %s: %s", kind, k.reason)
		})
		t.Run(k.tokenizer+"/generic", func(t *testing.T) {
			mean, worst, kind := c.errors(tokenest.Generic().Estimate, k.tokenizer)
			t.Logf("mean error of a kind %.2f %%, worst %.1f %% (%s)", 100*mean, 100*worst, kind)
			require.LessOrEqual(t, mean, .16, "an unknown model may be of any family")
		})
		t.Run(k.tokenizer+"/quarter", func(t *testing.T) {
			mean, worst, kind := c.errors(func(text string) int { return (len(text) + 3) / 4 }, k.tokenizer)
			t.Logf("mean error of a kind %.2f %%, worst %.1f %% (%s)", 100*mean, 100*worst, kind)
			require.Greater(t, mean, .2, "a quarter of the bytes, for comparison")
		})
	}
}

// corpus holds texts by kind, where they are cut into chunks, and the true count of every chunk by tokenizer and kind.
type corpus struct {
	Texts  map[string]string
	Chunks map[string][]int
	Counts map[string]map[string][]int
}

func (c *corpus) errors(estimateOf func(text string) int, tokenizer string) (mean, worst float64, worstKind string) {
	for kind, counts := range c.Counts[tokenizer] {
		estimate, tokens := 0, 0
		for i := holdout - 1; i < len(counts); i += holdout {
			estimate += estimateOf(c.Texts[kind][c.Chunks[kind][i]:c.Chunks[kind][i+1]])
			tokens += counts[i]
		}
		off := math.Abs(float64(estimate-tokens)) / float64(tokens)
		mean += off / float64(len(c.Counts[tokenizer]))
		if off > worst {
			worst, worstKind = off, kind
		}
	}
	return mean, worst, worstKind
}

func readCorpus(t *testing.T) *corpus {
	f, err := os.Open(corpusFile)
	if errors.Is(err, fs.ErrNotExist) {
		t.Skipf("%s is not here, so accuracy goes unmeasured: it holds texts with their true counts", corpusFile)
	}
	require.NoError(t, err)
	defer f.Close()
	z, err := gzip.NewReader(f)
	require.NoError(t, err)
	c := &corpus{Texts: map[string]string{}}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		data, err := io.ReadAll(r)
		require.NoError(t, err)
		if h.Name == "counts.json" {
			require.NoError(t, json.Unmarshal(data, c))
		} else {
			c.Texts[strings.TrimSuffix(h.Name, ".txt")] = string(data)
		}
	}
	require.Len(t, c.Counts, 7, "counts by seven tokenizers")
	require.Greater(t, len(c.Chunks), 80, "kinds of text")
	return c
}
