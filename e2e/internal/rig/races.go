package rig

// Two clients are not free of races, which the race detector would report in every test. Neither has to do with what is tested here, so they
// are kept apart.

import (
	"context"
	"io"
	"net/http"
	"sync"

	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/schema"
)

// arkOpens guards the making of Ark's clients: each sets a field of http.DefaultClient (volcengine-go-sdk v1.2.27, session.go:714). All
// others are given an HTTP client of their own.
var arkOpens sync.Mutex

// gated is Claude's client, whose Stream and the goroutine that it starts both write to its named result (eino-ext claude v0.1.24,
// claude.go:439 and 473). The answer is held back until Stream has returned, as it mostly is with a real provider.
type gated struct{ model.ToolCallingChatModel }

type gateKey struct{}

func (g gated) WithTools(tools []*schema.ToolInfo) (model.ToolCallingChatModel, error) {
	bound, err := g.ToolCallingChatModel.WithTools(tools)
	return gated{bound}, err
}

func (g gated) Stream(ctx context.Context, messages []*schema.Message, opts ...model.Option) (*schema.StreamReader[*schema.Message], error) {
	returned := make(chan struct{})
	defer close(returned)
	return g.ToolCallingChatModel.Stream(context.WithValue(ctx, gateKey{}, returned), messages, opts...)
}

// gate holds back the bodies of accepted requests.
type gate struct{}

func (gate) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := http.DefaultTransport.RoundTrip(r)
	if returned, ok := r.Context().Value(gateKey{}).(chan struct{}); ok && err == nil && response.StatusCode == http.StatusOK {
		response.Body = gatedBody{response.Body, returned}
	}
	return response, err
}

type gatedBody struct {
	io.ReadCloser
	returned chan struct{}
}

func (b gatedBody) Read(p []byte) (int, error) {
	<-b.returned
	return b.ReadCloser.Read(p)
}
