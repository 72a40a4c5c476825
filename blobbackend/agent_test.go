package blobbackend_test

// Agents on two machines that share a bucket: what one has offloaded the other reads.

import (
	"context"
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/components/tool/utils"
	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/flow/agent/react"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eino-toolresult/toolresult"
	"github.com/eino-toolresult/toolresult/blobbackend"
	"github.com/eino-toolresult/toolresult/internal/provider"
)

type noArguments struct{}

// newAgent has a tool that returns a large result, one that streams a larger one, and the tools that read them back.
func newAgent(t *testing.T, b *blobbackend.Backend, script provider.Script) *react.Agent {
	t.Helper()
	whole, err := utils.InferTool("logs", "Returns the logs.", func(context.Context, noArguments) (string, error) { return textOf(500_000), nil })
	require.NoError(t, err)
	stream, err := utils.InferStreamTool("dump", "Streams a dump.", func(context.Context, noArguments) (*schema.StreamReader[string], error) {
		return schema.StreamReaderFromArray(strings.SplitAfter(numbered(3<<20), "\n")), nil
	})
	require.NoError(t, err)
	readBack, err := toolresult.NewReadTool(t.Context(), &toolresult.ReadConfig{Backend: b})
	require.NoError(t, err)
	search, err := toolresult.NewSearchTool(t.Context(), &toolresult.SearchConfig{Backend: b})
	require.NoError(t, err)
	offload, err := toolresult.NewOffload(t.Context(), &toolresult.OffloadConfig{Backend: b, TokenLimit: 2000})
	require.NoError(t, err)
	counter, err := toolresult.NewTokenCounter(t.Context(), nil)
	require.NoError(t, err)
	count := func(messages []*schema.Message, tools []*schema.ToolInfo) int {
		n, err := counter.CountTokens(t.Context(), messages, tools)
		require.NoError(t, err)
		return int(n)
	}
	agent, err := react.NewAgent(t.Context(), &react.AgentConfig{
		ToolCallingModel: provider.New(script, 32_000, count),
		ToolsConfig:      compose.ToolsNodeConfig{Tools: []tool.BaseTool{whole, stream, readBack, search}, ToolCallMiddlewares: []compose.ToolMiddleware{offload}},
		MaxStep:          20,
	})
	require.NoError(t, err)
	return agent
}

func ask(id, name string, arguments map[string]any) schema.ToolCall {
	text, _ := json.Marshal(arguments)
	return schema.ToolCall{ID: id, Type: "function", Function: schema.FunctionCall{Name: name, Arguments: string(text)}}
}

// says makes a script of moves; the last one answers.
func says(moves ...func(read []*schema.Message) *schema.Message) provider.Script {
	return func(n int, read []*schema.Message) (*schema.Message, error) { return moves[n](read), nil }
}

func calls(of ...schema.ToolCall) func([]*schema.Message) *schema.Message {
	return func([]*schema.Message) *schema.Message { return schema.AssistantMessage("", of) }
}

var pathPattern = regexp.MustCompile(`path="([^"]+)"`)

