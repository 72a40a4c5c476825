package toolresult_test

// Enhanced results: texts are judged together, everything else stays where it is and as it is.

import (
	"context"
	"io"
	"reflect"
	"strings"
	"testing"

	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eino-toolresult/toolresult"
)

const urlOfFile = "https://example.com/report.pdf"

func filePart() schema.ToolOutputPart {
	url := urlOfFile
	common := schema.MessagePartCommon{URL: &url, MIMEType: "application/pdf"}
	return schema.ToolOutputPart{Type: schema.ToolPartTypeFile, File: &schema.ToolOutputFile{MessagePartCommon: common}}
}

func searchPart() schema.ToolOutputPart {
	found := &schema.ToolSearchResult{Tools: []*schema.ToolInfo{{Name: "found", Desc: strings.Repeat("long ", 2000)}}}
	return schema.ToolOutputPart{Type: schema.ToolPartTypeToolSearchResult, ToolSearchResult: found}
}

func extraPart(text string, extra map[string]any) schema.ToolOutputPart {
	part := textPart(text)
	part.Extra = extra
	return part
}

var (
	half       = numberedLines(60) // 3 000 bytes of a limit of 4 000
	screenshot = imagePart(strings.Repeat("iVBORw0KGgo", 10_000))
)

// Want is the result part by part: "=" is the part of that index, "@" the notice. Stored is the text under its path.
var partsCases = []struct {
	name   string
	parts  []schema.ToolOutputPart
	want   []string
	stored string
	reason string
}{
	{"small text and an image", []schema.ToolOutputPart{textPart("small"), screenshot}, []string{"=", "="}, "", "base64 is no text"},
	{"an image alone", []schema.ToolOutputPart{screenshot}, []string{"="}, "", "base64 is no text"},
	{"no parts", []schema.ToolOutputPart{}, nil, "", "there is nothing to do"},
	{"a file with a URL and no bytes", []schema.ToolOutputPart{filePart(), textPart("see there")}, []string{"=", "="}, "", "there is nothing to measure"},
	{"large text, then an image", []schema.ToolOutputPart{textPart(half + half), screenshot}, []string{"@", "="}, half + half, "the text is replaced, the image stays"},
	{"an image, then large text", []schema.ToolOutputPart{screenshot, textPart(half + half)}, []string{"=", "@"}, half + half, "order is kept, and no newline comes first"},
	{"a file before and behind", []schema.ToolOutputPart{filePart(), textPart(half + half), searchPart()}, []string{"=", "@", "="}, half + half, "every other kind stays"},
	{"two halves, neighbours", []schema.ToolOutputPart{textPart(half), textPart(half)}, []string{"@"}, half + half, "texts are judged together; neighbours are one text"},
	{"two halves around an image", []schema.ToolOutputPart{textPart(half), screenshot, textPart(half)}, []string{"@", "="}, half + "\n" + half, "texts that were apart are told apart"},
	{"three texts, two images", []schema.ToolOutputPart{screenshot, textPart(half), textPart("a"), filePart(), textPart(half)}, []string{"=", "@", "="}, half + "a\n" + half, "one notice takes the place of the first"},
	{"one half", []schema.ToolOutputPart{textPart(half), screenshot}, []string{"=", "="}, "", "half the limit is below it"},
	{"the newline is what exceeds", []schema.ToolOutputPart{textPart(strings.Repeat("x", 2000)), screenshot, textPart(strings.Repeat("y", 2000))}, []string{"@", "="}, strings.Repeat("x", 2000) + "\n" + strings.Repeat("y", 2000), "the joined text is what is judged"},
	{"empty texts", []schema.ToolOutputPart{textPart(""), screenshot, textPart("")}, []string{"=", "=", "="}, "", "an empty part is a part"},
}

func TestPartsAreJudgedTogether(t *testing.T) {
	for _, streamed := range []bool{false, true} {
		for _, tc := range partsCases {
			store := newMemory()
			mw := newOffload(t, &toolresult.OffloadConfig{Backend: store, TokenLimit: 1000})
			got := passParts(t, mw, streamed, tc.parts)
			if tc.stored == "" {
				assert.Equal(t, tc.parts, got, "%s: %s", tc.name, tc.reason)
				assert.Empty(t, store.stored(), tc.name)
				continue
			}
			require.Len(t, got, len(tc.want), "%s: %s", tc.name, tc.reason)
			for i, want := range tc.want {
				if want == "@" {
					assert.Equal(t, map[string]string{pathIn(t, got[i].Text): tc.stored}, store.stored(), "%s: %s", tc.name, tc.reason)
					assert.Equal(t, map[string]any{"tool_result_offloaded": pathIn(t, got[i].Text)}, got[i].Extra, "%s: the mark holds the path", tc.name)
					continue
				}
				assert.Contains(t, tc.parts, got[i], "%s: %s", tc.name, tc.reason)
				assert.NotEqual(t, schema.ToolPartTypeText, got[i].Type, tc.name)
			}
		}
	}
}

