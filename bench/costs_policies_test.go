package bench_test

// The policies of others. Each is as its authors have it, with one thing in common: where it has a mark at which it begins, that is
// 0.7 of the window. All are given the same exact counter.

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/adk/filesystem"
	"github.com/cloudwego/eino/adk/middlewares/reduction"
	"github.com/cloudwego/eino/schema"
)

// policy makes a request of a conversation.
type policy struct {
	name string
	// keeps reports that the agent keeps what was sent, and the next request is made of that. Else it is made of the whole
	// conversation each time.
	keeps bool
	// start begins a conversation.
	start func(tb testing.TB, window int) rewriter
}

// rewriter is a policy at work on one conversation.
type rewriter struct {
	// send makes a request. It does not change the messages it is given.
	send func(history []*schema.Message) []*schema.Message
	// archive is where pruned results can be read. Nil: nowhere that the simulation knows.
	archive *archive
}

// others are the policies to compare with. The first is to prune nothing.
func others() []policy {
	return []policy{
		noPruning(), haystackRule(),
		einoPolicy(eino, func() reduction.Backend { return nil }),
		einoPolicy(einoStored, func() reduction.Backend { return filesystem.NewInMemoryBackend() }),
		langChainRule(), lastFive(), emptied(),
	}
}

const (
	haystack   = "Haystack's rule"
	eino       = "Eino's reduction"
	einoStored = "Eino's reduction, with a backend"
	langChain  = "LangChain's rule"
	last5      = "last 5 observations"
)

func noPruning() policy {
	return policy{"no pruning", true, func(testing.TB, int) rewriter {
		return rewriter{send: func(history []*schema.Message) []*schema.Message { return history }}
	}}
}

// einoPolicy is the middleware itself, with its defaults. It writes into the messages, so it is given copies.
func einoPolicy(name string, backend func() reduction.Backend) policy {
	return policy{name, true, func(tb testing.TB, window int) rewriter {
		m, err := reduction.New(context.Background(), &reduction.Config{
			SkipTruncation: true, MaxTokensForClear: int64(window) * 7 / 10, TokenCounter: exactCounter(tb).CountTokens, Backend: backend(),
		})
		check(tb, err)
		return rewriter{send: func(history []*schema.Message) []*schema.Message {
			_, state, err := m.BeforeModelRewriteState(context.Background(), &adk.ChatModelAgentState{Messages: copyOf(history)}, nil)
			check(tb, err)
			return state.Messages
		}}
	}}
}

// haystackRule prunes from 0.7 of the window to 0.4: oldest first, never in the newest step, and nothing of 200 tokens or fewer.
func haystackRule() policy {
	return policy{haystack, true, func(tb testing.TB, window int) rewriter {
		return rewriter{send: func(history []*schema.Message) []*schema.Message {
			tokens := tokensOf(tb, history...)
			if tokens <= window*7/10 {
				return history
			}
			return replaceResults(history, newestStep(history), func(msg *schema.Message) string {
				size := tokensOf(tb, msg)
				if tokens <= window*4/10 || size <= 200 {
					return msg.Content
				}
				said := fmt.Sprintf("[Tool result removed to free up context. Call `%s` again if you need it.]", msg.ToolName)
				tokens -= size - tokensOf(tb, schema.ToolMessage(said, msg.ToolCallID))
				return said
			})
		}}
	}}
}

// langChainRule is ContextEditingMiddleware with ClearToolUsesEdit: all results but the last three, in every request over the mark,
// and nothing is kept of that.
func langChainRule() policy {
	return policy{langChain, false, func(tb testing.TB, window int) rewriter {
		return rewriter{send: func(history []*schema.Message) []*schema.Message {
			if tokensOf(tb, history...) <= window*7/10 {
				return history
			}
			return replaceResults(history, newestResults(history, 3), func(*schema.Message) string { return "[cleared]" })
		}}
	}}
}

// lastFive is SWE-agent's: all observations but the last five, always.
func lastFive() policy {
	return policy{last5, false, func(testing.TB, int) rewriter {
		return rewriter{send: func(history []*schema.Message) []*schema.Message {
			return replaceResults(history, newestResults(history, 5), func(msg *schema.Message) string {
				return fmt.Sprintf("Old environment output: (%d lines omitted)", 1+strings.Count(msg.Content, "\n"))
			})
		}}
	}}
}

// emptied is no policy but a bound: nothing that prunes results and arguments alone, and spares the newest step, has fewer requests over
// the window.
func emptied() policy {
	return policy{"bound: all older results and arguments empty", false, func(testing.TB, int) rewriter {
		return rewriter{send: func(history []*schema.Message) []*schema.Message {
			newest := newestStep(history)
			sent := copyOf(replaceResults(history, newest, func(*schema.Message) string { return "" }))
			for _, msg := range sent[:newest] {
				for n := range msg.ToolCalls {
					msg.ToolCalls[n].Function.Arguments = "{}"
				}
			}
			return sent
		}}
	}}
}

// replaceResults gives the results in front of a place another text.
func replaceResults(history []*schema.Message, before int, text func(*schema.Message) string) []*schema.Message {
	sent := append([]*schema.Message(nil), history...)
	for i, msg := range sent[:before] {
		if msg.Role != schema.Tool {
			continue
		}
		if said := text(msg); said != msg.Content {
			short := *msg
			short.Content = said
			sent[i] = &short
		}
	}
	return sent
}

// newestStep is where the newest answer with calls stands.
func newestStep(history []*schema.Message) int {
	at := len(history)
	for at > 0 {
		at--
		if len(history[at].ToolCalls) > 0 {
			break
		}
	}
	return at
}

// newestResults is where the newest n results begin.
func newestResults(history []*schema.Message, n int) int {
	at := len(history)
	for ; at > 0 && n > 0; at-- {
		if history[at-1].Role == schema.Tool {
			n--
		}
	}
	return at
}
