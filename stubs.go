package toolresult

// What a model wrote into its calls can be as large as any result: a file to be written, a long query. The long values go, the
// keys and the short values stay, so that it can still be seen what was done.

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"slices"
	"strings"

	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/schema"
)

// longValue is how long a value of an argument may be and stay, in bytes of JSON.
const longValue = 200

// stubbed is a call whose arguments become a stub.
type stubbed struct {
	nth  int
	path string // where the arguments will be; empty: nowhere
}

// mayStub gives the reason why arguments go, or for which they stay whatever their size.
func (p *pruning) mayStub(r *toolResult, msg *schema.Message) PruneReason {
	switch {
	case isMarked(msg):
		return ReasonMarked
	case isSigned(msg):
		return ReasonSigned
	case p.allExcluded(msg):
		return ReasonExcluded
	case p.cfg.Keep != nil && p.cfg.Keep(msg):
		return ReasonKept
	case p.failed[r.index]:
		return ReasonNotStored
	}
	return ReasonArguments
}

func (p *pruning) allExcluded(msg *schema.Message) bool {
	return !slices.ContainsFunc(msg.ToolCalls, func(c schema.ToolCall) bool { return !slices.Contains(p.cfg.ExcludeTools, c.Function.Name) })
}

// isSigned holds for a message that carries what a provider has signed and would check against the whole. Providers keep such
// things in Extra, each under a name of its own.
func isSigned(msg *schema.Message) bool {
	for i := range msg.AssistantGenMultiContent {
		part := &msg.AssistantGenMultiContent[i]
		if part.Reasoning != nil && part.Reasoning.Signature != "" || hasSignature(part.Extra) {
			return true
		}
	}
	return hasSignature(msg.Extra)
}

func hasSignature(extra map[string]any) bool {
	for key := range extra {
		key = strings.ToLower(key)
		if strings.Contains(key, "signature") || strings.Contains(key, "thought") || strings.Contains(key, "encrypted") {
			return true
		}
	}
	return false
}

// fillStubs finds the stubs for the calls of one message.
func (p *pruning) fillStubs(ctx context.Context, s *swap, msg *schema.Message) (PruneReason, error) {
	for i := range msg.ToolCalls {
		large, err := p.isLarge(ctx, &msg.ToolCalls[i])
		if err != nil {
			return ReasonSmall, err
		}
		if !large {
			continue
		}
		path, err := p.argumentsPath(ctx, &msg.ToolCalls[i])
		if err != nil {
			p.fail(s.Index, failure{stage: naming, err: err}.wrap(msg.ToolCalls[i].ID))
			return ReasonNotStored, ctx.Err()
		}
		s.stubs = append(s.stubs, stubbed{i, path})
	}
	if s.stubs == nil {
		return ReasonSmall, nil
	}
	s.store, s.Path, s.short = p.archive != nil, s.stubs[0].path, p.withStubs(msg, s.stubs)
	return ReasonArguments, nil
}

// isLarge holds for a call whose arguments may go and are above the limit of their tool. A call with Extra is left alone, as
// what a provider puts there belongs to the call as it was.
func (p *pruning) isLarge(ctx context.Context, call *schema.ToolCall) (bool, error) {
	name := call.Function.Name
	limit, ok := p.cfg.ArgumentTokens[name]
	if !ok {
		limit = p.cfg.ArgumentTokens["*"]
	}
	if limit == 0 || len(call.Extra) > 0 || slices.Contains(p.cfg.ExcludeTools, name) {
		return false, nil
	}
	p.one[0] = schema.AssistantMessage("", []schema.ToolCall{{Function: schema.FunctionCall{Arguments: call.Function.Arguments}}})
	tokens, err := countMessages(ctx, p.counter, p.one[:], nil)
	return tokens > int64(limit), err
}

func (p *pruning) argumentsPath(ctx context.Context, call *schema.ToolCall) (string, error) {
	if p.archive == nil {
		return "", nil
	}
	input := &compose.ToolInput{Name: call.Function.Name, CallID: call.ID, Arguments: call.Function.Arguments}
	own, err := p.archive.path(ctx, input, call.Function.Arguments)
	if err != nil {
		return "", err
	}
	return withSuffix(own, "arguments"), nil
}

