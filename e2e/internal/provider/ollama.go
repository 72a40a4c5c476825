package provider

import (
	"encoding/json"
	"net/http"
	"time"
)

// answerOllama streams lines of JSON: text, then the calls, then the numbers. A call has no ID.
func answerOllama(w http.ResponseWriter, turn Turn, tokens int, stream bool) {
	var calls []object
	for _, c := range turn.Calls {
		calls = append(calls, object{"function": object{"name": c.Name, "arguments": json.RawMessage(c.Arguments)}})
	}
	line := func(done bool, text string, calls []object) object {
		message := object{"role": "assistant", "content": text}
		if calls != nil {
			message["tool_calls"] = calls
		}
		out := object{"model": model, "created_at": time.Unix(1, 0).UTC(), "message": message, "done": done}
		if done {
			out["done_reason"], out["prompt_eval_count"], out["eval_count"] = "stop", tokens, 10
		}
		return out
	}
	if !stream {
		answerJSON(w, http.StatusOK, line(true, turn.Text, calls))
		return
	}
	w.Header().Set("Content-Type", "application/x-ndjson")
	lines := json.NewEncoder(w)
	for _, l := range []object{line(false, turn.Text, nil), line(false, "", calls), line(true, "", nil)} {
		_ = lines.Encode(l)
	}
}
