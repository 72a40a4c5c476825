package outline

// The rows of an outline of JSON: the whole shape in one, or one for each member of the document, sorted by their places.

import (
	"strconv"
	"strings"
)

// shownRow is a line of an outline. Those with a position are sorted by it.
type shownRow struct {
	at   position
	last bool // stands behind all others
	text string
}

func (r shownRow) compare(other shownRow) int {
	if r.last != other.last {
		if r.last {
			return 1
		}
		return -1
	}
	if r.at.line != other.at.line {
		return int(min(max(r.at.line-other.at.line, -1), 1))
	}
	return int(min(max(r.at.byte-other.at.byte, -1), 1))
}

// joinRows makes a text of rows, which have no newline at their end.
func joinRows(rows []shownRow) string {
	texts := make([]string, len(rows))
	for i := range rows {
		texts[i] = rows[i].text
	}
	return strings.Join(texts, "\n")
}

func rowsSize(rows []shownRow) int { return width(joinRows(rows)) }

func (s *jsonScan) rowsOfShape(budget int, members, early bool) []shownRow {
	if members {
		return s.memberRows(budget, early)
	}
	return s.shapeRow(budget, early)
}

// shapeRow is the whole shape in a line.
func (s *jsonScan) shapeRow(budget int, early bool) []shownRow {
	before, after := "", ""
	if s.docs > 1 {
		before = strconv.FormatInt(s.docs, 10) + " × "
	}
	if early {
		after = " …"
	}
	text := newShapeText(budget - width(before+after)).of(s.root)
	return []shownRow{{text: before + text + after}}
}

// membersHavePlaces says whether the document is an object whose members begin in lines of their own, or far from each
// other in one line, so that each is shown with its place.
func (s *jsonScan) membersHavePlaces() bool {
	if s.docs != 1 || s.root.counts[kindObject] == 0 || s.root.folded || len(s.root.fields) == 0 {
		return false
	}
	first, last := s.root.fields[0].at, s.root.fields[len(s.root.fields)-1].at
	return first.line != last.line || last.byte-first.byte >= usefulRunes
}

// memberRows is the shape with a line for each member. What the members have inside is opened only when all of them have
// their line, so that an outline names the last as well as the first.
func (s *jsonScan) memberRows(budget int, early bool) []shownRow {
	end := "}"
	if early {
		end = "} …"
	}
	all := s.root.keys()
	t := newShapeText(budget - width("{\n"+end+ofAll(len(s.root.fields), all)))
	shown := s.payMembers(t)
	t.openQueue()
	rows := []shownRow{{text: "{"}}
	for i, f := range s.root.fields[:shown] {
		rows = append(rows, shownRow{at: f.at, text: f.at.String() + ": " + t.field(s.root, i)})
	}
	if int64(shown) < all {
		end = strings.TrimPrefix(ofAll(shown, all), " ") + end
	}
	return append(rows, shownRow{last: true, text: end})
}

// payMembers takes as many members as fit off the budget, all of them closed, and returns how many.
func (s *jsonScan) payMembers(t *shapeText) int {
	for i, f := range s.root.fields {
		cost := width(f.at.String() + ": " + t.field(s.root, i) + "\n")
		if cost > t.left {
			return i
		}
		t.left -= cost
		t.enqueue(f.value)
	}
	return len(s.root.fields)
}
