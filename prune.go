package toolresult

// Old tool output is the cheapest context to give up: the call stays visible, its result becomes one line, and the model can
// call again. The rule is Haystack's: oldest first, only as many as are needed, and never those of the newest steps. Every call
// keeps its result, in place, so the conversation stays one that providers accept.

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/schema"
)

const (
	placeholderEnglish = "[Tool result removed to free up context. Call `{tool_name}` again if you need it.]"
	placeholderChinese = "[工具结果已移除以释放上下文。如有需要，请再次调用 `{tool_name}`。]"

	defaultMinTokens = 200
)

// Compactor makes a conversation smaller. *Pruner is one.
//
// Compact must not change the messages it is given, nor the slice. It should stop at the target and must report what it reached.
type Compactor interface {
	Compact(ctx context.Context, req *CompactRequest) (*Compaction, error)
}

// CompactRequest asks for a conversation to be made smaller.
type CompactRequest struct {
	// Messages is the conversation. It is never changed.
	Messages []*schema.Message
	// TargetTokens is the size to come down to, in tokens of Counter. A goal, not a guarantee. Below 0 counts as 0.
	TargetTokens int64
	// Tokens is the count of Messages by Counter, where the caller has it. 0 means not counted yet.
	Tokens int64
	// Counter counts messages. Nil means a quarter of the bytes.
	Counter TokenCounter
}

// Compaction is what came of a CompactRequest.
type Compaction struct {
	// Messages is the conversation now, the caller's own slice where nothing changed.
	Messages []*schema.Message
	// Changed reports whether anything changed.
	Changed bool
	// TokensBefore and TokensAfter are the size of the conversation, in the counter's tokens.
	TokensBefore, TokensAfter int64
	// TargetTokens is the target of the request; TokensAfter above it means that it was missed.
	TargetTokens int64
	// Pruned are the results that were replaced, oldest first.
	Pruned []PrunedResult
}

// PrunedResult tells of one result that became a placeholder.
type PrunedResult struct {
	// Index is the place of the message in the conversation.
	Index int
	// CallID and ToolName are those of the tool call that the result answers.
	CallID, ToolName string
	// TokensBefore and TokensAfter are the size of the message, in the counter's tokens.
	TokensBefore, TokensAfter int64
	// Path is where the result can still be read. Empty: nowhere.
	Path string
}

// PruneConfig configures NewPruner.
type PruneConfig struct {
	// MinKeepSteps is how many of the newest tool-calling steps keep their results, whatever the target. A step is an
	// assistant message with tool calls and the results that answer it. Steps. Optional. 0 means 1. Negative values are refused.
	MinKeepSteps int
	// MinTokens is the size up to which a result is not worth a placeholder. Tokens, of the counter. Optional. 0 means 200; 1
	// prunes results of any size. Negative values are refused.
	MinTokens int
	// Placeholder takes the place of a result. {tool_name} in it becomes the tool's name; other braces stay. A result to which it
	// saves nothing stays, so keep it short: half of all results are below 170 bytes. Optional. Default: a line in Language.
	Placeholder string
	// SkipExtraKeys protect a result whose message, or a part of it, has one of them in Extra. Optional. Nil means
	// {"tool_result_offloaded"}; an empty slice protects none.
	SkipExtraKeys []string
	// ExcludeTools are tools whose results stay. Optional.
	ExcludeTools []string
	// Language is that of the default placeholder. Optional. Default English.
	Language adk.Language
}

// Pruner replaces older tool results by placeholders. It keeps no state and is safe for concurrent use.
type Pruner struct {
	keepSteps   int
	minTokens   int64
	placeholder string
	nameless    string // stands in for the name of a tool that nobody knows
	skipKeys    []string
	exclude     []string
	counter     TokenCounter
}

// NewPruner returns a Pruner. A nil config asks for all defaults.
func NewPruner(ctx context.Context, cfg *PruneConfig) (*Pruner, error) {
	if cfg == nil {
		cfg = &PruneConfig{}
	}
	if err := checkPrune(cfg); err != nil {
		return nil, err
	}
	counter, err := NewTokenCounter(ctx, nil)
	if err != nil {
		return nil, err
	}
	p := &Pruner{
		keepSteps:   orDefault(cfg.MinKeepSteps, 1),
		minTokens:   int64(orDefault(cfg.MinTokens, defaultMinTokens)),
		placeholder: nonEmpty(cfg.Placeholder, inLanguage(cfg.Language, placeholderEnglish, placeholderChinese)),
		nameless:    inLanguage(cfg.Language, "the same tool", "原工具"),
		skipKeys:    []string{offloadedKey},
		exclude:     slices.Clone(cfg.ExcludeTools),
		counter:     counter,
	}
	if cfg.SkipExtraKeys != nil {
		p.skipKeys = slices.Clone(cfg.SkipExtraKeys)
	}
	return p, nil
}

