package rig

import (
	"context"
	"errors"
	"io"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/flow/agent/react"
	"github.com/cloudwego/eino/schema"

	"github.com/eino-toolresult/toolresult"
)

// runADK runs a ChatModelAgent with the library's handler.
func runADK(ctx context.Context, a *Agent, chat model.ToolCallingChatModel) (*schema.Message, error) {
	cfg := &adk.ChatModelAgentConfig{
		Name: "agent", Description: "an agent", Model: chat, MaxIterations: maxSteps, ModelRetryConfig: a.Retry,
		ToolsConfig: adk.ToolsConfig{ToolsNodeConfig: compose.ToolsNodeConfig{Tools: a.Tools.Tools(), ToolCallMiddlewares: []compose.ToolMiddleware{rescue()}}},
	}
	if a.Mode != Neither {
		handler, err := a.handler(ctx)
		if err != nil {
			return nil, err
		}
		cfg.Handlers = []adk.ChatModelAgentMiddleware{handler}
	}
	agent, err := adk.NewChatModelAgent(ctx, cfg)
	if err != nil {
		return nil, err
	}
	runner := adk.NewRunner(ctx, adk.RunnerConfig{Agent: agent, EnableStreaming: a.Stream})
	return lastMessage(runner.Query(ctx, Question))
}

func (a *Agent) handler(ctx context.Context) (adk.ChatModelAgentMiddleware, error) {
	compaction, err := a.compaction(ctx, nil)
	if err != nil {
		return nil, err
	}
	return toolresult.NewHandler(ctx, &toolresult.HandlerConfig{
		Backend: a.Backend, ContextWindow: compaction.ContextWindow, Offload: *a.offload(), Compaction: *compaction,
		Read:   toolresult.ReadConfig{MaxTokens: max(a.Window/16, 100)},
		Search: toolresult.SearchConfig{MaxTokens: max(a.Window/16, 100)},
	})
}

func lastMessage(events *adk.AsyncIterator[*adk.AgentEvent]) (last *schema.Message, err error) {
	for event, more := events.Next(); more; event, more = events.Next() {
		if event.Err != nil {
			err = event.Err
		}
		if event.Output == nil || event.Output.MessageOutput == nil {
			continue
		}
		if msg, failed := event.Output.MessageOutput.GetMessage(); failed == nil {
			last = msg
		}
	}
	return last, err
}

// parts are what the loops without a handler are made of.
type parts struct {
	tools   []tool.BaseTool
	schemas []*schema.ToolInfo
	node    compose.ToolsNodeConfig
	hook    *toolresult.CompactionHook // nil in the mode Neither
}

func (a *Agent) parts(ctx context.Context) (*parts, error) {
	p := &parts{tools: a.Tools.Tools()}
	middlewares := []compose.ToolMiddleware{rescue()}
	if a.Mode != Neither {
		readers, err := a.readers(ctx)
		offload, failed := toolresult.NewOffload(ctx, a.offload())
		if err = errors.Join(err, failed); err != nil {
			return nil, err
		}
		p.tools = append(p.tools, readers...)
		middlewares = append([]compose.ToolMiddleware{offload}, middlewares...)
	}
	var err error
	if p.schemas, err = schemasOf(ctx, p.tools); err != nil {
		return nil, err
	}
	p.node = compose.ToolsNodeConfig{Tools: p.tools, ToolCallMiddlewares: middlewares}
	if a.Mode != Neither {
		compaction, failed := a.compaction(ctx, p.schemas)
		if failed != nil {
			return nil, failed
		}
		p.hook, err = toolresult.NewCompactionHook(ctx, compaction)
	}
	return p, err
}

// runReact runs an agent of react. Its own way to tell calls from an answer looks at the first chunk only, and text comes first.
func runReact(ctx context.Context, a *Agent, chat model.ToolCallingChatModel) (*schema.Message, error) {
	p, err := a.parts(ctx)
	if err != nil {
		return nil, err
	}
	cfg := &react.AgentConfig{ToolCallingModel: chat, ToolsConfig: p.node, MaxStep: 2 * maxSteps, StreamToolCallChecker: hasCalls}
	if p.hook != nil {
		cfg.MessageRewriter = p.hook.MessageRewriter()
	}
	agent, err := react.NewAgent(ctx, cfg)
	if err != nil {
		return nil, err
	}
	question := []*schema.Message{schema.UserMessage(Question)}
	if !a.Stream {
		return agent.Generate(ctx, question)
	}
	return joined(agent.Stream(ctx, question))
}

func hasCalls(_ context.Context, answer *schema.StreamReader[*schema.Message]) (bool, error) {
	defer answer.Close()
	for {
		chunk, err := answer.Recv()
		if err == io.EOF {
			return false, nil
		}
		if err != nil || len(chunk.ToolCalls) > 0 {
			return err == nil, err
		}
	}
}

func joined(stream *schema.StreamReader[*schema.Message], err error) (*schema.Message, error) {
	if err != nil {
		return nil, err
	}
	return schema.ConcatMessageStream(stream)
}

// state is the conversation of a graph, as it was last sent.
type state struct{ history []*schema.Message }

// runGraph runs the loop of model and tools written out, with the hook in the handler before the model.
func runGraph(ctx context.Context, a *Agent, chat model.ToolCallingChatModel) (*schema.Message, error) {
	p, err := a.parts(ctx)
	if err != nil {
		return nil, err
	}
	bound, err := chat.WithTools(p.schemas)
	if err != nil {
		return nil, err
	}
	node, err := compose.NewToolNode(ctx, &p.node)
	if err != nil {
		return nil, err
	}
	graph := compose.NewGraph[[]*schema.Message, *schema.Message](compose.WithGenLocalState(func(context.Context) *state { return &state{} }))
	err = errors.Join(
		graph.AddChatModelNode("model", bound, compose.WithStatePreHandler(p.before)),
		graph.AddToolsNode("tools", node, compose.WithStatePreHandler(remember)),
		graph.AddEdge(compose.START, "model"),
		graph.AddBranch("model", compose.NewStreamGraphBranch(next, map[string]bool{"tools": true, compose.END: true})),
		graph.AddEdge("tools", "model"),
	)
	if err != nil {
		return nil, err
	}
	loop, err := graph.Compile(ctx, compose.WithMaxRunSteps(2*maxSteps))
	if err != nil {
		return nil, err
	}
	question := []*schema.Message{schema.UserMessage(Question)}
	if !a.Stream {
		return loop.Invoke(ctx, question)
	}
	return joined(loop.Stream(ctx, question))
}

func (p *parts) before(ctx context.Context, news []*schema.Message, s *state) (_ []*schema.Message, err error) {
	s.history = append(s.history, news...)
	if p.hook != nil {
		s.history, err = p.hook.BeforeModel(ctx, s.history, p.schemas)
	}
	return s.history, err
}

func remember(_ context.Context, answer *schema.Message, s *state) (*schema.Message, error) {
	s.history = append(s.history, answer)
	return answer, nil
}

func next(ctx context.Context, answer *schema.StreamReader[*schema.Message]) (string, error) {
	calls, err := hasCalls(ctx, answer)
	if calls {
		return "tools", err
	}
	return compose.END, err
}
