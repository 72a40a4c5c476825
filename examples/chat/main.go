// Command chat is a conversation with an agent that fetches large data from the web. The model is a real one: an OpenAI-compatible
// endpoint, Claude, Gemini or Ollama, whichever the environment names.
//
//	cd examples/chat
//	OPENAI_API_KEY=… CHAT_MODEL=gpt-5-mini go run .
//	OPENAI_BASE_URL=http://localhost:8000/v1 OPENAI_API_KEY=none CHAT_MODEL=qwen3 go run .
//	ANTHROPIC_API_KEY=… CHAT_MODEL=claude-sonnet-4-5 go run .
//	GEMINI_API_KEY=… CHAT_MODEL=gemini-2.5-flash go run .
//	OLLAMA_HOST=http://localhost:11434 CHAT_MODEL=qwen3 go run .
//
// CHAT_WINDOW is the model's context window in tokens, 128000 if unset. Questions to try: "Which open issues of golang/go have
// the most comments? https://api.github.com/repos/golang/go/issues?per_page=100", then "What does the first one say?"
package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"sync"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/schema"

	"github.com/eino-toolresult/toolresult"
	"github.com/eino-toolresult/toolresult/tokenest"
)

func main() {
	if err := start(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "chat:", err)
		os.Exit(1)
	}
}

func start(ctx context.Context) error {
	chosen, err := chooseModel(ctx, os.Getenv)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "toolresult-chat-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	return chat(ctx, chosen, dir, os.Stdin, os.Stdout)
}

// chat answers line after line. What it keeps for the next turn is all that the events say: pruned anew, it is the same bytes.
func chat(ctx context.Context, chosen *choice, dir string, in io.Reader, out io.Writer) error {
	backend, err := toolresult.NewDirBackend(ctx, &toolresult.DirConfig{Dir: dir})
	if err != nil {
		return err
	}
	defer backend.Close()
	out = &lockedWriter{w: out}
	agent, err := newAgent(ctx, chosen, backend, out)
	if err != nil {
		return err
	}
	runner := adk.NewRunner(ctx, adk.RunnerConfig{Agent: agent, EnableStreaming: true})
	var history []*schema.Message
	fmt.Fprintf(out, "%s. An empty line ends it.\n", chosen.name)
	for lines := bufio.NewScanner(in); ; {
		fmt.Fprint(out, "\n> ")
		if !lines.Scan() || lines.Text() == "" {
			return lines.Err()
		}
		history = append(history, schema.UserMessage(lines.Text()))
		answers, err := show(out, runner.Run(ctx, history))
		if err != nil { // the question is taken back, so that another can be asked
			fmt.Fprintln(out, "  [failed: "+err.Error()+"]")
			history = history[:len(history)-1]
			continue
		}
		history = append(history, answers...)
	}
}

func newAgent(ctx context.Context, chosen *choice, backend *toolresult.DirBackend, out io.Writer) (adk.Agent, error) {
	counter, err := toolresult.NewTokenCounter(ctx, &toolresult.TokenCounterConfig{Text: chosen.tokens})
	if err != nil {
		return nil, err
	}
	handler, err := toolresult.NewHandler(ctx, &toolresult.HandlerConfig{
		Backend:       backend,
		ContextWindow: chosen.window,
		Offload:       toolresult.OffloadConfig{TokenCounter: counter, Sampler: toolresult.OutlineSampler(0)},
		Prune:         toolresult.PruneConfig{Archive: backend, Pointers: toolresult.ShortenPointers},
		Compaction:    toolresult.CompactionConfig{TokenCounter: counter, OnCompaction: tellOf(out)},
	})
	if err != nil {
		return nil, err
	}
	fetch, err := newFetchTool()
	if err != nil {
		return nil, err
	}
	return adk.NewChatModelAgent(ctx, &adk.ChatModelAgentConfig{
		Name: "reader", Description: "answers from the web", Model: chosen.model, MaxIterations: 50,
		Instruction: "Answer from what you fetch. A large page is stored, and you are told its path: search it or read it in parts.",
		ToolsConfig: adk.ToolsConfig{ToolsNodeConfig: compose.ToolsNodeConfig{
			Tools: []tool.BaseTool{fetch},
			UnknownToolsHandler: func(_ context.Context, name, _ string) (string, error) {
				return "There is no tool " + name + ".", nil
			},
		}},
		Handlers: []adk.ChatModelAgentMiddleware{handler},
	})
}

// tellOf prints what was pruned.
func tellOf(out io.Writer) func(context.Context, *toolresult.Compaction) {
	return func(_ context.Context, c *toolresult.Compaction) {
		if c.Changed {
			fmt.Fprintf(out, "  [without %d results of before: %d tokens became %d]\n", len(c.Pruned), c.TokensBefore, c.TokensAfter)
		}
		if c.OverWindow {
			fmt.Fprintln(out, "  [and that is more than the window]")
		}
		if c.Err != nil {
			fmt.Fprintln(out, "  [not archived: "+c.Err.Error()+"]")
		}
	}
}

// lockedWriter lets the agent and the conversation print at the same time.
type lockedWriter struct {
	mu sync.Mutex
	w  io.Writer
}

func (l *lockedWriter) Write(text []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(text)
}

// choice is the model that the environment names.
type choice struct {
	name   string
	model  model.ToolCallingChatModel
	tokens *tokenest.Estimator
	window int
}

const defaultWindow = 128_000

func window(getenv func(string) string) (int, error) {
	text := getenv("CHAT_WINDOW")
	if text == "" {
		return defaultWindow, nil
	}
	tokens, err := strconv.Atoi(text)
	if err != nil || tokens <= 0 {
		return 0, fmt.Errorf("CHAT_WINDOW is %q; want a number of tokens above 0", text)
	}
	return tokens, nil
}

// show prints the events of a turn and returns their messages.
func show(out io.Writer, events *adk.AsyncIterator[*adk.AgentEvent]) ([]*schema.Message, error) {
	var messages []*schema.Message
	for {
		event, more := events.Next()
		if !more {
			return messages, nil
		}
		if event.Err != nil {
			return nil, event.Err
		}
		if event.Output == nil || event.Output.MessageOutput == nil {
			continue
		}
		msg, err := showMessage(out, event.Output.MessageOutput)
		if err != nil {
			return nil, err
		}
		messages = append(messages, msg)
	}
}

func showMessage(out io.Writer, variant *adk.MessageVariant) (*schema.Message, error) {
	if !variant.IsStreaming || variant.Role == schema.Tool {
		msg, err := variant.GetMessage()
		if err == nil {
			describe(out, msg, msg.Content)
		}
		return msg, err
	}
	var chunks []*schema.Message
	for {
		chunk, err := variant.MessageStream.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		fmt.Fprint(out, chunk.Content)
		chunks = append(chunks, chunk)
	}
	msg, err := schema.ConcatMessages(chunks)
	if err == nil {
		describe(out, msg, "")
	}
	return msg, err
}

// describe prints what of a message was not printed yet.
func describe(out io.Writer, msg *schema.Message, text string) {
	path, offloaded := toolresult.OffloadedPath(msg)
	switch {
	case offloaded:
		fmt.Fprintf(out, "  [stored in %s]\n", path)
	case msg.Role == schema.Tool:
		fmt.Fprintf(out, "  [%d bytes]\n", len(msg.Content))
	case text != "":
		fmt.Fprintln(out, text)
	case msg.Content != "":
		fmt.Fprintln(out)
	}
	for _, call := range msg.ToolCalls {
		fmt.Fprintf(out, "  [%s %s]\n", call.Function.Name, call.Function.Arguments)
	}
}
