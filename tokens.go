package toolresult

// The one token-estimation helper. Offloading and pruning judge by the same numbers: four bytes a token unless a better
// counter is given. A counter has the signature that Eino's own middlewares take.

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"

	"github.com/cloudwego/eino/schema"

	"github.com/eino-toolresult/toolresult/tokenest"
)

// TokenCounter counts the tokens of messages and of tool schemas together. The signature is the one that Eino's
// reduction and summarization middlewares take.
//
// CountTokens must be safe for concurrent use and must not change its arguments. Its counts should add up: the sum over
// the messages is the count of the conversation.
//
// A counter may also have the method
//
//	ExceedsTokens(text string, limit int) bool
//
// which reports whether a text alone has more than limit tokens. Then a huge result need not be counted to its end.
type TokenCounter interface {
	CountTokens(ctx context.Context, messages []*schema.Message, tools []*schema.ToolInfo) (int64, error)
}

// TokenCounterFunc makes a TokenCounter of a function, such as one written for Eino's own middlewares.
type TokenCounterFunc func(ctx context.Context, messages []*schema.Message, tools []*schema.ToolInfo) (int64, error)

// CountTokens calls f.
func (f TokenCounterFunc) CountTokens(ctx context.Context, messages []*schema.Message, tools []*schema.ToolInfo) (int64, error) {
	return f(ctx, messages, tools)
}

// textLimiter is what a counter may offer beyond TokenCounter.
type textLimiter interface {
	ExceedsTokens(text string, limit int) bool
}

// EstimateTokens estimates the tokens of a text as a quarter of its bytes, rounded up. It costs nothing and overflows
// never. It is about right for English prose and for code; it is far too low for base64, numbers and UUIDs, and too high
// for some scripts.
func EstimateTokens(text string) int {
	return quarter(len(text))
}

// quarter rounds up. No sum of a length and 3 overflows an unsigned number.
func quarter(bytes int) int { return int((uint(bytes) + 3) / 4) }

// TextEstimator estimates the tokens of one text.
type TextEstimator interface {
	// Estimate returns the estimated number of tokens, 0 for the empty text.
	Estimate(text string) int
	// Exceeds must agree with Estimate(text) > limit and may stop as soon as the answer is known.
	Exceeds(text string, limit int) bool
}

// TokenCounterConfig refines the counter that NewTokenCounter makes.
type TokenCounterConfig struct {
	// Text estimates every text in a message and in a tool schema. Optional. Default: a quarter of the bytes, as
	// EstimateTokens.
	Text TextEstimator
	// TokensPerMessage is added for each message, for the role and the framing that providers put around it. Tokens.
	// Optional. Default 0, which adds nothing; OpenAI's chat format takes 3. Negative values are refused.
	TokensPerMessage int
	// TokensPerImage is charged for each image, whatever its size; base64 is never counted as text. Tokens. Optional. 0
	// means 1600, what Anthropic charges for the largest image that it does not scale down. Negative: images are free.
	TokensPerImage int
	// TokensPerFile is charged for each audio, video or file part. Tokens. Optional. 0 means 2000, about one page of a
	// PDF as Anthropic and OpenAI count it (text and picture). Negative: such parts are free.
	TokensPerFile int
	// IgnoreReasoning leaves the reasoning of assistant messages out, for providers that drop it from the next request.
	// Optional. Default false: it is counted, as Eino's own counters do.
	IgnoreReasoning bool
}

// NewTokenCounter returns a counter of whole conversations. It adds, for each message, its content or its parts, its
// reasoning, and the names and arguments of its tool calls; and for each tool its name, its description and the JSON of
// its parameters, which is rendered once per *schema.ToolInfo, so a ToolInfo must not be changed once it was counted. A
// nil config asks for all defaults. The counter has ExceedsTokens, is safe for concurrent use, and allocates nothing per
// message.
func NewTokenCounter(_ context.Context, cfg *TokenCounterConfig) (TokenCounter, error) {
	if cfg == nil {
		cfg = &TokenCounterConfig{}
	}
	if cfg.TokensPerMessage < 0 {
		return nil, badConfig("TokenCounterConfig.TokensPerMessage", cfg.TokensPerMessage, "0 (adds nothing) or more")
	}
	c := &messageCounter{
		text:       cfg.Text,
		perMessage: int64(cfg.TokensPerMessage),
		perImage:   charge(cfg.TokensPerImage, 1600),
		perFile:    charge(cfg.TokensPerFile, 2000),
		reasoning:  !cfg.IgnoreReasoning,
		schemas:    make(map[*schema.ToolInfo]int64),
	}
	if c.text == nil {
		c.text, c.quarters = quarterBytes{}, true
	}
	return c, nil
}

// charge resolves a flat charge whose zero value asks for the default.
func charge(tokens, byDefault int) int64 {
	if tokens == 0 {
		return int64(byDefault)
	}
	return int64(max(tokens, 0))
}

// quarterBytes is the default TextEstimator.
type quarterBytes struct{}

func (quarterBytes) Estimate(text string) int            { return EstimateTokens(text) }
func (quarterBytes) Exceeds(text string, limit int) bool { return EstimateTokens(text) > limit }

