package wire_test

// A check that cannot fail proves nothing: each has a request here that it refuses, beside one that differs by little and is accepted.

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eino-toolresult/toolresult/e2e/internal/wire"
)

// check is a request and the rule that refuses it, or "".
type check struct {
	body, rule, reason string
}

func request(field string, messages []string) string {
	return `{"model":"m","max_tokens":9,"` + field + `":[` + strings.Join(messages, ",") + `]}`
}

func checkAll(t *testing.T, format wire.Format, cases []check) {
	t.Helper()
	for _, tt := range cases {
		r, refused := format.Check([]byte(tt.body))
		if tt.rule == "" {
			if assert.Nil(t, refused, "%T %s: %s", format, tt.reason, tt.body) {
				assert.NotNil(t, r, tt.reason)
			}
			continue
		}
		if assert.NotNil(t, refused, "%T %s: %s", format, tt.reason, tt.body) {
			assert.Equal(t, tt.rule, refused.Rule, "%T %s: %s", format, tt.reason, refused.Message)
			assert.GreaterOrEqual(t, refused.Status, 400, tt.reason)
			assert.NotEmpty(t, refused.Message, tt.reason)
		}
	}
}

func formats() map[string]wire.Format {
	return map[string]wire.Format{
		"openai": wire.OpenAI{}, "qwen": wire.OpenAI{Dialect: wire.Qwen}, "deepseek": wire.OpenAI{Dialect: wire.DeepSeek},
		"ark": wire.OpenAI{Dialect: wire.Ark}, "anthropic": wire.Anthropic{}, "gemini": wire.Gemini{}, "ollama": wire.Ollama{},
	}
}

func TestThoughts(t *testing.T) {
	asksAnthropic := `{"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"s"},{"type":"tool_use","id":"1","name":"f","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"1"}]}`
	bodies := map[string]string{
		"deepseek":  request("messages", []string{user, `{"role":"assistant","content":"","reasoning_content":"hms"}`}),
		"anthropic": request("messages", []string{user, asksAnthropic}),
		"gemini":    request("contents", []string{`{"role":"user","parts":[{"text":"go"}]}`, `{"role":"model","parts":[{"text":"x","thoughtSignature":"hms"}]}`}),
	}
	for name, body := range bodies {
		format := formats()[name]
		r, refused := format.Check([]byte(body))
		require.Nil(t, refused, name)
		assert.Nil(t, wire.CheckThoughts(format, r, []string{"hms"}), "%s: as it was given", name)
		for _, given := range [][]string{nil, {"other"}, {"hms", "hms"}} {
			lost := wire.CheckThoughts(format, r, given)
			if assert.NotNil(t, lost, "%s: %v was given", name, given) {
				assert.Equal(t, wire.RuleThought, lost.Rule)
			}
		}
	}
}

// Every text of a request counts, that of the tools too; an image counts by itself.
func TestTokens(t *testing.T) {
	text := strings.Repeat("x", 400)
	bodies := map[string]string{
		"openai":    `{"messages":[{"role":"user","content":"` + text + `"},{"role":"assistant","tool_calls":[{"id":"1","function":{"name":"f","arguments":"` + text + `"}}]},{"role":"tool","tool_call_id":"1","content":"` + text + `"}]`,
		"ollama":    `{"messages":[{"role":"user","content":"` + text + `"},{"role":"assistant","tool_calls":[{"function":{"name":"f","arguments":{"a":"` + text + `"}}}]},{"role":"tool","content":"` + text + `"}]`,
		"anthropic": `{"max_tokens":1,"messages":[{"role":"user","content":"` + text + `"},{"role":"assistant","content":[{"type":"tool_use","id":"1","name":"f","input":{"a":"` + text + `"}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"1","content":"` + text + `"}]}]`,
		"gemini":    `{"contents":[{"role":"user","parts":[{"text":"` + text + `"}]},{"role":"model","parts":[{"functionCall":{"name":"f","args":{"a":"` + text + `"}}}]},{"role":"user","parts":[{"functionResponse":{"name":"f","response":{"output":"` + text + `"}}}]}]`,
	}
	for name, body := range bodies {
		r, refused := formats()[name].Check([]byte(body + "}"))
		require.Nil(t, refused, name)
		assert.InDelta(t, 300, r.Tokens(), 5, name)
		require.Len(t, r.Results, 1, name)
		assert.Equal(t, text, r.Results[0].Text, name)
		withTools, refused := formats()[name].Check([]byte(body + `,"tools":[{"name":"` + text + `"}]}`))
		require.Nil(t, refused, name)
		assert.InDelta(t, 400, withTools.Tokens(), 10, name)
	}
	assert.Equal(t, 1600, (&wire.Request{Images: 1}).Tokens())
}

func TestTooLong(t *testing.T) {
	said := make(map[string]bool)
	for name, format := range formats() {
		refused := format.TooLong(2000, 1000)
		assert.Equal(t, wire.RuleWindow, refused.Rule, name)
		assert.Equal(t, 400, refused.Status, name)
		said[refused.Message] = true
	}
	assert.Len(t, said, len(formats()), "each provider has words of its own")
}
