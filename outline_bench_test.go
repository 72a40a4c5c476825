package toolresult_test

import (
	"strings"
	"testing"

	"github.com/eino-toolresult/toolresult"
)

// BenchmarkOutline asks what it costs to understand a result, beside HeadTailSampler, which only searches for newlines: an
// outline of JSON or CSV is a pass over every byte and loses by far, one of a log costs what the lines cost.
func BenchmarkOutline(b *testing.B) {
	for _, text := range []struct{ name, text string }{
		{"one-line JSON", "[" + strings.TrimSuffix(strings.ReplaceAll(jsonRows(40_000), "\n", ","), ",") + "]"},
		{"pretty JSON", indented(b, shop(20_000))}, {"NDJSON", jsonRows(40_000)}, {"CSV", csvRows(60_000, ",")}, {"log", numberedLines(60_000)},
	} {
		for _, c := range []struct {
			by   string
			take toolresult.Sampler
		}{{"OutlineSampler", toolresult.OutlineSampler(0)}, {"HeadTailSampler", toolresult.HeadTailSampler(0, 0, 0)}} {
			b.Run("text="+text.name+"/by="+c.by, func(b *testing.B) { benchmarkSampler(b, c.take, text.text) })
		}
	}
}

// BenchmarkOutlineGrows asks whether the cost grows with the text and no faster, where a text tempts to go back or to keep all:
// the figures of a row must be alike.
func BenchmarkOutlineGrows(b *testing.B) {
	for _, unit := range []struct{ name, text string }{
		{"brackets", "["}, {"objects", `{"a":`}, {"quotes", `"`}, {"empty arrays", `[[],`}, {"backslashes", `["\\`}, {"columns", "a,b,"},
	} {
		for _, size := range []struct {
			name  string
			bytes int
		}{{"1MB", 1 << 20}, {"8MB", 8 << 20}} {
			text := strings.Repeat(unit.text, size.bytes/len(unit.text))
			b.Run("text="+unit.name+"/size="+size.name, func(b *testing.B) { benchmarkSampler(b, toolresult.OutlineSampler(0), text) })
		}
	}
}

func benchmarkSampler(b *testing.B, take toolresult.Sampler, text string) {
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		sample := take()
		if _, err := sample.WriteString(text); err != nil {
			b.Fatal(err)
		}
		_ = sample.String()
	}
}
