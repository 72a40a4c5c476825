package toolresult

// When a rewrite pays for itself. Providers keep the prompt of the last call and charge little for what the next one has in common
// with it; a rewrite throws away what stands behind it. So it pays where what it saves at every call to come is more than
// what it costs to write the rest anew.

import (
	"context"
	"fmt"
	"math"

	"github.com/cloudwego/eino/schema"
)

// CachePrices are the prices of a provider's prompt cache, and turn on the gate that goes by them.
//
// With them a conversation is rewritten later and deeper: the mark of CompactAt is where the question begins, and the window where it ends.
//
// A rewrite that saves S tokens and leaves L tokens behind its first change saves a·S at each call to come and costs b·L once:
// a = Read·(1−λ) + Write·λ and b = (Write−Read)·(1−λ), where λ is the chance that the cache is cold anyway. It is let through where
// RemainingCalls·a·S > b·L. Where nobody knows how many calls remain, the best moment to prune again and again is once
// S ≥ √(2·b·L·k/a), with k the tokens that a call adds, so that is asked for. For example: L = 40 000, k = 6 400, a
// cache that is never cold, Read 0.1, Write 1.25: S must be 77 000 tokens; with one call in ten cold 50 000; with Read 0.5 and
// Write 1, never cold, 23 000.
//
// The assumptions: all that was sent before is cached, tool schemas and system prompt stay cached whatever is pruned, and calls
// go on as they did. k and λ are taken from the conversation: λ is the share of the calls, but for the first and those right after
// a rewrite, that read less than half of the prompt before them from the cache, and 0 where the provider never reports a read.
type CachePrices struct {
	// Read is the price of a token read from the cache, Write that of a token written to it, as shares of the price of a token without
	// any cache: 0.1 and 1.25 at Anthropic. Required. Range: 0 <= Read < Write.
	Read, Write float64
	// RemainingCalls is how many more calls of the model are expected. Calls. Optional. 0 means unknown. Negative values are refused.
	RemainingCalls int
}

// payOff is the rule. All sizes are in the same tokens.
func (p *CachePrices) payOff(saved, behind, perCall, cold float64) bool {
	a := p.Read*(1-cold) + p.Write*cold
	b := (p.Write - p.Read) * (1 - cold)
	if p.RemainingCalls > 0 {
		return float64(p.RemainingCalls)*a*saved > b*behind
	}
	return saved*saved*a >= 2*b*behind*perCall
}

// cacheBooks is what a conversation tells of its cache. They are kept while it goes by, as they may be asked at every answer.
type cacheBooks struct {
	prices        *CachePrices
	rewritten     map[int]bool // how long the conversation was at each rewrite
	pruned        int64        // tokens of results that were pruned
	upTo          int          // how many messages were read
	calls         int          // answers of the model
	usage         int64        // tokens of prompt that the last of them reported
	asked, missed int          // calls that could read from the cache, and those that did not, for no fault of a rewrite
	reads         bool         // the provider reports reads
	first         int          // a message, and the tokens before it, so that they are not counted again
	before        int64
}

// newCacheBooks begins books, with all rewrites that the marks tell of. Without prices there are none.
func newCacheBooks(prices *CachePrices, messages []*schema.Message) *cacheBooks {
	if prices == nil {
		return nil
	}
	b := &cacheBooks{prices: prices, rewritten: make(map[int]bool)}
	for _, msg := range messages {
		if msg == nil || len(msg.Extra) < markKeys {
			continue
		}
		if at := prunedAt(msg, len(messages)); at > 0 {
			tokens, _ := wholeNumber(msg.Extra[markOriginalKey])
			b.rewrote(at, tokens)
		}
	}
	return b
}

func (b *cacheBooks) rewrote(at int, tokens int64) {
	b.rewritten[at] = true
	b.pruned += tokens
}

// read goes on to the end of a conversation.
func (b *cacheBooks) read(messages []*schema.Message) {
	for ; b.upTo < len(messages); b.upTo++ {
		msg := messages[b.upTo]
		if msg == nil || msg.Role != schema.Assistant {
			continue
		}
		b.calls++
		if prompt, ok := usageOf(msg); ok {
			b.answered(prompt, int64(msg.ResponseMeta.Usage.PromptTokenDetails.CachedTokens))
		}
	}
}

func (b *cacheBooks) answered(prompt, read int64) {
	b.reads = b.reads || read > 0
	if b.usage > 0 && !b.rewritten[b.upTo] {
		b.asked++
		if 2*read < b.usage {
			b.missed++
		}
	}
	b.usage = prompt
}

// cold is how likely it is that the cache is cold anyway.
func (b *cacheBooks) cold() float64 {
	if !b.reads || b.asked == 0 {
		return 0
	}
	return float64(b.missed) / float64(b.asked)
}

// paysOff reports whether a rewrite that begins at a message, of a conversation with so many tokens, is worth its price.
func (h *CompactionHook) paysOff(ctx context.Context, b *cacheBooks, messages []*schema.Message, counted int64, first int, saved int64) (bool, error) {
	b.read(messages)
	if first < b.first {
		b.first, b.before = 0, 0
	}
	more, err := h.count(ctx, messages[b.first:first], nil)
	if err != nil {
		return false, err
	}
	b.first, b.before = first, b.before+more
	perCall := float64(counted+b.pruned) / float64(b.calls+1)
	return b.prices.payOff(float64(saved), float64(counted-b.before-saved), perCall, b.cold()), nil
}

func checkCache(p *CachePrices) error {
	switch {
	case p == nil:
		return nil
	case !(p.Write > 0 && p.Write <= math.MaxFloat64):
		return badConfig("CompactionConfig.Cache.Write", p.Write, "a price above 0")
	case !(p.Read >= 0 && p.Read < p.Write):
		return badConfig("CompactionConfig.Cache.Read", p.Read, fmt.Sprintf("0 or more, and below Write, which is %v", p.Write))
	case p.RemainingCalls < 0:
		return badConfig("CompactionConfig.Cache.RemainingCalls", p.RemainingCalls, "0 (unknown) or more")
	}
	return nil
}
