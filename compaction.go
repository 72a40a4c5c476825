package toolresult

// When to prune. Rewriting the past costs the provider's prompt cache, so it is done seldom and deep: there are two marks, one
// at which a compaction begins and a lower one at which it ends, and a rewrite that gains little is dropped.

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
	// Cache lets a rewrite through only where it saves more than it costs in the provider's prompt cache, unless the window itself
	// is exceeded. Optional. Default: only MinGain decides.
	Cache *CachePrices
	// Offload is the config that the offloader has, for its StepTokenLimit. Optional. NewHandler fills it in.
	Offload *OffloadConfig
	// TokenCounter counts messages and tool schemas. Optional. Default: that of NewTokenCounter with a nil config, a quarter of
	// the bytes.
	TokenCounter TokenCounter
	// ReservedTokens is what the hook cannot see, such as a system prompt that is added later. Tokens, of the counter. Optional.
	// 0 is none. Negative values, and those above 2^53, are refused.
	ReservedTokens int
	// Tools are the schemas to count where BeforeModel is given none, as in react. Optional.
	Tools []*schema.ToolInfo
	// OnCompaction is told of every rewrite, and of every one that was dropped as not worth its price: then Changed is false, Pruned
	// empty, and TokensAfter equals TokensBefore. Likewise where nothing can be done although the window is exceeded, which
	// Compaction.OverWindow says, or where results could not be archived. A caller who does not keep what BeforeModel returned is told of the
	// same rewrites at every call. It must not change the Compaction. Optional.
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
	steps  *offloader // nil: no StepTokenLimit
}

// NewCompactionHook returns a CompactionHook.
func NewCompactionHook(ctx context.Context, cfg *CompactionConfig) (*CompactionHook, error) {
	if cfg == nil {
		return nil, badConfig("CompactionConfig", "nil", "a config with a ContextWindow")
	}
	h := &CompactionHook{cfg: *cfg, window: float64(cfg.ContextWindow)}
	h.cfg.Tools = slices.Clone(cfg.Tools)
	if cfg.Cache != nil {
		prices := *cfg.Cache
		h.cfg.Cache = &prices
	}
	h.cfg.CompactAt = shareOr(cfg.CompactAt, defaultCompactAt)
	h.cfg.CompactTo = shareOr(cfg.CompactTo, defaultCompactTo)
	h.cfg.MinGain = shareOr(cfg.MinGain, defaultMinGain)
	if err := checkCompaction(&h.cfg); err != nil {
		return nil, err
	}
	if err := h.cfg.fillIn(ctx); err != nil {
		return nil, err
	}
	if cfg.Offload == nil {
		return h, nil
	}
	o, err := newOffloader(cfg.Offload)
	if err != nil {
		return nil, err
	}
	h.limitSteps(o)
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

// limitSteps makes the hook keep the StepTokenLimit of an offloader, if it has one.
func (h *CompactionHook) limitSteps(o *offloader) {
	if o.cfg.StepTokenLimit > 0 {
		h.steps = o
	}
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
	case cfg.ReservedTokens < 0 || int64(cfg.ReservedTokens) > maxCount:
		return badConfig("CompactionConfig.ReservedTokens", cfg.ReservedTokens, "0 or more, up to 2^53")
	}
	if err := checkCache(cfg.Cache); err != nil {
		return err
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

// BeforeModel returns the conversation to send to the model, the caller's own slice where nothing changed. tools are the schemas that
// go with the request; nil means those of the config.
//
// Keep what it returns: then it costs no more than one count of the messages, and allocates nothing while nothing is due. A caller who
// throws it away gets the same bytes all the same, so that the provider's prompt cache holds: the hook goes over the conversation
// and decides at each answer of the model as it would have decided then, which costs as much as all prunes so far. That takes a
// Pruner, and a counter of NewTokenCounter or another that has ExceedsTokens. With others it decides at the end alone, and such a
// caller has results pruned anew at every call.
//
// Where the usage of an answer shows that its request was sent whole, because the hook was not there yet, nothing is pruned at
// that answer. Earlier answers are taken to have had the same tools.
//
// Its errors are those of the counter, the end of the context while something is stored, and with StepTokenLimit those of the offloader under
// FailCall. Beside an error it returns the conversation as it was.
func (h *CompactionHook) BeforeModel(ctx context.Context, messages []*schema.Message, tools []*schema.ToolInfo) ([]*schema.Message, error) {
	tools = h.toolsOr(tools)
	if h.replays() {
		r := replay{CompactionHook: h, messages: messages}
		r.own, _ = h.cfg.TokenCounter.(*messageCounter)
		return r.beforeModel(ctx, tools)
	}
	limited, err := h.limitAllSteps(ctx, messages)
	if err != nil {
		return messages, err
	}
	compacted, err := h.beforeModelOnce(ctx, limited, tools)
	if err != nil {
		return messages, err
	}
	return compacted, nil
}

// chooseWorth lets a run choose what goes for a target, and reports whether that is dropped, as it is not worth it.
func (h *CompactionHook) chooseWorth(ctx context.Context, run *pruning, e estimate, b *cacheBooks, target int64, at int) (chosen choice, dropped bool, err error) {
	chosen, err = run.choose(ctx, run.tokens-target)
	if err != nil || len(chosen.swaps) == 0 {
		return chosen, false, err
	}
	worth, err := h.isWorth(ctx, e, b, run.messages[:at], chosen.first, chosen.saved)
	return chosen, !worth, err
}

// isWorth reports whether a rewrite that begins at a message gains enough, or must be because the window is exceeded. The books may
// be missing where there are no prices.
func (h *CompactionHook) isWorth(ctx context.Context, e estimate, b *cacheBooks, messages []*schema.Message, first int, saved int64) (bool, error) {
	if e.tokens > h.window {
		return true, nil
	}
	if e.scale*float64(saved) < h.cfg.MinGain*h.window {
		return false, nil
	}
	if h.cfg.Cache == nil {
		return true, nil
	}
	return h.paysOff(ctx, b, messages, e.counted, first, saved)
}

func (h *CompactionHook) toolsOr(tools []*schema.ToolInfo) []*schema.ToolInfo {
	if len(tools) == 0 {
		return h.cfg.Tools
	}
	return tools
}

// compact asks the compactor for a share of the window.
func (h *CompactionHook) compact(ctx context.Context, messages []*schema.Message, e estimate, share float64) (*Compaction, error) {
	c, err := h.cfg.Compactor.Compact(ctx, &CompactRequest{
		Messages:     messages,
		TargetTokens: h.target(e, share),
		Tokens:       e.counted,
		Counter:      h.cfg.TokenCounter,
	})
	if err == nil && c == nil {
		c = &Compaction{Messages: messages}
	}
	return c, err
}

// target is a share of the window in the counter's tokens and without what is no message.
func (h *CompactionHook) target(e estimate, share float64) int64 {
	return max(int64(share*h.window/e.scale)-e.overhead, 0)
}

// report tells of a rewrite, and of whatever else a user should know: that one was dropped, that the window is exceeded all the same, or
// that something could not be archived.
func (h *CompactionHook) report(ctx context.Context, c *Compaction, dropped bool) {
	if h.cfg.OnCompaction != nil && (c.Changed || dropped || c.OverWindow || c.Err != nil) {
		h.cfg.OnCompaction(ctx, c)
	}
}
