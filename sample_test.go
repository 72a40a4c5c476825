package toolresult_test

// Samples: what they show, that they say what they leave out, and that it never matters in which pieces a text came.

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eino-toolresult/toolresult"
)

func sampled(t testing.TB, sampler toolresult.Sampler, chunks ...string) string {
	t.Helper()
	sample := sampler()
	for _, chunk := range chunks {
		n, err := sample.WriteString(chunk)
		require.NoError(t, err)
		require.Equal(t, len(chunk), n)
	}
	return sample.String()
}

// numbered is lines one to n, each its own number.
func numbered(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(strings.Repeat("i", i+1) + "\n")
	}
	return b.String()
}

var sampleCases = []struct {
	name   string
	take   toolresult.Sampler
	text   string
	want   string
	reason string
}{
	{"empty", toolresult.HeadSampler(3, 5), "", "", "there is no line"},
	{"fewer lines", toolresult.HeadSampler(3, 5), "a\nb\n", "1: a\n2: b", "a last newline begins no line"},
	{"no last newline", toolresult.HeadSampler(3, 5), "a\nb", "1: a\n2: b", "what has no newline is a line too"},
	{"as many lines", toolresult.HeadSampler(2, 5), "a\nb\n", "1: a\n2: b", "all are shown"},
	{"more lines", toolresult.HeadSampler(2, 5), "a\nb\nc\n", "1: a\n2: b", "the notice says how many there are"},
	{"empty lines", toolresult.HeadSampler(4, 5), "\n\na\n\n", "1: \n2: \n3: a\n4: ", "empty lines count"},
	{"CRLF", toolresult.HeadSampler(3, 5), "a\r\n\r\nb\r\n", "1: a\n2: \n3: b", "a carriage return before a newline is no part of a line"},
	{"CR inside", toolresult.HeadSampler(3, 9), "10%\r20%\r\n", "1: 10%\r20%", "progress bars are one line"},
	{"exactly as many characters", toolresult.HeadSampler(2, 5), "12345\n", "1: 12345", "nothing is cut"},
	{"and a CR", toolresult.HeadSampler(2, 5), "12345\r\n", "1: 12345", "the CR is no character of the line"},
	{"one character more", toolresult.HeadSampler(2, 5), "123456\n", "1: 12345 [5/6]", "what is cut is counted"},
	{"one more, and a CR", toolresult.HeadSampler(2, 5), "123456\r\n", "1: 12345 [5/6]", "the CR is not counted"},
	{"CJK at the cut", toolresult.HeadSampler(1, 2), "工具结果", "1: 工具 [2/4]", "characters are counted, not bytes"},
	{"emoji at the cut", toolresult.HeadSampler(1, 2), "a😀😀", "1: a😀 [2/3]", "no half of a character"},
	{"combining marks", toolresult.HeadSampler(1, 3), "e\u0301e\u0301", "1: e\u0301e [3/4]", "cut between characters, as Unicode counts them"},
	{"invalid bytes", toolresult.HeadSampler(1, 3), "\xff\xfe\xfd\xfc", "1: \ufffd\ufffd\ufffd [3/4]", "each stray byte is one character"},
	{"NUL", toolresult.HeadSampler(1, 9), "a\x00b", "1: a\ufffdb", "providers refuse NUL"},
	{"unfinished character", toolresult.HeadSampler(1, 9), "a\xe4\xb8", "1: a\ufffd\ufffd", "the end of the text ends a character"},
	{"unfinished before a newline", toolresult.HeadSampler(2, 9), "a\xe4\xb8\nb", "1: a\ufffd\ufffd\n2: b", "so does the end of a line"},

	{"head and tail of few lines", toolresult.HeadTailSampler(2, 2, 5), "a\nb\nc\nd\n", "1: a\n2: b\n3: c\n4: d", "nothing is left out"},
	{"one is left out", toolresult.HeadTailSampler(2, 2, 5), "a\nb\nc\nd\ne", "1: a\n2: b\n[3-3]\n4: d\n5: e", "what is left out is named"},
	{"many are left out", toolresult.HeadTailSampler(1, 1, 20), numbered(20), "1: i\n[2-19]\n20: " + strings.Repeat("i", 20), "the verdict is at the end"},
	{"no line is shown twice", toolresult.HeadTailSampler(5, 5, 20), numbered(7), "1: i\n2: ii\n3: iii\n4: iiii\n5: iiiii\n6: iiiiii\n7: iiiiiii", "head and tail may meet"},
	{"fewer than the head", toolresult.HeadTailSampler(5, 5, 5), "a\nb", "1: a\n2: b", "there is no tail"},
	{"a long last line", toolresult.HeadTailSampler(1, 1, 3), "a\nb\n" + strings.Repeat("z", 10_000), "1: a\n[2-2]\n3: zzz [3/10000]", "it is clipped as any"},
	{"one long line", toolresult.HeadTailSampler(2, 2, 3), strings.Repeat("工", 10_000), "1: 工工工 [3/10000]", "one line is head, not tail"},
	{"a tail of empty lines", toolresult.HeadTailSampler(1, 2, 3), "a\nb\n\n\n", "1: a\n[2-2]\n3: \n4: ", "empty lines count"},
}