// passParts passes parts through the middleware, in one piece or each in a chunk of its own.
func passParts(t *testing.T, mw compose.ToolMiddleware, streamed bool, parts []schema.ToolOutputPart) []schema.ToolOutputPart {
	t.Helper()
	call := &compose.ToolInput{Name: "fetch", CallID: "call_1"}
	if !streamed {
		out, err := mw.EnhancedInvokable(func(context.Context, *compose.ToolInput) (*compose.EnhancedInvokableToolOutput, error) {
			return &compose.EnhancedInvokableToolOutput{Result: &schema.ToolResult{Parts: parts}}, nil
		})(t.Context(), call)
		require.NoError(t, err)
		return out.Result.Parts
	}
	var chunks []*schema.ToolResult
	for _, part := range parts {
		chunks = append(chunks, &schema.ToolResult{Parts: []schema.ToolOutputPart{part}}, nil)
	}
	src, closed := newSource(chunks, io.EOF)
	joined := []schema.ToolOutputPart{}
	for _, chunk := range receiveParts(t, mw, src) {
		if chunk != nil {
			joined = append(joined, chunk.Parts...)
		}
	}
	<-closed
	return joined
}

func receiveParts(t *testing.T, mw compose.ToolMiddleware, src *schema.StreamReader[*schema.ToolResult]) []*schema.ToolResult {
	t.Helper()
	out, err := mw.EnhancedStreamable(func(context.Context, *compose.ToolInput) (*compose.EnhancedStreamableToolOutput, error) {
		return &compose.EnhancedStreamableToolOutput{Result: src}, nil
	})(t.Context(), &compose.ToolInput{Name: "fetch", CallID: "call_1"})
	require.NoError(t, err)
	chunks, err := receive(out.Result)
	require.NoError(t, err)
	return chunks
}

// The tool may keep what it returned, and use it again.
func TestPartsOfTheToolAreNotChanged(t *testing.T) {
	mask := func(_ context.Context, _ *compose.ToolInput, text string) (string, error) {
		return "masked " + text, nil
	}
	for _, streamed := range []bool{false, true} {
		for _, transform := range []func(context.Context, *compose.ToolInput, string) (string, error){nil, mask} {
			extra := map[string]any{"source": "tool"}
			parts := []schema.ToolOutputPart{extraPart(half, extra), screenshot, extraPart(half, map[string]any{"other": 1})}
			want := []schema.ToolOutputPart{extraPart(half, map[string]any{"source": "tool"}), screenshot, extraPart(half, map[string]any{"other": 1})}
			mw := newOffload(t, &toolresult.OffloadConfig{Backend: newMemory(), TokenLimit: 1000, Transform: transform})
			got := passParts(t, mw, streamed, parts)
			assert.Equal(t, want, parts, "the tool's own parts")
			assert.Equal(t, map[string]any{"source": "tool", "tool_result_offloaded": "/large_tool_result/call_1"}, got[0].Extra,
				"what the tool noted of the first text is kept beside the mark")
			assert.NotContains(t, extra, "tool_result_offloaded")
		}
	}
}

// A result that passes is the tool's own, not a copy.
func TestPartsThatPassAreTheSame(t *testing.T) {
	mw := newOffload(t, &toolresult.OffloadConfig{Backend: newMemory(), TokenLimit: 1000})
	given := &compose.EnhancedInvokableToolOutput{Result: &schema.ToolResult{Parts: []schema.ToolOutputPart{textPart("small"), screenshot}}}
	got, err := mw.EnhancedInvokable(func(context.Context, *compose.ToolInput) (*compose.EnhancedInvokableToolOutput, error) {
		return given, nil
	})(t.Context(), &compose.ToolInput{Name: "fetch", CallID: "call_1"})
	require.NoError(t, err)
	assert.Same(t, given, got)

	chunks := []*schema.ToolResult{{Parts: []schema.ToolOutputPart{textPart("a")}}, nil, {}, {Parts: []schema.ToolOutputPart{screenshot}}}
	src, _ := newSource(chunks, io.EOF)
	passed := receiveParts(t, mw, src)
	require.Len(t, passed, len(chunks))
	for i := range chunks {
		assert.Same(t, chunks[i], passed[i], "chunk %d arrives as it was", i)
	}
}

