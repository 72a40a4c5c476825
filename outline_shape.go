package toolresult

// The shape of JSON values: all values that stand in the same place are merged into one. Shapes have a bound in number, and
// what is beyond it is still counted.

import (
	"math/bits"
	"strings"
)

const (
	outlineDepth = 32  // levels of nesting that have a shape
	keyBytes     = 256 // by which keys are told apart
	indexFrom    = 8   // fields, from which on they are looked up by an index
	foldNames    = 2   // names of a map that are shown
	foldNow      = 16  // keys that are alike and make a map of an object while it is read
	foldLater    = 5   // keys that are alike and make a map of an object when it is shown
)

// kind is the type of a JSON value, in the order in which an outline names several.
type kind int

const (
	kindObject kind = iota
	kindArray
	kindString
	kindNumber
	kindBoolean
	kindNull
	kinds
)

func (k kind) String() string {
	return [kinds]string{"object", "array", "string", "number", "boolean", "null"}[k]
}

// shape is what is known of all values in one place.
type shape struct {
	counts [kinds]int64

	fields []field        // of the objects, in the order in which they first came
	index  map[string]int // of the fields, once they are many
	fewest int64          // members of the smallest object
	most   int64          // members of the largest
	open   int64          // objects that are not complete
	rest   *shape         // the values that have no field, merged
	others int64          // how many these are
	folded bool           // a map: no value has a field, and fields only name the first

	elem              *shape // of the arrays
	shortest, longest int64

	deep bool // some are too deep to be looked into
}

// field is a key and its values.
type field struct {
	name  string
	value *shape   // nil where there was no room
	count int64    // objects that have it
	seen  int64    // the last of them, by number, so that a key that comes twice counts once
	at    position // where it first came; only of the outermost object
}

// mask has a bit for each kind but null.
func (s *shape) mask() uint {
	m := uint(0)
	for k := kindObject; s != nil && k < kindNull; k++ {
		if s.counts[k] > 0 {
			m |= 1 << k
		}
	}
	return m
}

// find returns which field has a name, or -1.
func (s *shape) find(name string) int {
	if s.index != nil {
		if i, ok := s.index[name]; ok {
			return i
		}
		return -1
	}
	for i := range s.fields {
		if s.fields[i].name == name {
			return i
		}
	}
	return -1
}

// closeObject and closeArray learn how large one was when it ends.
func (s *shape) closeObject(members int64) {
	if s.counts[kindObject] == 1 || members < s.fewest {
		s.fewest = members
	}
	s.most = max(s.most, members)
}

func (s *shape) closeArray(length int64) {
	if s.counts[kindArray] == 1 || length < s.shortest {
		s.shortest = length
	}
	s.longest = max(s.longest, length)
}

// shapes makes shapes while there is room.
type shapes struct {
	all, left int
	keys      int // fields of one object
}

func newShapes(budget int) shapes {
	all := max(64, budget)
	return shapes{all: all, left: all, keys: max(32, budget/8)}
}

// grow returns nil where there is no room. The deeper, the less there is: one deep branch must leave room for the others.
func (t *shapes) grow(depth int) *shape {
	if t.left <= t.all/2*depth/outlineDepth {
		return nil
	}
	t.left--
	return &shape{}
}

// member counts a member of an object and returns the shape of its value, and where to look for the next key: documents
// repeat their keys in the same order.
func (t *shapes) member(s *shape, name string, hint, depth int, at position) (value *shape, next int) {
	if s.folded {
		return t.other(s, depth), hint
	}
	i := hint
	if hint >= len(s.fields) || s.fields[hint].name != name {
		i = s.find(name)
	}
	if i < 0 && !t.addField(s, name, depth, at) {
		return t.other(s, depth), hint
	}
	if i < 0 {
		i = len(s.fields) - 1
	}
	f := &s.fields[i]
	if f.seen != s.counts[kindObject] {
		f.seen = s.counts[kindObject]
		f.count++
	}
	return f.value, i + 1
}

