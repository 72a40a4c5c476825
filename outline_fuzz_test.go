package toolresult_test

// What must hold for the outline of any text, and what a decoder says of the same documents.

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eino-toolresult/toolresult"
)

func FuzzOutline(f *testing.F) {
	for _, text := range hostileTexts() {
		if len(text) < 2000 {
			f.Add(text, 200, 3)
		}
	}
	f.Fuzz(func(t *testing.T, text string, budget, size int) {
		budget, size = 1+(budget&0x7ff), 1+(size&0xff)
		whole := sampled(t, toolresult.OutlineSampler(budget), text)
		require.Equal(t, whole, sampled(t, toolresult.OutlineSampler(budget), pieces(text, size)...), "in pieces of %d bytes", size)
		require.LessOrEqual(t, utf8.RuneCountInString(whole), budget)
		require.True(t, utf8.ValidString(whole) && !strings.Contains(whole, "\x00"))
	})
}

// Random documents have the shape that is found by decoding them.
func TestOutlineAgreesWithDecoder(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		text, err := json.Marshal(randomArray(random, 4))
		require.NoError(t, err)
		var decoded any
		require.NoError(t, json.Unmarshal(text, &decoded))
		if random.IntN(2) == 0 {
			text = []byte(indented(t, string(text)))
		}
		shown := sampled(t, toolresult.OutlineSampler(1<<20), pieces(string(text), 1+random.IntN(30))...)
		shape, _, _ := strings.Cut(shown, "\n")
		require.Equal(t, decodedShape([]any{decoded}), shape, "%s", text)
	}
}

func randomArray(random *rand.Rand, depth int) []any {
	array := make([]any, random.IntN(5))
	for i := range array {
		array[i] = randomValue(random, depth)
	}
	return array
}

// randomValue has few keys, so that no object is taken for a map.
func randomValue(random *rand.Rand, depth int) any {
	kind := random.IntN(7)
	if depth == 0 {
		kind %= 4
	}
	switch kind {
	case 0:
		return nil
	case 1:
		return random.IntN(2) == 0
	case 2:
		return random.NormFloat64() * 1e6
	case 3:
		return []string{"", "x", "\"\\\n", "工具<>", "😀\u2028"}[random.IntN(5)]
	case 4:
		return randomArray(random, depth-1)
	}
	object := make(map[string]any)
	for range random.IntN(5) {
		object[[]string{"a", "\"b\"", "名前", ""}[random.IntN(4)]] = randomValue(random, depth-1)
	}
	return object
}

// decodedShape is what an outline shows of values that stand in one place, found in the simplest way.
func decodedShape(values []any) string {
	var shapes []string
	objects, arrays := only[map[string]any](values), only[[]any](values)
	if len(objects) > 0 {
		shapes = append(shapes, decodedObjects(objects))
	}
	if len(arrays) > 0 {
		shapes = append(shapes, decodedArrays(arrays))
	}
	for _, kind := range []struct {
		name string
		any  bool
	}{{"string", len(only[string](values)) > 0}, {"number", len(only[float64](values)) > 0}, {"boolean", len(only[bool](values)) > 0}, {"null", slices.Contains(values, nil)}} {
		if kind.any {
			shapes = append(shapes, kind.name)
		}
	}
	return strings.Join(shapes, "|")
}

func only[T any](values []any) []T {
	var found []T
	for _, value := range values {
		if v, ok := value.(T); ok {
			found = append(found, v)
		}
	}
	return found
}

func decodedArrays(arrays [][]any) string {
	all, shortest, longest := []any(nil), len(arrays[0]), 0
	for _, array := range arrays {
		all = append(all, array...)
		shortest, longest = min(shortest, len(array)), max(longest, len(array))
	}
	switch {
	case longest == 0:
		return "[]"
	case shortest == longest:
		return fmt.Sprintf("[%d × %s]", longest, decodedShape(all))
	}
	return fmt.Sprintf("[%d-%d × %s]", shortest, longest, decodedShape(all))
}

func decodedObjects(objects []map[string]any) string {
	values := make(map[string][]any)
	var order, fields []string
	for _, object := range objects {
		var keys []string
		for key := range object {
			keys = append(keys, key)
		}
		slices.Sort(keys) // as they were written
		for _, key := range keys {
			if values[key] == nil {
				order = append(order, key)
			}
			values[key] = append(values[key], object[key])
		}
	}
	for _, key := range order {
		name, _ := json.Marshal(key)
		field := string(name) + ": "
		if n := len(values[key]); n < len(objects) {
			field = fmt.Sprintf("%s?: %d × ", name, n)
		}
		fields = append(fields, field+decodedShape(values[key]))
	}
	return "{" + strings.Join(fields, ", ") + "}"
}

// A sample is fed from streams that are larger than memory: more of what tempts to be kept allocates nothing but the last
// lines, and does not end the outline.
func TestOutlineKeepsLittle(t *testing.T) {
	table := csvRows(100, ",")
	for name, stream := range map[string]struct{ begin, more, shape string }{
		"brackets":      {"", "[", "[1 × [1 × "},
		"objects":       {"", `{"a":`, `{"a": {"a": `},
		"string":        {`["x`, "x工", "[1 × string] …\n"},
		"key":           {`[{"k":1},{"`, "k", `[2 × {"k": number}] …` + "\n"},
		"elements":      {"[", `{"a":[1,2,3]},`, "["},
		"arrays":        {"{", `"a":[1,2,3],`, `{"a": [3 × number]} …` + "\n"},
		"keys":          {strings.TrimSuffix(jsonWide(200), `, "end": true}]`), `,"new":1,"newer":2`, "[1 × {\"columnaa\": number"},
		"map":           {strings.TrimSuffix(jsonMap(50), `"last": {"name": "x", "age": 1}}, "scores": {"2024-01-01": 1, "2024-01-02": 2, "2024-01-03": 3, "2024-01-04": 4, "2024-01-05": 5}}`), `"u": {"name": "x", "age": 3}, `, `{"users": {`},
		"rows":          {jsonRows(100), "{\"time\":1}\n", ""},
		"documents":     {"", `{"time":1}[]`, ""},
		"open quote":    {"a,b\n1,2\n3,4\n5,\"", "6,7\n", `2 × 2 {"a": number, "b": number} … [4-`},
		"table":         {table, "1,2,3,4\n", ""},
		"endless row":   {"a,b\n1,2\n3,4\n", "5,", `2 × 2 {"a": number, "b": number}`},
		"endless names": {"a,b", ",c", "1: a,b,c,c"},
	} {
		sample := toolresult.OutlineSampler(0)()
		_, err := sample.WriteString(stream.begin)
		require.NoError(t, err)
		more := strings.Repeat(stream.more, 1<<18/len(stream.more))
		sample.WriteString(more)
		allocs := testing.AllocsPerRun(5, func() { sample.WriteString(more) })
		assert.LessOrEqual(t, allocs, 15.0, "%s: allocations for 256 KB more", name)
		shown := sample.String()
		assert.True(t, strings.HasPrefix(shown, stream.shape), "%s is understood to its end: %.200s", name, shown)
	}
}
