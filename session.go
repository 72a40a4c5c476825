package toolresult

// Sessions that share a backend. Results lie in a folder of their session, and the tools see that folder alone, so that a
// call ID that two sessions have in common leads neither to the other's result.

import (
	"context"
	"errors"
	"fmt"

	"github.com/cloudwego/eino/compose"
)

var errNoSession = errors.New("the context has no session")

// SessionPath returns a PathGenerator that puts results under {prefix}/{session}/{call ID}, both in the encoding of SafeName.
// An empty prefix means the default, "/large_tool_result"; a bad one, a session that is "" and an error of the function are
// errors of the generator. Give the same function to ReadConfig.Scope and SearchConfig.Scope. Deleting what lies below
// {prefix}/SafeName(session) ends the session. On a file system that is blind to case, as those of macOS and Windows are, sessions
// must differ in more than case.
func SessionPath(prefix string, session func(ctx context.Context) (string, error)) func(ctx context.Context, input *compose.ToolInput) (string, error) {
	clean, bad := cleanPrefix("the prefix of SessionPath", prefix)
	return func(ctx context.Context, input *compose.ToolInput) (string, error) {
		if bad != nil {
			return "", bad
		}
		folder, err := sessionFolder(ctx, clean, session)
		if err != nil {
			return "", err
		}
		return folder + "/" + SafeName(input.CallID), nil
	}
}

// sessionFolder fails where there is no session: a common folder for all who have none would be shared by strangers.
func sessionFolder(ctx context.Context, prefix string, session func(ctx context.Context) (string, error)) (string, error) {
	id, err := session(ctx)
	if err == nil && id == "" {
		err = errNoSession
	}
	if err != nil {
		return "", fmt.Errorf("toolresult: session of a tool call: %w", err)
	}
	return prefix + "/" + SafeName(id), nil
}
