package toolresult

// Finding and showing matches, line by line, in pieces of bounded size. Everything before hits.next has been shown, so that
// whoever follows the hints misses nothing.

import (
	"context"
	"slices"
	"strings"

	"github.com/eino-toolresult/toolresult/internal/runes"
)

const (
	pieceBytes   = 1 << 20 // how much of a text is searched at a time
	overlapBytes = 4 << 10 // how long a match may be that lies across two pieces of one line
	lookBehind   = 256     // what is seen of a line before the place where a search goes on: more than is shown of it
	lookAhead    = 1 << 10 // what is seen behind a window while its other matches are passed over
)

// hits collects what a search shows.
type hits struct {
	pattern searchPattern
	budget  int   // bytes
	limit   int   // matches
	first   int64 // the line from which on matches are wanted; those before it are only context
	around  int   // lines of context
	short   int   // bytes up to which a line is shown whole
	beside  int   // bytes shown before a match in a longer line; from its beginning on it is twice as many

	shown strings.Builder
	found int
	next  *position // the first match that is not shown; nil where all are
	full  bool
	odd   bool    // some bytes are no text, and are shown escaped
	above []piece // lines to be shown before a match, if one follows
	after int     // lines still to be shown behind a match
	line  lineShare
	ended func() error // of the context: a long line can take long
}

// lineShare is what the line being searched has had of an answer.
type lineShare struct {
	shown, found int   // of the answer, when the line began
	end          int64 // byte of the line up to which it is shown
	asked        bool  // the call asks for this very line
	over         bool  // no more of it is shown
}

// newHits sizes what is shown of a line so that the largest entry fits into an answer.
func newHits(pattern searchPattern, budget int, args *searchArguments, from position) *hits {
	h := &hits{
		pattern: pattern, budget: budget, limit: defaultMatches, first: from.line,
		around: int(min(max(args.Context, 0), maxContextLines)),
		short:  min(500, budget-30),     // beside a label
		beside: min(200, (budget-80)/3), // three times, beside a label and a hint
		line:   lineShare{asked: from.byte > 0},
	}
	if args.Limit > 0 {
		h.limit = int(min(args.Limit, maxMatches))
	}
	return h
}

// piece is a line, or a part of one that is longer than a piece.
type piece struct {
	from position
	text string
	seen int  // bytes at the beginning in which no match may begin
	last bool // the line ends here
}

// begins reports whether a piece has the beginning of its line, and a search may show it.
func (p *piece) begins() bool { return p.from.byte == 0 && p.seen == 0 }

// ends is the index before which a match of a piece must begin.
func (p *piece) ends() int {
	if p.last {
		return len(p.text) + 1
	}
	return runes.Floor(p.text, len(p.text)-overlapBytes)
}

// search goes through a text from a position, which is byte at of it, until it ends or the answer is full.
func (h *hits) search(ctx context.Context, text storedText, from position, at int64) error {
	h.ended = ctx.Err
	p, at, err := h.start(ctx, text, from, at)
	for err == nil && at < text.size() && !h.full {
		var window string
		if window, err = text.window(ctx, at, pieceBytes); err == nil {
			at += int64(h.window(&p, window, at+int64(len(window)) == text.size()))
			err = h.ended()
		}
	}
	return err
}

// start steps back from where a search begins: a few lines, to be shown around a match, or a part of a line.
func (h *hits) start(ctx context.Context, text storedText, from position, at int64) (piece, int64, error) {
	if from.byte > 0 {
		back := min(lookBehind, from.byte)
		return piece{from: position{from.line, from.byte - back}, seen: int(back)}, at - back, nil
	}
	if h.around == 0 {
		return piece{from: from}, at, nil
	}
	from.line = max(1, from.line-int64(h.around))
	at, err := text.lineStart(ctx, from.line)
	return piece{from: from}, at, err
}

// window searches the lines of a window, the first of which is p's, and makes p the piece to be searched next. It returns
// how much of the window is done with.
func (h *hits) window(p *piece, window string, final bool) (size int) {
	for size < len(window) && !h.full {
		line, _, ended := strings.Cut(window[size:], "\n")
		if !ended && !final {
			if size == 0 {
				return h.partOfLine(p, window)
			}
			return size // the next window begins with this line
		}
		p.text, p.last = strings.TrimSuffix(line, "\r"), true
		h.piece(*p)
		size += len(line) + 1
		*p = piece{from: position{line: p.from.line + 1}}
	}
	return size
}

// partOfLine searches a window that lies within one line. A match at its end is left to the next piece, which has what
// follows.
func (h *hits) partOfLine(p *piece, window string) (size int) {
	p.text = window[:len(window)-runes.Unfinished(window)]
	done := max(h.piece(*p), p.ends())
	size = done - lookBehind
	*p = piece{from: position{p.from.line, p.from.byte + int64(size)}, seen: lookBehind}
	return size
}

