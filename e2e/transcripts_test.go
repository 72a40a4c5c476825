package e2e_test

// Conversations of real agents, sent as they were before an answer that they got: whole, and after the hook. They are not part of the
// repository.

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eino-toolresult/toolresult"
	"github.com/eino-toolresult/toolresult/e2e/internal/provider"
	"github.com/eino-toolresult/toolresult/e2e/internal/rig"
	"github.com/eino-toolresult/toolresult/e2e/internal/wire"
	"github.com/eino-toolresult/toolresult/internal/transcripts"
)

// conversations are all of them. Results have the names of their calls, as Eino's tools node gives them.
func conversations(t *testing.T) (all [][]*schema.Message) {
	t.Helper()
	files, err := transcripts.Read("..")
	require.NoError(t, err)
	if len(files) == 0 {
		t.Skip("there are no transcripts in ../../shared/data")
	}
	for _, file := range slices.Sorted(maps.Keys(files)) {
		for _, messages := range files[file] {
			nameResults(messages)
			all = append(all, messages)
		}
	}
	return all
}

func nameResults(messages []*schema.Message) {
	names := make(map[string]string)
	for _, m := range messages {
		for _, call := range m.ToolCalls {
			names[call.ID] = call.Function.Name
		}
		if m.ToolName == "" {
			m.ToolName = names[m.ToolCallID]
		}
	}
}

// cuts are where a conversation went to the model: the last time, and three times on the way there.
func cuts(messages []*schema.Message) []int {
	var before []int
	for i, msg := range messages {
		if i > 0 && msg.Role == schema.Assistant {
			before = append(before, i)
		}
	}
	if messages[len(messages)-1].Role != schema.Assistant {
		before = append(before, len(messages))
	}
	if len(before) == 0 {
		return nil
	}
	last := len(before) - 1
	return slices.Compact([]int{before[last/4], before[last/2], before[last*3/4], before[last]})
}

// tally counts what became of the requests of one client.
type tally struct {
	sent, without, with, onlyWith int
	whyWithout, whyWith           map[string]int
}

func (y *tally) String() string {
	return fmt.Sprintf("%d requests; refused without the library %d (%s), with it %d (%s), only with it %d",
		y.sent, y.without, reasons(y.whyWithout), y.with, reasons(y.whyWith), y.onlyWith)
}

func reasons(counts map[string]int) string {
	var all []string
	for _, why := range slices.Sorted(maps.Keys(counts)) {
		all = append(all, fmt.Sprintf("%s: %d", why, counts[why]))
	}
	return strings.Join(all, ", ")
}

// transcriptWindow is so small that half of the requests are over it.
const transcriptWindow = 16_000

func TestTranscripts(t *testing.T) {
	all := conversations(t)
	for _, client := range rig.Clients() {
		t.Run(client.Name, func(t *testing.T) {
			t.Parallel()
			y := &tally{whyWithout: make(map[string]int), whyWith: make(map[string]int)}
			s := newSender(t, client)
			for _, conversation := range all {
				for _, at := range cuts(conversation) {
					y.send(t, s, conversation[:at])
				}
			}
			t.Log(y)
			assert.Zero(t, y.onlyWith, "nothing is refused that was accepted")
			assert.Less(t, y.whyWith[wire.RuleWindow], y.whyWithout[wire.RuleWindow], "and more fits the window")
		})
	}
}

// sender sends conversations to one provider.
type sender struct {
	client rig.Client
	server *provider.Server
	chat   model.BaseChatModel
	hook   *toolresult.CompactionHook
	pruner *toolresult.Pruner
}

func newSender(t *testing.T, client rig.Client) *sender {
	t.Helper()
	server := provider.Start(t, &provider.Server{Format: client.Format, Window: transcriptWindow, Script: rig.Plan{}.Script()})
	hook, err := toolresult.NewCompactionHook(t.Context(), &toolresult.CompactionConfig{ContextWindow: transcriptWindow})
	require.NoError(t, err)
	pruner, err := toolresult.NewPruner(t.Context(), nil)
	require.NoError(t, err)
	return &sender{client, server, client.Open(t, server.URL), hook, pruner}
}

// refusal is the rule by which a request is refused, or "".
func (s *sender) refusal(t *testing.T, messages []*schema.Message) string {
	t.Helper()
	before := len(s.server.Refused())
	_, err := s.chat.Generate(t.Context(), messages)
	if refused := s.server.Refused(); len(refused) > before {
		require.Error(t, err)
		return refused[before].Rule
	}
	if err != nil {
		return byClient
	}
	return ""
}

func (y *tally) send(t *testing.T, s *sender, messages []*schema.Message) {
	t.Helper()
	without := s.refusal(t, messages)
	pruned, err := s.hook.BeforeModel(t.Context(), messages, nil)
	require.NoError(t, err)
	with := without
	if &pruned[0] != &messages[0] { // else it is the same request
		with = s.refusal(t, pruned)
	}
	y.sent++
	if without != "" {
		y.without++
		y.whyWithout[without]++
	}
	if with != "" {
		y.with++
		y.whyWith[with]++
		s.requireNothingLeft(t, pruned, with)
	}
	if with != "" && without == "" {
		y.onlyWith++
		t.Errorf("refused only with the library: %s", with)
	}
}

// requireNothingLeft: what is still too long has no result left that may go.
func (s *sender) requireNothingLeft(t *testing.T, messages []*schema.Message, rule string) {
	t.Helper()
	if rule != wire.RuleWindow {
		return
	}
	c, err := s.pruner.Compact(t.Context(), &toolresult.CompactRequest{Messages: messages})
	require.NoError(t, err)
	assert.False(t, c.Changed, "%d results more could have gone", len(c.Pruned))
}
