package toolresult

// When to prune. Rewriting the past costs the provider's prompt cache, so it is done seldom and deep: there are two marks, one
// at which a compaction begins and a lower one at which it ends, and a rewrite that gains little is dropped. The estimate starts
// from what the provider itself counted last, which also contains what no message shows.

import (
	"context"
	"fmt"
	"slices"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/schema"
)

const (
	defaultCompactAt = 0.7
	defaultCompactTo = 0.4
	defaultMinGain   = 0.05

	leastUsage         = 0.4 // share of our own count below which a reported usage is not believed
	minScale, maxScale = 0.5, 3
)

// CompactionConfig configures NewCompactionHook.
type CompactionConfig struct {
	// Compactor makes the conversation smaller. Optional. Default: a Pruner with defaults, in Language.
	Compactor Compactor
	// ContextWindow is the model's window, in the provider's tokens. Required, above 0.
	ContextWindow int
	// CompactAt is the share of the window at which a compaction begins, CompactTo the share at which it ends. Optional. 0 means
	// 0.7 and 0.4. Range: 0 < CompactTo < CompactAt <= 1.
	CompactAt, CompactTo float64
	// MinGain is the share of the window below which a rewrite is not worth the prompt cache and is dropped, unless the window
	// itself is exceeded. Optional. 0 means 0.05; negative: no gate. Below 1.
	MinGain float64
	// TokenCounter counts messages and tool schemas. Optional. Default: that of NewTokenCounter with a nil config, a quarter of
	// the bytes.
	TokenCounter TokenCounter
	// ReservedTokens is what the hook cannot see, such as a system prompt that is added later. Tokens, of the counter. Optional.
	// 0 is none. Negative values are refused.
	ReservedTokens int
	// Tools are the schemas to count where BeforeModel is given none, as in react. Optional.
	Tools []*schema.ToolInfo
	// OnCompaction is told of every rewrite, and of every one that was dropped for its small gain: then Changed is false, Pruned
	// empty, and TokensAfter equals TokensBefore. It must not change the Compaction. Optional.
	OnCompaction func(ctx context.Context, c *Compaction)
	// OnError is told of errors that MessageRewriter cannot return. Optional, but without it they show nowhere.
	OnError func(ctx context.Context, err error)
	// Language is that of the default Compactor. Optional. Default English.
	Language adk.Language
}

// CompactionHook compacts a conversation before a model call, when it has grown past a mark. Nothing but the messages
// decides, so it survives restarts, and one hook serves any number of conversations at once.
type CompactionHook struct {
	cfg    CompactionConfig // defaults filled in
	window float64
}

// NewCompactionHook returns a CompactionHook.
func NewCompactionHook(ctx context.Context, cfg *CompactionConfig) (*CompactionHook, error) {
	if cfg == nil {
		return nil, badConfig("CompactionConfig", "nil", "a config with a ContextWindow")
	}
	h := &CompactionHook{cfg: *cfg, window: float64(cfg.ContextWindow)}
	h.cfg.Tools = slices.Clone(cfg.Tools)
	h.cfg.CompactAt = shareOr(cfg.CompactAt, defaultCompactAt)
	h.cfg.CompactTo = shareOr(cfg.CompactTo, defaultCompactTo)
	h.cfg.MinGain = shareOr(cfg.MinGain, defaultMinGain)
	if err := checkCompaction(&h.cfg); err != nil {
		return nil, err
	}
	if err := h.cfg.fillIn(ctx); err != nil {
		return nil, err
	}
	return h, nil
}

func (cfg *CompactionConfig) fillIn(ctx context.Context) (err error) {
	if cfg.Compactor == nil {
		cfg.Compactor, err = NewPruner(ctx, &PruneConfig{Language: cfg.Language})
	}
	if cfg.TokenCounter == nil && err == nil {
		cfg.TokenCounter, err = NewTokenCounter(ctx, nil)
	}
	return err
}

func shareOr(share, byDefault float64) float64 {
	if share == 0 {
		return byDefault
	}
	return share
}

// checkCompaction is written with negations, as NaN makes every comparison false.
func checkCompaction(cfg *CompactionConfig) error {
	switch {
	case cfg.ContextWindow <= 0:
		return badConfig("CompactionConfig.ContextWindow", cfg.ContextWindow, "the model's window in tokens, above 0")
	case !(cfg.CompactAt > 0 && cfg.CompactAt <= 1):
		return badConfig("CompactionConfig.CompactAt", cfg.CompactAt, "0 (the default, 0.7), or above CompactTo and up to 1")
	case !(cfg.CompactTo > 0 && cfg.CompactTo < cfg.CompactAt):
		return badConfig("CompactionConfig.CompactTo", cfg.CompactTo, fmt.Sprintf("above 0 and below CompactAt, which is %v (0 means 0.4)", cfg.CompactAt))
	case !(cfg.MinGain < 1):
		return badConfig("CompactionConfig.MinGain", cfg.MinGain, "0 (the default, 0.05), negative (no gate), or below 1")
	case cfg.ReservedTokens < 0:
		return badConfig("CompactionConfig.ReservedTokens", cfg.ReservedTokens, "0 or more")
	}
	return checkLanguage("CompactionConfig.Language", cfg.Language)
}

