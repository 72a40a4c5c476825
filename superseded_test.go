package toolresult_test

// What goes first: results that a newer one has superseded, pages that can be read again, the oldest; and what never goes.

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/assert"

	"github.com/eino-toolresult/toolresult"
)

// withArguments gives the calls of a conversation their arguments, in order.
func withArguments(script string, arguments ...string) []*schema.Message {
	messages := conversation(script)
	for _, msg := range messages {
		if msg == nil {
			continue
		}
		for i := range msg.ToolCalls {
			if len(arguments) > 0 {
				msg.ToolCalls[i].Function.Arguments, arguments = arguments[0], arguments[1:]
			}
		}
	}
	return messages
}

func TestEqualArguments(t *testing.T) {
	tests := []struct {
		older, newer string
		equal        bool
		reason       string
	}{
		{`{"a":1}`, `{"a":1}`, true, "the same bytes"},
		{`{"a":1}`, `{"a":2}`, false, "another value"},
		{`{"a":1}`, `{"b":1}`, false, "another key"},
		{`{"a":1}`, `{"a":1,"b":null}`, false, "a key more, even of null"},
		{`{"a":1,"b":2}`, `{"b":2,"a":1}`, true, "keys in another order"},
		{`{"a":1,"b":[1,2]}`, "{ \"a\" : 1,\n\t\"b\": [ 1, 2 ] }\n", true, "spaces"},
		{`{"a":[1,2]}`, `{"a":[2,1]}`, false, "an array has an order"},
		{`{"a":1.0}`, `{"a":1}`, true, "a whole number with a fraction"},
		{`{"a":1e2}`, `{"a":100}`, true, "an exponent"},
		{`{"a":0.10}`, `{"a":0.1}`, true, "a zero at the end"},
		{`{"a":1}`, `{"a":"1"}`, false, "a number is no text"},
		{`{"a":9007199254740993}`, `{"a":9007199254740992}`, false, "integers that a float would make equal"},
		{`{"a":123456789012345678901234567890}`, `{"a":123456789012345678901234567890}`, true, "an integer beyond any type"},
		{`{"a":123456789012345678901234567890}`, `{"a":123456789012345678901234567891}`, false, "and another"},
		{`{"a":1e999}`, `{"a":1e999}`, true, "a number beyond all floats"},
		{`{"a":{"x":{"p":1,"q":[{"m":1,"n":2}]}}}`, `{"a":{"x":{"q":[{"n":2,"m":1.0}],"p":1}}}`, true, "nested, in another order"},
		{`{"a":{"x":1}}`, `{"a":{"x":2}}`, false, "nested, another value"},
		{`{"a":"é"}`, `{"a":"\u00e9"}`, true, "an escape"},
		{`{"a":"<b>"}`, `{"a":"\u003cb\u003e"}`, true, "an escape of an angle bracket"},
		{`{"a":"x "}`, `{"a":"x"}`, false, "a space in a text"},
		{`[1, 2]`, `[1,2]`, true, "arrays"},
		{`{"a":1`, `{"a":1`, true, "no JSON, but the same bytes"},
		{`{"a":1`, `{"a": 1`, false, "no JSON, and other bytes"},
		{`{"a":1} {"b":2}`, `{"a":1} {"b":3}`, false, "two values are no JSON"},
		{`{"a":1} {"b":2}`, `{"a":1}`, false, "nor are they the first of them"},
		{``, ``, true, "no arguments"},
		{``, `{}`, false, "no arguments are no object"},
		{`null`, `{}`, false, "nor is null"},
	}
	for _, tt := range tests {
		for _, pair := range [][2]string{{tt.older, tt.newer}, {tt.newer, tt.older}} {
			messages := withArguments("call(a:view) result(a) call(b:view) result(b) call(c:bash) result(c)", pair[0], pair[1])
			plan := planOf(t, newPruner(t, &toolresult.PruneConfig{Superseded: []string{"view"}}), messages, 0)
			assert.Equal(t, tt.equal, plan.Results[0].Reason == toolresult.ReasonSuperseded, "%s: %q and %q", tt.reason, pair[0], pair[1])
			assert.Equal(t, toolresult.ReasonOldest, plan.Results[1].Reason, "%s: the newest is none", tt.reason)
		}
	}
}

