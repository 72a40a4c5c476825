package toolresult_test

// The Go code of the READMEs compiles. Each snippet becomes a function whose parameters are what the snippet takes as given; the
// functions are built by the go command, over files that exist in an overlay alone.

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// given are the names that snippets use and do not declare.
func given() map[string]string {
	return map[string]string{
		"ctx": "context.Context", "err": "error", "backend": "*toolresult.DirBackend", "offload": "compose.ToolMiddleware",
		"compaction": "*toolresult.CompactionHook", "hook": "*toolresult.CompactionHook", "read": "tool.InvokableTool", "search": "tool.InvokableTool",
		"chatModel": "model.ToolCallingChatModel", "tools": "[]tool.BaseTool", "yourTools": "[]tool.BaseTool", "toolInfos": "[]*schema.ToolInfo",
		"messages": "[]*schema.Message", "history": "[]*schema.Message", "graph": "*compose.Graph[[]*schema.Message, *schema.Message]",
		"node": "*compose.ToolsNode", "cfg": "toolresult.OffloadConfig", "readCfg": "toolresult.ReadConfig", "searchCfg": "toolresult.SearchConfig",
		"yourSession": "func(context.Context) (string, error)", "handlerCfg": "toolresult.HandlerConfig",
		"sessionID": "string",
	}
}

// packages are what snippets import.
func packages() map[string]string {
	const eino, own = "github.com/cloudwego/eino/", "github.com/eino-toolresult/toolresult"
	return map[string]string{
		"context": "context", "time": "time", "errors": "errors", "fmt": "fmt",
		"adk": eino + "adk", "model": eino + "components/model", "tool": eino + "components/tool", "compose": eino + "compose",
		"react": eino + "flow/agent/react", "schema": eino + "schema", "toolresult": own, "tokenest": own + "/tokenest",
	}
}

func TestReadmeCompiles(t *testing.T) {
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("there is no go command: ", err)
	}
	module, err := os.Getwd()
	require.NoError(t, err)
	overlay := struct{ Replace map[string]string }{make(map[string]string)}
	temp, snippets := t.TempDir(), 0
	for _, readme := range []string{"README.md", "README_zh.md"} {
		text, err := os.ReadFile(readme)
		require.NoError(t, err)
		for _, snippet := range regexp.MustCompile("(?s)```go\n(.*?)```").FindAllStringSubmatch(string(text), -1) {
			snippets++
			file := filepath.Join(temp, fmt.Sprintf("snippet%d.go", snippets))
			require.NoError(t, os.WriteFile(file, []byte(snippetFile(t, snippets, readme, snippet[1])), 0o644))
			overlay.Replace[filepath.Join(module, "snippets", filepath.Base(file))] = file
		}
	}
	require.Positive(t, snippets)
	data, err := json.Marshal(overlay)
	require.NoError(t, err)
	list := filepath.Join(temp, "overlay.json")
	require.NoError(t, os.WriteFile(list, data, 0o644))
	out, err := exec.CommandContext(t.Context(), "go", "build", "-overlay", list, "-o", os.DevNull, "./snippets").CombinedOutput()
	assert.NoError(t, err, "%s", out)
}

// snippetFile is a file with one snippet as a function. Line numbers in errors are those within the snippet.
func snippetFile(t *testing.T, n int, readme, code string) string {
	t.Helper()
	body := "package snippets\nfunc _() {\n" + code + "\n}\n"
	parsed, err := parser.ParseFile(token.NewFileSet(), "", body, 0)
	require.NoError(t, err, "%s: %s", readme, code)
	var params, used strings.Builder
	for _, name := range declared(parsed) {
		fmt.Fprintf(&used, "_ = %s\n", name)
	}
	for name, kind := range given() {
		if regexp.MustCompile(`\b` + name + `\b`).MatchString(code) {
			fmt.Fprintf(&params, "%s %s, ", name, kind)
		}
	}
	all := fmt.Sprintf("func snippet%d(%s) {\n{\n//line %s snippet:1\n%s\n%s}\n}\n", n, params.String(), readme, code, used.String())
	if strings.Contains(code, "yourState") {
		all += fmt.Sprintf("type yourState%d struct{ Messages []*schema.Message }\n", n)
		all = strings.ReplaceAll(all, "*yourState)", fmt.Sprintf("*yourState%d)", n))
	}
	head := "package snippets\n"
	for name, path := range packages() {
		if regexp.MustCompile(`\b` + name + `\.`).MatchString(all) {
			head += fmt.Sprintf("import %q\n", path)
		}
	}
	return head + all
}

// declared are the variables that a function declares at its top level.
func declared(file *ast.File) (names []string) {
	for _, statement := range file.Decls[0].(*ast.FuncDecl).Body.List {
		assign, ok := statement.(*ast.AssignStmt)
		if !ok || assign.Tok != token.DEFINE {
			continue
		}
		for _, left := range assign.Lhs {
			if ident, ok := left.(*ast.Ident); ok && ident.Name != "_" {
				names = append(names, ident.Name)
			}
		}
	}
	return names
}

// Each way to wire it takes at most five lines.
func TestReadmeWiringIsShort(t *testing.T) {
	text, err := os.ReadFile("README.md")
	require.NoError(t, err)
	_, wiring, found := strings.Cut(string(text), "\n## Wiring\n")
	require.True(t, found)
	wiring, _, _ = strings.Cut(wiring, "\n## ")
	snippets := regexp.MustCompile("(?s)```go\n(.*?)```").FindAllStringSubmatch(wiring, -1)
	require.NotEmpty(t, snippets)
	for _, snippet := range snippets {
		assert.LessOrEqual(t, strings.Count(snippet[1], "\n"), 5, "%s", snippet[1])
	}
}
