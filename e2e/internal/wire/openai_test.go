package wire_test

import (
	"testing"

	"github.com/eino-toolresult/toolresult/e2e/internal/wire"
)

// asks and answers are messages of chat completions.
const (
	user   = `{"role":"user","content":"go"}`
	asks   = `{"role":"assistant","tool_calls":[{"id":"1","type":"function","function":{"name":"f","arguments":"{}"}},{"id":"2","type":"function","function":{"name":"f","arguments":"{}"}}]}`
	first  = `{"role":"tool","tool_call_id":"1","content":"one"}`
	second = `{"role":"tool","tool_call_id":"2","content":""}`
	image  = `{"type":"image_url","image_url":{"url":"data:image/png;base64,AA=="}}`
)

// openAICases hold for all that speak chat completions.
func openAICases() []check {
	chat := func(messages ...string) string { return request("messages", messages) }
	call := func(id, name string) string {
		return `{"role":"assistant","tool_calls":[{"id":"` + id + `","function":{"name":"` + name + `","arguments":"{}"}}]}`
	}
	return []check{
		{chat(user), "", "a question"},
		{chat(user, asks, first, second), "", "two calls, two results, one of them empty"},
		{chat(user, asks, second, first, user), "", "in the other order, and a question behind"},
		{chat(user, asks, first, second, asks, first, second), "", "the IDs again, in another step"},
		{chat(user, `{"role":"assistant","content":"done"}`), "", "an answer without calls"},
		{chat(user, call("1", "f"), `{"role":"tool","tool_call_id":"1","content":[{"type":"text","text":"one"}]}`), "", "a result of text parts"},
		{`{"messages":`, wire.RuleJSON, "cut short"},
		{chat("{\"role\":\"user\",\"content\":\"a\xff\"}"), wire.RuleText, "no UTF-8"},
		{chat(`{"role":"user","content":"a\u0000"}`), wire.RuleText, "a NUL"},
		{chat(user, asks, first, `{"role":"tool","tool_call_id":"2","content":"\u0000"}`), wire.RuleText, "a NUL in a result"},
		{chat(), wire.RuleContent, "no messages"},
		{chat(`{"role":"robot","content":"go"}`), wire.RuleRole, "an unknown role"},
		{chat(`{"role":"user"}`), wire.RuleContent, "a question without content"},
		{chat(user, `{"role":"assistant"}`), wire.RuleContent, "neither content nor calls"},
		{chat(user, asks, first, `{"role":"tool","tool_call_id":"2"}`), wire.RuleContent, "a result without content"},
		{chat(user, asks, first, `{"role":"tool","tool_call_id":"2","content":null}`), wire.RuleContent, "a result of null"},
		{chat(user, asks, first, `{"role":"tool","tool_call_id":"2","content":[]}`), wire.RuleContent, "a result of no parts"},
		{chat(user, asks, first, `{"role":"tool","tool_call_id":"2","content":[{"type":"text"}]}`), wire.RuleContent, "a text part without a text"},
		{chat(user, asks, first, `{"role":"tool","tool_call_id":"2","content":{}}`), wire.RuleContent, "a result that is an object"},
		{chat(user, asks, first, `{"role":"tool","tool_call_id":"2","content":[`+image+`]}`), wire.RuleMedia, "an image in a result"},
		{chat(`{"role":"user","content":[{"type":"hologram"}]}`), wire.RuleMedia, "an unknown part"},
		{chat(user, asks, first), wire.RuleAnswered, "one of two is answered"},
		{chat(user, asks), wire.RuleAnswered, "none is answered"},
		{chat(user, asks, first, user, second), wire.RuleAnswered, "a question in between"},
		{chat(user, first), wire.RuleAsked, "nobody asked"},
		{chat(user, asks, first, second, `{"role":"tool","tool_call_id":"3","content":"three"}`), wire.RuleAsked, "nobody asked for the third"},
		{chat(user, asks, first, first, second), wire.RuleOnce, "the first twice"},
		{chat(user, `{"role":"assistant","tool_calls":[{"id":"1","function":{"name":"f","arguments":"{}"}},{"id":"1","function":{"name":"f","arguments":"{}"}}]}`, first), wire.RuleUnique, "one ID for two calls"},
		{chat(user, call("", "f"), `{"role":"tool","tool_call_id":"","content":"x"}`), wire.RuleID, "no ID"},
		{chat(user, call("1", "f g"), first), wire.RuleFunctions, "a space in a name"},
	}
}

