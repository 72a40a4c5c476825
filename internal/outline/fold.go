package outline

// Maps and merging: the shapes of the values of a map become one, and so do two shapes that come to stand in one place.

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
	switch {
	case into == nil:
		return from
	case from == nil:
		return into
	}
	t.left++
	into.deep = into.deep || from.deep
	into.lengths.merge(from.lengths)
	into.elem = t.merge(into.elem, from.elem)
	if from.counts[kindObject] > 0 {
		t.mergeObjects(into, from)
	}
	for k := range kinds {
		into.counts[k] += from.counts[k]
	}
	return into
}

func (t *shapes) mergeObjects(into, from *shape) {
	into.members.merge(from.members)
	into.open += from.open
	if from.folded && !into.folded {
		t.fold(into)
	}
	if into.folded && !from.folded {
		t.fold(from)
	}
	if !from.folded {
		for i := range from.fields {
			t.mergeField(into, from.fields[i])
		}
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
