package toolresult

// How large one text is for the offloader: held against a limit, whole or in pieces, by the same numbers as everything else.

import (
	"context"

	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/schema"
)

// textSizer measures single texts, with the counter that was given or by EstimateTokens.
type textSizer struct {
	counter TokenCounter // nil: EstimateTokens
	limiter textLimiter  // nil: counter has no ExceedsTokens
}

// textSize is what is known of the size of a text after it was held against a limit.
type textSize struct {
	over   bool
	tokens int64 // -1: not counted, as the comparison did not need it
}

func (s *textSizer) exceeds(ctx context.Context, call *compose.ToolInput, text string, limit int) (textSize, error) {
	if s.limiter != nil {
		return textSize{s.limiter.ExceedsTokens(text, limit), -1}, nil
	}
	tokens, err := s.count(ctx, call, text)
	return textSize{tokens > int64(limit), tokens}, err
}

func (s *textSizer) count(ctx context.Context, call *compose.ToolInput, text string) (int64, error) {
	if s.counter == nil {
		return int64(EstimateTokens(text)), nil
	}
	if own, ok := s.counter.(*messageCounter); ok {
		return own.count(text), nil // the text alone, as a meter counts it too
	}
	msg := schema.ToolMessage(text, call.CallID, schema.WithToolName(call.Name))
	return s.counter.CountTokens(ctx, []*schema.Message{msg}, nil)
}

// newMeter returns a meter that gives the counter's numbers, nil where the counter has none.
func (s *textSizer) newMeter() textMeter {
	if s.counter == nil {
		return &byteMeter{}
	}
	if c, ok := s.counter.(*messageCounter); ok {
		return c.newMeter()
	}
	return nil
}

// byteMeter is EstimateTokens for a text in pieces.
type byteMeter struct{ bytes int }

func (m *byteMeter) WriteString(text string) (int, error) {
	m.bytes += len(text)
	return len(text), nil
}

func (m *byteMeter) Tokens() int            { return quarter(m.bytes) }
func (m *byteMeter) Exceeds(limit int) bool { return m.Tokens() > limit }

// smaller reports whether a notice is shorter than a text both in tokens and in bytes, and counts the notice.
func (s *textSizer) smaller(ctx context.Context, call *compose.ToolInput, said, text string, size textSize) (tokens int64, smaller bool, err error) {
	tokens, err = s.count(ctx, call, said)
	if err != nil || len(said) >= len(text) {
		return tokens, false, err
	}
	if size.tokens >= 0 {
		return tokens, tokens < size.tokens, nil
	}
	return tokens, s.limiter.ExceedsTokens(text, int(tokens)), nil
}
