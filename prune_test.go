package toolresult_test

// What the Pruner takes, what it leaves, and what stands in its place.

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eino-toolresult/toolresult"
)

func newPruner(t testing.TB, cfg *toolresult.PruneConfig) *toolresult.Pruner {
	t.Helper()
	pruner, err := toolresult.NewPruner(context.Background(), cfg)
	require.NoError(t, err)
	return pruner
}

// compact asks for a compaction and asserts what holds of every report.
func compact(t testing.TB, pruner *toolresult.Pruner, req *toolresult.CompactRequest) *toolresult.Compaction {
	t.Helper()
	c, err := pruner.Compact(context.Background(), req)
	require.NoError(t, err)
	require.Equal(t, c.Changed, len(c.Pruned) > 0)
	require.Equal(t, max(req.TargetTokens, 0), c.TargetTokens)
	if !c.Changed {
		require.True(t, sameSlice(req.Messages, c.Messages), "an unchanged conversation is the caller's own slice")
	}
	if req.Counter == nil {
		require.Equal(t, tokensOf(t, req.Messages...), c.TokensBefore)
		require.Equal(t, tokensOf(t, c.Messages...), c.TokensAfter, "the running total is the count of what came of it")
	}
	saved := c.TokensBefore - c.TokensAfter
	for _, p := range c.Pruned {
		require.Less(t, p.TokensAfter, p.TokensBefore, "every replacement saves")
		saved -= p.TokensBefore - p.TokensAfter
	}
	require.Zero(t, saved)
	return c
}

func sameSlice(a, b []*schema.Message) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}

// tokensOf counts by the default counter.
func tokensOf(t testing.TB, messages ...*schema.Message) int64 {
	t.Helper()
	counter, err := toolresult.NewTokenCounter(context.Background(), nil)
	require.NoError(t, err)
	tokens, err := counter.CountTokens(context.Background(), messages, nil)
	require.NoError(t, err)
	return tokens
}

// A placeholder for bash has 75 bytes, 19 tokens; a call of bash has 2 tokens.
func TestPruneToTarget(t *testing.T) {
	const three = "user(100) call(a:bash) result(a::500) call(b:bash) result(b::600) call(c:bash) result(c::700) " // 1906 tokens
	tests := []struct {
		script string
		cfg    *toolresult.PruneConfig
		target int64
		want   string
		reason string
	}{
		{three, nil, 5000, "", "the conversation is far below the target"},
		{three, nil, 1906, "", "it is exactly the target"},
		{three, nil, 1905, "2:bash", "it is one token above, and one result is enough"},
		{three, nil, 1906 - 481, "2:bash", "the oldest result meets the target exactly"},
		{three, nil, 1906 - 482, "2:bash 4:bash", "it misses the target by a token, so the next goes too"},
		{three, nil, 0, "2:bash 4:bash", "the newest step stays although the target cannot be met"},
		{three, nil, -5, "2:bash 4:bash", "a target below 0 is 0"},
		{three, &toolresult.PruneConfig{MinKeepSteps: 2}, 0, "2:bash", "two steps are protected"},
		{three, &toolresult.PruneConfig{MinKeepSteps: 3}, 0, "", "nothing is older than the protected steps"},
		{three, &toolresult.PruneConfig{ExcludeTools: []string{"grep", "bash"}}, 0, "", "the tool is excluded"},
		{three, &toolresult.PruneConfig{ExcludeTools: []string{"grep"}}, 1905, "2:bash", "another tool is excluded"},

		{"call(a:bash) result(a::200) call(b:bash) result(b::201) call(c:bash) result(c)", nil, 0, "3:bash", "200 tokens are not worth it, 201 are"},
		{"call(a:bash) result(a::50) call(b:bash) result(b::51) call(c:bash) result(c)", &toolresult.PruneConfig{MinTokens: 50}, 0, "3:bash", "the same with a limit of 50"},
		{"call(a:bash) result(a::19) call(b:bash) result(b::20) call(c:bash) result(c)", &toolresult.PruneConfig{MinTokens: 1}, 0, "3:bash", "a placeholder of 19 tokens saves nothing of 19"},
		{"call(a:bash) result(a::0) call(b:bash) result(b::1) call(c:bash) result(c)", &toolresult.PruneConfig{MinTokens: 1}, 0, "", "nor of an empty result"},
		{"call(a:bash) result(a) call(b:bash) result(b)", &toolresult.PruneConfig{Placeholder: strings.Repeat("long", 300)}, 0, "", "a placeholder of 300 tokens is as long as the result"},
		{"call(a:bash) result(a) call(b:bash) result(b)", &toolresult.PruneConfig{Placeholder: strings.Repeat("long", 299)}, 0, "1:bash", "one of 299 saves a token"},
		{"call(a:bash) result(a::100) call(b:bash) result(b) call(c:bash) result(c)", nil, 500, "3:bash", "the oldest is small, so the next goes"},
		{"user(5000) answer(5000)", nil, 0, "", "there is no result"},
	}
	for _, tt := range tests {
		t.Run(tt.reason, func(t *testing.T) {
			messages := conversation(tt.script)
			c := compact(t, newPruner(t, tt.cfg), &toolresult.CompactRequest{Messages: messages, TargetTokens: tt.target})
			assert.Equal(t, tt.want, prunedIn(c))
			requireShape(t, messages, c.Messages, 1)

			again := compact(t, newPruner(t, tt.cfg), &toolresult.CompactRequest{Messages: c.Messages, TargetTokens: tt.target})
			assert.False(t, again.Changed, "a second pass finds nothing")
		})
	}
}

