package tokenest

// The shipped profiles. Their costs are one table, in costs.go, which tokenest/fit writes.

import (
	"sync"

	"github.com/eino-toolresult/toolresult/tokenest/internal/machine"
)

// Generic returns the estimator for a model of which nothing is known: the middle of the seven others. It is off by 4 to
// 15 % on a kind of text in the mean, by family, and by half on scripts that one family reads far better than another.
func Generic() *Estimator { return generic() }

// O200K returns the estimator for o200k, the encoding of GPT-4o and of OpenAI's models since.
func O200K() *Estimator { return o200k() }

// CL100K returns the estimator for cl100k, the encoding of GPT-4 and GPT-3.5.
func CL100K() *Estimator { return cl100k() }

// Claude returns the estimator for Anthropic's models. It was fitted to the last vocabulary that Anthropic published, that
// of Claude 2; newer models are said to make about a tenth more of a text, which nobody outside can verify.
func Claude() *Estimator { return claude() }

// Gemini returns the estimator for Google's models. It was fitted to the vocabulary of Gemma 3.
func Gemini() *Estimator { return gemini() }

// Llama returns the estimator for Llama 3 and the models since.
func Llama() *Estimator { return llama() }

// Qwen returns the estimator for Qwen. It was fitted to the vocabulary of Qwen 3.
func Qwen() *Estimator { return qwen() }

// DeepSeek returns the estimator for DeepSeek. It was fitted to the vocabulary of DeepSeek 3.
func DeepSeek() *Estimator { return deepseek() }

// The columns of the table of costs.
var (
	generic  = column(0)
	o200k    = column(1)
	cl100k   = column(2)
	claude   = column(3)
	gemini   = column(4)
	llama    = column(5)
	qwen     = column(6)
	deepseek = column(7)
)

// column compiles a column of costs when it is first asked for, since few programs need more than one.
func column(i int) func() *Estimator {
	return sync.OnceValue(func() *Estimator {
		var c costsOf
		for f := range machine.Features {
			c[f] = costs[f][i]
		}
		return compile(&c)
	})
}
