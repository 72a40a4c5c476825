package toolresult_test

// The arguments of old calls: which go, what stands in their place, and where the whole is.

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eino-toolresult/toolresult"
	"github.com/eino-toolresult/toolresult/internal/provider"
)

// written is a call of write with some arguments, in a step that is not the newest.
func written(arguments string) []*schema.Message {
	return withArguments("user call(w:write) result(w::5) call(z:bash) result(z)", arguments)
}

var longText = strings.Repeat("long ", 200)

func TestStubs(t *testing.T) {
	stub := func(n int) string { return fmt.Sprintf("[%d bytes removed]", n) }
	tests := []struct {
		arguments, want string
		reason          string
	}{
		{`{"path":"a.go","text":"` + longText + `"}`, `{"path":"a.go","text":"` + stub(1002) + `"}`, "the long value goes, the short one stays"},
		{`{"text":"` + longText + `","path":"a.go"}`, `{"text":"` + stub(1002) + `","path":"a.go"}`, "in the order of the original"},
		{`{"b":1,"a":[1, 2],"text":"` + longText + `","c":{"d" : null}}`, `{"b":1,"a":[1, 2],"text":"` + stub(1002) + `","c":{"d" : null}}`, "short values of every kind stay as they were written"},
		{"{\n \"text\" : \"" + longText + "\" }", `{"text":"` + stub(1002) + `"}`, "spaces between them do not"},
		{`{"edits":[{"old":"` + longText + `"},{"new":"x"}]}`, `{"edits":"` + stub(1024) + `"}`, "a nested value goes as a whole"},
		{`{"a":"` + longText + `","a":1,"a":"` + longText + `"}`, `{"a":"` + stub(1002) + `","a":1,"a":"` + stub(1002) + `"}`, "a key more than once"},
		{`{"<k>":1,"t":"` + longText + `"}`, `{"<k>":1,"t":"` + stub(1002) + `"}`, "no escapes that were not there"},
		{`{"n":` + strings.Repeat("1234567890", 50) + `}`, `{"n":"` + stub(500) + `"}`, "a long number"},
		{`["` + longText + `"]`, `{"arguments":"` + stub(1004) + `"}`, "an array"},
		{`"` + longText + `"`, `{"arguments":"` + stub(1002) + `"}`, "a text"},
		{longText, `{"arguments":"` + stub(1000) + `"}`, "no JSON"},
		{`{"text":"` + longText, `{"arguments":"` + stub(1009) + `"}`, "JSON that was cut off"},
		{`{"text":"` + longText + `"} and more`, `{"arguments":"` + stub(1020) + `"}`, "JSON with something behind"},
		{`{"` + longText + `":1}`, `{"arguments":"` + stub(1006) + `"}`, "nothing but a long key"},
		{`{` + strings.TrimSuffix(strings.Repeat(`"k":1,`, 200), ",") + `}`, `{"arguments":"` + stub(1201) + `"}`, "nothing but short values"},
		{`{"text":"\ud83d\ude00` + longText + `"}`, `{"text":"` + stub(1014) + `"}`, "escapes"},
	}
	for _, tt := range tests {
		t.Run(tt.reason, func(t *testing.T) {
			messages := written(tt.arguments)
			c := archived(t, toolresult.PruneConfig{ArgumentTokens: map[string]int{"*": 100}}, messages)
			require.Len(t, c.Pruned, 1)
			got := c.Messages[1].ToolCalls[0]
			assert.Equal(t, tt.want, got.Function.Arguments)
			assert.True(t, json.Valid([]byte(got.Function.Arguments)))
			assert.Equal(t, "w", got.ID)
			assert.NoError(t, provider.Check(c.Messages))

			p := c.Pruned[0]
			assert.Equal(t, toolresult.PrunedResult{Index: 1, CallID: "w", ToolName: "write", Arguments: true, TokensBefore: p.TokensBefore, TokensAfter: p.TokensAfter}, p)
			assert.Equal(t, "tool_call_arguments", c.Messages[1].Extra["context_compaction"])
			assert.Equal(t, int(p.TokensBefore), c.Messages[1].Extra["context_compaction_original_tokens"])
			assert.Equal(t, len(messages), c.Messages[1].Extra["context_compaction_at"])
			_, isPointer := toolresult.OffloadedPath(c.Messages[1])
			assert.False(t, isPointer)

			again := archived(t, toolresult.PruneConfig{ArgumentTokens: map[string]int{"*": 1}}, throughJSON(t, c.Messages))
			assert.False(t, again.Changed, "a stub is not stubbed")
		})
	}
}

