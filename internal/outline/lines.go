package outline

// Lines that HeadTailSampler of the root has shown, cut further until they fit into a budget for all of them.

import (
	"strconv"
	"strings"

	"github.com/eino-toolresult/toolresult/internal/runes"
)

const usefulRunes = 100 // a line that is cut to less says too little: fewer lines are shown

// cutLines is what a HeadTailSampler shows whose lines are cut after limit characters.
type cutLines struct {
	text  string
	limit int
}

// shownLine is one of the lines. Where some are left out before it, gap says from which on.
type shownLine struct {
	number, gap, text string
	total             int // characters of the whole line
}

// fit shows as many lines as fit, the first and the last of them, and cuts them alike.
func (c cutLines) fit(budget int) string {
	if width(c.text) <= budget {
		return c.text
	}
	lines := c.parse()
	for most := len(lines); most > 2; most -= 2 {
		if shown := joinLines(thin(lines, most), budget); width(shown) <= budget {
			return shown
		}
	}
	few := thin(lines, max(2, min(2*EndLines, budget/usefulRunes)))
	return joinLines(few, widest(few, budget))
}

// parse takes the lines apart again. A line that was not cut has at most limit characters, so that one with more ends in
// a clip mark, whatever the text itself looks like.
func (c cutLines) parse() []shownLine {
	var lines []shownLine
	gap := ""
	for line := range strings.SplitSeq(c.text, "\n") {
		number, text, ok := strings.Cut(line, ": ")
		if !ok {
			gap, _, _ = strings.Cut(strings.TrimPrefix(line, "["), "-")
			continue
		}
		l := shownLine{number: number, gap: gap, text: text, total: width(text)}
		if l.total > c.limit {
			mark := strings.LastIndex(text, " [")
			_, total, _ := strings.Cut(text[mark:], "/")
			l.text = text[:mark]
			l.total, _ = strconv.Atoi(strings.TrimSuffix(total, "]"))
		}
		lines = append(lines, l)
		gap = ""
	}
	return lines
}

// thin keeps the first and the last lines, most of them.
func thin(lines []shownLine, most int) []shownLine {
	out := len(lines) - most
	if out <= 0 {
		return lines
	}
	head := (most + 1) / 2
	kept := append([]shownLine(nil), lines[:head]...)
	kept = append(kept, lines[head+out:]...)
	kept[head].gap = lines[head].number
	if inside := lines[head].gap; inside != "" {
		kept[head].gap = inside
	}
	return kept
}

// widest finds after how many characters lines must be cut to fit.
func widest(lines []shownLine, budget int) int {
	low, high := 0, budget
	for low < high {
		middle := (low + high + 1) / 2
		if width(joinLines(lines, middle)) <= budget {
			low = middle
		} else {
			high = middle - 1
		}
	}
	return low
}

// joinLines shows lines as HeadTailSampler does, each cut after limit characters.
func joinLines(lines []shownLine, limit int) string {
	var b strings.Builder
	for i, line := range lines {
		if i > 0 {
			b.WriteByte('\n')
		}
		if line.gap != "" {
			b.WriteString("[" + line.gap + "-" + before(line.number) + "]\n")
		}
		b.WriteString(line.number + ": " + clipped(line.text, limit, line.total))
	}
	return b.String()
}

// before is the number of the line before another.
func before(number string) string {
	n, _ := strconv.ParseInt(number, 10, 64)
	return strconv.FormatInt(n-1, 10)
}

// clipped cuts a text after so many characters, and says how many there are in all where some are missing.
func clipped(text string, limit, total int) string {
	size, kept := runes.Cut(text, limit)
	if size == len(text) && kept >= total {
		return text
	}
	return text[:size] + ofAll(kept, int64(total))
}
