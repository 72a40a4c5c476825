package toolresult_test

// The characters of an enormous line are counted in blocks and pieces, wherever other characters than ASCII fall.

import (
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"

	"github.com/eino-toolresult/toolresult"
)

func TestSampleCountsCharacters(t *testing.T) {
	for _, tc := range []struct{ odd, reason string }{
		{"工", "a character may lie across the end of a block or a piece"},
		{"😀😀", "so may one of four bytes"},
		{"e\u0301", "Unicode counts a combining mark as a character"},
		{"\xff", "a stray byte is one character"},
		{"\xe4\xb8", "an unfinished character counts by its bytes"},
	} {
		for before := range 600 {
			text := strings.Repeat("x", before+2) + tc.odd + strings.Repeat("y", 600-before)
			assert.Equal(t, countedSample(text), sampled(t, toolresult.HeadSampler(1, 1), text), "%q behind %d bytes: %s", tc.odd, before+2, tc.reason)
		}
	}
}

func FuzzSampleCount(f *testing.F) {
	f.Add("x工", 100)
	f.Add(strings.Repeat("x", 31)+"\xe4\xb8", 40)
	f.Fuzz(func(t *testing.T, text string, times int) {
		text = "x" + strings.Repeat(strings.NewReplacer("\n", "", "\r", "").Replace(text), 1+max(times, 0)%200) + "x"
		assert.Equal(t, countedSample(text), sampled(t, toolresult.HeadSampler(1, 1), text))
	})
}

// countedSample shows the first of at least two characters, which must be an x.
func countedSample(text string) string {
	return "1: x [1/" + strconv.Itoa(utf8.RuneCountInString(text)) + "]"
}
