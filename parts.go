package toolresult

// Enhanced results are lists of parts. Their texts are judged together, as the model reads them together; pictures and files
// are none of our business and stay where they are.

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/schema"
)

func (o *offloader) enhancedInvokable(next compose.EnhancedInvokableToolEndpoint) compose.EnhancedInvokableToolEndpoint {
	return func(ctx context.Context, input *compose.ToolInput) (*compose.EnhancedInvokableToolOutput, error) {
		out, err := next(ctx, input)
		if err != nil || out == nil {
			return out, err
		}
		result, err := o.enhancedResult(ctx, input, out.Result)
		if err != nil {
			return nil, err
		}
		if result == out.Result {
			return out, nil
		}
		return &compose.EnhancedInvokableToolOutput{Result: result}, nil
	}
}

// enhancedResult returns what the model reads in place of a result.
func (o *offloader) enhancedResult(ctx context.Context, input *compose.ToolInput, result *schema.ToolResult) (*schema.ToolResult, error) {
	if result == nil || o.ignores(ctx, input) {
		return result, nil
	}
	parts, changed, err := o.judgeParts(ctx, input, result.Parts)
	if err != nil {
		return nil, err
	}
	if !changed {
		return result, nil
	}
	return &schema.ToolResult{Parts: parts}, nil
}

// judgeParts does for the text parts of an enhanced result, taken together, what judge does for a text. Parts of other
// kinds stay where they are.
func (o *offloader) judgeParts(ctx context.Context, input *compose.ToolInput, parts []schema.ToolOutputPart) ([]schema.ToolOutputPart, bool, error) {
	transformed, changed, err := o.transformParts(ctx, input, parts)
	if err != nil {
		return nil, false, err
	}
	text := joinTexts(transformed)
	v, err := o.judge(ctx, input, text)
	if err != nil {
		return nil, false, err
	}
	if v.text == text {
		return transformed, changed, nil
	}
	return replaceTexts(transformed, v), true, nil
}

func (o *offloader) transformParts(ctx context.Context, input *compose.ToolInput, parts []schema.ToolOutputPart) ([]schema.ToolOutputPart, bool, error) {
	if o.cfg.Transform == nil {
		return parts, false, nil
	}
	transformed, changed := slices.Clone(parts), false
	for i := range parts {
		if parts[i].Type != schema.ToolPartTypeText {
			continue
		}
		text, err := o.transform(ctx, input, parts[i].Text)
		if err != nil {
			return nil, false, err
		}
		transformed[i].Text = text
		changed = changed || text != parts[i].Text
	}
	return transformed, changed, nil
}

// joinTexts returns the text of all text parts. Neighbours are one text that came in pieces; texts that other parts keep
// apart are told apart by a newline.
func joinTexts(parts []schema.ToolOutputPart) string {
	var texts []string
	apart := false
	for i := range parts {
		if parts[i].Type != schema.ToolPartTypeText {
			apart = true
			continue
		}
		if apart && len(texts) > 0 {
			texts = append(texts, "\n")
		}
		apart = false
		texts = append(texts, parts[i].Text)
	}
	if len(texts) == 1 {
		return texts[0]
	}
	return strings.Join(texts, "")
}

// replaceTexts puts what the model is to read in the place of the first text part and leaves the other texts out.
func replaceTexts(parts []schema.ToolOutputPart, v verdict) []schema.ToolOutputPart {
	var replaced []schema.ToolOutputPart
	done := false
	for _, p := range parts {
		if p.Type != schema.ToolPartTypeText {
			replaced = append(replaced, p)
			continue
		}
		if done {
			continue
		}
		done = true
		p.Text = v.text
		if v.path != "" {
			extra := make(map[string]any, len(p.Extra)+1)
			maps.Copy(extra, p.Extra)
			extra[offloadedKey] = v.path
			p.Extra = extra
		}
		replaced = append(replaced, p)
	}
	return replaced
}
