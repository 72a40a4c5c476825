package main

// The two agents. They differ in their tools and scripts; the library is wired into both alike.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"

	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/flow/agent/react"
	"github.com/cloudwego/eino/schema"

	"github.com/eino-toolresult/toolresult"
	"github.com/eino-toolresult/toolresult/internal/provider"
)

const (
	window     = 32_000 // tokens
	tokenLimit = window / 8
	maxSteps   = 20
)

// runOne is one of the two processes.
func runOne(ctx context.Context, out io.Writer, opts options) error {
	results, closeBucket, err := openBackend(ctx, opts)
	if err != nil {
		return err
	}
	defer closeBucket()
	fmt.Fprintf(out, "\nProcess %d, %s:\n", os.Getpid(), opts.role)
	question, tools, script := "Where are Go's functions? Hand over a list.", sourceTools, collects
	if opts.role == "answer" {
		question, tools, script = "In which line does an HTTP connection begin to serve? The list is "+opts.path, noTools, answers(opts.path)
	}
	agent, err := newAgent(ctx, out, results, tools, script)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "  question: %s\n", question)
	said, err := agent.Generate(ctx, []*schema.Message{schema.UserMessage(question)})
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "  answer:   %s\n", said.Content)
	return nil
}

func newAgent(ctx context.Context, out io.Writer, results store, tools func() ([]tool.BaseTool, error), script provider.Script) (*react.Agent, error) {
	own, ownErr := tools()
	read, readErr := toolresult.NewReadTool(ctx, &toolresult.ReadConfig{Backend: results})
	search, searchErr := toolresult.NewSearchTool(ctx, &toolresult.SearchConfig{Backend: results})
	offload, offloadErr := toolresult.NewOffload(ctx, &toolresult.OffloadConfig{
		Backend: results, TokenLimit: tokenLimit, OnOffload: func(_ context.Context, event toolresult.OffloadEvent) {
			if event.Err == nil {
				fmt.Fprintf(out, "  stored:   %d bytes as %s\n", event.Bytes, event.Path)
			}
		},
	})
	counter, counterErr := toolresult.NewTokenCounter(ctx, nil)
	if err := errors.Join(ownErr, readErr, searchErr, offloadErr, counterErr); err != nil {
		return nil, err
	}
	count := func(messages []*schema.Message, tools []*schema.ToolInfo) int {
		tokens, _ := counter.CountTokens(ctx, messages, tools) // the default counter has no errors
		return int(tokens)
	}
	return react.NewAgent(ctx, &react.AgentConfig{
		ToolCallingModel: provider.New(script, window, count),
		ToolsConfig: compose.ToolsNodeConfig{
			Tools:               append(own, read, search),
			ToolCallMiddlewares: []compose.ToolMiddleware{offload},
		},
		MaxStep: maxSteps,
	})
}

// collects asks for all functions, in every file, and hands over where the result lies.
func collects(n int, read []*schema.Message) (*schema.Message, error) {
	if n == 0 {
		return call("search_source", map[string]any{"pattern": `^func `}), nil
	}
	if path, ok := toolresult.OffloadedPath(read[len(read)-1]); ok {
		return schema.AssistantMessage("The list is "+path, nil), nil
	}
	return nil, errors.New("there is no notice of a stored result")
}

// answers searches the list, and reads on from there.
func answers(path string) provider.Script {
	found := regexp.MustCompile(`(?m)net/http/server\.go:(\d+): (func \(c \*conn\) serve\(.*)$`)
	return func(n int, read []*schema.Message) (*schema.Message, error) {
		if n == 0 {
			return call("search_file", map[string]any{"file_path": path, "pattern": `^net/http/server\.go:.*\) serve\(`}), nil
		}
		for _, msg := range slices.Backward(read) {
			if match := found.FindStringSubmatch(msg.Content); match != nil {
				return schema.AssistantMessage(fmt.Sprintf("In line %s of net/http/server.go: %s", match[1], match[2]), nil), nil
			}
		}
		return nil, fmt.Errorf("it is not in the list: %s", read[len(read)-1].Content)
	}
}

func call(name string, arguments map[string]any) *schema.Message {
	text, _ := json.Marshal(arguments) // strings and numbers always can be
	return schema.AssistantMessage("", []schema.ToolCall{{ID: "call_1", Type: "function",
		Function: schema.FunctionCall{Name: name, Arguments: string(text)}}})
}
