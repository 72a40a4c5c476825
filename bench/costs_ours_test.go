package bench_test

// The policies of ours, all with an archive, so that nothing is lost.

import (
	"context"
	"fmt"
	"hash/fnv"
	"testing"

	"github.com/cloudwego/eino/adk/filesystem"
	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/schema"

	"github.com/eino-toolresult/toolresult"
)

const (
	ourDefaults = "ours, defaults"
	ourCheap    = "ours, cheap"
	ourBalanced = "ours, balanced"
	ourWindow   = "ours, window"
	ourLongText = "ours, window, default texts"
)

// ours are the settings to compare. The marks of those that are not the defaults were found with TestCostsSweep.
func ours() []policy {
	late := marks(0.9, 0.2)
	return []policy{
		ourPolicy(ourDefaults, toolresult.PruneConfig{}, toolresult.CompactionConfig{}),
		ourPolicy(ourCheap, brief(50), marks(0.75, 0.2)),
		ourPolicy(ourBalanced, brief(100), late),
		ourPolicy(ourWindow, brief(1), late),
		ourPolicy(ourLongText, toolresult.PruneConfig{MinTokens: 1, ArgumentTokens: map[string]int{"*": 50}}, late),
	}
}

func marks(compactAt, compactTo float64) toolresult.CompactionConfig {
	return toolresult.CompactionConfig{CompactAt: compactAt, CompactTo: compactTo}
}

// brief prunes results above some tokens, and arguments, and makes the texts that stay short; what they mean, a system prompt would
// say once. A number of six digits is two tokens, where an ID as providers give them is fifteen. Where two results get the same number,
// the library finds the second another name.
func brief(minTokens int) toolresult.PruneConfig {
	return toolresult.PruneConfig{
		MinTokens:         minTokens,
		ArgumentTokens:    map[string]int{"*": 50},
		StoredPlaceholder: "[{read_tool_name} {file_path}]",
		ReadToolName:      "read",
		PathPrefix:        "/r",
		PathGenerator: func(_ context.Context, input *compose.ToolInput) (string, error) {
			hash := fnv.New32a()
			_, err := hash.Write([]byte(input.CallID))
			return fmt.Sprintf("/r/%d", hash.Sum32()%1_000_000), err
		},
	}
}

// ourPolicy begins every conversation with an archive of its own.
func ourPolicy(name string, prune toolresult.PruneConfig, when toolresult.CompactionConfig) policy {
	return policy{name, true, func(tb testing.TB, window int) rewriter {
		files := filesystem.NewInMemoryBackend()
		prune := prune
		prune.Archive = files
		return rewriter{ourSend(tb, prune, when, window), newArchive(tb, files, &prune)}
	}}
}

func ourSend(tb testing.TB, prune toolresult.PruneConfig, when toolresult.CompactionConfig, window int) func([]*schema.Message) []*schema.Message {
	ctx := context.Background()
	pruner, err := toolresult.NewPruner(ctx, &prune)
	check(tb, err)
	when.Compactor, when.ContextWindow, when.TokenCounter = pruner, window, exactCounter(tb)
	hook, err := toolresult.NewCompactionHook(ctx, &when)
	check(tb, err)
	return func(history []*schema.Message) []*schema.Message {
		sent, err := hook.BeforeModel(ctx, history, nil)
		check(tb, err)
		return sent
	}
}
