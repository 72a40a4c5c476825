package outline

// What an outline of JSON consists of: the shape, below it the first and the last elements, and the fault, if there is one.

import (
	"slices"
	"strings"

	"github.com/eino-toolresult/toolresult/internal/runes"
)

// believed says whether the text is JSON. Half of it must be, and a fault near the beginning, as in "[1] see below", is not
// made up for by a few brackets.
func (s *jsonScan) believed(size int64) bool {
	if !s.failed {
		return s.members+s.elements > 0 || s.docs > 0 && s.depth == 0
	}
	return 2*s.end >= size && (s.members > 0 || s.elements > 2)
}

// finish leaves what is open, and says whether the text ended early.
func (s *jsonScan) finish() bool {
	early := s.failed || s.depth > 0 || s.within != noToken
	for s.depth > 0 {
		if f := &s.stack[s.depth-1]; f.object && f.node != nil {
			f.node.open++
		}
		s.leave(0, s.end)
	}
	return early
}

// outline shows the shape in what the elements leave, and the elements in what the shape leaves. Two fifths are theirs if
// they need it. Where there are no elements to show, lines are; members with places come before these.
func (s *jsonScan) outline(budget int, lines cutLines) string {
	early := s.finish()
	members := s.membersHavePlaces()
	s.fold(members)
	fault := s.faultLine(budget / 5)
	budget -= width(fault)
	spot := s.spot()
	elements := spot.lines()
	wanted := width(joinLines(elements, budget))
	if spot == nil && !members {
		wanted = width(lines.text)
	}
	rows := s.rowsOfShape(budget-min(wanted, budget*2/5)-1, members, early)
	left := budget - rowsSize(rows)
	switch {
	case spot != nil:
		rows = append(rows, spotRows(elements, spot, left)...)
		slices.SortStableFunc(rows, shownRow.compare)
	case left > usefulRunes/2:
		rows = append(rows, shownRow{text: lines.fit(left - 1)})
	}
	return joinRows(rows) + fault
}

// fold leaves the outermost object as it is where its members are shown with their places.
func (s *jsonScan) fold(members bool) {
	if !members {
		s.shapes.foldAll(s.root)
		return
	}
	for i := range s.root.fields {
		s.shapes.foldAll(s.root.fields[i].value)
	}
}

// spot is where elements are shown from: the documents, if there are several and not one a line, or the largest array or
// map, if it is a part of the document that matters.
func (s *jsonScan) spot() *spot {
	switch {
	case s.docs > 1 && s.rows:
		return nil
	case s.docs > 1:
		return s.spots.docs
	case 10*s.spots.largest.size > s.end && s.spots.largest.first.at.line > 0:
		return s.spots.largest
	}
	return nil
}

// lines shows white space only inside of strings: indentation says nothing and costs much.
func (p *spot) lines() []shownLine {
	var lines []shownLine
	if p == nil {
		return lines
	}
	for _, e := range []*excerpt{&p.first, &p.last} {
		if e.at.line == 0 {
			continue
		}
		kept := string(e.kept)
		text := squeeze(runes.Printable(kept[:len(kept)-runes.Unfinished(kept)]))
		total := width(text)
		if e.size > int64(len(e.kept)) {
			total = max(total+1, e.total)
		}
		lines = append(lines, shownLine{number: e.at.String(), text: text, total: total})
	}
	return lines
}

// spotRows shows the last element only if the first text does not reach it.
func spotRows(lines []shownLine, p *spot, left int) []shownRow {
	if whole := joinLines(lines[:1], left); width(whole) < left {
		return []shownRow{{at: p.first.at, text: whole}}
	}
	limit := widest(lines, left-len(lines))
	if limit < 10 {
		return nil
	}
	rows := []shownRow{{at: p.first.at, text: joinLines(lines[:1], limit)}}
	if len(lines) > 1 {
		rows = append(rows, shownRow{at: p.last.at, text: joinLines(lines[1:], limit)})
	}
	return rows
}

// squeeze takes the white space out that is not in a string.
func squeeze(text string) string {
	var b strings.Builder
	inString, escaped := false, false
	for i := range len(text) {
		c := text[i]
		switch {
		case escaped:
			escaped = false
		case c == '\\':
			escaped = inString
		case c == '"':
			inString = !inString
		case !inString && (c == ' ' || c == '\t' || c == '\r' || c == '\n'):
			continue
		}
		b.WriteByte(c)
	}
	return b.String()
}

// placeRunes are taken off a line for its place and its mark.
const placeRunes = 20

// faultLine is the text at the fault, to the end of its line, and how many characters there are to the end of the result.
func (s *jsonScan) faultLine(budget int) string {
	if !s.failed || budget < placeRunes {
		return ""
	}
	text, _, _ := strings.Cut(string(s.fault.kept), "\n")
	text = runes.Printable(strings.TrimSuffix(text, "\r"))
	return "\n" + s.fault.at.String() + ": " + clipped(text, budget-placeRunes, s.fault.total)
}
