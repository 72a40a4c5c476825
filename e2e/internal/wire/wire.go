// Package wire checks requests as model providers check them: each rule that a provider documents is one named check, and a request
// that breaks it gets the status and the words that the provider answers with.
package wire

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"
)

// Format is the dialect of one provider.
type Format interface {
	// Check reads a request and returns the first rule that it breaks, or nil.
	Check(body []byte) (*Request, *Refusal)
	// TooLong is what a request over the window is answered with.
	TooLong(tokens, window int) *Refusal
	// ThoughtLost is what a request without the reasoning that must come back is answered with.
	ThoughtLost() *Refusal
}

// Request is what every format has in common.
type Request struct {
	// Stream reports whether the answer is to be streamed. Gemini says so in the URL, not here.
	Stream bool
	// Results are the tool results, in order.
	Results []Result
	// Tools are the names of the tools that the model may call.
	Tools []string
	// Thoughts are the signatures, or the reasoning, of earlier answers, as they came back.
	Thoughts []string
	// Bytes is the size of all text: messages, calls and tool schemas.
	Bytes int
	// Images is how many images there are.
	Images int
}

// Result is a tool result as the provider reads it.
type Result struct {
	// Text is all its text.
	Text string
	// Images is how many images it has.
	Images int
}

// tokensPerImage is what Anthropic charges for the largest image that it does not scale down.
const tokensPerImage = 1600

// Tokens is the provider's count of a request: four bytes a token.
func (r *Request) Tokens() int { return r.Bytes/4 + tokensPerImage*r.Images }

// Refusal is why a provider refuses a request.
type Refusal struct {
	// Rule is the name of the check.
	Rule string
	// Status is the HTTP status.
	Status int
	// Code is the provider's code for it, where it has one.
	Code string
	// Message is what the provider says.
	Message string
}

// Error is the rule, and what the provider says.
func (r *Refusal) Error() string { return r.Rule + ": " + r.Message }

func refuse(rule, format string, args ...any) *Refusal {
	return &Refusal{Rule: rule, Status: http.StatusBadRequest, Message: fmt.Sprintf(format, args...)}
}

// CheckThoughts refuses a request in which a thought that was given is missing or is not as it was given.
func CheckThoughts(format Format, r *Request, given []string) *Refusal {
	if slices.Equal(r.Thoughts, given) {
		return nil
	}
	return format.ThoughtLost()
}

// The names of the checks that several providers have.
const (
	RuleJSON        = "body is JSON"
	RuleText        = "text is UTF-8 without NUL"
	RuleRole        = "roles are known"
	RuleOrder       = "turns are in order"
	RuleAnswered    = "each call is answered right behind it"
	RuleAsked       = "each result has its call"
	RuleOnce        = "each call is answered once"
	RuleUnique      = "call IDs differ within a step"
	RuleID          = "call IDs are of the allowed form"
	RuleArguments   = "arguments are a JSON object"
	RuleContent     = "content is there"
	RuleMedia       = "media are where they are allowed"
	RuleThought     = "reasoning comes back unchanged"
	RuleWindow      = "the request fits the window"
	RuleMaxTokens   = "max_tokens is set"
	RuleFunctions   = "function names are of the allowed form"
	RuleInputObject = "function responses are objects"
)

// decode reads a body. encoding/json would mend broken UTF-8 in silence, so that is looked for first.
func decode(body []byte, into any) *Refusal {
	if !utf8.Valid(body) {
		return refuse(RuleText, "We could not parse the JSON body of your request: invalid UTF-8.")
	}
	if err := json.Unmarshal(body, into); err != nil {
		return refuse(RuleJSON, "We could not parse the JSON body of your request: %v", err)
	}
	return nil
}

// sized is a part of a request that counts by its JSON, such as the schemas of the tools.
type sized[T any] struct {
	value T
	bytes int
}

// UnmarshalJSON implements json.Unmarshaler.
func (s *sized[T]) UnmarshalJSON(data []byte) error {
	s.bytes = len(data)
	return json.Unmarshal(data, &s.value)
}

// texts adds to the size of a request and refuses a NUL, which databases behind the APIs cannot store.
func (r *Request) texts(texts ...string) *Refusal {
	for _, text := range texts {
		r.Bytes += len(text)
		if strings.ContainsRune(text, 0) {
			return refuse(RuleText, "Invalid request: text must not contain the NUL character.")
		}
	}
	return nil
}

// isObject reports whether JSON is an object.
func isObject(raw json.RawMessage) bool {
	var object map[string]json.RawMessage
	return json.Unmarshal(raw, &object) == nil && object != nil
}

// isName is the form that OpenAI and Anthropic ask of function names and call IDs.
func isName(name string, longest int) bool {
	odd := func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-')
	}
	return name != "" && len(name) <= longest && strings.IndexFunc(name, odd) < 0
}

// firstRefusal returns the first of several checks that refuses.
func firstRefusal(refusals ...*Refusal) *Refusal {
	for _, r := range refusals {
		if r != nil {
			return r
		}
	}
	return nil
}
