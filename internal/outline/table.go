package outline

// A scanner of CSV and TSV that keeps no more than the beginnings of the names, of one cell, and a count of types for each
// column. Prose and logs have commas too: a table is only what has a header and the same number of columns in its rows.

import "strings"

const (
	cellBytes   = 64      // of a cell that are kept
	headerBytes = 4 << 10 // of the first line, which say what separates columns
	trialRows   = 64      // after which a text that does not look like a table is not looked at further
)

type cellState int

const (
	cellBegins cellState = iota
	cellPlain
	cellQuoted
	cellQuoteEnds // or is one half of a doubled quote
)

// tableScan scans rows.
type tableScan struct {
	waiting string // the first line, until it is known what separates columns
	comma   byte
	state   cellState
	cell    []byte // the beginning of the cell that a piece ended in
	size    int    // bytes of it

	names   []string
	columns []column
	most    int // columns that have a type

	rows, fit int64 // without the header, and those with as many cells as it has
	cells     int   // of the current row
	want      int   // of the header
	widths    span  // cells of all rows, and of the header

	line, quoteLine int64
	blank           bool // the row has one cell, and this is empty
	given           bool // up: it is no table
}

func newTableScan(budget int) *tableScan {
	return &tableScan{most: mostNames(budget), line: 1}
}

func (s *tableScan) feed(text string) {
	if s.comma == 0 && !s.given {
		s.wait(text)
		return
	}
	for at := 0; at < len(text) && !s.given; {
		at = s.next(text, at)
	}
}

// wait keeps the first line until it is complete or long enough, and then feeds all there is.
func (s *tableScan) wait(text string) {
	taken := min(len(text), headerBytes-len(s.waiting))
	line, _, complete := strings.Cut(s.waiting+text[:taken], "\n")
	if !complete && len(line) < headerBytes {
		s.waiting = line
		return
	}
	waiting := s.waiting
	s.waiting = ""
	s.comma = separator(line)
	s.given = s.comma == 0
	s.feed(waiting)
	s.feed(text)
}

// separator is what a line has most of, outside of quotes.
func separator(line string) byte {
	var counts [256]int
	quoted := false
	for i := range len(line) {
		if line[i] == '"' {
			quoted = !quoted
		} else if !quoted {
			counts[line[i]]++
		}
	}
	best := byte(0)
	for _, c := range []byte("\t,;") {
		if counts[c] > 0 && (best == 0 || counts[c] > counts[best]) {
			best = c
		}
	}
	return best
}

// next goes on to where the current cell ends or changes its state.
func (s *tableScan) next(text string, at int) int {
	switch s.state {
	case cellBegins:
		if text[at] == '"' {
			s.state, s.quoteLine = cellQuoted, s.line
			return at + 1
		}
		s.state = cellPlain
		return s.plain(text, at)
	case cellPlain:
		return s.plain(text, at)
	case cellQuoted:
		return s.quoted(text, at)
	}
	return s.quoteEnds(text, at)
}

// plain passes over a cell without quotes. One that lies within a piece, as nearly all do, is not copied.
func (s *tableScan) plain(text string, from int) int {
	at := from
	for at < len(text) && text[at] != s.comma && text[at] != '\n' {
		at++
	}
	switch {
	case at == len(text):
		s.keep(text[from:at])
		return at
	case s.size > 0:
		s.keep(text[from:at])
		s.endCell(string(s.cell))
	default:
		s.size = at - from
		s.endCell(text[from:at])
	}
	s.endRow(text[at])
	return at + 1
}

// quoted passes over what is in quotes. It may have newlines and be of any length.
func (s *tableScan) quoted(text string, from int) int {
	end := strings.IndexByte(text[from:], '"')
	inside := text[from:]
	if end >= 0 {
		inside = inside[:end]
		s.state = cellQuoteEnds
		end = from + end + 1
	} else {
		end = len(text)
	}
	s.keep(inside)
	s.line += int64(strings.Count(inside, "\n"))
	return end
}

// quoteEnds is behind a quote in a quoted cell. What is neither a quote nor the end of the cell is no CSV; it is taken as
// the rest of the cell, so that a stray quote spoils one row and not all.
func (s *tableScan) quoteEnds(text string, at int) int {
	switch c := text[at]; c {
	case '"':
		s.state = cellQuoted
		s.keep(`"`)
	case s.comma, '\n':
		s.endCell(string(s.cell))
		s.endRow(c)
	case '\r':
	default:
		s.state = cellPlain
		return at
	}
	return at + 1
}

// keep takes the beginning of a cell.
func (s *tableScan) keep(text string) {
	s.size += len(text)
	if room := cellBytes + 1 - len(s.cell); room > 0 {
		s.cell = append(s.cell, text[:min(room, len(text))]...)
	}
}

// endRow is called behind every cell.
func (s *tableScan) endRow(behind byte) {
	s.state, s.cell, s.size = cellBegins, s.cell[:0], 0
	if behind == '\n' {
		s.line++
		s.row()
	}
}
