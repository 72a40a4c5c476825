package toolresult_test

// Notices in pruning: left alone, or made one line that keeps the path. Never a second copy of what they stand for.

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eino-toolresult/toolresult"
)

// offloadedMessages are a result in the forms in which a notice stands in a conversation, and the backend that has it.
func offloadedMessages(t *testing.T, id string) (backend *memory, text string, forms map[string]*schema.Message) {
	backend, text = newMemory(), numberedLines(2000)
	mw := newOffload(t, &toolresult.OffloadConfig{Backend: backend, TokenLimit: 1000})
	said, err := callInvokable(t, mw, &compose.ToolInput{Name: "fetch", CallID: id}, text)
	require.NoError(t, err)
	inText := schema.ToolMessage(said, id, schema.WithToolName("fetch"))

	node := newNode(t, mw, fakeTool("enhanced invokable", "fetch", text))
	inPart, err := node.Invoke(t.Context(), schema.AssistantMessage("", []schema.ToolCall{toolCall(id, "fetch")}))
	require.NoError(t, err)
	beside := *inPart[0]
	beside.UserInputMultiContent = append(beside.UserInputMultiContent[:1:1], mediaPart(imageKind, "image/png", "", "https://example.com/x.png"))
	return backend, text, map[string]*schema.Message{"in the text": inText, "in a part": inPart[0], "beside an image": &beside}
}

func TestPointers(t *testing.T) {
	for _, id := range []string{"a", `odd "id" <&>`} {
		backend, text, forms := offloadedMessages(t, id)
		written := backend.written()
		for form, msg := range forms {
			path, ok := toolresult.OffloadedPath(msg)
			require.True(t, ok, form)
			messages := append([]*schema.Message{callsFor(toolCall(id, "fetch")), msg}, conversation("call(b:bash) result(b)")...)
			for _, archive := range []toolresult.Backend{nil, backend} {
				kept := archived(t, toolresult.PruneConfig{Archive: archive}, messages)
				assert.False(t, kept.Changed, "%s: by default a notice stays", form)
				if archive != nil && form == "beside an image" {
					continue // below
				}
				c := archived(t, toolresult.PruneConfig{Archive: archive, Pointers: toolresult.ShortenPointers}, messages)
				require.Len(t, c.Pruned, 1, form)
				assert.Equal(t, path, c.Pruned[0].Path, form)
				assert.NotContains(t, c.Messages[1].Content, "\n", "one line")
				assert.Equal(t, path, requireReadBack(t, backend, c.Messages[1], text), form)
				assert.Equal(t, written, backend.written(), "%s: nothing is stored for it", form)
				assert.Equal(t, "tool_result_pruning", c.Messages[1].Extra["context_compaction"])

				loaded := throughJSON(t, c.Messages)
				again := archived(t, toolresult.PruneConfig{Archive: archive, Pointers: toolresult.ShortenPointers, MinTokens: 1}, loaded)
				assert.False(t, again.Changed, "%s: what was shortened stays", form)
				assert.Equal(t, path, requireReadBack(t, backend, again.Messages[1], text), "through JSON, too")
			}
		}
	}
}

// Beside a picture a notice is more than its path. With an archive both are stored, once, and all that is named is live.
func TestPointersBesideMedia(t *testing.T) {
	backend, text, forms := offloadedMessages(t, "a")
	msg := deepCopy(forms["beside an image"])
	msg.UserInputMultiContent[1] = mediaPart(imageKind, "image/png", inBase64([]byte("pixels")), "")
	said := msg.UserInputMultiContent[0].Text
	messages := append([]*schema.Message{callsFor(toolCall("a", "fetch")), msg}, conversation("call(b:bash) result(b)")...)
	cfg := toolresult.PruneConfig{Archive: backend, Pointers: toolresult.ShortenPointers}
	c := archived(t, cfg, messages)
	require.Len(t, c.Pruned, 1)
	both := c.Pruned[0].Path
	image := "/large_tool_result/a.1.png"
	requireReadBack(t, backend, c.Messages[1], said+"\n[image/png, 6 bytes: "+image+"]")
	assert.Equal(t, map[string]string{"/large_tool_result/a": text, image: "pixels", both: backend.stored()[both]}, backend.stored())
	for _, history := range [][]*schema.Message{c.Messages, throughJSON(t, c.Messages)} {
		live, err := toolresult.LivePaths("", history...)
		require.NoError(t, err)
		assert.Subset(t, live, []string{"/large_tool_result/a", image, both})
	}
	files := backend.written()
	archived(t, cfg, messages)
	archived(t, cfg, throughJSON(t, c.Messages))
	assert.Equal(t, files, backend.written(), "nothing is stored twice")
}

