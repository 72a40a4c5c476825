package toolresult_test

// Real agents, on a model that refuses what providers refuse: a react agent and an ADK agent that follow a notice to its end,
// and one that is interrupted, stored and resumed while notices are in its history.

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/flow/agent/react"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eino-toolresult/toolresult"
	"github.com/eino-toolresult/toolresult/internal/provider"
)

const smallWindow = 16_000 // of the provider's tokens; the log alone has 150 000

// bigLog is 600 KB, and its verdict is the last line.
func bigLog() string { return numberedLines(12_000) + "FAIL: 3 of 11997 tests failed" }

func fourBytes(messages []*schema.Message, _ []*schema.ToolInfo) int {
	bytes := 0
	for _, msg := range messages {
		bytes += len(textOf(msg))
		for _, call := range msg.ToolCalls {
			bytes += len(call.Function.Arguments)
		}
	}
	return bytes / 4
}

// investigator looks at a log, reads its last lines where the notice says, and gives the verdict.
func investigator() *provider.Model {
	return provider.New(func(n int, messages []*schema.Message) (*schema.Message, error) {
		last := messages[len(messages)-1]
		switch n {
		case 0:
			return schema.AssistantMessage("", []schema.ToolCall{toolCall("call_0", "log"), toolCall("call_1", "list"), toolCall("call_2", "screenshot")}), nil
		case 1:
			for _, msg := range messages {
				if path, ok := toolresult.OffloadedPath(msg); ok && msg.ToolName == "log" {
					call := toolCall("call_3", "read_file")
					call.Function.Arguments = fmt.Sprintf(`{"file_path":%q,"offset":11999}`, path)
					return schema.AssistantMessage("", []schema.ToolCall{call}), nil
				}
			}
			return nil, errors.New("there is no notice of the log")
		default:
			_, verdict, found := strings.Cut(last.Content, "12001: ")
			if !found {
				return nil, fmt.Errorf("no verdict in %q", last.Content)
			}
			verdict, _, _ = strings.Cut(verdict, "\n")
			return schema.AssistantMessage(verdict, nil), nil
		}
	}, smallWindow, fourBytes)
}

// logTools are tools of three kinds, and the one that reads stored results.
func logTools(t *testing.T, store toolresult.Reader) []tool.BaseTool {
	read, err := toolresult.NewReadTool(t.Context(), &toolresult.ReadConfig{Backend: store})
	require.NoError(t, err)
	return []tool.BaseTool{
		fakeTool("streamable", "log", bigLog()), fakeTool("invokable", "list", "main.go\nmain_test.go\n"),
		partsTool{"screenshot", func(context.Context, string) (*schema.ToolResult, error) {
			return &schema.ToolResult{Parts: []schema.ToolOutputPart{imagePart("iVBORw0KGgo="), textPart(bigLog())}}, nil
		}},
		read,
	}
}

func nodeConfig(mw []compose.ToolMiddleware, tools []tool.BaseTool) compose.ToolsNodeConfig {
	return compose.ToolsNodeConfig{Tools: tools, ToolCallMiddlewares: mw}
}

func TestReactAgentReadsBack(t *testing.T) {
	run := func(stream bool, store *memory, mw ...compose.ToolMiddleware) (*schema.Message, *provider.Model, error) {
		model := investigator()
		agent, err := react.NewAgent(t.Context(), &react.AgentConfig{ToolCallingModel: model, ToolsConfig: nodeConfig(mw, logTools(t, store)), MaxStep: 20})
		require.NoError(t, err)
		question := []*schema.Message{schema.UserMessage("Why did the build fail?")}
		if !stream {
			answer, err := agent.Generate(t.Context(), question)
			return answer, model, err
		}
		reader, err := agent.Stream(t.Context(), question)
		if err != nil {
			return nil, model, err
		}
		chunks, err := receive(reader)
		require.NoError(t, err)
		answer, err := schema.ConcatMessages(chunks)
		return answer, model, err
	}
	for _, stream := range []bool{false, true} {
		_, _, err := run(stream, newMemory())
		require.ErrorIs(t, err, provider.ErrContextTooLong, "without the library the log does not fit")

		store := newMemory()
		answer, model, err := run(stream, store, newOffload(t, &toolresult.OffloadConfig{Backend: store}))
		require.NoError(t, err)
		assert.Equal(t, "FAIL: 3 of 11997 tests failed", answer.Content)
		assert.Equal(t, map[string]string{"/large_tool_result/call_0": bigLog(), "/large_tool_result/call_2": bigLog()}, store.stored())
		assert.Equal(t, "main.go\nmain_test.go\n", model.Requests()[1][3].Content, "the small result is as it was")
		assert.Len(t, model.Requests(), 3)
	}
}