// Half of all results are shorter than most placeholders.
func TestPlaceholderIsAlwaysShorter(t *testing.T) {
	for _, size := range []int{0, 1, 2, 74, 75, 76, 77, 170, 401, 1001} {
		messages := conversation("call(a:bash) result(a) call(b:bash) result(b)")
		messages[1].Content = strings.Repeat("x", size)
		c := compact(t, newPruner(t, &toolresult.PruneConfig{MinTokens: 1}), &toolresult.CompactRequest{Messages: messages})
		assert.LessOrEqual(t, len(c.Messages[1].Content), size, "a result of %d bytes never grows", size)
		assert.Equal(t, size > 76, c.Changed, "%d bytes", size)
	}
}

func TestReportOfPruned(t *testing.T) {
	messages := conversation("user call(a:bash,b:grep) result(a::500) result(b::600) call(c:ls) result(c::700)")
	c := compact(t, newPruner(t, nil), &toolresult.CompactRequest{Messages: messages, TargetTokens: 10})
	assert.Equal(t, []toolresult.PrunedResult{
		{Index: 2, CallID: "a", ToolName: "bash", TokensBefore: 500, TokensAfter: 19},
		{Index: 3, CallID: "b", ToolName: "grep", TokensBefore: 600, TokensAfter: 19},
	}, c.Pruned)
	assert.Greater(t, c.TokensAfter, c.TargetTokens, "the report says that the target was missed")
}

func TestReplacementKeepsAllButTheContent(t *testing.T) {
	messages := conversation("call(a:bash) result(a:bash:500) call(b:bash) result(b)")
	messages[1].Name = "a participant"
	messages[1].Extra = map[string]any{"is_error": true, "trace": []string{"kept"}}
	messages[1].UserInputMultiContent = []schema.MessageInputPart{
		{Type: schema.ChatMessagePartTypeText, Text: messages[1].Content, Extra: map[string]any{"part": 1, "is_error": "of a part"}},
		imageInput("big"),
	}
	messages[1].UserInputMultiContent[1].Image.MessagePartCommon = mediumWith("medium")
	//lint:ignore SA1019 old histories have it
	messages[1].MultiContent = []schema.ChatMessagePart{{Type: schema.ChatMessagePartTypeText, Text: "old"}}
	messages[1].AssistantGenMultiContent = []schema.MessageOutputPart{{Type: schema.ChatMessagePartTypeText, Text: "odd"}}
	before := tokensOf(t, messages[1])

	c := compact(t, newPruner(t, nil), &toolresult.CompactRequest{Messages: messages})
	assert.Equal(t, &schema.Message{
		Role:       schema.Tool,
		ToolCallID: "a",
		ToolName:   "bash",
		Name:       "a participant",
		Content:    "[Tool result removed to free up context. Call `bash` again if you need it.]",
		Extra: map[string]any{
			"is_error": true, "trace": []string{"kept"}, "part": 1, "medium": "/path",
			"context_compaction":                 "tool_result_pruning",
			"context_compaction_original_tokens": int(before),
			"context_compaction_at":              4,
		},
	}, c.Messages[1])
}

// imageInput is an image as it stands in a tool message.
func imageInput(base64 string) schema.MessageInputPart {
	common := schema.MessagePartCommon{Base64Data: &base64, MIMEType: "image/png"}
	return schema.MessageInputPart{Type: schema.ChatMessagePartTypeImageURL, Image: &schema.MessageInputImage{MessagePartCommon: common}}
}

func mediumWith(key string) schema.MessagePartCommon {
	//lint:ignore SA1019 tools still set it
	return schema.MessagePartCommon{Extra: map[string]any{key: "/path"}}
}

