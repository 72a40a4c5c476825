package toolresult

// How results look in messages, and the marks that a pruned one carries. State lives here and nowhere else: a conversation
// that was stored, loaded and handed to another process is pruned as it would have been in the first.

import (
	"encoding/json"
	"iter"
	"maps"
	"reflect"
	"strconv"

	"github.com/cloudwego/eino/schema"
)

// The marks of a pruned result are scalars, because checkpoints of ADK are gob and refuse a nested map.
const (
	markKey         = "context_compaction"
	markOriginalKey = "context_compaction_original_tokens"
	markAtKey       = "context_compaction_at"
	markFilesKey    = "context_compaction_files" // only where what is archived names other files: their paths, a line each

	markPruned    = "tool_result_pruning"
	markArguments = "tool_call_arguments" // on the message with the calls

	// markKeys is how many a marked message has at least: to look for one costs more than to count the message.
	markKeys = 3

	// maxCount bounds what is read back from marks: beyond it a float is no whole number, and sums could overflow.
	maxCount = 1 << 53
)

// message notes a message of a conversation. A missing one is passed over.
func (p *pairing) message(i int, msg *schema.Message) {
	switch {
	case msg == nil:
	case msg.Role == schema.Tool:
		p.result(i, msg.ToolCallID, msg.ToolName)
	case msg.Role == schema.Assistant:
		p.answer(i, len(msg.ToolCalls))
		for j := len(msg.ToolCalls) - 1; j >= 0; j-- {
			p.call(msg.ToolCalls[j].ID, msg.ToolCalls[j].Function.Name, callPlace{int32(i), int32(j)})
		}
	}
}

// withText returns a copy of a result with another text, its metadata still that of the original.
func withText(msg *schema.Message, text string) *schema.Message {
	short := *msg
	short.Content = text
	short.MultiContent, short.UserInputMultiContent, short.AssistantGenMultiContent = nil, nil, nil
	return &short
}

// setMarks gives the copy of a message the marks: what it was in tokens, and how long the conversation was then, by which a usage
// reported before can be told from one reported after. The metadata of its parts goes to the message, as the parts go.
func setMarks(short, msg *schema.Message, kind any, tokens int64, at any) {
	short.Extra = make(map[string]any, len(msg.Extra)+4)
	for extra := range metadata(msg) {
		maps.Copy(short.Extra, extra)
	}
	short.Extra[markKey] = kind
	short.Extra[markOriginalKey] = int(tokens)
	short.Extra[markAtKey] = at
}

// metadata yields every Extra of a result: that of each part, that of the medium in it, and last, as it matters most, that of
// the message.
func metadata(msg *schema.Message) iter.Seq[map[string]any] {
	return func(yield func(map[string]any) bool) {
		for i := range msg.UserInputMultiContent {
			part := &msg.UserInputMultiContent[i]
			//lint:ignore SA1019 tools still set it, and Eino still passes it on
			if !yield(mediumPart(part).Extra) || !yield(part.Extra) {
				return
			}
		}
		yield(msg.Extra)
	}
}

// mediumPart is what parts of every kind but text have in common.
func mediumPart(part *schema.MessageInputPart) (common schema.MessagePartCommon) {
	switch {
	case part.Image != nil:
		return part.Image.MessagePartCommon
	case part.Audio != nil:
		return part.Audio.MessagePartCommon
	case part.Video != nil:
		return part.Video.MessagePartCommon
	case part.File != nil:
		return part.File.MessagePartCommon
	}
	return common
}

func hasExtra(msg *schema.Message, key string) bool {
	for extra := range metadata(msg) {
		if _, has := extra[key]; has {
			return true
		}
	}
	return false
}

// isMarked recognises a mark by its key alone: what a value becomes on its way through a serializer is not ours to know.
func isMarked(msg *schema.Message) bool {
	_, marked := msg.Extra[markKey]
	return marked
}

// prunedSince returns what a result was in tokens before it was pruned, if that was after the message at usage and within the
// conversation.
func prunedSince(msg *schema.Message, usage, length int) (tokens int64, ok bool) {
	if at := prunedAt(msg, length); at <= usage {
		return 0, false
	}
	return wholeNumber(msg.Extra[markOriginalKey])
}

// lastPrune is how long a conversation was when one of the messages was pruned last, 0 if none ever was.
func lastPrune(messages []*schema.Message, length int) (at int) {
	for _, msg := range messages {
		if msg != nil && len(msg.Extra) >= markKeys {
			at = max(at, prunedAt(msg, length))
		}
	}
	return at
}

// prunedAt is how long the conversation was when a message was pruned, 0 if it never was or if the conversation is shorter now.
func prunedAt(msg *schema.Message, length int) int {
	at, ok := wholeNumber(msg.Extra[markAtKey])
	if !ok || at > int64(length) {
		return 0
	}
	return int(at)
}

// wholeNumber reads a count in whatever a serializer made of an int: JSON a float64 or a json.Number, BSON an int32, CBOR a
// uint64.
func wholeNumber(value any) (int64, bool) {
	switch number := value.(type) {
	case json.Number:
		value, _ = strconv.ParseFloat(string(number), 64)
	case string: // an int64 of protobuf
		n, err := strconv.ParseInt(number, 10, 64)
		return n, err == nil && n >= 0 && n < maxCount
	}
	switch v := reflect.ValueOf(value); {
	case v.CanInt():
		return v.Int(), v.Int() >= 0 && v.Int() < maxCount
	case v.CanUint():
		return int64(v.Uint()), v.Uint() < maxCount
	case v.CanFloat():
		n := int64(v.Float())
		return n, float64(n) == v.Float() && n >= 0 && n < maxCount
	}
	return 0, false
}
