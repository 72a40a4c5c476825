package e2e_test

// What providers say when a request is too long, as it arrives through each client: it is known for that, and ADK's retry recovers.

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eino-toolresult/toolresult"
	"github.com/eino-toolresult/toolresult/e2e/internal/provider"
	"github.com/eino-toolresult/toolresult/e2e/internal/rig"
	"github.com/eino-toolresult/toolresult/e2e/internal/wire"
)

// words are what providers say, beside what the servers say by themselves.
func words(client string) []wire.Refusal {
	bad := http.StatusBadRequest
	return map[string][]wire.Refusal{
		"openai": {
			{Status: bad, Code: "context_length_exceeded", Message: "Your input exceeds the context window of this model. Please adjust your input and try again."},
			{Status: bad, Message: "Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in 300000 tokens. Please reduce the length of the messages."},
		},
		"claude": {
			{Status: bad, Message: "input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000, decrease input length or `max_tokens` and try again"},
			{Status: http.StatusRequestEntityTooLarge, Message: "request_too_large: Request exceeds the maximum allowed number of bytes"},
		},
		"gemini":   {{Status: bad, Message: "Unable to submit request because the input token count is 1069090 but model only supports up to 1048576. Reduce the input token count and try again."}},
		"ollama":   {{Status: bad, Message: "the input length exceeds the context length"}},
		"qwen":     {{Status: bad, Message: "<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 258048]"}},
		"deepseek": {{Status: bad, Message: "This model's maximum context length is 131072 tokens. However, you requested 141241 tokens (133241 in the messages, 8000 in the completion). Please reduce the length of the messages or completion."}},
		"ark":      {{Status: bad, Code: "InvalidParameter", Message: "Input length 98385 exceeds the maximum length 98304. Request id: 0217"}},
	}[client]
}

// others are errors that a shorter conversation does not help.
func others() []wire.Refusal {
	return []wire.Refusal{
		{Status: http.StatusUnauthorized, Message: "Incorrect API key provided."},
		{Status: http.StatusBadRequest, Message: "Invalid value: 'robot'."},
		{Status: http.StatusForbidden, Message: "The model is not available in your region."},
	}
}

func TestTooLongIsKnown(t *testing.T) {
	for _, client := range rig.Clients() {
		t.Run(client.Name, func(t *testing.T) {
			t.Parallel()
			for _, refusal := range append(words(client.Name), *client.Format.TooLong(2000, 1000)) {
				requireKnown(t, client, refusal, true)
			}
			for _, refusal := range others() {
				requireKnown(t, client, refusal, false)
			}
		})
	}
}

func requireKnown(t *testing.T, client rig.Client, refusal wire.Refusal, want bool) {
	t.Helper()
	server := provider.Start(t, &provider.Server{Format: client.Format, Refuse: func(*wire.Request) *wire.Refusal { return &refusal }})
	chat := client.Open(t, server.URL)
	question := schema.UserMessage(rig.Question)
	for delivery, stream := range deliveries() {
		_, err := ask(t, chat, stream, question)
		require.Error(t, err, refusal.Message)
		assert.Equal(t, want, toolresult.IsContextTooLong(err), "%s: %v", delivery, err)
	}
}

// The library takes the window for twice what it is, so every run is refused a few times, and goes on.
func TestRetryRecovers(t *testing.T) {
	for _, client := range rig.Clients() {
		for delivery, stream := range deliveries() {
			t.Run(fmt.Sprintf("%s/%s", client.Name, delivery), func(t *testing.T) {
				t.Parallel()
				hook, err := toolresult.NewCompactionHook(t.Context(), &toolresult.CompactionConfig{ContextWindow: 2 * window})
				require.NoError(t, err)
				agent := &rig.Agent{Client: client, Loop: rig.Loops()[0], Stream: stream, Window: 2 * window, Mode: rig.Both}
				plan := rig.Plan{Steps: steps, Thinks: client.Thinks, Huge: true}
				lost := run(t, agent, plan.Script(), window)
				requireTooLong(t, lost, "without a retry the run ends")

				agent = &rig.Agent{Client: client, Loop: rig.Loops()[0], Stream: stream, Window: 2 * window, Mode: rig.Both,
					Retry: &adk.ModelRetryConfig{MaxRetries: 1, ShouldRetry: hook.ShouldRetry}}
				o := run(t, agent, plan.Script(), window)
				require.NoError(t, o.err)
				assert.Equal(t, "done", o.answer.Content)
				assert.Equal(t, steps+1, o.reached())
				assert.NotEmpty(t, o.server.Refused())
				for _, refused := range o.server.Refused() {
					assert.Equal(t, wire.RuleWindow, refused.Rule, refused.Message)
				}
			})
		}
	}
}