// Every call has equal arguments here, so that the tools and the places decide.
func TestSuperseded(t *testing.T) {
	tests := []struct {
		script string
		want   string
		reason string
	}{
		{"call(a:view) result(a) call(b:view) result(b) call(c:bash) result(c)", "superseded; oldest; recent step", "the older of two"},
		{"call(a:view) result(a) call(b:view) result(b)", "superseded; recent step", "the newer one may be of the newest step"},
		{"call(a:view) result(a) call(b:view) result(b) call(c:view) result(c)", "superseded; superseded; recent step", "all but the newest of three"},
		{"call(a:bash) result(a) call(b:bash) result(b) call(c:bash) result(c)", "oldest; oldest; recent step", "the tool is not listed"},
		{"call(a:view) result(a) call(b:bash) result(b) call(c:bash) result(c)", "oldest; oldest; recent step", "another tool"},
		{"call(a:view) result(a) call(b:view) call(c:bash) result(c)", "oldest; recent step", "the later call has no result"},
		{"call(a:view,b:view) result(a) result(b) call(c:bash) result(c)", "superseded; oldest; recent step", "the first of two in one step"},
		{"call(a:view) result(a) call(a:view) result(a) call(c:bash) result(c)", "superseded; oldest; recent step", "one ID twice"},
		{"result(o:view) call(a:view) result(a) call(c:bash) result(c)", "oldest; oldest; recent step", "a result without a call has no arguments"},
		{"call(a:alias) result(a:view) call(b:view) result(b) call(c:bash) result(c)", "superseded; oldest; recent step", "the name in the result counts"},
	}
	for _, tt := range tests {
		plan := planOf(t, newPruner(t, &toolresult.PruneConfig{Superseded: []string{"view"}}), conversation(tt.script), 0)
		var said []string
		for _, r := range plan.Results {
			said = append(said, r.Reason.String())
		}
		assert.Equal(t, tt.want, strings.Join(said, "; "), tt.reason)
	}
}

func TestPagesAreToldFromOtherResults(t *testing.T) {
	tests := []struct {
		tool, arguments string
		cfg             toolresult.PruneConfig
		page            bool
		reason          string
	}{
		{"read_file", `{"file_path":"/large_tool_result/x"}`, toolresult.PruneConfig{}, true, "a page"},
		{"search_file", `{"pattern":"p","file_path":"/large_tool_result/s/x"}`, toolresult.PruneConfig{}, true, "matches"},
		{"read_file", `{"offset":"7","file_path":"/large_tool_result/x","limit":{}}`, toolresult.PruneConfig{}, true, "the other arguments do not matter"},
		{"read_file", `{"file_path":"/large_tool_result/a&amp;b"}`, toolresult.PruneConfig{}, true, "a path as a notice shows it"},
		{"read_file", `{"file_path":"/etc/passwd"}`, toolresult.PruneConfig{}, false, "another file"},
		{"read_file", `{"file_path":"/large_tool_result"}`, toolresult.PruneConfig{}, false, "the folder itself"},
		{"read_file", `{"file_path":"/large_tool_results/x"}`, toolresult.PruneConfig{}, false, "a folder that begins alike"},
		{"read_file", `{"file_path":7}`, toolresult.PruneConfig{}, false, "no path"},
		{"read_file", `file_path=/large_tool_result/x`, toolresult.PruneConfig{}, false, "no JSON"},
		{"bash", `{"file_path":"/large_tool_result/x"}`, toolresult.PruneConfig{}, false, "another tool"},
		{"peek", `{"file_path":"/r/x"}`, toolresult.PruneConfig{ReadToolName: "peek", PathPrefix: "/r/"}, true, "other names"},
		{"grep", `{"file_path":"/r/x"}`, toolresult.PruneConfig{SearchToolName: "grep", PathPrefix: "/r"}, true, "likewise"},
		{"read_file", `{"file_path":"/r/x"}`, toolresult.PruneConfig{ReadToolName: "peek", PathPrefix: "/r"}, false, "the default name is another tool then"},
	}
	for _, tt := range tests {
		backend := newMemory()
		tt.cfg.PagesFirst, tt.cfg.Archive = true, backend
		messages := withArguments("call(a:"+tt.tool+") result(a) call(c:bash) result(c)", tt.arguments)
		plan := planOf(t, newPruner(t, &tt.cfg), messages, 0)
		assert.Equal(t, tt.page, plan.Results[0].Reason == toolresult.ReasonPage, tt.reason)
		c := archived(t, tt.cfg, messages)
		assert.True(t, c.Changed, tt.reason)
		assert.Equal(t, tt.page, len(backend.stored()) == 0, "%s: a page is not stored", tt.reason)
	}
}

