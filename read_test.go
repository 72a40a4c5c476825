package toolresult_test

// The read tool: what a model can get wrong, and what it is told.

import (
	"context"
	"fmt"
	"html"
	"math"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eino-toolresult/toolresult"
)

func TestToolConfigsAreChecked(t *testing.T) {
	files := newMemory()
	for _, c := range []struct {
		reason, field string
		cfg           *toolresult.ReadConfig
	}{
		{"no config at all", "", nil},
		{"nowhere to read from", ".Backend is nil", &toolresult.ReadConfig{}},
		{"too small for the hints", ".MaxTokens is 99", &toolresult.ReadConfig{Backend: files, MaxTokens: 99}},
		{"negative", ".MaxTokens is -1", &toolresult.ReadConfig{Backend: files, MaxTokens: -1}},
		{"overflows in bytes", ".MaxTokens is 9223372036854775807", &toolresult.ReadConfig{Backend: files, MaxTokens: math.MaxInt}},
		{"everything", `.PathPrefix is "/"`, &toolresult.ReadConfig{Backend: files, PathPrefix: "/"}},
		{"relative", `.PathPrefix is "results"`, &toolresult.ReadConfig{Backend: files, PathPrefix: "results"}},
		{"not clean", `.PathPrefix is "/a/../b"`, &toolresult.ReadConfig{Backend: files, PathPrefix: "/a/../b"}},
		{"no such language", ".Language is 7", &toolresult.ReadConfig{Backend: files, Language: 7}},
	} {
		read, err := toolresult.NewReadTool(t.Context(), c.cfg)
		assert.ErrorContains(t, err, "toolresult: ReadConfig"+c.field, c.reason)
		assert.Nil(t, read, c.reason)
		search, err := toolresult.NewSearchTool(t.Context(), (*toolresult.SearchConfig)(c.cfg))
		assert.ErrorContains(t, err, "toolresult: SearchConfig"+c.field, c.reason)
		assert.Nil(t, search, c.reason)
	}
}

func TestToolsIntroduceThemselves(t *testing.T) {
	for _, c := range []struct {
		reason, name string
		tool         tool.BaseTool
		params       []string
	}{
		{"the default", "read_file", newReader(t, &toolresult.ReadConfig{Backend: newMemory()}),
			[]string{"file_path", "offset", "limit", "byte_offset"}},
		{"another name, in Chinese", "peek", newReader(t, &toolresult.ReadConfig{Backend: newMemory(), ToolName: "peek", Language: adk.LanguageChinese}),
			[]string{"file_path", "offset", "limit", "byte_offset"}},
		{"the default", "search_file", newSearcher(t, &toolresult.SearchConfig{Backend: newMemory()}),
			[]string{"file_path", "pattern", "ignore_case", "context", "limit", "offset", "byte_offset"}},
	} {
		info, err := c.tool.Info(t.Context())
		require.NoError(t, err)
		assert.Equal(t, c.name, info.Name, c.reason)
		params, err := info.ToJSONSchema()
		require.NoError(t, err)
		var names []string
		for pair := params.Properties.Oldest(); pair != nil; pair = pair.Next() {
			names = append(names, pair.Key)
			assert.NotEmpty(t, pair.Value.Description, pair.Key)
		}
		assert.ElementsMatch(t, c.params, names, c.reason)
	}
}

