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
	c, err := h.compact(ctx, messages, e, h.cfg.CompactTo)
	if err != nil {
		return nil, err
	}
	saved, dropped := c.TokensBefore-c.TokensAfter, false
	if c.Changed {
		worth, err := h.isWorth(ctx, e, messages, firstChange(messages, c.Messages), saved)
		if err != nil {
			return nil, err
		}
		dropped = !worth
	}
	if dropped || !c.Changed {
		c = &Compaction{Messages: messages, TokensBefore: c.TokensBefore, TokensAfter: c.TokensBefore, TargetTokens: c.TargetTokens, Err: c.Err}
		saved = 0
	}
	c.OverWindow = e.tokens-e.scale*float64(saved) > h.window
	if c.Changed || dropped || c.OverWindow || c.Err != nil {
		h.report(ctx, c)
	}
	return c.Messages, nil
}

// limitNewestStep keeps the StepTokenLimit where nothing is replayed.
func (h *CompactionHook) limitNewestStep(ctx context.Context, messages []*schema.Message) ([]*schema.Message, error) {
	if h.steps == nil {
		return messages, nil
	}
	var pairs pairing
	for i, msg := range messages {
		pairs.message(i, msg)
	}
	limited := messages
	err := h.steps.limitStep(ctx, messages, pairs.newest(), func(i int, msg *schema.Message) {
		if isSame(limited, messages) {
			limited = slices.Clone(messages)
		}
		limited[i] = msg
	})
	return limited, err
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
