// Command fit finds the costs of package tokenest for any tokenizer, from a folder of texts and their true counts.
//
//	go run . -texts DIR                     fit every tokenizer, print its errors by kind of text
//	go run . -texts DIR -json NAME          print the costs for one, to give to tokenest.NewEstimator
//	go run . -texts DIR -go ../costs.go     write the table of the shipped profiles
//
// README.md describes the folder, the method and what it gave. It fits, and counts no tokens: true counts are given to it.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "fit:", err)
		os.Exit(1)
	}
}

type options struct {
	texts  string
	json   string
	goFile string
	split  split
	kinds  bool
}

func run(args []string, out io.Writer) error {
	o, err := parse(args)
	if err != nil {
		return err
	}
	c, err := readCorpus(o.texts, o.split)
	if err != nil {
		return err
	}
	switch {
	case o.json != "":
		return printJSON(out, c, o.json)
	case o.goFile != "":
		return writeGo(o.goFile, c)
	}
	for _, name := range append([]string{generic}, c.tokenizers...) {
		if err := report(out, c, name, o.kinds); err != nil {
			return err
		}
	}
	return nil
}

func parse(args []string) (options, error) {
	var o options
	flags := flag.NewFlagSet("fit", flag.ContinueOnError)
	flags.StringVar(&o.texts, "texts", "", "the folder with counts.json and the texts (required)")
	flags.StringVar(&o.json, "json", "", "print the costs for this tokenizer as JSON, and nothing else")
	flags.StringVar(&o.goFile, "go", "", "write the table of the shipped profiles to this file, and nothing else")
	flags.IntVar(&o.split.oneIn, "holdout", 4, "hold back one in so many chunks of every kind; at least 2")
	flags.BoolVar(&o.split.tail, "tail", false, "hold back the last chunks of a kind in a row, a harder test")
	flags.BoolVar(&o.kinds, "kinds", true, "print the error of every kind")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if o.texts == "" {
		return o, errors.New("-texts is missing; want the folder with counts.json and the texts")
	}
	if o.split.oneIn < 2 {
		return o, fmt.Errorf("-holdout is %d; want 2 or more", o.split.oneIn)
	}
	return o, nil
}