func TestScreenshotsArePruned(t *testing.T) {
	var messages []*schema.Message
	for i := range 15 {
		shot := schema.ToolMessage("", fmt.Sprint(i), schema.WithToolName("screenshot"))
		shot.UserInputMultiContent = []schema.MessageInputPart{imageInput(strings.Repeat("iVBORw0KGgo", 10_000))}
		messages = append(messages, message("call", fmt.Sprint(i, ":screenshot"), 0), shot)
	}
	c := compact(t, newPruner(t, nil), &toolresult.CompactRequest{Messages: messages, TargetTokens: 5000})
	assert.Less(t, c.TokensBefore, int64(15*2000), "base64 is not counted as text")
	assert.Less(t, c.TokensAfter, int64(5000))
	assert.Len(t, c.Pruned, 13, "as many as are needed, each at 1600 tokens")
	for _, p := range c.Pruned {
		assert.Empty(t, c.Messages[p.Index].UserInputMultiContent, "the image is gone")
	}
	requireShape(t, messages, c.Messages, 1)
}

// What a result carries can protect it, wherever it stands.
func TestMetadataProtects(t *testing.T) {
	inMessage := func(key string, value any) func(*schema.Message) {
		return func(msg *schema.Message) { msg.Extra = map[string]any{key: value} }
	}
	inPart := func(key string) func(*schema.Message) {
		return func(msg *schema.Message) {
			msg.UserInputMultiContent = []schema.MessageInputPart{
				{Type: schema.ChatMessagePartTypeText, Text: msg.Content},
				{Type: schema.ChatMessagePartTypeText, Text: "more", Extra: map[string]any{key: "/path"}},
			}
		}
	}
	inMedium := func(part schema.MessageInputPart) func(*schema.Message) {
		return func(msg *schema.Message) { msg.UserInputMultiContent = []schema.MessageInputPart{part} }
	}
	medium := mediumWith("tool_result_offloaded")
	keys := func(keys ...string) *toolresult.PruneConfig { return &toolresult.PruneConfig{SkipExtraKeys: keys} }
	tests := []struct {
		reason string
		change func(msg *schema.Message)
		cfg    *toolresult.PruneConfig
		stays  bool
	}{
		{"nothing protects it", func(*schema.Message) {}, nil, false},
		{"another key does not protect it", inMessage("elsewhere", true), nil, false},
		{"a mark, as we write it", inMessage("context_compaction", "tool_result_pruning"), nil, true},
		{"a mark of another type, as a serializer left it", inMessage("context_compaction", []byte("x")), nil, true},
		{"a mark of another library, a map", inMessage("context_compaction", map[string]any{"strategy": "x"}), nil, true},
		{"a mark without a value", inMessage("context_compaction", nil), nil, true},
		{"a mark, whatever the keys", inMessage("context_compaction", "x"), keys("mine"), true},
		{"the default key", inMessage("tool_result_offloaded", "/path"), nil, true},
		{"the default key without a value", inMessage("tool_result_offloaded", nil), nil, true},
		{"the default key in a part", inPart("tool_result_offloaded"), nil, true},
		{"the default key in an image", inMedium(schema.MessageInputPart{Type: schema.ChatMessagePartTypeImageURL, Image: &schema.MessageInputImage{MessagePartCommon: medium}}), nil, true},
		{"the default key in audio", inMedium(schema.MessageInputPart{Type: schema.ChatMessagePartTypeAudioURL, Audio: &schema.MessageInputAudio{MessagePartCommon: medium}}), nil, true},
		{"the default key in a video", inMedium(schema.MessageInputPart{Type: schema.ChatMessagePartTypeVideoURL, Video: &schema.MessageInputVideo{MessagePartCommon: medium}}), nil, true},
		{"the default key in a file", inMedium(schema.MessageInputPart{Type: schema.ChatMessagePartTypeFileURL, File: &schema.MessageInputFile{MessagePartCommon: medium}}), nil, true},
		{"an image without the key", inMedium(imageInput("x")), nil, false},
		{"one of several keys", inMessage("b", 1), keys("a", "b"), true},
		{"one of several keys in a part", inPart("b"), keys("a", "b"), true},
		{"the default key, where others are asked for", inMessage("tool_result_offloaded", "/path"), keys("a"), false},
		{"the default key, where none is asked for", inMessage("tool_result_offloaded", "/path"), keys([]string{}...), false},
	}
	for _, tt := range tests {
		t.Run(tt.reason, func(t *testing.T) {
			messages := conversation("call(a:bash) result(a) call(b:bash) result(b)")
			tt.change(messages[1])
			c := compact(t, newPruner(t, tt.cfg), &toolresult.CompactRequest{Messages: messages})
			assert.Equal(t, tt.stays, !c.Changed)
			requireShape(t, messages, c.Messages, 1)
		})
	}
}