// withStubs is a message with stubs for the arguments of some calls.
func (p *pruning) withStubs(msg *schema.Message, stubs []stubbed) *schema.Message {
	short := *msg
	short.ToolCalls = slices.Clone(msg.ToolCalls)
	for _, s := range stubs {
		call := &short.ToolCalls[s.nth]
		call.Function.Arguments = stubArguments(call.Function.Arguments, p.sayRemoved(s.path), p.sayRemoved(""))
	}
	return &short
}

// sayRemoved is what stands in place of a value; %d is how many bytes it had.
func (p *pruning) sayRemoved(path string) string {
	if path == "" {
		return inLanguage(p.cfg.Language, "[%d bytes removed]", "[已移除 %d 字节]")
	}
	said := inLanguage(p.cfg.Language, "[%%d bytes removed. All arguments: `%s` %s]", "[已移除 %%d 字节。全部参数：`%s` %s]")
	escape := func(text string) string { return strings.ReplaceAll(printable(text), "%", "%%") }
	return fmt.Sprintf(said, escape(p.cfg.ReadToolName), escape(html.EscapeString(path)))
}

// storeArguments stores the arguments of one message's calls, each under a name of its own.
func (p *pruning) storeArguments(ctx context.Context, s *swap, msg *schema.Message) (moved bool, failed failure) {
	for i := range s.stubs {
		stub := &s.stubs[i]
		path, err := p.archive.store.place(ctx, stub.path, msg.ToolCalls[stub.nth].Function.Arguments)
		if err != nil {
			return false, failure{stage: storing, path: path, err: err}
		}
		moved = moved || path != stub.path
		stub.path = path
	}
	if moved {
		s.Path, s.short = s.stubs[0].path, p.withStubs(msg, s.stubs)
	}
	return moved, failure{}
}

// stubArguments replaces the long values of a JSON object by strings that say so, the first of them as said does, and keeps the
// rest, in its order. Where that leaves half of it or more, or the text is no object, all of it is replaced.
func stubArguments(arguments, said, saidAgain string) string {
	if stub := stubMembers(arguments, said, saidAgain); stub != "" && len(stub) < len(arguments)/2 {
		return stub
	}
	var b bytes.Buffer
	b.WriteString(`{"arguments":`)
	writeString(&b, fmt.Sprintf(said, len(arguments)))
	b.WriteByte('}')
	return b.String()
}

// stubMembers returns "" for what is not one object and nothing else.
func stubMembers(arguments, said, saidAgain string) string {
	members := json.NewDecoder(strings.NewReader(arguments))
	if open, err := members.Token(); err != nil || open != json.Delim('{') {
		return ""
	}
	var b bytes.Buffer
	for separator := byte('{'); members.More(); separator = ',' {
		key, err := members.Token()
		if err != nil {
			return ""
		}
		var value json.RawMessage
		if members.Decode(&value) != nil {
			return ""
		}
		b.WriteByte(separator)
		writeString(&b, key.(string))
		b.WriteByte(':')
		if len(value) <= longValue {
			b.Write(value)
			continue
		}
		writeString(&b, fmt.Sprintf(said, len(value)))
		said = saidAgain
	}
	if _, err := members.Token(); err != nil || members.More() {
		return ""
	}
	b.WriteByte('}')
	return b.String()
}

// writeString writes a string as models do, without escapes for angle brackets.
func writeString(b *bytes.Buffer, text string) {
	encoder := json.NewEncoder(b)
	encoder.SetEscapeHTML(false)
	if encoder.Encode(text) == nil { // a string always can be
		b.Truncate(b.Len() - 1) // the newline
	}
}

// canonicalJSON is a text of JSON in the one form that all texts with its meaning have: keys sorted, no spaces, numbers as short as
// they can be. What is no JSON is as it is.
func canonicalJSON(text string) string {
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	var value any
	if decoder.Decode(&value) != nil {
		return text
	}
	if _, err := decoder.Token(); err != io.EOF { // a bracket too many, which More would not see
		return text
	}
	encoded, err := json.Marshal(canonicalNumbers(value))
	if err != nil {
		return text
	}
	return string(encoded)
}

// canonicalNumbers leaves whole numbers alone, which a float64 would round.
func canonicalNumbers(value any) any {
	switch v := value.(type) {
	case map[string]any:
		for key, member := range v {
			v[key] = canonicalNumbers(member)
		}
	case []any:
		for i, element := range v {
			v[i] = canonicalNumbers(element)
		}
	case json.Number:
		if f, err := v.Float64(); err == nil && strings.ContainsAny(string(v), ".eE") {
			return f
		}
	}
	return value
}
