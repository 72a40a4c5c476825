package toolresult

// Patterns that can be searched for from the middle of a text on. Package regexp only searches from the beginning of a string,
// and what stands before that is lost to ^ and \b.

import (
	"regexp"
	"unicode/utf8"
)

type searchPattern struct {
	anywhere *regexp.Regexp
	later    *regexp.Regexp // behind the first character of a text; group 1 is the match
}

func compilePattern(expression string) (p searchPattern, err error) {
	if p.anywhere, err = regexp.Compile(expression); err != nil {
		return p, err
	}
	if p.later, err = regexp.Compile(`\A(?s:..*?)(` + expression + `)`); err != nil {
		p.later, err = regexp.Compile(`\A(?s:..*?)(` + expression + `\E)`) // an open \Q has swallowed the bracket
	}
	return p, err
}

// from finds the first match that begins at or behind an index. The index may be one byte inside a character, not more.
func (p *searchPattern) from(text string, at int) (start, end int, ok bool) {
	if at > len(text) {
		return 0, 0, false
	}
	_, before := utf8.DecodeLastRuneInString(text[:at])
	text, skipped := text[at-before:], at-before
	m := p.anywhere.FindStringIndex(text)
	if m != nil && m[0] < before {
		if m = p.later.FindStringSubmatchIndex(text); m != nil {
			m = m[2:]
		}
	}
	if m == nil {
		return 0, 0, false
	}
	return skipped + m[0], skipped + m[1], true
}
