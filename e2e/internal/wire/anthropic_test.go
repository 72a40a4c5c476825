package wire_test

import (
	"testing"

	"github.com/eino-toolresult/toolresult/e2e/internal/wire"
)

func TestAnthropic(t *testing.T) {
	chat := func(messages ...string) string { return request("messages", messages) }
	asks := `{"role":"assistant","content":[{"type":"tool_use","id":"1","name":"f","input":{}},{"type":"tool_use","id":"2","name":"f","input":{}}]}`
	one, two := `{"type":"tool_result","tool_use_id":"1","content":"one"}`, `{"type":"tool_result","tool_use_id":"2"}`
	results := func(blocks string) string { return `{"role":"user","content":[` + blocks + `]}` }
	call := func(id, name, input string) string {
		return `{"role":"assistant","content":[{"type":"tool_use","id":"` + id + `","name":"` + name + `","input":` + input + `}]}`
	}
	pixel := `{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AA=="}}`
	checkAll(t, wire.Anthropic{}, []check{
		{chat(user), "", "a question"},
		{chat(user, asks, results(one+","+two)), "", "two calls, two results, one of them empty"},
		{chat(user, asks, results(one), results(two)), "", "in two messages, which count as one turn"},
		{chat(user, asks, results(two+","+one+`,{"type":"text","text":"and now?"}`)), "", "a question behind the results"},
		{chat(user, asks, results(one+","+two), asks, results(one+","+two)), "", "the IDs again, in another step"},
		{chat(user, `{"role":"assistant","content":"done"}`), "", "an answer to be continued"},
		{chat(user, `{"role":"assistant","content":[]}`), "", "an empty last answer"},
		{chat(user, call("1", "f", "{}"), results(`{"type":"tool_result","tool_use_id":"1","content":[{"type":"text","text":"x"},`+pixel+`]}`)), "", "text and an image in a result"},
		{`{"max_tokens":1,"system":[{"type":"text","text":"be good"}],"messages":[` + user + `]}`, "", "a system prompt"},
		{`{"max_tokens":1,"messages":[`, wire.RuleJSON, "cut short"},
		{`{"messages":[` + user + `]}`, wire.RuleMaxTokens, "no max_tokens"},
		{chat("{\"role\":\"user\",\"content\":\"\xff\"}"), wire.RuleText, "no UTF-8"},
		{chat(`{"role":"user","content":"\u0000x"}`), wire.RuleText, "a NUL"},
		{chat(user, call("1", "f", "{}"), results(`{"type":"tool_result","tool_use_id":"1","content":[{"type":"text","text":"\u0000"}]}`)), wire.RuleText, "a NUL in a result"},
		{chat(), wire.RuleContent, "no messages"},
		{chat(`{"role":"assistant","content":"hello"}`), wire.RuleOrder, "the assistant begins"},
		{chat(user, `{"role":"system","content":"be good"}`), wire.RuleRole, "a system message"},
		{chat(user, `{"role":"tool","content":"one"}`), wire.RuleRole, "OpenAI's role"},
		{chat(user, `{"role":"assistant","content":[]}`, user), wire.RuleContent, "an empty answer that is not the last"},
		{chat(`{"role":"user","content":""}`), wire.RuleContent, "an empty question"},
		{chat(`{"role":"user","content":[{"type":"text","text":" \n"}]}`), wire.RuleContent, "a blank question"},
		{chat(user, `{"role":"assistant","content":"done \n"}`), wire.RuleContent, "white space at the end of the last answer"},
		{chat(user, `{"role":"assistant","content":"done \n"}`, user), "", "white space at the end of another"},
		{`{"max_tokens":1,"system":[{"type":"text","text":""}],"messages":[` + user + `]}`, wire.RuleContent, "an empty system prompt"},
		{chat(user, call("1", "f", "{}"), results(`{"type":"tool_result","tool_use_id":"1","content":[{"type":"text","text":""}]}`)), wire.RuleContent, "an empty text block in a result"},
		{chat(user, call("1", "f", "{}"), results(`{"type":"tool_result","tool_use_id":"1","content":7}`)), wire.RuleContent, "a result that is a number"},
		{chat(user, call("1", "f", "{}"), results(`{"type":"tool_result","tool_use_id":"1","content":[{"type":"video"}]}`)), wire.RuleMedia, "a video in a result"},
		{chat(results(`{"type":"image","source":{"type":"base64","media_type":"image/bmp","data":"AA=="}}`)), wire.RuleMedia, "a bitmap"},
		{chat(results(`{"type":"image","source":{}}`)), wire.RuleMedia, "an image without a source"},
		{chat(user, `{"role":"assistant","content":[`+pixel+`]}`), wire.RuleMedia, "an image by the assistant"},
		{chat(user, asks, results(one)), wire.RuleAnswered, "one of two"},
		{chat(user, asks), wire.RuleAnswered, "none"},
		{chat(user, asks, user, results(one+","+two)), wire.RuleAnswered, "a question first"},
		{chat(user, asks, results(one+`,{"type":"text","text":"hm"},`+two)), wire.RuleAnswered, "a text in between"},
		{chat(results(one)), wire.RuleAsked, "nobody asked"},
		{chat(user, asks, results(one+","+two), user, `{"role":"assistant","content":"x"}`, results(one)), wire.RuleAsked, "asked long ago"},
		{chat(user, asks, results(one+","+one+","+two)), wire.RuleOnce, "the first twice"},
		{chat(user, `{"role":"assistant","content":[{"type":"tool_use","id":"1","name":"f","input":{}},{"type":"tool_use","id":"1","name":"f","input":{}}]}`, results(one)), wire.RuleUnique, "one ID for two calls"},
		{chat(user, call("a:b", "f", "{}"), results(one)), wire.RuleID, "a colon in an ID"},
		{chat(user, call("1", "f g", "{}"), results(one)), wire.RuleFunctions, "a space in a name"},
		{chat(user, call("1", "f", "[]"), results(one)), wire.RuleArguments, "arguments that are no object"},
	})
}

