package tokenest_test

import (
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/eino-toolresult/toolresult/tokenest"
)

// samples are texts that differ in what the machine makes of them.
var samples = []struct{ name, reason, text string }{
	{"prose", "words and spaces", "The parcel was too large for the counter, so it went into a locker and the clerk wrote a ticket. "},
	{"code", "indentation, brackets, mixed case", "func (m *Meter) Write(p []byte) (int, error) {\n\tif len(p) == 0 {\n\t\treturn 0, nil\n\t}\n}\n"},
	{"json", "quotes and numbers", `{"id": 48151623, "name": "disk_usage", "ok": true, "values": [0.25, 17, -3.5e8, null]}` + "\n"},
	{"base64", "capitals inside words", "iVBORw0KGgoAAAANSUhEUgAAAXwAAADICAYAAADry1odAAAgAElEQVR4nO3dd5wkVb338c+vOk"},
	{"digits", "the place in a group of three is not to be seen from the bytes before a lane", "3141592653589793238462643383279502884197169399375105820974944592307816406286"},
	{"digit runs", "lanes that begin inside a run guess the place wrongly", "12345678901234567890123456789012345678901x"},
	{"log", "dates, levels and paths", "2026-03-01T08:15:42.118Z WARN  [pool-3] /srv/app/main.go:217 retrying in 250ms (attempt 3)\n"},
	{"chinese", "three bytes a character", "结果太大，已存入文件。请使用读取工具查看其余内容。\n"},
	{"scripts", "two, three and four bytes, one after the other", "Ещё раз: größe, ελληνικά, עברית, हिन्दी, ไทย, ქართული, 한국어, かな, 🙂🚀 ─┼─ “x”\n"},
	{"spaces", "the cheapest bytes there are", "                                                                "},
	{"stars", "a repeated character", "****************************************************************"},
	{"not UTF-8", "continuation bytes that continue nothing", "\x80\x80\xbf\xff\xfe\xc3\xe2\x28\xf0\x9f\x00\x00\x00\x00"},
}

func estimators() map[string]*tokenest.Estimator {
	return map[string]*tokenest.Estimator{
		"generic": tokenest.Generic(), "o200k": tokenest.O200K(), "cl100k": tokenest.CL100K(), "claude": tokenest.Claude(),
		"gemini": tokenest.Gemini(), "llama": tokenest.Llama(), "qwen": tokenest.Qwen(), "deepseek": tokenest.DeepSeek(),
	}
}

// metered returns the tokens of s, written in chunks of size bytes, strings and byte slices in turn.
func metered(e *tokenest.Estimator, s string, size int) int {
	m := e.Meter()
	for i := 0; len(s) > 0; i++ {
		n := min(size, len(s))
		if i%2 == 0 {
			m.WriteString(s[:n])
		} else {
			m.Write([]byte(s[:n]))
		}
		s = s[n:]
	}
	return m.Tokens()
}

// checkLaws checks what holds for every text and limit.
func checkLaws(t *testing.T, e *tokenest.Estimator, s string, limit, size int) {
	t.Helper()
	n := e.Estimate(s)
	require.LessOrEqual(t, n, len(s), "no token is shorter than a byte")
	require.Equal(t, s == "", n == 0, "0 for the empty text, and for no other")
	for _, l := range []int{limit, n - 1, n, n + 1, -1, 0} {
		require.Equal(t, n > l, e.Exceeds(s, l), "Exceeds must agree with Estimate = %d at limit %d", n, l)
	}
	require.Equal(t, n, metered(e, s, size), "a meter must not see how the text is cut, here by %d", size)
}

func TestLawsHold(t *testing.T) {
	// Lengths around the borders of lanes (48 to 510 bytes) and of blocks of six.
	lengths := []int{0, 1, 7, 11, 12, 13, 287, 288, 289, 1000, 3059, 3060, 3061, 6121, 20_000}
	for name, e := range estimators() {
		for _, sample := range samples {
			t.Run(name+"/"+sample.name, func(t *testing.T) {
				for _, n := range lengths {
					checkLaws(t, e, repeat(sample.text, n), n/5, n/7+1)
				}
			})
		}
	}
}

