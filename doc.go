// Package toolresult keeps tool results from flooding the context window of an agent built on CloudWeGo Eino. It does two
// jobs.
//
// Offload: [NewOffload] makes a tool middleware. A result over a token limit goes, whole, to a [Backend]; the model gets a
// short notice with the path, a sample, and the name of the tool that reads the rest. [NewReadTool] and [NewSearchTool] make
// the tools for that.
//
// Prune: [NewCompactionHook] makes a hook that runs before each model call. When the conversation has grown past a mark,
// older tool results become one-line placeholders, oldest first, until a lower mark is met. Every call keeps its result, and
// the newest steps stay whole.
//
// The package never summarises, never calls a model, never drops a result silently, writes no logs, and has no global
// settings. All that it knows of a conversation is in the messages, so a restart changes nothing.
package toolresult

import "fmt"

// badConfig is the error of every constructor that refuses a field.
func badConfig(field string, value any, want string) error {
	return fmt.Errorf("toolresult: %s is %v; want %s", field, value, want)
}
