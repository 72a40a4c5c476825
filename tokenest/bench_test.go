package tokenest_test

// The questions: what does an estimate cost beside the rule of thumb and beside the least that reading a text can cost,
// a loop that sums its bytes? And does Exceeds cost what the limit costs, however long the text?

import (
	"fmt"
	"strings"
	"testing"

	"github.com/eino-toolresult/toolresult/tokenest"
)

var sink int

func BenchmarkEstimate(b *testing.B) {
	for _, text := range samples {
		s := repeat(text.text, 1<<20)
		b.Run(text.name+"/bytes4", func(b *testing.B) { throughput(b, s, bytes4) })
		b.Run(text.name+"/sum", func(b *testing.B) { throughput(b, s, sumBytes) })
		b.Run(text.name+"/estimate", func(b *testing.B) { throughput(b, s, tokenest.O200K().Estimate) })
	}
}

func BenchmarkMeter(b *testing.B) {
	s := repeat(samples[0].text, 1<<20)
	for _, size := range []int{64, 1 << 10, 32 << 10} {
		b.Run(fmt.Sprintf("chunk=%d", size), func(b *testing.B) {
			throughput(b, s, func(s string) int { return metered(tokenest.O200K(), s, size) })
		})
	}
}

func BenchmarkExceeds(b *testing.B) {
	for _, size := range []int{1 << 20, 100 << 20} {
		s := repeat(samples[0].text, size)
		b.Run(fmt.Sprintf("bytes=%d/limit=20000", size), func(b *testing.B) {
			for b.Loop() {
				if !tokenest.O200K().Exceeds(s, 20_000) {
					b.Fatal("not exceeded")
				}
			}
		})
	}
}

func throughput(b *testing.B, s string, f func(string) int) {
	b.SetBytes(int64(len(s)))
	b.ReportAllocs()
	for b.Loop() {
		sink += f(s)
	}
}

func bytes4(s string) int { return (len(s) + 3) / 4 }

func sumBytes(s string) int {
	sum := 0
	for i := 0; i < len(s); i++ {
		sum += int(s[i])
	}
	return sum
}

func repeat(s string, size int) string { return strings.Repeat(s, size/len(s)+1)[:size] }
