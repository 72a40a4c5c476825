package toolresult_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"strings"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/flow/agent/react"
	"github.com/cloudwego/eino/schema"

	"github.com/eino-toolresult/toolresult"
	"github.com/eino-toolresult/toolresult/internal/provider"
)

// exampleModel stands for a model with a window of 4 000 tokens. It reads eight pages, then answers.
func exampleModel() *provider.Model {
	return provider.New(func(_ int, messages []*schema.Message) (*schema.Message, error) {
		if read := len(toolResults(messages)); read < 8 {
			return callsFor(toolCall(fmt.Sprint("call_", read), "read_page")), nil
		}
		return answers("I have read all eight pages."), nil
	}, 4_000, requestTokens)
}

func exampleTools() compose.ToolsNodeConfig {
	return toolsNode(fakeTool("invokable", "read_page", strings.Repeat("A page of text. ", 150)))
}

// The window is set too large here, so that the provider refuses what the handler thought would fit. ADK asks ShouldRetry, and
// the run goes on with a shorter conversation.
func ExampleCompactionHook_ShouldRetry() {
	ctx := context.Background()
	compaction := toolresult.CompactionConfig{ContextWindow: 16_000, OnCompaction: func(_ context.Context, c *toolresult.Compaction) {
		fmt.Println("pruned:", len(c.Pruned))
	}}
	handler, err := toolresult.NewHandler(ctx, &toolresult.HandlerConfig{Backend: newMemory(), ContextWindow: 16_000, Compaction: compaction})
	if err != nil {
		log.Fatal(err)
	}
	hook, err := toolresult.NewCompactionHook(ctx, &compaction)
	if err != nil {
		log.Fatal(err)
	}
	agent, err := adk.NewChatModelAgent(ctx, &adk.ChatModelAgentConfig{
		Name: "reader", Description: "reads pages", Model: exampleModel(),
		ToolsConfig:      adk.ToolsConfig{ToolsNodeConfig: exampleTools()},
		Handlers:         []adk.ChatModelAgentMiddleware{handler},
		ModelRetryConfig: &adk.ModelRetryConfig{MaxRetries: 1, ShouldRetry: hook.ShouldRetry},
	})
	if err != nil {
		log.Fatal(err)
	}
	messages, err := runAgent(ctx, agent, false, schema.UserMessage("Read all pages."))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(messages[len(messages)-1].Content)
	// Output:
	// pruned: 4
	// I have read all eight pages.
}

// generate calls a model, and once more with a shorter conversation when the provider says that it is too long. It returns the
// conversation to go on with. In a graph it is the body of a lambda that takes the place of the model's node.
func generate(ctx context.Context, chat model.BaseChatModel, hook *toolresult.CompactionHook, history []*schema.Message) (*schema.Message, []*schema.Message, error) {
	answer, err := chat.Generate(ctx, history)
	if !toolresult.IsContextTooLong(err) {
		return answer, history, err
	}
	shorter, changed, failed := hook.CompactTooLong(ctx, history, nil)
	if !changed {
		return nil, history, errors.Join(err, failed)
	}
	answer, err = chat.Generate(ctx, shorter)
	return answer, shorter, err
}

// In a graph: a lambda calls the model, and the state of the graph keeps what is left of the conversation.
func ExampleCompactionHook_CompactTooLong() {
	type state struct{ history []*schema.Message }
	ctx := context.Background()
	hook, err := toolresult.NewCompactionHook(ctx, &toolresult.CompactionConfig{ContextWindow: 16_000})
	if err != nil {
		log.Fatal(err)
	}
	cfg := exampleTools()
	tools, err := compose.NewToolNode(ctx, &cfg)
	if err != nil {
		log.Fatal(err)
	}
	chat := exampleModel()
	callModel := compose.InvokableLambda(func(ctx context.Context, news []*schema.Message) (answer *schema.Message, err error) {
		err = compose.ProcessState(ctx, func(ctx context.Context, s *state) error {
			answer, s.history, err = generate(ctx, chat, hook, append(s.history, news...))
			s.history = append(s.history, answer)
			return err
		})
		return answer, err
	})
	toolsOrEnd := compose.NewGraphBranch(func(_ context.Context, answer *schema.Message) (string, error) {
		if len(answer.ToolCalls) > 0 {
			return "tools", nil
		}
		return compose.END, nil
	}, map[string]bool{"tools": true, compose.END: true})

	graph := compose.NewGraph[[]*schema.Message, *schema.Message](compose.WithGenLocalState(func(context.Context) *state { return &state{} }))
	err = errors.Join(
		graph.AddLambdaNode("model", callModel),
		graph.AddToolsNode("tools", tools),
		graph.AddEdge(compose.START, "model"),
		graph.AddBranch("model", toolsOrEnd),
		graph.AddEdge("tools", "model"),
	)
	if err != nil {
		log.Fatal(err)
	}
	loop, err := graph.Compile(ctx, compose.WithMaxRunSteps(40))
	if err != nil {
		log.Fatal(err)
	}
	answer, err := loop.Invoke(ctx, []*schema.Message{schema.UserMessage("Read all pages.")})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(answer.Content)
	// Output: I have read all eight pages.
}

