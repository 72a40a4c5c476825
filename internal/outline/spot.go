package outline

// Spots are the places of a JSON text that are shown as they are: the first and the last element of the largest array or map,
// or the first and the last document. Nobody knows which element is the last before the end, so of every one its place in the
// current piece is kept, and only what is left when the piece ends is copied.

import "github.com/eino-toolresult/toolresult/internal/runes"

// spotLevels is how deep an array or map may lie whose elements are shown.
const spotLevels = 4

// excerpt is the beginning of a part of the text, and how many characters the part has.
type excerpt struct {
	limit    int // bytes that are kept
	at       position
	kept     []byte
	total    int   // characters, as far as it is UTF-8
	size     int64 // bytes
	on       bool  // it began, and goes on or ends in the current piece
	ended    bool
	from, to int // in the current piece
}

// begin forgets what was kept before: of the elements of an array only the latest counts.
func (e *excerpt) begin(from int, at position) {
	e.at, e.kept, e.total, e.size = at, e.kept[:0], 0, 0
	e.on, e.ended, e.from = true, false, from
}

func (e *excerpt) close(to int) {
	e.ended, e.to = true, to
}

// flush takes what the current piece has of the part.
func (e *excerpt) flush(text string) {
	if !e.on {
		return
	}
	to := len(text)
	if e.ended {
		to = e.to
	}
	e.total += runes.CountStarts(text[e.from:to])
	e.size += int64(to - e.from)
	room := min(e.limit-len(e.kept), to-e.from)
	e.kept = append(e.kept, text[e.from:e.from+room]...)
	e.on, e.from = !e.ended, 0
}

// spot is an array or a map. Its first elements are shown as one text, since small ones say little alone.
type spot struct {
	first, last excerpt
	isOpen      bool
	begin, size int64
}

func newSpot(limit int) *spot {
	return &spot{first: excerpt{limit: limit}, last: excerpt{limit: limit}}
}

// element is called where one begins; of a map, where its key does.
func (p *spot) element(at int, where position) {
	if p.first.at.line == 0 {
		p.first.begin(at, where)
		return
	}
	p.last.begin(at, where)
}

func (p *spot) flush(text string) {
	p.first.flush(text)
	p.last.flush(text)
}

// finish ends what has not ended yet.
func (p *spot) finish(at int) {
	for _, e := range []*excerpt{&p.first, &p.last} {
		if e.on && !e.ended {
			e.close(at)
		}
	}
}

// reset uses the memory of a spot for another array, as a document may have millions of small ones.
func (p *spot) reset(begin int64) {
	limit := p.first.limit
	first, last := excerpt{limit: limit, kept: p.first.kept[:0]}, excerpt{limit: limit, kept: p.last.kept[:0]}
	*p = spot{first: first, last: last, begin: begin, isOpen: true}
}

// spots keeps the largest array or map so far, those that are open, one inside the other, and the documents.
type spots struct {
	docs    *spot
	largest *spot
	levels  [spotLevels]*spot
	member  position // of the latest key of the outermost object
}

func newSpots(limit int) spots {
	p := spots{docs: newSpot(limit), largest: newSpot(limit)}
	for i := range p.levels {
		p.levels[i] = newSpot(limit)
	}
	return p
}

func (p *spots) open(level int, begin int64) *spot {
	p.levels[level].reset(begin)
	return p.levels[level]
}

// close is called where the innermost array or object ends. If it is an array or a map, and the largest so far, it is
// kept, and the memory of the one before is used for the next.
func (p *spots) close(level int, text string, at int, end int64, counts bool) {
	s := p.levels[level]
	s.isOpen = false
	s.size = end - s.begin
	if !counts || s.size <= p.largest.size {
		return
	}
	s.finish(at)
	s.flush(text)
	p.largest, p.levels[level] = s, p.largest
}

func (p *spots) flush(text string) {
	p.docs.flush(text)
	for _, s := range p.levels {
		if s.isOpen {
			s.flush(text)
		}
	}
}

// finish ends what is open: the rest of the text is not understood.
func (p *spots) finish(at int) {
	p.docs.finish(at)
	for _, s := range p.levels {
		s.finish(at)
	}
}
