package wire

// Anthropic's Messages API.

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
)

// Anthropic checks requests of the Messages API.
type Anthropic struct{}

type anthropicMessage struct {
	Role    string
	Content json.RawMessage
}

type anthropicBlock struct {
	Type      string
	Text      string
	Thinking  string
	Signature string
	ID        string
	Name      string
	Input     json.RawMessage
	ToolUseID string `json:"tool_use_id"`
	Content   json.RawMessage
	Source    struct {
		Type      string
		MediaType string `json:"media_type"`
		Data, URL string
	}
}

// turn is one or more messages of a role in a row: "consecutive user or assistant turns in your request will be combined into a single
// turn".
type turn struct {
	role   string
	blocks []anthropicBlock
}

// Check implements Format.
func (f Anthropic) Check(body []byte) (*Request, *Refusal) {
	var in struct {
		MaxTokens int `json:"max_tokens"`
		Stream    bool
		System    json.RawMessage
		Messages  []anthropicMessage
		Tools     sized[[]struct{ Name string }]
	}
	if refused := decode(body, &in); refused != nil {
		return nil, refused
	}
	out := &Request{Stream: in.Stream, Bytes: in.Tools.bytes}
	for _, t := range in.Tools.value {
		out.Tools = append(out.Tools, t.Name)
	}
	if in.MaxTokens < 1 {
		return out, refuse(RuleMaxTokens, "max_tokens: Field required")
	}
	if refused := f.checkSystem(out, in.System); refused != nil {
		return out, refused
	}
	turns, refused := f.turns(out, in.Messages)
	if refused != nil {
		return out, refused
	}
	return out, f.checkPairs(turns)
}

func (f Anthropic) checkSystem(out *Request, raw json.RawMessage) *Refusal {
	blocks, ok := f.blocks(raw)
	if len(raw) > 0 && !ok {
		return refuse(RuleContent, "system: Input should be a valid list")
	}
	for i, b := range blocks {
		if b.Text == "" {
			return refuse(RuleContent, "system.%d: text content blocks must be non-empty", i)
		}
		if refused := out.texts(b.Text); refused != nil {
			return refused
		}
	}
	return nil
}

// blocks reads content: a string stands for one text block.
func (f Anthropic) blocks(raw json.RawMessage) (blocks []anthropicBlock, ok bool) {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return []anthropicBlock{{Type: "text", Text: text}}, true
	}
	return blocks, json.Unmarshal(raw, &blocks) == nil
}

// turns checks every message by itself and joins those of one role.
func (f Anthropic) turns(out *Request, messages []anthropicMessage) ([]turn, *Refusal) {
	if len(messages) == 0 {
		return nil, refuse(RuleContent, "messages: at least one message is required")
	}
	if messages[0].Role != "user" {
		return nil, refuse(RuleOrder, "messages: first message must use the \"user\" role")
	}
	var turns []turn
	for i, msg := range messages {
		if msg.Role != "user" && msg.Role != "assistant" {
			return nil, refuse(RuleRole, "messages: Unexpected role %q. The Messages API accepts a top-level `system` parameter, not \"system\" as an input message role.", msg.Role)
		}
		blocks, ok := f.blocks(msg.Content)
		last := i == len(messages)-1 && msg.Role == "assistant"
		if !ok || len(blocks) == 0 && !last {
			return nil, refuse(RuleContent, "messages.%d: all messages must have non-empty content except for the optional final assistant message", i)
		}
		for j, b := range blocks {
			if refused := f.checkBlock(out, i, j, msg.Role, b, last); refused != nil {
				return nil, refused
			}
		}
		if n := len(turns); n > 0 && turns[n-1].role == msg.Role {
			turns[n-1].blocks = append(turns[n-1].blocks, blocks...)
			continue
		}
		turns = append(turns, turn{msg.Role, blocks})
	}
	return turns, nil
}

func (f Anthropic) checkBlock(out *Request, i, j int, role string, b anthropicBlock, last bool) *Refusal {
	switch {
	case b.Type == "text":
		return f.checkText(out, b.Text, last)
	case b.Type == "thinking" && role == "assistant":
		out.Thoughts = append(out.Thoughts, b.Thinking+b.Signature)
		return out.texts(b.Thinking)
	case b.Type == "tool_use" && role == "assistant":
		return f.checkCall(out, i, j, b)
	case b.Type == "tool_result" && role == "user":
		return f.checkResult(out, i, j, b)
	case b.Type == "image" && role == "user":
		out.Images++
		return f.checkImage(i, j, b)
	}
	return refuse(RuleMedia, "messages.%d.content.%d: Input tag '%s' found using 'type' does not match any of the expected tags", i, j, b.Type)
}

// checkText: no text block is empty, or blank, and a final answer that is to be continued must not end in white space.
func (f Anthropic) checkText(out *Request, text string, last bool) *Refusal {
	switch {
	case text == "":
		return refuse(RuleContent, "messages: text content blocks must be non-empty")
	case strings.TrimSpace(text) == "":
		return refuse(RuleContent, "messages: text content blocks must contain non-whitespace text")
	case last && strings.TrimRight(text, " \t\n") != text:
		return refuse(RuleContent, "messages: final assistant content cannot end with trailing whitespace")
	}
	return out.texts(text)
}