// A notice is the model's only way to the whole result.
func TestNoticesAreLeftAlone(t *testing.T) {
	said := offload(t, newOffload(t, &toolresult.OffloadConfig{Backend: newMemory(), TokenLimit: 1000}), "a", numberedLines(200))
	inPart := schema.ToolMessage("", "b", schema.WithToolName("fetch"))
	inPart.UserInputMultiContent = []schema.MessageInputPart{imageInput("x"), {Type: schema.ChatMessagePartTypeText, Text: said}}
	quoted := schema.ToolMessage("The file says: "+said+strings.Repeat(" and so on", 20), "c", schema.WithToolName("fetch"))
	messages := []*schema.Message{
		message("call", "a:fetch,b:fetch,c:fetch", 0), schema.ToolMessage(said, "a", schema.WithToolName("fetch")), inPart, quoted,
		message("call", "d:fetch", 0), schema.ToolMessage("done", "d"),
	}
	for reason, cfg := range map[string]*toolresult.PruneConfig{
		"by default":                 {MinTokens: 1},
		"even where no key protects": {MinTokens: 1, SkipExtraKeys: []string{}},
	} {
		c := compact(t, newPruner(t, cfg), &toolresult.CompactRequest{Messages: messages})
		assert.Equal(t, "3:fetch", prunedIn(c), "%s: notices stay, a text that quotes one does not", reason)
	}
}

func TestPrunerRefusesBadConfig(t *testing.T) {
	tests := []struct {
		cfg  toolresult.PruneConfig
		want string
	}{
		{toolresult.PruneConfig{MinKeepSteps: -1}, "toolresult: PruneConfig.MinKeepSteps is -1; want 0 (the default, 1) or more"},
		{toolresult.PruneConfig{MinTokens: -7}, "toolresult: PruneConfig.MinTokens is -7; want 0 (the default, 200) or more"},
		{toolresult.PruneConfig{Placeholder: "gone\x00"}, `toolresult: PruneConfig.Placeholder is "gone\x00"; want words in valid UTF-8 without NUL, as providers refuse anything else`},
		{toolresult.PruneConfig{Placeholder: " \n"}, `toolresult: PruneConfig.Placeholder is " \n"; want words in valid UTF-8 without NUL, as providers refuse anything else`},
		{toolresult.PruneConfig{Language: adk.Language(9)}, "toolresult: PruneConfig.Language is 9; want adk.LanguageEnglish or adk.LanguageChinese"},
	}
	for _, tt := range tests {
		pruner, err := toolresult.NewPruner(t.Context(), &tt.cfg)
		assert.EqualError(t, err, tt.want)
		assert.Nil(t, pruner)
	}
}

func TestPrunerCopiesItsConfig(t *testing.T) {
	cfg := &toolresult.PruneConfig{SkipExtraKeys: []string{"mine"}, ExcludeTools: []string{"grep"}}
	pruner := newPruner(t, cfg)
	cfg.SkipExtraKeys[0], cfg.ExcludeTools[0] = "other", "bash"
	cfg.MinTokens, cfg.Placeholder = 1e6, strings.Repeat("x", 1e6)
	messages := conversation("call(a:bash) result(a) call(b:bash) result(b)")
	messages[1].Extra = map[string]any{"other": true}
	c := compact(t, pruner, &toolresult.CompactRequest{Messages: messages})
	assert.Equal(t, "1:bash", prunedIn(c))
}

func TestPlaceholderTexts(t *testing.T) {
	mkPlaceholders(t)
	tools := []string{"bash", "", "mcp__web.search-2", "查询", "{tool_name}", "new\nline"}
	for name, cfg := range map[string]*toolresult.PruneConfig{
		"english.txt": nil,
		"chinese.txt": {Language: adk.LanguageChinese},
		"custom.txt":  {Placeholder: `{"tool": "{tool_name}", "args": {}, "name": "{name}", "again": "{tool_name}", "n": %d {{x}}`},
	} {
		var b strings.Builder
		for _, tool := range tools {
			messages := conversation("call(a) result(a) call(b:bash) result(b)")
			messages[1].ToolName = tool
			c := compact(t, newPruner(t, cfg), &toolresult.CompactRequest{Messages: messages})
			fmt.Fprintf(&b, "%q\n%s\n\n", tool, c.Messages[1].Content)
		}
		golden(t, filepath.Join("placeholders", name), b.String())
	}
}

func mkPlaceholders(t *testing.T) {
	if *update {
		require.NoError(t, os.MkdirAll(filepath.Join("testdata", "placeholders"), 0o755))
	}
}
