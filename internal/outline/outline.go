// Package outline shows the shape of structured text where a sample of lines would show only its beginning: which keys there
// are, of which types and how many, and where to read on. The text comes in pieces of any size, scanners pass over it once
// and keep counts, so that a text larger than memory costs no more memory than a small one.
//
// It refuses to guess: what is not clearly JSON, CSV or TSV is shown as lines. It decodes no document, converts no number,
// unescapes no string, and has no words of its own that would need a language.
package outline

import (
	"io"
	"strings"
	"unicode/utf8"

	"github.com/eino-toolresult/toolresult/internal/runes"
)

// EndLines is how many lines are shown of the beginning, and how many of the end, where there is room.
const EndLines = 5

const byteOrderMark = "\ufeff"

// Lines shows the text where the shape of it is unknown, or leaves room. It must show EndLines lines of the beginning and as
// many of the end, in the form of HeadTailSampler, each cut after as many characters as the outline may have.
type Lines interface {
	io.StringWriter
	String() string
}

// Sample is the outline of one text. It feeds the scanner that the first character asks for, and always the lines to fall
// back to.
type Sample struct {
	budget  int
	lines   Lines
	pieces  runes.Pieces // the scanners never see half a character
	started bool
	json    *jsonScan
	table   *tableScan
	size    int64
}

// New starts an outline of at most budget characters, at least 1. It keeps about a kilobyte for each of them at most.
func New(budget int, lines Lines) *Sample {
	return &Sample{budget: budget, lines: lines, json: newJSONScan(budget), table: newTableScan(budget)}
}

// WriteString takes the next piece in. Its errors are those of the lines.
func (o *Sample) WriteString(text string) (int, error) {
	if _, err := o.lines.WriteString(text); err != nil {
		return 0, err
	}
	joined, rest := o.pieces.Whole(text)
	o.feed(joined)
	o.feed(rest)
	return len(text), nil
}

func (o *Sample) feed(text string) {
	if text == "" {
		return
	}
	if o.size == 0 && strings.HasPrefix(text, byteOrderMark) {
		o.size = int64(len(byteOrderMark))
		o.json.base = o.size
		text = text[len(byteOrderMark):]
	}
	if !o.started {
		o.start(text)
	}
	o.size += int64(len(text))
	if o.json != nil {
		o.json.feed(text)
	}
	if o.table != nil {
		o.table.feed(text)
	}
}

// start looks at the first character that counts, and drops a scanner. White space leaves both: NDJSON may begin with it,
// and so may a table, in which no cell stands before a tab.
func (o *Sample) start(text string) {
	first := strings.TrimLeft(text, " \t\r\n")
	if first == "" {
		return
	}
	o.started = true
	if first[0] == '{' || first[0] == '[' {
		o.table = nil
	} else {
		o.json = nil
	}
}

// String shows the best that is known. It is called once, after the last piece. Only budgets that are too small for a single
// line need its cut.
func (o *Sample) String() string {
	o.feed(o.pieces.End())
	lines := cutLines{text: o.lines.String(), limit: o.budget}
	shown := ""
	switch {
	case o.json != nil && o.json.believed(o.size):
		shown = o.json.outline(o.budget, lines)
	case o.table != nil && o.table.believed():
		shown = o.table.outline(o.budget, lines)
	default:
		shown = lines.fit(o.budget)
	}
	size, _ := runes.Cut(shown, o.budget)
	return runes.Printable(shown[:size])
}

func width(text string) int { return utf8.RuneCountInString(text) }
