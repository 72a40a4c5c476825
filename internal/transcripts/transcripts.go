// Package transcripts reads conversations of real agents for tests. They are not part of the repository, but lie beside it, or do not.
package transcripts

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/cloudwego/eino/schema"
)

// maxLine is the longest conversation that can be read. Bytes of JSON.
const maxLine = 1 << 24

// Read returns the conversations of every file in shared/data/transcripts, which is beside the repository whose root is given, by
// name of file. Where there are none, it returns none.
func Read(root string) (map[string][][]*schema.Message, error) {
	files, err := filepath.Glob(filepath.Join(root, "..", "shared", "data", "transcripts", "*.jsonl.gz"))
	if err != nil || len(files) == 0 {
		return nil, err
	}
	all := make(map[string][][]*schema.Message, len(files))
	for _, name := range files {
		if all[filepath.Base(name)], err = readFile(name); err != nil {
			return nil, fmt.Errorf("transcripts: %s: %w", name, err)
		}
	}
	return all, nil
}

func readFile(name string) (conversations [][]*schema.Message, err error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	unzipped, err := gzip.NewReader(file)
	if err != nil {
		return nil, err
	}
	lines := bufio.NewScanner(unzipped)
	lines.Buffer(nil, maxLine)
	for lines.Scan() {
		var t transcript
		if err := json.Unmarshal(lines.Bytes(), &t); err != nil {
			return nil, err
		}
		conversations = append(conversations, t.messages())
	}
	return conversations, lines.Err()
}

// transcript is a line of a file, in the shape of chat completions.
type transcript struct {
	Messages []struct {
		Role       schema.RoleType
		Content    json.RawMessage
		Name       string
		ToolCallID string            `json:"tool_call_id"`
		ToolCalls  []schema.ToolCall `json:"tool_calls"`
	}
}

// messages takes content that is a list of parts for a text, which it stays here.
func (t *transcript) messages() []*schema.Message {
	var messages []*schema.Message
	for _, m := range t.Messages {
		var content string
		if json.Unmarshal(m.Content, &content) != nil {
			content = string(m.Content)
		}
		messages = append(messages, &schema.Message{
			Role: m.Role, Content: content, ToolName: m.Name, ToolCallID: m.ToolCallID, ToolCalls: m.ToolCalls,
		})
	}
	return messages
}
