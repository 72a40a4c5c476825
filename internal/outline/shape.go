package outline

// The shape of JSON values: all values that stand in the same place are merged into one. Shapes have a bound in number, and
// what is beyond it is still counted.

import (
	"math/bits"
	"strings"
)

const (
	maxDepth  = 32  // levels of nesting that have a shape
	keyBytes  = 256 // by which keys are told apart
	indexFrom = 8   // fields, from which on they are looked up by an index
	foldNames = 2   // names of a map that are shown
	foldNow   = 16  // keys that are alike and make a map of an object while it is read
	foldLater = 5   // keys that are alike and make a map of an object when it is shown
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

	fields  []field        // of the objects, in the order in which they first came
	index   map[string]int // of the fields, once they are many
	members span           // of the objects that are closed, or were cut off
	open    int64          // objects that were cut off
	rest    *shape         // the values that have no field, merged
	others  int64          // how many these are
	folded  bool           // a map: no value has a field, and fields only name the first

	elem    *shape // of the arrays
	lengths span

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

// shapes makes shapes while there is room.
type shapes struct {
	all, left int
	keys      int // fields of one object
}

func newShapes(budget int) shapes {
	all := max(64, budget)
	return shapes{all: all, left: all, keys: mostNames(budget)}
}

// mostNames is how many keys an object may have, and a table columns: more than that cannot be shown by any means.
func mostNames(budget int) int { return max(32, budget/8) }

// grow returns nil where there is no room. The deeper, the less there is: one deep branch must leave room for the others.
func (t *shapes) grow(depth int) *shape {
	if t.left <= t.all/2*depth/maxDepth {
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
