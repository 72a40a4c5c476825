package tokenest

import (
	"fmt"

	"github.com/eino-toolresult/toolresult/tokenest/internal/machine"
)

// Estimator estimates the tokens of a text for one family of tokenizers. Get one from [Generic], its siblings or
// [NewEstimator]; the zero Estimator is of no use. It is immutable and safe for concurrent use, its methods do not
// allocate, and it takes 64 KB.
type Estimator struct {
	t table
}

// Estimate returns the estimated number of tokens of text: 0 only for the empty text, and never more than len(text).
// It reads 1 to 2 GB a second on one core. Text that is not valid UTF-8 is estimated as it stands.
func (e *Estimator) Estimate(text string) int {
	sum, _ := run(&e.t, text, start, never)
	return tokens(sum, len(text))
}

// Exceeds reports whether Estimate(text) > limit. A limit below 0 is exceeded by every text.
//
// It stops as soon as the answer is known, so it costs what the limit costs and not what the text does: it reads at
// most 512 bytes for each token of the limit, and four or so of ordinary text.
func (e *Estimator) Exceeds(text string, limit int) bool {
	if limit < 0 || len(text) <= limit {
		return limit < 0
	}
	// Costs only add up and the text is longer than the limit, so a sum that has passed it will not come back.
	sum, _ := run(&e.t, text, start, uint64(limit)<<tokenShift)
	return tokens(sum, len(text)) > limit
}

// maxCost is the most that a feature may cost, in thousandths of a token. Three of them fit an entry of the table.
const maxCost = 5000

// NewEstimator makes an estimator from the costs of all the features of [Features], in thousandths of a token, each from
// 0 to 5000. Package tokenest/fit finds such costs for a tokenizer. A feature that is missing, unknown or out of range
// is refused: costs fitted for another set of features would be wrong without a sign of it.
func NewEstimator(costs map[string]int) (*Estimator, error) {
	var c costsOf
	for f := 1; f < machine.Features; f++ {
		name := machine.Feature(f).String()
		cost, ok := costs[name]
		if !ok {
			return nil, fmt.Errorf("tokenest: no cost for feature %s; want one for each of %d", name, machine.Features-1)
		}
		if cost < 0 || cost > maxCost {
			return nil, fmt.Errorf("tokenest: feature %s costs %d; want 0 to %d", name, cost, maxCost)
		}
		c[f] = uint16(cost)
	}
	if len(costs) != machine.Features-1 {
		return nil, fmt.Errorf("tokenest: %d costs; want %d, and no feature that is not in Features", len(costs), machine.Features-1)
	}
	return compile(&c), nil
}

// Features returns the names of the features that a profile prices, in the order of the shipped profiles.
func Features() []string {
	names := make([]string, 0, machine.Features-1)
	for f := 1; f < machine.Features; f++ {
		names = append(names, machine.Feature(f).String())
	}
	return names
}