func TestGemini(t *testing.T) {
	chat := func(contents ...string) string { return request("contents", contents) }
	user := `{"role":"user","parts":[{"text":"go"}]}`
	asks := `{"role":"model","parts":[{"functionCall":{"name":"f","args":{}}},{"functionCall":{"name":"g","args":{}}}]}`
	ask := `{"role":"model","parts":[{"functionCall":{"name":"f","args":{}}}]}`
	results := func(parts string) string { return `{"role":"user","parts":[` + parts + `]}` }
	result := func(name, rest string) string { return `{"functionResponse":{"name":"` + name + `"` + rest + `}}` }
	f, g := result("f", `,"response":{"output":"one"}`), result("g", `,"response":{}`)
	checkAll(t, wire.Gemini{}, []check{
		{chat(user), "", "a question"},
		{chat(user, asks, results(f+","+g)), "", "two calls, two results"},
		{chat(user, asks, results(g+","+f), asks, results(f+","+g)), "", "in the other order, and again"},
		{chat(user, ask, results(result("call_1", `,"response":{}`))), wire.RuleOnce, "a name that no call has"},
		{chat(user, ask, results(result("f", `,"response":{},"parts":[{"inlineData":{"mimeType":"image/png","data":"AA=="}}]`))), "", "an image beside the response"},
		{`{"contents":[`, wire.RuleJSON, "cut short"},
		{chat("{\"role\":\"user\",\"parts\":[{\"text\":\"\xff\"}]}"), wire.RuleText, "no UTF-8"},
		{chat(`{"role":"user","parts":[{"text":"\u0000"}]}`), wire.RuleText, "a NUL"},
		{chat(user, ask, results(result("f", `,"response":{"output":"\u0000"}`))), wire.RuleText, "a NUL in a result"},
		{chat(), wire.RuleContent, "no contents"},
		{chat(user, `{"role":"model","parts":[]}`), wire.RuleContent, "no parts"},
		{chat(user, `{"role":"model","parts":[{}]}`), wire.RuleContent, "a part of nothing"},
		{`{"systemInstruction":{"parts":[]},"contents":[` + user + `]}`, wire.RuleContent, "a system prompt of nothing"},
		{chat(`{"role":"assistant","parts":[{"text":"x"}]}`), wire.RuleRole, "OpenAI's role"},
		{chat(ask, results(f)), wire.RuleOrder, "the model begins with a call"},
		{chat(user, `{"role":"model","parts":[{"text":"x"}]}`, ask, results(f)), wire.RuleOrder, "a call behind an answer"},
		{chat(user, results(f)), wire.RuleAsked, "nobody asked"},
		{chat(user, ask, results(f), results(f)), wire.RuleAsked, "once more, in a content of its own"},
		{chat(user, asks, results(f)), wire.RuleAnswered, "one of two"},
		{chat(user, asks, user), wire.RuleAnswered, "a question in their place"},
		{chat(user, asks, results(f+","+g+","+f)), wire.RuleAnswered, "three for two"},
		{chat(user, asks), wire.RuleAnswered, "none"},
		{chat(user, asks, results(f+","+f)), wire.RuleOnce, "the first twice"},
		{chat(user, ask, results(result("f", ""))), wire.RuleInputObject, "no response"},
		{chat(user, ask, results(result("f", `,"response":"one"`))), wire.RuleInputObject, "a response that is a text"},
		{chat(user, ask, results(result("f", `,"response":[]`))), wire.RuleInputObject, "a response that is a list"},
		{chat(user, ask, results(result("", `,"response":{}`))), wire.RuleFunctions, "no name"},
		{chat(user, ask, results(result("f g", `,"response":{}`))), wire.RuleFunctions, "a space in a name"},
		{chat(user, `{"role":"model","parts":[{"functionCall":{"name":"f","args":[]}}]}`, results(f)), wire.RuleArguments, "arguments that are no object"},
		{chat(user, ask, results(result("f", `,"response":{},"parts":[{"inlineData":{"mimeType":"image/bmp","data":"AA=="}}]`))), wire.RuleMedia, "a bitmap"},
		{chat(user, ask, results(result("f", `,"response":{},"parts":[{"fileData":{"fileUri":"https://x"}}]`))), wire.RuleMedia, "a file by its URI"},
	})
}