func TestEstimateIsThatOfOneMachine(t *testing.T) {
	// A meter that is given single bytes runs one machine and never a lane.
	r := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		var b strings.Builder
		for range 40 {
			text := samples[r.IntN(len(samples))].text
			b.WriteString(text[r.IntN(len(text)):])
			b.WriteString(strings.Repeat("7", r.IntN(400)))
		}
		s := b.String()
		require.Equal(t, metered(tokenest.O200K(), s, 1), tokenest.O200K().Estimate(s), "lanes must add up to one machine on %q", s)
	}
}

func TestMeterWhileItRuns(t *testing.T) {
	e, m := tokenest.O200K(), tokenest.O200K().Meter()
	require.Zero(t, m.Tokens(), "nothing was written yet")
	require.False(t, m.Exceeds(0), "nothing exceeds nothing")
	require.True(t, m.Exceeds(-1), "even nothing exceeds a negative limit, as Estimator.Exceeds has it")
	text := repeat(samples[6].text, 5000)
	for i := range 50 {
		n, err := m.WriteString(text[i*100 : (i+1)*100])
		require.NoError(t, err)
		require.Equal(t, 100, n, "an io.StringWriter reports what it took")
		sofar := text[:(i+1)*100]
		require.Equal(t, e.Estimate(sofar), m.Tokens(), "after %d bytes", len(sofar))
		require.Equal(t, e.Exceeds(sofar, 500), m.Exceeds(500), "after %d bytes", len(sofar))
	}
}

func TestNoAllocation(t *testing.T) {
	e, m, text := tokenest.O200K(), tokenest.O200K().Meter(), repeat(samples[1].text, 10_000)
	chunk := []byte(text[:1000])
	calls := map[string]func(){
		"Estimate":     func() { e.Estimate(text) },
		"Exceeds":      func() { e.Exceeds(text, 1000) },
		"an accessor":  func() { tokenest.O200K() },
		"Write":        func() { m.Write(chunk) },
		"WriteString":  func() { m.WriteString(text) },
		"Meter.Tokens": func() { m.Tokens() },
	}
	for name, call := range calls {
		require.Zero(t, testing.AllocsPerRun(20, call), name)
	}
}

func TestConcurrentFirstUse(t *testing.T) {
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for _, e := range estimators() {
				sink := e.Estimate(samples[0].text)
				_ = sink
			}
		})
	}
	wg.Wait()
	require.Same(t, tokenest.Llama(), tokenest.Llama(), "a profile is compiled once")
}

func TestNewEstimator(t *testing.T) {
	costs := func(change func(map[string]int)) map[string]int {
		c := map[string]int{}
		for _, f := range tokenest.Features() {
			c[f] = 100
		}
		change(c)
		return c
	}
	cases := []struct {
		name, reason string
		change       func(map[string]int)
		want         string
	}{
		{"whole", "every feature has a cost", func(map[string]int) {}, ""},
		{"bounds", "both ends of the range are allowed", func(c map[string]int) { c["Space"], c["Han"] = 0, 5000 }, ""},
		{"missing", "a cost that nobody set would be 0", func(c map[string]int) { delete(c, "Han") }, "no cost for feature Han"},
		{"unknown", "a name that prices nothing is a mistake", func(c map[string]int) { c["Hann"] = 1 }, "not in Features"},
		{"negative", "a sum could shrink, and Exceeds stop too early", func(c map[string]int) { c["Han"] = -1 }, "Han costs -1; want 0 to 5000"},
		{"dear", "three of them would not fit an entry", func(c map[string]int) { c["Han"] = 5001 }, "Han costs 5001; want 0 to 5000"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			e, err := tokenest.NewEstimator(costs(c.change))
			if c.want != "" {
				require.ErrorContains(t, err, c.want, c.reason)
				return
			}
			require.NoError(t, err, c.reason)
			checkLaws(t, e, repeat(samples[2].text, 5000), 100, 13)
		})
	}
}

func TestDearestCostsStayBelowBytes(t *testing.T) {
	costs := map[string]int{}
	for _, f := range tokenest.Features() {
		costs[f] = 5000
	}
	e, err := tokenest.NewEstimator(costs)
	require.NoError(t, err)
	for _, sample := range samples {
		checkLaws(t, e, repeat(sample.text, 4000), 100, 99)
	}
	require.Equal(t, 4000, e.Estimate(repeat("Zz ", 4000)), "five tokens a byte are cut to one")
}
