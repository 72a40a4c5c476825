package toolresult

// Below the deepest level that has a shape, brackets are counted and not matched: a stack as deep as the input would be
// memory that the input decides on.

type deepScan struct {
	level    int64
	inString bool
}

// restOfDeep goes to the end of the value that was too deep.
func (s *jsonScan) restOfDeep(at int) int {
	s.within = inDeep
	for at < len(s.text) {
		if s.deep.inString {
			if at = s.untilQuote(at); at == len(s.text) {
				return at
			}
			s.deep.inString = s.text[at] != '"'
			if s.deep.inString {
				return s.fail(at)
			}
			at++
			continue
		}
		at++
		if s.deepByte(at - 1); s.deep.level == 0 {
			return s.valueEnds(at)
		}
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
