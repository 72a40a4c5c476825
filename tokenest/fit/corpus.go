package main

// The corpus: texts by kind, cut into chunks, and how many tokens each tokenizer makes of each chunk.

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/eino-toolresult/toolresult/tokenest/internal/machine"
)

// counts is the file counts.json.
type counts struct {
	// Chunks has, for each kind, the offsets at which its text is cut: one more than there are chunks. The text of the
	// kind is in the file of that name with .txt appended.
	Chunks map[string][]int `json:"chunks"`
	// Counts has, for each tokenizer and kind, the tokens of each chunk by itself, without special tokens.
	Counts map[string]map[string][]int `json:"counts"`
}

// chunk is a piece of text: what it fires and what it is in truth, for every tokenizer.
type chunk struct {
	text   string
	fires  features
	tokens map[string]float64
}

// features are amounts by feature; that of machine.None is 0.
type features [machine.Features]float64

// kind is one kind of text. The held chunks take no part in a fit.
type kind struct {
	name      string
	fit, held []chunk
}

type corpus struct {
	tokenizers []string
	kinds      []kind
}

// split says which chunks of a kind are held back: the last of every oneIn, or as many at the end.
type split struct {
	oneIn int
	tail  bool
}

func (s split) held(i, chunks int) bool {
	if s.tail {
		return i >= chunks-chunks/s.oneIn
	}
	return i%s.oneIn == s.oneIn-1
}

// readCorpus refuses what is incomplete: a kind that one tokenizer has not counted would silently weigh in the fits of the others.
func readCorpus(dir string, s split) (*corpus, error) {
	data, err := os.ReadFile(filepath.Join(dir, "counts.json"))
	if err != nil {
		return nil, err
	}
	var c counts
	if err := json.Unmarshal(data, &c); err != nil {
		return nil, fmt.Errorf("counts.json: %w", err)
	}
	all := &corpus{tokenizers: slices.Sorted(maps.Keys(c.Counts))}
	for _, name := range slices.Sorted(maps.Keys(c.Chunks)) {
		text, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)+".txt"))
		if err != nil {
			return nil, err
		}
		k, err := cut(&c, name, string(text), s)
		if err != nil {
			return nil, err
		}
		all.kinds = append(all.kinds, k)
	}
	return all, nil
}

// cut cuts the text of a kind into its chunks and holds some of them back, the same ones for everybody who reads the corpus.
func cut(c *counts, name, text string, s split) (kind, error) {
	k := kind{name: name}
	offsets := c.Chunks[name]
	for i := range len(offsets) - 1 {
		from, to := offsets[i], offsets[i+1]
		if from < 0 || from >= to || to > len(text) {
			return k, fmt.Errorf("%s: chunk %d is [%d:%d] of %d bytes", name, i, from, to, len(text))
		}
		ch := chunk{text: text[from:to], fires: fired(text[from:to]), tokens: map[string]float64{}}
		for tokenizer, byKind := range c.Counts {
			if i >= len(byKind[name]) || byKind[name][i] <= 0 {
				return k, fmt.Errorf("%s: chunk %d has no count by %s", name, i, tokenizer)
			}
			ch.tokens[tokenizer] = float64(byKind[name][i])
		}
		if s.held(i, len(offsets)-1) {
			k.held = append(k.held, ch)
		} else {
			k.fit = append(k.fit, ch)
		}
	}
	return k, nil
}

// fired leaves None out: it would be a column of the fit that costs nothing.
func fired(text string) (f features) {
	var n [machine.Features]int
	machine.Count(text, &n)
	for i := 1; i < len(n); i++ {
		f[i] = float64(n[i])
	}
	return f
}
