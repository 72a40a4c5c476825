// Package tiktoken counts tokens with OpenAI's own vocabularies, as a toolresult.TokenCounter.
//
// A real tokenizer reads a few megabytes a second, so a tool that prints a gigabyte must never reach it. The counter asks
// the estimator of package tokenest first and tokenizes only what is near a limit, only what is below a size cap, and no
// text twice. It holds for OpenAI's models alone: for others it is not even a better estimate than tokenest's profiles.
//
// The vocabularies add about 12 MB to a binary and tens of megabytes to a process.
package tiktoken

import (
	"context"
	"fmt"
	"slices"

	"github.com/tiktoken-go/tokenizer"

	"github.com/eino-toolresult/toolresult"
	"github.com/eino-toolresult/toolresult/tokenest"
)

// The encodings that New takes.
const (
	O200K  = "o200k_base"  // GPT-4o and OpenAI's models since
	CL100K = "cl100k_base" // GPT-4 and GPT-3.5
)

// Config configures New. The zero Config counts for GPT-4o and OpenAI's models since.
type Config struct {
	// Encoding is the vocabulary, O200K or CL100K. Optional. Default O200K.
	Encoding string
	// Margin is how far the estimate of a text may be from a limit, as a fraction of the limit, for the text to be
	// tokenized. Beyond it the estimate decides. Optional. 0 means 0.3, more than the estimator is off on any ordinary
	// text. Range: above 0, to 1. Wider is surer and slower.
	Margin float64
	// MaxBytes is the longest text that is tokenized. A longer one is estimated, so no text costs more than this one, about
	// a tenth of a second by default. Bytes. Optional. 0 means 262144 (256 KB). Negative values are refused.
	MaxBytes int
	// CachedTexts is of how many texts at least the counts are remembered, so that a conversation is not tokenized anew
	// before every model call. Up to twice as many are, at about 50 bytes each; the texts are not kept. Optional. 0 means
	// 8192. Negative: nothing is remembered.
	CachedTexts int
	// Messages is what messages cost besides their texts. Its Text must be nil, since texts are this package's business.
	// OpenAI's chat format takes 3 TokensPerMessage. Optional.
	Messages toolresult.TokenCounterConfig
}

// Counter is a toolresult.TokenCounter that counts texts exactly, within the bounds of its Config. It is safe for
// concurrent use.
type Counter struct {
	toolresult.TokenCounter // of messages, by exactTexts
	texts                   *exactTexts
	margin                  float64
}

// New returns a counter. A nil config asks for all defaults. It takes some tens of milliseconds, for the vocabulary.
func New(ctx context.Context, cfg *Config) (*Counter, error) {
	if cfg == nil {
		cfg = &Config{}
	}
	if err := cfg.check(); err != nil {
		return nil, err
	}
	texts, err := newExactTexts(cfg)
	if err != nil {
		return nil, err
	}
	perMessage := cfg.Messages
	perMessage.Text = texts
	messages, err := toolresult.NewTokenCounter(ctx, &perMessage)
	if err != nil {
		return nil, err
	}
	return &Counter{messages, texts, orDefault(cfg.Margin, .3)}, nil
}

func (cfg *Config) check() error {
	switch {
	case !slices.Contains([]string{"", O200K, CL100K}, cfg.Encoding):
		return badConfig("Encoding", fmt.Sprintf("%q", cfg.Encoding), fmt.Sprintf("%q (the default) or %q", O200K, CL100K))
	case !(cfg.Margin >= 0 && cfg.Margin <= 1):
		return badConfig("Margin", cfg.Margin, "0 (the default, 0.3), or above 0 to 1")
	case cfg.MaxBytes < 0:
		return badConfig("MaxBytes", cfg.MaxBytes, "0 (the default, 262144) or more")
	case cfg.Messages.Text != nil:
		return badConfig("Messages.Text", fmt.Sprintf("%T", cfg.Messages.Text), "nil")
	}
	return nil
}

func badConfig(field string, value any, want string) error {
	return fmt.Errorf("toolresult: tiktoken.Config.%s is %v; want %s", field, value, want)
}

// ExceedsTokens reports whether text alone has more than limit tokens. It is exact where the estimate is within Margin of
// the limit and the text is not longer than MaxBytes, and where the answer is plain: a text has no more tokens than bytes.
// Elsewhere it is what the estimator says. A text far over the limit is not read to its end.
func (c *Counter) ExceedsTokens(text string, limit int) bool {
	if limit < 0 || len(text) <= limit {
		return limit < 0
	}
	near := int(c.margin * float64(limit))
	switch {
	case !c.texts.estimator.Exceeds(text, limit-near):
		return false
	case c.texts.estimator.Exceeds(text, limit+near):
		return true
	}
	return c.texts.Exceeds(text, limit)
}

// exactTexts is the toolresult.TextEstimator behind a Counter: exact up to a size, an estimate above.
type exactTexts struct {
	codec     tokenizer.Codec
	estimator *tokenest.Estimator
	maxBytes  int
	known     *counts // nil: nothing is remembered
}

func newExactTexts(cfg *Config) (*exactTexts, error) {
	encoding, estimator := tokenizer.O200kBase, tokenest.O200K()
	if cfg.Encoding == CL100K {
		encoding, estimator = tokenizer.Cl100kBase, tokenest.CL100K()
	}
	codec, err := tokenizer.Get(encoding)
	if err != nil {
		return nil, fmt.Errorf("toolresult: vocabulary %s: %w", encoding, err)
	}
	t := &exactTexts{codec: codec, estimator: estimator, maxBytes: orDefault(cfg.MaxBytes, 256<<10)}
	if cfg.CachedTexts >= 0 {
		t.known = newCounts(orDefault(cfg.CachedTexts, 8192))
	}
	return t, nil
}

// Estimate implements toolresult.TextEstimator. A text that the tokenizer fails on is estimated: its only errors come from
// the regular expression that it cuts words with, and a count that is a little off beats none.
func (t *exactTexts) Estimate(text string) int {
	if text == "" || len(text) > t.maxBytes {
		return t.estimator.Estimate(text)
	}
	return t.known.of(text, func() int {
		if n, err := t.codec.Count(text); err == nil {
			return n
		}
		return t.estimator.Estimate(text)
	})
}

// Exceeds implements toolresult.TextEstimator.
func (t *exactTexts) Exceeds(text string, limit int) bool {
	if len(text) > t.maxBytes {
		return t.estimator.Exceeds(text, limit)
	}
	return t.Estimate(text) > limit
}

func orDefault[T int | float64](value, byDefault T) T {
	if value == 0 {
		return byDefault
	}
	return value
}
