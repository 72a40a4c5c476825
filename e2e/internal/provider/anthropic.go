package provider

import (
	"encoding/json"
	"net/http"
)

func answerAnthropic(w http.ResponseWriter, turn Turn, tokens int, stream bool) {
	stop := "end_turn"
	if len(turn.Calls) > 0 {
		stop = "tool_use"
	}
	blocks := anthropicBlocks(turn)
	if stream {
		streamAnthropic(w, blocks, tokens, stop)
		return
	}
	message := anthropicMessage(tokens)
	message["content"], message["stop_reason"] = blocks, stop
	answerJSON(w, http.StatusOK, message)
}

func anthropicMessage(tokens int) object {
	return object{
		"id": "msg_1", "type": "message", "role": "assistant", "model": model, "content": []object{}, "stop_reason": nil, "stop_sequence": nil,
		"usage": object{"input_tokens": tokens, "output_tokens": 10},
	}
}

func anthropicBlocks(turn Turn) []object {
	var blocks []object
	if turn.Thought != "" {
		blocks = append(blocks, object{"type": "thinking", "thinking": turn.Thought, "signature": signature(turn.Thought)})
	}
	if turn.Text != "" {
		blocks = append(blocks, object{"type": "text", "text": turn.Text})
	}
	for _, c := range turn.Calls {
		blocks = append(blocks, object{"type": "tool_use", "id": c.ID, "name": c.Name, "input": json.RawMessage(c.Arguments)})
	}
	return blocks
}

// streamAnthropic sends each block as a start, deltas and a stop.
func streamAnthropic(w http.ResponseWriter, blocks []object, tokens int, stop string) {
	events := []object{{"type": "message_start", "message": anthropicMessage(tokens)}}
	for i, block := range blocks {
		begin, deltas := anthropicDeltas(block)
		events = append(events, object{"type": "content_block_start", "index": i, "content_block": begin})
		for _, delta := range deltas {
			events = append(events, object{"type": "content_block_delta", "index": i, "delta": delta})
		}
		events = append(events, object{"type": "content_block_stop", "index": i})
	}
	events = append(events,
		object{"type": "message_delta", "delta": object{"stop_reason": stop, "stop_sequence": nil}, "usage": object{"output_tokens": 10}},
		object{"type": "message_stop"})
	sse(w, true, events...)
}

func anthropicDeltas(block object) (begin object, deltas []object) {
	switch block["type"] {
	case "thinking":
		halves := cut(block["thinking"].(string))
		return object{"type": "thinking", "thinking": "", "signature": ""}, []object{
			{"type": "thinking_delta", "thinking": halves[0]}, {"type": "thinking_delta", "thinking": halves[1]},
			{"type": "signature_delta", "signature": block["signature"]},
		}
	case "text":
		return object{"type": "text", "text": ""}, []object{{"type": "text_delta", "text": block["text"]}}
	}
	halves := cut(string(block["input"].(json.RawMessage)))
	return object{"type": "tool_use", "id": block["id"], "name": block["name"], "input": object{}}, []object{
		{"type": "input_json_delta", "partial_json": halves[0]}, {"type": "input_json_delta", "partial_json": halves[1]},
	}
}
