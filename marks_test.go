package toolresult_test

// The marks of a pruned result are all the state there is. Here conversations are stored and loaded by the real thing, in
// every way that Eino has: JSON, the serializer of compose, and the gob of an ADK checkpoint.

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"sync"
	"testing"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eino-toolresult/toolresult"
	"github.com/eino-toolresult/toolresult/internal/provider"
)

func throughJSON(t *testing.T, messages []*schema.Message) (loaded []*schema.Message) {
	t.Helper()
	data, err := json.Marshal(messages)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(data, &loaded))
	return loaded
}

// prunedHistory is a conversation behind a prune, with a usage from before it.
func prunedHistory(t *testing.T) []*schema.Message {
	t.Helper()
	messages := conversation("user(1000) call(x:bash) result(x::2000) call(y:grep)@6004 result(y::2000) user")
	history := beforeModel(t, newHook(t, &toolresult.CompactionConfig{ContextWindow: 12_000}), messages)
	require.Contains(t, history[2].Extra, "context_compaction")
	return history
}

// requireMarks asserts that a loaded conversation decides as the one that was stored.
func requireMarks(t *testing.T, stored, loaded []*schema.Message) {
	t.Helper()
	require.Len(t, loaded, len(stored))
	assert.Equal(t, stored[2].Content, loaded[2].Content)
	assert.Equal(t, estimateOf(t, toolresult.CompactionConfig{}, stored), estimateOf(t, toolresult.CompactionConfig{}, loaded))

	later := append(loaded[:len(loaded):len(loaded)], conversation("call(z:ls) result(z)")...)
	c := compact(t, newPruner(t, &toolresult.PruneConfig{MinTokens: 1}), &toolresult.CompactRequest{Messages: later})
	assert.Equal(t, "4:grep", prunedIn(c), "what was pruned is not pruned again")
}

func TestMarksSurviveJSON(t *testing.T) {
	history := prunedHistory(t)
	requireMarks(t, history, throughJSON(t, history))
}

// checkpoints is a CheckPointStore in memory.
type checkpoints struct {
	mu   sync.Mutex
	data map[string][]byte
}

func (s *checkpoints) Get(_ context.Context, id string) ([]byte, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	data, found := s.data[id]
	return data, found, nil
}

func (s *checkpoints) Set(_ context.Context, id string, data []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.data == nil {
		s.data = make(map[string][]byte)
	}
	s.data[id] = data
	return nil
}

// A graph prunes, is interrupted before its model, and is resumed from the checkpoint by another one.
func TestMarksSurviveComposeCheckpoint(t *testing.T) {
	history, store := prunedHistory(t), &checkpoints{}
	newGraph := func() compose.Runnable[[]*schema.Message, []*schema.Message] {
		graph := compose.NewGraph[[]*schema.Message, []*schema.Message]()
		same := func(_ context.Context, messages []*schema.Message) ([]*schema.Message, error) { return messages, nil }
		require.NoError(t, graph.AddLambdaNode("prune", compose.InvokableLambda(func(context.Context, []*schema.Message) ([]*schema.Message, error) {
			return history, nil
		})))
		require.NoError(t, graph.AddLambdaNode("model", compose.InvokableLambda(same)))
		require.NoError(t, graph.AddEdge(compose.START, "prune"))
		require.NoError(t, graph.AddEdge("prune", "model"))
		require.NoError(t, graph.AddEdge("model", compose.END))
		runnable, err := graph.Compile(t.Context(), compose.WithCheckPointStore(store), compose.WithInterruptBeforeNodes([]string{"model"}))
		require.NoError(t, err)
		return runnable
	}
	_, err := newGraph().Invoke(t.Context(), nil, compose.WithCheckPointID("run"))
	_, interrupted := compose.ExtractInterruptInfo(err)
	require.True(t, interrupted, "%v", err)

	loaded, err := newGraph().Invoke(t.Context(), nil, compose.WithCheckPointID("run"))
	require.NoError(t, err)
	assert.NotSame(t, history[2], loaded[2])
	assert.Equal(t, history[2].Extra, loaded[2].Extra, "this serializer keeps types, too")
	requireMarks(t, history, loaded)
}

// pruneBefore is the hook as a middleware of an ADK agent.
type pruneBefore struct {
	*adk.BaseChatModelAgentMiddleware
	hook *toolresult.CompactionHook
}

func (p pruneBefore) BeforeModelRewriteState(ctx context.Context, state *adk.ChatModelAgentState, _ *adk.ModelContext) (context.Context, *adk.ChatModelAgentState, error) {
	messages, err := p.hook.BeforeModel(ctx, state.Messages, state.ToolInfos)
	next := *state
	next.Messages = messages
	return ctx, &next, err
}

