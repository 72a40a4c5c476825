package main

// Which model the environment names, and the estimator that counts as it does.

import (
	"context"
	"errors"
	"strings"

	"github.com/cloudwego/eino-ext/components/model/claude"
	"github.com/cloudwego/eino-ext/components/model/gemini"
	"github.com/cloudwego/eino-ext/components/model/ollama"
	"github.com/cloudwego/eino-ext/components/model/openai"
	"google.golang.org/genai"

	"github.com/eino-toolresult/toolresult/tokenest"
)

var errNoModel = errors.New("no model: set CHAT_MODEL, and OPENAI_API_KEY (with OPENAI_BASE_URL for other endpoints), ANTHROPIC_API_KEY, GEMINI_API_KEY or OLLAMA_HOST")

// maxAnswer is how long an answer may be, which Claude must be told. Tokens.
const maxAnswer = 8_000

// chooseModel takes the first provider of which the environment has a key.
func chooseModel(ctx context.Context, getenv func(string) string) (c *choice, err error) {
	name := getenv("CHAT_MODEL")
	if name == "" {
		return nil, errNoModel
	}
	c = &choice{name: name}
	if c.window, err = window(getenv); err != nil {
		return nil, err
	}
	switch {
	case getenv("OPENAI_API_KEY") != "":
		c.tokens = estimatorFor(name)
		c.model, err = openai.NewChatModel(ctx, &openai.ChatModelConfig{APIKey: getenv("OPENAI_API_KEY"), BaseURL: getenv("OPENAI_BASE_URL"), Model: name})
	case getenv("ANTHROPIC_API_KEY") != "":
		c.tokens = tokenest.Claude()
		config := &claude.Config{APIKey: getenv("ANTHROPIC_API_KEY"), Model: name, MaxTokens: maxAnswer}
		if base := getenv("ANTHROPIC_BASE_URL"); base != "" {
			config.BaseURL = &base
		}
		c.model, err = claude.NewChatModel(ctx, config)
	case getenv("GEMINI_API_KEY") != "":
		c.tokens = tokenest.Gemini()
		err = c.openGemini(ctx, getenv)
	case getenv("OLLAMA_HOST") != "":
		c.tokens = estimatorFor(name)
		c.model, err = ollama.NewChatModel(ctx, &ollama.ChatModelConfig{BaseURL: getenv("OLLAMA_HOST"), Model: name})
	default:
		return nil, errNoModel
	}
	return c, err
}

func (c *choice) openGemini(ctx context.Context, getenv func(string) string) error {
	client, err := genai.NewClient(ctx, &genai.ClientConfig{
		APIKey: getenv("GEMINI_API_KEY"), Backend: genai.BackendGeminiAPI,
		HTTPOptions: genai.HTTPOptions{BaseURL: getenv("GEMINI_BASE_URL")},
	})
	if err != nil {
		return err
	}
	c.model, err = gemini.NewChatModel(ctx, &gemini.Config{Client: client, Model: c.name})
	return err
}

// estimatorFor goes by the name, as many models are served in the same format.
func estimatorFor(name string) *tokenest.Estimator {
	name = strings.ToLower(name)
	switch {
	case strings.Contains(name, "qwen"):
		return tokenest.Qwen()
	case strings.Contains(name, "deepseek"):
		return tokenest.DeepSeek()
	case strings.Contains(name, "llama"):
		return tokenest.Llama()
	case strings.Contains(name, "gpt"):
		return tokenest.O200K()
	}
	return tokenest.Generic()
}
