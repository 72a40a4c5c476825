package toolresult_test

// Outlines: what they show of structured text, that nothing else is taken for it, and that they keep to their budget.

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eino-toolresult/toolresult"
)

func ExampleOutlineSampler() {
	sample := toolresult.OutlineSampler(0)()
	for _, piece := range []string{`{"items": [{"id": 1, "tags": []}, {"id": 2, "ta`, `gs": ["new", "red"], "price": null}], "total": 2}`} {
		if _, err := sample.WriteString(piece); err != nil {
			fmt.Println(err)
		}
	}
	fmt.Println(sample.String())
	// Output:
	// {"items": [2 × {"id": number, "tags": [0-2 × string], "price"?: 1 × null}], "total": number}
	// 1: {"id":1,"tags":[]},{"id":2,"tags":["new","red"],"price":null}
}

// outlineCases show what is understood. Every text is also given in small pieces.
var outlineCases = []struct {
	name   string
	text   string
	want   string
	reason string
}{
	{"object", `{"a": 1, "b": "x", "c": true, "d": null}`, `{"a": number, "b": string, "c": boolean, "d": null}` + "\n" + `1: {"a": 1, "b": "x", "c": true, "d": null}`, "each type has its name"},
	{"empty object", `{}`, "{}\n1: {}", "it is a document"},
	{"empty array", `[]`, "[]\n1: []", "it is a document"},
	{"array", `[1,"x",null]`, "[3 × string|number|null]\n1: 1,\"x\",null", "types are merged, in one order"},
	{"optional key", `[{"a":1},{"b":2,"a":3}]`, "[2 × {\"a\": number, \"b\"?: 1 × number}]\n1: {\"a\":1},{\"b\":2,\"a\":3}", "keys stand in the order in which they first came"},
	{"key of the first only", `[{"a":1,"b":1},{"a":2}]`, "[2 × {\"a\": number, \"b\"?: 1 × number}]\n1: {\"a\":1,\"b\":1},{\"a\":2}", "a later element may lack a key"},
	{"lengths", `[[1,2],[],[3]]`, "[3 × [0-2 × number]]\n1: [1,2],[],[3]", "the range of the lengths is shown"},
	{"object or array", `[{"a":1},[2],{}]`, "[3 × {\"a\"?: 1 × number}|[1 × number]]\n1: {\"a\":1},[2],{}", "both shapes are kept"},
	{"key twice", `[{"a":1,"a":"x"},{}]`, "[2 × {\"a\"?: 1 × string|number}]\n1: {\"a\":1,\"a\":\"x\"},{}", "it is counted once, so that it stays optional"},
	{"numbers", `[-0.5e+3,1e999,NaN,-Infinity,12345678901234567890]`, "[5 × number]\n1: -0.5e+3,1e999,NaN,-Infinity,12345678901234567890", "Python writes NaN and Infinity; no number is converted"},
	{"surrogate", `{"\ud800":"\ud83d\ude00"}`, `{"\ud800": string}` + "\n" + `1: {"\ud800":"\ud83d\ude00"}`, "escapes are shown as they are, so that a search finds them"},
	{"escaped key", `{"a\"\n\\":1}`, `{"a\"\n\\": number}` + "\n" + `1: {"a\"\n\\":1}`, "a quote in a key does not end it"},
	{"brackets in strings", `["]}[{,:"]`, "[1 × string]\n1: \"]}[{,:\"", "strings are no structure"},
	{"BOM", "\ufeff[1]", "[1 × number]\n1: 1", "a byte order mark is no text"},
	{"second BOM", "\ufeff\ufeffa,b\n1,2\n3,4\n", "2 × 2 {\"\ufeffa\": number, \"b\": number}\n1: \ufeff\ufeffa,b\n2: 1,2\n3: 3,4", "only the first bytes are a mark, wherever the pieces are cut"},
	{"blank lines before", "\n\n [1]", "[1 × number]\n3: 1", "lines are counted from the first"},

	{"NDJSON", "{\"a\":1}\n{\"a\":null}\n", "2 × {\"a\": number|null}\n1: {\"a\":1}\n2: {\"a\":null}", "documents are merged, and their lines shown"},
	{"NDJSON with CRLF", "{\"a\":1}\r\n\r\n{\"a\":2}\r\n", "2 × {\"a\": number}\n1: {\"a\":1}\n2: \n3: {\"a\":2}", "empty lines are no documents"},
	{"concatenated on one line", `{"a":1}{"a":2} [3]`, "3 × {\"a\": number}|[1 × number]\n1: {\"a\":1}{\"a\":2}[3]", "documents need no line of their own"},
	{"concatenated, indented", "{\n  \"a\": 1\n}\n{\n  \"a\": 2\n}\n", "2 × {\"a\": number}\n1: {\"a\":1}{\"a\":2}", "indentation says nothing"},
	{"members in lines", "{\n  \"a\": 1,\n  \"b\": [\n    {\"c\": 2}\n  ]\n}", "{\n2: \"a\": number\n3: \"b\": [1 × {\"c\": number}]\n4: {\"c\":2}\n}", "each member is shown with its line, and elements below theirs"},
	{"members far apart", `{"a":"` + strings.Repeat("x", 300) + `","b":[1]}`, "{\n1: \"a\": string\n1@308: \"b\": [1 × number]\n}\n1: {\"a\":\"" + strings.Repeat("x", 300) + "\",\"b\":[1]}", "in a long line the byte says where to read on"},

	{"map", `{"1":{"a":1},"2":{"a":2,"b":3},"3":{"a":4},"4":{"a":5},"5":{"a":6}}`, "{5 × \"1\"|\"2\"|…: {\"a\": number, \"b\"?: 1 × number}}\n1: {\"1\":{\"a\":1},\"2\":{\"a\":2,\"b\":3},\"3\":{\"a\":4},\"4\":{\"a\":5},\"5\":{\"a\":6}}", "names that are data are not listed"},
	{"maps", `[{"1":1,"2":2,"3":3,"4":4,"5":5},{"6":6}]`, "[2 × {1-5 × \"1\"|\"2\"|…: number}]\n1: {\"1\":1,\"2\":2,\"3\":3,\"4\":4,\"5\":5},{\"6\":6}", "the range of the sizes is shown"},
	{"no map", `{"a":{"x":1},"b":{"y":2},"c":{"z":3},"d":{"u":4},"e":{"v":5}}`, "{\"a\": {\"x\": number}, \"b\": {\"y\": number}, \"c\": {\"z\": number}, \"d\": {\"u\": number}, \"e\": {\"v\": number}}\n1: {\"a\":{\"x\":1},\"b\":{\"y\":2},\"c\":{\"z\":3},\"d\":{\"u\":4},\"e\":{\"v\":5}}", "values that share no keys are those of a record"},
	{"long keys", `[{"` + strings.Repeat("k", 256) + `":1},{"` + strings.Repeat("k", 257) + `":2},{"` + strings.Repeat("k", 258) + `":3}]`, "[3 × {\"" + strings.Repeat("k", 64) + "…\"?: 1 × number, \"" + strings.Repeat("k", 64) + "…\"?: 2 × number}]\n1: {\"" + strings.Repeat("k", 256) + "\":1},{\"" + strings.Repeat("k", 257) + "\":2},{\"" + strings.Repeat("k", 258) + "\":3}", "keys are told apart by their beginning"},
	{"too deep", strings.Repeat("[", 33) + "[[1],{\"a\":\"]\"}]" + strings.Repeat("]", 33), strings.Repeat("[1 × ", 32) + "[…]" + strings.Repeat("]", 32) + "\n1: " + strings.Repeat("[", 32) + "[[1],{\"a\":\"]\"}]" + strings.Repeat("]", 32), "what is deep is passed over, strings with brackets too"},

	{"cut in an array", `{"a":[1,2`, "{\"a\": [2 × number]} …\n1: 1,2", "what is complete was understood, and the end says that it is not all"},
	{"cut in a string", `[{"id":1},{"id":2,"name":"x`, "[2 × {\"id\": number, \"name\"?: 1 × string}] …\n1: {\"id\":1},{\"id\":2,\"name\":\"x", "a value counts from its beginning"},
	{"cut before a key", `[{"id":1,"x":2},{"id":2,`, "[2 × {\"id\": number, \"x\": number}] …\n1: {\"id\":1,\"x\":2},{\"id\":2,", "what an element that is cut off lacks is not optional"},
	{"garbage behind", "{\"aaaaaaaaaaaa\":1} oops", "{\"aaaaaaaaaaaa\": number} …\n1: {\"aaaaaaaaaaaa\":1} oops\n1: oops", "the text at the fault is shown"},
	{"fault in a row", "{\"a\":1}\n{\"a\":2}\nnull\n", "2 × {\"a\": number} …\n1: {\"a\":1}\n2: {\"a\":2}\n3: null\n3: null [4/5]", "documents are objects and arrays"},

	{"CSV", "id,name\n1,x\n2,\n3,z\n", "3 × 2 {\"id\": number, \"name\"?: 2 × string}\n1: id,name\n2: 1,x\n3: 2,\n4: 3,z", "rows do not count the header, and empty cells are none"},
	{"CSV of types", "a,b,c\ntrue,1,\nFALSE,1e5,\n1,x,\n", "3 × 3 {\"a\": number|boolean, \"b\": string|number, \"c\"?: 0 × …}\n1: a,b,c\n2: true,1,\n3: FALSE,1e5,\n4: 1,x,", "types are merged; a column without a cell has none"},
	{"CSV with newlines in cells", "a,b\n\"x\ny, \"\"z\"\"\",1\n\"\",2\n", "2 × 2 {\"a\"?: 1 × string, \"b\": number}\n1: a,b\n2: \"x\n3: y, \"\"z\"\"\",1\n4: \"\",2", "a quoted cell may hold anything; lines are lines of the file"},
	{"CSV with CRLF and BOM", "\ufeffa,b\r\n1,2\r\n3,4\r\n", "2 × 2 {\"a\": number, \"b\": number}\n1: \ufeffa,b\n2: 1,2\n3: 3,4", "neither belongs to a name or a number"},
	{"TSV", "a\tb c\n1\tx, y\n2\tz\n", "2 × 2 {\"a\": number, \"b c\": string}\n1: a\tb c\n2: 1\tx, y\n3: 2\tz", "the first line says what separates columns"},
	{"semicolons", "a;b\n1,5;2\n3,5;4\n", "2 × 2 {\"a\": string, \"b\": number}\n1: a;b\n2: 1,5;2\n3: 3,5;4", "where a comma is in the numbers, semicolons separate"},
	{"years", "country,2019,2020\nfr,1,2\nit,3,4\n", "2 × 3 {\"country\": string, \"2019\": number, \"2020\": number}\n1: country,2019,2020\n2: fr,1,2\n3: it,3,4", "years are names"},
	{"ragged CSV", "a,b,c\n" + strings.Repeat("1,2,3\n", 8) + "1\n1,2,3,4\n", "10 × 1-4 {\"a\": number, \"b\"?: 9 × number, \"c\"?: 9 × number}\n" + lines("a,b,c\n"+strings.Repeat("1,2,3\n", 8)+"1\n1,2,3,4\n"), "the range of the columns is shown"},
	{"unclosed quote", "a,b\n1,2\n3,4\n5,\"6\n7,8\n", "2 × 2 {\"a\": number, \"b\": number} … [4-6]\n" + lines("a,b\n1,2\n3,4\n5,\"6\n7,8\n"), "the table ends where the cell begins that never ends"},
	{"last row cut off", "a,b,c\n1,2,3\n4,5,6\n7,8", "2 × 3 {\"a\": number, \"b\": number, \"c\": number} …\n1: a,b,c\n2: 1,2,3\n3: 4,5,6\n4: 7,8", "half a row is none"},
}