// An agent prunes, its tool asks a human, and another process goes on from the checkpoint.
func TestMarksSurviveADKCheckpoint(t *testing.T) {
	store := &checkpoints{}
	var told reports
	model := provider.New(func(n int, _ []*schema.Message) (*schema.Message, error) {
		switch {
		case n < 3:
			return message("call", fmt.Sprint("call_", n, ":fetch"), 0), nil
		case n == 3:
			return message("call", "call_3:confirm", 0), nil
		}
		return schema.AssistantMessage("done", nil), nil
	}, 0, func(messages []*schema.Message, _ []*schema.ToolInfo) int { return providerTokens(t, messages) })

	events := newADKRunner(t, model, store, &told).Query(t.Context(), "go", adk.WithCheckPointID("run"))
	require.True(t, drain(t, events), "the agent waits for a human")
	require.NotEmpty(t, told)
	rewrites := len(told)

	resumed, err := newADKRunner(t, model, store, &told).Resume(t.Context(), "run")
	require.NoError(t, err)
	require.False(t, drain(t, resumed))

	requests := model.Requests()
	require.Len(t, requests, 5)
	before, after := requests[3], requests[4]
	require.Len(t, after, len(before)+2)
	pruned := 0
	for _, c := range told {
		pruned += len(c.Pruned)
	}
	for i, msg := range before {
		assert.Equal(t, msg.Content, after[i].Content)
		assert.Equal(t, msg.Extra, after[i].Extra, "gob keeps the types")
		if _, marked := msg.Extra["context_compaction"]; marked {
			assert.NotSame(t, msg, after[i], "it was loaded")
			pruned--
		}
	}
	assert.Zero(t, pruned, "all that was pruned is still there")
	assert.Len(t, told, rewrites, "nothing was due after the resume")
}

func newADKRunner(t *testing.T, model *provider.Model, store *checkpoints, told *reports) *adk.Runner {
	t.Helper()
	hook := newHook(t, &toolresult.CompactionConfig{ContextWindow: 2000, OnCompaction: told.add})
	agent, err := adk.NewChatModelAgent(t.Context(), &adk.ChatModelAgentConfig{
		Name: "agent", Description: "of the tests", Model: model,
		ToolsConfig: adk.ToolsConfig{ToolsNodeConfig: compose.ToolsNodeConfig{Tools: []tool.BaseTool{
			fakeTool("invokable", "fetch", sizedText(0, "400", 0)),
			textTool{"confirm", func(ctx context.Context, _ string) (string, error) {
				if waited, _, _ := tool.GetInterruptState[any](ctx); waited {
					return "confirmed", nil
				}
				return "", tool.Interrupt(ctx, "really?")
			}},
		}}},
		Handlers: []adk.ChatModelAgentMiddleware{pruneBefore{&adk.BaseChatModelAgentMiddleware{}, hook}},
	})
	require.NoError(t, err)
	return adk.NewRunner(t.Context(), adk.RunnerConfig{Agent: agent, CheckPointStore: store})
}

// drain reads the events of an agent to their end and reports whether it was interrupted.
func drain(t *testing.T, events *adk.AsyncIterator[*adk.AgentEvent]) (interrupted bool) {
	t.Helper()
	for {
		event, more := events.Next()
		if !more {
			return interrupted
		}
		require.NoError(t, event.Err)
		interrupted = interrupted || event.Action != nil && event.Action.Interrupted != nil
	}
}

// A serializer may make another number of an int, and a foreign mark may be anything.
func TestCountsOfMarks(t *testing.T) {
	history := prunedHistory(t)
	stale := deepCopy(history)
	delete(stale[2].Extra, "context_compaction_at")
	known, unknown := estimateOf(t, toolresult.CompactionConfig{}, history), estimateOf(t, toolresult.CompactionConfig{}, stale)
	require.NotEqual(t, known, unknown)
	tests := []struct {
		at, original any
		understood   bool
		reason       string
	}{
		{6, 2000, true, "as it was written"},
		{6.0, 2000.0, true, "JSON"},
		{json.Number("6"), json.Number("2000"), true, "JSON that keeps numbers"},
		{int32(6), int64(2000), true, "BSON"},
		{uint64(6), uint16(2000), true, "CBOR, MessagePack"},
		{7, 2000, false, "a longer conversation, of which the end was cut off"},
		{3, 2000, false, "the usage is from after the prune"},
		{0, 2000, false, "nonsense"},
		{-1, 2000, false, "a negative place"},
		{6, -2000, false, "a negative count"},
		{6.5, 2000, false, "no whole number"},
		{math.NaN(), math.Inf(1), false, "no number"},
		{6, 1e300, false, "a number beyond all counts"},
		{6, uint64(math.MaxUint64), false, "another"},
		{6, math.MaxInt64, false, "a third"},
		{json.Number("6"), json.Number("-2000"), false, "a negative count"},
		{json.Number("6"), json.Number("9007199254740993"), false, "a number beyond all counts"},
		{json.Number("six"), json.Number("2000"), false, "a word"},
		{"6", "2000", true, "JSON of protobuf, which writes an int64 as text"},
		{"six", "2000", false, "a word as text"},
		{6, nil, false, "nothing"},
		{nil, map[string]any{"x": 1}, false, "a map"},
	}
	for _, tt := range tests {
		loaded := deepCopy(history)
		loaded[2].Extra["context_compaction_at"], loaded[2].Extra["context_compaction_original_tokens"] = tt.at, tt.original
		want := unknown
		if tt.understood {
			want = known
		}
		assert.Equal(t, want, estimateOf(t, toolresult.CompactionConfig{}, loaded), tt.reason)
	}
}
