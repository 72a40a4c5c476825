package toolresult

// One run of the pruner. It reads a conversation up to a point and chooses what would go from there, as often as it is asked: a
// whole conversation once, or, as the hook does, one that grows. Choosing changes nothing, so a plan is a choice that nobody
// applied.

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/cloudwego/eino/schema"
)

// maxStoreFailures is how many results in a row may fail to be archived before no more are tried: a store that is down would
// take its time over every one.
const maxStoreFailures = 3

type pruning struct {
	*Pruner
	counter  TokenCounter
	messages []*schema.Message // the caller's own until the first change
	changed  bool
	pairs    pairing
	calls    []toolResult // the arguments of one message each, where they may be stubbed
	upTo     int          // how many messages were read
	tokens   int64        // of the conversation as it is now, up to where the caller counted
	texts    map[string]string
	swaps    []swap // to be used
	done     settledChoice
	applied  int                   // how often something was applied
	chosen   []*swap               // the last choice, for its room
	one      [1]*schema.Message    // the message to count
	newest   map[string]toolResult // by tool and arguments: the result of the newest call
	stored   map[string]bool       // where results are stored that the conversation names
	obsolete map[int]bool          // where results are that a newer one has superseded
	reasons  map[int]PruneReason   // why a result stays; nil unless somebody asks

	pruned []PrunedResult
	failed map[int]bool // where results are that could not be archived
	errs   []error
	row    int // failures since the last success
}

// run begins a run over a conversation of which nothing was read yet.
func (p *Pruner) run(messages []*schema.Message, counter TokenCounter) *pruning {
	if counter == nil {
		counter = p.counter
	}
	run := &pruning{Pruner: p, counter: counter, messages: messages}
	run.pairs.results = make([]toolResult, 0, len(messages)/2+1)
	return run
}

// read goes on to the message before which the model was called, or is to be.
func (p *pruning) read(upTo int) {
	for ; p.upTo < upTo; p.upTo++ {
		msg := p.messages[p.upTo]
		p.pairs.message(p.upTo, msg)
		if msg != nil && (p.archive != nil || p.cfg.PagesFirst) {
			p.noteStored(msg)
			if msg.Role == schema.Tool {
				newest := &p.pairs.results[len(p.pairs.results)-1]
				newest.page = p.isPage(newest)
			}
		}
		switch {
		case msg == nil:
		case msg.Role == schema.Assistant && len(p.cfg.ArgumentTokens) > 0 && len(msg.ToolCalls) > 0:
			first := msg.ToolCalls[0]
			p.calls = append(p.calls, toolResult{index: p.upTo, step: p.pairs.steps, callID: first.ID, tool: first.Function.Name, call: noCall()})
		case msg.Role == schema.Tool && len(p.cfg.Superseded) > 0:
			p.noteNewest(&p.pairs.results[len(p.pairs.results)-1])
		}
	}
}

// noteStored notes where results are stored, so that pages of them are known, whatever folder they are in.
func (p *pruning) noteStored(msg *schema.Message) {
	path, ok := OffloadedPath(msg)
	if !ok {
		return
	}
	if p.stored == nil {
		p.stored = make(map[string]bool)
	}
	p.stored[path] = true
}

// noteNewest notes which older result the newest one has made obsolete.
func (p *pruning) noteNewest(r *toolResult) {
	call, ok := p.callOf(r)
	if !ok || !slices.Contains(p.cfg.Superseded, r.tool) {
		return
	}
	if p.newest == nil {
		p.newest, p.obsolete = make(map[string]toolResult), make(map[int]bool)
	}
	same := r.tool + "\x00" + digest(canonicalJSON(call.Function.Arguments))
	older, newer := p.newest[same], *r
	if older.tool != "" && newer.call.before(older.call) { // its result came late
		older, newer = newer, older
	}
	if older.tool != "" {
		p.obsolete[older.index] = true
	}
	p.newest[same] = newer
}

// callOf is the call that a result answers.
func (p *pruning) callOf(r *toolResult) (*schema.ToolCall, bool) {
	if r.call.message < 0 {
		return nil, false
	}
	return &p.messages[r.call.message].ToolCalls[r.call.nth], true
}

// pruneTo prunes until the conversation has no more than some tokens, or nothing is left that may go. at is how long the
// conversation is for the marks.
func (p *pruning) pruneTo(ctx context.Context, target int64, at int) error {
	for p.tokens > target {
		chosen, err := p.choose(ctx, p.tokens-target)
		if err != nil || len(chosen.swaps) == 0 {
			return err
		}
		if err := p.apply(ctx, chosen, at); err != nil {
			return err
		}
	}
	return nil
}

// choice is what would go.
type choice struct {
	swaps []*swap
	saved int64
	first int // where the first of it is
}

func (c *choice) add(s *swap) {
	if len(c.swaps) == 0 || s.Index < c.first {
		c.first = s.Index
	}
	c.swaps = append(c.swaps, s)
	c.saved += s.TokensBefore - s.TokensAfter
}

