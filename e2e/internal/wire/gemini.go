package wire

// Gemini's generateContent.

import (
	"encoding/json"
	"slices"
	"strings"
)

// Gemini checks requests of generateContent.
type Gemini struct{}

type geminiContent struct {
	Role  string
	Parts []geminiPart
}

type geminiPart struct {
	Text             *string
	Thought          bool
	ThoughtSignature string
	InlineData       *geminiBlob
	FileData         *struct{ FileURI string }
	FunctionCall     *struct {
		Name string
		Args json.RawMessage
	}
	FunctionResponse *struct {
		Name     string
		Response json.RawMessage
		Parts    []struct {
			InlineData *geminiBlob
			FileData   json.RawMessage
		}
	}
}

type geminiBlob struct{ MimeType, Data string }

// Check implements Format.
func (f Gemini) Check(body []byte) (*Request, *Refusal) {
	var in struct {
		SystemInstruction *geminiContent
		Contents          []geminiContent
		Tools             sized[[]struct{ FunctionDeclarations []struct{ Name string } }]
	}
	if refused := decode(body, &in); refused != nil {
		return nil, refused
	}
	out := &Request{Bytes: in.Tools.bytes}
	for _, t := range in.Tools.value {
		for _, d := range t.FunctionDeclarations {
			out.Tools = append(out.Tools, d.Name)
		}
	}
	if in.SystemInstruction != nil {
		if refused := f.checkContent(out, 0, *in.SystemInstruction); refused != nil {
			return out, refused
		}
	}
	if len(in.Contents) == 0 {
		return out, refuse(RuleContent, "* GenerateContentRequest.contents: contents is not specified")
	}
	for i, c := range in.Contents {
		if c.Role != "user" && c.Role != "model" {
			return out, refuse(RuleRole, "Please use a valid role: user, model.")
		}
		if refused := f.checkContent(out, i, c); refused != nil {
			return out, refused
		}
	}
	return out, f.checkOrder(in.Contents)
}

// checkContent: a content has a part at least, and each part has its data.
func (f Gemini) checkContent(out *Request, i int, c geminiContent) *Refusal {
	if len(c.Parts) == 0 {
		return refuse(RuleContent, "* GenerateContentRequest.contents[%d].parts: contents.parts must not be empty.", i)
	}
	for j, p := range c.Parts {
		if p.ThoughtSignature != "" {
			out.Thoughts = append(out.Thoughts, p.ThoughtSignature)
		}
		if refused := f.checkPart(out, i, j, p); refused != nil {
			return refused
		}
	}
	return nil
}

func (f Gemini) checkPart(out *Request, i, j int, p geminiPart) *Refusal {
	switch {
	case p.Text != nil:
		return out.texts(*p.Text)
	case p.FunctionCall != nil:
		if len(p.FunctionCall.Args) > 0 && !isObject(p.FunctionCall.Args) {
			return refuse(RuleArguments, "Invalid value at 'contents[%d].parts[%d].function_call.args' (type.googleapis.com/google.protobuf.Struct)", i, j)
		}
		return firstRefusal(f.checkName(i, j, p.FunctionCall.Name), out.texts(p.FunctionCall.Name, string(p.FunctionCall.Args)))
	case p.FunctionResponse != nil:
		return f.checkResponse(out, i, j, p)
	case p.InlineData != nil:
		out.Images++
		return nil
	case p.FileData != nil:
		return nil
	}
	return refuse(RuleContent, "* GenerateContentRequest.contents[%d].parts[%d].data: required oneof field 'data' must have one initialized field", i, j)
}

// checkName: "Must be a-z, A-Z, 0-9, or contain underscores, colons, dots, and dashes".
func (f Gemini) checkName(i, j int, name string) *Refusal {
	if name == "" {
		return refuse(RuleFunctions, "* GenerateContentRequest.contents[%d].parts[%d].function_response.name: Name cannot be empty.", i, j)
	}
	if !isName(strings.NewReplacer(":", "_", ".", "_").Replace(name), 128) {
		return refuse(RuleFunctions, "* GenerateContentRequest.contents[%d].parts[%d]: Invalid function name.", i, j)
	}
	return nil
}

// checkResponse: the response is an object, always there. Media stand beside it, inline, of the types that Gemini 3 takes.
func (f Gemini) checkResponse(out *Request, i, j int, p geminiPart) *Refusal {
	r := p.FunctionResponse
	if refused := f.checkName(i, j, r.Name); refused != nil {
		return refused
	}
	if !isObject(r.Response) {
		return refuse(RuleInputObject, "Invalid value at 'contents[%d].parts[%d].function_response.response' (type.googleapis.com/google.protobuf.Struct)", i, j)
	}
	for _, media := range r.Parts {
		if media.InlineData == nil || !slices.Contains([]string{"image/png", "image/jpeg", "image/webp", "application/pdf", "text/plain"}, media.InlineData.MimeType) {
			return refuse(RuleMedia, "Unsupported MIME type in function response parts of contents[%d].parts[%d].", i, j)
		}
	}
	out.Images += len(r.Parts)
	text := f.output(r.Response)
	out.Results = append(out.Results, Result{text, len(r.Parts)})
	return out.texts(text)
}

// output is the text of a response, which clients put under this key, and else its JSON.
func (f Gemini) output(response json.RawMessage) string {
	var object struct{ Output *string }
	if json.Unmarshal(response, &object) == nil && object.Output != nil {
		return *object.Output
	}
	return string(response)
}

// checkOrder: a turn with calls stands behind the user's or behind results, and the next content has a response for each call.
func (f Gemini) checkOrder(contents []geminiContent) *Refusal {
	for i, c := range contents {
		calls, responses := f.names(c)
		var before []string
		if i > 0 {
			before, _ = f.names(contents[i-1])
		}
		switch {
		case len(calls) > 0 && (i == 0 || contents[i-1].Role != "user"):
			return refuse(RuleOrder, "Please ensure that function call turn comes immediately after a user turn or after a function response turn.")
		case len(responses) > 0 && len(before) == 0:
			return refuse(RuleAsked, "Please ensure that function response turn comes immediately after a function call turn.")
		case len(responses) != len(before):
			return refuse(RuleAnswered, "Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.")
		case !samePairs(before, responses):
			return refuse(RuleOnce, "Please ensure that each function response has the name of its function call.")
		case len(calls) > 0 && i == len(contents)-1:
			return refuse(RuleAnswered, "Please ensure that function call turn is followed by a function response turn.")
		}
	}
	return nil
}

func (f Gemini) names(c geminiContent) (calls, responses []string) {
	for _, p := range c.Parts {
		switch {
		case p.FunctionCall != nil:
			calls = append(calls, p.FunctionCall.Name)
		case p.FunctionResponse != nil:
			responses = append(responses, p.FunctionResponse.Name)
		}
	}
	return calls, responses
}

// samePairs: "the name must match FunctionCall.name".
func samePairs(calls, responses []string) bool {
	slices.Sort(calls)
	slices.Sort(responses)
	return slices.Equal(calls, responses)
}

// TooLong implements Format.
func (Gemini) TooLong(tokens, window int) *Refusal {
	return refuse(RuleWindow, "The input token count (%d) exceeds the maximum number of tokens allowed (%d).", tokens, window)
}

// ThoughtLost implements Format.
func (Gemini) ThoughtLost() *Refusal {
	return refuse(RuleThought, "Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly, and missing thought_signature may lead to degraded model performance.")
}
