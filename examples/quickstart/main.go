// Quickstart lets an Eino agent loose on the Go source tree of this machine, whose listings and searches run from bytes to
// megabytes, with a context window of 32 000 tokens. The model is a script, so no key and no network are needed; everything
// else is what a real agent has.
//
//	go run ./examples/quickstart
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"

	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/flow/agent/react"
	"github.com/cloudwego/eino/schema"

	"github.com/eino-toolresult/toolresult"
	"github.com/eino-toolresult/toolresult/internal/provider"
	"github.com/eino-toolresult/toolresult/tokenest"
)

const (
	window = 32_000 // tokens; real models have more, and fill up as surely

	// tokenLimit is what a single result may take of the window. The default of 20 000 is meant for windows of 128 000 and more.
	tokenLimit = window / 8

	maxSteps = 60 // a model call is one, a round of tool calls another
)

// newAgent wires the library into a react agent. It is the part to copy, all but seen, which only feeds the report.
func newAgent(ctx context.Context, chat model.ToolCallingChatModel, tools []tool.BaseTool, backend *toolresult.DirBackend, seen *record) (*react.Agent, error) {
	// Two tools by which the model gets at what was stored, named as the notices name them.
	read, err := toolresult.NewReadTool(ctx, &toolresult.ReadConfig{Backend: backend})
	if err != nil {
		return nil, err
	}
	search, err := toolresult.NewSearchTool(ctx, &toolresult.SearchConfig{Backend: backend})
	if err != nil {
		return nil, err
	}
	tools = append(tools, read, search)

	// A react agent does not tell the hook which schemas go with a request, so it is told here.
	schemas, err := toolInfos(ctx, tools)
	if err != nil {
		return nil, err
	}

	offload, err := toolresult.NewOffload(ctx, &toolresult.OffloadConfig{
		Backend: backend, TokenLimit: tokenLimit, OnOffload: seen.offloaded,
	})
	if err != nil {
		return nil, err
	}
	counter, err := toolresult.NewTokenCounter(ctx, &toolresult.TokenCounterConfig{Text: tokenest.Generic()})
	if err != nil {
		return nil, err
	}
	compaction, err := toolresult.NewCompactionHook(ctx, &toolresult.CompactionConfig{
		ContextWindow: window, TokenCounter: counter, Tools: schemas, OnCompaction: seen.compacted, OnError: seen.failed,
	})
	if err != nil {
		return nil, err
	}

	return react.NewAgent(ctx, &react.AgentConfig{
		ToolCallingModel: chat,
		ToolsConfig: compose.ToolsNodeConfig{
			Tools: tools,
			// The first line that matters: a large result is stored, and the model reads a notice of it. What stands behind
			// offload in this list sees the results as the tools returned them.
			ToolCallMiddlewares: []compose.ToolMiddleware{offload, seen.middleware()},
		},
		// The second: when the window fills up, old results give way to placeholders.
		MessageRewriter: compaction.MessageRewriter(),
		MaxStep:         maxSteps,
	})
}

const intro = `A scripted model explores %s. Its context window is %s tokens; results over %s are stored.

Question: %s
`

// run asks the agent one question about a source tree, with results going to dir, and prints how it went.
func run(ctx context.Context, out io.Writer, source, dir string) (*record, error) {
	backend, err := toolresult.NewDirBackend(ctx, &toolresult.DirConfig{Dir: dir})
	if err != nil {
		return nil, err
	}
	defer backend.Close() // the files stay
	tools, err := sourceTools(os.DirFS(source))
	if err != nil {
		return nil, err
	}
	seen, err := newRecord(ctx)
	if err != nil {
		return nil, err
	}
	agent, err := newAgent(ctx, provider.New(script(), window, seen.count), tools, backend, seen)
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(out, intro, source, grouped(window), grouped(tokenLimit), question)
	answer, err := agent.Generate(ctx, []*schema.Message{schema.SystemMessage(system), schema.UserMessage(question)})
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(out, "Answer:   %s\n\n", answer.Content)
	seen.print(out, dir)
	return seen, seen.err
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := start(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "quickstart:", err)
		os.Exit(1)
	}
}

// start leaves the directory behind, for whoever wants to look into it.
func start(ctx context.Context) error {
	source, err := sourceTree(ctx)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "toolresult-quickstart-")
	if err != nil {
		return err
	}
	_, err = run(ctx, os.Stdout, source, dir)
	return err
}