func TestReadPlaces(t *testing.T) {
	files := newMemory()
	files.files[pagePath] = "one\ntwo\nthree\n" + strings.Repeat("中", 3_000) + "\nfive"
	files.files["/large_tool_result/empty"] = ""
	read := newReader(t, &toolresult.ReadConfig{Backend: files})
	for _, c := range []struct{ reason, args, want string }{
		{"the beginning", `"offset":1,"limit":2`, "1: one\n2: two\n[Lines 1-2 of 5, 9019 bytes in all. Next: offset=3]"},
		{"zero is the beginning", `"offset":0,"limit":1`, "1: one\n[Lines 1-1 of 5, 9019 bytes in all. Next: offset=2]"},
		{"negative is the beginning", `"offset":-7,"limit":1`, "1: one\n[Lines 1-1 of 5, 9019 bytes in all. Next: offset=2]"},
		{"a number as text", `"offset":"2","limit":"1"`, "2: two\n[Lines 2-2 of 5, 9019 bytes in all. Next: offset=3]"},
		{"a whole number with a fraction", `"offset":2.0,"limit":1.0`, "2: two\n[Lines 2-2 of 5, 9019 bytes in all. Next: offset=3]"},
		{"null is left out", `"offset":null,"limit":1,"byte_offset":null`, "1: one\n[Lines 1-1 of 5, 9019 bytes in all. Next: offset=2]"},
		{"an empty text is left out", `"offset":"","limit":1`, "1: one\n[Lines 1-1 of 5, 9019 bytes in all. Next: offset=2]"},
		{"limit 0 is none", `"offset":5,"limit":0`, "5: five\n[Lines 5-5 of 5, 9019 bytes in all. End of result.]"},
		{"a negative limit is none", `"offset":5,"limit":-1`, "5: five\n[Lines 5-5 of 5, 9019 bytes in all. End of result.]"},
		{"an enormous limit", `"offset":5,"limit":1e9`, "5: five\n[Lines 5-5 of 5, 9019 bytes in all. End of result.]"},
		{"an unknown field", `"offset":5,"encoding":"utf-8"`, "5: five\n[Lines 5-5 of 5, 9019 bytes in all. End of result.]"},
		{"byte_offset 0 was given, and is repeated", `"byte_offset":0,"limit":1`, "1: one\n[Lines 1-1 of 5, 9019 bytes in all. Next: offset=2 byte_offset=0]"},
		{"a negative byte_offset is none", `"byte_offset":-5,"limit":1`, "1: one\n[Lines 1-1 of 5, 9019 bytes in all. Next: offset=2 byte_offset=0]"},
		{"inside a line", `"offset":3,"byte_offset":2,"limit":1`, "3: ree\n[Lines 3-3 of 5, 9019 bytes in all. Next: offset=4 byte_offset=0]"},
		{"at the line's own newline", `"offset":1,"byte_offset":3,"limit":1`, "1: \n[Lines 1-1 of 5, 9019 bytes in all. Next: offset=2 byte_offset=0]"},
		{"behind its line", `"offset":1,"byte_offset":4,"limit":1`, "2: two\n[Lines 2-2 of 5, 9019 bytes in all. Next: offset=3 byte_offset=0]"},
		{"inside a character", `"offset":4,"byte_offset":8998,"limit":1`, "4: 中\n[Lines 4-4 of 5, 9019 bytes in all. Next: offset=5 byte_offset=0]"},
		{"behind the end", `"offset":6`, "[offset=6 is behind the end. The result has 5 lines. Use smaller values.]"},
		{"far behind the end", `"offset":1e9`, "[offset=1000000000 is behind the end. The result has 5 lines. Use smaller values.]"},
		{"beyond any integer", `"offset":1e30`, "[offset=9007199254740992 is behind the end. The result has 5 lines. Use smaller values.]"},
		{"beyond any float", `"offset":1e999`, "[offset=9007199254740992 is behind the end. The result has 5 lines. Use smaller values.]"},
		{"behind the last line", `"offset":5,"byte_offset":4`, "[offset=5 byte_offset=4 is behind the end. The result has 5 lines. Use smaller values.]"},
		{"far behind its line", `"offset":5,"byte_offset":1e30`, "[offset=5 byte_offset=9007199254740992 is behind the end. The result has 5 lines. Use smaller values.]"},
	} {
		got := askRaw(t, read, 0, `{"file_path":"`+pagePath+`",`+c.args+`}`)
		assert.Equal(t, c.want, got, "%s: %s", c.reason, c.args)
	}
	assert.Equal(t, "[The result is empty.]", askRaw(t, read, 0, `{"file_path":"/large_tool_result/empty"}`))
}

