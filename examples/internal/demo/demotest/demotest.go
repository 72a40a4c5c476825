// Package demotest is what holds of every example that is made of package demo.
package demotest

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Run runs an example and looks at what it printed and stored.
func Run(t *testing.T, run func(ctx context.Context, out io.Writer, dir string) error) {
	t.Helper()
	var out strings.Builder
	dir := t.TempDir()
	require.NoError(t, run(t.Context(), &out, dir))
	t.Logf("\n%s", out.String())

	assert.Contains(t, out.String(), "request 004711: 500 the database is gone", "it stands in the middle of the stored result")
	assert.Regexp(t, `it 1 is a notice, [1-9]\d* are placeholders, and [1-9]\d* are whole`, out.String())
	stored, err := os.ReadFile(filepath.Join(dir, "large_tool_result", "call_0"))
	require.NoError(t, err)
	assert.Equal(t, 6000, strings.Count(string(stored), "\n"))
}
