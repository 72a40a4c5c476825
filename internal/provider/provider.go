// Package provider is a chat model for tests and examples: it has a script in place of a mind, and refuses the requests that
// a provider of chat completions refuses.
package provider

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/schema"
)

// ErrContextTooLong is what a request over the window gets.
var ErrContextTooLong = errors.New("provider: context length exceeded")

// Script answers the n-th request of a model, from 0. It must not change the messages.
type Script func(n int, messages []*schema.Message) (*schema.Message, error)

// Model is a scripted model.ToolCallingChatModel. It is safe for concurrent use.
type Model struct {
	// Script answers the requests. Required.
	Script Script
	// Window is the largest request, in tokens of Count. 0: any size.
	Window int
	// Count is the provider's own count of a request. Required.
	Count func(messages []*schema.Message, tools []*schema.ToolInfo) int
	// NoUsage leaves the usage out of the answers.
	NoUsage bool

	tools []*schema.ToolInfo
	state *state
}

type state struct {
	mu       sync.Mutex
	requests [][]*schema.Message
}

var _ model.ToolCallingChatModel = (*Model)(nil)

// New returns a model that answers by a script.
func New(script Script, window int, count func([]*schema.Message, []*schema.ToolInfo) int) *Model {
	return &Model{Script: script, Window: window, Count: count, state: &state{}}
}

// WithTools implements model.ToolCallingChatModel. The new model shares the script and the requests. The option
// model.WithTools, which ADK uses, does the same for one request.
func (m *Model) WithTools(tools []*schema.ToolInfo) (model.ToolCallingChatModel, error) {
	bound := *m
	bound.tools = tools
	return &bound, nil
}

// Requests returns the messages of all requests so far, refused ones too.
func (m *Model) Requests() [][]*schema.Message {
	m.state.mu.Lock()
	defer m.state.mu.Unlock()
	return append([][]*schema.Message(nil), m.state.requests...)
}

// Generate implements model.BaseChatModel.
func (m *Model) Generate(_ context.Context, messages []*schema.Message, opts ...model.Option) (*schema.Message, error) {
	m.state.mu.Lock()
	n := len(m.state.requests)
	m.state.requests = append(m.state.requests, append([]*schema.Message(nil), messages...))
	m.state.mu.Unlock()

	if err := Check(messages); err != nil {
		return nil, err
	}
	tokens := m.Count(messages, model.GetCommonOptions(&model.Options{Tools: m.tools}, opts...).Tools)
	if m.Window > 0 && tokens > m.Window {
		return nil, fmt.Errorf("%w: %d tokens, window %d", ErrContextTooLong, tokens, m.Window)
	}
	answer, err := m.Script(n, messages)
	if err != nil || m.NoUsage {
		return answer, err
	}
	reported := *answer
	reported.ResponseMeta = &schema.ResponseMeta{Usage: &schema.TokenUsage{PromptTokens: tokens, TotalTokens: tokens}}
	return &reported, nil
}

// Stream implements model.BaseChatModel. The usage comes in the last chunk, as providers send it.
func (m *Model) Stream(ctx context.Context, messages []*schema.Message, opts ...model.Option) (*schema.StreamReader[*schema.Message], error) {
	answer, err := m.Generate(ctx, messages, opts...)
	if err != nil {
		return nil, err
	}
	body := *answer
	body.ResponseMeta = nil
	end := &schema.Message{Role: answer.Role, ResponseMeta: answer.ResponseMeta}
	return schema.StreamReaderFromArray([]*schema.Message{&body, end}), nil
}

// Check refuses what providers refuse: a tool call that is not answered right behind it, once; a result without a call; a
// message without content; text that is not UTF-8 or has a NUL.
func Check(messages []*schema.Message) error {
	open := map[string]int{}
	for i, msg := range messages {
		if msg == nil {
			return fmt.Errorf("provider: message %d is null", i)
		}
		if err := checkText(i, msg); err != nil {
			return err
		}
		if msg.Role == schema.Tool {
			if open[msg.ToolCallID] == 0 {
				return fmt.Errorf("provider: message %d answers %q, which is no open call", i, msg.ToolCallID)
			}
			open[msg.ToolCallID]--
			continue
		}
		if err := checkAnswered(i, open); err != nil {
			return err
		}
		clear(open)
		for _, call := range msg.ToolCalls {
			open[call.ID]++
		}
	}
	return checkAnswered(len(messages), open)
}

func checkAnswered(i int, open map[string]int) error {
	for id, missing := range open {
		if missing > 0 {
			return fmt.Errorf("provider: call %q has no result before message %d", id, i)
		}
	}
	return nil
}

func checkText(i int, msg *schema.Message) error {
	texts := []string{msg.Content, msg.ReasoningContent}
	for _, part := range msg.UserInputMultiContent {
		texts = append(texts, part.Text)
	}
	text := strings.Join(texts, "")
	if !utf8.ValidString(text) || strings.IndexByte(text, 0) >= 0 {
		return fmt.Errorf("provider: message %d is not UTF-8 or has a NUL", i)
	}
	if text == "" && len(msg.UserInputMultiContent) == 0 && len(msg.ToolCalls) == 0 && msg.Role != schema.Tool {
		return fmt.Errorf("provider: message %d is empty", i)
	}
	return nil
}