func checkPrune(cfg *PruneConfig) error {
	switch {
	case cfg.MinKeepSteps < 0:
		return badConfig("PruneConfig.MinKeepSteps", cfg.MinKeepSteps, "0 (the default, 1) or more")
	case cfg.MinTokens < 0:
		return badConfig("PruneConfig.MinTokens", cfg.MinTokens, "0 (the default, 200) or more")
	case cfg.Placeholder != printable(cfg.Placeholder):
		return badConfig("PruneConfig.Placeholder", strconv.Quote(cfg.Placeholder), "valid UTF-8 without NUL, as providers refuse anything else")
	}
	return checkLanguage("PruneConfig.Language", cfg.Language)
}

// Compact replaces tool results by placeholders, oldest first, until the conversation meets the target. It goes over the
// conversation once, counts the whole once (unless the request brings the count), and then only the results that may go and
// their placeholders. Its only errors are those of the counter.
func (p *Pruner) Compact(ctx context.Context, req *CompactRequest) (*Compaction, error) {
	if req == nil {
		return nil, badConfig("CompactRequest", "nil", "a request")
	}
	counter := req.Counter
	if counter == nil {
		counter = p.counter
	}
	tokens := req.Tokens
	if tokens <= 0 {
		var err error
		if tokens, err = countMessages(ctx, counter, req.Messages, nil); err != nil {
			return nil, err
		}
	}
	c := &Compaction{Messages: req.Messages, TokensBefore: tokens, TokensAfter: tokens, TargetTokens: max(req.TargetTokens, 0)}
	if tokens <= c.TargetTokens {
		return c, nil
	}
	run := pruning{Pruner: p, counter: counter, messages: req.Messages, texts: make(map[string]string)}
	for _, r := range olderResults(messageHistory(req.Messages), p.keepSteps) {
		if err := run.prune(ctx, c, r); err != nil {
			return nil, err
		}
		if c.TokensAfter <= c.TargetTokens {
			break
		}
	}
	return c, nil
}

// pruning is one Compact. It keeps what is the same for many results, which would otherwise be most of the work.
type pruning struct {
	*Pruner
	counter  TokenCounter
	messages []*schema.Message
	texts    map[string]string  // placeholders by tool
	short    [1]*schema.Message // the message to count
}

// prune replaces one result, if that is allowed and saves something. The slice is copied before its first change.
func (p *pruning) prune(ctx context.Context, c *Compaction, r toolResult) error {
	msg := p.messages[r.index]
	if p.stays(msg, r.tool) {
		return nil
	}
	before, err := countMessages(ctx, p.counter, p.messages[r.index:r.index+1], nil)
	if err != nil || before <= p.minTokens {
		return err
	}
	short := replaceResult(msg, p.text(r.tool), before, len(p.messages))
	p.short[0] = short
	after, err := countMessages(ctx, p.counter, p.short[:], nil)
	if err != nil || after >= before {
		return err
	}
	if !c.Changed {
		c.Messages, c.Changed = slices.Clone(p.messages), true
	}
	c.Messages[r.index] = short
	c.TokensAfter -= before - after
	c.Pruned = append(c.Pruned, PrunedResult{Index: r.index, CallID: r.callID, ToolName: r.tool, TokensBefore: before, TokensAfter: after})
	return nil
}

// stays reports whether a result is to be left alone whatever its size. A notice of the offloader is, as the model's only
// way to the whole result.
func (p *Pruner) stays(msg *schema.Message, tool string) bool {
	if slices.Contains(p.exclude, tool) || isMarked(msg) {
		return true
	}
	for _, key := range p.skipKeys {
		if hasExtra(msg, key) {
			return true
		}
	}
	_, isNotice := OffloadedPath(msg)
	return isNotice
}

func (p *pruning) text(tool string) string {
	text, known := p.texts[tool]
	if !known {
		text = strings.ReplaceAll(p.placeholder, "{tool_name}", nonEmpty(printableID(tool), p.nameless))
		p.texts[tool] = text
	}
	return text
}

// countMessages calls a counter, which need not know what to do with missing messages.
func countMessages(ctx context.Context, counter TokenCounter, messages []*schema.Message, tools []*schema.ToolInfo) (int64, error) {
	if slices.Contains(messages, nil) {
		messages = slices.DeleteFunc(slices.Clone(messages), func(m *schema.Message) bool { return m == nil })
	}
	tokens, err := counter.CountTokens(ctx, messages, tools)
	if err != nil {
		return 0, fmt.Errorf("toolresult: count the tokens of %d messages: %w", len(messages), err)
	}
	return tokens, nil
}
