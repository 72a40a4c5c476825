package tiktoken_test

// The question: what does an exact count cost beside an estimate, by kind of text, and what does the decision cost that
// the counter makes of both? bytes/4 is free and stands here for its error, which TestEstimatesOnTextsOfOurOwn prints.

import (
	"strings"
	"testing"

	"github.com/tiktoken-go/tokenizer"

	"github.com/eino-toolresult/toolresult"
	"github.com/eino-toolresult/toolresult/tiktoken"
	"github.com/eino-toolresult/toolresult/tokenest"
)

var sink int

func BenchmarkText(b *testing.B) {
	codec, err := tokenizer.Get(tokenizer.O200kBase)
	if err != nil {
		b.Fatal(err)
	}
	tokenize := func(text string) int {
		n, _ := codec.Count(text)
		return n
	}
	for kind, text := range texts(b) {
		text = strings.Repeat(text, 100_000/len(text)+1)
		b.Run(kind+"/tokenizer", func(b *testing.B) { throughput(b, text, tokenize) })
		b.Run(kind+"/tokenest", func(b *testing.B) { throughput(b, text, tokenest.O200K().Estimate) })
		b.Run(kind+"/bytes4", func(b *testing.B) { throughput(b, text, toolresult.EstimateTokens) })
	}
}

func BenchmarkExceedsTokens(b *testing.B) {
	c := newCounter(b, &tiktoken.Config{CachedTexts: -1})
	text := strings.Repeat(texts(b)["server.log"], 100)
	n := count(b, c, text)
	for name, limit := range map[string]int{"far below": n / 4, "near, tokenized": n + 1, "far above": 2 * n} {
		b.Run(name, func(b *testing.B) {
			throughput(b, text, func(text string) int {
				if c.ExceedsTokens(text, limit) {
					return 1
				}
				return 0
			})
		})
	}
}

func BenchmarkConversation(b *testing.B) {
	var all []string
	for _, text := range texts(b) {
		all = append(all, strings.Repeat(text, 4))
	}
	for name, cached := range map[string]int{"remembered": 0, "anew": -1} {
		c := newCounter(b, &tiktoken.Config{CachedTexts: cached})
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				sink += count(b, c, all...)
			}
		})
	}
}

func throughput(b *testing.B, text string, f func(string) int) {
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		sink += f(text)
	}
}
