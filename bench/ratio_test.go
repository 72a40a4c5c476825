package bench_test

// How two ways of doing the same thing are compared. Times of separate runs say little about a ratio on a machine that does
// other work too, so the ratio is taken from short batches that alternate, by their medians.

import (
	"slices"
	"testing"
	"time"
)

// contender is one side of a comparison. prepare, where there is one, makes the input of the next op outside the timer.
type contender struct {
	prepare func()
	op      func()
}

// newContender makes a contender with nothing in its stores, and fails tb where it does not do what is to be measured.
type newContender func(tb testing.TB) contender

// compare benchmarks both sides, with their allocations, and then the ratio of their times.
func compare(b *testing.B, ours, eino newContender) {
	b.Run("ours", ours.bench)
	b.Run("eino", eino.bench)
	b.Run("ratio", func(b *testing.B) { reportRatio(b, ours(b), eino(b)) })
}

func (n newContender) bench(b *testing.B) {
	c := n(b)
	b.ReportAllocs()
	for b.Loop() {
		if c.prepare != nil {
			b.StopTimer()
			c.prepare()
			b.StartTimer()
		}
		c.op()
	}
}

// reportRatio times a batch of each side per iteration and takes turns with who goes first.
func reportRatio(b *testing.B, ours, eino contender) {
	ourSize, einoSize := ours.batchSize(), eino.batchSize()
	var ourTimes, einoTimes []float64
	for b.Loop() {
		if len(ourTimes)%2 == 0 {
			ourTimes = append(ourTimes, ours.perOp(ourSize))
			einoTimes = append(einoTimes, eino.perOp(einoSize))
		} else {
			einoTimes = append(einoTimes, eino.perOp(einoSize))
			ourTimes = append(ourTimes, ours.perOp(ourSize))
		}
	}
	b.ReportMetric(median(ourTimes)/median(einoTimes), "x-eino")
	b.ReportMetric(float64(len(ourTimes)), "rounds")
	b.ReportMetric(0, "ns/op") // would be the time of a round
}

// batchTime is long enough for a batch to contain its share of garbage collection.
const batchTime = 25 * time.Millisecond

func (c contender) batchSize() int {
	for size := 1; ; size *= 2 {
		if spent := c.perOp(size) * float64(size); spent >= float64(batchTime) {
			return size
		}
	}
}

// perOp returns the mean time of an op in a batch, in nanoseconds. Only an op with an input of its own is timed by itself,
// because reading the clock takes as long as the shortest ops do.
func (c contender) perOp(size int) float64 {
	var spent time.Duration
	if c.prepare == nil {
		start := time.Now()
		for range size {
			c.op()
		}
		spent = time.Since(start)
	} else {
		for range size {
			c.prepare()
			start := time.Now()
			c.op()
			spent += time.Since(start)
		}
	}
	return float64(spent) / float64(size)
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return (sorted[(len(sorted)-1)/2] + sorted[len(sorted)/2]) / 2
}