// FuzzStubs holds for all that a model may write.
func FuzzStubs(f *testing.F) {
	f.Add(`{"path":"a.go","text":"`+longText+`"}`, true)
	f.Add(`[1,2]`+longText, false)
	f.Add(`{"a":"`+longText, true)
	f.Add("\xff\x00"+longText, false)
	f.Fuzz(func(t *testing.T, arguments string, archive bool) {
		backend := newMemory()
		cfg := toolresult.PruneConfig{ArgumentTokens: map[string]int{"write": 1}}
		if archive {
			cfg.Archive = backend
		}
		messages := written(arguments)
		c := archived(t, cfg, messages)
		got := c.Messages[1].ToolCalls[0].Function.Arguments
		if !c.Changed {
			require.Equal(t, arguments, got)
			return
		}
		require.True(t, json.Valid([]byte(got)), "%q", got)
		require.Less(t, len(got), len(arguments))
		require.True(t, utf8.ValidString(got) || !utf8.ValidString(arguments))
		if archive {
			require.Equal(t, map[string]string{"/large_tool_result/w-arguments": arguments}, backend.stored())
		}
		var before, after map[string]json.RawMessage
		if json.Unmarshal([]byte(arguments), &before) != nil || json.Unmarshal([]byte(got), &after) != nil || len(after["arguments"]) > 0 {
			return
		}
		require.Len(t, after, len(before), "all keys stay")
		for key, value := range before {
			require.True(t, len(value) > 200 || string(after[key]) == string(value), "%q: %q", key, value)
		}
	})
}

func TestArgumentTokens(t *testing.T) {
	big := `{"text":"` + longText + `"}` // 253 tokens
	tests := []struct {
		limits map[string]int
		cfg    toolresult.PruneConfig
		want   string
		reason string
	}{
		{map[string]int{"*": 300}, toolresult.PruneConfig{}, "", "all are below the limit"},
		{map[string]int{"*": 200}, toolresult.PruneConfig{}, "1:write 3:edit", "all are above it"},
		{map[string]int{"edit": 200}, toolresult.PruneConfig{}, "3:edit", "one tool alone"},
		{map[string]int{"*": 200, "edit": 1000}, toolresult.PruneConfig{}, "1:write", "a tool's own limit comes first"},
		{map[string]int{"*": 1000, "edit": 200}, toolresult.PruneConfig{}, "3:edit", "also a smaller one"},
		{map[string]int{"*": 200}, toolresult.PruneConfig{ExcludeTools: []string{"edit"}}, "1:write", "an excluded tool"},
		{map[string]int{"*": 200}, toolresult.PruneConfig{MinKeepSteps: 2}, "1:write", "the newest steps"},
		{map[string]int{"*": 200}, toolresult.PruneConfig{Keep: func(msg *schema.Message) bool { return len(msg.ToolCalls) > 0 && msg.ToolCalls[0].ID == "e" }}, "1:write", "what is kept"},
		{nil, toolresult.PruneConfig{}, "", "by default none"},
	}
	for _, tt := range tests {
		messages := withArguments("user call(w:write) result(w::5) call(e:edit) result(e::5) call(z:write) result(z)", big, big, big)
		tt.cfg.ArgumentTokens = tt.limits
		assert.Equal(t, tt.want, prunedIn(archived(t, tt.cfg, messages)), tt.reason)
	}
}

