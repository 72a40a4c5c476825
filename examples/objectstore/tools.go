package main

// The first agent's own tool. Nothing in it knows of the library, and nothing limits what it returns.

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"go/build"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/components/tool/utils"
)

type searchArguments struct {
	Pattern string `json:"pattern" jsonschema:"required,description=Regular expression (RE2)."`
}

func noTools() ([]tool.BaseTool, error) { return nil, nil }

func sourceTools() ([]tool.BaseTool, error) {
	root := filepath.Join(build.Default.GOROOT, "src")
	if info, err := os.Stat(filepath.Join(root, "net", "http")); err != nil || !info.IsDir() {
		return nil, fmt.Errorf("no Go sources in %q: point GOROOT at a folder that has src/net/http", root)
	}
	search, err := utils.InferTool("search_source", "Searches Go's sources. Answers path:line: text.",
		func(_ context.Context, args searchArguments) (string, error) {
			return searchFiles(os.DirFS(root), args.Pattern)
		})
	return []tool.BaseTool{search}, err
}

func searchFiles(files fs.FS, expression string) (string, error) {
	pattern, err := regexp.Compile(expression)
	if err != nil {
		return "Not a pattern: " + err.Error(), nil
	}
	var found strings.Builder
	err = fs.WalkDir(files, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(name, ".go") {
			return err
		}
		text, err := fs.ReadFile(files, name)
		if err == nil && utf8.Valid(text) {
			searchText(&found, name, text, pattern)
		}
		return err
	})
	return found.String(), err
}

func searchText(found *strings.Builder, name string, text []byte, pattern *regexp.Regexp) {
	lines := bufio.NewScanner(bytes.NewReader(text))
	lines.Buffer(nil, len(text)+1)
	for number := 1; lines.Scan(); number++ {
		if pattern.Match(lines.Bytes()) {
			fmt.Fprintf(found, "%s:%d: %s\n", name, number, lines.Bytes())
		}
	}
}
