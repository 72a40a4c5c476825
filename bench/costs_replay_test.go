package bench_test

// One conversation, replayed call by call: before each answer that the agent got, a policy makes a request of what was said until
// then. What is billed is found by comparing each request with the one before it.

import (
	"fmt"
	"hash/fnv"
	"slices"
	"testing"

	"github.com/cloudwego/eino/schema"
)

const (
	cachedRead = 0.1  // price of a token that the provider has in its cache, as a share of one without any cache
	cacheWrite = 1.25 // of one that it has not
)

// outcome is what a policy comes to.
type outcome struct {
	calls, over, rewrites int
	billed                float64 // tokens, at the price of one without any cache
	shares                float64 // of result tokens still visible, summed over the calls that have any
	withResults           int     // such calls
	seen, all             int     // the result tokens themselves, summed over the calls
	pruned, readBack      int     // results
	recovered             recovered
}

func (o *outcome) add(p *outcome) {
	o.calls, o.over, o.rewrites = o.calls+p.calls, o.over+p.over, o.rewrites+p.rewrites
	o.billed, o.shares, o.withResults = o.billed+p.billed, o.shares+p.shares, o.withResults+p.withResults
	o.seen, o.all = o.seen+p.seen, o.all+p.all
	o.pruned, o.readBack = o.pruned+p.pruned, o.readBack+p.readBack
	o.recovered.add(p.recovered)
}

func (o *outcome) visible() float64  { return o.shares / float64(o.withResults) }
func (o *outcome) byTokens() float64 { return float64(o.seen) / float64(o.all) }
func (o *outcome) perCall() float64  { return float64(o.rewrites) / float64(o.calls) }

// said is a message as it was, whatever has become of it in a request.
type said struct {
	msg    *schema.Message
	tokens int  // of its text, where it is a result
	isCopy bool // it was read back
	from   int  // where what was read back of it begins, and how many messages that are
	copies int
	gone   bool // it was pruned once
}

// run is a conversation under a policy.
type run struct {
	outcome
	rewriter
	tb      testing.TB
	talk    talk
	policy  policy
	window  int
	percent int // of what was pruned is read back

	whole []said            // all that was said
	kept  []*schema.Message // the same, as the agent has it
	sent  []*schema.Message // the last request
	due   []int             // what was pruned and is to be read back
}

// replay runs one conversation. A result that is missed is read back right after the first request without it.
func replay(tb testing.TB, p policy, window, percent int, t talk) *outcome {
	r := &run{tb: tb, talk: t, policy: p, rewriter: p.start(tb, window), window: window, percent: percent}
	for _, msg := range t.messages {
		if msg.Role == schema.Assistant && len(r.kept) > 0 {
			r.call()
			for len(r.due) > 0 {
				r.readBackNext()
				r.call()
			}
		}
		r.say(said{msg: msg})
	}
	if r.archive != nil {
		r.recover()
	}
	return &r.outcome
}

func (r *run) say(s said) {
	if s.msg.Role == schema.Tool {
		s.tokens = tokensOf(r.tb, schema.UserMessage(s.msg.Content)) - tokensOf(r.tb, schema.UserMessage(""))
	}
	r.whole, r.kept = append(r.whole, s), append(r.kept, s.msg)
}

// call makes a request.
func (r *run) call() {
	sent := r.send(slices.Clip(r.kept))
	if len(sent) != len(r.whole) {
		r.tb.Fatalf("%s, %s: of %d messages %d are left", r.policy.name, r.talk.name, len(r.whole), len(sent))
	}
	r.bill(sent)
	r.lookAt(sent)
	r.sent = sent
	if r.policy.keeps {
		r.kept = sent
	}
}

// bill compares a request with the one before it.
func (r *run) bill(sent []*schema.Message) {
	same := 0
	for same < min(len(sent), len(r.sent)) && sameMessage(sent[same], r.sent[same]) {
		same++
	}
	read, all := tokensOf(r.tb, sent[:same]...), tokensOf(r.tb, sent...)
	r.billed += cachedRead*float64(read) + cacheWrite*float64(all-read)
	r.calls++
	if same < len(r.sent) {
		r.rewrites++
	}
	if all > r.window {
		r.over++
	}
}

func sameMessage(a, b *schema.Message) bool {
	return a == b || a.Role == b.Role && a.Content == b.Content && a.ToolCallID == b.ToolCallID &&
		slices.EqualFunc(a.ToolCalls, b.ToolCalls, func(c, d schema.ToolCall) bool { return c.ID == d.ID && c.Function == d.Function })
}

// lookAt finds which results can be seen in a request, and which are gone.
func (r *run) lookAt(sent []*schema.Message) {
	seen, all := 0, 0
	for i := range r.whole {
		s := &r.whole[i]
		if s.msg.Role != schema.Tool || s.isCopy {
			continue
		}
		all += s.tokens
		if r.isSeen(sent, i) {
			seen += s.tokens
		} else if !s.gone {
			s.gone = true
			r.lose(i)
		}
	}
	if all > 0 {
		r.shares += float64(seen) / float64(all)
		r.withResults++
	}
	r.seen, r.all = r.seen+seen, r.all+all
}

// isSeen holds for a result that stands where it was, or of which all pages stand that were read back.
func (r *run) isSeen(sent []*schema.Message, i int) bool {
	asItWas := func(at int) bool { return sent[at].Content == r.whole[at].msg.Content }
	if asItWas(i) {
		return true
	}
	s := &r.whole[i]
	for at := s.from; at < s.from+s.copies; at++ {
		if !asItWas(at) {
			return false
		}
	}
	return s.copies > 0
}

// lose notes a result that was pruned, and chooses whether it is missed: always the same ones, whatever the policy.
func (r *run) lose(i int) {
	r.pruned++
	hash := fnv.New32a()
	fmt.Fprintf(hash, "%s/%d", r.talk.name, i)
	if int(hash.Sum32()%100) < r.percent {
		r.due = append(r.due, i)
	}
}

// readBackNext is a step in which the next result that is missed comes back: page by page where it was archived, else by calling the
// tool again, which gives the same, whole.
func (r *run) readBackNext() {
	i := r.due[0]
	r.due = r.due[1:]
	r.readBack++
	var calls []schema.ToolCall
	results := []string{r.whole[i].msg.Content}
	if r.archive != nil {
		calls, results = r.archive.calls(r.tb, r.pathOf(i), i)
	} else {
		calls = []schema.ToolCall{r.callAgain(i)}
	}
	r.say(said{msg: schema.AssistantMessage("", calls)})
	r.whole[i].from, r.whole[i].copies = len(r.whole), len(results)
	for n, text := range results {
		r.say(said{msg: schema.ToolMessage(text, calls[n].ID, schema.WithToolName(calls[n].Function.Name)), isCopy: true})
	}
}

// callAgain is the call that a result answers, under another ID.
func (r *run) callAgain(i int) schema.ToolCall {
	again := schema.ToolCall{ID: fmt.Sprintf("again_%d", i), Type: "function"}
	for at := i - 1; at >= 0; at-- {
		for _, c := range r.whole[at].msg.ToolCalls {
			if c.ID == r.whole[i].msg.ToolCallID {
				again.Function = c.Function
				return again
			}
		}
	}
	return again
}
