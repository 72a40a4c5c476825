package toolresult

// Pages of a stored result: pure functions on a window of its text. A page is bounded in lines and in bytes, inside a line
// too, and knows where the next one begins, so that following the hints shows every character once.

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/eino-toolresult/toolresult/internal/runes"
)

// position is a place in a text: a line from 1, and a byte of that line from 0.
type position struct{ line, byte int64 }

// hint is the arguments that ask for what begins here. Once a byte offset was given it is always repeated: a model that
// changes only what it must would otherwise keep the old one.
func (p position) hint(always bool) string {
	if p.byte == 0 && !always {
		return fmt.Sprintf("offset=%d", p.line)
	}
	return fmt.Sprintf("offset=%d byte_offset=%d", p.line, p.byte)
}

// page is a rendered part of a text.
type page struct {
	body    string
	next    position // where the next page begins
	ended   bool     // nothing is left
	escaped bool     // some bytes are no text
}

// pageOf renders lines of a window until lines or bytes run out. The window begins at a position of the text, and is longer
// than a page unless the text ends with it (last). A line that does not fit is cut only where more than half of the page would
// stay empty: most pages end with a line, and none is wasted on an enormous one.
func pageOf(window string, last bool, from position, lines, budget int) page {
	var b strings.Builder
	p := page{next: from}
	for ; window != "" && lines > 0; lines-- {
		line, rest, complete := strings.Cut(window, "\n")
		prefix := label(p.next.line, ':')
		room := budget - b.Len() - len(prefix) - 1
		shown, size, escaped := showText(line, room)
		whole := size == len(line) && room >= 0
		if !whole && b.Len() > budget/2 {
			break
		}
		b.WriteString(prefix + shown + "\n")
		p.escaped = p.escaped || escaped
		if complete && whole {
			p.next, window = position{line: p.next.line + 1}, rest
			continue
		}
		p.next.byte += int64(size)
		window = line[size:]
		break
	}
	p.body, p.ended = b.String(), last && window == ""
	return p
}

func label(line int64, mark byte) string {
	return strconv.FormatInt(line, 10) + string(mark) + " "
}

// showText renders the beginning of a line within so many bytes, and returns how much of the line that is. Bytes that a
// provider would refuse are escaped.
func showText(line string, room int) (shown string, size int, escaped bool) {
	line = line[:runes.Floor(line, room)]
	if printable(line) == line {
		return line, len(line), false
	}
	var b strings.Builder
	for size < len(line) {
		r, width := utf8.DecodeRuneInString(line[size:])
		text := line[size : size+width]
		bad := r == 0 || r == utf8.RuneError && width == 1
		if bad {
			text = fmt.Sprintf(`\x%02x`, line[size])
		}
		if b.Len()+len(text) > room {
			break
		}
		b.WriteString(text)
		size += width
		escaped = escaped || bad
	}
	return b.String(), size, escaped
}
