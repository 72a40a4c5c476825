package runes_test

// What must hold for any bytes, at every place in which they may be cut.

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eino-toolresult/toolresult/internal/runes"
)

var texts = []struct{ text, reason string }{
	{"", "there is nothing"},
	{"plain ASCII, longer than a block of thirty-two bytes, and then some more", "ASCII is passed over in blocks"},
	{"ä工😀é", "a character has up to four bytes"},
	{strings.Repeat("x", 31) + "工" + strings.Repeat("y", 600) + strings.Repeat("😀", 300), "blocks and pieces end inside of characters"},
	{"a\xe5\xb7", "the text ends in a character"},
	{"\xf0\x9f\x98", "it is nothing but the beginning of one"},
	{"\xe5(\xe5\xb7(\xf0\x9f(", "a character begins and never comes to its end"},
	{"\x80\xbf\x80\xbf\x80x", "bytes that begin nothing"},
	{"\xff\xfe\xc0\xaf\xed\xa0\x80", "no UTF-8 has these bytes"},
	{"a\x00b\x00", "providers refuse NUL"},
}

func TestPrintable(t *testing.T) {
	for _, tc := range texts {
		shown := runes.Printable(tc.text)
		assert.True(t, utf8.ValidString(shown) && !strings.Contains(shown, "\x00"), "%q: %s", tc.text, tc.reason)
		assert.Equal(t, utf8.RuneCountInString(tc.text), utf8.RuneCountInString(shown), "%q: %s", tc.text, tc.reason)
	}
	assert.Equal(t, "工�x�", runes.Printable("工\x00x\xff"), "only what is bad is replaced")
}

func TestCountsCharacters(t *testing.T) {
	for _, tc := range texts {
		want := utf8.RuneCountInString(tc.text)
		assert.Equal(t, want, runes.Count(tc.text), "%q: %s", tc.text, tc.reason)
		if utf8.ValidString(tc.text) {
			assert.Equal(t, want, runes.CountStarts(tc.text), "%q: %s", tc.text, tc.reason)
		}
	}
}

func TestCut(t *testing.T) {
	for _, tc := range texts {
		all := utf8.RuneCountInString(tc.text)
		for most := range all + 2 {
			size, count := runes.Cut(tc.text, most)
			require.Equal(t, min(most, all), count, "%q: %s", tc.text, tc.reason)
			require.Equal(t, count, utf8.RuneCountInString(tc.text[:size]), "%q: %s", tc.text, tc.reason)
		}
	}
}

// No index between the two cuts is better, and both stand still where a character begins.
func TestFloorAndCeil(t *testing.T) {
	for _, tc := range texts {
		for at := -1; at <= len(tc.text)+1; at++ {
			inside := min(max(at, 0), len(tc.text))
			floor, ceil := runes.Floor(tc.text, at), runes.Ceil(tc.text, at)
			require.True(t, floor <= inside && inside <= ceil && ceil-floor <= utf8.UTFMax, "%q at %d: %s", tc.text, at, tc.reason)
			if floor == ceil {
				continue
			}
			r, size := utf8.DecodeRuneInString(tc.text[floor:])
			require.True(t, r != utf8.RuneError && floor+size == ceil, "%q at %d: only whole characters are not cut: %s", tc.text, at, tc.reason)
		}
	}
}

func FuzzPieces(f *testing.F) {
	for _, tc := range texts {
		f.Add(tc.text, uint8(0))
		f.Add(tc.text, uint8(3))
	}
	f.Fuzz(func(t *testing.T, text string, size uint8) {
		var pieces runes.Pieces
		var all strings.Builder
		characters := 0
		for rest := text; rest != ""; {
			piece := rest[:min(len(rest), int(size)+1)]
			rest = rest[len(piece):]
			joined, whole := pieces.Whole(piece)
			for _, part := range []string{joined, whole} {
				characters += utf8.RuneCountInString(part)
				all.WriteString(part)
			}
			require.Equal(t, runes.Unfinished(text[:len(text)-len(rest)]) == 0, pieces.Empty())
		}
		end := pieces.End()
		require.Equal(t, text, all.String()+end, "nothing is lost")
		require.Equal(t, utf8.RuneCountInString(text), characters+utf8.RuneCountInString(end), "and no character was cut")
		require.True(t, pieces.Empty(), "the end is given once")
	})
}
