package bench_test

// What was pruned comes back: byte by byte from the backend, character by character through the read tool.

import (
	"context"
	"encoding/json"
	"fmt"
	"html"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/cloudwego/eino/adk/filesystem"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/schema"

	"github.com/eino-toolresult/toolresult"
)

// archive is where the pruned results of one conversation lie, and the tool with which a model reads them.
type archive struct {
	files    *filesystem.InMemoryBackend
	read     tool.InvokableTool
	toolName string
}

func newArchive(tb testing.TB, files *filesystem.InMemoryBackend, cfg *toolresult.PruneConfig) *archive {
	read, err := toolresult.NewReadTool(context.Background(), &toolresult.ReadConfig{Backend: files, ToolName: cfg.ReadToolName, PathPrefix: cfg.PathPrefix})
	check(tb, err)
	info, err := read.Info(context.Background())
	check(tb, err)
	return &archive{files, read, info.Name}
}

// recovered counts what was pruned and came back both ways.
type recovered struct{ results, arguments, pages int }

func (r *recovered) add(o recovered) {
	r.results, r.arguments, r.pages = r.results+o.results, r.arguments+o.arguments, r.pages+o.pages
}

// recover compares what the agent has in the end with what was said. A page of a stored result that was pruned is not stored again, as
// the result still is.
func (r *run) recover() {
	for i, msg := range r.kept {
		original := &r.whole[i]
		if msg.Content != original.msg.Content && !original.isCopy {
			r.recovered.results++
			r.requireStored(r.pathOf(i), original.msg.Content)
		}
		for n := range msg.ToolCalls {
			stub, arguments := msg.ToolCalls[n].Function.Arguments, original.msg.ToolCalls[n].Function.Arguments
			if stub != arguments {
				r.recovered.arguments++
				r.requireStored(r.pathInStub(stub), arguments)
			}
		}
	}
}

// pathOf is where the placeholder of a result says that it is.
func (r *run) pathOf(i int) string {
	path, ok := toolresult.OffloadedPath(r.kept[i])
	if !ok {
		r.tb.Fatalf("%s, %s, message %d: %q names no path", r.policy.name, r.talk.name, i, r.kept[i].Content)
	}
	return path
}

var stubPath = regexp.MustCompile("All arguments: `[^`]+` ([^\\]]+)\\]")

// pathInStub is where a stub says that the arguments are.
func (r *run) pathInStub(stub string) string {
	found := stubPath.FindStringSubmatch(stub)
	if found == nil {
		r.tb.Fatalf("%s, %s: %q names no path", r.policy.name, r.talk.name, stub)
	}
	return html.UnescapeString(found[1])
}

// requireStored reads a text back both ways. Pages do not show a last newline, and a NUL as \x00.
func (r *run) requireStored(path, text string) {
	stored, err := r.archive.files.Read(context.Background(), &toolresult.ReadRequest{FilePath: path})
	check(r.tb, err)
	if stored.Content != text {
		r.tb.Fatalf("%s, %s: %s has %d bytes that are not the %d that were pruned", r.policy.name, r.talk.name, path, len(stored.Content), len(text))
	}
	_, pages := r.archive.pages(r.tb, path)
	r.recovered.pages += len(pages)
	if want := strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\x00", `\x00`); text != "" && joinPages(r.tb, pages) != want {
		r.tb.Fatalf("%s, %s: the pages of %s do not show what was pruned", r.policy.name, r.talk.name, path)
	}
}

var nextPage = regexp.MustCompile(`Next: offset=(\d+)(?: byte_offset=(\d+))?\]$`)

// pages follows the hints from the first page to the last. asked are the arguments of each call.
func (a *archive) pages(tb testing.TB, path string) (asked, pages []string) {
	args := map[string]any{"file_path": path}
	for {
		encoded, err := json.Marshal(args)
		check(tb, err)
		page, err := a.read.InvokableRun(context.Background(), string(encoded))
		check(tb, err)
		asked, pages = append(asked, string(encoded)), append(pages, page)
		next := nextPage.FindStringSubmatch(page)
		if next == nil {
			return asked, pages
		}
		if args["offset"] = json.Number(next[1]); next[2] != "" {
			args["byte_offset"] = json.Number(next[2])
		}
	}
}

// joinPages takes the numbers of lines, and the last line of every page, away again.
func joinPages(tb testing.TB, pages []string) string {
	var b strings.Builder
	last := 0
	for _, page := range pages {
		lines := strings.Split(page, "\n")
		for _, line := range lines[:len(lines)-1] {
			label, text, _ := strings.Cut(line, ": ")
			n, err := strconv.Atoi(label)
			if err != nil || n != last && n != last+1 {
				tb.Fatalf("%q stands behind line %d", line, last)
			}
			if n > last && last > 0 {
				b.WriteByte('\n')
			}
			b.WriteString(text)
			last = n
		}
	}
	return b.String()
}

// calls are those with which a model reads all of a stored result, and what they give.
func (a *archive) calls(tb testing.TB, path string, i int) (calls []schema.ToolCall, results []string) {
	asked, results := a.pages(tb, path)
	for n, arguments := range asked {
		calls = append(calls, schema.ToolCall{
			ID: fmt.Sprintf("read_%d_%d", i, n), Type: "function", Function: schema.FunctionCall{Name: a.toolName, Arguments: arguments},
		})
	}
	return calls, results
}
