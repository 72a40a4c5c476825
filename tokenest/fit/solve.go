package main

// The fit: costs, none below zero, that make the smallest sum of squared relative errors. Every kind weighs alike, however
// much text there is of it: half by its chunks, which is what the costs are learnt from, half by its whole, which is what
// an error of a kind is measured on. A ridge pulls every cost towards a prior, so that what never occurs costs something sane.

import (
	"math"

	"github.com/eino-toolresult/toolresult/tokenest"
	"github.com/eino-toolresult/toolresult/tokenest/internal/machine"
)

const (
	ridge    = 1e-3
	byteCost = 1.0 / 512 // what the engine charges for every byte besides its features
	maxCost  = 5         // what an estimator takes
	sweeps   = 5000
	settled  = 1e-7
)

// generic is the profile that is fitted to all tokenizers at once.
const generic = "generic"

// normal is a least-squares problem as its normal equations, matrix × costs = right.
type normal struct {
	matrix [machine.Features]features
	right  features
}

// costsFor fits the costs, in tokens, for one tokenizer of the corpus or for generic.
func costsFor(c *corpus, tokenizer string) features {
	tokenizers := []string{tokenizer}
	if tokenizer == generic {
		tokenizers = c.tokenizers
	}
	n := new(normal)
	for _, name := range tokenizers {
		for _, k := range c.kinds {
			n.addKind(k.fit, name, 1/float64(len(tokenizers)))
		}
	}
	n.pull(&priors, ridge)
	return n.solve()
}

// addKind adds a kind twice, as chunks and as a whole. The chunks of a kind differ from each other less than kinds do, so
// without the whole a bias common to all of them would cost the fit little and the user the error of a kind.
func (n *normal) addKind(chunks []chunk, tokenizer string, weight float64) {
	var whole features
	var wholeTokens float64
	for _, ch := range chunks {
		tokens := ch.tokens[tokenizer] - byteCost*float64(len(ch.text))
		n.add(&ch.fires, tokens, weight/float64(len(chunks)))
		for i, v := range ch.fires {
			whole[i] += v
		}
		wholeTokens += tokens
	}
	if len(chunks) > 0 {
		n.add(&whole, wholeTokens, weight)
	}
}

// add asks that fires × costs be tokens; an error counts in proportion to tokens.
func (n *normal) add(fires *features, tokens, weight float64) {
	for i, a := range fires {
		if a == 0 {
			continue
		}
		a *= weight / tokens
		n.right[i] += a
		for j, b := range fires {
			n.matrix[i][j] += a * b / tokens
		}
	}
}

// pull adds the ridge: as if a text that fires one feature once, and weighs strength, had shown its prior.
func (n *normal) pull(towards *features, strength float64) {
	for i := range n.matrix {
		n.matrix[i][i] += strength
		n.right[i] += strength * towards[i]
	}
}

// solve descends along one cost after the other. With the ridge the problem is strictly convex, so the descent ends at
// the only minimum there is.
func (n *normal) solve() (costs features) {
	for range sweeps {
		moved := 0.0
		for i := 1; i < len(costs); i++ {
			slope := n.right[i]
			for j, c := range costs {
				slope -= n.matrix[i][j] * c
			}
			next := min(max(costs[i]+slope/n.matrix[i][i], 0), maxCost)
			moved = max(moved, math.Abs(next-costs[i]))
			costs[i] = next
		}
		if moved < settled {
			break
		}
	}
	return costs
}

// profile rounds costs to what an estimator takes.
func profile(costs *features) map[string]int {
	p := make(map[string]int, len(costs)-1)
	for i, name := range tokenest.Features() {
		p[name] = int(math.Round(costs[i+1] * 1000))
	}
	return p
}
