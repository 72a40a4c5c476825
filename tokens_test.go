package toolresult_test

// Token counts: the default one, the message counter, and counters of users with and without ExceedsTokens.

import (
	"context"
	"fmt"
	"math"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eino-toolresult/toolresult"
)

func TestEstimateTokens(t *testing.T) {
	for text, want := range map[string]int{"": 0, "a": 1, "abcd": 1, "abcde": 2, "世": 1, "世界": 2, "\x00\xff": 1, strings.Repeat("x", 80_000): 20_000, strings.Repeat("x", 80_001): 20_001} {
		assert.Equal(t, want, toolresult.EstimateTokens(text), "%.10q", text)
	}
}

func newCounter(t testing.TB, cfg *toolresult.TokenCounterConfig) toolresult.TokenCounter {
	t.Helper()
	counter, err := toolresult.NewTokenCounter(context.Background(), cfg)
	require.NoError(t, err)
	return counter
}

// letters counts every byte as a token, so that a test can add up by eye.
type letters struct{}

func (letters) Estimate(text string) int            { return len(text) }
func (letters) Exceeds(text string, limit int) bool { return len(text) > limit }

func inputPart(kind schema.ChatMessagePartType, text string) schema.MessageInputPart {
	part := schema.MessageInputPart{Type: kind, Text: text}
	base64 := strings.Repeat("A", 100_000)
	common := schema.MessagePartCommon{Base64Data: &base64}
	switch kind {
	case schema.ChatMessagePartTypeImageURL:
		part.Image = &schema.MessageInputImage{MessagePartCommon: common}
	case schema.ChatMessagePartTypeAudioURL:
		part.Audio = &schema.MessageInputAudio{MessagePartCommon: common}
	case schema.ChatMessagePartTypeVideoURL:
		part.Video = &schema.MessageInputVideo{MessagePartCommon: common}
	case schema.ChatMessagePartTypeFileURL:
		part.File = &schema.MessageInputFile{MessagePartCommon: common}
	}
	return part
}

var (
	called = schema.AssistantMessage("hi", []schema.ToolCall{
		{ID: "ignored", Type: "function", Function: schema.FunctionCall{Name: "abc", Arguments: "{}"}},
		{Function: schema.FunctionCall{Name: "d", Arguments: ""}},
	})
	thought   = &schema.Message{Role: schema.Assistant, Content: "hi", ReasoningContent: "because"}
	shown     = &schema.Message{Role: schema.Tool, Content: "not sent", UserInputMultiContent: []schema.MessageInputPart{inputPart(schema.ChatMessagePartTypeText, "text"), inputPart(schema.ChatMessagePartTypeImageURL, "")}}
	attached  = &schema.Message{Role: schema.User, UserInputMultiContent: []schema.MessageInputPart{inputPart(schema.ChatMessagePartTypeAudioURL, ""), inputPart(schema.ChatMessagePartTypeVideoURL, ""), inputPart(schema.ChatMessagePartTypeFileURL, "")}}
	generated = &schema.Message{Role: schema.Assistant, AssistantGenMultiContent: []schema.MessageOutputPart{
		{Type: schema.ChatMessagePartTypeText, Text: "text"}, {Type: schema.ChatMessagePartTypeImageURL},
		{Type: schema.ChatMessagePartTypeReasoning, Reasoning: &schema.MessageOutputReasoning{Text: "because", Signature: "ignored"}},
	}}
	plainTool = &schema.ToolInfo{Name: "abc", Desc: "defg"}
)

