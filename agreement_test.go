package toolresult_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eino-toolresult/toolresult"
	"github.com/eino-toolresult/toolresult/tokenest"
)

// What a notice says must be what the tools understand, whatever a generator makes of a name.
func TestToolsReadWhatNoticesName(t *testing.T) {
	backend := newMemory()
	read, err := toolresult.NewReadTool(t.Context(), &toolresult.ReadConfig{Backend: backend})
	require.NoError(t, err)
	mw := newOffload(t, &toolresult.OffloadConfig{Backend: backend, TokenLimit: 10, PathGenerator: func(_ context.Context, input *compose.ToolInput) (string, error) {
		return "/large_tool_result/" + input.CallID, nil
	}})
	ids := map[string]string{
		"report ":    "white space at the end belongs to the name",
		"report":     "and the name without it is another",
		"a&b":        "the notice shows it as the next one is",
		"a&amp;b":    "which it must not be taken for",
		"a&amp;lt;b": "escaped twice",
		`say "<hi>"`: "all that is escaped in a tag",
	}
	notices := map[string]string{}
	for id := range ids {
		notices[id] = offload(t, mw, id, id+"\n"+numberedLines(100))
	}
	for id, reason := range ids {
		_, shown, found := strings.Cut(notices[id], "File Path: ")
		require.True(t, found, reason)
		shown, _, _ = strings.Cut(shown, "\n")
		page, err := read.InvokableRun(t.Context(), fmt.Sprintf(`{"file_path": %q, "limit": 1}`, shown))
		require.NoError(t, err)
		assert.True(t, strings.HasPrefix(page, "1: "+id+"\n"), "%s: %s: %s", id, reason, page)
	}
}

// A handler whose tools see one session only must not name results outside it.
func TestHandlerOffloadsWhereItsScopeReads(t *testing.T) {
	backend := newMemory()
	session := func(context.Context) (string, error) { return "s 1", nil }
	handler, err := toolresult.NewHandler(t.Context(), &toolresult.HandlerConfig{
		Backend: backend, ContextWindow: 8000, Read: toolresult.ReadConfig{Scope: session},
	})
	require.NoError(t, err)
	run, err := handler.WrapInvokableToolCall(t.Context(), func(context.Context, string, ...tool.Option) (string, error) {
		return numberedLines(500), nil
	}, &adk.ToolContext{Name: "grep", CallID: "call_1"})
	require.NoError(t, err)
	said, err := run(t.Context(), "{}")
	require.NoError(t, err)
	path := pathIn(t, said)
	assert.Equal(t, "/large_tool_result/"+toolresult.SafeName("s 1")+"/call_1", path)
	read, err := toolresult.NewReadTool(t.Context(), &toolresult.ReadConfig{Backend: backend, Scope: session})
	require.NoError(t, err)
	page, err := read.InvokableRun(t.Context(), fmt.Sprintf(`{"file_path": %q}`, path))
	require.NoError(t, err)
	assert.Contains(t, page, "1: line 000001")
}

// What a transform could not mask goes nowhere, not even beside its error.
func TestHandlerGivesNothingBesideAnError(t *testing.T) {
	broken := errors.New("mask failed")
	handler, err := toolresult.NewHandler(t.Context(), &toolresult.HandlerConfig{
		Backend: newMemory(), ContextWindow: 8000,
		Offload: toolresult.OffloadConfig{Transform: func(context.Context, *compose.ToolInput, string) (string, error) { return "", broken }},
	})
	require.NoError(t, err)
	run, err := handler.WrapEnhancedInvokableToolCall(t.Context(), func(context.Context, *schema.ToolArgument, ...tool.Option) (*schema.ToolResult, error) {
		return &schema.ToolResult{Parts: []schema.ToolOutputPart{textPart("secret")}}, nil
	}, &adk.ToolContext{Name: "grep", CallID: "call_1"})
	require.NoError(t, err)
	result, err := run(t.Context(), &schema.ToolArgument{Text: "{}"})
	require.ErrorIs(t, err, broken)
	assert.Nil(t, result)
}

// A result counts the same whether it was returned at once or arrived in pieces.
func TestCountsAgreeBetweenShapes(t *testing.T) {
	counter, err := toolresult.NewTokenCounter(t.Context(), &toolresult.TokenCounterConfig{Text: tokenest.Generic(), TokensPerMessage: 3})
	require.NoError(t, err)
	var told []toolresult.OffloadEvent
	cfg := toolresult.OffloadConfig{TokenLimit: 100, TokenCounter: counter, OnOffload: func(_ context.Context, e toolresult.OffloadEvent) { told = append(told, e) }}
	text := numberedLines(700)
	cfg.Backend = newMemory()
	offload(t, newOffload(t, &cfg), "call_1", text)
	cfg.Backend = newUploads()
	_, err = chunked(t, newOffload(t, &cfg), &compose.ToolInput{Name: "grep", CallID: "call_1"}, pieces(text, 99)...)
	require.NoError(t, err)
	require.Len(t, told, 2)
	told[1].ToolName = told[0].ToolName
	assert.Equal(t, told[0], told[1])
	assert.EqualValues(t, tokenest.Generic().Estimate(text), told[0].TokensBefore)
}