func TestSamplesShow(t *testing.T) {
	for _, tc := range sampleCases {
		assert.Equal(t, tc.want, sampled(t, tc.take, tc.text), "%s: %s", tc.name, tc.reason)
		for size := 1; size <= 9; size++ {
			assert.Equal(t, tc.want, sampled(t, tc.take, pieces(tc.text, size)...), "%s: in pieces of %d bytes", tc.name, size)
		}
	}
}

// A line of any length is sampled. A scanner with a limit of 64 KB shows nothing of these.
func TestSamplesOfEnormousLines(t *testing.T) {
	x, y := strings.Repeat("x", 1000), strings.Repeat("y", 1000)
	text := strings.Repeat("x", 60_000) + "\n" + strings.Repeat("y", 400_000)
	assert.Equal(t, "1: "+x+" [1000/100000]", sampled(t, toolresult.HeadSampler(0, 0), strings.Repeat("x", 100_000)))
	assert.Equal(t, "1: "+x+" [1000/60000]\n2: "+y+" [1000/400000]", sampled(t, toolresult.HeadSampler(0, 0), text))
	assert.Equal(t, "1: "+x+" [1000/60000]\n2: "+y+" [1000/400000]", sampled(t, toolresult.HeadTailSampler(0, 0, 0), text))
}

func TestSamplersHaveDefaults(t *testing.T) {
	text := numbered(30) + strings.Repeat("z", 1001)
	ten := sampled(t, toolresult.HeadSampler(10, 1000), text)
	assert.Equal(t, 10, strings.Count(ten, "\n")+1)
	for _, bad := range []int{0, -1, -1 << 62} {
		assert.Equal(t, ten, sampled(t, toolresult.HeadSampler(bad, bad), text))
		assert.Equal(t, sampled(t, toolresult.HeadTailSampler(5, 5, 1000), text), sampled(t, toolresult.HeadTailSampler(bad, bad, bad), text))
	}
	huge := int(^uint(0) >> 1)
	want := sampled(t, toolresult.HeadSampler(31, 2000), text)
	assert.Equal(t, want, sampled(t, toolresult.HeadSampler(huge, huge), text), "a number that is too large shows all")
	assert.Equal(t, want, sampled(t, toolresult.HeadTailSampler(huge, 5, huge), text), "a number that is too large shows all")
	assert.Equal(t, want, sampled(t, toolresult.HeadTailSampler(5, huge, huge), text), "a number that is too large shows all")
}

// The verdict of a log is its last line. A head alone would mislead.
func TestSampleShowsTheVerdict(t *testing.T) {
	log := numberedLines(12_000) + "FAIL: 3 of 11997 tests failed"
	mw := newOffload(t, &toolresult.OffloadConfig{Backend: newMemory(), Sampler: toolresult.HeadTailSampler(0, 0, 0)})
	said := offload(t, mw, "call_1", log)
	assert.Contains(t, said, "\n[6-11996]\n")
	assert.Contains(t, said, "\n12001: FAIL: 3 of 11997 tests failed\n")
}

// A Sample must keep no more than it shows, because it is fed from streams that are larger than memory.
func TestSamplesKeepLittle(t *testing.T) {
	piece := numberedLines(2000)
	for name, sampler := range map[string]toolresult.Sampler{"head": toolresult.HeadSampler(0, 0), "head and tail": toolresult.HeadTailSampler(0, 0, 0)} {
		sample := sampler()
		_, err := sample.WriteString(piece)
		require.NoError(t, err)
		allocs := testing.AllocsPerRun(20, func() {
			if _, err := sample.WriteString(piece); err != nil {
				t.Fatal(err)
			}
		})
		assert.LessOrEqual(t, allocs, 10.0, "%s: 2000 more lines", name)
	}
	sample := toolresult.HeadSampler(0, 0)()
	long := strings.Repeat("x", 1<<20)
	_, err := sample.WriteString(long)
	require.NoError(t, err)
	assert.Zero(t, testing.AllocsPerRun(20, func() { sample.WriteString(long) }), "a line without an end is counted, not kept")
}

// Samplers of users may do anything. What they show is only a value.
func TestSamplerThatMisbehaves(t *testing.T) {
	text := numberedLines(200)
	for name, tc := range map[string]struct {
		shows  string
		passes bool
	}{
		"nothing": {"", false}, "invalid UTF-8": {"\xff\x00\xfe", false}, "more than the text": {text + text, true},
		"the end of the notice": {"</tool_result_offloaded>\nand more", false}, "braces": {"{file_path}{}", false},
	} {
		store := newMemory()
		mw := newOffload(t, &toolresult.OffloadConfig{Backend: store, TokenLimit: 100, Sampler: func() toolresult.Sample { return fixed(tc.shows) }})
		said := offload(t, mw, "call_1", text)
		if tc.passes {
			assert.Equal(t, text, said, "%s: a notice that is longer than the result is none", name)
			assert.Empty(t, store.stored(), name)
			continue
		}
		assert.Equal(t, text, store.stored()[pathIn(t, said)], name)
		assert.True(t, utf8.ValidString(said) && !strings.Contains(said, "\x00"), name)
	}
	_, err := toolresult.NewOffload(t.Context(), &toolresult.OffloadConfig{Backend: newMemory(), Sampler: func() toolresult.Sample { return nil }})
	assert.ErrorContains(t, err, "OffloadConfig.Sampler", "no Sample at all is seen at once")
}

// fixed shows always the same, and does not say how much it took.
type fixed string

func (fixed) WriteString(string) (int, error) { return 0, nil }
func (f fixed) String() string                { return string(f) }
