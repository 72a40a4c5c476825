package toolresult

// What the pruning rule knows of a conversation: which calls were made in which step, and which result answers which.

// toolResult is a result with the call it answers, or the arguments of the calls of one message.
type toolResult struct {
	index        int // its place in the conversation
	step         int // that of the call, from 1; 0 before the first
	callID, tool string
	call         callPlace
	page         bool  // the read or the search tool took it from a stored result
	swap         *swap // what would take its place; nil: not thought of yet
}

// callPlace is where a call stands: the message, and its place among the calls there.
type callPlace struct{ message, nth int32 }

func (c callPlace) before(d callPlace) bool {
	return c.message < d.message || c.message == d.message && c.nth < d.nth
}

// noCall is the place of the call of a result that nobody asked for.
func noCall() callPlace { return callPlace{-1, -1} }

// pairing pairs results with calls while a conversation goes by. IDs alone do not tell: models use them again, in a later turn or
// twice in one step, and some give none. So a result answers the newest step that has an open call with its ID, and there the
// first such call. Steps that were interrupted leave calls open for good; a result without any call belongs where it stands.
type pairing struct {
	steps    int
	last     openCall              // not in open yet: most often the next result answers it, and the map is never needed
	open     map[string][]openCall // by ID; the one to be answered next is the last
	results  []toolResult
	answered int // the place of the newest answer of the model: what stands behind it, the model has not seen
}

type openCall struct {
	step     int // 0: none
	id, tool string
	place    callPlace
}

// answer notes an answer of the model. With calls it is a step.
func (p *pairing) answer(index, calls int) {
	p.answered = index
	if calls > 0 {
		p.steps++
	}
}

// newest are the results that the model has not seen yet.
func (p *pairing) newest() []toolResult {
	from := len(p.results)
	for from > 0 && p.results[from-1].index > p.answered {
		from--
	}
	return p.results[from:]
}

// call notes a call. Those of one answer are noted from the last to the first.
func (p *pairing) call(id, tool string, place callPlace) {
	if p.last.step > 0 {
		if p.open == nil {
			p.open = make(map[string][]openCall)
		}
		p.open[p.last.id] = append(p.open[p.last.id], p.last)
	}
	p.last = openCall{p.steps, id, tool, place}
}

// result notes a result. The name in its message, where there is one, comes before that of the call.
func (p *pairing) result(index int, id, tool string) {
	r := toolResult{index: index, step: p.steps, callID: id, tool: tool, call: noCall()}
	if c, ok := p.take(id); ok {
		r.step, r.tool, r.call = c.step, nonEmpty(tool, c.tool), c.place
	}
	p.results = append(p.results, r)
}

// take closes the call that a result with this ID answers.
func (p *pairing) take(id string) (openCall, bool) {
	if c := p.last; c.step > 0 && c.id == id {
		p.last.step = 0
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
