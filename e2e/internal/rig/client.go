// Package rig puts an agent together: a real client of Eino-ext on a provider on loopback, tools whose results are of every kind, and the
// three loops that there are in Eino.
package rig

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/cloudwego/eino-ext/components/model/ark"
	"github.com/cloudwego/eino-ext/components/model/claude"
	"github.com/cloudwego/eino-ext/components/model/deepseek"
	"github.com/cloudwego/eino-ext/components/model/gemini"
	"github.com/cloudwego/eino-ext/components/model/ollama"
	"github.com/cloudwego/eino-ext/components/model/openai"
	"github.com/cloudwego/eino-ext/components/model/qwen"
	"github.com/cloudwego/eino/components/model"
	"github.com/stretchr/testify/require"
	"google.golang.org/genai"

	"github.com/eino-toolresult/toolresult/e2e/internal/wire"
)

// Client is a model client and the provider that it is made for.
type Client struct {
	// Name is that of its package.
	Name string
	// Format is what its provider speaks.
	Format wire.Format
	// Thinks reports whether reasoning must come back with the next request.
	Thinks bool
	open   func(ctx context.Context, url string) (model.ToolCallingChatModel, error)
}

const (
	modelName = "scripted"
	key       = "none"
	timeout   = time.Minute
)

// Clients are the clients, the most used first.
func Clients() []Client {
	return []Client{
		{"openai", wire.OpenAI{}, false, openOpenAI},
		{"claude", wire.Anthropic{}, true, openClaude},
		{"gemini", wire.Gemini{}, true, openGemini},
		{"ollama", wire.Ollama{}, false, openOllama},
		{"qwen", wire.OpenAI{Dialect: wire.Qwen}, false, openQwen},
		{"deepseek", wire.OpenAI{Dialect: wire.DeepSeek}, true, openDeepSeek},
		{"ark", wire.OpenAI{Dialect: wire.Ark}, false, openArk},
	}
}

// Open makes the client for a server.
func (c Client) Open(t testing.TB, url string) model.ToolCallingChatModel {
	t.Helper()
	m, err := c.open(t.Context(), url)
	require.NoError(t, err)
	return m
}

func openOpenAI(ctx context.Context, url string) (model.ToolCallingChatModel, error) {
	return openai.NewChatModel(ctx, &openai.ChatModelConfig{BaseURL: url, APIKey: key, Model: modelName, Timeout: timeout})
}

func openClaude(ctx context.Context, url string) (model.ToolCallingChatModel, error) {
	m, err := claude.NewChatModel(ctx, &claude.Config{
		BaseURL: &url, APIKey: key, Model: modelName, MaxTokens: 100, RequestTimeout: timeout, HTTPClient: &http.Client{Transport: gate{}},
	})
	return gated{m}, err
}

func openGemini(ctx context.Context, url string) (model.ToolCallingChatModel, error) {
	client, err := genai.NewClient(ctx, &genai.ClientConfig{
		APIKey: key, Backend: genai.BackendGeminiAPI, HTTPClient: &http.Client{}, HTTPOptions: genai.HTTPOptions{BaseURL: url},
	})
	if err != nil {
		return nil, err
	}
	return gemini.NewChatModel(ctx, &gemini.Config{Client: client, Model: modelName})
}

func openOllama(ctx context.Context, url string) (model.ToolCallingChatModel, error) {
	m, err := ollama.NewChatModel(ctx, &ollama.ChatModelConfig{BaseURL: url, Model: modelName, Timeout: timeout})
	return m, err
}

func openQwen(ctx context.Context, url string) (model.ToolCallingChatModel, error) {
	return qwen.NewChatModel(ctx, &qwen.ChatModelConfig{BaseURL: url, APIKey: key, Model: modelName, Timeout: timeout})
}

func openDeepSeek(ctx context.Context, url string) (model.ToolCallingChatModel, error) {
	return deepseek.NewChatModel(ctx, &deepseek.ChatModelConfig{BaseURL: url, APIKey: key, Model: modelName, HTTPClient: &http.Client{Timeout: timeout}})
}

func openArk(ctx context.Context, url string) (model.ToolCallingChatModel, error) {
	arkOpens.Lock()
	defer arkOpens.Unlock()
	tries := 0
	return ark.NewChatModel(ctx, &ark.ChatModelConfig{
		BaseURL: url, APIKey: key, Model: modelName, RetryTimes: &tries, HTTPClient: &http.Client{Timeout: timeout},
	})
}
