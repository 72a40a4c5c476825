package e2e_test

// Agents of sixty steps, by each client in each loop: what the provider accepts without the library it accepts with it, and a run that
// would have gone over the window goes to its end.

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eino-toolresult/toolresult"
	"github.com/eino-toolresult/toolresult/e2e/internal/provider"
	"github.com/eino-toolresult/toolresult/e2e/internal/rig"
	"github.com/eino-toolresult/toolresult/e2e/internal/wire"
)

// window is that of the providers, in tokens.
const window = 10_000

const steps = 60

// outcome is how a run went.
type outcome struct {
	agent  *rig.Agent
	server *provider.Server
	answer *schema.Message
	err    error
}

// reached is how many requests were accepted.
func (o *outcome) reached() int { return len(o.server.Accepted()) }

// rule is the first check that refused.
func (o *outcome) rule() string {
	if refused := o.server.Refused(); len(refused) > 0 {
		return refused[0].Rule
	}
	if o.err != nil {
		return byClient
	}
	return ""
}

// run runs an agent on a provider with a window.
func run(t *testing.T, agent *rig.Agent, script provider.Script, window int) *outcome {
	t.Helper()
	server := provider.Start(t, &provider.Server{Format: agent.Client.Format, Window: window, Script: script})
	answer, err := agent.Run(t, server.URL)
	return &outcome{agent, server, answer, err}
}

// deliveries are the two ways in which an answer comes.
func deliveries() map[string]bool { return map[string]bool{"invoke": false, "stream": true} }

// cell is a client in a loop, with a delivery.
type cell struct {
	client rig.Client
	loop   rig.Loop
	stream bool
}

func (c cell) agent(mode rig.Mode) *rig.Agent {
	return &rig.Agent{Client: c.client, Loop: c.loop, Stream: c.stream, Window: window, Mode: mode}
}

// eachCell runs a test for every client, loop and delivery.
func eachCell(t *testing.T, test func(t *testing.T, c cell)) {
	for _, client := range rig.Clients() {
		for _, loop := range rig.Loops() {
			for delivery, stream := range deliveries() {
				t.Run(fmt.Sprintf("%s/%s/%s", client.Name, loop.Name, delivery), func(t *testing.T) {
					t.Parallel()
					test(t, cell{client, loop, stream})
				})
			}
		}
	}
}

func TestAgents(t *testing.T) {
	eachCell(t, func(t *testing.T, c cell) {
		plan := rig.Plan{Steps: steps, Size: 1, Thinks: c.client.Thinks, Kinds: allowedKinds(c.client.Name)}
		small := run(t, c.agent(rig.Neither), plan.Script(), 0)
		requireDone(t, small, "without the library the run is fine where results are small")
		plan.Size = 0
		neither := run(t, c.agent(rig.Neither), plan.Script(), window)
		requireTooLong(t, neither, "and ends at the window where they are not")
		prune := run(t, c.agent(rig.PruneOnly), plan.Script(), window)
		requireDone(t, prune, "pruned, it goes to its end")
		requirePruned(t, prune)

		plan.Huge = true // which no pruning can help
		worse := run(t, c.agent(rig.Neither), plan.Script(), window)
		requireTooLong(t, worse, "with huge results it ends sooner")
		offload := run(t, c.agent(rig.OffloadOnly), plan.Script(), window)
		requireTooLong(t, offload, "offloaded, it ends when the others have filled the window")
		require.Greater(t, offload.reached(), worse.reached()+10)
		both := run(t, c.agent(rig.Both), plan.Script(), window)
		requireDone(t, both, "with both it goes to its end")
		requirePruned(t, both)
		requireStored(t, both, 6)
		t.Logf("requests accepted: neither %d, prune %d; with huge results neither %d, offload %d, both %d; in both %d results stored, %d pruned in %d rewrites",
			neither.reached(), prune.reached(), worse.reached(), offload.reached(), both.reached(), len(both.agent.Paths), both.agent.Prunings, both.agent.Rewrites)
	})
}

// requireTooLong: the run ended because of the window, and for no other reason.
func requireTooLong(t *testing.T, o *outcome, reason string) {
	t.Helper()
	require.Error(t, o.err, reason)
	require.Equal(t, wire.RuleWindow, o.rule(), "%s: %v", reason, o.err)
	require.True(t, toolresult.IsContextTooLong(o.err), "%s: %v", reason, o.err)
}

func requireDone(t *testing.T, o *outcome, reason string) {
	t.Helper()
	require.NoError(t, o.err, reason)
	require.Empty(t, o.server.Refused(), reason)
	require.Equal(t, "done", o.answer.Content, reason)
	require.Equal(t, steps+1, o.reached(), reason)
}

// requirePruned: pruning happened several times, and the provider saw it.
func requirePruned(t *testing.T, o *outcome) {
	t.Helper()
	assert.Greater(t, o.agent.Rewrites, 2)
	seen, last := 0, o.server.Accepted()[steps]
	assert.LessOrEqual(t, last.Images, 2, "images go with their results")
	for _, r := range last.Results {
		if strings.HasPrefix(r.Text, "[Tool result removed") {
			seen++
		}
	}
	assert.Greater(t, seen, 10)
	assert.GreaterOrEqual(t, o.agent.Prunings, seen)
}

// requireStored: what was offloaded is in the backend byte for byte, as a tool returned it.
func requireStored(t *testing.T, o *outcome, least int) {
	t.Helper()
	require.GreaterOrEqual(t, len(o.agent.Paths), least)
	for _, path := range o.agent.Paths {
		stored, err := o.agent.Backend.Read(t.Context(), &toolresult.ReadRequest{FilePath: path, Offset: 1, Limit: 1 << 30})
		require.NoError(t, err, path)
		require.True(t, o.agent.Tools.Returned(stored.Content), "%s is not what a tool returned", path)
	}
}
