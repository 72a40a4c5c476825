// Package demo is what the small examples share: a tool with large results, a scripted model in place of a real one, and a
// look at what the model had before it in the end.
package demo

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/components/tool/utils"
	"github.com/cloudwego/eino/schema"

	"github.com/eino-toolresult/toolresult"
	"github.com/eino-toolresult/toolresult/internal/provider"
)

// Window is the context window of the model, in tokens.
const Window = 16_000

// Question is what the user asks.
const Question = "Which request failed this week?"

const days = 7

type logArguments struct {
	Day int `json:"day" jsonschema:"description=the day of the week, from 1"`
}

// Main runs an example over a new directory, which it removes.
func Main(name string, run func(ctx context.Context, out io.Writer, dir string) error) {
	dir, err := os.MkdirTemp("", "toolresult-"+name+"-")
	if err == nil {
		err = run(context.Background(), os.Stdout, dir)
		os.RemoveAll(dir)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		os.Exit(1)
	}
}

// Tools are the agent's own: read_log, whose results have 2 KB, or 250 KB.
func Tools() ([]tool.BaseTool, error) {
	read, err := utils.InferTool("read_log", "Reads the log of a day.", func(_ context.Context, args logArguments) (string, error) {
		lines := 50
		if args.Day == 1 {
			lines = 6000
		}
		var log strings.Builder
		for i := range lines {
			status := "200 OK"
			if i == 4711 {
				status = "500 the database is gone"
			}
			fmt.Fprintf(&log, "day %d, request %06d: %s in %d ms\n", args.Day, i, status, 5+i%37)
		}
		return log.String(), nil
	})
	return []tool.BaseTool{read}, err
}

// ToolsOver are the agent's own and the two that read stored results.
func ToolsOver(ctx context.Context, backend toolresult.Reader) ([]tool.BaseTool, error) {
	own, err := Tools()
	if err != nil {
		return nil, err
	}
	read, err := toolresult.NewReadTool(ctx, &toolresult.ReadConfig{Backend: backend})
	if err != nil {
		return nil, err
	}
	search, err := toolresult.NewSearchTool(ctx, &toolresult.SearchConfig{Backend: backend})
	if err != nil {
		return nil, err
	}
	return append(own, read, search), nil
}

// Schemas are what tools say of themselves.
func Schemas(ctx context.Context, tools []tool.BaseTool) ([]*schema.ToolInfo, error) {
	var schemas []*schema.ToolInfo
	for _, t := range tools {
		info, err := t.Info(ctx)
		if err != nil {
			return nil, err
		}
		schemas = append(schemas, info)
	}
	return schemas, nil
}

// NewModel returns a model that reads the log of every day and searches the one that was too large to read.
func NewModel() *provider.Model {
	return provider.New(func(n int, messages []*schema.Message) (*schema.Message, error) {
		switch {
		case n == 0:
			return call(n, "read_log", `{"day":1}`), nil
		case n == 1:
			path, _ := toolresult.OffloadedPath(messages[len(messages)-1])
			return call(n, "search_file", fmt.Sprintf(`{"file_path":%q,"pattern":" 5\\d\\d "}`, path)), nil
		case n <= 5*days:
			return call(n, "read_log", fmt.Sprintf(`{"day":%d}`, 2+n%(days-1))), nil
		}
		return schema.AssistantMessage(found(messages), nil), nil
	}, Window, Count)
}

func call(n int, tool, arguments string) *schema.Message {
	return schema.AssistantMessage("", []schema.ToolCall{{ID: fmt.Sprint("call_", n), Function: schema.FunctionCall{Name: tool, Arguments: arguments}}})
}

// found is the answer, from what the search has shown.
func found(messages []*schema.Message) string {
	for _, msg := range messages {
		for line := range strings.Lines(msg.Content) {
			if msg.Role == schema.Tool && strings.Contains(line, " 500 ") {
				return strings.TrimSpace(line)
			}
		}
	}
	return "I do not know any more."
}

// Count is how the model counts tokens.
func Count(messages []*schema.Message, tools []*schema.ToolInfo) int {
	bytes := 400 * len(tools)
	for _, msg := range messages {
		bytes += len(msg.Content) + 40*(1+len(msg.ToolCalls))
	}
	return bytes / 4
}

// Print says what became of the tool results in the last request of a model.
func Print(out io.Writer, chat *provider.Model, answer string) {
	requests := chat.Requests()
	last := requests[len(requests)-1]
	var whole, notices, placeholders int
	for _, msg := range last {
		_, isNotice := toolresult.OffloadedPath(msg)
		_, isPruned := msg.Extra["context_compaction"]
		switch {
		case msg.Role != schema.Tool:
		case isNotice:
			notices++
		case isPruned:
			placeholders++
		default:
			whole++
		}
	}
	fmt.Fprintf(out, "%s\n%s\n\n", Question, answer)
	fmt.Fprintf(out, "%d requests, the last of %d tokens; the window has %d.\n", len(requests), Count(last, nil), Window)
	fmt.Fprintf(out, "Of the tool results in it %d is a notice, %d are placeholders, and %d are whole.\n", notices, placeholders, whole)
}
