package bench_test

// What the simulation of costs is fed with: conversations of real agents, which lie beside the repository, and a counter that counts
// them as OpenAI does.

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"

	"github.com/cloudwego/eino/schema"

	"github.com/eino-toolresult/toolresult"
	"github.com/eino-toolresult/toolresult/internal/transcripts"
	"github.com/eino-toolresult/toolresult/tiktoken"
)

// talk is one conversation.
type talk struct {
	name     string
	messages []*schema.Message
}

// talks are all conversations, in the order of their files. The test is skipped where there are none.
func talks(tb testing.TB) (all []talk) {
	tb.Helper()
	files, err := transcripts.Read("..")
	check(tb, err)
	if len(files) == 0 {
		tb.Skip("there are no transcripts in ../../shared/data")
	}
	for _, file := range slices.Sorted(maps.Keys(files)) {
		for i, messages := range files[file] {
			all = append(all, talk{fmt.Sprintf("%s:%d", file, i+1), messages})
		}
	}
	return all
}

// o200k counts exactly, and every text once. It counts each message by itself, so the hook decides as it would have decided at each
// earlier call.
var o200k = sync.OnceValues(func() (*tiktoken.Counter, error) {
	return tiktoken.New(context.Background(), &tiktoken.Config{
		MaxBytes: 1 << 30, CachedTexts: 1 << 20, Messages: toolresult.TokenCounterConfig{TokensPerMessage: 3},
	})
})

func exactCounter(tb testing.TB) toolresult.TokenCounter {
	counter, err := o200k()
	check(tb, err)
	return counter
}

func tokensOf(tb testing.TB, messages ...*schema.Message) int {
	tokens, err := exactCounter(tb).CountTokens(context.Background(), messages, nil)
	check(tb, err)
	return int(tokens)
}
