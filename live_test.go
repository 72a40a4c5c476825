package toolresult_test

//lint:file-ignore SA1019 Old histories have the deprecated MultiContent.

import (
	"context"
	"encoding/json"
	"fmt"
	"html"
	"path"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eino-toolresult/toolresult"
)

const folder = "/large_tool_result/"

func livePaths(t testing.TB, messages ...*schema.Message) []string {
	t.Helper()
	paths, err := toolresult.LivePaths("", messages...)
	require.NoError(t, err)
	return paths
}

func TestLivePathsInText(t *testing.T) {
	tests := []struct {
		text   string
		want   []string
		reason string
	}{
		{"no path at all, not even /large_tool_resul", nil, "nothing"},
		{"the folder /large_tool_result/ itself", nil, "a folder is no result"},
		{"read /large_tool_result/call_1 again", []string{"call_1"}, "a word of its own"},
		{"/large_tool_result/call_1", []string{"call_1"}, "all of the text"},
		{"It is in /large_tool_result/call_1.", []string{"call_1", "call_1."}, "the full stop may be the path's"},
		{"It is in /large_tool_result/call_1.The rest is not.", []string{"call_1", "call_1.The"}, "a space was forgotten"},
		{"It is in /large_tool_result/call_1.txt and more", []string{"call_1.txt"}, "an extension"},
		{"/large_tool_result/a,/large_tool_result/b", []string{"a", "a,", "a,/large_tool_result/b", "b"}, "a list without spaces"},
		{"/large_tool_result/call_1:120: a hit", []string{"call_1", "call_1:120", "call_1:120:"}, "as grep prints it"},
		{"([it](/large_tool_result/call_1))", []string{"call_1", "call_1)", "call_1))"}, "a link"},
		{"**__/large_tool_result/call_1__**", []string{"call_1", "call_1__", "call_1__*", "call_1__**"}, "emphasis"},
		{"`/large_tool_result/call_1`", []string{"call_1"}, "code"},
		{"文件在/large_tool_result/call_1，请读取", []string{"call_1"}, "Chinese punctuation"},
		{"请读取/large_tool_result/call_1然后", []string{"call_1", "call_1然", "call_1然后"}, "Chinese without any"},
		{"“/large_tool_result/my own file.txt”", []string{"my", "my own file.txt"}, "quotes hold spaces together"},
		{"'/large_tool_result/my file'", []string{"my", "my file"}, "likewise"},
		{`{"file_path":"/large_tool_result/a \"b\".txt"}`, []string{"a", `a "b".txt`, `a \`}, "JSON"},
		{`{"args":"{\"file_path\":\"/large_tool_result/my file\"}"}`, []string{"my", "my file"}, "JSON in JSON"},
		{`{"file_path":"\/large_tool_result\/call_1"}`, []string{"call_1"}, "JSON that escapes slashes"},
		{`{"file_path":"/large_tool_result/\u62a5\u544a \ud83d\ude00"}`, []string{"报", "报告", "报告 😀"}, "JSON in ASCII"},
		{`<tool_result_offloaded path="/large_tool_result/a&amp;b c">`, []string{"a", "a&b", "a&b c"}, "a notice"},
		{`\q \u12 /large_tool_result/call_1 \ud800\u0041 \`, []string{"call_1"}, "escapes that are none"},
		{"see file:///large_tool_result/s1/call_1 there", []string{"s1/call_1"}, "a session, in a URL"},
		{"/large_tool_result/x/large_tool_result/y", []string{"x", "x/large_tool_result/y", "y"}, "the folder within itself"},
	}
	for _, tt := range tests {
		found := livePaths(t, schema.UserMessage(tt.text))
		for _, name := range tt.want {
			assert.Contains(t, found, folder+name, "%s: %s", tt.reason, tt.text)
		}
		assert.Less(t, len(found), len(tt.want)+5, "%s: too much in %s: %q", tt.reason, tt.text, found)
	}
}

// What nothing leaves in doubt is found, and nothing else.
func TestLivePathsAreExactWhereTheyCanBe(t *testing.T) {
	said := offload(t, newOffload(t, &toolresult.OffloadConfig{Backend: newMemory(), TokenLimit: 100}), "call_1", numberedLines(1000))
	found := livePaths(t,
		nil,
		schema.ToolMessage(said, "call_1"),
		schema.AssistantMessage("", []schema.ToolCall{{Function: schema.FunctionCall{Arguments: `{"file_path":"/large_tool_result/call_2"}`}}}),
		schema.UserMessage("And /large_tool_result/call_3, please, and /other/call_4."),
	)
	assert.Equal(t, []string{folder + "call_1", folder + "call_2", folder + "call_3", folder + "call_3,"}, found)
}

func TestLivePathsLookEverywhere(t *testing.T) {
	at := func(name string) string { return "it is in " + folder + name }
	reasoning := schema.MessageOutputPart{Type: schema.ChatMessagePartTypeReasoning, Reasoning: &schema.MessageOutputReasoning{Text: at("reasoned")}}
	messages := []*schema.Message{
		{Role: schema.User, Content: at("content")},
		{Role: schema.Assistant, ReasoningContent: at("thought"), ToolCalls: []schema.ToolCall{{Function: schema.FunctionCall{Arguments: at("argument")}}}},
		{Role: schema.Tool, UserInputMultiContent: []schema.MessageInputPart{
			{Type: schema.ChatMessagePartTypeText, Text: at("part")},
			{Type: schema.ChatMessagePartTypeText, Extra: map[string]any{"tool_result_offloaded": folder + "mark of a part"}},
		}},
		{Role: schema.Assistant, AssistantGenMultiContent: []schema.MessageOutputPart{{Type: schema.ChatMessagePartTypeText, Text: at("generated")}, reasoning}},
		{Role: schema.User, MultiContent: []schema.ChatMessagePart{{Type: schema.ChatMessagePartTypeText, Text: at("deprecated")}}},
		{Role: schema.Tool, Content: "[pruned]", Extra: map[string]any{"tool_result_offloaded": folder + "mark of a message"}},
		{Role: schema.Tool, Content: "[pruned]", Extra: map[string]any{"tool_result_offloaded": "/elsewhere/x"}},
		{Role: schema.Tool, Content: "[pruned]", Extra: map[string]any{"tool_result_offloaded": true}},
	}
	var want []string
	for _, name := range []string{"argument", "content", "deprecated", "generated", "mark of a message", "mark of a part", "part", "reasoned", "thought"} {
		want = append(want, folder+name)
	}
	assert.Equal(t, want, livePaths(t, messages...))
}

func TestLivePathsOfOtherPrefixes(t *testing.T) {
	tests := []struct{ prefix, text, want, reason string }{
		{"/results", "in /results/a", "/results/a", "a prefix of one's own"},
		{"/results/", "in /results/a", "/results/a", "with a final slash"},
		{"/a/a", "in /a/a/a/x", "/a/a/x", "one that overlaps with itself"},
		{"/a&b", `<tool_result_offloaded path="/a&amp;b/&#34;x&#34;">`, `/a&b/"x"`, "one that a notice escapes"},
		{"/报告", `{"p":"\u002f\u62a5\u544a\u002fx"}`, "/报告/x", "one that JSON escapes, from the first to the last character"},
	}
	for _, tt := range tests {
		found, err := toolresult.LivePaths(tt.prefix, schema.UserMessage(tt.text))
		require.NoError(t, err, tt.reason)
		assert.Contains(t, found, tt.want, tt.reason)
	}
	for _, bad := range []string{"/", "results", "/a/../b", "/a//b", "/a\x00b", "/\xff"} {
		_, err := toolresult.LivePaths(bad)
		assert.ErrorContains(t, err, "the prefix of LivePaths is "+strconv.Quote(bad), "nothing would be found")
	}
}

// Text that makes a careless search quadratic takes no longer per byte when there is more of it.
func TestLivePathsAreLinear(t *testing.T) {
	tests := []struct{ text, reason string }{
		{folder, "paths that begin and never end"},
		{folder + "....", "full stops"},
		{"." + folder, "one path of paths"},
		{`"` + folder, "quotes that never close"},
		{"“" + folder, "other quotes that never close"},
		{`\"` + folder, "escaped quotes without one that is not"},
		{`\`, "escapes"},
		{`\u002f`, "other escapes"},
		{"&amp;", "more escapes"},
		{"<tool_result_offloaded path=", "notices without a path"},
		{",", "marks behind one path"},
	}
	cost := func(unit string, n int) time.Duration {
		msg := schema.UserMessage(folder + "x" + strings.Repeat(unit, n/len(unit)))
		best := time.Hour
		for range 3 {
			begin := time.Now()
			livePaths(t, msg)
			best = min(best, time.Since(begin))
		}
		return best
	}
	for _, tt := range tests {
		small, large := cost(tt.text, 10_000), cost(tt.text, 160_000)
		assert.Less(t, large, 50*small+20*time.Millisecond, "%s: %v for 16 times what took %v", tt.reason, large, small)
	}
}

func FuzzLivePaths(f *testing.F) {
	for _, name := range []string{"call_1", "my file.txt", `a"b`, `a\b`, "报告 一", "a&b<c>", "a'b", "x/y", "call_1.", "a`b", "\\u0041", "&lt;", "😀", "“x”"} {
		f.Add(name, "as it says: ", ". And so on.")
	}
	f.Add("call_1", `{"x":"`, `"}`)
	f.Fuzz(func(t *testing.T, name, before, behind string) {
		at := folder + name
		if name == "" || path.Clean(at) != at || !strings.HasPrefix(at, folder) || !utf8.ValidString(at) || strings.IndexFunc(at, unicode.IsControl) >= 0 {
			t.Skip("no path that the offloader would store under")
		}
		arguments, err := json.Marshal(map[string]string{"note": before, "file_path": at})
		require.NoError(t, err)
		nested, err := json.Marshal(map[string]string{"call": string(arguments)})
		require.NoError(t, err)
		texts := map[string]string{
			"a notice":             before + noticeOf(t, at) + behind,
			"an escaped notice":    before + fmt.Sprintf("<tool_result_offloaded path=\"%s\">", html.EscapeString(at)) + behind,
			"arguments":            string(arguments),
			"arguments in a text":  string(nested),
			"a safe name in prose": before + " " + folder + toolresult.SafeName(name) + " " + behind,
		}
		for _, q := range []string{`""`, "''", "``", "“”", "「」"} {
			runes := []rune(q)
			if !strings.ContainsAny(name, q) {
				texts["prose, in "+q] = before + string(runes[0]) + at + string(runes[1]) + behind
			}
		}
		for where, text := range texts {
			want := at
			if strings.HasPrefix(where, "a safe name") {
				want = folder + toolresult.SafeName(name)
			}
			if where == "arguments in a text" && strings.Contains(name, `"`) {
				continue // two layers of escapes around a quote of its own: not even a model gets that right
			}
			assert.Contains(t, livePaths(t, schema.UserMessage(text)), want, "in %s: %q", where, text)
		}
	})
}

// noticeOf is the notice of a result that is stored under a path.
func noticeOf(t *testing.T, at string) string {
	t.Helper()
	mw := newOffload(t, &toolresult.OffloadConfig{
		Backend: newMemory(), TokenLimit: 10, Sampler: toolresult.HeadSampler(1, 1),
		PathGenerator: func(ctx context.Context, _ *compose.ToolInput) (string, error) { return at, nil },
	})
	said := offload(t, mw, "call_1", strings.Repeat("x", 2000+20*len(at)))
	require.Equal(t, at, pathIn(t, said))
	return said
}
