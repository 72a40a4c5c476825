package toolresult

// How results look in messages, and the marks that a pruned one carries. State lives here and nowhere else: a conversation
// that was stored, loaded and handed to another process is pruned as it would have been in the first.

import (
	"encoding/json"
	"maps"
	"math"

	"github.com/cloudwego/eino/schema"
)

// The marks of a pruned result are scalars, because checkpoints of ADK are gob and refuse a nested map.
const (
	markKey         = "context_compaction"
	markOriginalKey = "context_compaction_original_tokens"
	markAtKey       = "context_compaction_at"

	markPruned = "tool_result_pruning"
)

// messageHistory is a conversation of Eino messages. Nil entries are passed over.
type messageHistory []*schema.Message

func (h messageHistory) walk(p *pairing) {
	for i, msg := range h {
		switch {
		case msg == nil:
		case msg.Role == schema.Tool:
			p.result(i, msg.ToolCallID, msg.ToolName)
		case msg.Role == schema.Assistant:
			p.answer(len(msg.ToolCalls))
			for j := range msg.ToolCalls {
				p.call(msg.ToolCalls[j].ID, msg.ToolCalls[j].Function.Name)
			}
		}
	}
}

// replaceResult returns a copy of a result with another text and the marks: what it was in tokens, and how long the
// conversation was then, by which a usage reported before can be told from one reported after. The metadata of its parts goes to
// the message, as the parts go.
func replaceResult(msg *schema.Message, text string, tokens int64, at int) *schema.Message {
	short := *msg
	short.Content = text
	short.MultiContent, short.UserInputMultiContent, short.AssistantGenMultiContent = nil, nil, nil
	short.Extra = make(map[string]any, len(msg.Extra)+3)
	for i := range msg.UserInputMultiContent {
		maps.Copy(short.Extra, msg.UserInputMultiContent[i].Extra)
	}
	maps.Copy(short.Extra, msg.Extra)
	short.Extra[markKey] = markPruned
	short.Extra[markOriginalKey] = int(tokens)
	short.Extra[markAtKey] = at
	return &short
}

// isMarked recognises a mark by its key alone: what a value becomes on its way through a serializer is not ours to know.
func isMarked(msg *schema.Message) bool {
	_, marked := msg.Extra[markKey]
	return marked
}

// prunedSince returns what a result was in tokens before it was pruned, if that was after the message at usage and within the
// conversation.
func prunedSince(msg *schema.Message, usage, length int) (tokens int64, ok bool) {
	if msg == nil || !isMarked(msg) {
		return 0, false
	}
	at, ok := wholeNumber(msg.Extra[markAtKey])
	if !ok || at <= int64(usage) || at > int64(length) {
		return 0, false
	}
	return wholeNumber(msg.Extra[markOriginalKey])
}

// wholeNumber reads a count in any of the types that serializers make of an int.
func wholeNumber(value any) (int64, bool) {
	switch n := value.(type) {
	case int:
		return int64(n), n >= 0
	case int64:
		return n, n >= 0
	case float64:
		return int64(n), n >= 0 && n < 1<<53 && n == math.Trunc(n)
	case json.Number:
		whole, err := n.Int64()
		return whole, err == nil && whole >= 0
	}
	return 0, false
}

// hasExtra looks for metadata in a message and in its parts.
func hasExtra(msg *schema.Message, key string) bool {
	if _, has := msg.Extra[key]; has {
		return true
	}
	for i := range msg.UserInputMultiContent {
		if _, has := msg.UserInputMultiContent[i].Extra[key]; has {
			return true
		}
	}
	return false
}
