package bench_test

// What pruning costs and what it keeps. Every policy is run over the same conversations of real agents, and again with a share of
// what it pruned being read back; and what ours must reach is asserted. COSTS.md says how it is measured.

import (
	"flag"
	"fmt"
	"testing"

	"github.com/eino-toolresult/toolresult"
)

var (
	allWindows = flag.Bool("allwindows", false, "simulate the costs for all windows, and not only for the smallest")
	sweep      = flag.Bool("sweep", false, "simulate the costs of more settings, for the smallest window")
)

// windows are in tokens.
func windows() []int {
	if *allWindows {
		return []int{16_000, 24_000, 32_000}
	}
	return []int{16_000}
}

// missed are the shares of what was pruned that are read back, in percent.
func missed() []int { return []int{0, 5, 20} }

// row is a policy with its outcome for each of the shares.
type row struct {
	name     string
	outcomes []*outcome
}

// TestCosts prints its tables with -v.
func TestCosts(t *testing.T) {
	all := talks(t)
	tables := make([][]row, len(windows()))
	t.Run("window", func(t *testing.T) {
		for i, window := range windows() {
			t.Run(fmt.Sprint(window), func(t *testing.T) {
				t.Parallel()
				for _, p := range append(others(), ours()...) {
					tables[i] = append(tables[i], measure(t, p, window, all, missed()...))
				}
				requireMusts(t, tables[i])
			})
		}
	})
	if testing.Verbose() {
		printTables(tables)
	}
}

func measure(t *testing.T, p policy, window int, all []talk, missed ...int) row {
	r := row{name: p.name}
	for _, percent := range missed {
		var total outcome
		for _, talk := range all {
			total.add(replay(t, p, window, percent, talk))
		}
		r.outcomes = append(r.outcomes, &total)
	}
	return r
}

// requireMusts asserts what ours must reach, whatever share is read back unless it is said otherwise.
func requireMusts(t *testing.T, rows []row) {
	t.Helper()
	for i, percent := range missed() {
		of := make(map[string]*outcome)
		for _, r := range rows {
			of[r.name] = r.outcomes[i]
		}
		must := func(holds bool, reason string) {
			t.Helper()
			if !holds {
				t.Errorf("%d %% read back: %s", percent, reason)
			}
		}
		for _, rival := range []string{eino, einoStored, langChain, last5} {
			must(of[ourCheap].beats(of[rival]), ourCheap+" beats "+rival+" on cost and visibility at once")
			must(of[ourCheap].perCall() < of[rival].perCall(), ourCheap+" rewrites less often than "+rival)
		}
		must(of[ourBalanced].reaches(of[haystack], 0.02), ourBalanced+" reaches Haystack's rule within 2 %, and nothing is lost")
		must(of[ourDefaults].reaches(of[haystack], 0.021), ourDefaults+" reaches it within 2.1 %")
		fits := float64(of[ourWindow].over) <= 0.7*float64(of[haystack].over)
		must(fits || percent > 0, ourWindow+" leaves at most 0.7 of the requests over the window that Haystack's rule leaves")
		for _, p := range []string{ourDefaults, ourCheap, ourBalanced, ourWindow, ourLongText} {
			must(of[p].recovered.results > 0 && of[p].recovered.results == of[p].pruned, p+" archives every result that it prunes")
		}
	}
}

// beats and reaches judge visibility both ways that there are to average it.
func (o *outcome) beats(p *outcome) bool {
	return o.billed < p.billed && o.visible() > p.visible() && o.byTokens() > p.byTokens()
}

func (o *outcome) reaches(p *outcome, within float64) bool {
	return o.billed <= (1+within)*p.billed && o.visible() >= (1-within)*p.visible() && o.byTokens() >= (1-within)*p.byTokens()
}

// Pruning without an archive and without a gate is Haystack's rule, which is written a second time here.
func TestOurRuleIsHaystacks(t *testing.T) {
	lossy := policy{"ours, lossy", true, func(tb testing.TB, window int) rewriter {
		return rewriter{send: ourSend(tb, toolresult.PruneConfig{}, toolresult.CompactionConfig{MinGain: -1}, window)}
	}}
	for _, talk := range talks(t) {
		want, got := replay(t, haystackRule(), 16_000, 0, talk), replay(t, lossy, 16_000, 0, talk)
		if *got != *want {
			t.Errorf("%s: %+v, want %+v", talk.name, *got, *want)
		}
	}
}