// piece shows the matches of one piece. It returns the end of the last one.
func (h *hits) piece(p piece) (done int) {
	if p.begins() {
		h.line = lineShare{shown: h.shown.Len(), found: h.found}
	}
	if h.line.over {
		return 0
	}
	start, end, ok := 0, 0, false
	if p.from.line >= h.first {
		start, end, ok = h.pattern.from(p.text, p.seen)
	}
	if !ok || start >= p.ends() {
		h.pass(p)
		return 0
	}
	if p.begins() && p.last && len(p.text) <= h.short {
		if line, size := h.render(p.text, h.short); size == len(p.text) {
			h.show(p.from, label(p.from.line, ':')+line+"\n")
			return end
		}
	}
	return h.windows(p, start, end)
}

// windows shows the surroundings of the matches in a long line. It returns the end of the last one.
func (h *hits) windows(p piece, start, end int) (done int) {
	for ok := true; ok && start < p.ends(); {
		shownTo := int(h.line.end - p.from.byte)
		if start >= shownTo || min(end, start+h.beside) > shownTo {
			shownTo = h.surroundings(p, start)
		}
		if h.full || h.line.over || h.ended() != nil {
			return end
		}
		done = h.skip(p.text, start, end, shownTo)
		start, end, ok = h.pattern.from(p.text, done)
	}
	return done
}

// surroundings shows a match and what is beside it, or notes that there is no room. It returns where that ends.
func (h *hits) surroundings(p piece, match int) (stop int) {
	// A match at the very end is found again from the character before it, where there is something to seek.
	here := position{p.from.line, p.from.byte + int64(min(match, runes.Floor(p.text, len(p.text)-1)))}
	if h.overShare() {
		h.miss(here)
		h.line.over = true
		return match
	}
	left, shown := h.lead(p.text, match, int(h.line.end-p.from.byte))
	right, size := h.render(p.text[match:], 2*h.beside)
	begin := position{p.from.line, p.from.byte + int64(left)}
	if h.show(here, label(begin.line, ':')+shown+right+" ["+begin.hint(true)+"]\n") {
		h.line.end = p.from.byte + int64(match+size)
	}
	return match + size
}

// lead renders what stands before a match and behind what is shown already.
func (h *hits) lead(text string, match, shownTo int) (left int, shown string) {
	for _, most := range []int{h.beside, h.beside / 4} { // escaped, a byte takes four
		left = min(max(runes.Ceil(text, match-most), shownTo), match)
		if shown, _ = h.render(text[left:match], 4*h.beside); len(shown) <= h.beside {
			break
		}
	}
	return left, shown
}

// overShare reports whether a line has had half of the answer: the others are to have a chance as well.
func (h *hits) overShare() bool {
	return !h.line.asked && (2*(h.shown.Len()-h.line.shown) > h.budget || 2*(h.found-h.line.found) >= h.limit)
}

// skip passes over the matches that are shown whole beside another, and returns where to search on. It does not look far
// ahead at each, lest a pattern that does make the search quadratic.
func (h *hits) skip(text string, start, end, shownTo int) (done int) {
	near := text[:runes.Floor(text, shownTo+lookAhead)]
	done = end
	for ok := true; ok && end <= shownTo; start, end, ok = h.pattern.from(near, done) {
		done = max(end, start+1) // an empty match would be found again
	}
	return done
}

// show writes a match with as many of the lines before it as there is room for.
func (h *hits) show(at position, entry string) bool {
	if h.found == h.limit || !h.fits(len(entry)) {
		h.miss(at)
		h.full = true
		return false
	}
	for _, p := range slices.Backward(h.above) {
		if p.from.line == at.line {
			continue // it began in an earlier piece
		}
		line := h.context(p)
		if at.line-p.from.line > int64(h.around) || !h.fits(len(line)+len(entry)) {
			break
		}
		entry = line + entry
	}
	h.shown.WriteString(entry)
	h.found++
	h.above, h.after = nil, h.around
	return true
}

func (h *hits) fits(size int) bool { return h.shown.Len()+size <= h.budget }

func (h *hits) miss(at position) {
	if h.next == nil {
		h.next = &at
	}
}

// pass keeps or shows a line without a match, as the matches around it need it.
func (h *hits) pass(p piece) {
	if h.around == 0 || !p.begins() {
		return
	}
	if h.after > 0 {
		if line := h.context(p); h.fits(len(line)) {
			h.after--
			h.shown.WriteString(line)
			return
		}
	}
	h.after = 0
	h.above = append(h.above, p)
	if len(h.above) > h.around+1 { // one may be the beginning of the line that matches
		h.above = h.above[1:]
	}
}

// context renders a line that is shown for what is beside it: of a long one the beginning.
func (h *hits) context(p piece) string {
	shown, size := h.render(p.text, h.short)
	if size < len(p.text) {
		shown += " [" + p.from.hint(true) + "]"
	}
	return label(p.from.line, '-') + shown + "\n"
}

func (h *hits) render(text string, room int) (shown string, size int) {
	shown, size, escaped := showText(text, room)
	h.odd = h.odd || escaped
	return shown, size
}
