package toolresult_test

// Transform sees results before anything else does. What it removes must be nowhere: not in the store, not in the sample, not
// in a result that passes, not in what arrives when something fails.

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eino-toolresult/toolresult"
)

const secret = "sk-live-0123456789"

func mask(_ context.Context, _ *compose.ToolInput, result string) (string, error) {
	return strings.ReplaceAll(result, secret, "[masked]"), nil
}

func TestTransformMasksEverywhere(t *testing.T) {
	small := "key " + secret + " end"
	large := small + "\n" + numberedLines(20) + strings.Repeat(secret, 2000) + "\n"
	for _, way := range shapes() {
		t.Run(way.name, func(t *testing.T) {
			for tool, text := range map[string]string{"fetch": large, "excluded": large, "unlimited": large, "tiny": small} {
				store := newMemory()
				mw := newOffload(t, &toolresult.OffloadConfig{
					Backend: store, TokenLimit: 1000, Transform: mask,
					ExcludeTools: []string{"excluded"}, ToolTokenLimits: map[string]int{"unlimited": -1},
				})
				said, err := way.run(t, mw, &compose.ToolInput{Name: tool, CallID: "call_1"}, text)
				require.NoError(t, err)
				assert.NotContains(t, said, secret, tool)
				masked := strings.ReplaceAll(text, secret, "[masked]")
				if tool != "fetch" {
					assert.Equal(t, masked, said, "%s: it is changed, and not offloaded", tool)
					assert.Empty(t, store.stored(), tool)
					continue
				}
				assert.Equal(t, map[string]string{pathIn(t, said): masked}, store.stored())
			}
		})
	}
}

func TestTransformRules(t *testing.T) {
	text := numberedLines(1000)
	var seen []string
	record := func(_ context.Context, input *compose.ToolInput, result string) (string, error) {
		seen = append(seen, input.Name+"/"+input.CallID)
		return "", nil
	}
	store := newMemory()
	mw := newOffload(t, &toolresult.OffloadConfig{Backend: store, TokenLimit: 1000, Transform: record})
	for _, way := range shapes() {
		seen = nil
		for _, tool := range []string{"read_file", "search_file"} {
			said, err := way.run(t, mw, &compose.ToolInput{Name: tool, CallID: "call_1"}, text)
			require.NoError(t, err)
			assert.Equal(t, text, said, "%s: pages were transformed when they were stored", way.name)
		}
		said, err := way.run(t, mw, &compose.ToolInput{Name: "fetch", CallID: "call_1"}, text)
		require.NoError(t, err)
		assert.Empty(t, said, "%s: what is judged is what Transform returned", way.name)
		assert.Equal(t, []string{"fetch/call_1"}, seen, "%s: once, and it knows the call", way.name)
	}
	assert.Empty(t, store.stored())

	grow := func(_ context.Context, _ *compose.ToolInput, result string) (string, error) {
		return strings.Repeat(result, 1000), nil
	}
	mw = newOffload(t, &toolresult.OffloadConfig{Backend: store, TokenLimit: 1000, Transform: grow})
	said := offload(t, mw, "call_1", "0123456789")
	assert.Equal(t, strings.Repeat("0123456789", 1000), store.stored()[pathIn(t, said)], "what became large is large")
}

// Falling back would print what Transform was to hide.
func TestTransformErrorFailsUnderAnyPolicy(t *testing.T) {
	refused := errors.New("cannot mask this")
	for _, policy := range []toolresult.FailurePolicy{toolresult.FailCall, toolresult.PassThrough, toolresult.TruncateInline} {
		for _, way := range shapes() {
			for _, text := range []string{"small " + secret, numberedLines(1000) + secret} {
				store := newMemory()
				mw := newOffload(t, &toolresult.OffloadConfig{
					Backend: store, TokenLimit: 1000, OnFailure: policy,
					Transform: func(context.Context, *compose.ToolInput, string) (string, error) { return secret, refused },
				})
				said, err := way.run(t, mw, &compose.ToolInput{Name: "fetch", CallID: "call_1"}, text)
				require.ErrorIs(t, err, refused, way.name)
				assert.ErrorContains(t, err, `toolresult: transform the result of call "call_1"`)
				assert.Empty(t, said, "%s: nothing comes before the error", way.name)
				assert.Empty(t, store.stored(), way.name)
			}
		}
	}
}

