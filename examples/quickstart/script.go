package main

// In place of a mind the model has a list of moves. What it looks for is written here; how to get at a stored result is not:
// it takes the path from the notice and the next page from the hint, as any model would.

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/cloudwego/eino/schema"

	"github.com/eino-toolresult/toolresult"
	"github.com/eino-toolresult/toolresult/internal/provider"
)

const (
	system   = "You answer questions about a Go source tree with your tools. Large results are stored; read or search them where they lie."
	question = "Where does Go's HTTP server catch the panic of a handler, and in which method?"
)

// move is what the model asks for after it has read the conversation so far.
type move func(read conversation) []schema.ToolCall

// script is the whole run, with the detours that models make.
func script() provider.Script {
	moves := []move{
		// What is there? Far too much: read two pages of the listing, then search in it instead.
		ask("list_source", arguments{"path": "."}),
		readStored("list_source"),
		readOn,
		searchStored("list_source", `^net/http/[^/]*server`),
		// Who panics, and who recovers? The one answer is large, the other tiny.
		both(
			ask("search_source", arguments{"path": ".", "pattern": `panic\(`}),
			ask("search_source", arguments{"path": "net/http/server.go", "pattern": `recover\(\)`}),
		),
		searchStored("search_source", `^net/http/server\.go:`),
		readStored("search_source"),
		readOn,
		// By now the window is filling up: this answer has older results pruned.
		ask("search_source", arguments{"path": "net/http", "pattern": `ServeHTTP|recover\(\)`}),
		// In which method is the line? Search in all the methods there are.
		ask("search_source", arguments{"path": ".", "pattern": `func \(`}),
		searchStored("search_source", `net/http/server\.go:.*func \(c \*conn\)`),
	}
	return func(n int, messages []*schema.Message) (*schema.Message, error) {
		if n >= len(moves) {
			return schema.AssistantMessage(conversation(messages).answer(), nil), nil
		}
		return schema.AssistantMessage("", number(messages, moves[n](messages))), nil
	}
}

// number gives calls the IDs call_1, call_2 and so on.
func number(messages []*schema.Message, calls []schema.ToolCall) []schema.ToolCall {
	made := 0
	for _, msg := range messages {
		made += len(msg.ToolCalls)
	}
	for i := range calls {
		calls[i].ID = "call_" + strconv.Itoa(made+i+1)
	}
	return calls
}

type arguments map[string]any

// call is a tool call as providers deliver it; its ID comes later.
func call(tool string, args arguments) schema.ToolCall {
	text, _ := json.Marshal(args) // strings and numbers always can be
	return schema.ToolCall{Type: "function", Function: schema.FunctionCall{Name: tool, Arguments: string(text)}}
}

// ask calls a tool with arguments that depend on nothing.
func ask(tool string, args arguments) move {
	return func(conversation) []schema.ToolCall { return []schema.ToolCall{call(tool, args)} }
}

// both makes two moves at once, which the agent runs in parallel.
func both(a, b move) move {
	return func(read conversation) []schema.ToolCall { return append(a(read), b(read)...) }
}

// readStored reads the first page of a tool's newest stored result.
func readStored(tool string) move {
	return func(read conversation) []schema.ToolCall {
		return []schema.ToolCall{call("read_file", arguments{"file_path": read.stored(tool)})}
	}
}

// searchStored searches in a tool's newest stored result.
func searchStored(tool, pattern string) move {
	return func(read conversation) []schema.ToolCall {
		return []schema.ToolCall{call("search_file", arguments{"file_path": read.stored(tool), "pattern": pattern})}
	}
}

// readOn asks for the page behind the one just read: the same call, with the arguments that the page ends with.
func readOn(read conversation) []schema.ToolCall {
	var args arguments
	last := read[len(read)-2].ToolCalls[0].Function
	if err := json.Unmarshal([]byte(last.Arguments), &args); err != nil {
		return nil
	}
	for _, hint := range regexp.MustCompile(`(\w+)=(\d+)`).FindAllStringSubmatch(lastLine(read[len(read)-1].Content), -1) {
		args[hint[1]] = json.Number(hint[2])
	}
	return []schema.ToolCall{call(last.Name, args)}
}

func lastLine(text string) string {
	text = strings.TrimSpace(text)
	return text[strings.LastIndexByte(text, '\n')+1:]
}

// conversation is what the model has before it.
type conversation []*schema.Message

// stored is the path in the newest notice of a tool. Notices are never pruned.
func (c conversation) stored(tool string) string {
	for i := len(c) - 1; i >= 0; i-- {
		if path, ok := toolresult.OffloadedPath(c[i]); ok && c[i].ToolName == tool {
			return path
		}
	}
	return ""
}

// answer puts together the line that recovers and the last method that begins above it.
func (c conversation) answer() string {
	const file = `net/http/server\.go:`
	caught := c.find(regexp.MustCompile(`(?m)^` + file + `(\d+): .*recover\(\)`))
	if len(caught) == 0 {
		return "I did not find it."
	}
	method := "an unknown method"
	for _, begin := range c.find(regexp.MustCompile(file + `(\d+): func (\(c \*conn\) \w+)`)) {
		if atoi(begin[1]) < atoi(caught[0][1]) {
			method = begin[2]
		}
	}
	return fmt.Sprintf("In net/http/server.go, line %s, in %s.", caught[0][1], method)
}

// find looks through all tool results that the model still has before it.
func (c conversation) find(pattern *regexp.Regexp) (found [][]string) {
	for _, msg := range c {
		if msg.Role == schema.Tool {
			found = append(found, pattern.FindAllStringSubmatch(msg.Content, -1)...)
		}
	}
	return found
}

func atoi(digits string) int {
	n, _ := strconv.Atoi(digits)
	return n
}
