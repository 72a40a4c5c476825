package tokenest_test

import (
	"testing"

	"github.com/eino-toolresult/toolresult/tokenest"
)

func FuzzLaws(f *testing.F) {
	for i, sample := range samples {
		f.Add(sample.text, uint16(40*i), 20*i, uint16(i+1))
	}
	f.Add("", uint16(0), 0, uint16(1))
	f.Fuzz(func(t *testing.T, s string, length uint16, limit int, size uint16) {
		for _, e := range []*tokenest.Estimator{tokenest.Generic(), tokenest.Claude()} {
			checkLaws(t, e, s, limit, int(size)+1)
			if s != "" { // long enough for lanes
				checkLaws(t, e, repeat(s, int(length)), limit, int(size)+1)
			}
		}
	})
}
