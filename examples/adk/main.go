// An ADK agent with the handler: one line offloads, brings the tools that read stored results, and prunes. The model is a
// script, so no key is needed.
//
//	go run ./examples/adk
package main

import (
	"context"
	"io"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/compose"

	"github.com/eino-toolresult/toolresult"
	"github.com/eino-toolresult/toolresult/examples/internal/demo"
)

func main() { demo.Main("adk", run) }

func run(ctx context.Context, out io.Writer, dir string) error {
	backend, err := toolresult.NewDirBackend(ctx, &toolresult.DirConfig{Dir: dir})
	if err != nil {
		return err
	}
	defer backend.Close()
	handler, err := toolresult.NewHandler(ctx, &toolresult.HandlerConfig{Backend: backend, ContextWindow: demo.Window})
	if err != nil {
		return err
	}
	// When the provider says that the context is too long all the same, this compacts once more and tries again.
	hook, err := toolresult.NewCompactionHook(ctx, &toolresult.CompactionConfig{ContextWindow: demo.Window})
	if err != nil {
		return err
	}
	tools, err := demo.Tools()
	if err != nil {
		return err
	}
	chat := demo.NewModel()
	agent, err := adk.NewChatModelAgent(ctx, &adk.ChatModelAgentConfig{
		Name: "reader", Description: "reads logs", Model: chat, MaxIterations: 50,
		ToolsConfig:      adk.ToolsConfig{ToolsNodeConfig: compose.ToolsNodeConfig{Tools: tools}},
		Handlers:         []adk.ChatModelAgentMiddleware{handler},
		ModelRetryConfig: &adk.ModelRetryConfig{MaxRetries: 1, ShouldRetry: hook.ShouldRetry},
	})
	if err != nil {
		return err
	}
	answer, err := last(adk.NewRunner(ctx, adk.RunnerConfig{Agent: agent}).Query(ctx, demo.Question))
	if err != nil {
		return err
	}
	demo.Print(out, chat, answer)
	return nil
}

// last is the text of the last event.
func last(events *adk.AsyncIterator[*adk.AgentEvent]) (text string, err error) {
	for {
		event, more := events.Next()
		if !more {
			return text, nil
		}
		if event.Err != nil {
			return "", event.Err
		}
		if msg, err := event.Output.MessageOutput.GetMessage(); err == nil {
			text = msg.Content
		}
	}
}