func TestArgumentsThatCannotBeRead(t *testing.T) {
	files := newMemory()
	files.files[pagePath] = "text"
	read, search := newReader(t, &toolresult.ReadConfig{Backend: files}), newSearcher(t, &toolresult.SearchConfig{Backend: files})
	for _, c := range []struct{ reason, args, want string }{
		{"nothing", ``, `"" cannot be read`},
		{"blanks", "  \n", `"" cannot be read`},
		{"an empty object", `{}`, `"" cannot be read`},
		{"null", `null`, `"" cannot be read`},
		{"cut off", `{"file_path": "/large_tool_res`, "(unexpected end of JSON input). Give one JSON object"},
		{"a list", `["` + pagePath + `"]`, "(array in place of an object). Give one JSON object"},
		{"a text", `"` + pagePath + `"`, "(string in place of an object). Give one JSON object"},
		{"two objects", `{} {}`, "invalid character '{' after top-level value"},
		{"a path that is a number", `{"file_path": 7}`, "(file_path: number in place of a string)"},
		{"a path that is a list", `{"file_path": ["a"]}`, "(file_path: array in place of a string)"},
		{"an offset in words", `{"file_path": "` + pagePath + `", "offset": "ten"}`, "(ten is not a number)"},
		{"an offset that is a list", `{"file_path": "` + pagePath + `", "offset": [1]}`, "([1] is not a number)"},
		{"an offset that is true", `{"file_path": "` + pagePath + `", "offset": true}`, "(true is not a number)"},
		{"an offset that is NaN", `{"file_path": "` + pagePath + `", "offset": "NaN"}`, "(NaN is not a number)"},
		{"megabytes", `{"file_path": "` + pagePath + `", "offset": "` + strings.Repeat("z", 3<<20) + `"}`, "(zzz"},
	} {
		assert.Contains(t, askRaw(t, read, 0, c.args), c.want, c.reason)
		if args := strings.TrimSpace(c.args); strings.HasSuffix(args, "}") && !strings.HasPrefix(args, "{}") {
			assert.Contains(t, askRaw(t, search, 0, strings.TrimSuffix(args, "}")+`,"pattern":"x"}`), c.want, c.reason)
		}
	}
}

func TestPathsThatCannotBeRead(t *testing.T) {
	files := newMemory()
	for _, path := range []string{pagePath, "/etc/passwd", "/large_tool_result", "/large_tool_results/other", "/large_tool_result/../etc/passwd", "large_tool_result/call_1"} {
		files.files[path] = "SECRET"
	}
	for _, c := range []struct{ reason, path string }{
		{"outside the prefix", "/etc/passwd"},
		{"out of the prefix by ..", "/large_tool_result/../etc/passwd"},
		{"the same, escaped", "/large_tool_result/..&#47;..&#47;etc/passwd"},
		{"the prefix itself", "/large_tool_result"},
		{"the prefix itself, with a slash", "/large_tool_result/"},
		{"without the first slash", "large_tool_result/call_1"},
		{"a folder that only begins alike", "/large_tool_results/other"},
		{"not clean", "/large_tool_result//call_1"},
		{"not clean, with a dot", "/large_tool_result/./call_1"},
		{"the folder above", ".."},
		{"nothing", ""},
		{"a URL", "file:///large_tool_result/call_1"},
		{"another system's path", `C:\large_tool_result\call_1`},
		{"control characters", "/etc/\x00\n\x1b[31mpasswd"},
		{"not UTF-8", "/etc/\xff\xfe"},
		{"enormous", "/etc/" + strings.Repeat("中", 100_000)},
	} {
		for _, lang := range []adk.Language{adk.LanguageEnglish, adk.LanguageChinese} {
			for _, tokens := range []int{100, 0} {
				read := newReader(t, &toolresult.ReadConfig{Backend: files, Language: lang, MaxTokens: tokens})
				search := newSearcher(t, &toolresult.SearchConfig{Backend: files, Language: lang, MaxTokens: tokens})
				for _, answer := range []string{
					ask(t, read, tokens, map[string]any{"file_path": c.path}),
					ask(t, search, tokens, map[string]any{"file_path": c.path, "pattern": "."}),
				} {
					assert.NotContains(t, answer, "SECRET", c.reason)
					assert.Contains(t, answer, "/large_tool_result/", "%s: the answer says where results lie", c.reason)
				}
			}
		}
	}
}

func TestMissingResults(t *testing.T) {
	for name, backend := range backends(t, pagePath, "here") {
		for _, path := range []string{"/large_tool_result/gone", "/large_tool_result/" + strings.Repeat("x", 100_000), `/large_tool_result/a\b`} {
			cfg := &toolresult.ReadConfig{Backend: backend, MaxTokens: 100}
			answer := ask(t, newReader(t, cfg), 100, map[string]any{"file_path": path})
			assert.Contains(t, answer, "it is not, or no longer, stored", "%s: %.80s", name, path)
			cfg.Language = adk.LanguageChinese
			answer = ask(t, newReader(t, cfg), 100, map[string]any{"file_path": path})
			assert.Contains(t, answer, "该结果不存在，或已不再保存", "%s: %.80s", name, path)
		}
	}
}