// What a provider has signed it checks, and refuses if a byte has changed.
func TestSignedCallsStay(t *testing.T) {
	tests := []struct {
		sign   func(msg *schema.Message)
		stays  bool
		reason string
	}{
		{func(*schema.Message) {}, false, "nothing is signed"},
		{func(m *schema.Message) { m.ReasoningContent = "I think." }, false, "reasoning without a signature"},
		{func(m *schema.Message) { m.Extra = map[string]any{"citations": 1} }, false, "other metadata"},
		{func(m *schema.Message) { m.ToolCalls[0].Extra = map[string]any{"thought_signature": "x"} }, true, "the call"},
		{func(m *schema.Message) { m.ToolCalls[0].Extra = map[string]any{"anything": "x"} }, true, "whatever the call carries"},
		{func(m *schema.Message) { m.Extra = map[string]any{"thoughtSignature": "x"} }, true, "the message"},
		{func(m *schema.Message) { m.Extra = map[string]any{"_eino_claude_thinking_signature": "x"} }, true, "likewise, by another name"},
		{func(m *schema.Message) { m.Extra = map[string]any{"reasoning.encrypted_content": "x"} }, true, "a third"},
		{func(m *schema.Message) {
			m.AssistantGenMultiContent = []schema.MessageOutputPart{{Type: schema.ChatMessagePartTypeReasoning, Reasoning: &schema.MessageOutputReasoning{Text: "x", Signature: "y"}}}
		}, true, "its reasoning"},
		{func(m *schema.Message) {
			m.AssistantGenMultiContent = []schema.MessageOutputPart{{Type: schema.ChatMessagePartTypeReasoning, Reasoning: &schema.MessageOutputReasoning{Text: "x"}}}
		}, false, "reasoning that is not signed"},
		{func(m *schema.Message) {
			m.AssistantGenMultiContent = []schema.MessageOutputPart{{Type: schema.ChatMessagePartTypeText, Text: "x", Extra: map[string]any{"Thought-Signature": 1}}}
		}, true, "a part"},
	}
	for _, tt := range tests {
		messages := written(`{"text":"` + longText + `"}`)
		tt.sign(messages[1])
		cfg := toolresult.PruneConfig{ArgumentTokens: map[string]int{"*": 100}}
		assert.Equal(t, tt.stays, !archived(t, cfg, messages).Changed, tt.reason)
	}
}

// Of parallel calls each goes by itself, and one mark stands for all.
func TestStubsOfParallelCalls(t *testing.T) {
	big := func(text string) string { return `{"text":"` + strings.Repeat(text, 250) + `"}` }
	messages := withArguments("user call(a:write,b:write,c:edit,d:write) result(a::5) result(b::5) result(c::5) result(d::5) call(z:bash) result(z)",
		big("long "), `{"x":1}`, big("more "), big("last "))
	messages[1].Content, messages[1].ReasoningContent = "Let me write.", "It is time."
	messages[1].ToolCalls[3].Extra = map[string]any{"signature": 1}
	backend := newMemory()
	c := archived(t, toolresult.PruneConfig{ArgumentTokens: map[string]int{"*": 100}, Archive: backend}, messages)
	require.Len(t, c.Pruned, 1)
	assert.Equal(t, "/large_tool_result/a-arguments", c.Pruned[0].Path)
	assert.Equal(t, map[string]string{"/large_tool_result/a-arguments": big("long "), "/large_tool_result/c-arguments": big("more ")}, backend.stored())

	got := c.Messages[1]
	want := *messages[1]
	want.Extra, want.ToolCalls = got.Extra, got.ToolCalls
	assert.Equal(t, &want, got, "only arguments and metadata change")
	assert.Contains(t, got.ToolCalls[0].Function.Arguments, "/large_tool_result/a-arguments")
	assert.Equal(t, messages[1].ToolCalls[1], got.ToolCalls[1])
	assert.Contains(t, got.ToolCalls[2].Function.Arguments, "/large_tool_result/c-arguments")
	assert.Equal(t, messages[1].ToolCalls[3], got.ToolCalls[3])
	assert.NoError(t, provider.Check(c.Messages))
}

