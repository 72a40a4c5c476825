package main

// The agent's own tools: they list and search a source tree, and return whatever there is to return. Nothing in them knows
// of the library, and nothing limits what they return: that is the point.

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"go/build"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/components/tool/utils"
	"github.com/cloudwego/eino/schema"
)

type listArguments struct {
	Path string `json:"path" jsonschema:"required,description=Folder below which every file is listed; a dot is all of the tree."`
}

type searchArguments struct {
	Path    string `json:"path" jsonschema:"required,description=File or folder to search; a dot is all of the tree."`
	Pattern string `json:"pattern" jsonschema:"required,description=Regular expression (RE2)."`
}

// sourceTools are list_source and search_source. Their names differ from read_file and search_file, which the library brings.
func sourceTools(files fs.FS) ([]tool.BaseTool, error) {
	tree := tree{files}
	list, err := utils.InferTool("list_source", "Lists the files below a folder, with their sizes in bytes.", tree.list)
	if err != nil {
		return nil, err
	}
	search, err := utils.InferTool("search_source", "Searches the Go files below a folder, or one file. Answers path:line: text.", tree.search)
	if err != nil {
		return nil, err
	}
	return []tool.BaseTool{list, search}, nil
}

// tree is a source tree. An fs.FS refuses paths that lead out of it, so the tools need not.
type tree struct{ files fs.FS }

// list returns a line for each file. For all of the Go tree that is half a megabyte.
func (t tree) list(ctx context.Context, args listArguments) (string, error) {
	var found strings.Builder
	return t.walk(ctx, args.Path, &found, func(name string, entry fs.DirEntry) error {
		info, err := entry.Info()
		if err == nil {
			fmt.Fprintf(&found, "%s %d\n", name, info.Size())
		}
		return err
	})
}

// search returns a line for each line that matches: a hundred bytes for one file, and megabytes for a careless pattern.
func (t tree) search(ctx context.Context, args searchArguments) (string, error) {
	pattern, err := regexp.Compile(args.Pattern)
	if err != nil {
		return "Not a pattern: " + err.Error(), nil
	}
	var found strings.Builder
	return t.walk(ctx, args.Path, &found, func(name string, _ fs.DirEntry) error {
		if !strings.HasSuffix(name, ".go") {
			return nil
		}
		text, err := fs.ReadFile(t.files, name)
		if err == nil {
			matches(&found, name, text, pattern)
		}
		return err
	})
}

// walk visits the files below a path in the order of their names, so that every run sees the same. A path that the model got
// wrong is an answer, because an error of a tool would end the run.
func (t tree) walk(ctx context.Context, root string, found *strings.Builder, visit func(string, fs.DirEntry) error) (string, error) {
	err := fs.WalkDir(t.files, root, func(name string, entry fs.DirEntry, err error) error {
		if err = errors.Join(err, ctx.Err()); err != nil || entry.IsDir() {
			return err
		}
		return visit(name, entry)
	})
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrInvalid) {
		return "No such file or folder: " + root, nil
	}
	if err == nil && found.Len() == 0 {
		return "Nothing found.", nil
	}
	return found.String(), err
}

// matches writes every line in which a match begins, once. A file that is no text is passed over, as grep does.
func matches(found *strings.Builder, name string, text []byte, pattern *regexp.Regexp) {
	all := pattern.FindAllIndex(text, -1)
	if len(all) == 0 || !utf8.Valid(text) {
		return
	}
	number, from, end := 1, 0, -1
	for _, match := range all {
		if match[0] <= end {
			continue
		}
		start := bytes.LastIndexByte(text[:match[0]], '\n') + 1
		number += bytes.Count(text[from:start], []byte("\n"))
		from, end = start, len(text)
		if length := bytes.IndexByte(text[match[0]:], '\n'); length >= 0 {
			end = match[0] + length
		}
		fmt.Fprintf(found, "%s:%d: %s\n", name, number, text[start:end])
	}
}

// sourceTree finds the sources of the Go that runs this or, where there is no go command, of the one that built it.
func sourceTree(ctx context.Context) (string, error) {
	goroot := build.Default.GOROOT
	if said, err := exec.CommandContext(ctx, "go", "env", "GOROOT").Output(); err == nil {
		goroot = strings.TrimSpace(string(said))
	}
	return sourceBelow(goroot)
}

// sourceBelow looks for what the script asks about, because some distributions ship Go without its sources.
func sourceBelow(goroot string) (string, error) {
	source := filepath.Join(goroot, "src")
	if info, err := os.Stat(filepath.Join(source, "net", "http")); err != nil || !info.IsDir() {
		return "", fmt.Errorf("no Go sources in %q: install Go from https://go.dev/dl, or point GOROOT at a folder that has src/net/http", source)
	}
	return source, nil
}

// toolInfos are the schemas of tools, as they go with every request.
func toolInfos(ctx context.Context, tools []tool.BaseTool) ([]*schema.ToolInfo, error) {
	infos := make([]*schema.ToolInfo, len(tools))
	for i, t := range tools {
		var err error
		if infos[i], err = t.Info(ctx); err != nil {
			return nil, err
		}
	}
	return infos, nil
}
