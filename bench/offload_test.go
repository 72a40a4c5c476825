package bench_test

// Offloading beside that of Eino's filesystem middleware, over Eino's in-memory backend, under the same limit of 20 000
// tokens. Every call has an ID of its own, since with one ID for all of them our side would find the result stored already.

import (
	"context"
	"io"
	"strconv"
	"testing"

	"github.com/cloudwego/eino/adk/filesystem"
	middleware "github.com/cloudwego/eino/adk/middlewares/filesystem"
	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/schema"
	"github.com/eino-toolresult/toolresult"
)

// BenchmarkPassOn asks what a result costs that stays as it is.
func BenchmarkPassOn(b *testing.B) {
	b.Run("1KB", func(b *testing.B) {
		text := logText(1<<10, 1)
		compare(b, passing(ourMiddleware, text), passing(einoMiddleware, text))
	})
	b.Run("200Chunks", func(b *testing.B) {
		chunks := chunked(logText(32<<10, 1), 200)
		compare(b, streaming(ourMiddleware, chunks), streaming(einoMiddleware, chunks))
	})
}

// BenchmarkOffload asks what it costs to store a result and to say so. We count its lines; Eino does not, and shows nothing
// of a result whose first line has more than 64 KB.
func BenchmarkOffload(b *testing.B) {
	for _, c := range []struct {
		name string
		text string
	}{
		{"100KB", logText(100<<10, 1)},
		{"1MB", logText(1<<20, 1)},
		{"100KBOneLine", oneLine(100<<10, 1)},
		{"1MBOneLine", oneLine(1<<20, 1)},
	} {
		b.Run(c.name, func(b *testing.B) {
			compare(b, offloading(ourMiddleware, c.text), offloading(einoMiddleware, c.text))
		})
	}
}

// newMiddleware makes a middleware over a backend.
type newMiddleware func(tb testing.TB, backend filesystem.Backend) compose.ToolMiddleware

func ourMiddleware(tb testing.TB, backend filesystem.Backend) compose.ToolMiddleware {
	m, err := toolresult.NewOffload(context.Background(), &toolresult.OffloadConfig{Backend: backend})
	check(tb, err)
	return m
}

// einoMiddleware goes by the older constructor, the only one through which Eino gives its offloading away.
func einoMiddleware(tb testing.TB, backend filesystem.Backend) compose.ToolMiddleware {
	//lint:ignore SA1019 its successor does not offload
	m, err := middleware.NewMiddleware(context.Background(), &middleware.Config{Backend: backend})
	check(tb, err)
	return m.WrapToolCall
}

// passing sends a text through a middleware that has nothing to do with it.
func passing(with newMiddleware, text string) newContender {
	return func(tb testing.TB) contender {
		endpoint := with(tb, filesystem.NewInMemoryBackend()).Invokable(returning(text))
		ctx, call := context.Background(), callOf(1)
		return contender{op: func() {
			passed, err := endpoint(ctx, call)
			check(tb, err)
			if passed.Result != text {
				tb.Fatalf("%d bytes arrived, want the %d of the result", len(passed.Result), len(text))
			}
		}}
	}
}

// offloading sends a text through a middleware that must store it, under another ID each time.
func offloading(with newMiddleware, text string) newContender {
	return func(tb testing.TB) contender {
		backend := filesystem.NewInMemoryBackend()
		endpoint := with(tb, backend).Invokable(returning(text))
		ctx, calls := context.Background(), 0
		op := func() {
			calls++
			said, err := endpoint(ctx, callOf(calls))
			check(tb, err)
			if len(said.Result) >= len(text) {
				tb.Fatalf("%d bytes arrived, want fewer than the %d of the result", len(said.Result), len(text))
			}
		}
		op()
		checkStored(tb, backend, text)
		return contender{op: op}
	}
}

func returning(text string) compose.InvokableToolEndpoint {
	out := &compose.ToolOutput{Result: text}
	return func(context.Context, *compose.ToolInput) (*compose.ToolOutput, error) { return out, nil }
}

func callOf(number int) *compose.ToolInput {
	return &compose.ToolInput{Name: "read_log", Arguments: "{}", CallID: "call_" + strconv.Itoa(number)}
}

func checkStored(tb testing.TB, backend filesystem.Backend, text string) {
	tb.Helper()
	stored, err := backend.Read(context.Background(), &filesystem.ReadRequest{FilePath: "/large_tool_result/call_1"})
	check(tb, err)
	if stored.Content != text {
		tb.Fatalf("stored %d bytes, want the %d of the result", len(stored.Content), len(text))
	}
}

// streaming sends chunks through a middleware and reads what arrives to its end.
func streaming(with newMiddleware, chunks []string) newContender {
	return func(tb testing.TB) contender {
		endpoint := with(tb, filesystem.NewInMemoryBackend()).Streamable(func(context.Context, *compose.ToolInput) (*compose.StreamToolOutput, error) {
			return &compose.StreamToolOutput{Result: schema.StreamReaderFromArray(chunks)}, nil
		})
		want := 0
		for _, chunk := range chunks {
			want += len(chunk)
		}
		return contender{op: func() {
			out, err := endpoint(context.Background(), callOf(1))
			check(tb, err)
			if got := drain(tb, out.Result); got != want {
				tb.Fatalf("%d bytes arrived, want %d", got, want)
			}
		}}
	}
}

func drain(tb testing.TB, stream *schema.StreamReader[string]) (bytes int) {
	defer stream.Close()
	for {
		chunk, err := stream.Recv()
		if err == io.EOF {
			return bytes
		}
		check(tb, err)
		bytes += len(chunk)
	}
}

func check(tb testing.TB, err error) {
	if err != nil {
		tb.Helper()
		tb.Fatal(err)
	}
}
