package toolresult_test

// When the hook compacts: what it takes the next request to be, and what it asks its compactor for.

import (
	"context"
	"math"
	"sort"
	"testing"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eino-toolresult/toolresult"
)

func newHook(t testing.TB, cfg *toolresult.CompactionConfig) *toolresult.CompactionHook {
	t.Helper()
	hook, err := toolresult.NewCompactionHook(context.Background(), cfg)
	require.NoError(t, err)
	return hook
}

// compactorFunc is a Compactor with a behaviour of its own.
type compactorFunc func(req *toolresult.CompactRequest) (*toolresult.Compaction, error)

func (f compactorFunc) Compact(_ context.Context, req *toolresult.CompactRequest) (*toolresult.Compaction, error) {
	return f(req)
}

// asked returns the request that a hook makes of its compactor, and nil if it makes none.
func asked(t *testing.T, cfg toolresult.CompactionConfig, messages []*schema.Message, tools ...*schema.ToolInfo) (req *toolresult.CompactRequest) {
	t.Helper()
	cfg.Compactor = compactorFunc(func(r *toolresult.CompactRequest) (*toolresult.Compaction, error) {
		req = r
		return &toolresult.Compaction{Messages: r.Messages}, nil
	})
	got, err := newHook(t, &cfg).BeforeModel(t.Context(), messages, tools)
	require.NoError(t, err)
	require.True(t, sameSlice(messages, got))
	return req
}

// estimateOf finds the estimate from outside, as the largest window that it fills.
func estimateOf(t *testing.T, cfg toolresult.CompactionConfig, messages []*schema.Message, tools ...*schema.ToolInfo) int {
	t.Helper()
	cfg.CompactAt = 1
	return sort.Search(1_000_000, func(window int) bool {
		cfg.ContextWindow = window + 1
		return asked(t, cfg, messages, tools...) == nil
	})
}

// weather has a schema of 11 tokens: 7 bytes of name and 36 of description.
var weather = &schema.ToolInfo{Name: "weather", Desc: "Tells the weather of tomorrow, here."}

func TestEstimate(t *testing.T) {
	const sent = "system(400) user(600) " // what the usage is for
	tests := []struct {
		script   string
		reserved int
		tools    []*schema.ToolInfo
		want     int
		reason   string
	}{
		{sent + "answer(100) user(200)", 0, nil, 1300, "without a usage the messages are counted"},
		{sent + "answer(100) user(200)", 500, []*schema.ToolInfo{weather}, 1811, "and the schemas, and what is reserved"},
		{sent + "answer(100)@1000 user(200)", 0, nil, 1300, "the provider counts as we do"},
		{sent + "answer(100)@2000 user(200)", 0, nil, 2000 + 2*300, "twice as much: what came since is twice as much, too"},
		{sent + "answer(100)@500 user(200)", 0, nil, 500 + 150, "half as much"},
		{sent + "answer(100)@450 user(200)", 0, nil, 450 + 150, "the usage is believed, the scale goes no lower than a half"},
		{sent + "answer(100)@400 user(200)", 0, nil, 400 + 150, "exactly two fifths are still believed"},
		{sent + "answer(100)@399 user(200)", 0, nil, 1300, "less is not"},
		{sent + "answer(100)@1 user(200)", 0, nil, 1300, "nonsense of a gateway"},
		{sent + "answer(100)@0 user(200)", 0, nil, 1300, "a usage of 0 is none"},
		{sent + "answer(100)@-5 user(200)", 0, nil, 1300, "nor is a negative one"},
		{sent + "answer(100)@0 user(200)", 500, []*schema.ToolInfo{weather}, 1811, "what is not believed leaves schemas and reserve to be counted"},
		{sent + "answer(100)@4000 user(200)", 0, nil, 4000 + 900, "the usage is believed, the scale goes no higher than 3"},
		{sent + "answer(100)@90000 user(200)", 0, nil, 90000 + 900, "a high usage always is: the other error ends in a refused request"},
		{sent + "answer(100)@3022 user(200)", 500, []*schema.ToolInfo{weather}, 3022 + 2*300, "schemas and reserve were part of the request, and so of the scale"},
		{sent + "answer(100)@604 user(200)", 500, []*schema.ToolInfo{weather}, 1811, "and of what a usage must reach to be believed"},
		{sent + "answer(100)@605 user(200)", 500, []*schema.ToolInfo{weather}, 605 + 150, "which it does here"},
		{"user(1000) answer(100)@2000 user(100) answer(100)@0 user(200)", 0, nil, 1500, "an earlier usage is not looked for"},
		{"user(1000) answer(100)@2000 user(100) answer(100) user(200)", 0, nil, 2000 + 2*500, "but an answer without any usage is passed over"},
		{"user(1000) answer(100)@3000 user(100) answer(100)@600 user(200)", 0, nil, 600 + 150, "another model counts in other tokens; the last one decides"},
		{"user(1000) answer(100)@600 user(100) answer(100)@3600 user(200)", 0, nil, 3600 + 900, "the other way round"},
		{"user(1000)@2000 answer(100) result(:x:100)@3300", 0, nil, 1200, "only an answer of the model reports a usage"},
		{"answer(100)@1000 user(200)", 0, nil, 1000 + 900, "nothing stands before the usage: it is believed, the scale is at its limit"},
		{"nil system(400) nil user(600) answer(100)@2000 nil user(200) nil", 0, nil, 2600, "missing messages count nothing"},
		{"nil nil", 10, nil, 10, "nothing but missing messages"},
	}
	for _, tt := range tests {
		t.Run(tt.reason, func(t *testing.T) {
			cfg := toolresult.CompactionConfig{ReservedTokens: tt.reserved}
			assert.Equal(t, tt.want, estimateOf(t, cfg, conversation(tt.script), tt.tools...), tt.script)
			cfg.Tools = tt.tools
			assert.Equal(t, tt.want, estimateOf(t, cfg, conversation(tt.script)), "the tools of the config stand in for those of the call")
		})
	}
}

