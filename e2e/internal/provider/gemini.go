package provider

import (
	"encoding/json"
	"net/http"
)

// answerGemini streams a part a chunk: function calls are never cut. The first of the calls is signed, as the others of a parallel call
// are not.
func answerGemini(w http.ResponseWriter, turn Turn, tokens int, stream bool) {
	var parts []object
	if turn.Text != "" {
		parts = append(parts, object{"text": turn.Text})
	}
	for i, c := range turn.Calls {
		part := object{"functionCall": object{"name": c.Name, "args": json.RawMessage(c.Arguments)}}
		if i == 0 && turn.Thought != "" {
			part["thoughtSignature"] = signature(turn.Thought)
		}
		parts = append(parts, part)
	}
	usage := object{"promptTokenCount": tokens, "candidatesTokenCount": 10, "totalTokenCount": tokens + 10}
	chunk := func(finish string, parts ...object) object {
		candidate := object{"index": 0, "content": object{"role": "model", "parts": parts}}
		if finish != "" {
			candidate["finishReason"] = finish
		}
		return object{"candidates": []object{candidate}, "usageMetadata": usage, "modelVersion": model}
	}
	if !stream {
		answerJSON(w, http.StatusOK, chunk("STOP", parts...))
		return
	}
	var events []object
	for i, part := range parts {
		finish := ""
		if i == len(parts)-1 {
			finish = "STOP"
		}
		events = append(events, chunk(finish, part))
	}
	sse(w, false, events...)
}
