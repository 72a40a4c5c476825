package toolresult_test

// What the tests of the handler share: agents of ADK on a scripted model that refuses what a provider refuses, and the events
// of their runs.

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"

	"github.com/eino-toolresult/toolresult"
	"github.com/eino-toolresult/toolresult/internal/provider"
)

func newHandler(t testing.TB, cfg *toolresult.HandlerConfig) adk.ChatModelAgentMiddleware {
	t.Helper()
	h, err := toolresult.NewHandler(context.Background(), cfg)
	require.NoError(t, err)
	return h
}

// newAgent makes an agent; change refines its config.
func newAgent(t testing.TB, name string, chat model.BaseChatModel, tools []tool.BaseTool, change func(cfg *adk.ChatModelAgentConfig), handlers ...adk.ChatModelAgentMiddleware) *adk.ChatModelAgent {
	t.Helper()
	cfg := &adk.ChatModelAgentConfig{
		Name: name, Description: "an agent of the tests", Model: chat, MaxIterations: 100, Handlers: handlers,
		ToolsConfig: adk.ToolsConfig{ToolsNodeConfig: toolsNode(tools...)},
	}
	if change != nil {
		change(cfg)
	}
	agent, err := adk.NewChatModelAgent(context.Background(), cfg)
	require.NoError(t, err)
	return agent
}

func toolsNode(tools ...tool.BaseTool) compose.ToolsNodeConfig {
	return compose.ToolsNodeConfig{Tools: tools}
}

// runAgent runs an agent to its end and returns the messages of its events. Streams among them are joined.
func runAgent(ctx context.Context, agent adk.Agent, streaming bool, messages ...*schema.Message) ([]*schema.Message, error) {
	runner := adk.NewRunner(ctx, adk.RunnerConfig{Agent: agent, EnableStreaming: streaming})
	return eventMessages(runner.Run(ctx, messages))
}

func eventMessages(events *adk.AsyncIterator[*adk.AgentEvent]) (messages []*schema.Message, err error) {
	for {
		event, more := events.Next()
		if !more {
			return messages, err
		}
		if event.Err != nil {
			err = event.Err
		}
		if event.Output == nil || event.Output.MessageOutput == nil {
			continue
		}
		if msg, failed := event.Output.MessageOutput.GetMessage(); failed == nil {
			messages = append(messages, msg)
		}
	}
}

func mustRun(t testing.TB, agent adk.Agent, streaming bool, query string) []*schema.Message {
	t.Helper()
	messages, err := runAgent(context.Background(), agent, streaming, schema.UserMessage(query))
	require.NoError(t, err)
	return messages
}

// scripted is a script that gives its answers one after the other.
func scripted(answers ...*schema.Message) provider.Script {
	return func(n int, messages []*schema.Message) (*schema.Message, error) {
		if n >= len(answers) {
			return nil, fmt.Errorf("the script has %d answers, and here is request %d, which ends with %.300q", len(answers), n, textOf(messages[len(messages)-1]))
		}
		return answers[n], nil
	}
}

// callsFor is an answer that calls tools.
func callsFor(calls ...schema.ToolCall) *schema.Message { return schema.AssistantMessage("", calls) }

func answers(text string) *schema.Message { return schema.AssistantMessage(text, nil) }

func callWith(id, name, arguments string) schema.ToolCall {
	return schema.ToolCall{ID: id, Function: schema.FunctionCall{Name: name, Arguments: arguments}}
}

// requestTokens is how the provider of the tests counts: a token for three bytes of text, or of a tool's schema.
func requestTokens(messages []*schema.Message, tools []*schema.ToolInfo) int {
	bytes := 0
	for _, msg := range messages {
		bytes += 12 + len(textOf(msg)) + len(msg.ReasoningContent)
		for _, call := range msg.ToolCalls {
			bytes += 30 + len(call.Function.Name) + len(call.Function.Arguments)
		}
	}
	return bytes/3 + schemaTokens(tools)
}

// requestCounter is a counter that counts as the provider of the tests does.
func requestCounter() toolresult.TokenCounter {
	return toolresult.TokenCounterFunc(func(_ context.Context, messages []*schema.Message, tools []*schema.ToolInfo) (int64, error) {
		return int64(requestTokens(messages, tools)), nil
	})
}

func schemaTokens(tools []*schema.ToolInfo) int {
	bytes := 0
	for _, info := range tools {
		bytes += len(info.Name) + len(info.Desc)
		if params, err := info.ToJSONSchema(); err == nil && params != nil {
			text, _ := json.Marshal(params)
			bytes += len(text)
		}
	}
	return bytes / 3
}

// toolNames remembers the tools that came with the last request.
type toolNames struct{ last []string }

func (n *toolNames) count(messages []*schema.Message, tools []*schema.ToolInfo) int {
	n.last = nil
	for _, info := range tools {
		n.last = append(n.last, info.Name)
	}
	return requestTokens(messages, tools)
}

// lastOf is the last element of a slice.
func lastOf[T any](slice []T) T { return slice[len(slice)-1] }

// toolResults are the texts of the tool results among messages, by call ID.
func toolResults(messages []*schema.Message) map[string]string {
	results := make(map[string]string)
	for _, msg := range messages {
		if msg.Role == schema.Tool {
			results[msg.ToolCallID] = textOf(msg)
		}
	}
	return results
}

// readBack reads a stored result whole.
func readBack(t testing.TB, backend toolresult.Reader, path string) string {
	t.Helper()
	content, err := backend.Read(context.Background(), &toolresult.ReadRequest{FilePath: path, Offset: 1, Limit: 1 << 30})
	require.NoError(t, err)
	return content.Content
}
