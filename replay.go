package toolresult

// The decision as a fold over the conversation. At each point where the model was called the hook decides as it would have
// decided then, so that a caller who keeps what BeforeModel returned and one who does not send the same bytes, and the prompt
// cache of neither breaks without need. What was decided is told by the marks: up to the newest of them nothing is decided
// again. It takes a Pruner, whose choice is the same whenever it is made, and a counter that can be asked about every piece of
// the conversation; with others the hook decides at the end alone.

import (
	"context"
	"math"

	"github.com/cloudwego/eino/schema"
)

// replay is a conversation on its way from the first message to the last.
type replay struct {
	*CompactionHook
	own      *messageCounter   // nil: the counter is none of ours
	messages []*schema.Message // as the caller gave them
	run      *pruning          // nil until something is due
	counted  int64             // tokens of the messages so far, as they are now
	saved    int64             // what they were more, as the caller gave them
	overhead int64             // tool schemas and ReservedTokens
	mark     int64             // below it nothing is due, in the provider's tokens
	usage    int64             // tokens of prompt that the last answer reported
	usageAt  int               // where that answer is
	sent     int64             // tokens of the messages in the request with that usage
	decided  int               // up to where marks tell what was decided
	looked   bool              // decided is known
	settled  bool              // sent is what it was before pruning
	unsaved  float64           // what a usage showed not to have been saved, in the provider's tokens
	cache    *cacheBooks       // nil: no prices
	aim      int64             // the last target
	dropped  bool              // what could be pruned at the last decision was not worth it
	over     bool              // the request is over the window all the same
}

// What it takes to believe of a request of the past that it was not rewritten.
const (
	leastTold   = 0.3  // share of the request that the rewrite would have saved: of less no usage tells
	mostLacking = 0.25 // share of that which the request may lack
	steadyScale = 0.05 // share by which the scales of the two usages before may differ
)

// replays reports whether a replay can be made. A counter with ExceedsTokens counts here and now, and no server has to be asked for
// every message.
func (h *CompactionHook) replays() bool {
	_, isPruner := h.cfg.Compactor.(*Pruner)
	_, isLocal := h.cfg.TokenCounter.(textLimiter)
	return isPruner && isLocal
}

// beforeModel goes from one answer of the model to the next.
func (r *replay) beforeModel(ctx context.Context, tools []*schema.ToolInfo) ([]*schema.Message, error) {
	schemas, err := r.count(ctx, nil, tools)
	if err != nil {
		return r.messages, err
	}
	r.overhead = schemas + int64(r.cfg.ReservedTokens)
	r.mark = int64(r.cfg.CompactAt * r.window)
	for from := 0; ; {
		to, err := r.take(ctx, from)
		if err != nil {
			return r.messages, err
		}
		r.dropped, r.over = false, false
		if mayReach(r.mark, r.usage, r.sent, r.counted, r.overhead) {
			if err := r.decide(ctx, to); err != nil {
				return r.messages, err
			}
		}
		if from = to; to == len(r.messages) {
			return r.finish(ctx), nil
		}
	}
}

// take notes the messages up to the next answer of the model, or to the end, and returns where that is.
func (r *replay) take(ctx context.Context, from int) (to int, err error) {
	if r.own != nil && r.steps == nil {
		return r.skim(from), nil
	}
	for to = from; to < len(r.messages); to++ {
		m := r.messages[to]
		if to > from && m != nil && m.Role == schema.Assistant {
			break
		}
		if usage, ok := usageOf(m); ok {
			r.usage, r.usageAt, r.sent, r.settled = usage, to, r.counted, false
		}
	}
	tokens, err := r.count(ctx, r.messages[from:to], nil)
	r.counted += tokens
	if err == nil && r.steps != nil {
		err = r.limitStep(ctx, from, to)
	}
	return to, err
}

// skim goes on to the next answer of the model at which something may be due, or to the end, with a counter of ours. It is what a
// call costs while nothing is due, so nothing in it is a call that can be none.
func (r *replay) skim(from int) (to int) {
	counted, sent, usage := r.counted, r.sent, r.usage
	i := from
	for ; i < len(r.messages); i++ {
		m := r.messages[i]
		if m == nil {
			continue
		}
		if m.Role == schema.Assistant {
			if i > from && mayReach(r.mark, usage, sent, counted, r.overhead) {
				break
			}
			if reported, ok := usageOf(m); ok {
				usage, sent, r.usageAt, r.settled = reported, counted, i, false
			}
		}
		counted += r.own.perMessage + r.own.one(m)
	}
	r.counted, r.sent, r.usage = counted, sent, usage
	return i
}

func (r *replay) estimate() estimate { return forecast(r.usage, r.sent, r.counted, r.overhead) }

// decide does at one point what is due there.
func (r *replay) decide(ctx context.Context, at int) error {
	if r.isDecided(at) {
		return nil
	}
	if err := r.settle(ctx); err != nil {
		return err
	}
	e := r.estimate()
	if e.tokens < r.cfg.CompactAt*r.window {
		return nil
	}
	least := r.unsaved // that much would have gone at an earlier answer, and more has come since
	if e.tokens <= r.window {
		least = max(least, r.cfg.MinGain*r.window)
	}
	denied, err := r.denies(ctx, at, e, least)
	if denied || err != nil {
		return err
	}
	r.aim = r.target(e, r.cfg.CompactTo)
	if err := r.prune(ctx, e, at); err != nil {
		return err
	}
	r.over = r.estimate().tokens > r.window
	return nil
}

