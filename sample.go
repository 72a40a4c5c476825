package toolresult

// Samples show the model what kind of text was put away. A sample is fed in order and in pieces of any size, so that it
// can be taken from a stream; what it shows never depends on where the pieces were cut. It has no words, only numbers:
// "12: text" is a line, "[1000/400000]" behind a line says how many of its characters are shown, and "[11-2990]" stands
// for lines that are left out.

import (
	"io"
	"strconv"
	"strings"

	"github.com/eino-toolresult/toolresult/internal/runes"
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
	kept, total int // characters in shown, and in the line
	pieces      runes.Pieces
	last        byte
}

func (c *clip) empty() bool { return c.total == 0 && c.pieces.Empty() }

func (c *clip) add(text string) {
	joined, rest := c.pieces.Whole(text)
	c.take(joined)
	c.take(rest)
}

// take counts characters that are complete, and keeps those that are still to be shown.
func (c *clip) take(text string) {
	if text == "" {
		return
	}
	c.last = text[len(text)-1]
	if c.kept < c.limit {
		size, count := runes.Cut(text, c.limit-c.kept)
		c.shown = append(c.shown, printable(text[:size])...)
		c.kept += count
		c.total += count
		text = text[size:]
	}
	c.total += runes.Count(text)
}

// finish returns what is shown of the line and makes ready for the next. A carriage return before the newline is no part
// of a line; a character that never came to its end counts by its bytes.
func (c *clip) finish() string {
	rest := c.pieces.End()
	for i := range len(rest) {
		c.take(rest[i : i+1])
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
	*c = clip{limit: c.limit, shown: c.shown[:0]}
	return line
}
