package main

// The whole example, with a loopback server in the place of a provider and one in that of the web.

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// asked is what of a request the server in place of the provider looks at.
type asked struct {
	Messages []struct {
		Role    string
		Content string
	}
	Tools []struct{ Function struct{ Name string } }
}

// provider answers each request by the next of some functions.
func provider(t *testing.T, answers ...func(asked) string) *httptest.Server {
	n := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var request asked
		if !assert.NoError(t, json.NewDecoder(r.Body).Decode(&request)) || !assert.Less(t, n, len(answers), "more requests than expected") {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(w, "data: {\"choices\":[{\"index\":0,\"delta\":%s}]}\n\ndata: [DONE]\n\n", answers[n](request))
		n++
	}))
	t.Cleanup(server.Close)
	return server
}

func says(text string) func(asked) string {
	return func(asked) string { return fmt.Sprintf(`{"role":"assistant","content":%q}`, text) }
}

func calls(id, name string, arguments map[string]any) string {
	text, _ := json.Marshal(arguments)
	quoted, _ := json.Marshal(string(text))
	return fmt.Sprintf(`{"role":"assistant","tool_calls":[{"index":0,"id":%q,"type":"function","function":{"name":%q,"arguments":%s}}]}`, id, name, quoted)
}

func TestChat(t *testing.T) {
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for i := range 20_000 {
			fmt.Fprintf(w, `{"number":%d,"title":"issue %d"}`+"\n", i, i)
		}
	}))
	defer web.Close()
	server := provider(t,
		func(r asked) string {
			assert.Len(t, r.Tools, 3, "the agent's own, and the two that read what is stored")
			return calls("call_1", "fetch_url", map[string]any{"url": web.URL})
		},
		func(r asked) string {
			notice := r.Messages[len(r.Messages)-1].Content
			assert.Contains(t, notice, `{"number": number, "title": string}`, "the outline")
			assert.Less(t, len(notice), 5_000)
			return calls("call_2", "search_file", map[string]any{"file_path": "/large_tool_result/call_1", "pattern": "issue 17321"})
		},
		func(r asked) string {
			return says(r.Messages[len(r.Messages)-1].Content)(r)
		},
		func(r asked) string {
			assert.Len(t, r.Messages, 8, "system prompt, the first turn with two calls and its answer, the second question")
			return says("You are welcome.")(r)
		},
	)
	env := map[string]string{"OPENAI_API_KEY": "none", "OPENAI_BASE_URL": server.URL, "CHAT_MODEL": "gpt-test", "CHAT_WINDOW": "32000"}
	chosen, err := chooseModel(t.Context(), func(name string) string { return env[name] })
	require.NoError(t, err)
	var out strings.Builder
	require.NoError(t, chat(t.Context(), chosen, t.TempDir(), strings.NewReader("Which is issue 17321?\nThank you.\n\n"), &out))
	assert.Contains(t, out.String(), "[stored in /large_tool_result/call_1]")
	assert.Contains(t, out.String(), `17322: {"number":17321,"title":"issue 17321"}`)
	assert.Contains(t, out.String(), "You are welcome.")
}

func TestChooseModel(t *testing.T) {
	tests := []struct {
		env    map[string]string
		want   string
		refuse string
	}{
		{map[string]string{"OPENAI_API_KEY": "k", "CHAT_MODEL": "gpt-5"}, "*openai.ChatModel", ""},
		{map[string]string{"ANTHROPIC_API_KEY": "k", "CHAT_MODEL": "claude"}, "*claude.ChatModel", ""},
		{map[string]string{"GEMINI_API_KEY": "k", "CHAT_MODEL": "gemini"}, "*gemini.ChatModel", ""},
		{map[string]string{"OLLAMA_HOST": "http://localhost:11434", "CHAT_MODEL": "qwen3"}, "*ollama.ChatModel", ""},
		{map[string]string{"OPENAI_API_KEY": "k"}, "", "no model"},
		{map[string]string{"CHAT_MODEL": "gpt-5"}, "", "no model"},
		{map[string]string{"OPENAI_API_KEY": "k", "CHAT_MODEL": "gpt-5", "CHAT_WINDOW": "many"}, "", "CHAT_WINDOW"},
	}
	for _, tt := range tests {
		c, err := chooseModel(t.Context(), func(name string) string { return tt.env[name] })
		if tt.refuse != "" {
			assert.ErrorContains(t, err, tt.refuse, "%v", tt.env)
			continue
		}
		require.NoError(t, err, "%v", tt.env)
		assert.Equal(t, tt.want, fmt.Sprintf("%T", c.model))
	}
}

// What cannot be fetched is an answer that the model can act on.
func TestFetchFails(t *testing.T) {
	gone := httptest.NewServer(http.NotFoundHandler())
	defer gone.Close()
	fetch, err := newFetchTool()
	require.NoError(t, err)
	for url, want := range map[string]string{gone.URL: "404 Not Found", "ftp://example.com": "unsupported protocol", ":": "missing protocol"} {
		text, err := fetch.InvokableRun(t.Context(), fmt.Sprintf(`{"url":%q}`, url))
		require.NoError(t, err)
		assert.Contains(t, text, want)
	}
}

// A conversation that fills a small window is pruned, a question that fails is taken back, and a tool that does not exist is an answer.
func TestChatGoesOn(t *testing.T) {
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, strings.Repeat("nothing new here. ", 150))
	}))
	defer web.Close()
	var answers []func(asked) string
	for i := range 20 {
		answers = append(answers, func(asked) string {
			return calls(fmt.Sprint("call_", i), "fetch_url", map[string]any{"url": web.URL})
		})
	}
	answers = append(answers,
		func(asked) string { return calls("call_x", "no_such_tool", nil) },
		func(r asked) string {
			assert.Equal(t, "There is no tool no_such_tool.", r.Messages[len(r.Messages)-1].Content)
			return says("Nothing.")(r)
		},
		func(asked) string { return "nonsense" },
		func(r asked) string {
			assert.NotContains(t, fmt.Sprint(r.Messages), "Fail!")
			return says("Still here.")(r)
		},
	)
	server := provider(t, answers...)
	env := map[string]string{"OPENAI_API_KEY": "none", "OPENAI_BASE_URL": server.URL, "CHAT_MODEL": "gpt-test", "CHAT_WINDOW": "8000"}
	chosen, err := chooseModel(t.Context(), func(name string) string { return env[name] })
	require.NoError(t, err)
	var out strings.Builder
	require.NoError(t, chat(t.Context(), chosen, t.TempDir(), strings.NewReader("What is new?\nFail!\nAnd now?\n\n"), &out))
	assert.Contains(t, out.String(), "results of before")
	assert.Contains(t, out.String(), "[failed: ")
	assert.Contains(t, out.String(), "Still here.")
}
