package wire

// Chat completions, the format of OpenAI, and where Qwen, DeepSeek and Ark, which speak it too, differ from it.

import (
	"encoding/json"
	"net/http"
	"strings"
)

// OpenAI checks chat completions. The zero value is OpenAI itself.
type OpenAI struct {
	// Dialect is whose rules the requests are held to.
	Dialect Dialect
}

// Dialect is a provider that speaks chat completions.
type Dialect int

// The providers.
const (
	PlainOpenAI Dialect = iota
	Qwen
	DeepSeek
	Ark
)

type chatRequest struct {
	Stream   bool
	Messages []chatMessage
	Tools    sized[[]struct{ Function struct{ Name string } }]
}

type chatMessage struct {
	Role             string
	Content          json.RawMessage
	ReasoningContent string     `json:"reasoning_content"`
	ToolCalls        []chatCall `json:"tool_calls"`
	ToolCallID       string     `json:"tool_call_id"`
}

type chatCall struct {
	ID       string
	Function struct{ Name, Arguments string }
}

type chatPart struct {
	Type     string
	Text     *string
	ImageURL *struct{ URL string } `json:"image_url"`
}

// Check implements Format.
func (f OpenAI) Check(body []byte) (*Request, *Refusal) {
	var in chatRequest
	if refused := decode(body, &in); refused != nil {
		return nil, f.inWords(refused)
	}
	out := &Request{Stream: in.Stream, Bytes: in.Tools.bytes}
	for _, t := range in.Tools.value {
		out.Tools = append(out.Tools, t.Function.Name)
	}
	return out, f.inWords(firstRefusal(f.checkMessages(out, in.Messages), f.checkOrder(in.Messages)))
}

// inWords puts a refusal as the provider puts it.
func (f OpenAI) inWords(r *Refusal) *Refusal {
	if r == nil {
		return nil
	}
	said := *r
	switch f.Dialect {
	case Qwen:
		said.Code = "invalid_parameter_error"
		said.Message = "<400> InternalError.Algo.InvalidParameter: " + said.Message
	case DeepSeek:
		said.Code = "invalid_request_error"
	case Ark:
		said.Code = "InvalidParameter"
		said.Message += " Request id: 021764500000000"
	}
	return &said
}

func (f OpenAI) checkMessages(out *Request, messages []chatMessage) *Refusal {
	if len(messages) == 0 {
		return refuse(RuleContent, "Invalid 'messages': empty array. Expected an array with minimum length 1, but got an empty array instead.")
	}
	for i, msg := range messages {
		if refused := f.checkMessage(out, i, msg); refused != nil {
			return refused
		}
		if refused := f.checkCalls(out, i, msg.ToolCalls); refused != nil {
			return refused
		}
		if msg.ReasoningContent != "" {
			out.Thoughts = append(out.Thoughts, msg.ReasoningContent)
		}
	}
	return nil
}

func (f OpenAI) checkMessage(out *Request, i int, msg chatMessage) *Refusal {
	switch msg.Role {
	case "system", "developer", "user", "assistant", "tool":
	default:
		return refuse(RuleRole, "Invalid value: '%s'. Supported values are: 'system', 'assistant', 'user', 'function', 'tool', and 'developer'.", msg.Role)
	}
	if len(msg.Content) == 0 || string(msg.Content) == "null" {
		// Content is required but in an answer with calls.
		if msg.Role == "assistant" && len(msg.ToolCalls) > 0 {
			return nil
		}
		return refuse(RuleContent, "Invalid value for 'content': expected a string, got null.")
	}
	result, refused := f.content(out, i, msg)
	if msg.Role == "tool" {
		out.Results = append(out.Results, result)
	}
	return refused
}

// content reads a string, or an array of parts, which must not be empty.
func (f OpenAI) content(out *Request, i int, msg chatMessage) (Result, *Refusal) {
	var text string
	if json.Unmarshal(msg.Content, &text) == nil {
		return Result{Text: text}, out.texts(text, msg.ReasoningContent)
	}
	var parts []chatPart
	if json.Unmarshal(msg.Content, &parts) != nil {
		return Result{}, refuse(RuleContent, "Invalid type for 'messages[%d].content': expected one of a string or array of objects, but got an object instead.", i)
	}
	if len(parts) == 0 {
		return Result{}, refuse(RuleContent, "Invalid 'messages[%d].content': empty array. Expected an array with minimum length 1, but got an empty array instead.", i)
	}
	var result Result
	for _, p := range parts {
		if refused := f.checkPart(i, msg.Role, p); refused != nil {
			return result, refused
		}
		if p.Type == "image_url" {
			result.Images, out.Images = result.Images+1, out.Images+1
			continue
		}
		result.Text += *p.Text
		if refused := out.texts(*p.Text); refused != nil {
			return result, refused
		}
	}
	return result, nil
}

