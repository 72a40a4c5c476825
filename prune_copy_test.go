package toolresult_test

// Whoever hands in a conversation keeps it: nothing in it is modified, down to the metadata, even while others read it.

import (
	"encoding/json"
	"reflect"
	"slices"
	"sync"
	"testing"

	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eino-toolresult/toolresult"
)

// deepCopy copies a value with all that it points to, so that a comparison finds every later change.
func deepCopy[T any](value T) T {
	return deepCopyValue(reflect.ValueOf(&value).Elem()).Interface().(T)
}

func deepCopyValue(v reflect.Value) reflect.Value {
	copied := reflect.New(v.Type()).Elem()
	copied.Set(v)
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			copied.Set(reflect.New(v.Type().Elem()))
			copied.Elem().Set(deepCopyValue(v.Elem()))
		}
	case reflect.Interface:
		if !v.IsNil() {
			copied.Set(deepCopyValue(v.Elem()))
		}
	case reflect.Slice:
		if !v.IsNil() {
			copied.Set(reflect.MakeSlice(v.Type(), v.Len(), v.Len()))
			for i := range v.Len() {
				copied.Index(i).Set(deepCopyValue(v.Index(i)))
			}
		}
	case reflect.Map:
		if !v.IsNil() {
			copied.Set(reflect.MakeMap(v.Type()))
			for iter := v.MapRange(); iter.Next(); {
				copied.SetMapIndex(iter.Key(), deepCopyValue(iter.Value()))
			}
		}
	case reflect.Struct:
		for i := range v.NumField() {
			copied.Field(i).Set(deepCopyValue(v.Field(i)))
		}
	}
	return copied
}

// richConversation has all that a message can carry.
func richConversation() []*schema.Message {
	messages := conversation("system user call(a:bash,b:shot) result(a) result(b) call(c:bash) result(c) answer user call(d:bash) result(d)")
	signature := "c2lnbmVk"
	messages[2].ReasoningContent = "It is best to look first."
	messages[2].AssistantGenMultiContent = []schema.MessageOutputPart{
		{Type: schema.ChatMessagePartTypeReasoning, Reasoning: &schema.MessageOutputReasoning{Text: "It is best to look first.", Signature: signature}},
		{Type: schema.ChatMessagePartTypeText, Text: "Let me look.", Extra: map[string]any{"citations": []any{"one"}}},
	}
	messages[2].Extra = map[string]any{"_reasoning_signature": signature, "nested": map[string]any{"deep": []string{"x"}}}
	messages[2].ToolCalls[0].Extra = map[string]any{"thought_signature": []byte{1, 2}}
	messages[2].ResponseMeta = &schema.ResponseMeta{FinishReason: "tool_calls", Usage: &schema.TokenUsage{PromptTokens: 400, CompletionTokens: 20}}
	messages[3].Extra = map[string]any{"is_error": true, "nested": map[string]any{"deep": []string{"x"}}}
	messages[4].UserInputMultiContent = []schema.MessageInputPart{
		{Type: schema.ChatMessagePartTypeText, Text: messages[4].Content, Extra: map[string]any{"part": []any{1, "two"}}},
		imageInput("iVBORw0KGgo"),
	}
	return messages
}

func TestCallersMessagesAreNeverModified(t *testing.T) {
	messages := richConversation()
	snapshot, pointers := deepCopy(messages), slices.Clone(messages)

	c := compact(t, newPruner(t, nil), &toolresult.CompactRequest{Messages: messages})
	assert.Equal(t, "3:bash 4:shot 6:bash", prunedIn(c))
	for i, msg := range c.Messages { // a caller may add to what it got back, too
		if msg != messages[i] {
			msg.Extra["added"] = true
		}
	}
	hook := newHook(t, &toolresult.CompactionConfig{ContextWindow: 1000})
	got, err := hook.BeforeModel(t.Context(), messages, nil)
	require.NoError(t, err)
	require.False(t, sameSlice(messages, got), "the hook has rewritten it as well")

	assert.Equal(t, snapshot, messages)
	for i := range messages {
		assert.Same(t, pointers[i], messages[i])
	}
}

// Signatures of a model's reasoning are refused when a byte of what they sign has changed.
func TestAnswersOfTheModelStayAsTheyAre(t *testing.T) {
	messages := richConversation()
	c := compact(t, newPruner(t, nil), &toolresult.CompactRequest{Messages: messages})
	require.True(t, c.Changed)
	for i, msg := range messages {
		if msg.Role != schema.Tool {
			assert.Same(t, msg, c.Messages[i], "message %d", i)
		}
	}
	requireShape(t, messages, c.Messages, 1)
}

func TestPruningWhileOthersRead(t *testing.T) {
	messages := richConversation()
	hook := newHook(t, &toolresult.CompactionConfig{ContextWindow: 1000})
	var readers sync.WaitGroup
	for range 2 {
		readers.Go(func() {
			for range 50 {
				_, err := json.Marshal(messages)
				assert.NoError(t, err)
			}
		})
	}
	for range 50 {
		compact(t, newPruner(t, nil), &toolresult.CompactRequest{Messages: messages})
		_, err := hook.BeforeModel(t.Context(), messages, nil)
		require.NoError(t, err)
	}
	readers.Wait()
}
