package main

import (
	"context"
	"errors"

	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/schema"

	"github.com/eino-toolresult/toolresult"
	"github.com/eino-toolresult/toolresult/examples/internal/demo"
)

// state is the conversation so far, as it was last sent.
type state struct{ history []*schema.Message }

func newLoop(ctx context.Context, backend toolresult.Backend, chat model.BaseChatModel, tools []tool.BaseTool, schemas []*schema.ToolInfo) (compose.Runnable[[]*schema.Message, *schema.Message], error) {
	offload, err := toolresult.NewOffload(ctx, &toolresult.OffloadConfig{Backend: backend, TokenLimit: demo.Window / 8})
	if err != nil {
		return nil, err
	}
	hook, err := toolresult.NewCompactionHook(ctx, &toolresult.CompactionConfig{ContextWindow: demo.Window})
	if err != nil {
		return nil, err
	}
	node, err := compose.NewToolNode(ctx, &compose.ToolsNodeConfig{Tools: tools, ToolCallMiddlewares: []compose.ToolMiddleware{offload}})
	if err != nil {
		return nil, err
	}
	// Before a call: what came since is added, and what is pruned stays pruned.
	prune := compose.WithStatePreHandler(func(ctx context.Context, news []*schema.Message, s *state) (_ []*schema.Message, err error) {
		s.history, err = hook.BeforeModel(ctx, append(s.history, news...), schemas)
		return s.history, err
	})
	remember := compose.WithStatePreHandler(func(_ context.Context, answer *schema.Message, s *state) (*schema.Message, error) {
		s.history = append(s.history, answer)
		return answer, nil
	})
	toolsOrEnd := compose.NewGraphBranch(func(_ context.Context, answer *schema.Message) (string, error) {
		if len(answer.ToolCalls) > 0 {
			return "tools", nil
		}
		return compose.END, nil
	}, map[string]bool{"tools": true, compose.END: true})

	graph := compose.NewGraph[[]*schema.Message, *schema.Message](compose.WithGenLocalState(func(context.Context) *state { return &state{} }))
	err = errors.Join(
		graph.AddChatModelNode("model", chat, prune),
		graph.AddToolsNode("tools", node, remember),
		graph.AddEdge(compose.START, "model"),
		graph.AddBranch("model", toolsOrEnd),
		graph.AddEdge("tools", "model"),
	)
	if err != nil {
		return nil, err
	}
	return graph.Compile(ctx, compose.WithMaxRunSteps(100))
}