func TestToolsOfTheCallComeFirst(t *testing.T) {
	other := &schema.ToolInfo{Name: "other"} // 2 tokens
	cfg := toolresult.CompactionConfig{Tools: []*schema.ToolInfo{weather}}
	assert.Equal(t, 102, estimateOf(t, cfg, conversation("user(100)"), other))
}

// A usage that is the last chunk of a stream stands in the joined message, as any other.
func TestUsageOfAStream(t *testing.T) {
	body := schema.AssistantMessage("yes.", nil)
	end := &schema.Message{Role: schema.Assistant, ResponseMeta: &schema.ResponseMeta{Usage: &schema.TokenUsage{PromptTokens: 2000}}}
	answer, err := schema.ConcatMessages([]*schema.Message{body, end})
	require.NoError(t, err)
	assert.Equal(t, 2000+2*1, estimateOf(t, toolresult.CompactionConfig{}, append(conversation("user(1000)"), answer)))
}

// The compactor counts in the counter's tokens and sees messages alone; the marks are in the provider's, and hold for all.
func TestTargetIsConverted(t *testing.T) {
	tests := []struct {
		usage    string
		reserved int
		tools    []*schema.ToolInfo
		window   int
		want     int64
		reason   string
	}{
		{"", 0, nil, 1000, 400, "without a usage the units are the same"},
		{"", 100, []*schema.ToolInfo{weather}, 1000, 400 - 111, "room is left for schemas and reserve"},
		{"@2000", 0, nil, 1000, 200, "a token of ours is two of the provider's"},
		{"@500", 0, nil, 800, 640, "or half of one"},
		{"@9000", 0, nil, 3000, 400, "but never more than three"},
		{"@2222", 100, []*schema.ToolInfo{weather}, 1000, 200 - 111, "both, and neither taken off twice"},
		{"", 5000, nil, 1000, 0, "the overhead alone is over the target"},
		{"@1", 0, nil, 1000, 400, "a usage that is not believed converts nothing"},
	}
	for _, tt := range tests {
		t.Run(tt.reason, func(t *testing.T) {
			messages := conversation("user(1000) answer(100)" + tt.usage + " user(200)")
			counter := newTally(t)
			cfg := toolresult.CompactionConfig{ContextWindow: tt.window, ReservedTokens: tt.reserved, TokenCounter: counter}
			req := asked(t, cfg, messages, tt.tools...)
			require.NotNil(t, req)
			assert.Equal(t, &toolresult.CompactRequest{Messages: messages, TargetTokens: tt.want, Tokens: 1300, Counter: counter}, req)
		})
	}
}

