package rig

// What the model does in a run. It decides from the number of the request, and from what it reads: a notice makes it read the result.

import (
	"fmt"
	"regexp"
	"slices"

	"github.com/eino-toolresult/toolresult/e2e/internal/provider"
	"github.com/eino-toolresult/toolresult/e2e/internal/wire"
)

// Plan is what happens in a run.
type Plan struct {
	// Steps is how many steps there are before the last answer.
	Steps int
	// Thinks makes the model think before each step.
	Thinks bool
	// Size is that of the usual results. Bytes. 0: 1100.
	Size int
	// Kinds are results of other kinds, one every few steps. Optional.
	Kinds []string
	// Huge adds a result of 200 KB every ten steps, of every kind of tool.
	Huge bool
}

const (
	usualSize = 1_100
	hugeSize  = 200_000
)

// Script is the plan as a script of the model.
func (p Plan) Script() provider.Script {
	return func(n int, request *wire.Request) provider.Turn {
		if n >= p.Steps {
			return provider.Turn{Text: "done"}
		}
		turn := provider.Turn{Calls: p.calls(n, request)}
		if n%4 == 0 {
			turn.Text = fmt.Sprintf("Step %d: I look further.", n)
		}
		if p.Thinks {
			turn.Thought = fmt.Sprintf("thought %d", n)
		}
		for i := range turn.Calls {
			turn.Calls[i].ID = fmt.Sprintf("call_%d_%d", n%20, i) // IDs come back in later steps
		}
		return turn
	}
}

func (p Plan) calls(n int, request *wire.Request) []provider.Call {
	size := p.Size
	if size == 0 {
		size = usualSize
	}
	usual := ask("fetch", Text, size, n)
	switch {
	case p.Huge && n%10 == 9:
		return []provider.Call{ask([]string{"fetch", "tail", "look", "watch"}[n/10%4], TextPart, hugeSize, n), usual}
	case n%10 == 3:
		return []provider.Call{usual, ask("tail", Text, size, n+1000), ask([]string{"look", "watch"}[n/10%2], TextPart, size, n+2000)}
	case n%10 == 6:
		return []provider.Call{ask("fetch", Fails, 0, n), usual}
	case n%3 == 1 && len(p.Kinds) > 0:
		kind := p.Kinds[n/3%len(p.Kinds)]
		return []provider.Call{usual, ask(toolFor(kind, n), kind, 100, n)}
	}
	if path := lastNotice(request); path != "" && n%5 == 0 && slices.Contains(request.Tools, "read_file") {
		return []provider.Call{{Name: "read_file", Arguments: fmt.Sprintf(`{"file_path":%q,"offset":2,"limit":20}`, path)}}
	}
	return []provider.Call{usual}
}

func ask(tool, kind string, size, seed int) provider.Call {
	return provider.Call{Name: tool, Arguments: Ask{kind, size, seed}.JSON()}
}

// toolFor is a tool that can return a kind.
func toolFor(kind string, n int) string {
	if kind == Image || kind == Picture {
		return "look"
	}
	return []string{"fetch", "tail"}[n%2]
}

// Once is a plan of one result of a kind, and a usual one behind it.
func Once(tool, kind string, size int) provider.Script {
	return func(n int, _ *wire.Request) provider.Turn {
		switch n {
		case 0:
			call := ask(tool, kind, size, 1)
			call.ID = "call_0"
			return provider.Turn{Calls: []provider.Call{call}}
		case 1:
			call := ask("fetch", Text, usualSize, 2)
			call.ID = "call_1"
			return provider.Turn{Calls: []provider.Call{call}}
		}
		return provider.Turn{Text: "done"}
	}
}

// lastNotice finds the path in the last notice that the model reads.
func lastNotice(request *wire.Request) (path string) {
	notice := regexp.MustCompile(`^<tool_result_offloaded path="([^"]+)">`)
	for _, r := range request.Results {
		if found := notice.FindStringSubmatch(r.Text); found != nil {
			path = found[1]
		}
	}
	return path
}
