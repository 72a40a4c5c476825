package wire

// Ollama's /api/chat. The server itself is lenient: it renders whatever it is given into a template. The order that its documentation
// shows is checked all the same, because a model that reads results without calls answers nonsense.

import (
	"bytes"
	"encoding/json"
	"net/http"
)

// Ollama checks requests of /api/chat.
type Ollama struct{}

type ollamaMessage struct {
	Role, Content string
	Images        [][]byte // base64 in JSON
	ToolCalls     []struct {
		Function struct {
			Name      string
			Arguments json.RawMessage
		}
	} `json:"tool_calls"`
}

// Check implements Format.
func (f Ollama) Check(body []byte) (*Request, *Refusal) {
	var in struct {
		Model    string
		Stream   *bool
		Messages []ollamaMessage
		Tools    sized[[]struct{ Function struct{ Name string } }]
	}
	if refused := decode(body, &in); refused != nil {
		return nil, refused
	}
	if len(in.Messages) == 0 {
		return nil, refuse(RuleContent, "messages must not be empty")
	}
	out := &Request{Stream: in.Stream == nil || *in.Stream, Bytes: in.Tools.bytes}
	for _, t := range in.Tools.value {
		out.Tools = append(out.Tools, t.Function.Name)
	}
	for _, msg := range in.Messages {
		if refused := f.checkMessage(out, msg); refused != nil {
			return out, refused
		}
	}
	return out, f.checkOrder(in.Messages)
}

func (f Ollama) checkMessage(out *Request, msg ollamaMessage) *Refusal {
	switch msg.Role {
	case "system", "user", "assistant", "tool":
	default:
		return refuse(RuleRole, "invalid role %q, want one of [system, user, assistant, tool]", msg.Role)
	}
	for _, image := range msg.Images {
		if !isImage(image) {
			return &Refusal{Rule: RuleMedia, Status: http.StatusInternalServerError, Message: "Failed to create new sequence: failed to process inputs: image: unknown format"}
		}
	}
	out.Images += len(msg.Images)
	if msg.Role == "tool" {
		out.Results = append(out.Results, Result{msg.Content, len(msg.Images)})
	}
	for _, call := range msg.ToolCalls {
		if call.Function.Name == "" {
			return refuse(RuleFunctions, "tool call without a function name")
		}
		if !isObject(call.Function.Arguments) {
			return refuse(RuleArguments, "json: cannot unmarshal into Go struct field ToolCallFunction.arguments")
		}
		if refused := out.texts(call.Function.Name, string(call.Function.Arguments)); refused != nil {
			return refused
		}
	}
	return out.texts(msg.Content)
}

// checkOrder: behind an answer with calls stand as many tool messages, and none elsewhere. There are no IDs.
func (f Ollama) checkOrder(messages []ollamaMessage) *Refusal {
	open := 0
	for i, msg := range messages {
		switch {
		case msg.Role == "tool" && open == 0:
			return refuse(RuleAsked, "messages[%d]: tool message without a tool call", i)
		case msg.Role == "tool":
			open--
		case open > 0:
			return refuse(RuleAnswered, "messages[%d]: %d tool calls without a tool message", i, open)
		default:
			open = len(msg.ToolCalls)
		}
	}
	if open > 0 {
		return refuse(RuleAnswered, "%d tool calls without a tool message", open)
	}
	return nil
}

// isImage looks at the first bytes, as a decoder does.
func isImage(data []byte) bool {
	for _, magic := range []string{"\x89PNG\r\n\x1a\n", "\xff\xd8\xff", "RIFF"} {
		if bytes.HasPrefix(data, []byte(magic)) {
			return true
		}
	}
	return false
}

// TooLong implements Format. It is the answer to a request with "truncate": false; else Ollama cuts the request short without a word.
func (Ollama) TooLong(tokens, window int) *Refusal {
	return refuse(RuleWindow, "prompt too long; exceeded max context length by %d tokens", tokens-window)
}

// ThoughtLost implements Format.
func (Ollama) ThoughtLost() *Refusal {
	return refuse(RuleThought, "thinking is not as it was")
}
