package bench_test

// What the simulation of costs is fed with: conversations of real agents, which lie beside the repository, and a counter that counts
// them as OpenAI does.

import (
	"bufio"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/cloudwego/eino/schema"

	"github.com/eino-toolresult/toolresult"
	"github.com/eino-toolresult/toolresult/tiktoken"
)

// talk is one conversation.
type talk struct {
	name     string
	messages []*schema.Message
}

// transcript is a line of a file of transcripts, in the shape of OpenAI's chat completions.
type transcript struct {
	Messages []struct {
		Role       schema.RoleType
		Content    json.RawMessage
		Name       string
		ToolCallID string            `json:"tool_call_id"`
		ToolCalls  []schema.ToolCall `json:"tool_calls"`
	}
}

// talks are all conversations, in the order of their files. The test is skipped where there are none.
func talks(tb testing.TB) (all []talk) {
	tb.Helper()
	files, err := filepath.Glob(filepath.Join("..", "..", "shared", "data", "transcripts", "*.jsonl.gz"))
	check(tb, err)
	if len(files) == 0 {
		tb.Skip("there are no transcripts in ../../shared/data")
	}
	for _, name := range files {
		all = append(all, talksIn(tb, name)...)
	}
	return all
}

func talksIn(tb testing.TB, name string) (all []talk) {
	file, err := os.Open(name)
	check(tb, err)
	defer file.Close()
	unzipped, err := gzip.NewReader(file)
	check(tb, err)
	lines := bufio.NewScanner(unzipped)
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		var s transcript
		check(tb, json.Unmarshal(lines.Bytes(), &s))
		all = append(all, talk{fmt.Sprintf("%s:%d", filepath.Base(name), len(all)+1), s.conversation()})
	}
	check(tb, lines.Err())
	return all
}

func (s *transcript) conversation() (messages []*schema.Message) {
	for _, m := range s.Messages {
		var content string
		if json.Unmarshal(m.Content, &content) != nil {
			content = string(m.Content) // parts, which stay JSON here
		}
		messages = append(messages, &schema.Message{
			Role: m.Role, Content: content, ToolName: m.Name, ToolCallID: m.ToolCallID, ToolCalls: m.ToolCalls,
		})
	}
	return messages
}

// o200k counts exactly, and every text once. It counts each message by itself, so the hook decides as it would have decided at each
// earlier call.
var o200k = sync.OnceValues(func() (*tiktoken.Counter, error) {
	return tiktoken.New(context.Background(), &tiktoken.Config{
		MaxBytes: 1 << 30, CachedTexts: 1 << 20, Messages: toolresult.TokenCounterConfig{TokensPerMessage: 3},
	})
})

func exactCounter(tb testing.TB) toolresult.TokenCounter {
	counter, err := o200k()
	check(tb, err)
	return counter
}

func tokensOf(tb testing.TB, messages ...*schema.Message) int {
	tokens, err := exactCounter(tb).CountTokens(context.Background(), messages, nil)
	check(tb, err)
	return int(tokens)
}