// TestPathsAsNoticesShowThem takes the path out of a real notice, escaped as it stands there.
func TestPathsAsNoticesShowThem(t *testing.T) {
	files := newMemory()
	for _, own := range []string{`/large_tool_result/a&b`, `/large_tool_result/<i>"q"'s'`, `/large_tool_result/&amp;`, `/large_tool_result/中 文`} {
		mw := newOffload(t, &toolresult.OffloadConfig{Backend: files, TokenLimit: 100,
			PathGenerator: func(context.Context, *compose.ToolInput) (string, error) { return own, nil }})
		said := offload(t, mw, "call_1", numberedLines(100))
		escaped := regexp.MustCompile(`path="([^"]*)"`).FindStringSubmatch(said)[1]
		require.Equal(t, html.EscapeString(own), escaped)
		read := newReader(t, &toolresult.ReadConfig{Backend: files})
		for _, path := range []string{escaped, own, " " + own + "\n"} {
			assert.Contains(t, ask(t, read, 0, map[string]any{"file_path": path}), "1: line 000001", "%q", path)
		}
	}
}

func TestEndOfTheContext(t *testing.T) {
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for name, backend := range backends(t, pagePath, "here") {
		_, err := newReader(t, &toolresult.ReadConfig{Backend: backend}).InvokableRun(ended, `{"file_path":"`+pagePath+`"}`)
		assert.ErrorIs(t, err, context.Canceled, name)
		_, err = newSearcher(t, &toolresult.SearchConfig{Backend: backend}).InvokableRun(ended, `{"file_path":"`+pagePath+`","pattern":"h"}`)
		assert.ErrorIs(t, err, context.Canceled, name)
	}
}

func TestParallelReads(t *testing.T) {
	for name, backend := range backends(t, pagePath, numberedLines(20_000)) {
		read := newReader(t, &toolresult.ReadConfig{Backend: backend, MaxTokens: 500})
		var wg sync.WaitGroup
		for i := range 10 {
			wg.Go(func() {
				args := fmt.Sprintf(`{"file_path":%q,"offset":%d}`, pagePath, 1+i*2_000)
				page, err := read.InvokableRun(context.Background(), args)
				assert.NoError(t, err, name)
				assert.LessOrEqual(t, toolresult.EstimateTokens(page), 500, "%s: each page is bounded", name)
				assert.True(t, strings.HasPrefix(page, fmt.Sprintf("%d: line %06d", 1+i*2_000, 1+i*2_000)), "%s: %.80s", name, page)
			})
		}
		wg.Wait()
	}
}

// TestPagesInANode runs both tools behind the middleware, whose limit is below any page.
func TestPagesInANode(t *testing.T) {
	text := strings.Repeat("0123456789", 50_000)
	files := newMemory()
	mw := newOffload(t, &toolresult.OffloadConfig{Backend: files, TokenLimit: 50, SearchToolName: "grep"})
	fetch := textTool{fakeInfo("fetch"), func(context.Context, string) (string, error) { return text, nil }}
	node := newNode(t, mw, fetch, newReader(t, &toolresult.ReadConfig{Backend: files}), newSearcher(t, &toolresult.SearchConfig{Backend: files, ToolName: "grep"}))
	run := func(id, name, args string) string {
		call := schema.ToolCall{ID: id, Function: schema.FunctionCall{Name: name, Arguments: args}}
		answers, err := node.Invoke(t.Context(), schema.AssistantMessage("", []schema.ToolCall{call}))
		require.NoError(t, err)
		return answers[0].Content
	}
	path := pathIn(t, run("call_1", "fetch", "{}"))
	var shown strings.Builder
	args := map[string]any{}
	for i := 0; ; i++ {
		page := run(fmt.Sprint("read_", i), "read_file", fmt.Sprintf(`{"file_path":%q,"offset":%v,"byte_offset":%v}`, path, orOne(args["offset"]), orZero(args["byte_offset"])))
		require.NotContains(t, page, "tool_result_offloaded", "a page is never offloaded")
		shown.WriteString(strings.TrimPrefix(strings.Split(page, "\n")[0], "1: "))
		if !follow(t, page, args) {
			break
		}
	}
	require.Equal(t, text, shown.String())
	require.Contains(t, run("call_2", "grep", fmt.Sprintf(`{"file_path":%q,"pattern":"9012"}`, path)), "1: 0123456789")
	require.Equal(t, map[string]string{path: text}, files.stored(), "only the result was stored")
}