func (f Anthropic) checkCall(out *Request, i, j int, b anthropicBlock) *Refusal {
	switch {
	case !isName(b.ID, 1<<10):
		return refuse(RuleID, "messages.%d.content.%d.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'", i, j)
	case !isName(b.Name, 200):
		return refuse(RuleFunctions, "messages.%d.content.%d.tool_use.name: String should match pattern '^[a-zA-Z0-9_-]{1,200}$'", i, j)
	case !isObject(b.Input):
		return refuse(RuleArguments, "messages.%d.content.%d.tool_use.input: Input should be a valid dictionary", i, j)
	}
	return out.texts(b.Name, string(b.Input))
}

// checkResult: a result may be empty, a text block in it may not. It may contain text and images.
func (f Anthropic) checkResult(out *Request, i, j int, b anthropicBlock) *Refusal {
	var result Result
	var text string
	if len(b.Content) > 0 && json.Unmarshal(b.Content, &text) != nil {
		var blocks []anthropicBlock
		if json.Unmarshal(b.Content, &blocks) != nil {
			return refuse(RuleContent, "messages.%d.content.%d.tool_result.content: Input should be a valid list", i, j)
		}
		for _, inner := range blocks {
			if refused := f.checkInner(out, &result, i, j, inner); refused != nil {
				return refused
			}
		}
	}
	result.Text += text
	out.Results = append(out.Results, result)
	return out.texts(text)
}

func (f Anthropic) checkInner(out *Request, result *Result, i, j int, b anthropicBlock) *Refusal {
	switch b.Type {
	case "image":
		result.Images, out.Images = result.Images+1, out.Images+1
		return f.checkImage(i, j, b)
	case "text":
		if b.Text == "" {
			return refuse(RuleContent, "messages: text content blocks must be non-empty")
		}
		result.Text += b.Text
		return out.texts(b.Text)
	}
	return refuse(RuleMedia, "messages.%d.content.%d.tool_result.content.0: Input tag '%s' found using 'type' does not match any of the expected tags", i, j, b.Type)
}

func (f Anthropic) checkImage(i, j int, b anthropicBlock) *Refusal {
	switch {
	case b.Source.Type == "url" && b.Source.URL != "":
		return nil
	case b.Source.Type != "base64" || b.Source.Data == "":
		return refuse(RuleMedia, "messages.%d.content.%d.image.source: Field required", i, j)
	case !slices.Contains([]string{"image/jpeg", "image/png", "image/gif", "image/webp"}, b.Source.MediaType):
		return refuse(RuleMedia, "messages.%d.content.%d.image.source.base64.media_type: Input should be 'image/jpeg', 'image/png', 'image/gif' or 'image/webp'", i, j)
	}
	return nil
}

// checkPairs: the results of a turn's calls are in the next turn, first in it, each once.
func (f Anthropic) checkPairs(turns []turn) *Refusal {
	var open map[string]bool
	for i, t := range turns {
		calls := make(map[string]bool)
		closed := false // text came, and no result may follow
		for j, b := range t.blocks {
			if b.Type == "tool_result" {
				if refused := f.close(open, i, j, b.ToolUseID, closed); refused != nil {
					return refused
				}
				continue
			}
			closed = true
			if b.Type != "tool_use" {
				continue
			}
			if calls[b.ID] {
				return refuse(RuleUnique, "messages.%d.content.%d: `tool_use` ids must be unique", i, j)
			}
			calls[b.ID] = true
		}
		if missing := stillOpen(open); len(missing) > 0 {
			return f.unanswered(i-1, missing)
		}
		open = calls
	}
	if missing := stillOpen(open); len(missing) > 0 {
		return f.unanswered(len(turns)-1, missing)
	}
	return nil
}

func (f Anthropic) close(open map[string]bool, i, j int, id string, late bool) *Refusal {
	unanswered, known := open[id]
	switch {
	case !known:
		return refuse(RuleAsked, "messages.%d.content.%d: unexpected `tool_use_id` found in `tool_result` blocks: %s. Each `tool_result` block must have a corresponding `tool_use` block in the previous message.", i, j, id)
	case !unanswered:
		return refuse(RuleOnce, "messages.%d.content.%d: each tool_use must have a single result. Found multiple `tool_result` blocks with id: %s", i, j, id)
	case late:
		return f.unanswered(i-1, []string{id})
	}
	open[id] = false
	return nil
}

func (f Anthropic) unanswered(i int, ids []string) *Refusal {
	return refuse(RuleAnswered, "messages.%d: `tool_use` ids were found without `tool_result` blocks immediately after: %s. Each `tool_use` block must have a corresponding `tool_result` block in the next message.", i, strings.Join(ids, ", "))
}

// TooLong implements Format.
func (Anthropic) TooLong(tokens, window int) *Refusal {
	return refuse(RuleWindow, "prompt is too long: %d tokens > %d maximum", tokens, window)
}

// ThoughtLost implements Format: "the entire sequence of consecutive thinking blocks must match the outputs generated by the model".
func (Anthropic) ThoughtLost() *Refusal {
	return &Refusal{Rule: RuleThought, Status: http.StatusBadRequest, Message: "messages.1.content.0: Invalid `signature` in `thinking` block"}
}
