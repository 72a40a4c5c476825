package toolresult

// The decision where nothing can be replayed: with a compactor or a counter that is not ours, which may be dear or may not give the
// same twice. It is made once, at the end of the conversation.

import (
	"context"
	"slices"

	"github.com/cloudwego/eino/schema"
)

// beforeModelOnce decides at the end of the conversation alone.
func (h *CompactionHook) beforeModelOnce(ctx context.Context, messages []*schema.Message, tools []*schema.ToolInfo) ([]*schema.Message, error) {
	e, err := h.estimate(ctx, messages, tools)
	if err != nil || e.tokens < h.cfg.CompactAt*h.window {
		return messages, err
	}
	c, dropped, err := h.compactOnce(ctx, messages, e)
	if err != nil {
		return nil, err
	}
	c.OverWindow = e.tokens-e.scale*float64(c.TokensBefore-c.TokensAfter) > h.window
	h.report(ctx, c, dropped)
	return c.Messages, nil
}

// compactOnce compacts if that is worth it. A Pruner is asked what it would do, as it stores what it prunes.
func (h *CompactionHook) compactOnce(ctx context.Context, messages []*schema.Message, e estimate) (c *Compaction, dropped bool, err error) {
	if p, ok := h.cfg.Compactor.(*Pruner); ok {
		run := p.run(messages, h.cfg.TokenCounter)
		run.read(len(messages))
		run.tokens = e.counted
		c = &Compaction{TokensBefore: e.counted, TargetTokens: h.target(e, h.cfg.CompactTo)}
		dropped, err = h.pruneIfWorth(ctx, run, e, c.TargetTokens, len(messages))
		run.report(c)
		return c, dropped, err
	}
	if c, err = h.compact(ctx, messages, e, h.cfg.CompactTo); err != nil {
		return nil, false, err
	}
	if c.Changed {
		worth, err := h.isWorth(ctx, e, newCacheBooks(h.cfg.Cache, messages), messages, firstChange(messages, c.Messages), c.TokensBefore-c.TokensAfter)
		if worth || err != nil {
			return c, false, err
		}
		dropped = true
	}
	return &Compaction{Messages: messages, TokensBefore: c.TokensBefore, TokensAfter: c.TokensBefore, TargetTokens: c.TargetTokens, Err: c.Err}, dropped, nil
}

// pruneIfWorth prunes to the target, unless that is not worth it.
func (h *CompactionHook) pruneIfWorth(ctx context.Context, run *pruning, e estimate, target int64, at int) (dropped bool, err error) {
	chosen, dropped, err := h.chooseWorth(ctx, run, e, newCacheBooks(h.cfg.Cache, run.messages), target, at)
	if dropped || err != nil || len(chosen.swaps) == 0 {
		return dropped, err
	}
	return false, run.applyTo(ctx, chosen, target, at)
}

// limitAllSteps keeps the StepTokenLimit where nothing is replayed, for all steps, as the caller may not have kept what came of the
// older ones.
func (h *CompactionHook) limitAllSteps(ctx context.Context, messages []*schema.Message) ([]*schema.Message, error) {
	if h.steps == nil {
		return messages, nil
	}
	var pairs pairing
	limited, from := messages, 0
	put := func(i int, msg *schema.Message) {
		if isSame(limited, messages) {
			limited = slices.Clone(messages)
		}
		limited[i] = msg
	}
	for to := range len(messages) + 1 {
		if to < len(messages) && (messages[to] == nil || messages[to].Role != schema.Assistant) {
			continue
		}
		for ; from < to; from++ {
			pairs.message(from, messages[from])
		}
		if err := h.steps.limitStep(ctx, messages, pairs.newest(), put); err != nil {
			return messages, err
		}
	}
	return limited, nil
}

// firstChange is where a compactor began to rewrite.
func firstChange(before, after []*schema.Message) int {
	for i := range min(len(before), len(after)) {
		if before[i] != after[i] {
			return i
		}
	}
	return min(len(before), len(after))
}
