package bench_test

// The tables, as COSTS.md has them, and the sweep by which settings were found.

import (
	"fmt"
	"strings"
	"testing"
)

func printTables(tables [][]row) {
	for i, rows := range tables {
		fmt.Printf("\n## A window of %d tokens\n", windows()[i])
		for n, percent := range missed() {
			fmt.Printf("\n%s\n\n%s", caption(percent), tableOf(rows, n))
		}
	}
}

func caption(percent int) string {
	if percent == 0 {
		return "Nothing is read back:"
	}
	return fmt.Sprintf("%d %% of what was pruned is read back:", percent)
}

// tableOf compares all costs with those of pruning nothing, which is the first row.
func tableOf(rows []row, share int) string {
	var b strings.Builder
	b.WriteString("| Policy | Cost | Visible | by tokens | Rewrites a call | Over the window | of calls | Pruned | Read back |\n|---" + strings.Repeat("|--:", 8) + "|\n")
	none := rows[0].outcomes[share].billed
	for _, r := range rows {
		o := r.outcomes[share]
		fmt.Fprintf(&b, "| %s | %.3f | %.1f %% | %.1f %% | %.3f | %d | %d | %d | %d |\n",
			r.name, o.billed/none, 100*o.visible(), 100*o.byTokens(), o.perCall(), o.over, o.calls, o.pruned, o.readBack)
	}
	return b.String() + backOf(rows, share)
}

// backOf is what came back of all that was archived.
func backOf(rows []row, share int) string {
	var all recovered
	for _, r := range rows {
		all.add(r.outcomes[share].recovered)
	}
	return fmt.Sprintf("\nOf what ours pruned %d results and %d arguments came back byte by byte, and once more on %d pages: all.\n", all.results, all.arguments, all.pages)
}

// TestCostsSweep prints a row for each of many settings, where nothing is read back.
func TestCostsSweep(t *testing.T) {
	if !*sweep {
		t.Skip("takes minutes: -sweep")
	}
	all, window := talks(t), windows()[0]
	rows := []row{measure(t, noPruning(), window, all, 0), measure(t, haystackRule(), window, all, 0)}
	for _, minTokens := range []int{1, 50, 100, 200} {
		for _, at := range []float64{0.6, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95, 1} {
			for _, to := range []float64{0.05, 0.2, 0.4, 0.6} {
				if to < at {
					name := fmt.Sprintf("%v to %v, results above %d", at, to, minTokens)
					rows = append(rows, measure(t, ourPolicy(name, brief(minTokens), marks(at, to)), window, all, 0))
				}
			}
		}
	}
	fmt.Print("\n", tableOf(rows, 0))
}
