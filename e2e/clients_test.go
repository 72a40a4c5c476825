package e2e_test

// What the other tests lean on: the usage arrives through every client, and what must come back is missed where it does not.

import (
	"strings"
	"testing"

	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eino-toolresult/toolresult/e2e/internal/provider"
	"github.com/eino-toolresult/toolresult/e2e/internal/rig"
	"github.com/eino-toolresult/toolresult/e2e/internal/wire"
)

// ask sends a conversation and returns the answer, in either delivery.
func ask(t *testing.T, chat model.BaseChatModel, stream bool, messages ...*schema.Message) (*schema.Message, error) {
	t.Helper()
	if stream {
		return collect(chat.Stream(t.Context(), messages))
	}
	return chat.Generate(t.Context(), messages)
}

// collect joins a stream. Some clients report a refusal only in it.
func collect(stream *schema.StreamReader[*schema.Message], err error) (*schema.Message, error) {
	if err != nil {
		return nil, err
	}
	return schema.ConcatMessageStream(stream)
}

func TestClients(t *testing.T) {
	for _, client := range rig.Clients() {
		for delivery, stream := range deliveries() {
			t.Run(client.Name+"/"+delivery, func(t *testing.T) {
				t.Parallel()
				script := rig.Plan{Steps: 1, Thinks: client.Thinks}.Script()
				server := provider.Start(t, &provider.Server{Format: client.Format, Script: script, Window: 10_000})
				chat := client.Open(t, server.URL)
				question := schema.UserMessage(strings.Repeat("question ", 400))
				answer, err := ask(t, chat, stream, question)
				require.NoError(t, err)
				require.Len(t, answer.ToolCalls, 1)
				assert.JSONEq(t, rig.Ask{Kind: rig.Text, Size: 1100}.JSON(), answer.ToolCalls[0].Function.Arguments)
				require.NotNil(t, answer.ResponseMeta)
				require.NotNil(t, answer.ResponseMeta.Usage)
				assert.Equal(t, server.Accepted()[0].Tokens(), answer.ResponseMeta.Usage.PromptTokens, "the hook estimates by it")

				result := schema.ToolMessage("a result", answer.ToolCalls[0].ID, schema.WithToolName("fetch"))
				done, err := ask(t, chat, stream, question, answer, result)
				require.NoError(t, err)
				assert.Equal(t, "done", done.Content)

				long := schema.ToolMessage(strings.Repeat("result ", 10_000), answer.ToolCalls[0].ID, schema.WithToolName("fetch"))
				requireRefused(t, server, chat, wire.RuleWindow, question, answer, long)
				requireRefused(t, server, chat, wire.RuleAnswered, question, answer)
				requireRefused(t, server, chat, wire.RuleAsked, question, schema.AssistantMessage("x", nil), result)
				if client.Thinks {
					forgot := *answer
					forgot.Extra, forgot.ReasoningContent = nil, ""
					forgot.ToolCalls = []schema.ToolCall{{ID: answer.ToolCalls[0].ID, Function: answer.ToolCalls[0].Function, Type: "function"}}
					requireRefused(t, server, chat, wire.RuleThought, question, &forgot, result)
				}
			})
		}
	}
}

func requireRefused(t *testing.T, server *provider.Server, chat model.BaseChatModel, rule string, messages ...*schema.Message) {
	t.Helper()
	before := len(server.Refused())
	_, err := ask(t, chat, false, messages...)
	require.Error(t, err, rule)
	require.Len(t, server.Refused(), before+1, rule)
	require.Equal(t, rule, server.Refused()[before].Rule)
}
