package toolresult_test

// What a model reads of texts of every kind that an outline knows. The files in testdata/outline are reviewed by eye.

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/eino-toolresult/toolresult"
)

func TestOutlineGolden(t *testing.T) {
	for name, text := range map[string]string{
		"json_pretty": indented(t, shop(40)), "json_line": shop(40), "json_cut": shop(40)[:2000], "json_pretty_cut": indented(t, shop(40))[:3000],
		"json_garbage":      indented(t, shop(40)) + "Traceback (most recent call last):\n  File \"x.py\", line 3\n",
		"json_concatenated": strings.Repeat(indented(t, shop(1))+"\n", 5), "json_map": jsonMap(500), "json_deep": strings.Repeat(`{"child":[`, 100),
		"json_wide": jsonWide(300), "ndjson": jsonRows(300), "ndjson_mixed": jsonRows(200) + strings.Repeat("[1,2]\n{\"error\":\"no such file\"}\n", 5),
		"json_emoji": `{"名前":"工具","😀":[{"ключ":"значение"},{"ключ":null}]}`,
		"csv":        csvRows(200, ","), "tsv": csvRows(200, "\t"), "csv_ragged": csvRows(20, ",") + "17\n18,x,y,z,1\n" + csvRows(20, ",")[20:],
		"csv_wide": csvWide(2000, 50), "log": numberedLines(500) + "FAIL: 3 of 500\n", "empty": "",
		"crlf": strings.ReplaceAll(csvRows(30, ","), "\n", "\r\n"), "bom": "\ufeff" + jsonRows(20),
	} {
		t.Run(name, func(t *testing.T) {
			golden(t, "outline/"+name+".txt", sampled(t, toolresult.OutlineSampler(0), text))
		})
	}
}

// shop is JSON of one line: the answer of an API.
func shop(items int) string {
	var b strings.Builder
	b.WriteString(`{"query": {"text": "red chairs", "page": 1}, "items": [`)
	for i := range items {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, `{"id": %d, "name": "chair %d", "tags": [%s], "size": {"w": %d, "h": 90.5}`, i+1, i+1, strings.TrimSuffix(strings.Repeat(`"red", `, i%4), ", "), 40+i)
		if i%10 == 0 {
			b.WriteString(`, "price": null`)
		} else if i%2 == 0 {
			b.WriteString(`, "price": 12.50`)
		}
		b.WriteString("}")
	}
	return b.String() + fmt.Sprintf(`], "total": %d, "next": null}`, items)
}

func indented(t testing.TB, text string) string {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, json.Indent(&b, []byte(text), "", "    "))
	return b.String()
}

func jsonRows(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `{"time":"2026-01-02T15:04:%02dZ","level":"info","msg":"request %d"`, i%60, i)
		if i%7 == 0 {
			fmt.Fprintf(&b, `,"err":{"code":%d}`, i)
		}
		b.WriteString("}\n")
	}
	return b.String()
}

func jsonMap(n int) string {
	var b strings.Builder
	b.WriteString(`{"users": {`)
	for i := range n {
		fmt.Fprintf(&b, `"u%d": {"name": "n%d", "age": %d}, `, i, i, i)
	}
	return b.String() + `"last": {"name": "x", "age": 1}}, "scores": {"2024-01-01": 1, "2024-01-02": 2, "2024-01-03": 3, "2024-01-04": 4, "2024-01-05": 5}}`
}

func jsonWide(n int) string {
	var b strings.Builder
	b.WriteString("[{")
	for i := range n {
		fmt.Fprintf(&b, `"column%c%c": %s, `, 'a'+rune(i/26), 'a'+rune(i%26), []string{"1", `"x"`, "null"}[i%3])
	}
	return b.String() + `"end": true}]`
}

func csvRows(n int, comma string) string {
	var b strings.Builder
	b.WriteString(strings.Join([]string{"id", "name", "note", "score"}, comma) + "\n")
	for i := range n {
		note, score := `"says ""hi"", then`+"\nleaves\"", fmt.Sprint(float64(i)/4)
		if i%5 == 0 {
			note, score = "", "n/a"
		}
		b.WriteString(strings.Join([]string{fmt.Sprint(i), fmt.Sprintf("name %d", i), note, score}, comma) + "\n")
	}
	return b.String()
}

func csvWide(columns, rows int) string {
	var b strings.Builder
	for i := range columns {
		fmt.Fprintf(&b, "c%d,", i)
	}
	b.WriteString("end\n")
	for range rows {
		b.WriteString(strings.Repeat("1.5,", columns) + "x\n")
	}
	return b.String()
}

// hostileTexts are texts that would need much memory or time if someone were careless.
func hostileTexts() map[string]string {
	const n = 20_000
	texts := map[string]string{
		"brackets": strings.Repeat("[", n), "objects": strings.Repeat(`{"a":`, n), "closed": strings.Repeat("[", n) + strings.Repeat("]", n),
		"string": `{"a":"` + strings.Repeat("x工\\n", n), "key": `{"` + strings.Repeat("k😀", n) + `":1}`, "number": "[" + strings.Repeat("1", n),
		"white space": "[" + strings.Repeat(" \n", n) + "1]", "open quote": "a,b\n1,2\n3,4\n5,\"" + strings.Repeat("6,7\n", n),
		"quotes": "a,b\n1,2\n3,4\n" + strings.Repeat(`"`, n), "wide": csvWide(n, 3), "wide JSON": jsonWide(600), "map": jsonMap(n),
		"backslashes": `["` + strings.Repeat(`\`, n), "empty arrays": "[" + strings.Repeat("[],", n), "documents": strings.Repeat("[]{}", n),
		"stray bytes": `["` + strings.Repeat("\x80\xff", n) + `"]`, "long names": strings.Repeat("n", n) + ",b\n1,2\n3,4\n",
		"fault": "{\"a\":[1,2,3],\n" + strings.Repeat("\"b\":1,", 9) + "\x00\n" + strings.Repeat("z", 60), "UTF-16": "\xff\xfe{\x00\"\x00a\x00\"\x00:\x001\x00}\x00",
	}
	for _, tc := range outlineCases {
		texts["case "+tc.name] = tc.text
	}
	for _, tc := range plainTexts {
		texts["plain "+tc.name] = tc.text
	}
	return texts
}
