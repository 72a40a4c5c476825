package toolresult_test

// Sessions on one backend: the same call IDs, and no way to the results of another.

import (
	"context"
	"errors"
	"testing"

	"github.com/cloudwego/eino/compose"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eino-toolresult/toolresult"
)

type sessionKey struct{}

func inSession(id string) context.Context {
	return context.WithValue(context.Background(), sessionKey{}, id)
}

func sessionOf(ctx context.Context) (string, error) {
	id, ok := ctx.Value(sessionKey{}).(string)
	if !ok {
		return "", errNoUser
	}
	return id, nil
}

var errNoUser = errors.New("nobody has logged in")

func TestSessionsAreApart(t *testing.T) {
	files := newMemory()
	mw := newOffload(t, &toolresult.OffloadConfig{Backend: files, TokenLimit: 100, PathGenerator: toolresult.SessionPath("", sessionOf)})
	read := newReader(t, &toolresult.ReadConfig{Backend: files, Scope: sessionOf})
	search := newSearcher(t, &toolresult.SearchConfig{Backend: files, Scope: sessionOf})
	sessions := map[string]string{"ada": "the first secret", "bob": "the second secret", "../ada": "the third secret", "ad": "the fourth secret"}
	paths := map[string]string{}
	for id, secret := range sessions {
		fetch := mw.Invokable(func(context.Context, *compose.ToolInput) (*compose.ToolOutput, error) {
			return &compose.ToolOutput{Result: secret + "\n" + numberedLines(20)}, nil
		})
		out, err := fetch(inSession(id), &compose.ToolInput{Name: "fetch", CallID: "call_1"})
		require.NoError(t, err)
		paths[id] = pathIn(t, out.Result)
	}
	require.Equal(t, "/large_tool_result/ada/call_1", paths["ada"])
	require.Len(t, files.stored(), len(sessions), "one call ID, a file for each session")
	for id := range sessions {
		for owner, path := range paths {
			args := `{"file_path":"` + path + `","pattern":"secret"}`
			page, err := read.InvokableRun(inSession(id), args)
			require.NoError(t, err)
			found, err := search.InvokableRun(inSession(id), args)
			require.NoError(t, err)
			if id == owner {
				assert.Contains(t, page, sessions[id])
				assert.Contains(t, found, sessions[id])
				continue
			}
			for _, answer := range []string{page, found} {
				assert.NotContains(t, answer, "secret", "%s reads what is %s's", id, owner)
				assert.Contains(t, answer, "cannot be read: stored results have paths that begin with /large_tool_result/"+toolresult.SafeName(id)+"/")
			}
		}
	}
}

// TestNoSession fails closed: a folder for all who have no session would be shared by strangers.
func TestNoSession(t *testing.T) {
	files := newMemory()
	read := newReader(t, &toolresult.ReadConfig{Backend: files, Scope: sessionOf})
	path := toolresult.SessionPath("/results/", sessionOf)
	for _, c := range []struct {
		reason string
		ctx    context.Context
		want   string
	}{
		{"no session in the context", context.Background(), "nobody has logged in"},
		{"a session without a name", inSession(""), "the context has no session"},
	} {
		_, err := read.InvokableRun(c.ctx, `{"file_path":"/large_tool_result/a/call_1"}`)
		assert.ErrorContains(t, err, "toolresult: session of a tool call: "+c.want, c.reason)
		_, err = path(c.ctx, &compose.ToolInput{CallID: "call_1"})
		assert.ErrorContains(t, err, "toolresult: session of a tool call: "+c.want, c.reason)
	}
	_, err := path(context.Background(), &compose.ToolInput{CallID: "call_1"})
	assert.ErrorIs(t, err, errNoUser, "the function's own error can be found")
	got, err := path(inSession("ada"), &compose.ToolInput{CallID: "a/b"})
	require.NoError(t, err)
	assert.Equal(t, "/results/ada/"+toolresult.SafeName("a/b"), got)
	_, err = toolresult.SessionPath("/", sessionOf)(inSession("ada"), &compose.ToolInput{})
	assert.ErrorContains(t, err, `the prefix of SessionPath is "/"`)
}