func orOne(n any) any {
	if n == nil {
		return 1
	}
	return n
}

func orZero(n any) any {
	if n == nil {
		return 0
	}
	return n
}

func TestPagesAreGolden(t *testing.T) {
	files := newMemory()
	files.files[pagePath] = "plain\n" + strings.Repeat("long ", 100) + "\n\x00\xff\ttab\r\n中文 😀\n"
	for lang, name := range map[adk.Language]string{adk.LanguageEnglish: "english", adk.LanguageChinese: "chinese"} {
		var b strings.Builder
		read := newReader(t, &toolresult.ReadConfig{Backend: files, MaxTokens: 110, Language: lang})
		search := newSearcher(t, &toolresult.SearchConfig{Backend: files, MaxTokens: 110, Language: lang})
		section := func(called tool.InvokableTool, args string) {
			fmt.Fprintf(&b, "== %s\n%s\n", args, askRaw(t, called, 110, args))
		}
		section(read, `{"file_path":"/large_tool_result/call_1"}`)
		section(read, `{"file_path":"/large_tool_result/call_1","offset":2,"byte_offset":450}`)
		section(read, `{"file_path":"/large_tool_result/call_1","offset":9}`)
		section(read, `{"file_path":"/large_tool_result/call_2"}`)
		section(read, `{"file_path":"/etc/passwd"}`)
		section(read, `{"offset":"ten"}`)
		section(search, `{"file_path":"/large_tool_result/call_1","pattern":"long"}`)
		section(search, `{"file_path":"/large_tool_result/call_1","pattern":"tab$","context":1}`)
		section(search, `{"file_path":"/large_tool_result/call_1","pattern":"nothing"}`)
		section(search, `{"file_path":"/large_tool_result/call_1","pattern":"("}`)
		section(search, `{"file_path":"/large_tool_result/call_1"}`)
		for _, described := range []tool.InvokableTool{read, search} {
			fmt.Fprintf(&b, "== %s\n", describe(t, described))
		}
		golden(t, "pages/"+name+".txt", b.String())
	}
}

func describe(t *testing.T, described tool.BaseTool) string {
	info, err := described.Info(t.Context())
	require.NoError(t, err)
	params, err := info.ToJSONSchema()
	require.NoError(t, err)
	said := info.Name + "\n" + info.Desc
	for _, name := range []string{"file_path", "pattern", "ignore_case", "context", "limit", "offset", "byte_offset"} {
		if param, ok := params.Properties.Get(name); ok {
			said += "\n" + name + " (" + param.Type + "): " + param.Description
		}
	}
	return said
}

func TestFirstPageOfALargeResult(t *testing.T) {
	text := numberedLines(40_000)
	for name, backend := range backends(t, pagePath, text) {
		page := ask(t, newReader(t, &toolresult.ReadConfig{Backend: backend}), 0, map[string]any{"file_path": pagePath})
		assert.Regexp(t, `\[Lines 1-\d+ of 40000, 2000000 bytes in all. Next: offset=\d+\]$`, page, name)
		assert.Greater(t, len(page), 19_000, "%s: a page is not much smaller than it may be", name)
	}
}

// TestLinesAreNotCut asks for pages that end with a line wherever a line fits into a page.
func TestLinesAreNotCut(t *testing.T) {
	files := newMemory()
	files.files[pagePath] = numberedLines(500)
	for _, tokens := range []int{200, 345, 1_000} {
		for _, page := range allPages(t, newReader(t, &toolresult.ReadConfig{Backend: files, MaxTokens: tokens}), tokens, map[string]any{"file_path": pagePath}) {
			require.NotContains(t, page, "byte_offset", "lines of 50 bytes need no byte offset")
		}
	}
}
