package toolresult_test

// What the tests of the package share: backends that remember, tools of all four kinds, and the twelve ways in which a
// result passes the middleware. What holds for one of them must hold for all.

import (
	"context"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eino-toolresult/toolresult"
)

var update = flag.Bool("update", false, "write the golden files of testdata anew")

// golden compares a text that a model reads with the file that was reviewed.
func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		require.NoError(t, os.MkdirAll("testdata", 0o755))
		require.NoError(t, os.WriteFile(file, []byte(got), 0o644))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err, "write it with: go test -run %s -update", t.Name())
	assert.Equal(t, string(want), got, "what a model reads has changed; if it is meant to, review the diff of -update")
}

// memory is a Backend and a Reader that keeps what it is given. It overwrites, as a Backend may.
type memory struct {
	mu     sync.Mutex
	files  map[string]string
	writes int
}

func newMemory() *memory { return &memory{files: make(map[string]string)} }

func (m *memory) Write(_ context.Context, req *toolresult.WriteRequest) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.files[req.FilePath] = req.Content
	m.writes++
	return nil
}

func (m *memory) Read(_ context.Context, req *toolresult.ReadRequest) (*toolresult.FileContent, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	text, found := m.files[req.FilePath]
	if !found {
		return nil, &fs.PathError{Op: "read", Path: req.FilePath, Err: fs.ErrNotExist}
	}
	return &toolresult.FileContent{Content: text}, nil
}

func (m *memory) stored() map[string]string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return maps.Clone(m.files)
}

func (m *memory) written() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.writes
}

// exclusive is a memory that can create only if absent.
type exclusive struct{ *memory }

func (e exclusive) WriteNew(_ context.Context, req *toolresult.WriteRequest) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if _, taken := e.files[req.FilePath]; taken {
		return &fs.PathError{Op: "create", Path: req.FilePath, Err: fs.ErrExist}
	}
	e.files[req.FilePath] = req.Content
	e.writes++
	return nil
}

// writeOnly hides all that a Backend can do but Write.
type writeOnly struct{ toolresult.Backend }

// backendFunc is a Backend with a behaviour of its own.
type backendFunc func(ctx context.Context, req *toolresult.WriteRequest) error

func (f backendFunc) Write(ctx context.Context, req *toolresult.WriteRequest) error {
	return f(ctx, req)
}

// fakeInfo is a tool name that can introduce itself.
type fakeInfo string

func (n fakeInfo) Info(context.Context) (*schema.ToolInfo, error) {
	return &schema.ToolInfo{Name: string(n), Desc: "a tool of the tests"}, nil
}

type textTool struct {
	fakeInfo
	run func(ctx context.Context, args string) (string, error)
}

func (t textTool) InvokableRun(ctx context.Context, args string, _ ...tool.Option) (string, error) {
	return t.run(ctx, args)
}

type streamTool struct {
	fakeInfo
	run func(ctx context.Context, args string) (*schema.StreamReader[string], error)
}

func (t streamTool) StreamableRun(ctx context.Context, args string, _ ...tool.Option) (*schema.StreamReader[string], error) {
	return t.run(ctx, args)
}

type partsTool struct {
	fakeInfo
	run func(ctx context.Context, args string) (*schema.ToolResult, error)
}

func (t partsTool) InvokableRun(ctx context.Context, args *schema.ToolArgument, _ ...tool.Option) (*schema.ToolResult, error) {
	return t.run(ctx, args.Text)
}

type partsStreamTool struct {
	fakeInfo
	run func(ctx context.Context, args string) (*schema.StreamReader[*schema.ToolResult], error)
}

func (t partsStreamTool) StreamableRun(ctx context.Context, args *schema.ToolArgument, _ ...tool.Option) (*schema.StreamReader[*schema.ToolResult], error) {
	return t.run(ctx, args.Text)
}

func newOffload(t testing.TB, cfg *toolresult.OffloadConfig) compose.ToolMiddleware {
	t.Helper()
	mw, err := toolresult.NewOffload(context.Background(), cfg)
	require.NoError(t, err)
	return mw
}

