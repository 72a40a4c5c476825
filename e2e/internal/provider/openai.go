package provider

import (
	"fmt"
	"net/http"
)

const model = "scripted"

func answerOpenAI(w http.ResponseWriter, turn Turn, tokens int, stream bool) {
	usage := object{"prompt_tokens": tokens, "completion_tokens": 10, "total_tokens": tokens + 10}
	finish := "stop"
	if len(turn.Calls) > 0 {
		finish = "tool_calls"
	}
	if stream {
		streamOpenAI(w, turn, usage, finish)
		return
	}
	message := object{"role": "assistant", "content": turn.Text}
	if turn.Thought != "" {
		message["reasoning_content"] = turn.Thought
	}
	var calls []object
	for i, c := range turn.Calls {
		calls = append(calls, openAICall(i, c.ID, c.Name, c.Arguments))
	}
	if calls != nil {
		message["tool_calls"] = calls
	}
	answerJSON(w, http.StatusOK, object{
		"id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": model, "usage": usage,
		"choices": []object{{"index": 0, "message": message, "finish_reason": finish}},
	})
}

func openAICall(i int, id, name, arguments string) object {
	function := object{"arguments": arguments}
	if name != "" {
		function["name"] = name
	}
	call := object{"index": i, "type": "function", "function": function}
	if id != "" {
		call["id"] = id
	}
	return call
}

func streamOpenAI(w http.ResponseWriter, turn Turn, usage object, finish string) {
	chunk := func(delta object, finish any) object {
		return object{
			"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": model,
			"choices": []object{{"index": 0, "delta": delta, "finish_reason": finish}},
		}
	}
	events := []object{chunk(object{"role": "assistant", "content": ""}, nil)}
	if turn.Thought != "" {
		for _, half := range cut(turn.Thought) {
			events = append(events, chunk(object{"reasoning_content": half}, nil))
		}
	}
	if turn.Text != "" {
		events = append(events, chunk(object{"content": turn.Text}, nil))
	}
	for i, c := range turn.Calls {
		halves := cut(c.Arguments)
		events = append(events,
			chunk(object{"tool_calls": []object{openAICall(i, c.ID, c.Name, "")}}, nil),
			chunk(object{"tool_calls": []object{openAICall(i, "", "", halves[0])}}, nil),
			chunk(object{"tool_calls": []object{openAICall(i, "", "", halves[1])}}, nil))
	}
	events = append(events, chunk(object{}, finish))
	events = append(events, object{"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": model, "choices": []object{}, "usage": usage})
	sse(w, false, events...)
	fmt.Fprint(w, "data: [DONE]\n\n")
}
