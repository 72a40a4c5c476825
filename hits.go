package toolresult

// Finding and showing matches, line by line, in pieces of bounded size.

import (
	"context"
	"regexp"
	"strconv"
	"strings"
)

const (
	pieceBytes   = 1 << 20 // how much of a text is searched at a time
	overlapBytes = 4 << 10 // how long a match may be that lies across two pieces of one line
	lookBehind   = 16      // what a pattern sees before the place where a search begins, for ^ and \b
	lineWindows  = 3       // windows into one line, so that one line cannot fill the answer
)

// hits collects what a search shows.
type hits struct {
	pattern *regexp.Regexp
	budget  int // bytes
	limit   int // matches
	around  int // lines of context
	short   int // bytes up to which a line is shown whole
	beside  int // bytes shown on either side of a match in a longer line

	shown  strings.Builder
	found  int
	next   *position // where to search on; nil at the end of the text
	before []string  // rendered lines that come before a match, if one follows
	after  int       // lines still to be shown behind a match
}

// newHits sizes what is shown of a line so that one line fits into the answer, though each byte may need four to be shown.
func newHits(pattern *regexp.Regexp, budget int, args *searchArguments) *hits {
	h := &hits{
		pattern: pattern, budget: budget, limit: defaultMatches,
		around: int(min(max(args.Context, 0), maxContextLines)),
		short:  min(500, (budget-20)/4),
		beside: min(200, (budget-60)/12),
	}
	if args.Limit > 0 {
		h.limit = int(min(args.Limit, maxMatches))
	}
	return h
}

// piece is a line, or a part of one that is longer than a piece.
type piece struct {
	from  position
	text  string
	seen  int  // bytes at the beginning that a match may look at but not begin in
	whole bool // all of the line
	last  bool // the line ends here
}

// search goes through a text from a position, which is byte at of it, until it ends or the answer is full.
func (h *hits) search(ctx context.Context, text storedText, from position, at int64) error {
	back := min(lookBehind, from.byte)
	p := piece{from: position{from.line, from.byte - back}, seen: int(back), whole: from.byte == 0}
	for at -= back; at < text.size() && h.next == nil; {
		if err := ctx.Err(); err != nil {
			return err
		}
		window, err := text.window(ctx, at, pieceBytes)
		if err != nil {
			return err
		}
		size := 0
		size, p = h.window(p, window, at+int64(len(window)) >= text.size())
		at += int64(size)
	}
	return nil
}

// window searches the lines of a window, the first of which is p's. It returns how much of the window is done with, and
// the piece to be searched next.
func (h *hits) window(p piece, window string, final bool) (size int, next piece) {
	for size < len(window) && h.next == nil {
		line, _, ended := strings.Cut(window[size:], "\n")
		if !ended && !final {
			if size == 0 {
				return h.partOfLine(p, window)
			}
			return size, p // the next window begins with this line
		}
		p.text, p.last = line, true
		h.piece(p)
		size += len(line) + 1
		p = piece{from: position{line: p.from.line + 1}, whole: true}
	}
	return size, p
}

// partOfLine searches a window that lies within one line. What comes next sees its end once more, with a match in it.
func (h *hits) partOfLine(p piece, window string) (size int, next piece) {
	p.text, p.whole = window, false
	h.piece(p)
	size = len(window) - overlapBytes - lookBehind
	return size, piece{from: position{p.from.line, p.from.byte + int64(size)}, seen: lookBehind}
}

// piece shows the matches of one piece.
func (h *hits) piece(p piece) {
	ends := len(p.text) + 1
	if !p.last {
		ends = len(p.text) - overlapBytes // matches behind it are for the next piece, which has what follows
	}
	at, end, ok := findFrom(h.pattern, p.text, p.seen)
	switch {
	case !ok || at >= ends:
		h.pass(p)
	case p.whole && len(p.text) <= h.short:
		h.show(p.from, label(p.from.line, ':')+visible(p.text)+"\n")
	default:
		h.windows(p, at, end, ends)
	}
}

// windows shows the surroundings of the matches in a long line.
func (h *hits) windows(p piece, at, end, ends int) {
	ok := true
	for n := 0; ok && at < ends; n++ {
		here := position{p.from.line, p.from.byte + int64(at)}
		if n == lineWindows {
			h.write(here, "["+here.hint(true)+"]\n", 0)
			return
		}
		start, stop := runeFloor(p.text, at-h.beside), runeCeil(p.text, min(end, at+h.beside)+h.beside)
		begin := position{p.from.line, p.from.byte + int64(start)}
		if !h.show(here, label(p.from.line, ':')+visible(p.text[start:stop])+" ["+begin.hint(true)+"]\n") {
			return
		}
		at, end, ok = findFrom(h.pattern, p.text, max(stop, at+1))
	}
}

// findFrom finds the first match that begins at or behind an index, and lets the pattern see what stands before it.
func findFrom(pattern *regexp.Regexp, text string, from int) (start, end int, ok bool) {
	if from > len(text) {
		return 0, 0, false
	}
	back := runeFloor(text, from-lookBehind)
	for _, m := range pattern.FindAllStringIndex(text[back:], from-back+2) {
		if back+m[0] >= from {
			return back + m[0], back + m[1], true
		}
	}
	return 0, 0, false
}

// show writes a match with the lines before it, if it fits.
func (h *hits) show(at position, entry string) bool {
	if h.found == h.limit {
		h.next = &at
		return false
	}
	before := strings.Join(h.before, "")
	if !h.write(at, before+entry, 1) && !(before != "" && h.retry(at, entry)) {
		return false
	}
	h.before, h.after = nil, h.around
	return true
}

// retry gives up the context of a match for which there is no room with it.
func (h *hits) retry(at position, entry string) bool {
	h.next = nil
	return h.write(at, entry, 1)
}

// write adds an entry, or notes where to search on.
func (h *hits) write(at position, entry string, matches int) bool {
	if h.shown.Len()+len(entry) > h.budget && h.shown.Len() > 0 {
		h.next = &at
		return false
	}
	h.shown.WriteString(entry)
	h.found += matches
	return true
}

// pass keeps or shows a line without a match, as the matches around it need it.
func (h *hits) pass(p piece) {
	if h.around == 0 || !p.whole {
		return
	}
	line := label(p.from.line, '-') + visible(p.text[:runeFloor(p.text, h.short)]) + "\n"
	if h.after > 0 && h.shown.Len()+len(line) <= h.budget {
		h.after--
		h.shown.WriteString(line)
		return
	}
	h.before = append(h.before, line)
	if len(h.before) > h.around {
		h.before = h.before[1:]
	}
}

func label(line int64, mark byte) string {
	return strconv.FormatInt(line, 10) + string(mark) + " "
}

func visible(text string) string {
	shown, _, _ := showText(text, len(text)*4)
	return shown
}
