package provider_test

// The model must refuse what real ones refuse, or the tests that lean on it prove nothing.

import (
	"errors"
	"testing"

	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eino-toolresult/toolresult/internal/provider"
)

func asks(ids ...string) *schema.Message {
	var calls []schema.ToolCall
	for _, id := range ids {
		calls = append(calls, schema.ToolCall{ID: id, Function: schema.FunctionCall{Name: "fetch", Arguments: "{}"}})
	}
	return schema.AssistantMessage("", calls)
}

func TestCheck(t *testing.T) {
	user, answer := schema.UserMessage("hello"), func(id string) *schema.Message { return schema.ToolMessage("text", id) }
	cases := []struct {
		messages []*schema.Message
		refused  string
		reason   string
	}{
		{[]*schema.Message{user}, "", "a question"},
		{[]*schema.Message{user, asks("1", "2"), answer("2"), answer("1"), user}, "", "results in any order"},
		{[]*schema.Message{user, asks("1"), answer("1"), asks("1"), answer("1")}, "", "an ID again, in another step"},
		{[]*schema.Message{user, asks("1", "1"), answer("1"), answer("1")}, "", "an ID twice, and answered twice"},
		{[]*schema.Message{user, asks("1"), schema.ToolMessage("", "1")}, "", "a tool may have nothing to say"},
		{[]*schema.Message{user, asks("1")}, `call "1" has no result`, "the call is open at the end"},
		{[]*schema.Message{user, asks("1"), user, answer("1")}, `call "1" has no result`, "the result comes too late"},
		{[]*schema.Message{user, asks("1", "1"), answer("1")}, `call "1" has no result`, "one of two"},
		{[]*schema.Message{user, answer("1")}, `answers "1", which is no open call`, "nobody asked"},
		{[]*schema.Message{user, asks("1"), answer("1"), answer("1")}, `answers "1", which is no open call`, "answered twice"},
		{[]*schema.Message{user, nil}, "message 1 is null", "there is no message"},
		{[]*schema.Message{schema.UserMessage("")}, "message 0 is empty", "nothing is said"},
		{[]*schema.Message{schema.UserMessage("a\x00b")}, "NUL", "a NUL"},
		{[]*schema.Message{schema.UserMessage("a\xffb")}, "not UTF-8", "a broken byte"},
		{[]*schema.Message{{Role: schema.User, UserInputMultiContent: []schema.MessageInputPart{{Text: "\xff"}}}}, "not UTF-8", "a broken byte in a part"},
	}
	for _, tc := range cases {
		err := provider.Check(tc.messages)
		if tc.refused == "" {
			assert.NoError(t, err, tc.reason)
			continue
		}
		assert.ErrorContains(t, err, tc.refused, tc.reason)
	}
}

func TestModel(t *testing.T) {
	count := func(messages []*schema.Message, tools []*schema.ToolInfo) int {
		return len(messages[0].Content) + 100*len(tools)
	}
	failed := errors.New("the script failed")
	model := provider.New(func(n int, _ []*schema.Message) (*schema.Message, error) {
		if n == 1 {
			return nil, failed
		}
		return schema.AssistantMessage("answer", nil), nil
	}, 110, count)
	bound, err := model.WithTools([]*schema.ToolInfo{{Name: "fetch"}})
	require.NoError(t, err)

	answer, err := bound.Generate(t.Context(), []*schema.Message{schema.UserMessage("0123456789")})
	require.NoError(t, err)
	assert.Equal(t, 110, answer.ResponseMeta.Usage.PromptTokens, "the usage is its own count, schemas included")
	_, err = bound.Generate(t.Context(), []*schema.Message{schema.UserMessage("short")})
	assert.ErrorIs(t, err, failed)
	_, err = bound.Generate(t.Context(), []*schema.Message{schema.UserMessage("0123456789 ")})
	assert.ErrorIs(t, err, provider.ErrContextTooLong)
	_, err = model.Generate(t.Context(), []*schema.Message{schema.UserMessage("0123456789 ")})
	assert.NoError(t, err, "without the tools it fits")

	stream, err := bound.Stream(t.Context(), []*schema.Message{schema.UserMessage("x")})
	require.NoError(t, err)
	first, err := stream.Recv()
	require.NoError(t, err)
	last, err := stream.Recv()
	require.NoError(t, err)
	assert.Nil(t, first.ResponseMeta)
	assert.Equal(t, 101, last.ResponseMeta.Usage.PromptTokens, "the usage comes last")
	assert.Len(t, model.Requests(), 5, "refused ones too, of every copy")

	model.NoUsage = true
	answer, err = model.Generate(t.Context(), []*schema.Message{schema.UserMessage("x")})
	require.NoError(t, err)
	assert.Nil(t, answer.ResponseMeta)
}