func TestTokenCounterAdds(t *testing.T) {
	cases := []struct {
		name     string
		cfg      toolresult.TokenCounterConfig
		messages []*schema.Message
		tools    []*schema.ToolInfo
		want     int64
		reason   string
	}{
		{"nothing", toolresult.TokenCounterConfig{}, nil, nil, 0, "an empty conversation is empty"},
		{"nil messages", toolresult.TokenCounterConfig{}, []*schema.Message{nil, schema.UserMessage("abc"), nil}, []*schema.ToolInfo{nil}, 3, "they are not sent"},
		{"content", toolresult.TokenCounterConfig{}, []*schema.Message{schema.SystemMessage("ab"), schema.UserMessage("cd"), schema.ToolMessage("ef", "id")}, nil, 6, "it adds up; the call ID is framing"},
		{"tool calls", toolresult.TokenCounterConfig{}, []*schema.Message{called}, nil, 2 + 3 + 2 + 1, "names and arguments"},
		{"reasoning", toolresult.TokenCounterConfig{}, []*schema.Message{thought}, nil, 9, "Eino's own counters include it"},
		{"reasoning that is dropped", toolresult.TokenCounterConfig{IgnoreReasoning: true}, []*schema.Message{thought, generated}, nil, 2 + 4 + 1600, "some providers do not send it again"},
		{"parts", toolresult.TokenCounterConfig{}, []*schema.Message{shown}, nil, 4 + 1600, "clients send the parts or the content; base64 is no text"},
		{"files", toolresult.TokenCounterConfig{}, []*schema.Message{attached}, nil, 3 * 2000, "a flat charge, whatever the size"},
		{"own charges", toolresult.TokenCounterConfig{TokensPerImage: 85, TokensPerFile: 7}, []*schema.Message{shown, attached}, nil, 4 + 85 + 21, "they can be set"},
		{"free", toolresult.TokenCounterConfig{TokensPerImage: -1, TokensPerFile: -1}, []*schema.Message{shown, attached}, nil, 4, "negative: nothing is charged"},
		{"generated parts", toolresult.TokenCounterConfig{}, []*schema.Message{generated}, nil, 4 + 1600 + 7, "what a model made is sent back to it"},
		{"framing", toolresult.TokenCounterConfig{TokensPerMessage: 3}, []*schema.Message{schema.UserMessage("a"), nil, schema.UserMessage("")}, nil, 3 + 1 + 3, "for each message that is one"},
		{"a tool without parameters", toolresult.TokenCounterConfig{}, nil, []*schema.ToolInfo{plainTool, plainTool}, 14, "its name and description, each time"},
		{"found tools", toolresult.TokenCounterConfig{}, []*schema.Message{{Role: schema.Tool, UserInputMultiContent: []schema.MessageInputPart{{Type: schema.ChatMessagePartTypeToolSearchResult, ToolSearchResult: &schema.ToolSearchResult{Tools: []*schema.ToolInfo{plainTool}}}}}}, nil, 7, "schemas that a search brought are sent"},
	}
	for _, tc := range cases {
		tc.cfg.Text = letters{}
		got, err := newCounter(t, &tc.cfg).CountTokens(t.Context(), tc.messages, tc.tools)
		require.NoError(t, err, tc.name)
		assert.Equal(t, tc.want, got, "%s: %s", tc.name, tc.reason)
	}
	got, err := newCounter(t, nil).CountTokens(t.Context(), []*schema.Message{schema.UserMessage("abcde")}, nil)
	require.NoError(t, err)
	assert.Equal(t, int64(2), got, "by default four bytes are a token")
	_, err = toolresult.NewTokenCounter(t.Context(), &toolresult.TokenCounterConfig{TokensPerMessage: -1})
	assert.EqualError(t, err, "toolresult: TokenCounterConfig.TokensPerMessage is -1; want 0 (adds nothing) or more")
}

// rendering counts how often a schema is rendered: its description is read then.
type rendering struct{ calls atomic.Int64 }

func (r *rendering) Estimate(text string) int {
	if text == "described once" {
		r.calls.Add(1)
	}
	return len(text)
}
func (r *rendering) Exceeds(text string, limit int) bool { return len(text) > limit }

func TestTokenCounterRendersSchemasOnce(t *testing.T) {
	params := schema.NewParamsOneOfByParams(map[string]*schema.ParameterInfo{"path": {Type: schema.String, Desc: "where", Required: true}})
	tools := []*schema.ToolInfo{{Name: "read", Desc: "described once", ParamsOneOf: params}, {Name: "list", Desc: "described once"}}
	text := new(rendering)
	counter := newCounter(t, &toolresult.TokenCounterConfig{Text: text})
	first, err := counter.CountTokens(t.Context(), nil, tools)
	require.NoError(t, err)
	assert.Greater(t, first, int64(len("readlist")+2*len("described once")+len(`{"path":"string"}`)), "parameters are sent as JSON")
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			again, err := counter.CountTokens(context.Background(), nil, tools)
			assert.NoError(t, err)
			assert.Equal(t, first, again)
		})
	}
	wg.Wait()
	assert.Equal(t, int64(2), text.calls.Load(), "once per ToolInfo, not per count")

	for i := range 10_000 {
		_, err := counter.CountTokens(t.Context(), nil, []*schema.ToolInfo{{Name: fmt.Sprint(i)}})
		require.NoError(t, err, "a process that makes new tools for every request goes on")
	}
	odd, err := params.ToJSONSchema()
	require.NoError(t, err)
	odd.Default = math.Inf(1)
	broken := &schema.ToolInfo{Name: "odd", ParamsOneOf: schema.NewParamsOneOfByJSONSchema(odd)}
	_, err = counter.CountTokens(t.Context(), nil, []*schema.ToolInfo{broken})
	assert.ErrorContains(t, err, `toolresult: schema of tool "odd"`)
}

// spy is a counter of a user, who sees one tool message with the text.
type spy struct {
	seen  []string
	count func(text string) int64
}

