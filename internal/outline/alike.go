package outline

// Which objects serve as maps. A record has a field for each name; a map has names that are data, and an outline of one must
// not spend its budget on them.

import "strings"

// alike says whether the values of an object are the same kind of thing under many names: objects that share most of
// their keys, arrays of the same, or plain values of one kind under names with digits in them.
func alike(s *shape) bool {
	var first *shape
	for i := range s.fields {
		value := s.fields[i].value
		switch {
		case value.mask() == 0: // null, or unknown
		case first == nil:
			first = value
		case !sameThing(first, value):
			return false
		}
	}
	if first == nil {
		return false
	}
	return first.mask() == 1<<kindObject || first.mask() == 1<<kindArray || numbered(s.fields)
}

// numbered says whether all names have a digit, as IDs and dates have.
func numbered(fields []field) bool {
	for i := range fields {
		if !strings.ContainsAny(fields[i].name, "0123456789") {
			return false
		}
	}
	return true
}

func sameThing(a, b *shape) bool {
	if a.mask() != b.mask() {
		return false
	}
	switch a.mask() {
	case 1 << kindObject:
		return sameKeys(a, b)
	case 1 << kindArray:
		return a.elem == nil || b.elem == nil || a.elem.mask() == b.elem.mask()
	}
	return true
}

// sameKeys says whether two objects share half of the keys of the larger. Maps are of the same kind as any map.
func sameKeys(a, b *shape) bool {
	if a.folded || b.folded {
		return a.folded == b.folded
	}
	shared := 0
	for i := range a.fields {
		if b.find(a.fields[i].name) >= 0 {
			shared++
		}
	}
	return 2*shared >= max(len(a.fields), len(b.fields))
}