// A react agent ends its run when the provider refuses. What it had sent is known from the rewriter; shortened, it is where
// the next run takes up.
func ExampleCompactionHook_CompactTooLong_react() {
	ctx := context.Background()
	hook, err := toolresult.NewCompactionHook(ctx, &toolresult.CompactionConfig{ContextWindow: 16_000})
	if err != nil {
		log.Fatal(err)
	}
	var sent []*schema.Message // of one run; where runs share an agent, keep it in the context
	rewrite := hook.MessageRewriter()
	agent, err := react.NewAgent(ctx, &react.AgentConfig{
		ToolCallingModel: exampleModel(),
		ToolsConfig:      exampleTools(),
		MaxStep:          40,
		MessageRewriter: func(ctx context.Context, messages []*schema.Message) []*schema.Message {
			sent = rewrite(ctx, messages)
			return sent
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	messages := []*schema.Message{schema.UserMessage("Read all pages.")}
	answer, err := agent.Generate(ctx, messages)
	for changed := true; changed && toolresult.IsContextTooLong(err); {
		fmt.Println("too long")
		if messages, changed, err = hook.CompactTooLong(ctx, sent, nil); changed {
			answer, err = agent.Generate(ctx, messages)
		}
	}
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(answer.Content)
	// Output:
	// too long
	// I have read all eight pages.
}

// history keeps the conversation as it is when a run ends, with what was pruned.
type history struct {
	*adk.BaseChatModelAgentMiddleware
	messages []*schema.Message
}

func (h *history) AfterAgent(ctx context.Context, state *adk.ChatModelAgentState) (context.Context, error) {
	h.messages = nil
	for _, msg := range state.Messages {
		if msg.Role != schema.System { // the agent adds its own anew
			h.messages = append(h.messages, msg)
		}
	}
	return ctx, nil
}

// An application of several turns keeps the messages of the state, not those of the events.
func ExampleNewHandler_severalTurns() {
	ctx := context.Background()
	handler, err := toolresult.NewHandler(ctx, &toolresult.HandlerConfig{
		Backend: newMemory(), ContextWindow: 4_000, Offload: toolresult.OffloadConfig{TokenLimit: 1_000},
	})
	if err != nil {
		log.Fatal(err)
	}
	kept := &history{BaseChatModelAgentMiddleware: &adk.BaseChatModelAgentMiddleware{}}
	agent, err := adk.NewChatModelAgent(ctx, &adk.ChatModelAgentConfig{
		Name: "reader", Description: "reads pages", Instruction: "You read pages.", Model: exampleModel(),
		ToolsConfig: adk.ToolsConfig{ToolsNodeConfig: exampleTools()},
		Handlers:    []adk.ChatModelAgentMiddleware{handler, kept},
	})
	if err != nil {
		log.Fatal(err)
	}
	for _, question := range []string{"Read all pages.", "Have you read them?"} {
		events, err := runAgent(ctx, agent, false, append(kept.messages, schema.UserMessage(question))...)
		if err != nil {
			log.Fatal(err)
		}
		pruned := 0
		for _, msg := range kept.messages {
			if _, marked := msg.Extra["context_compaction"]; marked {
				pruned++
			}
		}
		fmt.Printf("%d events, %d messages kept, %d of them pruned\n", len(events), len(kept.messages), pruned)
	}
	// Output:
	// 17 events, 18 messages kept, 6 of them pruned
	// 1 events, 20 messages kept, 6 of them pruned
}