// A result that goes to the user directly is no text for a model. It is excluded by name.
func TestReactAgentReturnsDirectly(t *testing.T) {
	text := bigLog()
	model := provider.New(func(int, []*schema.Message) (*schema.Message, error) {
		return schema.AssistantMessage("", []schema.ToolCall{toolCall("call_0", "answer")}), nil
	}, 0, fourBytes)
	store := newMemory()
	mw := newOffload(t, &toolresult.OffloadConfig{Backend: store, ExcludeTools: []string{"answer"}})
	agent, err := react.NewAgent(t.Context(), &react.AgentConfig{
		ToolCallingModel: model, ToolReturnDirectly: map[string]struct{}{"answer": {}},
		ToolsConfig: nodeConfig([]compose.ToolMiddleware{mw}, []tool.BaseTool{fakeTool("streamable", "answer", text)}),
	})
	require.NoError(t, err)
	answer, err := agent.Generate(t.Context(), []*schema.Message{schema.UserMessage("hello")})
	require.NoError(t, err)
	assert.True(t, answer.Content == text, "the user gets the whole of it")
	assert.Empty(t, store.stored())
}

// gobStore keeps checkpoints as the runner gives them to it, which is gob.
type gobStore struct {
	mu sync.Mutex
	m  map[string][]byte
}

func (s *gobStore) Set(_ context.Context, key string, value []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.m[key] = append([]byte(nil), value...)
	return nil
}

func (s *gobStore) Get(_ context.Context, key string) ([]byte, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	value, ok := s.m[key]
	return value, ok, nil
}

// newRunner makes a whole agent anew, as a process does that starts.
func newRunner(t *testing.T, model *provider.Model, stream bool, mw compose.ToolMiddleware, checkpoints adk.CheckPointStore, tools []tool.BaseTool) *adk.Runner {
	t.Helper()
	agent, err := adk.NewChatModelAgent(t.Context(), &adk.ChatModelAgentConfig{
		Name: "engineer", Description: "looks at builds", Instruction: "Find out why the build failed.", Model: model,
		ToolsConfig: adk.ToolsConfig{ToolsNodeConfig: nodeConfig([]compose.ToolMiddleware{mw}, tools)},
	})
	require.NoError(t, err)
	return adk.NewRunner(t.Context(), adk.RunnerConfig{Agent: agent, EnableStreaming: stream, CheckPointStore: checkpoints})
}

// runToPause runs to the end or to an interrupt, and returns the IDs of its causes.
func runToPause(t *testing.T, events *adk.AsyncIterator[*adk.AgentEvent]) (messages []*schema.Message, interrupts []string) {
	t.Helper()
	for event, ok := events.Next(); ok; event, ok = events.Next() {
		require.NoError(t, event.Err)
		if event.Action != nil && event.Action.Interrupted != nil {
			for _, cause := range event.Action.Interrupted.InterruptContexts {
				if cause.IsRootCause {
					interrupts = append(interrupts, cause.ID)
				}
			}
		}
		if event.Output == nil || event.Output.MessageOutput == nil {
			continue
		}
		msg, err := event.Output.MessageOutput.GetMessage()
		require.NoError(t, err)
		messages = append(messages, msg)
	}
	return messages, interrupts
}

func TestADKAgentReadsBack(t *testing.T) {
	for _, stream := range []bool{false, true} {
		store := newMemory()
		model := investigator()
		mw := newOffload(t, &toolresult.OffloadConfig{Backend: store})
		runner := newRunner(t, model, stream, mw, nil, logTools(t, store))
		messages, interrupts := runToPause(t, runner.Query(t.Context(), "Why did the build fail?"))
		assert.Empty(t, interrupts)
		require.NotEmpty(t, messages)
		assert.Equal(t, "FAIL: 3 of 11997 tests failed", messages[len(messages)-1].Content)
		assert.Len(t, store.stored(), 2)
	}
}

// asker stops the run until a person has answered.
var asker = textTool{"ask", func(ctx context.Context, _ string) (string, error) {
	if target, answered, data := tool.GetResumeContext[string](ctx); target && answered {
		return data + "\n" + bigLog(), nil
	}
	return "", tool.Interrupt(ctx, "may I?")
}}

