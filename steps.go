package toolresult

// Results that are each below the limit and together are not: many calls in one step. The middleware sees one result at a
// time, so the hook looks at a step before the model does, and offloads the largest results as the middleware would have done. That is
// offloading, not pruning: nobody has read them yet, and what the model gets is a notice. Older steps are looked at too, as the
// caller may not have kept what came of them.

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/schema"
)

// stepResult is a result of the newest step that may be offloaded.
type stepResult struct {
	index  int
	input  *compose.ToolInput
	text   string
	tokens int64
}

// limitStep offloads the largest of some results until they are within StepTokenLimit together, or nothing is left to offload. It
// hands each replacement to put.
func (o *offloader) limitStep(ctx context.Context, messages []*schema.Message, results []toolResult, put func(index int, msg *schema.Message)) error {
	limit := int64(o.cfg.StepTokenLimit)
	may, total, err := o.measureStep(ctx, messages, results)
	if err != nil || total <= limit {
		return err
	}
	slices.SortStableFunc(may, func(a, b stepResult) int { return cmp.Compare(b.tokens, a.tokens) })
	for _, r := range may {
		if total <= limit {
			break
		}
		v, err := o.offloadNow(ctx, r, o.cfg.StepTokenLimit/len(results))
		if err != nil {
			return err
		}
		if v.text == r.text {
			continue
		}
		left, err := o.size.count(ctx, r.input, v.text)
		if err != nil {
			return failure{stage: counting, path: v.path, err: err}.wrap(r.input.CallID)
		}
		total -= r.tokens - left
		put(r.index, withVerdict(messages[r.index], v))
	}
	return nil
}

// measureStep counts the texts of a step and finds those that may be offloaded.
func (o *offloader) measureStep(ctx context.Context, messages []*schema.Message, results []toolResult) (may []stepResult, total int64, err error) {
	for _, r := range results {
		msg := messages[r.index]
		s := stepResult{index: r.index, input: inputFor(messages, &r), text: messageText(msg)}
		if s.tokens, err = o.size.count(ctx, s.input, s.text); err != nil {
			return nil, 0, failure{stage: counting, err: err}.wrap(r.callID)
		}
		total += s.tokens
		if o.mayOffload(ctx, s.input, msg) {
			may = append(may, s)
		}
	}
	return may, total, nil
}

// mayOffload holds for a result that is whole and that the middleware would have looked at.
func (o *offloader) mayOffload(ctx context.Context, input *compose.ToolInput, msg *schema.Message) bool {
	_, isNotice := OffloadedPath(msg)
	if isNotice || isMarked(msg) || hasExtra(msg, notSavedKey) {
		return false
	}
	return !goesToUser(ctx, input.Name) && !o.ignores(ctx, input) && o.limit(input.Name) >= 0
}

// bytesOfResults is never less than their tokens, and costs nothing.
func bytesOfResults(messages []*schema.Message) (total int) {
	for _, msg := range messages {
		if msg == nil || msg.Role != schema.Tool {
			continue
		}
		total += len(msg.Content)
		for i := range msg.UserInputMultiContent {
			total += len(msg.UserInputMultiContent[i].Text)
		}
	}
	return total
}

// offloadNow offloads a text whatever its size, or does what the policy says where it cannot be stored.
func (o *offloader) offloadNow(ctx context.Context, r stepResult, limit int) (verdict, error) {
	v, failed := o.offload(ctx, r.input, r.text, textSize{over: true, tokens: r.tokens})
	if failed.err != nil {
		return o.fail(ctx, r.input, r.text, limit, failed)
	}
	return v, nil
}

// inputFor is the call that a result answers, as the middleware sees it.
func inputFor(messages []*schema.Message, r *toolResult) *compose.ToolInput {
	input := &compose.ToolInput{Name: r.tool, CallID: r.callID}
	if r.call.message >= 0 {
		input.Arguments = messages[r.call.message].ToolCalls[r.call.nth].Function.Arguments
	}
	return input
}

// messageText is the text of a result as the model reads it, without its other parts.
func messageText(msg *schema.Message) string {
	if len(msg.UserInputMultiContent) == 0 {
		return msg.Content
	}
	return joinTexts(outputParts(msg.UserInputMultiContent))
}

// notSavedKey marks what is left of a result that could not be saved, so that it is not taken for the whole.
const notSavedKey = "tool_result_not_saved"

// withVerdict is a message with what the model is to read in place of its text.
func withVerdict(msg *schema.Message, v verdict) *schema.Message {
	short := *msg
	if v.path == "" {
		short.Extra = make(map[string]any, len(msg.Extra)+1)
		maps.Copy(short.Extra, msg.Extra)
		short.Extra[notSavedKey] = true
	}
	if len(msg.UserInputMultiContent) == 0 {
		short.Content = v.text
		return &short
	}
	others := slices.DeleteFunc(slices.Clone(msg.UserInputMultiContent), isTextPart)
	short.UserInputMultiContent = nil
	for _, p := range replaceTexts(outputParts(msg.UserInputMultiContent), v) {
		part := schema.MessageInputPart{Type: schema.ChatMessagePartTypeText, Text: p.Text, Extra: p.Extra}
		if p.Type != schema.ToolPartTypeText {
			part, others = others[0], others[1:]
		}
		short.UserInputMultiContent = append(short.UserInputMultiContent, part)
	}
	return &short
}

func isTextPart(p schema.MessageInputPart) bool { return p.Type == schema.ChatMessagePartTypeText }

// outputParts are parts as a tool gives them, with the texts alone: the others are only told apart from texts.
func outputParts(parts []schema.MessageInputPart) []schema.ToolOutputPart {
	outputs := make([]schema.ToolOutputPart, len(parts))
	for i, p := range parts {
		if isTextPart(p) {
			outputs[i] = schema.ToolOutputPart{Type: schema.ToolPartTypeText, Text: p.Text, Extra: p.Extra}
		}
	}
	return outputs
}