func TestOpenAI(t *testing.T) {
	long := "a_call_id_of_more_than_forty_characters_is_too_long"
	withImage := request("messages", []string{`{"role":"user","content":[` + image + `]}`})
	badArguments := request("messages", []string{user, `{"role":"assistant","tool_calls":[{"id":"1","function":{"name":"f","arguments":"{"}}]}`, first})
	longID := request("messages", []string{user, `{"role":"assistant","tool_calls":[{"id":"` + long + `","function":{"name":"f","arguments":"{}"}}]}`, `{"role":"tool","tool_call_id":"` + long + `","content":"x"}`})
	own := map[wire.Dialect][]check{
		wire.PlainOpenAI: {{withImage, "", "an image from the user"}, {badArguments, "", "arguments are the model's own"}, {longID, wire.RuleID, "a long ID"}},
		wire.Qwen:        {{withImage, "", "an image from the user"}, {badArguments, wire.RuleArguments, "arguments that are no JSON"}, {longID, "", "a long ID"}},
		wire.DeepSeek:    {{withImage, wire.RuleMedia, "no images at all"}, {badArguments, "", "arguments are the model's own"}, {longID, "", "a long ID"}},
		wire.Ark:         {{withImage, "", "an image from the user"}, {badArguments, "", "arguments are the model's own"}, {longID, "", "a long ID"}},
	}
	for dialect, cases := range own {
		checkAll(t, wire.OpenAI{Dialect: dialect}, append(openAICases(), cases...))
	}
}

func TestOllama(t *testing.T) {
	chat := func(messages ...string) string { return request("messages", messages) }
	asks := `{"role":"assistant","content":"","tool_calls":[{"function":{"name":"f","arguments":{}}},{"function":{"name":"g","arguments":{}}}]}`
	result := `{"role":"tool","content":"one"}`
	checkAll(t, wire.Ollama{}, []check{
		{chat(user), "", "a question"},
		{chat(user, asks, result, result), "", "two calls, two results"},
		{chat(user, asks, result, `{"role":"tool","content":""}`, user), "", "an empty result, and a question"},
		{chat(user, asks, result, `{"role":"tool","content":"","images":["iVBORw0KGgo="]}`), "", "a PNG in a result"},
		{`{"messages":[`, wire.RuleJSON, "cut short"},
		{chat("{\"role\":\"user\",\"content\":\"\xff\"}"), wire.RuleText, "no UTF-8"},
		{chat(`{"role":"user","content":"\u0000"}`), wire.RuleText, "a NUL"},
		{chat(user, asks, result, `{"role":"tool","content":"\u0000"}`), wire.RuleText, "a NUL in a result"},
		{chat(), wire.RuleContent, "no messages"},
		{chat(`{"role":"robot","content":"go"}`), wire.RuleRole, "an unknown role"},
		{chat(user, asks, result, `{"role":"tool","content":"","images":["aGVsbG8="]}`), wire.RuleMedia, "an image that is none"},
		{chat(user, `{"role":"assistant","tool_calls":[{"function":{"name":"","arguments":{}}}]}`, result), wire.RuleFunctions, "a call of nothing"},
		{chat(user, `{"role":"assistant","tool_calls":[{"function":{"name":"f","arguments":null}}]}`, result), wire.RuleArguments, "arguments that are no object"},
		{chat(user, asks, result), wire.RuleAnswered, "one of two"},
		{chat(user, asks, result, user, result), wire.RuleAnswered, "a question in between"},
		{chat(user, result), wire.RuleAsked, "nobody asked"},
		{chat(user, asks, result, result, result), wire.RuleAsked, "three for two"},
	})
}
