package e2e_test

// Every text that the library writes, in every setting, before every provider; and every policy for a store that fails.

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/cloudwego/eino/adk"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eino-toolresult/toolresult"
	"github.com/eino-toolresult/toolresult/e2e/internal/rig"
)

// setting is a way to configure the library, and what the provider must read of it.
type setting struct {
	change      func(a *rig.Agent)
	notice      string // part of every notice
	placeholder string // beginning of every placeholder
	reason      string
}

const (
	english        = "Tool result too large. Please use the read_file tool"
	chinese        = "工具结果过大。请使用 read_file 工具"
	removedEnglish = "[Tool result removed to free up context."
	removedChinese = "[工具结果已移除以释放上下文。"
)

func settings() []setting {
	return []setting{
		{func(*rig.Agent) {}, english, removedEnglish, "the defaults"},
		{func(a *rig.Agent) { a.Language = adk.LanguageChinese }, chinese, removedChinese, "Chinese"},
		{func(a *rig.Agent) { a.Prune.Placeholder = "{tool_name}: gone" }, english, "fetch: gone", "a placeholder of one's own"},
		{func(a *rig.Agent) { a.Prune.Placeholder = "[]" }, english, "[]", "a placeholder that is a JSON list"},
		{func(a *rig.Agent) { a.Prune.Placeholder = `{"removed":"{tool_name}"}` }, english, `{"removed":"fetch"}`, "a placeholder that is a JSON object, which Gemini takes for one"},
		{func(a *rig.Agent) { a.Prune.MinKeepSteps = 3; a.Prune.MinTokens = 1 }, english, removedEnglish, "even the smallest, but for three steps"},
		{func(a *rig.Agent) { a.Offload.Template = "{file_path}" }, "/large_tool_result/", removedEnglish, "the shortest template"},
		{func(a *rig.Agent) {
			a.Offload.Template = "<{{\"id\":\"{tool_call_id}\",\"of\":\"{tool_name}\",\"tokens\":{total_tokens}}}> {file_path}\n{content_sample}"
		}, `"of":"`, removedEnglish, "a template full of brackets"},
		{func(a *rig.Agent) { a.Offload.Sampler = toolresult.HeadTailSampler(2, 2, 60) }, english, removedEnglish, "head and tail"},
		{func(a *rig.Agent) { a.Offload.Sampler = func() toolresult.Sample { return &noSample{} } }, english, removedEnglish, "no sample at all"},
		{func(a *rig.Agent) { a.Offload.TokenLimit = 100 }, english, removedEnglish, "nearly everything is offloaded"},
	}
}

type noSample struct{ strings.Builder }

func (*noSample) String() string { return "" }

// eachClient runs a test for every client, in a loop and with a delivery that vary with a number.
func eachClient(t *testing.T, n int, name string, test func(t *testing.T, agent *rig.Agent)) {
	for i, client := range rig.Clients() {
		agent := &rig.Agent{Client: client, Loop: rig.Loops()[(i+n)%3], Stream: (i+n)%2 == 0, Window: window, Mode: rig.Both}
		t.Run(fmt.Sprintf("%s/%s", client.Name, name), func(t *testing.T) {
			t.Parallel()
			test(t, agent)
		})
	}
}

// settingsWindow has room for a notice in place of every result.
const settingsWindow = 16_000

func TestSettings(t *testing.T) {
	for n, s := range settings() {
		eachClient(t, n, s.reason, func(t *testing.T, agent *rig.Agent) {
			agent.Window = settingsWindow
			s.change(agent)
			plan := rig.Plan{Steps: steps, Thinks: agent.Client.Thinks, Kinds: allowedKinds(agent.Client.Name), Huge: true}
			o := run(t, agent, plan.Script(), settingsWindow)
			requireDone(t, o, s.reason)
			requireStored(t, o, 6)
			notices, placeholders := requireTexts(t, o, s)
			assert.Equal(t, len(agent.Paths), notices, "no notice is ever pruned")
			assert.True(t, placeholders > 0 || agent.Rewrites == 0, s.reason)
		})
	}
}

// requireTexts checks the notices that the provider read, and counts those in the last request, and the placeholders.
func requireTexts(t *testing.T, o *outcome, s setting) (notices, placeholders int) {
	t.Helper()
	for _, r := range o.server.Accepted()[o.reached()-1].Results {
		if strings.HasPrefix(r.Text, s.placeholder) {
			placeholders++
		}
		if !strings.HasPrefix(r.Text, "<tool_result_offloaded ") {
			continue
		}
		notices++
		assert.Contains(t, r.Text, s.notice, s.reason)
		assert.True(t, strings.HasSuffix(r.Text, "</tool_result_offloaded>"), s.reason)
	}
	return notices, placeholders
}

// broken is a store that never stores.
type broken struct{}

var errFull = errors.New("no space left on device")

func (broken) Write(context.Context, *toolresult.WriteRequest) error { return errFull }

func (broken) Read(context.Context, *toolresult.ReadRequest) (*toolresult.FileContent, error) {
	return nil, errFull
}

func TestFailurePolicies(t *testing.T) {
	tests := []struct {
		policy toolresult.FailurePolicy
		huge   bool
		check  func(t *testing.T, o *outcome)
		name   string
	}{
		{toolresult.FailCall, true, func(t *testing.T, o *outcome) {
			assert.ErrorIs(t, o.err, errFull, "the run ends with the store's error")
			assert.Empty(t, o.server.Refused())
		}, "FailCall"},
		{toolresult.PassThrough, false, func(t *testing.T, o *outcome) {
			requireDone(t, o, "results pass and are pruned later")
		}, "PassThrough"},
		{toolresult.TruncateInline, true, func(t *testing.T, o *outcome) {
			requireDone(t, o, "what fits is shown")
			excerpts := 0
			for _, request := range o.server.Accepted() {
				for _, r := range request.Results {
					excerpts += strings.Count(r.Text, "It was not saved: writing failed.")
				}
			}
			assert.Positive(t, excerpts)
		}, "TruncateInline"},
	}
	for n, tt := range tests {
		eachClient(t, n, tt.name, func(t *testing.T, agent *rig.Agent) {
			agent.Backend = broken{}
			agent.Offload = toolresult.OffloadConfig{OnFailure: tt.policy, TokenLimit: 400}
			plan := rig.Plan{Steps: steps, Thinks: agent.Client.Thinks, Kinds: allowedKinds(agent.Client.Name), Huge: tt.huge}
			tt.check(t, run(t, agent, plan.Script(), window))
			require.Empty(t, agent.Paths, "nothing was stored")
		})
	}
}