func newNode(t testing.TB, mw compose.ToolMiddleware, tools ...tool.BaseTool) *compose.ToolsNode {
	t.Helper()
	node, err := compose.NewToolNode(context.Background(), &compose.ToolsNodeConfig{
		Tools: tools, ToolCallMiddlewares: []compose.ToolMiddleware{mw},
	})
	require.NoError(t, err)
	return node
}

func toolCall(id, name string) schema.ToolCall {
	return schema.ToolCall{ID: id, Function: schema.FunctionCall{Name: name, Arguments: "{}"}}
}

// streamNode calls tools by Stream and joins what arrives, as a graph does.
func streamNode(ctx context.Context, node *compose.ToolsNode, calls ...schema.ToolCall) ([]*schema.Message, error) {
	reader, err := node.Stream(ctx, schema.AssistantMessage("", calls))
	if err != nil {
		return nil, err
	}
	chunks, err := receive(reader)
	if err != nil {
		return nil, err
	}
	return schema.ConcatMessageArray(chunks)
}

// receive reads a stream to its end and closes it.
func receive[T any](reader *schema.StreamReader[T]) (chunks []T, err error) {
	defer reader.Close()
	for {
		chunk, err := reader.Recv()
		if err == io.EOF {
			return chunks, nil
		}
		if err != nil {
			return chunks, err
		}
		chunks = append(chunks, chunk)
	}
}

// pieces cuts a text into chunks of some bytes, through characters too.
func pieces(text string, size int) []string {
	var chunks []string
	for len(text) > size {
		chunks = append(chunks, text[:size])
		text = text[size:]
	}
	return append(chunks, text)
}

func textPart(text string) schema.ToolOutputPart {
	return schema.ToolOutputPart{Type: schema.ToolPartTypeText, Text: text}
}

func imagePart(base64 string) schema.ToolOutputPart {
	common := schema.MessagePartCommon{Base64Data: &base64, MIMEType: "image/png"}
	return schema.ToolOutputPart{Type: schema.ToolPartTypeImage, Image: &schema.ToolOutputImage{MessagePartCommon: common}}
}

// textOf is all the text that a model reads in a tool message.
func textOf(msg *schema.Message) string {
	text := msg.Content
	for _, part := range msg.UserInputMultiContent {
		text += part.Text
	}
	return text
}

// shape is one of the ways in which a result passes the middleware.
type shape struct {
	name string
	run  func(t *testing.T, mw compose.ToolMiddleware, call *compose.ToolInput, text string) (string, error)
}

// shapes are the four endpoints, each called directly, and in a tools node by Invoke and by Stream.
func shapes() []shape {
	all := []shape{
		{"invokable", callInvokable}, {"streamable", callStreamable},
		{"enhanced invokable", callEnhancedInvokable}, {"enhanced streamable", callEnhancedStreamable},
	}
	for _, kind := range []string{"invokable", "streamable", "enhanced invokable", "enhanced streamable"} {
		for _, how := range []string{"Invoke", "Stream"} {
			all = append(all, shape{kind + " in a node by " + how, func(t *testing.T, mw compose.ToolMiddleware, call *compose.ToolInput, text string) (string, error) {
				return callInNode(t, mw, kind, how, call, text)
			}})
		}
	}
	return all
}

func callInvokable(t *testing.T, mw compose.ToolMiddleware, call *compose.ToolInput, text string) (string, error) {
	out, err := mw.Invokable(func(context.Context, *compose.ToolInput) (*compose.ToolOutput, error) {
		return &compose.ToolOutput{Result: text}, nil
	})(t.Context(), call)
	if err != nil {
		return "", err
	}
	return out.Result, nil
}

func callStreamable(t *testing.T, mw compose.ToolMiddleware, call *compose.ToolInput, text string) (string, error) {
	out, err := mw.Streamable(func(context.Context, *compose.ToolInput) (*compose.StreamToolOutput, error) {
		return &compose.StreamToolOutput{Result: schema.StreamReaderFromArray(pieces(text, 1001))}, nil
	})(t.Context(), call)
	if err != nil {
		return "", err
	}
	chunks, err := receive(out.Result)
	return strings.Join(chunks, ""), err
}

