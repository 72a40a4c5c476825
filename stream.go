package toolresult

// The same decision for results that arrive in pieces. A stream is judged as a whole, so its chunks are held back until its
// end is known, and then either all of them arrive, as they were, or one notice does.

import (
	"context"
	"fmt"
	"io"
	"runtime/debug"
	"weak"

	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/schema"
)

func (o *offloader) streamable(next compose.StreamableToolEndpoint) compose.StreamableToolEndpoint {
	return func(ctx context.Context, input *compose.ToolInput) (*compose.StreamToolOutput, error) {
		out, err := next(ctx, input)
		if err != nil || out == nil {
			return out, err
		}
		return &compose.StreamToolOutput{Result: o.stream(ctx, input, out.Result)}, nil
	}
}

// stream returns what the model reads in place of a stream.
func (o *offloader) stream(ctx context.Context, input *compose.ToolInput, src *schema.StreamReader[string]) *schema.StreamReader[string] {
	if src == nil || o.passesUnread(ctx, input) {
		return src
	}
	return holdBack(ctx, src, &textIntake{arrival: o.newArrival(ctx, input)})
}

func (o *offloader) enhancedStreamable(next compose.EnhancedStreamableToolEndpoint) compose.EnhancedStreamableToolEndpoint {
	return func(ctx context.Context, input *compose.ToolInput) (*compose.EnhancedStreamableToolOutput, error) {
		out, err := next(ctx, input)
		if err != nil || out == nil {
			return out, err
		}
		return &compose.EnhancedStreamableToolOutput{Result: o.enhancedStream(ctx, input, out.Result)}, nil
	}
}

// enhancedStream returns what the model reads in place of a stream of enhanced results.
func (o *offloader) enhancedStream(ctx context.Context, input *compose.ToolInput, src *schema.StreamReader[*schema.ToolResult]) *schema.StreamReader[*schema.ToolResult] {
	if src == nil || o.passesUnread(ctx, input) {
		return src
	}
	return holdBack(ctx, src, &partsIntake{arrival: o.newArrival(ctx, input)})
}

// passesUnread reports whether a stream need not be held back at all.
func (o *offloader) passesUnread(ctx context.Context, input *compose.ToolInput) bool {
	return o.ignores(ctx, input) || o.cfg.Transform == nil && o.limit(input.Name) < 0
}

// intake takes in the chunks of one stream and says in the end what is to be delivered. It is used by one goroutine.
type intake[T any] interface {
	// take is given every chunk, in order. Its error ends the stream.
	take(chunk T) error
	// end returns what takes the place of the chunks, now that all have come.
	end() ([]T, error)
	// fail returns what is to be delivered before the error of a source that failed.
	fail() []T
	// release lets go of all that is not finished. It comes last, whatever came before.
	release()
}

// delivery is one item on the way to the consumer. A beat is none: it only finds out whether the consumer is still there.
type delivery[T any] struct {
	chunk T
	beat  bool
}

// beatsAhead is how many chunks a source may be ahead of its consumer.
const beatsAhead = 64

// holdBack feeds src to an intake and delivers what that makes of it.
//
// Eino's streams cannot deliver many items after their end, so a goroutine does. It ends when the consumer closes or drops the
// stream or the context ends, as soon as the source's Recv returns, which nothing can hurry; and it alone closes src. Eino drops
// the streams of all tools when one of them fails, hence the automatic close, which must find nothing that holds the reader; and
// as a closed pipe delivers no error, what cut the stream short is kept beside it.
func holdBack[T any](ctx context.Context, src *schema.StreamReader[T], in intake[T]) *schema.StreamReader[T] {
	reader, writer := schema.Pipe[delivery[T]](beatsAhead)
	reader.SetAutomaticClose()
	var failed error // written before the pipe ends, read behind its end
	held := weak.Make(reader)
	stop := context.AfterFunc(ctx, func() {
		if reader := held.Value(); reader != nil {
			reader.Close()
		}
	})
	go func() {
		defer src.Close()
		defer writer.Close()
		defer stop()
		failed = relay(ctx, src, writer, in)
	}()
	unpack := func(d delivery[T]) (T, error) {
		if d.beat {
			return d.chunk, schema.ErrNoValue
		}
		return d.chunk, nil
	}
	end := func() (any, error) {
		if failed == nil {
			return nil, io.EOF
		}
		return nil, failed
	}
	return schema.StreamReaderWithConvert(reader, unpack, schema.WithOnEOF(end))
}

// relay returns the error that ends the stream. A panic in a callback of the user is one: nobody else could recover it in
// this goroutine, so it would end the process.
func relay[T any](ctx context.Context, src *schema.StreamReader[T], writer *schema.StreamWriter[delivery[T]], in intake[T]) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("toolresult: panic while a stream was judged: %v\n%s", p, debug.Stack())
		}
	}()
	defer in.release()
	chunks, err := collect(ctx, src, writer, in)
	for _, chunk := range chunks {
		if writer.Send(delivery[T]{chunk: chunk}, nil) {
			return ctx.Err()
		}
	}
	return err
}

// collect feeds src to an intake until it ends, and returns what to deliver. The end of one of several merged sources is no
// error.
func collect[T any](ctx context.Context, src *schema.StreamReader[T], writer *schema.StreamWriter[delivery[T]], in intake[T]) ([]T, error) {
	for {
		chunk, err := src.Recv()
		if err == io.EOF { // as Eino compares: a wrapped EOF is an error of the source
			return in.end()
		}
		if _, sourceEnded := schema.GetSourceName(err); !sourceEnded {
			if err != nil {
				return in.fail(), err
			}
			if err := in.take(chunk); err != nil {
				return nil, err
			}
		}
		if gone := writer.Send(delivery[T]{beat: true}, nil); gone || ctx.Err() != nil {
			return nil, ctx.Err() // nil where the consumer has closed the stream, so that nobody will see it
		}
	}
}