// MessageRewriter is BeforeModel for react.AgentConfig.MessageRewriter, which keeps what it returns and has no room for an
// error: then the conversation goes on as it was, and OnError is told. It sees neither the tools nor a system prompt that a
// MessageModifier adds; give them as Tools and ReservedTokens.
func (h *CompactionHook) MessageRewriter() func(context.Context, []*schema.Message) []*schema.Message {
	return func(ctx context.Context, messages []*schema.Message) []*schema.Message {
		compacted, err := h.BeforeModel(ctx, messages, nil)
		if err == nil {
			return compacted
		}
		if h.cfg.OnError != nil {
			h.cfg.OnError(ctx, err)
		}
		return messages
	}
}

// BeforeModel returns the conversation to send to the model, the caller's own slice where nothing changed. Keep what it
// returns: a caller who throws it away has the same results pruned anew at every call, and a cache that never hits. tools are
// the schemas that go with the request; nil means those of the config. When nothing is due it allocates nothing and costs one
// count of the messages.
func (h *CompactionHook) BeforeModel(ctx context.Context, messages []*schema.Message, tools []*schema.ToolInfo) ([]*schema.Message, error) {
	e, err := h.estimate(ctx, messages, h.toolsOr(tools))
	if err != nil || e.tokens < h.cfg.CompactAt*h.window {
		return messages, err
	}
	c, err := h.compact(ctx, messages, e, h.cfg.CompactTo)
	if err != nil || !c.Changed {
		return messages, err
	}
	if gain := e.scale * float64(c.TokensBefore-c.TokensAfter); gain < h.cfg.MinGain*h.window && e.tokens <= h.window {
		c = &Compaction{Messages: messages, TokensBefore: c.TokensBefore, TokensAfter: c.TokensBefore, TargetTokens: c.TargetTokens}
	}
	h.report(ctx, c)
	return c.Messages, nil
}

func (h *CompactionHook) toolsOr(tools []*schema.ToolInfo) []*schema.ToolInfo {
	if len(tools) == 0 {
		return h.cfg.Tools
	}
	return tools
}

// compact asks the compactor for a share of the window, in the counter's tokens and without what is no message.
func (h *CompactionHook) compact(ctx context.Context, messages []*schema.Message, e estimate, share float64) (*Compaction, error) {
	c, err := h.cfg.Compactor.Compact(ctx, &CompactRequest{
		Messages:     messages,
		TargetTokens: max(int64(share*h.window/e.scale)-e.overhead, 0),
		Tokens:       e.counted,
		Counter:      h.cfg.TokenCounter,
	})
	if err == nil && c == nil {
		c = &Compaction{Messages: messages}
	}
	return c, err
}

func (h *CompactionHook) report(ctx context.Context, c *Compaction) {
	if h.cfg.OnCompaction != nil {
		h.cfg.OnCompaction(ctx, c)
	}
}

// estimate is what the next request will be.
type estimate struct {
	tokens   float64 // in the provider's tokens, with all that no message shows
	scale    float64 // the provider's tokens for one of the counter's
	counted  int64   // the messages, in the counter's tokens
	overhead int64   // tool schemas and ReservedTokens, in the counter's tokens
}

// estimate takes the usage that the last answer reported and adds what came since. A usage far below our own count is not
// believed, as some gateways report nonsense; a high one always is, because too small an estimate ends in a refused request.
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
	e := estimate{scale: 1, counted: sent + since, overhead: schemas + int64(h.cfg.ReservedTokens)}
	e.tokens = float64(e.counted + e.overhead)
	saved, err := h.savedSince(ctx, messages, at)
	if err != nil {
		return estimate{}, err
	}
	counted := float64(sent + saved + e.overhead)
	if usage <= 0 || float64(usage) < leastUsage*counted {
		return e, nil
	}
	e.scale = min(max(float64(usage)/counted, minScale), maxScale)
	e.tokens = float64(usage) + e.scale*float64(since-saved)
	return e, nil
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
		if msg == nil || len(msg.Extra) < 3 { // a mark has three keys, and to look for one costs more than to count the message
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
func lastUsage(messages []*schema.Message) (at, promptTokens int) {
	for i := len(messages) - 1; i >= 0; i-- {
		if m := messages[i]; m != nil && m.Role == schema.Assistant && m.ResponseMeta != nil && m.ResponseMeta.Usage != nil {
			return i, m.ResponseMeta.Usage.PromptTokens
		}
	}
	return 0, 0
}