// checkPart allows images in what the user says and nowhere else: the content of a tool message is a string or an array of text
// parts. DeepSeek knows no images at all.
func (f OpenAI) checkPart(i int, role string, p chatPart) *Refusal {
	switch {
	case p.Type == "text" && p.Text != nil:
		return nil
	case p.Type == "text":
		return refuse(RuleContent, "Missing required parameter: 'messages[%d].content[0].text'.", i)
	case p.Type != "image_url" || p.ImageURL == nil:
		return refuse(RuleMedia, "Invalid value: '%s'. Supported values are: 'text', 'image_url', 'input_audio', 'refusal', and 'file'.", p.Type)
	case f.Dialect == DeepSeek:
		return refuse(RuleMedia, "Failed to deserialize the JSON body into the target type: messages[%d]: unknown variant `image_url`, expected `text`", i)
	case role != "user":
		return refuse(RuleMedia, "Invalid 'messages[%d]'. Image URLs are only allowed for messages with role 'user', but this message with role '%s' contains an image URL.", i, role)
	}
	return nil
}

// checkCalls knows the limits of the reference: IDs of up to 40 characters, names of up to 64.
func (f OpenAI) checkCalls(out *Request, i int, calls []chatCall) *Refusal {
	seen := make(map[string]bool)
	for j, call := range calls {
		switch {
		case call.ID == "":
			return refuse(RuleID, "Missing required parameter: 'messages[%d].tool_calls[%d].id'.", i, j)
		case f.Dialect == PlainOpenAI && len(call.ID) > 40:
			return refuse(RuleID, "Invalid 'messages[%d].tool_calls[%d].id': string too long. Expected a string with maximum length 40, but got a string with length %d instead.", i, j, len(call.ID))
		case seen[call.ID]:
			return refuse(RuleUnique, "Invalid parameter: Duplicate value for 'tool_call_id' of '%s' in message %d", call.ID, i)
		case !isName(call.Function.Name, 64):
			return refuse(RuleFunctions, "Invalid 'messages[%d].tool_calls[%d].function.name': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.", i, j)
		case f.Dialect == Qwen && !json.Valid([]byte(call.Function.Arguments)):
			return refuse(RuleArguments, "The \"function.arguments\" parameter of the code model must be in JSON format.")
		}
		seen[call.ID] = true
		if refused := out.texts(call.Function.Name, call.Function.Arguments); refused != nil {
			return refused
		}
	}
	return nil
}

// checkOrder: behind an answer with calls come the tool messages, one for each, and no tool message stands elsewhere.
func (f OpenAI) checkOrder(messages []chatMessage) *Refusal {
	for i := 0; i < len(messages); i++ {
		if messages[i].Role == "tool" {
			return refuse(RuleAsked, "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.")
		}
		open := make(map[string]bool)
		for _, call := range messages[i].ToolCalls {
			open[call.ID] = true
		}
		if len(open) == 0 {
			continue
		}
		for i+1 < len(messages) && messages[i+1].Role == "tool" {
			i++
			if refused := f.close(open, messages[i].ToolCallID); refused != nil {
				return refused
			}
		}
		if missing := stillOpen(open); len(missing) > 0 {
			return f.unanswered(missing)
		}
	}
	return nil
}

// close notes that a call is answered.
func (f OpenAI) close(open map[string]bool, id string) *Refusal {
	unanswered, known := open[id]
	switch {
	case !known:
		return refuse(RuleAsked, "Invalid parameter: 'tool_call_id' of '%s' not found in 'tool_calls' of previous message.", id)
	case !unanswered:
		return refuse(RuleOnce, "Invalid parameter: Duplicate value for 'tool_call_id' of '%s'", id)
	}
	open[id] = false
	return nil
}

func (f OpenAI) unanswered(ids []string) *Refusal {
	if f.Dialect == DeepSeek {
		return refuse(RuleAnswered, "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. (insufficient tool messages following tool_calls message)")
	}
	return refuse(RuleAnswered, "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: %s", strings.Join(ids, ", "))
}

// stillOpen returns the calls that are not answered.
func stillOpen(open map[string]bool) (ids []string) {
	for id, unanswered := range open {
		if unanswered {
			ids = append(ids, id)
		}
	}
	return ids
}

// TooLong implements Format.
func (f OpenAI) TooLong(tokens, window int) *Refusal {
	switch f.Dialect {
	case Qwen:
		return f.inWords(refuse(RuleWindow, "Range of input length should be [1, %d]", window))
	case DeepSeek:
		return f.inWords(refuse(RuleWindow, "This model's maximum context length is %d tokens. However, you requested %d tokens (%d in the messages, 0 in the completion). Please reduce the length of the messages or completion.", window, tokens, tokens))
	case Ark:
		return f.inWords(refuse(RuleWindow, "Total tokens of image and text exceed max message tokens."))
	}
	return &Refusal{
		Rule: RuleWindow, Status: http.StatusBadRequest, Code: "context_length_exceeded",
		Message: refuse("", "This model's maximum context length is %d tokens. However, your messages resulted in %d tokens. Please reduce the length of the messages.", window, tokens).Message,
	}
}

// ThoughtLost implements Format. DeepSeek asks for the reasoning of every answer with calls; the others take none or any.
func (f OpenAI) ThoughtLost() *Refusal {
	return f.inWords(refuse(RuleThought, "The reasoning_content in the thinking mode must be passed back to the API."))
}
