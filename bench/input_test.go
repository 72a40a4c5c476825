package bench_test

// What the comparisons are fed with: text as a compiler or a log prints it, and a conversation as an agent has it. Every
// text is a string of its own, so that whoever reads it pays for memory as in a real run.

import (
	"fmt"
	"strings"

	"github.com/cloudwego/eino/schema"
)

// logText is about size bytes in lines of about 80 characters. seed tells texts apart.
func logText(size, seed int) string {
	var b strings.Builder
	b.Grow(size + 100)
	for line := 1; b.Len() < size; line++ {
		fmt.Fprintf(&b, "2026-03-14T09:26:%02d.%06dZ INFO worker-%d: request %d took %d ms, status %d, ok\n",
			line%60, line*7919%1_000_000, line%16, seed*100_000+line, line*31%997, 200+line%5)
	}
	return b.String()[:size]
}

// oneLine is the same without a newline.
func oneLine(size, seed int) string {
	return strings.ReplaceAll(logText(size, seed), "\n", " ")
}

// chunked cuts a text into pieces of the same size, but for the last.
func chunked(text string, pieces int) []string {
	size := (len(text) + pieces - 1) / pieces
	var chunks []string
	for len(text) > size {
		chunks, text = append(chunks, text[:size]), text[size:]
	}
	return append(chunks, text)
}

const resultBytes = 4 << 10

// conversation has so many messages: a system prompt, a task, and then calls with their results, one each. Every answer
// reports the usage that a provider would.
func conversation(messages int) []*schema.Message {
	history := []*schema.Message{schema.SystemMessage("You operate a cluster."), schema.UserMessage("Find out why requests are slow.")}
	for step := 1; len(history) < messages; step++ {
		id := fmt.Sprintf("call_%08d", step)
		call := schema.ToolCall{ID: id, Type: "function", Function: schema.FunctionCall{Name: "read_log", Arguments: fmt.Sprintf(`{"worker":%d}`, step)}}
		answer := schema.AssistantMessage("", []schema.ToolCall{call})
		answer.ResponseMeta = &schema.ResponseMeta{FinishReason: "tool_calls", Usage: &schema.TokenUsage{PromptTokens: 20 + step*(resultBytes/4+6)}}
		history = append(history, answer, schema.ToolMessage(logText(resultBytes, step), id, schema.WithToolName("read_log")))
	}
	return history
}

// copyOf is a conversation that may be changed without changing the original.
func copyOf(history []*schema.Message) []*schema.Message {
	copies := make([]*schema.Message, len(history))
	for i, msg := range history {
		c := *msg
		c.ToolCalls = append([]schema.ToolCall(nil), msg.ToolCalls...)
		copies[i] = &c
	}
	return copies
}
