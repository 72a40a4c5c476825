package bench_test

// What must not be allocated. Unlike times, this is the same on every machine, so it is tested and not only measured.

import (
	"runtime"
	"testing"
)

// Nothing on the way to Write makes another text of the size of the result.
func TestOffloadCopiesNoResult(t *testing.T) {
	for _, tc := range []struct {
		text   string
		reason string
	}{
		{logText(1<<20, 1), "lines are counted and sampled where they are"},
		{oneLine(1<<20, 1), "of one enormous line only the beginning is taken"},
	} {
		op := offloading(ourMiddleware, tc.text)(t).op
		const runs = 20
		if perRun := allocatedBytes(func() {
			for range runs {
				op()
			}
		}) / runs; perRun > 32<<10 {
			t.Errorf("offloading %d bytes allocates %d: %s", len(tc.text), perRun, tc.reason)
		}
	}
}

func TestPassingOnAllocatesNothing(t *testing.T) {
	op := passing(ourMiddleware, logText(1<<10, 1))(t).op
	if allocs := testing.AllocsPerRun(100, op); allocs != 0 {
		t.Errorf("passing a result on costs %v allocations, want 0", allocs)
	}
}

func TestIdleCheckAllocatesNothing(t *testing.T) {
	history := conversation(2_000)
	op := ourCheck(history, 2_000*resultBytes/4)(t).op
	if allocs := testing.AllocsPerRun(20, op); allocs != 0 {
		t.Errorf("checking %d messages costs %v allocations, want 0", len(history), allocs)
	}
}

// allocatedBytes is what a function allocates, whatever becomes of it.
func allocatedBytes(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}