// A pointer of somebody else has a key of ours and no notice that could be shortened.
func TestForeignPointersStay(t *testing.T) {
	inMessage := conversation("call(a:bash) result(a) call(b:bash) result(b)")
	inMessage[1].Extra = map[string]any{"tool_result_offloaded": "/elsewhere"}
	inPart := withParts(schema.MessageInputPart{Type: schema.ChatMessagePartTypeText, Text: sizedText(0, "500", 0), Extra: map[string]any{"tool_result_offloaded": "/elsewhere"}})
	_, _, forms := offloadedMessages(t, "a")
	protected := append([]*schema.Message{callsFor(toolCall("a", "fetch")), forms["in the text"]}, conversation("call(b:bash) result(b)")...)
	protected[1].Extra = map[string]any{"mine": true}
	keys := []string{"mine", "tool_result_offloaded"}
	tests := []struct {
		messages []*schema.Message
		cfg      toolresult.PruneConfig
		stays    bool
		reason   string
	}{
		{inMessage, toolresult.PruneConfig{Pointers: toolresult.ShortenPointers}, true, "a key in the message"},
		{inPart, toolresult.PruneConfig{Pointers: toolresult.ShortenPointers}, true, "a key in a part"},
		{inMessage, toolresult.PruneConfig{Pointers: toolresult.ShortenPointers, SkipExtraKeys: []string{}}, false, "unless nothing is to be protected"},
		{protected, toolresult.PruneConfig{Pointers: toolresult.ShortenPointers}, false, "a notice with another key is shortened"},
		{protected, toolresult.PruneConfig{Pointers: toolresult.ShortenPointers, SkipExtraKeys: keys}, true, "unless that key protects it"},
		{protected, toolresult.PruneConfig{Pointers: toolresult.ShortenPointers, ExcludeTools: []string{"fetch"}}, true, "or its tool is excluded"},
		{protected, toolresult.PruneConfig{Pointers: toolresult.ShortenPointers, Keep: func(*schema.Message) bool { return true }}, true, "or it is kept"},
		{protected, toolresult.PruneConfig{Pointers: toolresult.ShortenPointers, MinTokens: 1000}, true, "or it is small"},
	}
	for _, tt := range tests {
		c := archived(t, tt.cfg, tt.messages)
		assert.Equal(t, tt.stays, !c.Changed, tt.reason)
	}
}

func TestPointerTexts(t *testing.T) {
	mkPlaceholders(t)
	for name, lang := range map[string]adk.Language{"pointer_english.txt": adk.LanguageEnglish, "pointer_chinese.txt": adk.LanguageChinese} {
		var b strings.Builder
		_, _, forms := offloadedMessages(t, "call_1")
		for _, form := range []string{"in the text", "in a part", "beside an image"} {
			messages := append([]*schema.Message{callsFor(toolCall("call_1", "fetch")), forms[form]}, conversation("call(b:bash) result(b)")...)
			c := archived(t, toolresult.PruneConfig{Pointers: toolresult.ShortenPointers, Language: lang}, messages)
			fmt.Fprintf(&b, "%s\n%s\n\n", form, c.Messages[1].Content)
		}
		golden(t, filepath.Join("placeholders", name), b.String())
	}
}

func TestNewPruneFieldsAreChecked(t *testing.T) {
	type config = toolresult.PruneConfig
	const path = "a text with {file_path}, without which the result could not be found again"
	tests := []struct {
		cfg  config
		want string
	}{
		{config{StoredPlaceholder: "{file_path}\x00"}, `PruneConfig.StoredPlaceholder is "{file_path}\x00"; want words in valid UTF-8 without NUL, as providers refuse anything else`},
		{config{StoredPlaceholder: "\xff{file_path}"}, `PruneConfig.StoredPlaceholder is "\xff{file_path}"; want words in valid UTF-8 without NUL, as providers refuse anything else`},
		{config{StoredPlaceholder: "gone"}, `PruneConfig.StoredPlaceholder is "gone"; want ` + path},
		{config{Pointers: 2}, "PruneConfig.Pointers is 2; want KeepPointers or ShortenPointers"},
		{config{Pointers: -1}, "PruneConfig.Pointers is -1; want KeepPointers or ShortenPointers"},
		{config{ArgumentTokens: map[string]int{"write": 0}}, `PruneConfig.ArgumentTokens["write"] is 0; want 1 or more`},
		{config{ArgumentTokens: map[string]int{"*": -4, "x": 5}}, `PruneConfig.ArgumentTokens["*"] is -4; want 1 or more`},
		{config{PathPrefix: "/"}, `PruneConfig.PathPrefix is "/"; want an absolute, clean folder other than "/"`},
		{config{PathPrefix: "a/b"}, `PruneConfig.PathPrefix is "a/b"; want an absolute, clean folder other than "/"`},
		{config{PathPrefix: "/a\n", Archive: newMemory()}, `PruneConfig.PathPrefix is "/a\n"; want UTF-8 without control characters`},
	}
	for _, tt := range tests {
		pruner, err := toolresult.NewPruner(t.Context(), &tt.cfg)
		assert.EqualError(t, err, "toolresult: "+tt.want)
		assert.Nil(t, pruner)
	}
}

func TestPrunerCopiesItsNewFields(t *testing.T) {
	cfg := &toolresult.PruneConfig{Superseded: []string{"view"}, ArgumentTokens: map[string]int{"write": 10}}
	pruner := newPruner(t, cfg)
	cfg.Superseded[0] = "ls"
	cfg.ArgumentTokens["write"] = 1e6
	messages := dressed(conversation("call(a:view) result(a) call(b:write) result(b::5) call(c:view) result(c) call(d:bash) result(d)"))
	messages[0].ToolCalls[0].Function.Arguments = messages[4].ToolCalls[0].Function.Arguments
	plan := planOf(t, pruner, messages, 0)
	assert.Equal(t, toolresult.ReasonSuperseded, plan.Results[1].Reason)
	assert.Equal(t, toolresult.ReasonArguments, plan.Results[2].Reason)
}