func lines(text string) string {
	sample := toolresult.HeadTailSampler(5, 5, 1000)()
	sample.WriteString(text)
	return sample.String()
}

func TestOutlinesShow(t *testing.T) {
	for _, tc := range outlineCases {
		assert.Equal(t, tc.want, sampled(t, toolresult.OutlineSampler(0), tc.text), "%s: %s", tc.name, tc.reason)
		for size := 1; size <= 9; size++ {
			assert.Equal(t, tc.want, sampled(t, toolresult.OutlineSampler(0), pieces(tc.text, size)...), "%s: in pieces of %d bytes", tc.name, size)
		}
	}
}

// plainTexts look a little like JSON or a table. They are shown as lines.
var plainTexts = []struct{ name, text, reason string }{
	{"empty", "", "there is nothing"},
	{"white space", " \n\t\n", "there is nothing to outline"},
	{"NUL", "\x00,\x00\n\x00,\x00\n1,2\n", "binary is no table"},
	{"invalid UTF-8", "\xff,\xfe\n1,2\n1,2\n", "binary is no table"},
	{"level", "[INFO] start\n[WARN] stop\n", "a bracket is not JSON"},
	{"date in brackets", "[2024-01-01 10:00:00] start\n[2024-01-01 10:00:01] stop\n", "a date is no number"},
	{"footnotes", "[1] see below\n[2] see above\n", "one number in brackets is no document"},
	{"mostly log", "{\"a\":1}\n" + strings.Repeat("and then a line of a log\n", 9), "less than half is JSON"},
	{"lone brace", "{", "nothing of it is understood yet"},
	{"lone bracket", "[", "nothing of it is understood yet"},
	{"braces", "{{ .Name }} is a template\n", "a template is no JSON"},
	{"newline in a key", "{\"a\nb\": 1}", "JSON has none"},
	{"scalar", "\"text\"\n", "a string alone has no shape"},
	{"header only", "id,name,city\n", "without rows it is a line with commas"},
	{"one row", "id,name\n1,x\n", "a sentence over another has as many commas"},
	{"single column", "id\n1\n2\n3\n", "nothing separates columns"},
	{"no header", "1,2,3\n4,5,6\n7,8,9\n", "the first row would be lost as names"},
	{"names twice", "a,a\n1,2\n3,4\n", "no header names two columns alike"},
	{"prose", "However, we went on.\nLater, it rained, and we stopped.\nThen, home.\n", "prose has commas"},
	{"verses", "Roses are red, violets are blue\nSugar is sweet, and so are you\nThat is all, that is true\n", "as many commas in each line are no table yet"},
	{"log of Python", "2025-11-18 22:54:58,472 - app - INFO - Start\n2025-11-18 22:55:01,764 - app - INFO - Run\n2025-11-18 22:55:02,001 - app - INFO - Stop\n", "the comma is in the time"},
	{"uneven", "a,b,c\n1\n2,3\n4\n5,6,7\n", "rows of a table are alike"},
	{"code", "int a;\nint b;\nint c;\n", "semicolons end statements"},
	{"assembler", "mov eax, ebx\nadd eax, ecx\nsub eax, edx\n", "operands have commas"},
	{"indented by tabs", "\tif ok\n\tstop\n\tgo on\n", "what stands before a tab may be nothing"},
	{"go test", "ok  \texample.com/a\t0.003s\nok  \texample.com/b\t0.004s\nok  \texample.com/c\t0.005s\n", "the first line is no header"},
	{"YAML", "name: x\nlist:\n- a, b\n- c, d\n", "YAML"},
	{"Markdown", "# Title\n\n| a | b |\n|---|---|\n| 1 | 2 |\n", "Markdown"},
	{"HTML", "<!DOCTYPE html>\n<p>a, b</p>\n<p>c, d</p>\n", "HTML"},
	{"diff", "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n-a, b\n+c, d\n", "a diff"},
	{"progress", "10%\r20%\r30%\n", "a progress bar"},
}