func TestMarks(t *testing.T) {
	messages := conversation("user(1000)")
	tests := []struct {
		window int
		at, to float64
		due    bool
		target int64
		reason string
	}{
		{1429, 0, 0, false, 0, "1000 of 1429 is a little less than the default"},
		{1428, 0, 0, true, 571, "1000 of 1428 is a little more"},
		{1000, 1, 0.5, true, 500, "the window is full"},
		{1001, 1, 0.5, false, 0, "not yet"},
		{10_000, 0.1, 0.01, true, 100, "both marks are low"},
	}
	for _, tt := range tests {
		req := asked(t, toolresult.CompactionConfig{ContextWindow: tt.window, CompactAt: tt.at, CompactTo: tt.to}, messages)
		require.Equal(t, tt.due, req != nil, tt.reason)
		if tt.due {
			assert.Equal(t, tt.target, req.TargetTokens, tt.reason)
		}
	}
}

func TestHookRefusesBadConfig(t *testing.T) {
	const at = "0 (the default, 0.7), or above CompactTo and up to 1"
	type config = toolresult.CompactionConfig
	tests := []struct {
		cfg  *config
		want string
	}{
		{nil, "CompactionConfig is nil; want a config with a ContextWindow"},
		{&config{}, "CompactionConfig.ContextWindow is 0; want the model's window in tokens, above 0"},
		{&config{ContextWindow: -8}, "CompactionConfig.ContextWindow is -8; want the model's window in tokens, above 0"},
		{&config{ContextWindow: 1, CompactAt: 1.01}, "CompactionConfig.CompactAt is 1.01; want " + at},
		{&config{ContextWindow: 1, CompactAt: -0.7}, "CompactionConfig.CompactAt is -0.7; want " + at},
		{&config{ContextWindow: 1, CompactAt: math.NaN()}, "CompactionConfig.CompactAt is NaN; want " + at},
		{&config{ContextWindow: 1, CompactAt: math.Inf(1)}, "CompactionConfig.CompactAt is +Inf; want " + at},
		{&config{ContextWindow: 1, CompactTo: 0.7}, "CompactionConfig.CompactTo is 0.7; want above 0 and below CompactAt, which is 0.7 (0 means 0.4)"},
		{&config{ContextWindow: 1, CompactTo: -1}, "CompactionConfig.CompactTo is -1; want above 0 and below CompactAt, which is 0.7 (0 means 0.4)"},
		{&config{ContextWindow: 1, CompactTo: math.NaN()}, "CompactionConfig.CompactTo is NaN; want above 0 and below CompactAt, which is 0.7 (0 means 0.4)"},
		{&config{ContextWindow: 1, CompactAt: 0.3}, "CompactionConfig.CompactTo is 0.4; want above 0 and below CompactAt, which is 0.3 (0 means 0.4)"},
		{&config{ContextWindow: 1, MinGain: 1}, "CompactionConfig.MinGain is 1; want 0 (the default, 0.05), negative (no gate), or below 1"},
		{&config{ContextWindow: 1, MinGain: math.NaN()}, "CompactionConfig.MinGain is NaN; want 0 (the default, 0.05), negative (no gate), or below 1"},
		{&config{ContextWindow: 1, ReservedTokens: -1}, "CompactionConfig.ReservedTokens is -1; want 0 or more, up to 2^53"},
		{&config{ContextWindow: 1, Language: adk.Language(7)}, "CompactionConfig.Language is 7; want adk.LanguageEnglish or adk.LanguageChinese"},
	}
	for _, tt := range tests {
		hook, err := toolresult.NewCompactionHook(t.Context(), tt.cfg)
		assert.EqualError(t, err, "toolresult: "+tt.want)
		assert.Nil(t, hook)
	}
}