// denies reports whether the usage of an answer shows that its request was sent without a rewrite that saves so much: the hook was
// not there yet, or had another config. Where the usages before are of no one scale, as two models take turns, nothing is shown.
func (r *replay) denies(ctx context.Context, at int, e estimate, saved float64) (bool, error) {
	if at == len(r.messages) || saved < leastTold*e.tokens {
		return false, nil
	}
	usage, ok := usageOf(r.messages[at])
	if !ok || float64(usage) <= e.tokens-mostLacking*saved {
		return false, nil
	}
	return r.isSteady(ctx, at)
}

// isSteady reports whether the two answers before have usages that go by one scale.
func (r *replay) isSteady(ctx context.Context, at int) (bool, error) {
	last := answerBefore(r.messages, at)
	if last != r.usageAt || last <= 0 {
		return false, nil
	}
	first := answerBefore(r.messages, last)
	if first < 0 {
		return false, nil
	}
	usage, ok := usageOf(r.messages[first])
	if !ok {
		return false, nil
	}
	between, err := r.count(ctx, r.messages[first:last], nil)
	one := float64(r.usage) / float64(r.sent+r.overhead)
	other := float64(usage) / float64(r.sent-between+r.overhead)
	return math.Abs(one-other) <= steadyScale*one, err
}

// answerBefore is where the model answered last before the message at i, -1 if it never did.
func answerBefore(messages []*schema.Message, i int) int {
	for i--; i >= 0; i-- {
		if messages[i] != nil && messages[i].Role == schema.Assistant {
			break
		}
	}
	return i
}

// settle adds to what was sent what callers who kept it have had pruned since.
func (r *replay) settle(ctx context.Context) error {
	if r.settled || r.usageAt >= r.decided {
		return nil
	}
	r.settled = true
	saved, err := r.savedSince(ctx, r.messages, r.usageAt)
	r.sent += saved
	return err
}

// prune prunes to the target, where that is worth it and was not left undone.
func (r *replay) prune(ctx context.Context, e estimate, at int) error {
	run := r.started(at)
	if r.cache == nil {
		r.cache = newCacheBooks(r.cfg.Cache, r.messages)
	}
	chosen, dropped, err := r.chooseWorth(ctx, run, e, r.cache, r.aim, at)
	if r.dropped = dropped; dropped || err != nil || len(chosen.swaps) == 0 {
		return err
	}
	saved := e.scale * float64(chosen.saved)
	denied, err := r.denies(ctx, at, e, saved)
	if err != nil {
		return err
	}
	if denied {
		r.unsaved = saved
		return nil
	}
	r.unsaved = 0
	before := len(run.pruned)
	err = run.applyTo(ctx, chosen, r.aim, at)
	r.saved += r.counted - run.tokens
	r.counted = run.tokens
	if r.cache != nil {
		for _, p := range run.pruned[before:] {
			r.cache.rewrote(at, p.TokensBefore)
		}
	}
	return err
}

// limitStep keeps the StepTokenLimit for the results behind an answer of the model.
func (r *replay) limitStep(ctx context.Context, from, to int) error {
	if r.isDecided(to) {
		return nil
	}
	if bytesOfResults(r.messages[from:to]) <= r.steps.cfg.StepTokenLimit {
		return nil
	}
	run := r.started(to)
	if err := r.steps.limitStep(ctx, run.messages, run.pairs.newest(), run.put); err != nil || !run.changed {
		return err
	}
	before, err := r.count(ctx, r.messages[from:to], nil)
	if err != nil {
		return err
	}
	after, err := r.count(ctx, run.messages[from:to], nil)
	r.counted -= before - after
	return err
}

// isDecided reports whether marks tell that what was due at a point was done. At the end something may be due again.
func (r *replay) isDecided(at int) bool {
	if !r.looked {
		r.decided, r.looked = lastPrune(r.messages, len(r.messages)), true
	}
	return at < r.decided || at == r.decided && at < len(r.messages)
}

// started is the run, with all messages read before which the model is called now.
func (r *replay) started(upTo int) *pruning {
	if r.run == nil {
		r.run = r.cfg.Compactor.(*Pruner).run(r.messages, r.cfg.TokenCounter)
	}
	r.run.read(upTo)
	r.run.tokens = r.counted
	return r.run
}

// finish reports what came of it.
func (r *replay) finish(ctx context.Context) []*schema.Message {
	if r.run == nil && !r.over {
		return r.messages
	}
	c := &Compaction{Messages: r.messages}
	if r.run != nil {
		r.run.report(c)
	}
	c.TokensBefore, c.TokensAfter, c.TargetTokens, c.OverWindow = r.counted+r.saved, r.counted, r.aim, r.over
	r.report(ctx, c, r.dropped)
	return c.Messages
}
