package toolresult

// Whether one result may go, why not, and what would stand in its place.

import (
	"context"
	"slices"
	"strings"

	"github.com/cloudwego/eino/schema"
)

// swap is what would take the place of a result, or of the arguments of one message's calls.
type swap struct {
	PrunedResult
	reason PruneReason
	found  int             // what pruning.applied was when it was last found to be good
	short  *schema.Message // without the marks
	store  bool            // it must be stored first
	files  []string        // other files that what is stored names
	stubs  []stubbed       // the calls whose arguments go
}

// weigh finds out whether a result may go and what would stand in its place. What stands there is found once.
func (p *pruning) weigh(ctx context.Context, r *toolResult) (PruneReason, error) {
	if r.swap != nil && r.swap.found == p.applied {
		return r.swap.reason, nil
	}
	msg := p.messages[r.index]
	isCall := msg.Role == schema.Assistant
	may := p.mayGo
	if isCall {
		may = p.mayStub
	}
	reason := may(r, msg)
	switch {
	case !reason.goes():
		return reason, nil
	case r.swap != nil && r.swap.store && p.storeIsDown():
		return ReasonNotStored, nil
	case r.swap != nil:
		r.swap.found = p.applied
		return reason, nil
	}
	tokens, err := countMessages(ctx, p.counter, p.messages[r.index:r.index+1], nil)
	if err != nil || !isCall && tokens <= p.minTokens {
		return ReasonSmall, err
	}
	s := p.newSwap()
	s.PrunedResult = PrunedResult{Index: r.index, CallID: r.callID, ToolName: r.tool, Arguments: isCall, TokensBefore: tokens}
	if isCall {
		reason, err = p.fillStubs(ctx, s, msg)
	} else {
		reason, err = p.fill(ctx, s, r, msg, reason)
	}
	if !reason.goes() || err != nil {
		return reason, err
	}
	if s.TokensAfter, err = p.countOne(ctx, s.short); err != nil || s.TokensAfter >= tokens {
		return ReasonNoSaving, err
	}
	r.swap, s.reason, s.found = s, reason, p.applied
	return reason, nil
}

// newSwap takes one of a batch: one at a time would be half of all that a run allocates.
func (p *pruning) newSwap() *swap {
	if len(p.swaps) == 0 {
		p.swaps = make([]swap, 32)
	}
	s := &p.swaps[0]
	p.swaps = p.swaps[1:]
	return s
}

func (p *pruning) countOne(ctx context.Context, msg *schema.Message) (int64, error) {
	p.one[0] = msg
	return countMessages(ctx, p.counter, p.one[:], nil)
}

// mayGo gives the reason why a result goes, or the first of those for which it stays whatever its size.
func (p *pruning) mayGo(r *toolResult, msg *schema.Message) PruneReason {
	if isMarked(msg) {
		return ReasonMarked
	}
	path, isNotice := OffloadedPath(msg)
	switch {
	case slices.Contains(p.cfg.ExcludeTools, r.tool):
		return ReasonExcluded
	case isNotice && p.cfg.Pointers == KeepPointers:
		return ReasonPointer
	case p.isProtected(msg, path):
		return ReasonProtected
	case p.cfg.Keep != nil && p.cfg.Keep(msg):
		return ReasonKept
	case p.failed[r.index]:
		return ReasonNotStored
	case isNotice:
		return ReasonShortened
	}
	return p.classOf(r).reason()
}

// class is a kind of what may go. A pruner takes one after the other.
type class int

const (
	supersededResults class = iota
	pages
	oldest // all other results
	arguments
)

func (p *pruning) classOf(r *toolResult) class {
	switch {
	case p.messages[r.index].Role == schema.Assistant:
		return arguments
	case p.obsolete[r.index]:
		return supersededResults
	case p.cfg.PagesFirst && r.page:
		return pages
	}
	return oldest
}

func (c class) reason() PruneReason {
	return [...]PruneReason{ReasonSuperseded, ReasonPage, ReasonOldest, ReasonArguments}[c]
}

// isProtected looks for the keys in Extra. A notice that is to be shortened has one, which is no obstacle.
func (p *pruning) isProtected(msg *schema.Message, noticePath string) bool {
	return slices.ContainsFunc(p.cfg.SkipExtraKeys, func(key string) bool {
		return (key != offloadedKey || noticePath == "") && hasExtra(msg, key)
	})
}

// placeholder is the text for a result that is not stored, the same for all of a tool.
func (p *pruning) placeholder(tool string) string {
	text, known := p.texts[tool]
	if !known {
		text = strings.ReplaceAll(p.cfg.Placeholder, "{tool_name}", p.shownName(tool))
		if p.texts == nil {
			p.texts = make(map[string]string)
		}
		p.texts[tool] = text
	}
	return text
}

func (p *Pruner) shownName(tool string) string { return nonEmpty(printableID(tool), p.nameless) }