func TestAgents(t *testing.T) {
	needServer(t)
	name := newBucket(t)
	bucket := openBucket(t, server.URL(name))
	first := newAgent(t, newBackend(t, bucket), says(
		calls(ask("call_1", "logs", nil), ask("call_2", "dump", nil)),
		func(read []*schema.Message) *schema.Message {
			var paths []string
			for _, msg := range read[len(read)-2:] {
				paths = append(paths, pathPattern.FindStringSubmatch(msg.Content)[1])
			}
			return schema.AssistantMessage(strings.Join(paths, " "), nil)
		},
	))
	said, err := first.Generate(t.Context(), []*schema.Message{schema.UserMessage("Collect.")})
	require.NoError(t, err)
	paths := strings.Fields(said.Content)
	require.Len(t, paths, 2)

	second := newAgent(t, newBackend(t, openBucket(t, server.URL(name))), says(
		calls(ask("call_1", "read_file", map[string]any{"file_path": paths[0], "offset": 9000, "limit": 3})),
		calls(ask("call_2", "read_file", map[string]any{"file_path": paths[1], "offset": 60_000, "limit": 3})),
		calls(ask("call_3", "search_file", map[string]any{"file_path": paths[1], "pattern": "^line 65432 "})),
		func(read []*schema.Message) *schema.Message {
			var pages []string
			for _, msg := range read {
				if msg.Role == schema.Tool {
					pages = append(pages, msg.Content)
				}
			}
			return schema.AssistantMessage(strings.Join(pages, "\n"), nil)
		},
	))
	said, err = second.Generate(t.Context(), []*schema.Message{schema.UserMessage("Read " + strings.Join(paths, " and "))})
	require.NoError(t, err)
	for _, line := range []string{"9000: line 9000 of", "9002: line 9002 of", "60000: line 60000 of", "65432"} {
		assert.Contains(t, said.Content, line)
	}
	testLabels(t, newBackend(t, bucket), paths)
}

// testLabels looks at what is known in time: of a stream that is not its size, until the name is given.
func testLabels(t *testing.T, b *blobbackend.Backend, paths []string) {
	bucket := openBucket(t, server.URL(lastBucket()))
	for i, want := range []map[string]string{
		{"toolresult-tool": "logs", "toolresult-call-id": "call_1", "toolresult-bytes": "500000"},
		{"toolresult-tool": "dump", "toolresult-call-id": "call_2", "toolresult-note": "1"},
	} {
		attrs, err := bucket.Attributes(t.Context(), strings.TrimPrefix(paths[i], "/")+".result")
		require.NoError(t, err)
		assert.Subset(t, attrs.Metadata, want)
		stat, err := b.Stat(t.Context(), &toolresult.StatRequest{FilePath: paths[i]})
		require.NoError(t, err)
		assert.Positive(t, stat.Lines)
	}
	for _, key := range keys(t, bucket) {
		attrs, err := bucket.Attributes(t.Context(), key)
		require.NoError(t, err)
		if strings.HasPrefix(key, ".toolresult/data/") {
			assert.Equal(t, "text/plain; charset=utf-8", attrs.ContentType)
			assert.Equal(t, "dump", attrs.Metadata["toolresult-tool"])
		}
	}
}

// TestStrangeLabels are names that a model has made up.
func TestStrangeLabels(t *testing.T) {
	needServer(t)
	for _, id := range []string{"日本", "a b\n\x00c", strings.Repeat("é", 500), "\xff", "x=y:z@%"} {
		bucket := s3Bucket(t)
		b := newBackend(t, bucket)
		write := &writeTool{b}
		node, err := compose.NewToolNode(t.Context(), &compose.ToolsNodeConfig{Tools: []tool.BaseTool{write}})
		require.NoError(t, err)
		_, err = node.Invoke(t.Context(), schema.AssistantMessage("", []schema.ToolCall{ask(id, "write", nil)}))
		require.NoError(t, err, id)
		attrs, err := bucket.Attributes(t.Context(), "a.result")
		require.NoError(t, err)
		stored := attrs.Metadata["toolresult-call-id"]
		assert.NotEmpty(t, stored)
		assert.LessOrEqual(t, len(stored), 200)
		assert.True(t, strings.HasPrefix(strings.ToValidUTF8(id, "?"), stored), "%q is kept as %q", id, stored)
	}
}

type writeTool struct{ b *blobbackend.Backend }

func (w *writeTool) Info(context.Context) (*schema.ToolInfo, error) {
	return &schema.ToolInfo{Name: "write"}, nil
}

func (w *writeTool) InvokableRun(ctx context.Context, _ string, _ ...tool.Option) (string, error) {
	return "written", w.b.WriteNew(ctx, &toolresult.WriteRequest{FilePath: "/a", Content: "x"})
}
