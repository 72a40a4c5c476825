// Package provider is a model provider on loopback: it refuses what the real one refuses, in its words, and answers by a script, whole or
// streamed, in the format of the real one.
package provider

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/eino-toolresult/toolresult/e2e/internal/wire"
)

// Call is a tool call of the model.
type Call struct {
	// ID is that of the call; not all providers send it. Name is the tool's, Arguments are a JSON object.
	ID, Name, Arguments string
}

// Turn is an answer of the model: an answer without calls ends the run.
type Turn struct {
	// Text comes before the calls. Optional beside them.
	Text string
	// Thought is the reasoning, or for Gemini and Anthropic its signature.
	Thought string
	// Calls are made at once.
	Calls []Call
}

// Script answers the n-th accepted request, from 0.
type Script func(n int, request *wire.Request) Turn

// Server is one provider.
type Server struct {
	// URL is where it listens, once started.
	URL string
	// Format is what it speaks. Required.
	Format wire.Format
	// Window is the largest request. Tokens. 0: any size.
	Window int
	// Script answers. Required.
	Script Script
	// Refuse refuses a request that is in order, where it returns anything. Optional.
	Refuse func(request *wire.Request) *wire.Refusal

	mu       sync.Mutex
	accepted []*wire.Request
	refused  []*wire.Refusal
	given    []string
}

// Start starts a server for the time of a test.
func Start(t testing.TB, s *Server) *Server {
	t.Helper()
	listener := httptest.NewServer(s)
	t.Cleanup(listener.Close)
	s.URL = listener.URL
	return s
}

// Accepted are the requests that were in order.
func (s *Server) Accepted() []*wire.Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]*wire.Request(nil), s.accepted...)
}

// Refused are the refusals.
func (s *Server) Refused() []*wire.Refusal {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]*wire.Refusal(nil), s.refused...)
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	request, turn, refused := s.judge(body)
	if refused != nil {
		w.Header().Set("X-Should-Retry", "false") // else Anthropic's client tries again some server errors
		answerJSON(w, refused.Status, errorBody(s.Format, refused))
		return
	}
	stream := request.Stream || strings.Contains(r.URL.Path, ":streamGenerateContent")
	answer(w, s.Format, turn, request.Tokens(), stream)
}

// judge checks a request and takes down what became of it.
func (s *Server) judge(body []byte) (*wire.Request, Turn, *wire.Refusal) {
	request, refused := s.Format.Check(body)
	s.mu.Lock()
	defer s.mu.Unlock()
	if refused == nil {
		refused = s.judgeMore(request)
	}
	if refused != nil {
		s.refused = append(s.refused, refused)
		return nil, Turn{}, refused
	}
	s.accepted = append(s.accepted, request)
	turn := s.Script(len(s.accepted)-1, request)
	if turn.Thought != "" {
		s.given = append(s.given, thoughtGiven(s.Format, turn.Thought))
	}
	return request, turn, nil
}

// judgeMore knows what stands in no single request: the window, and what was said before.
func (s *Server) judgeMore(request *wire.Request) *wire.Refusal {
	if refused := wire.CheckThoughts(s.Format, request, s.given); refused != nil {
		return refused
	}
	if s.Window > 0 && request.Tokens() > s.Window {
		return s.Format.TooLong(request.Tokens(), s.Window)
	}
	if s.Refuse != nil {
		return s.Refuse(request)
	}
	return nil
}