// settledChoice is how far a choice goes that no later one changes until something is applied: so many results were looked at, and so
// many chosen. What is dropped at one answer is asked for again at the next, and would be gone through anew each time. Only a pruner
// of one class has it, as with several what goes first may change.
type settledChoice struct {
	results, swaps int
	saved          int64
}

// choose finds what goes first, until it saves so many tokens. A choice is good until the next.
func (p *pruning) choose(ctx context.Context, tokens int64) (chosen choice, err error) {
	if p.done.saved >= tokens {
		p.done = settledChoice{}
	}
	chosen.swaps, chosen.saved = p.chosen[:p.done.swaps], p.done.saved
	if p.done.swaps > 0 {
		chosen.first = chosen.swaps[0].Index
	}
	for _, class := range p.classes {
		of := &p.pairs.results
		if class == arguments {
			of = &p.calls
		}
		if *of, err = p.chooseFrom(ctx, *of, class, tokens, &chosen); err != nil {
			return choice{}, err
		}
	}
	p.chosen = chosen.swaps
	return chosen, nil
}

// chooseFrom adds what is of a class and old enough, oldest first. It returns what is left: what can never go is not looked at
// again, so that a conversation costs the same however often it is asked.
func (p *pruning) chooseFrom(ctx context.Context, results []toolResult, of class, tokens int64, chosen *choice) ([]toolResult, error) {
	left, settled := results[:p.done.results], true
	settle := func() {
		if settled && len(p.classes) == 1 {
			p.done = settledChoice{len(left), len(chosen.swaps), chosen.saved}
		}
	}
	for i := p.done.results; i < len(results); i++ {
		if chosen.saved >= tokens {
			settle()
			if len(left) == i {
				return results, nil
			}
			return append(left, results[i:]...), nil
		}
		r := &results[i]
		if !p.isOld(r) || p.classOf(r) != of {
			settle()
			settled = false
			left = append(left, *r)
			continue
		}
		reason, err := p.weigh(ctx, r)
		if err != nil {
			return nil, err
		}
		if !reason.goes() {
			p.note(r, reason)
			continue
		}
		left = append(left, *r)
		chosen.add(r.swap)
	}
	settle()
	return left, nil
}

func (p *pruning) note(r *toolResult, reason PruneReason) {
	if p.reasons != nil {
		p.reasons[r.index] = reason
	}
}

// isOld holds for what is older than the protected steps and was seen by the model.
func (p *pruning) isOld(r *toolResult) bool {
	return r.index < p.pairs.answered && r.step <= p.pairs.steps-p.cfg.MinKeepSteps
}

// apply replaces what was chosen. at is how long the conversation is for the marks.
func (p *pruning) apply(ctx context.Context, chosen choice, at int) error {
	p.done = settledChoice{}
	p.applied++
	var boxed any = at // once, and not for every mark
	p.pruned = slices.Grow(p.pruned, len(chosen.swaps))
	for _, s := range chosen.swaps {
		if err := p.replace(ctx, s, boxed); err != nil {
			return err
		}
	}
	return nil
}

// applyTo replaces what was chosen for a target, and others in the place of what cannot be stored.
func (p *pruning) applyTo(ctx context.Context, chosen choice, target int64, at int) error {
	planned := p.tokens - chosen.saved
	if err := p.apply(ctx, chosen, at); err != nil || p.tokens == planned {
		return err
	}
	return p.pruneTo(ctx, target, at)
}

// replace puts a swap in the place of one message. What cannot be stored stays.
func (p *pruning) replace(ctx context.Context, s *swap, at any) error {
	msg := p.messages[s.Index]
	if s.store {
		if stored, err := p.keep(ctx, s, msg); !stored || err != nil {
			return err
		}
	}
	if s.Arguments {
		setMarks(s.short, msg, markArguments, s.TokensBefore, at)
	} else {
		setMarks(s.short, msg, markPruned, s.TokensBefore, at)
	}
	if s.Path != "" && !s.Arguments {
		s.short.Extra[offloadedKey] = s.Path
		p.noteStored(s.short)
	}
	if len(s.files) > 0 {
		s.short.Extra[markFilesKey] = strings.Join(s.files, "\n") // no path has a newline
	}
	p.put(s.Index, s.short)
	p.tokens -= s.TokensBefore - s.TokensAfter
	p.pruned = append(p.pruned, s.PrunedResult)
	return nil
}

// put replaces a message, in a slice that is copied before its first change.
func (p *pruning) put(index int, msg *schema.Message) {
	if !p.changed {
		p.messages, p.changed = slices.Clone(p.messages), true
	}
	p.messages[index] = msg
}

// report tells what came of the run.
func (p *pruning) report(c *Compaction) {
	c.Messages, c.TokensAfter, c.Err = p.messages, p.tokens, errors.Join(p.errs...)
	c.Pruned, c.Changed = p.pruned, len(p.pruned) > 0 // of what was offloaded, OnOffload tells
	slices.SortFunc(c.Pruned, func(a, b PrunedResult) int { return cmp.Compare(a.Index, b.Index) })
}