// maxCachedSchemas bounds the memory of a counter in a process that makes new tools for every request.
const maxCachedSchemas = 4096

type messageCounter struct {
	text                          TextEstimator
	quarters                      bool // text is the default
	perMessage, perImage, perFile int64
	reasoning                     bool

	mu      sync.Mutex
	schemas map[*schema.ToolInfo]int64
}

// ExceedsTokens reports whether a text alone has more than limit tokens.
func (c *messageCounter) ExceedsTokens(text string, limit int) bool {
	return c.text.Exceeds(text, limit)
}

func (c *messageCounter) newMeter() textMeter {
	switch text := c.text.(type) {
	case quarterBytes:
		return &byteMeter{}
	case *tokenest.Estimator:
		return text.Meter()
	}
	return nil
}

// CountTokens implements TokenCounter. Nil messages and tools count nothing.
func (c *messageCounter) CountTokens(_ context.Context, messages []*schema.Message, tools []*schema.ToolInfo) (int64, error) {
	total := c.messages(messages)
	if len(tools) == 0 {
		return total, nil
	}
	inSchemas, err := c.countSchemas(tools)
	return total + inSchemas, err
}

// messages counts a conversation. As this is done before every model call, the default counter has a way of its own.
func (c *messageCounter) messages(messages []*schema.Message) (total int64) {
	for _, m := range messages {
		if m != nil {
			total += c.perMessage + c.one(m)
		}
	}
	return total
}

// one counts what a message says.
func (c *messageCounter) one(m *schema.Message) int64 {
	if !c.quarters || hasParts(m) {
		return c.message(m)
	}
	total := quarter(len(m.Content))
	if c.reasoning {
		total += quarter(len(m.ReasoningContent))
	}
	for i := range m.ToolCalls {
		total += quarter(len(m.ToolCalls[i].Function.Name)) + quarter(len(m.ToolCalls[i].Function.Arguments))
	}
	return int64(total)
}

func hasParts(m *schema.Message) bool {
	return len(m.UserInputMultiContent)+len(m.AssistantGenMultiContent)+len(m.MultiContent) > 0
}

func (c *messageCounter) message(m *schema.Message) int64 {
	total := c.content(m)
	if c.reasoning {
		total += c.count(m.ReasoningContent)
	}
	for i := range m.ToolCalls {
		total += c.count(m.ToolCalls[i].Function.Name) + c.count(m.ToolCalls[i].Function.Arguments)
	}
	return total
}

// count asks no estimator about nothing, which is what most fields of a message hold.
func (c *messageCounter) count(text string) int64 {
	if text == "" {
		return 0
	}
	return int64(c.text.Estimate(text))
}

// content counts the parts of a message, or its Content where it has none, as model clients send one or the other.
func (c *messageCounter) content(m *schema.Message) int64 {
	if !hasParts(m) {
		return c.count(m.Content)
	}
	var total int64
	for i := range m.UserInputMultiContent {
		p := &m.UserInputMultiContent[i]
		total += c.part(p.Type, p.Text)
		if p.ToolSearchResult != nil {
			found, _ := c.countSchemas(p.ToolSearchResult.Tools) // a schema that cannot be rendered is not sent either
			total += found
		}
	}
	for i := range m.AssistantGenMultiContent {
		p := &m.AssistantGenMultiContent[i]
		total += c.part(p.Type, p.Text)
		if c.reasoning && p.Reasoning != nil {
			total += c.count(p.Reasoning.Text)
		}
	}
	for i := range m.MultiContent {
		total += c.part(m.MultiContent[i].Type, m.MultiContent[i].Text)
	}
	return total
}

func (c *messageCounter) part(kind schema.ChatMessagePartType, text string) int64 {
	switch kind {
	case schema.ChatMessagePartTypeImageURL:
		return c.perImage
	case schema.ChatMessagePartTypeAudioURL, schema.ChatMessagePartTypeVideoURL, schema.ChatMessagePartTypeFileURL:
		return c.perFile
	}
	return c.count(text)
}

func (c *messageCounter) countSchemas(tools []*schema.ToolInfo) (int64, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var total int64
	for _, info := range tools {
		if info == nil {
			continue
		}
		tokens, known := c.schemas[info]
		if !known {
			var err error
			if tokens, err = c.renderSchema(info); err != nil {
				return 0, err
			}
			if len(c.schemas) >= maxCachedSchemas {
				clear(c.schemas)
			}
			c.schemas[info] = tokens
		}
		total += tokens
	}
	return total, nil
}

func (c *messageCounter) renderSchema(info *schema.ToolInfo) (int64, error) {
	total := c.count(info.Name) + c.count(info.Desc)
	if info.ParamsOneOf == nil {
		return total, nil
	}
	params, err := info.ToJSONSchema()
	if err != nil {
		return 0, fmt.Errorf("toolresult: schema of tool %q: %w", info.Name, err)
	}
	text, err := json.Marshal(params)
	if err != nil {
		return 0, fmt.Errorf("toolresult: schema of tool %q: %w", info.Name, err)
	}
	return total + c.count(string(text)), nil
}
