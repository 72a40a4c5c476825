// A react agent: a tool middleware offloads, two tools read back, and a message rewriter prunes. The model is a script, so no
// key is needed.
//
//	go run ./examples/react
package main

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/flow/agent/react"
	"github.com/cloudwego/eino/schema"

	"github.com/eino-toolresult/toolresult"
	"github.com/eino-toolresult/toolresult/examples/internal/demo"
)

func main() { demo.Main("react", run) }

func run(ctx context.Context, out io.Writer, dir string) error {
	backend, err := toolresult.NewDirBackend(ctx, &toolresult.DirConfig{Dir: dir})
	if err != nil {
		return err
	}
	defer backend.Close()
	offload, err := toolresult.NewOffload(ctx, &toolresult.OffloadConfig{Backend: backend, TokenLimit: demo.Window / 8})
	if err != nil {
		return err
	}
	tools, err := demo.ToolsOver(ctx, backend)
	if err != nil {
		return err
	}
	schemas, err := demo.Schemas(ctx, tools)
	if err != nil {
		return err
	}
	// A rewriter sees neither the tools nor an error's receiver, so the hook is told of both.
	hook, err := toolresult.NewCompactionHook(ctx, &toolresult.CompactionConfig{
		ContextWindow: demo.Window, Tools: schemas,
		OnError: func(_ context.Context, err error) { fmt.Fprintln(os.Stderr, "not pruned:", err) },
	})
	if err != nil {
		return err
	}
	chat := demo.NewModel()
	agent, err := react.NewAgent(ctx, &react.AgentConfig{
		ToolCallingModel: chat, MaxStep: 100,
		ToolsConfig:     compose.ToolsNodeConfig{Tools: tools, ToolCallMiddlewares: []compose.ToolMiddleware{offload}},
		MessageRewriter: hook.MessageRewriter(),
	})
	if err != nil {
		return err
	}
	answer, err := agent.Generate(ctx, []*schema.Message{schema.UserMessage(demo.Question)})
	if err != nil {
		return err
	}
	demo.Print(out, chat, answer.Content)
	return nil
}