func TestPartsOfABrokenStream(t *testing.T) {
	for name, text := range map[string]string{"below the limit": "small", "above the limit": half} {
		var chunks []*schema.ToolResult
		for range 7 {
			chunks = append(chunks, &schema.ToolResult{Parts: []schema.ToolOutputPart{textPart(text)}})
		}
		store := newMemory()
		src, closed := newSource(chunks, errSource)
		out, err := newOffload(t, &toolresult.OffloadConfig{Backend: store, TokenLimit: 1000}).EnhancedStreamable(
			func(context.Context, *compose.ToolInput) (*compose.EnhancedStreamableToolOutput, error) {
				return &compose.EnhancedStreamableToolOutput{Result: src}, nil
			})(t.Context(), &compose.ToolInput{Name: "fetch", CallID: "call_1"})
		require.NoError(t, err)
		got, err := receive(out.Result)
		<-closed
		assert.True(t, err == errSource, "%s: the same error, not one like it: %v", name, err)
		require.Len(t, got, 7, "%s: what came before it arrives", name)
		for i := range got {
			assert.Same(t, chunks[i], got[i], name)
		}
		assert.Empty(t, store.stored(), "%s: half a result is none", name)
	}
}

func TestPartsOfAnEmptyStream(t *testing.T) {
	mw := newOffload(t, &toolresult.OffloadConfig{Backend: newMemory(), TokenLimit: 1000})
	src, _ := newSource[*schema.ToolResult](nil, io.EOF)
	assert.Equal(t, []*schema.ToolResult{{}}, receiveParts(t, mw, src), "Eino cannot join nothing")

	empty := func(context.Context, string) (*schema.StreamReader[*schema.ToolResult], error) {
		return schema.StreamReaderFromArray([]*schema.ToolResult{}), nil
	}
	emptyText := func(context.Context, string) (*schema.StreamReader[string], error) {
		return schema.StreamReaderFromArray([]string{}), nil
	}
	node := newNode(t, mw, partsStreamTool{"parts", empty}, streamTool{"text", emptyText})
	calls := []schema.ToolCall{toolCall("1", "parts"), toolCall("2", "text")}
	invoked, err := node.Invoke(t.Context(), schema.AssistantMessage("", calls))
	require.NoError(t, err, "without the library, a node fails here")
	streamed, err := streamNode(t.Context(), node, calls...)
	require.NoError(t, err)
	for _, messages := range [][]*schema.Message{invoked, streamed} {
		require.Len(t, messages, 2)
		for i, msg := range messages {
			require.NotNil(t, msg, "without the library, a graph drops the message")
			assert.Equal(t, calls[i].ID, msg.ToolCallID)
			assert.Empty(t, textOf(msg))
		}
	}
}

// Outputs without a result come from other middlewares that went wrong. They are not ours to mend.
func TestPartsAbsent(t *testing.T) {
	mw := newOffload(t, &toolresult.OffloadConfig{Backend: newMemory(), TokenLimit: 1000})
	call := &compose.ToolInput{Name: "fetch", CallID: "call_1"}
	for _, given := range []*compose.EnhancedInvokableToolOutput{nil, {}} {
		got, err := mw.EnhancedInvokable(func(context.Context, *compose.ToolInput) (*compose.EnhancedInvokableToolOutput, error) {
			return given, nil
		})(t.Context(), call)
		require.NoError(t, err)
		assert.True(t, reflect.DeepEqual(given, got))
	}
	out, err := mw.Invokable(func(context.Context, *compose.ToolInput) (*compose.ToolOutput, error) { return nil, nil })(t.Context(), call)
	assert.True(t, out == nil && err == nil)
	stream, err := mw.Streamable(func(context.Context, *compose.ToolInput) (*compose.StreamToolOutput, error) { return nil, nil })(t.Context(), call)
	assert.True(t, stream == nil && err == nil)
	stream, err = mw.Streamable(func(context.Context, *compose.ToolInput) (*compose.StreamToolOutput, error) {
		return &compose.StreamToolOutput{}, nil
	})(t.Context(), call)
	require.NoError(t, err)
	assert.Nil(t, stream.Result)
}

// The mark of a part, and the notice in it, must reach the model and be recognised there.
func TestPartsReachTheModel(t *testing.T) {
	store := newMemory()
	mw := newOffload(t, &toolresult.OffloadConfig{Backend: store, TokenLimit: 1000})
	run := func(context.Context, string) (*schema.ToolResult, error) {
		return &schema.ToolResult{Parts: []schema.ToolOutputPart{screenshot, textPart(half), textPart(half)}}, nil
	}
	node := newNode(t, mw, partsTool{"fetch", run})
	invoked, err := node.Invoke(t.Context(), schema.AssistantMessage("", []schema.ToolCall{toolCall("1", "fetch")}))
	require.NoError(t, err)
	streamed, err := streamNode(t.Context(), node, toolCall("1", "fetch"))
	require.NoError(t, err)
	for _, msg := range []*schema.Message{invoked[0], streamed[0]} {
		require.Len(t, msg.UserInputMultiContent, 2)
		assert.Equal(t, schema.ChatMessagePartTypeImageURL, msg.UserInputMultiContent[0].Type)
		path, ok := toolresult.OffloadedPath(msg)
		assert.True(t, ok)
		assert.Equal(t, path, msg.UserInputMultiContent[1].Extra["tool_result_offloaded"])
		assert.Equal(t, half+half, store.stored()[path])
	}
}
