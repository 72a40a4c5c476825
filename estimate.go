package toolresult

// What the next request will be. The estimate starts from what the provider itself counted last, which also contains what no message
// shows, and adds what came since.

import (
	"context"

	"github.com/cloudwego/eino/schema"
)

const (
	leastUsage         = 0.4 // share of our own count below which a reported usage is not believed
	minScale, maxScale = 0.5, 3
)

// estimate is what the next request will be.
type estimate struct {
	tokens   float64 // in the provider's tokens, with all that no message shows
	scale    float64 // the provider's tokens for one of the counter's
	counted  int64   // the messages, in the counter's tokens
	overhead int64   // tool schemas and ReservedTokens, in the counter's tokens
}

// forecast takes the usage that the last answer reported and adds what came since. sent are the tokens of the messages in the
// request with that usage, counted those of the messages now. A usage far below our own count is not believed, as some gateways
// report nonsense; a high one always is, because too small an estimate ends in a refused request.
func forecast(usage, sent, counted, overhead int64) estimate {
	e := estimate{scale: 1, tokens: float64(counted + overhead), counted: counted, overhead: overhead}
	asked := float64(sent + overhead)
	if usage <= 0 || float64(usage) < leastUsage*asked {
		return e
	}
	e.scale = min(max(float64(usage)/asked, minScale), maxScale)
	e.tokens = float64(usage) + e.scale*float64(counted-sent)
	return e
}

// mayReach is false where a forecast is below a mark whatever the scale and whatever was pruned since, so that most answers cost no
// more than a comparison.
func mayReach(mark, usage, sent, counted, overhead int64) bool {
	return counted+overhead >= mark || usage+maxScale*max(counted-sent, 0) >= mark
}

// estimate counts a conversation in two parts: what the last usage was for, and what came since.
func (h *CompactionHook) estimate(ctx context.Context, messages []*schema.Message, tools []*schema.ToolInfo) (estimate, error) {
	at, usage := lastUsage(messages)
	sent, err := h.count(ctx, messages[:at], nil)
	if err != nil {
		return estimate{}, err
	}
	since, err := h.count(ctx, messages[at:], nil)
	if err != nil {
		return estimate{}, err
	}
	schemas, err := h.count(ctx, nil, tools)
	if err != nil {
		return estimate{}, err
	}
	saved, err := h.savedSince(ctx, messages, at)
	if err != nil {
		return estimate{}, err
	}
	return forecast(usage, sent+saved, sent+since, schemas+int64(h.cfg.ReservedTokens)), nil
}

func (h *CompactionHook) count(ctx context.Context, messages []*schema.Message, tools []*schema.ToolInfo) (int64, error) {
	if len(messages) == 0 && len(tools) == 0 {
		return 0, nil
	}
	return countMessages(ctx, h.cfg.TokenCounter, messages, tools)
}

// savedSince is what pruning has taken off the messages before the one at usage since that usage was reported.
func (h *CompactionHook) savedSince(ctx context.Context, messages []*schema.Message, usage int) (int64, error) {
	var saved int64
	for i, msg := range messages[:usage] {
		if msg == nil || len(msg.Extra) < markKeys {
			continue
		}
		original, ok := prunedSince(msg, usage, len(messages))
		if !ok {
			continue
		}
		now, err := h.count(ctx, messages[i:i+1], nil)
		if err != nil {
			return 0, err
		}
		saved += original - now
	}
	return saved, nil
}

// lastUsage finds the last answer that reports a usage, and how many tokens of prompt it reports. An earlier one is not
// looked for: it tells less of the next request than a count does.
func lastUsage(messages []*schema.Message) (at int, promptTokens int64) {
	for i := len(messages) - 1; i >= 0; i-- {
		if usage, ok := usageOf(messages[i]); ok {
			return i, usage
		}
	}
	return 0, 0
}

// usageOf is the usage that a message reports, if it is an answer that does.
func usageOf(m *schema.Message) (promptTokens int64, ok bool) {
	if m == nil || m.Role != schema.Assistant || m.ResponseMeta == nil || m.ResponseMeta.Usage == nil {
		return 0, false
	}
	return min(int64(m.ResponseMeta.Usage.PromptTokens), maxCount), true
}
