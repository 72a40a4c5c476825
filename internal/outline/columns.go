package outline

// What is known of the columns of a table, which texts are tables at all, and how they are shown.

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// column counts the cells of a column by kind.
type column struct {
	counts [kinds]int64
	filled int64
}

func (c *column) add(cell string) {
	if cell == "" {
		return
	}
	c.filled++
	c.counts[cellKind(cell)]++
}

// cellKind goes by what a cell looks like, as CSV has no types: 00501 is a string, since it is no number in JSON.
func cellKind(cell string) kind {
	switch {
	case len(cell) > cellBytes:
		return kindString
	case cell[0] <= '9' && isNumber(cell):
		return kindNumber
	case len(cell) <= len("false") && (strings.EqualFold(cell, "true") || strings.EqualFold(cell, "false")):
		return kindBoolean
	}
	return kindString
}

// endCell takes the beginning of a cell, which is a name in the first row. A carriage return before the newline is no part
// of it.
func (s *tableScan) endCell(cell string) {
	if len(cell) == s.size {
		cell = strings.TrimSuffix(cell, "\r")
	}
	i := s.cells
	s.cells++
	s.blank = i == 0 && cell == ""
	switch {
	case i >= s.most:
	case s.want == 0:
		s.names = append(s.names, strings.Clone(cell[:min(len(cell), cellBytes+1)]))
	case i < len(s.columns):
		s.columns[i].add(cell)
	}
}

// row is called at the end of each. Empty lines are none.
func (s *tableScan) row() {
	cells := s.cells
	s.cells = 0
	switch {
	case s.want == 0:
		s.want = cells
		s.widths.add(int64(cells))
		s.columns = make([]column, len(s.names))
		s.given = !plausibleHeader(s.names, cells, s.comma)
	case cells == 1 && s.blank:
	default:
		s.count(cells)
		s.given = s.rows == trialRows && 2*s.fit < s.rows
	}
}

// count takes in how many cells a row had.
func (s *tableScan) count(cells int) {
	s.rows++
	if cells == s.want {
		s.fit++
	}
	s.widths.add(int64(cells))
}

// plausibleHeader wants names, no two of them alike. The first of more than two may be empty, as that of an index is, and
// the others may be numbers, as years are, but of those that are no years not more than half.
func plausibleHeader(names []string, cells int, comma byte) bool {
	seen := make(map[string]bool)
	numbers := 0
	for i, name := range names {
		switch {
		case seen[name]:
			return false
		case i > 0 && isNumber(name):
			if !isYear(name) {
				numbers++
			}
		case i == 0 && name == "" && cells > 2:
		case !isName(name) || comma == ',' && name[0] == ' ':
			return false
		}
		seen[name] = true
	}
	return cells >= 2 && 2*numbers <= len(names)
}

func isYear(number string) bool {
	return len(number) == len("2024") && (number[0] == '1' || number[0] == '2')
}

// isName tells names from sentences, code, and values such as 0.003s: a name has a letter, does not begin with a digit, and
// is short.
func isName(text string) bool {
	return strings.IndexFunc(text, unicode.IsLetter) >= 0 && !('0' <= text[0] && text[0] <= '9') &&
		len(text) <= cellBytes && strings.Count(text, " ") <= 5 && utf8.ValidString(text) &&
		!strings.ContainsAny(text, "{}<>=\x00") && strings.Count(text, "(") == strings.Count(text, ")") &&
		!strings.ContainsAny(text[len(text)-1:], ".:! ")
}

// finish ends the last row, if it is whole: with other cells than the header has, it was cut off, or would have gone on.
func (s *tableScan) finish() {
	if s.state == cellQuoted || s.state == cellBegins && s.cells == 0 {
		return
	}
	s.endCell(string(s.cell))
	if s.cells == s.want || s.cells == 1 && s.blank {
		s.row()
	}
}

// believed says whether the text is a table: a header, two rows or more, and nearly all of them as long as the header. Two
// columns are what a text with commas has by chance, and must be in nearly every row.
func (s *tableScan) believed() bool {
	if s.given || s.want == 0 {
		return false
	}
	s.finish()
	odd := s.rows - s.fit
	return s.rows >= 2 && 5*odd <= s.rows && (s.want > 2 || 20*odd <= s.rows)
}

// outline shows the columns, and rows as they are in what these leave. Two fifths are theirs if they need it.
func (s *tableScan) outline(budget int, lines cutLines) string {
	natural := width(lines.text)
	head := s.head(budget - min(natural, budget*2/5) - 1)
	left := budget - width(head) - 1
	if left < usefulRunes/2 {
		return head
	}
	return head + "\n" + lines.fit(left)
}

// head is the line above the rows. An open quote swallows the rest of the text, so that it says from which line on.
func (s *tableScan) head(budget int) string {
	before, after := strconv.FormatInt(s.rows, 10)+" × "+s.widths.String()+" {", "}"
	if s.cells > 0 || s.state == cellQuoted {
		after += " …"
	}
	if s.state == cellQuoted {
		after += " [" + strconv.FormatInt(s.quoteLine, 10) + "-" + strconv.FormatInt(s.line, 10) + "]"
	}
	all := int64(s.want)
	shown, _ := fitting(budget-width(before+after), len(s.columns), all, s.column)
	return before + list(shown, all, s.column) + after
}

// column names the types of a column as those of a key are named.
func (s *tableScan) column(i int) string {
	c := &s.columns[i]
	var names []string
	for k := range kinds {
		if c.counts[k] > 0 {
			names = append(names, k.String())
		}
	}
	types := strings.Join(names, "|")
	if names == nil {
		types = "…"
	}
	return keyText(s.names[i]) + countText(c.filled < s.rows, c.filled) + types
}
