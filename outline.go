package toolresult

// An outline shows the shape of structured text where a sample of lines would show only its beginning: which keys there
// are, of which types and how many, and where to read on. It refuses to guess: what is not clearly JSON or a table is shown
// as lines. Nothing here decodes a document; scanners pass over it once and keep counts.

import (
	"strings"
	"unicode/utf8"
)

const (
	outlineRunes = 1000    // the default budget
	outlineMost  = 1 << 20 // what a larger budget is cut to
	byteOrder    = "\ufeff"
)

// OutlineSampler shows the shape of JSON (also concatenated, NDJSON, or cut off), CSV and TSV, and its first and last
// elements or rows, all of it within so many characters (runes). Values below 1 ask for the default, 1000.
//
//	{
//	1: "items": [3120 × {"id": number, "tags": [0-12 × string], "price"?: 88 × number|null}]
//	1: {"id":1,"tags":[]},{"id":2,"tags":["a"],"pri [46/401233]
//	1@401201: {"id":3120,"tags":["a","b"]}
//	1@401241: "total": number
//	}
//
// The shape of the elements of an array is merged over all of them: "?" marks a key that some lack, behind it is how many
// have it. Objects that serve as maps are shown as one member: {184 × "1138"|"1139"|…: {…}}. "[12/300]" says how many of the
// keys or characters are shown, "…" is what is left out, or, at the end, that the document ends early. "2: " is a line, and
// "1@401201: " the byte of a long line: offset and byte_offset of the read tool. Members of a document stand in the order in
// which they come, each with its line. NDJSON, CSV and TSV show their own lines below the shape; a table reads
// 25000 × 6 {"zip": string, "county"?: 24990 × string}, which is rows, columns and, with "?", how many cells are not empty.
//
// What was understood before a fault is shown, with the text at the fault, if it is half of the result or more. Any other
// text shows what HeadTailSampler(5, 5, runes) shows, its lines cut further until they fit into the budget.
//
// It passes over the result once, at some hundred megabytes a second. However large the result is, it keeps about a kilobyte
// for each character of the budget at most: as many shapes, excerpts of four bytes, ten lines. Keys are told apart by their
// first 256 bytes; an object has an eighth as many keys as the budget has characters, but 32 at least, and so has a table
// columns; the others are counted. Below 32 levels of nesting there are no shapes. A budget above 1048576 is cut to that.
func OutlineSampler(runes int) Sampler {
	runes = min(orDefault(runes, outlineRunes), outlineMost)
	lines := HeadTailSampler(outlineLines, outlineLines, runes)
	return func() Sample {
		return &outlineSample{budget: runes, lines: lines()}
	}
}

// outlineSample feeds the scanner that the first character asks for, and always the lines to fall back to.
type outlineSample struct {
	budget  int
	lines   Sample
	carry   string // the beginning of a character that a piece ended in
	started bool
	json    *jsonScan
	table   *tableScan
	size    int64
}

func (o *outlineSample) WriteString(text string) (int, error) {
	size := len(text)
	if _, err := o.lines.WriteString(text); err != nil {
		return 0, err
	}
	if o.carry != "" {
		text = o.finishCarry(text)
	}
	whole := len(text) - unfinished(text)
	o.feed(text[:whole])
	o.carry += strings.Clone(text[whole:])
	return size, nil
}

// finishCarry feeds the character that the last piece ended in, and returns what comes behind it. The scanners so never
// see half a character.
func (o *outlineSample) finishCarry(text string) string {
	taken := min(len(text), utf8.UTFMax-1)
	joined := o.carry + text[:taken]
	whole := len(joined) - unfinished(joined)
	o.feed(joined[:whole])
	rest := len(joined) - whole
	if rest > taken {
		o.carry = joined[whole:]
		return ""
	}
	o.carry = ""
	return text[taken-rest:]
}

func (o *outlineSample) feed(text string) {
	if text == "" {
		return
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

// start looks at the first character that counts. A byte order mark does not, and neither does white space, though no
// table begins with it.
func (o *outlineSample) start(text string) {
	if o.json == nil {
		o.json, o.table = newJSONScan(o.budget), newTableScan(o.budget)
		text = strings.TrimPrefix(text, byteOrder)
	}
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

// String shows the best that is known, and cuts it: only budgets that are too small for a single line need the cut.
func (o *outlineSample) String() string {
	o.feed(o.carry)
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
	size, _ := cutRunes(shown, o.budget)
	return printable(shown[:size])
}