// other counts a member that has no field: its value is merged with all others that have none.
func (t *shapes) other(s *shape, depth int) *shape {
	s.others++
	if s.rest == nil {
		s.rest = t.grow(depth)
	}
	return s.rest
}

// addField says whether the object has room for one more; without a shape for its value there is none, or the names would
// be more than the shapes. At each doubling it looks whether the object serves as a map.
func (t *shapes) addField(s *shape, name string, depth int, at position) bool {
	if !t.hasRoom(s) {
		return false
	}
	value := t.grow(depth)
	if value == nil {
		return false
	}
	s.appendField(field{name: strings.Clone(name), value: value, at: at})
	return true
}

func (t *shapes) hasRoom(s *shape) bool {
	n := len(s.fields)
	if n >= foldNow && bits.OnesCount(uint(n)) == 1 && alike(s) {
		t.fold(s)
		return false
	}
	return n < t.keys
}

// appendField makes an index as soon as a search through the names would take longer.
func (s *shape) appendField(f field) {
	s.fields = append(s.fields, f)
	n := len(s.fields)
	switch {
	case s.index != nil:
		s.index[f.name] = n - 1
	case n > indexFrom:
		s.index = make(map[string]int, 2*n)
		for i := range s.fields {
			s.index[s.fields[i].name] = i
		}
	}
}

// fold makes a map of an object: the shapes of its values become one.
func (t *shapes) fold(s *shape) {
	for i := range s.fields {
		s.others += s.fields[i].count
		s.rest = t.merge(s.rest, s.fields[i].value)
		s.fields[i].value = nil
	}
	s.fields = append([]field(nil), s.fields[:min(foldNames, len(s.fields))]...)
	s.folded, s.index = true, nil
}

// merge adds what is known of one place to another. It frees shapes and makes none.
func (t *shapes) merge(into, from *shape) *shape {
	if into == nil || from == nil {
		if into == nil {
			return from
		}
		return into
	}
	t.left++
	into.deep = into.deep || from.deep
	if from.counts[kindArray] > 0 {
		if into.counts[kindArray] == 0 || from.shortest < into.shortest {
			into.shortest = from.shortest
		}
		into.longest = max(into.longest, from.longest)
		into.elem = t.merge(into.elem, from.elem)
	}
	if from.counts[kindObject] > 0 {
		if into.counts[kindObject] == 0 || from.fewest < into.fewest {
			into.fewest = from.fewest
		}
		t.mergeObjects(into, from)
	}
	for k := range kinds {
		into.counts[k] += from.counts[k]
	}
	return into
}

func (t *shapes) mergeObjects(into, from *shape) {
	into.most = max(into.most, from.most)
	into.open += from.open
	if from.folded && !into.folded {
		t.fold(into)
	}
	if into.folded && !from.folded {
		t.fold(from)
	}
	for i := 0; i < len(from.fields) && !from.folded; i++ {
		t.mergeField(into, from.fields[i])
	}
	into.others += from.others
	into.rest = t.merge(into.rest, from.rest)
}

// mergeField may find that the object has become a map since the field before.
func (t *shapes) mergeField(into *shape, f field) {
	i := into.find(f.name)
	switch {
	case i >= 0 && !into.folded:
		into.fields[i].count += f.count
		into.fields[i].value = t.merge(into.fields[i].value, f.value)
	case !into.folded && t.hasRoom(into):
		into.appendField(f)
	default:
		into.others += f.count
		into.rest = t.merge(into.rest, f.value)
	}
}

// foldAll makes maps of the objects that are small, but still have values that are alike.
func (t *shapes) foldAll(s *shape) {
	if s == nil {
		return
	}
	for i := range s.fields {
		t.foldAll(s.fields[i].value)
	}
	t.foldAll(s.rest)
	t.foldAll(s.elem)
	if !s.folded && len(s.fields) >= foldLater && alike(s) {
		t.fold(s)
		t.foldAll(s.rest)
	}
}
