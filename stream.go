package toolresult

// The same decision for results that arrive in pieces. A stream is judged as a whole, so its chunks are held back until its end
// is known, and then either all of them arrive, as they were, or one notice does.

import (
	"context"
	"fmt"
	"io"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/schema"
)

func (o *offloader) streamable(next compose.StreamableToolEndpoint) compose.StreamableToolEndpoint {
	return func(ctx context.Context, input *compose.ToolInput) (*compose.StreamToolOutput, error) {
		out, err := next(ctx, input)
		if err != nil || out == nil || out.Result == nil || o.passesUnread(ctx, input) {
			return out, err
		}
		held := holdBack(ctx, out.Result, o.cfg.Transform != nil, func(chunks []string) ([]string, error) {
			return o.judgeChunks(ctx, input, chunks)
		})
		return &compose.StreamToolOutput{Result: held}, nil
	}
}

func (o *offloader) enhancedStreamable(next compose.EnhancedStreamableToolEndpoint) compose.EnhancedStreamableToolEndpoint {
	return func(ctx context.Context, input *compose.ToolInput) (*compose.EnhancedStreamableToolOutput, error) {
		out, err := next(ctx, input)
		if err != nil || out == nil || out.Result == nil || o.passesUnread(ctx, input) {
			return out, err
		}
		held := holdBack(ctx, out.Result, o.cfg.Transform != nil, func(chunks []*schema.ToolResult) ([]*schema.ToolResult, error) {
			return o.judgeResults(ctx, input, chunks)
		})
		return &compose.EnhancedStreamableToolOutput{Result: held}, nil
	}
}

// passesUnread reports whether a stream need not be held back at all.
func (o *offloader) passesUnread(ctx context.Context, input *compose.ToolInput) bool {
	return o.ignores(ctx, input) || o.cfg.Transform == nil && o.limit(input.Name) < 0
}

// judgeChunks returns what takes the place of the chunks of a text. One empty chunk stands for a stream without any, because
// Eino cannot join no chunks: an invoked tool fails, and a streamed message is dropped.
func (o *offloader) judgeChunks(ctx context.Context, input *compose.ToolInput, chunks []string) ([]string, error) {
	if len(chunks) == 0 {
		chunks = []string{""}
	}
	whole := strings.Join(chunks, "")
	text, err := o.transform(ctx, input, whole)
	if err != nil {
		return nil, err
	}
	v, err := o.judge(ctx, input, text)
	if err != nil {
		return nil, err
	}
	if v.text == whole {
		return chunks, nil
	}
	return []string{v.text}, nil
}

// judgeResults does the same for the chunks of an enhanced result.
func (o *offloader) judgeResults(ctx context.Context, input *compose.ToolInput, chunks []*schema.ToolResult) ([]*schema.ToolResult, error) {
	if len(chunks) == 0 {
		chunks = []*schema.ToolResult{{}}
	}
	parts, changed, err := o.judgeParts(ctx, input, mergeChunks(chunks))
	if err != nil {
		return nil, err
	}
	if !changed {
		return chunks, nil
	}
	return []*schema.ToolResult{{Parts: parts}}, nil
}

// mergeChunks returns the parts of a stream's chunks, with neighbouring texts made one, as Eino makes them when it joins a
// stream. The chunks stay as they are.
func mergeChunks(chunks []*schema.ToolResult) []schema.ToolOutputPart {
	var all []schema.ToolOutputPart
	for _, chunk := range chunks {
		if chunk != nil {
			all = append(all, chunk.Parts...)
		}
	}
	isText := func(p schema.ToolOutputPart) bool { return p.Type == schema.ToolPartTypeText }
	var merged []schema.ToolOutputPart
	for len(all) > 0 {
		run := slices.IndexFunc(all, func(p schema.ToolOutputPart) bool { return !isText(p) })
		switch {
		case run < 0:
			run = len(all)
		case run == 0:
			merged, all = append(merged, all[0]), all[1:]
			continue
		}
		part := all[0]
		part.Text = joinTexts(all[:run])
		merged, all = append(merged, part), all[run:]
	}
	return merged
}

// delivery is one item on the way to the consumer. A beat is none: it only finds out whether the consumer is still there.
type delivery[T any] struct {
	chunk T
	beat  bool
}

// beatsAhead is how many chunks a source may be ahead of its consumer.
const beatsAhead = 64

// holdBack reads src to its end and then delivers what decide makes of its chunks. When src fails, the chunks so far arrive
// before its error, unless they must be withheld because decide might have changed them.
//
// Eino's streams cannot deliver many items after their end, so a goroutine does. It ends when the consumer closes the stream or
// the context ends, as soon as the source's Recv returns, which nothing can hurry; and it alone closes src.
func holdBack[T any](ctx context.Context, src *schema.StreamReader[T], withhold bool, decide func([]T) ([]T, error)) *schema.StreamReader[T] {
	reader, writer := schema.Pipe[delivery[T]](beatsAhead)
	go func() {
		defer src.Close()
		defer writer.Close()
		// A panic in a callback of the user would end the process from here, where nobody else can recover it.
		defer func() {
			if p := recover(); p != nil {
				writer.Send(delivery[T]{}, fmt.Errorf("toolresult: panic while a result was judged: %v\n%s", p, debug.Stack()))
			}
		}()
		chunks, closed, err := collect(ctx, src, writer)
		if closed {
			return
		}
		if err == nil {
			chunks, err = decide(chunks)
		} else if withhold {
			chunks = nil
		}
		deliver(writer, chunks, err)
	}()
	return schema.StreamReaderWithConvert(reader, func(d delivery[T]) (T, error) {
		if d.beat {
			return d.chunk, schema.ErrNoValue
		}
		return d.chunk, nil
	})
}

// collect reads src to its end. The end of one of several merged sources is no error.
func collect[T any](ctx context.Context, src *schema.StreamReader[T], writer *schema.StreamWriter[delivery[T]]) (chunks []T, closed bool, err error) {
	for {
		chunk, err := src.Recv()
		if err == io.EOF { // as Eino compares: a wrapped EOF is an error of the source
			return chunks, false, nil
		}
		if _, sourceEnded := schema.GetSourceName(err); !sourceEnded {
			if err != nil {
				return chunks, false, err
			}
			chunks = append(chunks, chunk)
		}
		if err := ctx.Err(); err != nil {
			return nil, false, err
		}
		if writer.Send(delivery[T]{beat: true}, nil) {
			return nil, true, nil
		}
	}
}

func deliver[T any](writer *schema.StreamWriter[delivery[T]], chunks []T, err error) {
	for _, chunk := range chunks {
		if writer.Send(delivery[T]{chunk: chunk}, nil) {
			return
		}
	}
	if err != nil {
		writer.Send(delivery[T]{}, err)
	}
}
