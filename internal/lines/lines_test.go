package lines_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eino-toolresult/toolresult/internal/lines"
)

const block = lines.BlockBytes

func encode(text, id string) string {
	var x lines.Index
	lines.Add(&x, text)
	return x.Encode(id)
}

func decode(encoded, id string, size int64) (newlines, count int64, err error) {
	x, err := lines.Decode(encoded, id, size)
	if err != nil {
		return 0, 0, err
	}
	return x.Newlines(), x.Lines(), nil
}

func numbered(bytes int) string {
	var text strings.Builder
	for i := 0; text.Len() < bytes; i++ {
		fmt.Fprintf(&text, "line %d of the text\n", i+1)
	}
	return text.String()
}

var indexed = []struct{ text, reason string }{
	{"", "nothing"},
	{"\n", "an empty line"},
	{"no newline", "an open line"},
	{strings.Repeat("x", block-1) + "\n", "a whole block"},
	{strings.Repeat("x", block), "an open block"},
	{strings.Repeat("\n", 3*block), "nothing but newlines: three bytes a block"},
	{strings.Repeat("x", 2*block) + "\n" + strings.Repeat("y", block), "a line over several blocks"},
	{numbered(1 << 20), "an ordinary text"},
}

func TestFormat(t *testing.T) {
	for _, c := range indexed {
		encoded := encode(c.text, "id")
		newlines, count, err := decode(encoded, "id", int64(len(c.text)))
		require.NoError(t, err, c.reason)
		assert.EqualValues(t, strings.Count(c.text, "\n"), newlines, c.reason)
		assert.EqualValues(t, lineCount(c.text), count, c.reason)
		assert.LessOrEqual(t, len(encoded), 60+3*len(c.text)/block, c.reason)

		_, _, err = decode(encoded, "other", int64(len(c.text)))
		assert.Error(t, err, "the index of another result")
		_, _, err = decode(encoded, "id", int64(len(c.text)+1))
		assert.Error(t, err, "the index of another size")
		for _, cut := range []int{0, 1, 4, len(encoded) / 2, len(encoded) - 1} {
			_, _, err = decode(encoded[:cut], "id", int64(len(c.text)))
			assert.Error(t, err, "an index cut at %d", cut)
		}
		for at := range min(len(encoded), 200) {
			bad := []byte(encoded)
			bad[at] ^= 0x40
			_, _, err = decode(string(bad), "id", int64(len(c.text)))
			assert.Error(t, err, "an index with a wrong byte at %d", at)
		}
	}
}

func lineCount(text string) int {
	n := strings.Count(text, "\n")
	if text != "" && !strings.HasSuffix(text, "\n") {
		n++
	}
	return n
}

// FuzzDecode holds that no index, however made, is believed of a size that it does not have, and none makes trouble.
func FuzzDecode(f *testing.F) {
	for _, c := range indexed {
		f.Add(encode(c.text, "id"), int64(len(c.text)))
	}
	f.Fuzz(func(t *testing.T, encoded string, size int64) {
		if size < 0 || size > 1<<32 {
			return
		}
		newlines, count, err := decode(encoded, "id", size)
		if err == nil && (newlines < 0 || count < newlines || count > newlines+1) {
			t.Fatalf("%d newlines, %d lines", newlines, count)
		}
	})
}

// FuzzFormat holds that an index comes back as it was.
func FuzzFormat(f *testing.F) {
	for _, c := range indexed {
		f.Add(c.text[:min(len(c.text), 1000)], uint16(70), "id")
	}
	f.Fuzz(func(t *testing.T, piece string, times uint16, id string) {
		text := strings.Repeat(piece, min(int(times), 3*block/(len(piece)+1)))
		newlines, count, err := decode(encode(text, id), id, int64(len(text)))
		if err != nil || newlines != int64(strings.Count(text, "\n")) || count != int64(lineCount(text)) {
			t.Fatalf("%d newlines, %d lines, %v", newlines, count, err)
		}
	})
}

func TestIndex(t *testing.T) {
	text := strings.Repeat("x", block) + "\n" + strings.Repeat("\n", block-1) + "end\n" + strings.Repeat("y", block)
	var x lines.Index
	for rest := text; rest != ""; rest = rest[min(len(rest), 1000):] {
		lines.Add(&x, []byte(rest[:min(len(rest), 1000)]))
	}
	assert.EqualValues(t, len(text), x.Size())
	for _, c := range []struct {
		newline, block, before int64
		reason                 string
	}{
		{0, 0, 0, "the beginning is in the first block"},
		{1, 1, 0, "the first block has none"},
		{block, 1, 0, "the last one of the second"},
		{block + 1, 2, block, "the one of the third"},
		{block + 2, 3, block + 1, "there are no more: the rest"},
	} {
		assert.Equal(t, c.block, x.BlockOf(c.newline), c.reason)
		assert.Equal(t, c.before, x.Before(c.block), c.reason)
	}
	assert.EqualValues(t, block+1, x.Before(4), "all")

	grown := x.Clone()
	lines.Add(grown, strings.Repeat("z\n", block))
	assert.EqualValues(t, len(text), x.Size(), "a clone grows by itself")
	assert.EqualValues(t, block+2+block-1, grown.Lines())
}
