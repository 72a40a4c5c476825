package main

// What the agent did, and what it would have cost without the library: that is the same conversation with every result in
// it as the tool returned it, and without the pages, which nobody would have had to read back.

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/schema"

	"github.com/eino-toolresult/toolresult"
	"github.com/eino-toolresult/toolresult/tokenest"
)

// record is what was seen of a run. Tools run in parallel, so it is guarded.
type record struct {
	counter toolresult.TokenCounter

	mu          sync.Mutex
	requests    []request
	whole       map[string]string                  // what the tools returned, by call ID
	stored      map[string]toolresult.OffloadEvent // what was offloaded, by call ID
	compactions []*toolresult.Compaction
	err         error
}

// request is one call of the model.
type request struct {
	messages []*schema.Message
	tokens   int
}

func newRecord(ctx context.Context) (*record, error) {
	counter, err := toolresult.NewTokenCounter(ctx, &toolresult.TokenCounterConfig{Text: tokenest.O200K()})
	return &record{counter: counter, whole: map[string]string{}, stored: map[string]toolresult.OffloadEvent{}}, err
}

// count is how the provider counts a request, which the agent's own counter need not know.
func (r *record) count(messages []*schema.Message, tools []*schema.ToolInfo) int {
	tokens, err := r.counter.CountTokens(context.Background(), messages, tools)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.requests = append(r.requests, request{slices.Clone(messages), int(tokens)})
	r.err = errors.Join(r.err, err)
	return int(tokens)
}

// middleware sees results as the tools returned them, if it stands behind the offload middleware.
func (r *record) middleware() compose.ToolMiddleware {
	return compose.ToolMiddleware{Invokable: func(next compose.InvokableToolEndpoint) compose.InvokableToolEndpoint {
		return func(ctx context.Context, input *compose.ToolInput) (*compose.ToolOutput, error) {
			output, err := next(ctx, input)
			if err == nil {
				r.mu.Lock()
				defer r.mu.Unlock()
				r.whole[input.CallID] = output.Result
			}
			return output, err
		}
	}}
}

// offloaded, compacted and failed are the library's three observers.
func (r *record) offloaded(_ context.Context, event toolresult.OffloadEvent) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if event.Err == nil { // else the call fails, as the default policy has it
		r.stored[event.CallID] = event
	}
}

func (r *record) compacted(_ context.Context, c *toolresult.Compaction) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.compactions = append(r.compactions, c)
}

func (r *record) failed(_ context.Context, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.err = errors.Join(r.err, err)
}

// without is what a request would have been without the library: for each result its full text, and for pages nothing. The calls
// that asked for pages stay in, as they are small.
func (r *record) without(q request) int {
	tokens := q.tokens
	for _, msg := range q.messages {
		if msg.Role != schema.Tool {
			continue
		}
		tokens -= tokenest.O200K().Estimate(msg.Content)
		if !isPage(msg) {
			tokens += tokenest.O200K().Estimate(r.whole[msg.ToolCallID])
		}
	}
	return tokens
}

// isPage tells the results of the library's own tools from those of the agent's.
func isPage(msg *schema.Message) bool {
	return msg.ToolName == "read_file" || msg.ToolName == "search_file"
}

// changes are the lines of the table for one request: what came into it, and what was pruned.
func (r *record) changes(i int) []string {
	if i == 0 {
		return []string{"  the question"}
	}
	before, q := r.requests[i-1].messages, r.requests[i]
	var lines []string
	for _, msg := range q.messages[len(before):] {
		if msg.Role == schema.Tool {
			lines = append(lines, r.line("+", msg))
		}
	}
	// A rewrite keeps the number of messages, so it belongs to the request with as many.
	for _, c := range r.compactions {
		if len(c.Messages) != len(q.messages) || !c.Changed {
			continue
		}
		lines = append(lines, fmt.Sprintf("  pruned at %s tokens:", grouped(q.tokens+int(c.TokensBefore-c.TokensAfter))))
		for _, p := range c.Pruned {
			lines = append(lines, r.line("-", before[p.Index]))
		}
	}
	return lines
}

// line tells of one result: the tool, the bytes that it returned, and what the model has of them.
func (r *record) line(sign string, msg *schema.Message) string {
	return fmt.Sprintf("%s %-13s %9s  %s", sign, msg.ToolName, grouped(len(r.whole[msg.ToolCallID])), r.form(msg))
}

// form is what the model has of a result: a notice, a page, or all of it.
func (r *record) form(msg *schema.Message) string {
	if event, ok := r.stored[msg.ToolCallID]; ok {
		return "→ " + event.Path
	}
	if !isPage(msg) {
		return "in full"
	}
	// A page ends with a line such as [Lines 1-424 of 11478, 502214 bytes in all. Next: offset=425].
	return strings.ToLower(regexp.MustCompile(`[^\[\],.]+`).FindString(lastLine(msg.Content)))
}

const header = ` model │  tokens in context  │ window     │
  call │   without      with │ used       │   tool              bytes  what the model reads
───────┼─────────────────────┼────────────┼──────────────────────────────────────────────────────────────────
`

const legend = `
→  stored whole; in its place the model reads a notice with this path and a sample
-  pruned; the call stays, and its result is one line that says so
`

// print writes the table, a request a row, and the sum.
func (r *record) print(out io.Writer, dir string) {
	var with, without, refused int
	fmt.Fprint(out, header)
	for i, q := range r.requests {
		unaided := r.without(q)
		with, without = with+q.tokens, without+unaided
		if unaided > window && refused == 0 {
			refused = i + 1
		}
		left := fmt.Sprintf("%6d │ %9s %s %7s │ %s", i+1, grouped(unaided), cross(unaided), grouped(q.tokens), bar(q.tokens))
		for _, change := range r.changes(i) {
			fmt.Fprintf(out, "%s │ %s\n", left, change)
			left = "       │                     │           "
		}
	}
	fmt.Fprint(out, legend)
	if refused > 0 {
		fmt.Fprintf(out, "✗  over the window: without the library, the run would have ended at call %d, refused by the provider\n", refused)
	}
	fmt.Fprintf(out, "\nSaved %s of %s tokens (%.1f%%). The %d large results lie in %s\n", grouped(without-with), grouped(without),
		100*float64(without-with)/float64(without), len(r.stored), filepath.Join(dir, "large_tool_result"))
}

// cross marks what a provider would refuse.
func cross(tokens int) string {
	if tokens > window {
		return "✗"
	}
	return " "
}

// bar shows how full the window is.
func bar(tokens int) string {
	const width = 10
	full := min((tokens*width+window/2)/window, width)
	return strings.Repeat("█", full) + strings.Repeat("░", width-full)
}

// grouped writes 1234567 as 1 234 567.
func grouped(n int) string {
	if n < 1_000 {
		return strconv.Itoa(n)
	}
	return fmt.Sprintf("%s %03d", grouped(n/1_000), n%1_000)
}