func callEnhancedInvokable(t *testing.T, mw compose.ToolMiddleware, call *compose.ToolInput, text string) (string, error) {
	out, err := mw.EnhancedInvokable(func(context.Context, *compose.ToolInput) (*compose.EnhancedInvokableToolOutput, error) {
		return &compose.EnhancedInvokableToolOutput{Result: &schema.ToolResult{Parts: []schema.ToolOutputPart{textPart(text)}}}, nil
	})(t.Context(), call)
	if err != nil {
		return "", err
	}
	return joinParts(out.Result), nil
}

func callEnhancedStreamable(t *testing.T, mw compose.ToolMiddleware, call *compose.ToolInput, text string) (string, error) {
	out, err := mw.EnhancedStreamable(func(context.Context, *compose.ToolInput) (*compose.EnhancedStreamableToolOutput, error) {
		return &compose.EnhancedStreamableToolOutput{Result: schema.StreamReaderFromArray(partChunks(text))}, nil
	})(t.Context(), call)
	if err != nil {
		return "", err
	}
	chunks, err := receive(out.Result)
	return joinParts(chunks...), err
}

func partChunks(text string) []*schema.ToolResult {
	var chunks []*schema.ToolResult
	for _, piece := range pieces(text, 1001) {
		chunks = append(chunks, &schema.ToolResult{Parts: []schema.ToolOutputPart{textPart(piece)}})
	}
	return chunks
}

func joinParts(results ...*schema.ToolResult) string {
	var text string
	for _, result := range results {
		for _, part := range result.Parts {
			text += part.Text
		}
	}
	return text
}

func callInNode(t *testing.T, mw compose.ToolMiddleware, kind, how string, call *compose.ToolInput, text string) (string, error) {
	node := newNode(t, mw, fakeTool(kind, call.Name, text))
	var messages []*schema.Message
	var err error
	if how == "Stream" {
		messages, err = streamNode(t.Context(), node, toolCall(call.CallID, call.Name))
	} else {
		messages, err = node.Invoke(t.Context(), schema.AssistantMessage("", []schema.ToolCall{toolCall(call.CallID, call.Name)}))
	}
	if err != nil {
		return "", err
	}
	require.Len(t, messages, 1)
	require.Equal(t, call.CallID, messages[0].ToolCallID, "the result must stay with its call")
	return textOf(messages[0]), nil
}

// fakeTool is a tool of a kind that returns one text.
func fakeTool(kind, name, text string) tool.BaseTool {
	switch kind {
	case "invokable":
		return textTool{fakeInfo(name), func(context.Context, string) (string, error) { return text, nil }}
	case "streamable":
		return streamTool{fakeInfo(name), func(context.Context, string) (*schema.StreamReader[string], error) {
			return schema.StreamReaderFromArray(pieces(text, 1001)), nil
		}}
	case "enhanced invokable":
		return partsTool{fakeInfo(name), func(context.Context, string) (*schema.ToolResult, error) {
			return &schema.ToolResult{Parts: []schema.ToolOutputPart{textPart(text)}}, nil
		}}
	default:
		return partsStreamTool{fakeInfo(name), func(context.Context, string) (*schema.StreamReader[*schema.ToolResult], error) {
			return schema.StreamReaderFromArray(partChunks(text)), nil
		}}
	}
}

// offload passes a text through the invokable endpoint, which must not fail.
func offload(t *testing.T, mw compose.ToolMiddleware, callID, text string) string {
	t.Helper()
	said, err := callInvokable(t, mw, &compose.ToolInput{Name: "fetch", CallID: callID}, text)
	require.NoError(t, err)
	return said
}

// pathIn is the path that a notice refers to.
func pathIn(t *testing.T, said string) string {
	t.Helper()
	path, ok := toolresult.OffloadedPath(schema.ToolMessage(said, "any"))
	require.True(t, ok, "no notice: %.200q", said)
	return path
}

// numberedLines is a text of lines that differ, 50 bytes each.
func numberedLines(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "line %06d of a text that is meant to be long...\n", i+1)
	}
	return b.String()
}
