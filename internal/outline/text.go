package outline

// Shapes as text. Objects are opened one after another, the outer ones first, as long as the budget lasts; all others stay
// closed: {…}.

import (
	"strconv"
	"strings"

	"github.com/eino-toolresult/toolresult/internal/runes"
)

const nameRunes = 64 // of a key

// shapeText opens objects and remembers which.
type shapeText struct {
	left   int            // characters of the budget
	opened map[*shape]int // and how many of their fields are shown
	queue  []*shape
}

func newShapeText(budget int) *shapeText {
	return &shapeText{left: budget, opened: make(map[*shape]int)}
}

// of returns the text of a shape with as many objects opened as fit.
func (t *shapeText) of(s *shape) string {
	t.left -= width(t.text(s))
	t.enqueue(s)
	t.openQueue()
	return t.text(s)
}

// enqueue puts the objects of a shape behind those that wait already.
func (t *shapeText) enqueue(s *shape) {
	for ; s != nil; s = s.elem {
		if s.counts[kindObject] > 0 {
			t.queue = append(t.queue, s)
		}
	}
}

func (t *shapeText) openQueue() {
	for len(t.queue) > 0 {
		s := t.queue[0]
		t.queue = t.queue[1:]
		if s.folded {
			t.openMap(s)
		} else {
			t.open(s)
		}
	}
}

// open shows as many fields of an object as fit, and how many there are where some do not.
func (t *shapeText) open(s *shape) {
	closed := width("{…}") - width("{}")
	fields, cost := fitting(t.left+closed, len(s.fields), s.keys(), func(i int) string { return t.field(s, i) })
	if fields == 0 {
		return
	}
	t.left -= cost - closed
	t.opened[s] = fields
	for i := range fields {
		t.enqueue(s.fields[i].value)
	}
}

// openMap shows all of a map but what its values have inside, or nothing.
func (t *shapeText) openMap(s *shape) {
	t.opened[s] = 1
	cost := width(t.object(s)) - width("{…}")
	if cost > t.left {
		delete(t.opened, s)
		return
	}
	t.left -= cost
	t.enqueue(s.rest)
}

// text names the kinds of a shape. What has no shape, because it lies too deep or came too late, is left out.
func (t *shapeText) text(s *shape) string {
	var names []string
	for k := kindObject; s != nil && k < kinds; k++ {
		switch {
		case s.counts[k] == 0:
		case k == kindObject:
			names = append(names, t.object(s))
		case k == kindArray:
			names = append(names, t.array(s))
		default:
			names = append(names, k.String())
		}
	}
	if names == nil {
		return "…"
	}
	return strings.Join(names, "|")
}

func (t *shapeText) array(s *shape) string {
	switch {
	case s.lengths.most > 0:
		return "[" + s.lengths.String() + " × " + t.text(s.elem) + "]"
	case s.deep:
		return "[…]"
	}
	return "[]"
}

// object is "{}" only where all objects are empty.
func (t *shapeText) object(s *shape) string {
	fields := t.opened[s]
	switch {
	case s.members.most == 0 && !s.deep:
		return "{}"
	case fields == 0:
		return "{…}"
	case s.folded:
		return t.mapping(s)
	}
	return "{" + list(fields, s.keys(), func(i int) string { return t.field(s, i) }) + "}"
}

func (t *shapeText) field(s *shape, i int) string {
	f := &s.fields[i]
	return keyText(f.name) + countText(s.optional(f), f.count) + t.text(f.value)
}

// optional says whether a complete object lacks the field. One that was cut off proves nothing.
func (s *shape) optional(f *field) bool {
	count := f.count
	if s.open > 0 && f.seen == s.counts[kindObject] {
		count--
	}
	return count < s.counts[kindObject]-s.open
}

// countText stands behind a name: how many have it, if some have not.
func countText(optional bool, count int64) string {
	if !optional {
		return ": "
	}
	return "?: " + strconv.FormatInt(count, 10) + " × "
}

// mapping shows a map as one member, under the first of its names.
func (t *shapeText) mapping(s *shape) string {
	var names []string
	for i := range s.fields {
		names = append(names, keyText(s.fields[i].name))
	}
	return "{" + s.members.String() + " × " + strings.Join(names, "|") + "|…: " + t.text(s.rest) + "}"
}

// keyText is a key in the quotes of JSON, as it stands in the text.
func keyText(name string) string {
	if size, _ := runes.Cut(name, nameRunes); size < len(name) {
		name = name[:size] + "…"
	}
	return `"` + name + `"`
}

// keys is how many keys an object has, or, of several objects that have more than there are fields for, the largest.
func (s *shape) keys() int64 {
	fields := int64(len(s.fields))
	switch {
	case s.others == 0:
		return fields
	case s.counts[kindObject] == 1:
		return fields + s.others
	}
	return max(fields, s.members.most)
}
