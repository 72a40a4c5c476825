package toolresult_test

// What the tests of the package share: golden files, backends that remember, and tools of all four kinds.

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