func (s *spy) CountTokens(_ context.Context, messages []*schema.Message, tools []*schema.ToolInfo) (int64, error) {
	if len(messages) != 1 || tools != nil || messages[0].Role != schema.Tool || messages[0].ToolName != "fetch" || messages[0].ToolCallID != "call_1" {
		return 0, fmt.Errorf("not one tool message: %v", messages)
	}
	s.seen = append(s.seen, messages[0].Content)
	return s.count(messages[0].Content), nil
}

// limiterSpy need not count a huge text to its end.
type limiterSpy struct {
	spy
	asked int
}

func (l *limiterSpy) ExceedsTokens(text string, limit int) bool {
	l.asked++
	return l.count(text) > int64(limit)
}

func TestOffloadByACounter(t *testing.T) {
	words := func(text string) int64 { return int64(len(strings.Fields(text))) }
	call := &compose.ToolInput{Name: "fetch", CallID: "call_1"}
	atLimit := strings.Repeat("word ", 500)
	for _, way := range shapes() {
		for name, counter := range map[string]toolresult.TokenCounter{"counts": &spy{count: words}, "compares": &limiterSpy{spy: spy{count: words}}} {
			store := newMemory()
			mw := newOffload(t, &toolresult.OffloadConfig{Backend: store, TokenLimit: 500, TokenCounter: counter, Sampler: toolresult.HeadSampler(1, 100)})
			said, err := way.run(t, mw, call, atLimit)
			require.NoError(t, err, way.name)
			assert.Equal(t, atLimit, said, "%s, %s: exactly the limit", way.name, name)
			said, err = way.run(t, mw, call, atLimit+"more")
			require.NoError(t, err, way.name)
			assert.Equal(t, atLimit+"more", store.stored()[pathIn(t, said)], "%s, %s: one token more", way.name, name)
		}
	}
	limiter := &limiterSpy{spy: spy{count: words}}
	mw := newOffload(t, &toolresult.OffloadConfig{Backend: newMemory(), TokenLimit: 500, TokenCounter: limiter})
	offload(t, mw, "call_1", atLimit+"more")
	for _, text := range limiter.seen {
		pathIn(t, text)
	}
	assert.Positive(t, limiter.asked, "the large text is compared, and only the notice is counted")
}

// Counters that answer nonsense must not make a result longer, or lose it.
func TestCountersThatMisbehave(t *testing.T) {
	text := numberedLines(1000)
	always := func(n int64) func(string) int64 { return func(string) int64 { return n } }
	shrinking := func(text string) int64 { return int64(1_000_000 - len(text)) }
	for name, count := range map[string]func(string) int64{
		"zero": always(0), "negative": always(math.MinInt64), "the limit": always(100), "the same for all": always(101), "the largest": always(math.MaxInt64),
		"more for less": shrinking,
	} {
		for _, counter := range []toolresult.TokenCounter{&spy{count: count}, &limiterSpy{spy: spy{count: count}}} {
			store := newMemory()
			mw := newOffload(t, &toolresult.OffloadConfig{Backend: store, TokenLimit: 100, TokenCounter: counter})
			assert.Equal(t, text, offload(t, mw, "call_1", text), "%s: a notice that is not smaller in tokens is not used", name)
			assert.Empty(t, store.stored(), name)
			assert.Equal(t, "", offload(t, mw, "call_1", ""), "%s: nothing stays nothing", name)
		}
	}
	// One that says that a text exceeds its limit and then counts less: the notice may still help.
	liar := &limiterSpy{spy: spy{count: func(text string) int64 {
		if strings.HasPrefix(text, "<tool_result_offloaded") {
			return -5
		}
		return 101
	}}}
	store := newMemory()
	var events []toolresult.OffloadEvent
	mw := newOffload(t, &toolresult.OffloadConfig{Backend: store, TokenLimit: 100, TokenCounter: liar, OnOffload: func(_ context.Context, e toolresult.OffloadEvent) {
		events = append(events, e)
	}})
	said := offload(t, mw, "call_1", text)
	assert.Equal(t, text, store.stored()[pathIn(t, said)])
	require.Len(t, events, 1)
	assert.Equal(t, []int64{101, -5}, []int64{events[0].TokensBefore, events[0].TokensAfter}, "the event tells what the counter said")
}

func TestTokenCounterAsOffloadCounter(t *testing.T) {
	dense := strings.Repeat("工", 200) // 600 bytes: 150 tokens by bytes, 600 by letters
	store := newMemory()
	mw := newOffload(t, &toolresult.OffloadConfig{
		Backend: store, TokenLimit: 500, TokenCounter: newCounter(t, &toolresult.TokenCounterConfig{Text: letters{}, TokensPerMessage: 4}), Sampler: emptySampler,
	})
	said := offload(t, mw, "call_1", dense)
	assert.Equal(t, dense, store.stored()[pathIn(t, said)], "a better counter is one field away")
}
