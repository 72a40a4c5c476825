package main

// The report. What matters is the second column: errors on texts that were held back.

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"text/tabwriter"

	"github.com/eino-toolresult/toolresult/tokenest"
)

// kindError is the error of a kind: (sum of estimates - sum of true counts) / sum of true counts, over its chunks.
type kindError struct {
	name      string
	fit, held float64
}

// report fits and prints the errors of the rounded costs, as the estimator makes them. The generic profile is judged by
// each tokenizer.
func report(out io.Writer, c *corpus, name string, kinds bool) error {
	costs := costsFor(c, name)
	e, err := tokenest.NewEstimator(profile(&costs))
	if err != nil {
		return err
	}
	judges := []string{name}
	if name == generic {
		judges = c.tokenizers
	}
	for _, judge := range judges {
		errs := errorsOf(c, e, judge)
		fmt.Fprintf(out, "%s, judged by %s: %s\n", name, judge, summary(errs))
		if kinds && judge == name {
			printKinds(out, errs)
		}
	}
	return nil
}

func errorsOf(c *corpus, e *tokenest.Estimator, tokenizer string) []kindError {
	var errs []kindError
	for _, k := range c.kinds {
		if len(k.held) > 0 {
			errs = append(errs, kindError{k.name, errorOf(k.fit, e, tokenizer), errorOf(k.held, e, tokenizer)})
		}
	}
	slices.SortFunc(errs, func(a, b kindError) int { return cmp.Compare(math.Abs(b.held), math.Abs(a.held)) })
	return errs
}

func errorOf(chunks []chunk, e *tokenest.Estimator, tokenizer string) float64 {
	var estimate, tokens float64
	for _, ch := range chunks {
		estimate += float64(e.Estimate(ch.text))
		tokens += ch.tokens[tokenizer]
	}
	return estimate/tokens - 1
}

func summary(errs []kindError) string {
	if len(errs) == 0 {
		return "no kind has a chunk held back"
	}
	mean := 0.0
	for _, e := range errs {
		mean += math.Abs(e.held) / float64(len(errs))
	}
	return fmt.Sprintf("mean error of a kind on held-back chunks %.2f %%, worst %+.1f %% (%s), %d kinds",
		100*mean, 100*errs[0].held, errs[0].name, len(errs))
}

func printKinds(out io.Writer, errs []kindError) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "kind\tfitted %\theld back %\t")
	for _, e := range errs {
		fmt.Fprintf(w, "%s\t%+.1f\t%+.1f\t\n", e.name, 100*e.fit, 100*e.held)
	}
	w.Flush()
}
