package toolresult

// What becomes of a result that should be stored and cannot be: the call fails, or the model reads all of it, or as much as fits.

import (
	"context"
	"fmt"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/compose"
)

// FailurePolicy says what a tool call returns when its result should be stored and cannot be.
type FailurePolicy int

const (
	// FailCall returns the error, wrapped. It is the default, because nothing is lost unnoticed.
	FailCall FailurePolicy = iota
	// PassThrough returns the original result, however large.
	PassThrough
	// TruncateInline returns head and tail of the result, within the limit, with a line that says that it was not saved and
	// why in a word. What is left out is lost. Where no excerpt fits, the original result is returned.
	TruncateInline
)

// verdict is what the model reads in place of a text, perhaps the text itself.
type verdict struct {
	text string
	path string // where the whole text lies; empty if it was not stored
}

// fail does with a result that cannot be stored what the policy says. The error is wrapped here and nowhere else.
func (o *offloader) fail(ctx context.Context, input *compose.ToolInput, text string, limit int, f failure) (verdict, error) {
	err := f.wrap(input.CallID)
	o.report(ctx, input, OffloadEvent{Path: f.path, Bytes: int64(len(text)), Lines: countLines(text), Err: err})
	switch o.cfg.OnFailure {
	case PassThrough:
		return verdict{text: text}, nil
	case TruncateInline:
		return verdict{text: o.truncate(ctx, input, text, limit, f.stage)}, nil
	}
	return verdict{}, err
}

// truncate finds an excerpt within the limit and below the original by keeping less and less.
func (o *offloader) truncate(ctx context.Context, input *compose.ToolInput, text string, limit int, s stage) string {
	if o.fits(ctx, input, text, limit) {
		return text // only a counter that failed for the whole text comes here
	}
	for budget := 4 * min(limit, len(text)); budget > 0; budget = budget * 7 / 8 {
		short := excerpt(text, budget, s.reason(o.cfg.Language), o.cfg.Language)
		if len(short) < len(text) && o.fits(ctx, input, short, limit) {
			return short
		}
	}
	return text
}

// fits falls back on the default count where the counter fails: an excerpt is needed just then.
func (o *offloader) fits(ctx context.Context, input *compose.ToolInput, text string, limit int) bool {
	size, err := o.size.exceeds(ctx, input, text, limit)
	if err != nil {
		return EstimateTokens(text) <= limit
	}
	return !size.over
}

// failure is an error on the way into the backend.
type failure struct {
	stage stage
	path  string // empty before there is one
	err   error
}

func (f failure) wrap(callID string) error {
	if f.path == "" {
		return fmt.Errorf("toolresult: %s the result of call %q: %w", f.stage.verb(), callID, f.err)
	}
	return fmt.Errorf("toolresult: %s the result of call %q in %q: %w", f.stage.verb(), callID, f.path, f.err)
}

// stage is how far a result came.
type stage int

const (
	counting stage = iota
	sampling
	naming
	storing
)

func (s stage) verb() string {
	return [...]string{"count", "sample", "name a file for", "store"}[s]
}

// reason is the word that an excerpt gives the model. It says nothing of the error itself, which may name hosts and keys.
func (s stage) reason(lang adk.Language) string {
	english := [...]string{"counting failed", "sampling failed", "naming failed", "writing failed"}
	chinese := [...]string{"计数失败", "采样失败", "命名失败", "写入失败"}
	return inLanguage(lang, english[s], chinese[s])
}