// The first step offloads; the second is interrupted while its other tools are done. Everything is gone then but the backend
// and the checkpoint.
func TestADKAgentIsInterruptedAndResumed(t *testing.T) {
	for _, stream := range []bool{false, true} {
		t.Run(fmt.Sprint("streaming ", stream), func(t *testing.T) {
			script := func(n int, messages []*schema.Message) (*schema.Message, error) {
				switch n {
				case 0:
					return schema.AssistantMessage("", []schema.ToolCall{toolCall("call_0", "log"), toolCall("call_1", "screenshot")}), nil
				case 1:
					return schema.AssistantMessage("", []schema.ToolCall{toolCall("call_0", "log"), toolCall("call_2", "screenshot"), toolCall("call_3", "ask")}), nil
				}
				return schema.AssistantMessage("done", nil), nil
			}
			store, checkpoints := newMemory(), &gobStore{m: map[string][]byte{}}
			tools := append(logTools(t, store), asker)
			first := provider.New(script, smallWindow, fourBytes)
			runner := newRunner(t, first, stream, newOffload(t, &toolresult.OffloadConfig{Backend: store}), checkpoints, tools)
			_, interrupts := runToPause(t, runner.Query(t.Context(), "Why did the build fail?", adk.WithCheckPointID("run")))
			require.Len(t, interrupts, 1)
			require.Len(t, checkpoints.m, 1)
			assert.Less(t, len(checkpoints.m["run"]), 200_000, "a checkpoint holds notices, not the logs")
			written := store.written()

			again := provider.New(func(n int, messages []*schema.Message) (*schema.Message, error) { return script(n+2, messages) }, smallWindow, fourBytes)
			runner = newRunner(t, again, stream, newOffload(t, &toolresult.OffloadConfig{Backend: store}), checkpoints, tools)
			events, err := runner.ResumeWithParams(t.Context(), "run", &adk.ResumeParams{Targets: map[string]any{interrupts[0]: "yes, go on"}})
			require.NoError(t, err)
			messages, interrupts := runToPause(t, events)
			require.Empty(t, interrupts)
			assert.Equal(t, "done", messages[len(messages)-1].Content)
			assert.Equal(t, written+1, store.written(), "what was done before is not done again")

			require.Len(t, again.Requests(), 1)
			var paths []string
			for _, msg := range again.Requests()[0] {
				if msg.Role != schema.Tool {
					continue
				}
				path, ok := toolresult.OffloadedPath(msg)
				require.True(t, ok, "%s: %.200q", msg.ToolCallID, textOf(msg))
				paths = append(paths, path)
				assert.Contains(t, store.stored(), path)
				if msg.ToolName == "screenshot" {
					require.Len(t, msg.UserInputMultiContent, 2)
					assert.Equal(t, path, msg.UserInputMultiContent[1].Extra["tool_result_offloaded"], "the mark survives gob")
				}
			}
			assert.Equal(t, []string{"/large_tool_result/call_0", "/large_tool_result/call_1", "/large_tool_result/call_0", "/large_tool_result/call_2", "/large_tool_result/call_3"}, paths)
			assert.Equal(t, "yes, go on\n"+bigLog(), store.stored()["/large_tool_result/call_3"])
		})
	}
}

// The stream of a tool may outlive the run of its graph: a react agent hands it to the caller as its answer.
func TestStreamOutlivesItsGraph(t *testing.T) {
	src, writer := schema.Pipe[string](0)
	model := provider.New(func(int, []*schema.Message) (*schema.Message, error) {
		return schema.AssistantMessage("", []schema.ToolCall{toolCall("call_0", "answer")}), nil
	}, 0, fourBytes)
	store := newMemory()
	agent, err := react.NewAgent(t.Context(), &react.AgentConfig{
		ToolCallingModel: model, ToolReturnDirectly: map[string]struct{}{"answer": {}},
		ToolsConfig: nodeConfig([]compose.ToolMiddleware{newOffload(t, &toolresult.OffloadConfig{Backend: store})}, []tool.BaseTool{
			streamTool{"answer", func(context.Context, string) (*schema.StreamReader[string], error) { return src, nil }},
		}),
	})
	require.NoError(t, err)
	reader, err := agent.Stream(t.Context(), []*schema.Message{schema.UserMessage("hello")})
	require.NoError(t, err)
	go func() {
		defer writer.Close()
		for _, piece := range pieces(bigLog(), 10_000) {
			writer.Send(piece, nil)
		}
	}()
	chunks, err := receive(reader)
	require.NoError(t, err, "the end of the graph is not the end of the stream")
	answer, err := schema.ConcatMessages(chunks)
	require.NoError(t, err)
	assert.Equal(t, bigLog(), store.stored()[pathIn(t, answer.Content)])
}
