package outline

// A scanner of JSON that keeps no text: it goes from byte to byte, can stop anywhere, and tells shapes and spots what it
// passes. It is as strict as JSON where that tells JSON from other text (commas, brackets, numbers, quotes), and lenient
// inside of strings. NaN and Infinity are numbers, since Python writes them.

import "unicode/utf8"

// What may come next.
const (
	wantValue = 1 << iota
	wantKey
	wantColon
	wantComma
	wantEnd // of the object or array
)

// token is what a piece ended in the middle of.
type token int

const (
	noToken token = iota
	inKey
	inString
	inNumber
	inWord
	inDeep
)

// jsonScan scans documents, one after another.
type jsonScan struct {
	text string // the piece that is scanned
	base int64  // bytes before it
	line lineCount

	want    int
	within  token
	escaped bool   // the piece ended behind a backslash
	key     []byte // the beginning of a key that a piece ended in
	number  numberState
	word    string // what must follow of true, false, null, NaN or Infinity
	deep    deepScan

	depth  int
	stack  [maxDepth]frame
	arrays int // open ones
	shapes shapes
	root   *shape

	docs, members, elements int64
	rows                    bool // each document has lines of its own, and no more than one
	docLine                 int64
	spots                   spots

	failed bool
	fault  excerpt
	end    int64 // bytes that were understood
}

// frame is an object or array that is open.
type frame struct {
	object bool
	node   *shape // of the object or array; nil where there was no room
	slot   *shape // of the value that comes next
	hint   int    // which field is likely to be the next
	count  int64  // members or elements
	spot   *spot  // if its elements may be shown
}

func newJSONScan(budget int) *jsonScan {
	kept := utf8.UTFMax * budget
	return &jsonScan{
		line: lineCount{line: 1}, want: wantValue, rows: true,
		shapes: newShapes(budget), spots: newSpots(kept), fault: excerpt{limit: kept},
	}
}

func (s *jsonScan) feed(text string) {
	s.text = text
	at := 0
	if !s.failed {
		at = s.resume()
	}
	for at < len(text) && !s.failed {
		at = s.next(at)
	}
	s.spots.flush(text)
	s.fault.flush(text)
	s.base += int64(len(text))
	if !s.failed {
		s.end = s.base
	}
	s.text = ""
}

// resume goes on with the token that the last piece ended in.
func (s *jsonScan) resume() int {
	switch s.within {
	case inKey:
		return s.restOfKey()
	case inString:
		return s.restOfString(0)
	case inNumber:
		return s.restOfNumber(0)
	case inWord:
		return s.restOfWord(0)
	case inDeep:
		return s.restOfDeep(0)
	}
	return 0
}

// next takes one token, or as much of it as there is, and returns where the next begins.
func (s *jsonScan) next(at int) int {
	switch s.text[at] {
	case ' ', '\t', '\r':
		return skipBlanks(s.text, at+1)
	case '\n':
		s.line.newline(s.base + int64(at))
		return skipBlanks(s.text, at+1)
	case '"':
		return s.quote(at)
	case ':':
		return s.punctuation(at, wantColon, wantValue)
	case ',':
		if s.depth > 0 && s.stack[s.depth-1].object {
			return s.punctuation(at, wantComma, wantKey)
		}
		return s.punctuation(at, wantComma, wantValue)
	case '{':
		return s.opening(at, kindObject)
	case '[':
		return s.opening(at, kindArray)
	case '}', ']':
		return s.closing(at)
	}
	return s.plain(at)
}

func skipBlanks(text string, at int) int {
	for at < len(text) && (text[at] == ' ' || text[at] == '\t') {
		at++
	}
	return at
}

func (s *jsonScan) punctuation(at, wanted, then int) int {
	if s.want&wanted == 0 {
		return s.fail(at)
	}
	s.want = then
	return at + 1
}

// fail ends the scan. What is at the fault will be shown.
func (s *jsonScan) fail(at int) int {
	s.failed = true
	s.end = s.base + int64(at)
	s.spots.finish(at)
	s.fault.begin(at, s.place(at))
	return len(s.text)
}

func (s *jsonScan) place(at int) position { return s.line.place(s.base + int64(at)) }

// begin counts a value where it begins, so that one that is cut off counts too, and returns its shape.
func (s *jsonScan) begin(at int, k kind) *shape {
	slot := s.slot(at)
	if slot != nil {
		slot.counts[k]++
	}
	return slot
}

// slot is the shape for the next value: that of its key, of the elements of the array, or of the documents.
func (s *jsonScan) slot(at int) *shape {
	if s.depth == 0 {
		return s.document(at)
	}
	f := &s.stack[s.depth-1]
	if f.object {
		return f.slot
	}
	f.count++
	s.elements++
	if f.count == 1 && f.node != nil && f.slot == nil {
		f.node.elem = s.shapes.grow(s.depth)
		f.slot = f.node.elem
	}
	if f.spot != nil {
		f.spot.element(at, s.place(at))
	}
	return f.slot
}

// document begins a document.
func (s *jsonScan) document(at int) *shape {
	s.docs++
	if s.root == nil {
		s.root = s.shapes.grow(0)
	}
	s.rows = s.rows && s.line.line > s.docLine
	s.docLine = s.line.line
	s.spots.docs.element(at, s.place(at))
	return s.root
}

// valueEnds is called behind a value.
func (s *jsonScan) valueEnds(at int) int {
	s.within = noToken
	if s.depth == 0 {
		s.want = wantValue
		s.rows = s.rows && s.line.line == s.docLine
		s.spots.docs.last.close(at)
		return at
	}
	s.want = wantComma | wantEnd
	if spot := s.stack[s.depth-1].spot; spot != nil {
		spot.last.close(at)
	}
	return at
}

func (s *jsonScan) opening(at int, k kind) int {
	if s.want&wantValue == 0 {
		return s.fail(at)
	}
	node := s.begin(at, k)
	if s.depth == maxDepth {
		return s.openDeep(at, node)
	}
	f := frame{object: k == kindObject, node: node, spot: s.spotFor(at)}
	s.want = wantKey | wantEnd
	if k == kindArray {
		s.want = wantValue | wantEnd
		s.arrays++
		if node != nil {
			f.slot = node.elem
		}
	}
	s.stack[s.depth] = f
	s.depth++
	return at + 1
}

// spotFor chooses whose elements may be shown: arrays and maps of the first document that are in no array. Which objects
// are maps is not known yet.
func (s *jsonScan) spotFor(at int) *spot {
	if s.docs > 1 || s.arrays > 0 || s.depth >= spotLevels {
		return nil
	}
	return s.spots.open(s.depth, s.base+int64(at))
}

// closing closes the innermost object or array, if it is of the right kind.
func (s *jsonScan) closing(at int) int {
	if s.want&wantEnd == 0 || s.stack[s.depth-1].object != (s.text[at] == '}') {
		return s.fail(at)
	}
	s.leave(at, s.base+int64(at))
	return s.valueEnds(at + 1)
}

// leave takes the innermost object or array off the stack.
func (s *jsonScan) leave(at int, end int64) {
	s.depth--
	f := &s.stack[s.depth]
	if !f.object {
		s.arrays--
	}
	if f.node != nil && f.object {
		f.node.members.add(f.count)
	} else if f.node != nil {
		f.node.lengths.add(f.count)
	}
	if f.spot != nil {
		s.spots.close(s.depth, s.text, at, end, !f.object || f.node != nil && f.node.folded)
	}
}
