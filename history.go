package toolresult

// What the pruning rule knows of a conversation: which calls were made in which step, and which result answers which. The
// rule sees it through history, so that it is written once for every kind of message.

// history is a conversation as the rule sees it.
type history interface {
	// walk reports, in order, every answer of the model, the calls in it from the last to the first, and every tool result.
	walk(p *pairing)
}

// toolResult is a result with the call it answers.
type toolResult struct {
	index        int // its place in the conversation
	step         int // that of the call, from 1; 0 before the first
	callID, tool string
}

// olderResults returns the results that may go, oldest first: those of the newest steps stay, and so does every result that
// the model has not answered to yet.
func olderResults(h history, keepSteps int) []toolResult {
	var p pairing
	h.walk(&p)
	older := p.results[:0]
	for _, r := range p.results[:p.answered] {
		if r.step <= p.steps-keepSteps {
			older = append(older, r)
		}
	}
	return older
}

// pairing pairs results with calls while a conversation goes by. IDs alone do not tell: models use them again, in a later turn or
// twice in one step, and some give none. So a result answers the newest step that has an open call with its ID, and there the
// first such call. Steps that were interrupted leave calls open for good; a result without any call belongs where it stands.
type pairing struct {
	steps    int
	newest   openCall              // not in open yet: most often the next result answers it, and the map is never needed
	open     map[string][]openCall // by ID; the one to be answered next is the last
	results  []toolResult
	answered int // results that an answer of the model stands behind
}

type openCall struct {
	step     int // 0: none
	id, tool string
}

// answer notes an answer of the model. With calls it is a step.
func (p *pairing) answer(calls int) {
	p.answered = len(p.results)
	if calls > 0 {
		p.steps++
	}
}

func (p *pairing) call(id, tool string) {
	if p.newest.step > 0 {
		if p.open == nil {
			p.open = make(map[string][]openCall)
		}
		p.open[p.newest.id] = append(p.open[p.newest.id], p.newest)
	}
	p.newest = openCall{p.steps, id, tool}
}

// result notes a result. The name in its message, where there is one, comes before that of the call.
func (p *pairing) result(index int, id, tool string) {
	r := toolResult{index: index, step: p.steps, callID: id, tool: tool}
	if c, ok := p.take(id); ok {
		r.step, r.tool = c.step, nonEmpty(tool, c.tool)
	}
	p.results = append(p.results, r)
}

// take closes the call that a result with this ID answers.
func (p *pairing) take(id string) (openCall, bool) {
	if c := p.newest; c.step > 0 && c.id == id {
		p.newest.step = 0
		return c, true
	}
	open := p.open[id]
	if len(open) == 0 {
		return openCall{}, false
	}
	last := len(open) - 1
	if last == 0 {
		delete(p.open, id) // so that the map stays small, however long the conversation
	} else {
		p.open[id] = open[:last]
	}
	return open[last], true
}
