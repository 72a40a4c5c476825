package e2e_test

// Results of every kind, each alone: which of them a client can send and its provider accepts, and that this is the same with the library.

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/eino-toolresult/toolresult"
	"github.com/eino-toolresult/toolresult/e2e/internal/rig"
	"github.com/eino-toolresult/toolresult/e2e/internal/wire"
)

// byClient is the refusal of a request that a client does not even send.
const byClient = "the client refuses it"

// refusal is the rule by which a result is refused without the library, or "".
func refusal(client, tool, kind string) string {
	switch {
	case kind == rig.NUL:
		return wire.RuleText
	case client == "claude" && kind == rig.Empty:
		return wire.RuleContent // an empty result is sent as an empty text, which answers no call
	case client == "gemini" && (kind == rig.Null || kind == rig.Nothing || kind == rig.Picture):
		return wire.RuleInputObject // "null", "{}" and a picture without a text are sent as no response
	case client == "deepseek" && (kind == rig.Image || kind == rig.Picture):
		return byClient
	}
	switch client {
	case "openai", "qwen", "ark":
		switch {
		case kind == rig.Image || kind == rig.Picture:
			return wire.RuleMedia
		case kind == rig.Empty && (tool == "look" || tool == "watch"):
			return wire.RuleContent // an empty text part is sent without its text
		}
	}
	return ""
}

// allowedKinds are the kinds that are refused from no tool.
func allowedKinds(client string) []string {
	kinds := []string{rig.Empty, rig.Blank, rig.Null, rig.Nothing, rig.Object, rig.Array, rig.Broken, rig.Image, rig.Picture}
	return slices.DeleteFunc(kinds, func(kind string) bool {
		return refusal(client, "fetch", kind) != ""
	})
}

func TestKinds(t *testing.T) {
	kinds := []string{rig.Empty, rig.Blank, rig.Null, rig.Nothing, rig.Object, rig.Array, rig.NUL, rig.Broken, rig.Image, rig.Picture, rig.Fails, rig.TextPart}
	for n, kind := range kinds {
		for _, tool := range []string{"fetch", "tail", "look", "watch"} {
			pictured := kind == rig.Image || kind == rig.Picture
			if pictured && tool != "look" || kind == rig.Fails && (tool == "look" || tool == "watch") {
				continue
			}
			eachClient(t, n, kind+"/"+tool, func(t *testing.T, agent *rig.Agent) {
				for _, stream := range deliveries() {
					c := cell{agent.Client, agent.Loop, stream}
					without := run(t, c.agent(rig.Neither), rig.Once(tool, kind, 100), 0)
					assert.Equal(t, refusal(c.client.Name, tool, kind), without.rule(), "without the library: %v", without.err)
					with := run(t, c.agent(rig.Both), rig.Once(tool, kind, 100), 0)
					assert.Equal(t, without.rule(), with.rule(), "with it: %v", with.err)
					assert.Equal(t, without.reached(), with.reached())
				}
			})
		}
	}
}

// A large result with a NUL is refused. Its notice is not, nor an excerpt where it could not be stored.
func TestLargeResultWithNUL(t *testing.T) {
	eachCell(t, func(t *testing.T, c cell) {
		for _, tool := range []string{"fetch", "tail", "look", "watch"} {
			script := rig.Once(tool, rig.NUL, 20_000)
			without := run(t, c.agent(rig.Neither), script, 0)
			assert.Equal(t, wire.RuleText, without.rule(), tool)

			with := run(t, c.agent(rig.Both), script, 0)
			assert.NoError(t, with.err, tool)
			assert.Equal(t, 3, with.reached(), tool)
			requireStored(t, with, 1)

			agent := c.agent(rig.Both)
			agent.Backend, agent.Offload = broken{}, toolresult.OffloadConfig{OnFailure: toolresult.TruncateInline}
			cut := run(t, agent, script, 0)
			assert.NoError(t, cut.err, tool)
			assert.Equal(t, 3, cut.reached(), tool)
		}
	})
}