// The whole is stored under a name of its own, beside the result, and found again by what the stub says.
func TestArchivedArguments(t *testing.T) {
	big := `{"text":"` + longText + `"}`
	for _, id := range []string{"w", "", "../w", `a"b&c%d`} {
		backend := newMemory()
		messages := withArguments("user call(w:write) result(w::500) call(z:bash) result(z)", big)
		messages[1].ToolCalls[0].ID, messages[2].ToolCallID = id, id
		cfg := toolresult.PruneConfig{ArgumentTokens: map[string]int{"*": 100}, Archive: backend}
		c := archived(t, cfg, messages)
		require.Equal(t, "1:write 2:write", prunedIn(c), id)
		path := c.Pruned[0].Path
		assert.Regexp(t, `^/large_tool_result/[^/]+-arguments$`, path)
		assert.Equal(t, big, readBack(t, backend, path))
		live, err := toolresult.LivePaths("", c.Messages[1])
		require.NoError(t, err)
		assert.Contains(t, live, path, "%q", id)

		var stub struct{ Text string }
		require.NoError(t, json.Unmarshal([]byte(c.Messages[1].ToolCalls[0].Function.Arguments), &stub))
		_, said, _ := strings.Cut(stub.Text, "` ")
		said, _, _ = strings.Cut(said, "]")
		read := newReader(t, &toolresult.ReadConfig{Backend: backend})
		assert.Equal(t, big, joinPages(t, allPages(t, read, 0, map[string]any{"file_path": said})), "%q", id)

		files := backend.written()
		archived(t, cfg, messages)
		archived(t, cfg, c.Messages)
		assert.Equal(t, files, backend.written(), "nothing is stored twice")
	}
}

func TestArgumentsThatCannotBeArchivedStay(t *testing.T) {
	big := `{"text":"` + longText + `"}`
	messages := withArguments("user call(a:write,b:write) result(a::5) result(b::5) call(c:write) result(c::5) call(z:bash) result(z)", big, big, big)
	for _, fails := range []string{"/a-arguments", "/b-arguments"} {
		cfg := toolresult.PruneConfig{ArgumentTokens: map[string]int{"*": 100}, Archive: failingAt(newMemory(), fails)}
		c := archived(t, cfg, messages)
		assert.Equal(t, "4:write", prunedIn(c))
		assert.ErrorContains(t, c.Err, fails)
	}
}

func TestStubTexts(t *testing.T) {
	if *update {
		require.NoError(t, os.MkdirAll(filepath.Join("testdata", "stubs"), 0o755))
	}
	arguments := []string{
		`{"path": "main.go", "overwrite": true, "text": "` + longText + `"}`, `{"edits": [{"old": "` + longText + `"}], "path": "main.go"}`,
		`["` + longText + `"]`, `{"text": "` + longText,
	}
	for name, lang := range map[string]adk.Language{"english.txt": adk.LanguageEnglish, "chinese.txt": adk.LanguageChinese} {
		var b strings.Builder
		for _, archive := range []toolresult.Backend{nil, newMemory()} {
			for i, args := range arguments {
				messages := written(args)
				messages[1].ToolCalls[0].ID, messages[2].ToolCallID = fmt.Sprint("call_", i), fmt.Sprint("call_", i)
				c := archived(t, toolresult.PruneConfig{ArgumentTokens: map[string]int{"*": 100}, Archive: archive, Language: lang}, messages)
				fmt.Fprintf(&b, "%s\n\n", c.Messages[1].ToolCalls[0].Function.Arguments)
			}
		}
		golden(t, filepath.Join("stubs", name), b.String())
	}
}
