package outline

// Lists of fields or columns that show as many as there is room for, and say where that is not all.

import (
	"strconv"
	"strings"
)

// fitting returns how many of the first items fit in so many characters, and how many they take. Of all there may be more
// than have a text. The mark that some are missing must fit too, so that an item may have to go that would fit alone.
func fitting(left, items int, all int64, text func(int) string) (fit, cost int) {
	taken := 0
	for i := range items {
		if i > 0 {
			taken += len(", ")
		}
		taken += width(text(i))
		whole := taken
		if int64(i+1) < all {
			whole += len(ofAll(i+1, all))
		}
		if whole > left {
			break
		}
		fit, cost = i+1, whole
	}
	return fit, cost
}

// list shows the first items of all.
func list(shown int, all int64, text func(int) string) string {
	texts := make([]string, shown)
	for i := range texts {
		texts[i] = text(i)
	}
	missing := ""
	if int64(shown) < all {
		missing = ofAll(shown, all)
	}
	return strings.Join(texts, ", ") + missing
}

// ofAll is the mark of what is not shown whole.
func ofAll(shown int, all int64) string {
	return " [" + strconv.Itoa(shown) + "/" + strconv.FormatInt(all, 10) + "]"
}

// span is the range of some numbers, none of them negative.
type span struct {
	any          bool
	fewest, most int64
}

func (s *span) add(n int64) { s.merge(span{true, n, n}) }

func (s *span) merge(other span) {
	switch {
	case !other.any:
	case !s.any:
		*s = other
	default:
		s.fewest, s.most = min(s.fewest, other.fewest), max(s.most, other.most)
	}
}

// String is one number where they are all alike.
func (s span) String() string {
	if s.fewest == s.most {
		return strconv.FormatInt(s.most, 10)
	}
	return strconv.FormatInt(s.fewest, 10) + "-" + strconv.FormatInt(s.most, 10)
}
