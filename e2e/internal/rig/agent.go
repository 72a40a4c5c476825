package rig

// The agent around a client: with the library, with a part of it, or without.

import (
	"context"
	"errors"
	"testing"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"

	"github.com/eino-toolresult/toolresult"
)

// Mode is which part of the library an agent has.
type Mode int

// The modes.
const (
	Neither Mode = iota
	OffloadOnly
	PruneOnly
	Both
)

// String names the mode in tables.
func (m Mode) String() string { return [...]string{"neither", "offload", "prune", "both"}[m] }

// Never is a size that nothing reaches.
const never = 1 << 40

// Agent is one run of an agent.
type Agent struct {
	// Client is the model. Required.
	Client Client
	// Loop is one of Loops. Required.
	Loop Loop
	// Stream asks for streamed answers.
	Stream bool
	// Mode is which part of the library it has.
	Mode Mode
	// Window is what the library is told. Tokens. Required, but for the mode Neither.
	Window int
	// Offload refines the defaults. Optional.
	Offload toolresult.OffloadConfig
	// Prune refines the default Pruner. Optional.
	Prune toolresult.PruneConfig
	// Language is that of all texts of the library.
	Language adk.Language
	// Backend defaults to a directory.
	Backend Backend
	// Retry is for the retries of ADK.
	Retry *adk.ModelRetryConfig

	// Tools are its tools, and what they returned.
	Tools Toolbox
	// Paths are where results were stored, as the library reports it.
	Paths []string
	// Rewrites is how often the conversation was pruned, Prunings how many results were.
	Rewrites, Prunings int
}

// Backend is what an agent needs of one.
type Backend interface {
	toolresult.Backend
	toolresult.Reader
}

// Loop runs an agent to its last answer.
type Loop struct {
	// Name is that of the package, or "graph".
	Name string
	run  func(ctx context.Context, a *Agent, chat model.ToolCallingChatModel) (*schema.Message, error)
}

// Loops are the three: an agent of ADK, one of react, and a plain graph.
func Loops() []Loop { return []Loop{{"adk", runADK}, {"react", runReact}, {"graph", runGraph}} }

// Question is what the user asks.
const Question = "Look at everything there is and say when you are done."

const maxSteps = 100

// Run runs the agent against a server.
func (a *Agent) Run(t testing.TB, url string) (*schema.Message, error) {
	t.Helper()
	if a.Backend == nil {
		dir, err := toolresult.NewDirBackend(t.Context(), &toolresult.DirConfig{Dir: t.TempDir()})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, dir.Close()) })
		a.Backend = dir
	}
	return a.Loop.run(t.Context(), a, a.Client.Open(t, url))
}

// offload is the config of the offloader; what a mode has not has a limit that nothing reaches.
func (a *Agent) offload() *toolresult.OffloadConfig {
	cfg := a.Offload
	cfg.Backend, cfg.Language = a.Backend, a.Language
	if cfg.TokenLimit == 0 {
		cfg.TokenLimit = a.Window / 32
	}
	if cfg.Sampler == nil {
		cfg.Sampler = toolresult.HeadSampler(3, 80)
	}
	if a.Mode == PruneOnly {
		cfg.TokenLimit = never
	}
	cfg.OnOffload = func(_ context.Context, event toolresult.OffloadEvent) {
		a.Tools.mu.Lock()
		defer a.Tools.mu.Unlock()
		if event.Err == nil {
			a.Paths = append(a.Paths, event.Path)
		}
	}
	return &cfg
}

func (a *Agent) compaction(ctx context.Context, schemas []*schema.ToolInfo) (*toolresult.CompactionConfig, error) {
	prune := a.Prune
	prune.Language = a.Language
	pruner, err := toolresult.NewPruner(ctx, &prune)
	cfg := &toolresult.CompactionConfig{
		ContextWindow: a.Window, Compactor: pruner, Tools: schemas, Language: a.Language,
		OnCompaction: func(_ context.Context, c *toolresult.Compaction) {
			a.Prunings += len(c.Pruned)
			if c.Changed {
				a.Rewrites++
			}
		},
	}
	if a.Mode == OffloadOnly {
		cfg.ContextWindow = never
	}
	return cfg, err
}

// readers are the tools that read stored results.
func (a *Agent) readers(ctx context.Context) ([]tool.BaseTool, error) {
	read, err := toolresult.NewReadTool(ctx, &toolresult.ReadConfig{Backend: a.Backend, Language: a.Language, MaxTokens: max(a.Window/16, 100)})
	search, failed := toolresult.NewSearchTool(ctx, &toolresult.SearchConfig{Backend: a.Backend, Language: a.Language, MaxTokens: max(a.Window/16, 100)})
	return []tool.BaseTool{read, search}, errors.Join(err, failed)
}

// schemasOf are what the model is told of tools.
func schemasOf(ctx context.Context, tools []tool.BaseTool) (schemas []*schema.ToolInfo, err error) {
	for _, t := range tools {
		info, failed := t.Info(ctx)
		err = errors.Join(err, failed)
		schemas = append(schemas, info)
	}
	return schemas, err
}
