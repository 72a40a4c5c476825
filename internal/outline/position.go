package outline

// Places in the text, in the terms of the read tool.

import "strconv"

// position is a place in the text: a line from 1, so that 0 is no place, and a byte of that line from 0.
type position struct{ line, byte int64 }

// String names a position as lines are named, with the byte only in long lines, where the read tool needs it.
func (p position) String() string {
	if p.byte < usefulRunes {
		return strconv.FormatInt(p.line, 10)
	}
	return strconv.FormatInt(p.line, 10) + "@" + strconv.FormatInt(p.byte, 10)
}

// lineCount knows in which line the scanner is, and where that line began.
type lineCount struct{ line, start int64 }

func (l *lineCount) newline(at int64)        { l.line, l.start = l.line+1, at+1 }
func (l *lineCount) place(at int64) position { return position{l.line, at - l.start} }