func TestOutlineFallsBack(t *testing.T) {
	for _, tc := range plainTexts {
		want := sampled(t, toolresult.HeadTailSampler(5, 5, 1000), tc.text)
		assert.Equal(t, want, sampled(t, toolresult.OutlineSampler(0), tc.text), "%s: %s", tc.name, tc.reason)
		assert.Equal(t, want, sampled(t, toolresult.OutlineSampler(1000), pieces(tc.text, 3)...), "%s: in pieces", tc.name)
	}
}

// Lines that do not fit are cut alike, and then fewer of them are shown.
func TestOutlineCutsLines(t *testing.T) {
	long := strings.Repeat(strings.Repeat("工", 400)+"\n", 20)
	shown := sampled(t, toolresult.OutlineSampler(0), long)
	assert.LessOrEqual(t, utf8.RuneCountInString(shown), 1000)
	assert.Equal(t, 10, strings.Count(shown, "/400]"), "ten lines of 20")
	assert.Contains(t, shown, "\n[6-15]\n16: 工")
	shown = sampled(t, toolresult.OutlineSampler(300), long)
	assert.Equal(t, 3, strings.Count(shown, "/400]"), "of shorter ones one could read nothing")
	assert.Contains(t, shown, "\n[3-19]\n20: 工")
	shown = sampled(t, toolresult.OutlineSampler(100), "short\n"+strings.Repeat("x", 500)+"\nshort\n")
	assert.Contains(t, shown, "1: short\n", "a short line needs no more than it is")
	assert.Equal(t, "1: "+strings.Repeat("x", 80)+" [80/500]", sampled(t, toolresult.OutlineSampler(92), strings.Repeat("x", 500)))
}

