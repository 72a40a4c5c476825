package outline

// Below the deepest level that has a shape, brackets are counted and not matched: a stack as deep as the input would be
// memory that the input decides on.

type deepScan struct {
	level    int64
	inString bool
}

func (s *jsonScan) openDeep(at int, node *shape) int {
	if node != nil {
		node.deep = true
	}
	s.deep = deepScan{}
	return s.restOfDeep(at)
}

// restOfDeep goes to the end of the value that was too deep.
func (s *jsonScan) restOfDeep(at int) int {
	s.within = inDeep
	for at < len(s.text) {
		if s.deep.inString {
			if at = s.untilQuote(at); at == len(s.text) {
				return at
			}
			if s.text[at] != '"' {
				return s.fail(at)
			}
			s.deep.inString = false
		} else if s.deepByte(at); s.deep.level == 0 {
			return s.valueEnds(at + 1)
		}
		at++
	}
	return at
}

func (s *jsonScan) deepByte(at int) {
	switch s.text[at] {
	case '"':
		s.deep.inString = true
	case '{', '[':
		s.deep.level++
	case '}', ']':
		s.deep.level--
	case '\n':
		s.line.newline(s.base + int64(at))
	}
}
