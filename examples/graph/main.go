// A plain compose graph: the loop of model and tools, written out. A tool middleware offloads, and a state handler of the
// model's node prunes and keeps what is left. The model is a script, so no key is needed.
//
//	go run ./examples/graph
package main

import (
	"context"
	"io"

	"github.com/cloudwego/eino/schema"

	"github.com/eino-toolresult/toolresult"
	"github.com/eino-toolresult/toolresult/examples/internal/demo"
)

func main() { demo.Main("graph", run) }

func run(ctx context.Context, out io.Writer, dir string) error {
	backend, err := toolresult.NewDirBackend(ctx, &toolresult.DirConfig{Dir: dir})
	if err != nil {
		return err
	}
	defer backend.Close()
	tools, err := demo.ToolsOver(ctx, backend)
	if err != nil {
		return err
	}
	schemas, err := demo.Schemas(ctx, tools)
	if err != nil {
		return err
	}
	chat := demo.NewModel()
	bound, err := chat.WithTools(schemas)
	if err != nil {
		return err
	}
	loop, err := newLoop(ctx, backend, bound, tools, schemas)
	if err != nil {
		return err
	}
	answer, err := loop.Invoke(ctx, []*schema.Message{schema.UserMessage(demo.Question)})
	if err != nil {
		return err
	}
	demo.Print(out, chat, answer.Content)
	return nil
}