func TestTransformWithholdsChunksOfABrokenStream(t *testing.T) {
	store := newMemory()
	mw := newOffload(t, &toolresult.OffloadConfig{Backend: store, TokenLimit: 1000, Transform: mask, ExcludeTools: []string{"fetch"}})
	src, _ := newSource([]string{"key " + secret, "more"}, errSource)
	got, err := receive(hold(t.Context(), t, mw, src))
	assert.True(t, err == errSource, "the same error: %v", err)
	assert.Empty(t, got, "Transform has not seen them")

	parts, _ := newSource(partChunks("key "+secret), errSource)
	out, err := mw.EnhancedStreamable(func(context.Context, *compose.ToolInput) (*compose.EnhancedStreamableToolOutput, error) {
		return &compose.EnhancedStreamableToolOutput{Result: parts}, nil
	})(t.Context(), &compose.ToolInput{Name: "fetch", CallID: "call_1"})
	require.NoError(t, err)
	chunks, err := receive(out.Result)
	assert.True(t, err == errSource, "the same error: %v", err)
	assert.Empty(t, chunks, "Transform has not seen them")
}

// A secret may lie across the chunks of a stream, but not across the parts of a result.
func TestTransformSeesWholeTexts(t *testing.T) {
	mw := newOffload(t, &toolresult.OffloadConfig{Backend: newMemory(), Transform: mask})
	src, _ := newSource(pieces("key "+secret+" end", 1), io.EOF)
	got, err := receive(hold(t.Context(), t, mw, src))
	require.NoError(t, err)
	assert.Equal(t, []string{"key [masked] end"}, got)

	src, _ = newSource([]string{"nothing", " to", " hide"}, io.EOF)
	got, err = receive(hold(t.Context(), t, mw, src))
	require.NoError(t, err)
	assert.Equal(t, []string{"nothing", " to", " hide"}, got, "what Transform left alone arrives as it was")

	var seen []string
	mw = newOffload(t, &toolresult.OffloadConfig{Backend: newMemory(), Transform: func(_ context.Context, _ *compose.ToolInput, text string) (string, error) {
		seen = append(seen, text)
		return mask(t.Context(), nil, text)
	}})
	parts := []schema.ToolOutputPart{textPart("one " + secret), screenshot, extraPart("two", map[string]any{"k": "v"}), textPart("three")}
	got2 := passParts(t, mw, false, parts)
	assert.Equal(t, []string{"one " + secret, "two", "three"}, seen, "each part by itself")
	assert.Equal(t, []schema.ToolOutputPart{textPart("one [masked]"), screenshot, parts[2], parts[3]}, got2)

	seen = nil
	var chunks []*schema.ToolResult
	for _, piece := range pieces("key "+secret+" end", 3) {
		chunks = append(chunks, &schema.ToolResult{Parts: []schema.ToolOutputPart{extraPart(piece, map[string]any{"k" + piece: len(piece)})}})
	}
	stream, _ := newSource(chunks, io.EOF)
	joined := receiveParts(t, mw, stream)
	assert.Equal(t, []string{"key " + secret + " end"}, seen, "consecutive texts of a stream are one")
	require.Len(t, joined, 1)
	require.Len(t, joined[0].Parts, 1)
	assert.Equal(t, "key [masked] end", joined[0].Parts[0].Text)
	assert.Len(t, joined[0].Parts[0].Extra, len(chunks), "what the tool noted on the pieces is kept too")
}
