package toolresult

// Samples show the model what kind of text was put away. A sample is fed in order and in pieces of any size, so that it
// can be taken from a stream; what it shows never depends on where the pieces were cut. It has no words, only numbers:
// "12: text" is a line, "[1000/400000]" behind a line says how many of its characters are shown, and "[11-2990]" stands
// for lines that are left out.

import (
	"io"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Sampler starts a Sample of one result. It must be safe for concurrent use; the Samples it returns need not be.
type Sampler func() Sample

// Sample takes a result in, in order and in pieces of any size, and shows a small part of it. String is called once, after the
// last piece. A Sample must keep no more of the result than it shows.
type Sample interface {
	io.StringWriter
	String() string
}

// HeadSampler shows the first lines of a result, each cut after so many characters (runes). Values below 1 ask for the
// defaults, 10 lines of 1000 characters. It costs the same for any result, but for one enormous first line, which is
// counted to its end.
func HeadSampler(lines, runes int) Sampler {
	lines, runes = orDefault(lines, 10), orDefault(runes, 1000)
	return func() Sample {
		return &lineSample{head: lines, current: clip{limit: runes}}
	}
}

// HeadTailSampler shows the first and the last lines of a result, each cut after so many characters (runes): the verdict
// of a log is at its end. Values below 1 ask for the defaults, 5 and 5 lines of 1000 characters. It costs one search for
// newlines over the result.
func HeadTailSampler(head, tail, runes int) Sampler {
	head, tail, runes = orDefault(head, 5), orDefault(tail, 5), orDefault(runes, 1000)
	return func() Sample {
		return &lineSample{head: head, tail: tail, current: clip{limit: runes}}
	}
}

func orDefault(value, byDefault int) int {
	if value < 1 {
		return byDefault
	}
	return value
}

// lineSample shows the first head lines and the last tail lines.
type lineSample struct {
	head, tail int
	last       []string // the last lines behind the head; once there are tail of them, a ring
	oldest     int      // where the ring begins
	shown      strings.Builder
	lines      int64 // complete lines so far; without a tail, no more than head
	current    clip
}

func (s *lineSample) WriteString(text string) (int, error) {
	size := len(text)
	for text != "" && s.lines < int64(s.head) {
		text = s.feedLine(text)
	}
	if s.tail == 0 {
		return size, nil
	}
	text = s.skip(text)
	for text != "" {
		text = s.feedLine(text)
	}
	return size, nil
}

// feedLine takes in what belongs to the current line and returns the rest.
func (s *lineSample) feedLine(text string) string {
	end := strings.IndexByte(text, '\n')
	if end < 0 {
		s.current.add(text)
		return ""
	}
	s.current.add(text[:end])
	s.lines++
	line := s.current.finish()
	if s.lines <= int64(s.head) {
		s.show(s.lines, line)
	} else {
		s.keep(line)
	}
	return text[end+1:]
}

// keep lets the ring grow with the lines: nobody knows how large a tail was asked for.
func (s *lineSample) keep(line string) {
	if len(s.last) < s.tail {
		s.last = append(s.last, line)
		return
	}
	s.last[s.oldest] = line
	s.oldest = (s.oldest + 1) % s.tail
}

// skip passes over the lines of a piece that later lines of the same piece push out of the ring.
func (s *lineSample) skip(text string) string {
	ends := strings.Count(text, "\n")
	if ends <= s.tail {
		return text
	}
	keepFrom := len(text)
	for range s.tail + 1 {
		keepFrom = strings.LastIndexByte(text[:keepFrom], '\n')
	}
	s.current.finish()
	s.lines += int64(ends - s.tail)
	s.last, s.oldest = s.last[:0], 0
	return text[keepFrom+1:]
}

func (s *lineSample) show(number int64, line string) {
	if s.shown.Len() > 0 {
		s.shown.WriteByte('\n')
	}
	s.shown.WriteString(strconv.FormatInt(number, 10))
	s.shown.WriteString(": ")
	s.shown.WriteString(line)
}

func (s *lineSample) String() string {
	if !s.current.empty() && (s.lines < int64(s.head) || s.tail > 0) {
		s.feedLine("\n")
	}
	head, first := int64(s.head), s.lines-int64(len(s.last))+1
	if len(s.last) > 0 && first > head+1 {
		s.shown.WriteString("\n[" + strconv.FormatInt(head+1, 10) + "-" + strconv.FormatInt(first-1, 10) + "]")
	}
	for i := range s.last {
		s.show(first+int64(i), s.last[(s.oldest+i)%len(s.last)])
	}
	return s.shown.String()
}

// clip keeps the first characters of a line and counts the others.
type clip struct {
	limit       int
	shown       []byte
	kept, total int    // characters in shown, and in the line
	carry       []byte // the beginning of a character that a piece ended in
	last        byte
}

func (c *clip) empty() bool { return c.total == 0 && len(c.carry) == 0 }

func (c *clip) add(text string) {
	for text != "" && len(c.carry) > 0 {
		c.carry = append(c.carry, text[0])
		text = text[1:]
		for len(c.carry) > 0 && utf8.FullRune(c.carry) {
			_, size := utf8.DecodeRune(c.carry)
			c.take(string(c.carry[:size]))
			c.carry = c.carry[size:]
		}
	}
	whole := len(text) - unfinished(text)
	c.take(text[:whole])
	c.carry = append(c.carry, text[whole:]...)
}

// take counts characters that are complete, and keeps those that are still to be shown.
func (c *clip) take(text string) {
	if text == "" {
		return
	}
	c.last = text[len(text)-1]
	if c.kept < c.limit {
		size, runes := cutRunes(text, c.limit-c.kept)
		c.shown = append(c.shown, printable(text[:size])...)
		c.kept += runes
		c.total += runes
		text = text[size:]
	}
	c.total += countRunes(text)
}

// finish returns what is shown of the line and makes ready for the next. A carriage return before the newline is no part
// of a line; a character that never came to its end counts by its bytes.
func (c *clip) finish() string {
	for i := range c.carry {
		c.take(string(c.carry[i : i+1]))
	}
	if c.last == '\r' {
		if c.kept == c.total {
			c.shown = c.shown[:len(c.shown)-1]
			c.kept--
		}
		c.total--
	}
	if c.kept < c.total {
		c.shown = append(c.shown, " ["+strconv.Itoa(c.kept)+"/"+strconv.Itoa(c.total)+"]"...)
	}
	line := string(c.shown)
	*c = clip{limit: c.limit, shown: c.shown[:0], carry: c.carry[:0]}
	return line
}

// cutRunes returns the size of the first characters of a text, most of them, and how many they are.
func cutRunes(text string, most int) (size, runes int) {
	for at := range text {
		if runes == most {
			return at, runes
		}
		runes++
	}
	return len(text), runes
}

// unfinished returns the number of bytes at the end of a text that begin a character and do not complete it.
func unfinished(text string) int {
	for back := 1; back < utf8.UTFMax && back <= len(text); back++ {
		tail := text[len(text)-back:]
		if utf8.RuneStart(tail[0]) {
			if utf8.FullRuneInString(tail) {
				return 0
			}
			return back
		}
	}
	return 0
}

// countRunes is utf8.RuneCountInString, which takes a nanosecond for a byte: where a result is one enormous line, longer than
// all the rest of an offload. ASCII is passed over in blocks, anything else is counted in pieces.
func countRunes(text string) int {
	runes := 0
	for text != "" {
		ascii := asciiBlocks(text)
		piece := runeFloor(text[ascii:], 512)
		runes += ascii + utf8.RuneCountInString(text[ascii:ascii+piece])
		text = text[ascii+piece:]
	}
	return runes
}

// asciiBlocks returns the size of the ASCII at the beginning of a text, in whole blocks of 32 bytes.
func asciiBlocks(text string) int {
	size := 0
	for ; len(text) >= 32; text = text[32:] {
		if (eightBytes(text)|eightBytes(text[8:])|eightBytes(text[16:])|eightBytes(text[24:]))&0x8080808080808080 != 0 {
			break
		}
		size += 32
	}
	return size
}

// eightBytes is written so that compilers make one load of it.
func eightBytes(s string) uint64 {
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}