func TestOutlineHasDefaults(t *testing.T) {
	text := jsonRows(5000)
	want := sampled(t, toolresult.OutlineSampler(1000), text)
	for _, bad := range []int{0, -1, math.MinInt} {
		assert.Equal(t, want, sampled(t, toolresult.OutlineSampler(bad), text))
	}
	assert.Equal(t, sampled(t, toolresult.OutlineSampler(1<<20), text), sampled(t, toolresult.OutlineSampler(math.MaxInt), text))
}

// Whatever the text is, the outline has at most so many characters, down to one.
func TestOutlineKeepsItsBudget(t *testing.T) {
	for name, text := range hostileTexts() {
		for _, budget := range []int{1, 2, 10, 40, 99, 300, 1000, 5000} {
			shown := sampled(t, toolresult.OutlineSampler(budget), text)
			assert.LessOrEqual(t, utf8.RuneCountInString(shown), budget, name)
			assert.True(t, utf8.ValidString(shown) && !strings.Contains(shown, "\x00"), "%s, %d", name, budget)
		}
	}
}

// Real results, in whole and in pieces.
func TestOutlinesOfRealOutputs(t *testing.T) {
	for name, text := range realOutputs(t) {
		for _, budget := range []int{120, 1000} {
			shown := sampled(t, toolresult.OutlineSampler(budget), text)
			require.Equal(t, shown, sampled(t, toolresult.OutlineSampler(budget), pieces(text, 4093)...), name)
			require.Equal(t, sampled(t, toolresult.OutlineSampler(budget), text[:len(text)/3]), sampled(t, toolresult.OutlineSampler(budget), pieces(text[:len(text)/3], 61)...), "%s: a third of it", name)
			assert.LessOrEqual(t, utf8.RuneCountInString(shown), budget, name)
			assert.Greater(t, utf8.RuneCountInString(shown), 20, "%s: that is too little to decide by", name)
		}
	}
}