// goneFirst says in which order results go, one at a time.
func goneFirst(t *testing.T, cfg toolresult.PruneConfig, messages []*schema.Message) string {
	var order []string
	for target := tokensOf(t, messages...) - 1; ; target-- {
		c := compact(t, newPruner(t, &cfg), &toolresult.CompactRequest{Messages: messages, TargetTokens: target})
		if len(c.Pruned) == 0 {
			return strings.Join(order, " ")
		}
		for _, p := range c.Pruned {
			order = append(order, fmt.Sprint(p.Index))
		}
		messages, target = c.Messages, c.TokensAfter
	}
}

func TestOrderOfWhatGoes(t *testing.T) {
	script := "call(w:write) result(w::5) call(a:bash) result(a) call(p:read_file) result(p) call(v:view) result(v) call(q:search_file) result(q) call(u:view) result(u) call(x:write) result(x::5) call(z:bash) result(z)"
	long := `{"path":"a","text":"` + strings.Repeat("x", 1000) + `"}`
	page := `{"file_path":"/large_tool_result/x"}`
	messages := withArguments(script, long, "{}", page, "{}", page, "{}", long, long)
	stubs := map[string]int{"*": 50}
	tests := []struct {
		cfg    toolresult.PruneConfig
		want   string
		reason string
	}{
		{toolresult.PruneConfig{}, "3 5 7 9 11", "the oldest first"},
		{toolresult.PruneConfig{PagesFirst: true}, "5 9 3 7 11", "pages before others"},
		{toolresult.PruneConfig{Superseded: []string{"view"}}, "7 3 5 9 11", "what is superseded before others"},
		{toolresult.PruneConfig{Superseded: []string{"view"}, PagesFirst: true}, "7 5 9 3 11", "then pages"},
		{toolresult.PruneConfig{ArgumentTokens: stubs}, "3 5 7 9 11 0 12", "arguments last"},
		{toolresult.PruneConfig{Superseded: []string{"view"}, PagesFirst: true, ArgumentTokens: stubs}, "7 5 9 3 11 0 12", "all together"},
		{toolresult.PruneConfig{Superseded: []string{"read_file"}, PagesFirst: true}, "5 9 3 7 11", "a page alone is not superseded"},
		{toolresult.PruneConfig{Superseded: []string{"view"}, ExcludeTools: []string{"view"}}, "3 5 9", "an excluded tool stays even so"},
		{toolresult.PruneConfig{MinKeepSteps: 3, Superseded: []string{"view"}}, "7 3 5 9", "and so do the newest steps"},
		{toolresult.PruneConfig{Superseded: []string{"view"}, Keep: func(msg *schema.Message) bool { return msg.ToolCallID == "v" }}, "3 5 9 11", "and what is kept"},
	}
	for _, tt := range tests {
		assert.Equal(t, tt.want, goneFirst(t, tt.cfg, messages), tt.reason)
		assert.Equal(t, tt.want, goneFirst(t, tt.cfg, throughJSON(t, messages)), "%s: through JSON", tt.reason)
	}
}

// Whatever goes first, the report is in the order of the conversation.
func TestReportIsInOrder(t *testing.T) {
	messages := withArguments("call(a:bash) result(a) call(v:view) result(v) call(u:view) result(u) call(z:bash) result(z)", "1", "2", "2", "3")
	c := compact(t, newPruner(t, &toolresult.PruneConfig{Superseded: []string{"view"}}), &toolresult.CompactRequest{Messages: messages})
	assert.Equal(t, "1:bash 3:view 5:view", prunedIn(c))
}

func TestKeep(t *testing.T) {
	messages := conversation("call(a:bash) result(a) call(b:bash) result(b) call(z:bash) result(z)")
	messages[1].Extra = map[string]any{"is_error": true}
	var seen []*schema.Message
	keep := func(msg *schema.Message) bool {
		seen = append(seen, msg)
		return msg.Extra["is_error"] == true
	}
	c := archived(t, toolresult.PruneConfig{Keep: keep, Archive: newMemory()}, messages)
	assert.Equal(t, "3:bash", prunedIn(c))
	for _, msg := range seen {
		assert.True(t, slices.Contains(messages, msg), "it sees the caller's own messages")
	}
}
