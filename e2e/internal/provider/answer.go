package provider

// How answers and errors look on the wire. A streamed answer is cut wherever a real one may be: between text and calls, between the calls,
// and within their arguments.

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/eino-toolresult/toolresult/e2e/internal/wire"
)

type object = map[string]any

// answer sends a turn in the format of the provider.
func answer(w http.ResponseWriter, format wire.Format, turn Turn, tokens int, stream bool) {
	switch format.(type) {
	case wire.Anthropic:
		answerAnthropic(w, turn, tokens, stream)
	case wire.Gemini:
		answerGemini(w, turn, tokens, stream)
	case wire.Ollama:
		answerOllama(w, turn, tokens, stream)
	default:
		answerOpenAI(w, turn, tokens, stream)
	}
}

// thoughtGiven is what must come back of a thought.
func thoughtGiven(format wire.Format, thought string) string {
	switch format.(type) {
	case wire.Anthropic:
		return thought + signature(thought)
	case wire.Gemini:
		return signature(thought)
	}
	return thought
}

// signature stands for what a provider signs a thought with.
func signature(thought string) string {
	return base64.StdEncoding.EncodeToString([]byte("signed:" + thought))
}

func errorBody(format wire.Format, r *wire.Refusal) any {
	switch f := format.(type) {
	case wire.Anthropic:
		return object{"type": "error", "request_id": "req_1", "error": object{"type": "invalid_request_error", "message": r.Message}}
	case wire.Gemini:
		return object{"error": object{"code": r.Status, "message": r.Message, "status": "INVALID_ARGUMENT"}}
	case wire.Ollama:
		return object{"error": r.Message}
	case wire.OpenAI:
		if f.Dialect == wire.Ark {
			return object{"error": object{"message": r.Message, "type": "BadRequest", "param": "", "code": r.Code}}
		}
	}
	return object{"error": object{"message": r.Message, "type": "invalid_request_error", "param": nil, "code": orNil(r.Code)}}
}

func orNil(code string) any {
	if code == "" {
		return nil
	}
	return code
}

func answerJSON(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // a client that is gone needs no answer
}

// sse sends server-sent events.
func sse(w http.ResponseWriter, named bool, events ...object) {
	w.Header().Set("Content-Type", "text/event-stream")
	for _, event := range events {
		if named {
			fmt.Fprintf(w, "event: %s\n", event["type"])
		}
		data, _ := json.Marshal(event)
		fmt.Fprintf(w, "data: %s\n\n", data)
	}
}

// cut cuts a text in two.
func cut(text string) [2]string { return [2]string{text[:len(text)/2], text[len(text)/2:]} }
