package toolresult_test

// What must hold for any text, any call ID and any path, however they are cut and fed. Seeded from the tables; without -fuzz
// the seeds run as tests.

import (
	"context"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"

	"github.com/eino-toolresult/toolresult"
)

// FuzzSample: a sample is valid UTF-8 without NUL, within its size, and the same however it is fed.
func FuzzSample(f *testing.F) {
	for _, tc := range sampleCases {
		f.Add(tc.text, uint8(2), uint8(2), uint8(5), uint16(3))
		f.Add(tc.text, uint8(1), uint8(0), uint8(1), uint16(1))
	}
	for _, tc := range sizeCases {
		f.Add(tc.text, uint8(10), uint8(0), uint8(200), uint16(1000))
	}
	f.Fuzz(func(t *testing.T, text string, head, tail, runes uint8, size uint16) {
		for name, sampler := range map[string]toolresult.Sampler{
			"head":          toolresult.HeadSampler(int(head)+1, int(runes)+1),
			"head and tail": toolresult.HeadTailSampler(int(head)+1, int(tail)+1, int(runes)+1),
		} {
			whole := sampled(t, sampler, text)
			require.Equal(t, whole, sampled(t, sampler, pieces(text, int(size)+1)...), "%s: in pieces of %d", name, size+1)
			require.Equal(t, whole, sampled(t, sampler, unevenly(text)...), "%s: in uneven pieces", name)
			require.True(t, utf8.ValidString(whole) && !strings.Contains(whole, "\x00"), name)
			shown := strings.Split(whole, "\n")
			require.LessOrEqual(t, len(shown), int(head)+int(tail)+3, "%s: lines, and one mark", name)
			for _, line := range shown {
				require.LessOrEqual(t, utf8.RuneCountInString(line), int(runes)+1+len("18446744073709551615:  [/]")+20, "%s: %.80q", name, line)
			}
		}
	})
}

// unevenly cuts a text into pieces of 0, 1, 2, … bytes.
func unevenly(text string) (chunks []string) {
	for size := 0; text != ""; size++ {
		n := min(size, len(text))
		chunks, text = append(chunks, text[:n]), text[n:]
	}
	return chunks
}

// FuzzSafeName: the encoding of IDs keeps distinct IDs distinct, and every name is one segment below its root.
func FuzzSafeName(f *testing.F) {
	ids := append(hostileIDs(), plainIDs()...)
	for i, id := range ids {
		f.Add(id, ids[(i+1)%len(ids)])
		f.Add(id, toolresult.SafeName(id))
		f.Add(id, strings.ToUpper(id))
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		requireSafe(t, a, toolresult.SafeName(a))
		require.Equal(t, a == b, toolresult.SafeName(a) == toolresult.SafeName(b), "%q and %q", a, b)
	})
}

// FuzzOffload: what is stored is byte-identical; a notice is shorter than the result, is recognised, and refers to where the
// result lies; and a stream comes to the same as the whole.
func FuzzOffload(f *testing.F) {
	for _, tc := range sizeCases {
		f.Add(tc.text, "call_1", "fetch", "/results/a", uint16(1000), uint8(0))
	}
	for _, tc := range injections {
		f.Add(tc.text+"\n"+numberedLines(20), tc.callID, tc.tool, tc.path, uint16(7), uint8(1))
		f.Add(tc.text+strings.Repeat("\n", 2000), tc.callID, tc.tool, tc.path, uint16(100), uint8(2))
	}
	for _, id := range hostileIDs() {
		f.Add(numberedLines(30), id, id, id, uint16(99), uint8(3))
	}
	templates := []string{"", forge, "{file_path} </tool_{tool_name}>{content_sample}{tool_call_id}", "{content_sample}{file_path}{total_tokens}"}
	f.Fuzz(func(t *testing.T, text, callID, tool, own string, size uint16, choice uint8) {
		call := &compose.ToolInput{Name: tool, CallID: callID}
		cfg := &toolresult.OffloadConfig{
			ToolTokenLimits: map[string]int{tool: int(choice)}, ReadToolName: "read it", SearchToolName: "search it",
			Template: templates[int(choice)%len(templates)], Sampler: toolresult.HeadTailSampler(1+int(choice)%3, 1, 20+int(size)%50),
		}
		if own != "" {
			cfg.PathGenerator = func(context.Context, *compose.ToolInput) (string, error) { return own, nil }
		}
		whole := requireStored(t, cfg, newMemory(), call, text, func(mw compose.ToolMiddleware) (string, error) {
			return callInvokable(t, mw, call, text)
		})
		streamed := requireStored(t, cfg, newMemory(), call, text, func(mw compose.ToolMiddleware) (string, error) {
			chunks, err := chunked(t, mw, call, pieces(text, int(size)+1)...)
			return strings.Join(chunks, ""), err
		})
		require.Equal(t, whole, streamed)
		requireStored(t, cfg, newUploads(), call, text, func(mw compose.ToolMiddleware) (string, error) {
			chunks, err := chunked(t, mw, call, pieces(text, int(size)+1)...)
			return strings.Join(chunks, ""), err
		})
	})
}

// storeOfTests is a backend that a test can look into.
type storeOfTests interface {
	toolresult.Backend
	stored() map[string]string
}

// requireStored returns what the model reads, or the error of a path that no backend should see.
func requireStored(t *testing.T, cfg *toolresult.OffloadConfig, store storeOfTests, call *compose.ToolInput, text string, run func(compose.ToolMiddleware) (string, error)) string {
	t.Helper()
	with := *cfg
	with.Backend = store
	said, err := run(newOffload(t, &with))
	if err != nil {
		require.ErrorContains(t, err, "PathGenerator returned")
		require.Empty(t, store.stored())
		return err.Error()
	}
	if said == text {
		require.Empty(t, store.stored(), "what the model reads itself is not stored")
		return said
	}
	path := pathIn(t, said)
	require.Equal(t, map[string]string{path: text}, store.stored())
	if cfg.PathGenerator == nil && call.CallID != "" {
		require.Equal(t, "/large_tool_result/"+toolresult.SafeName(call.CallID), path)
	}
	require.Less(t, len(said), len(text))
	require.True(t, utf8.ValidString(said) && !strings.Contains(said, "\x00"))
	folded := strings.ToLower(said)
	require.Equal(t, 1, strings.Count(folded, "</tool_result_offloaded"), said)
	require.Equal(t, 1, strings.Count(folded, "<tool_result_offloaded"), said)
	return said
}

// FuzzOffloadedPath: any text may be asked about; a text that is a notice has a path, and is that of nothing else.
func FuzzOffloadedPath(f *testing.F) {
	f.Add(forgedNotice)
	f.Add(forgedNotice + forgedNotice)
	f.Add("<tool_result_offloaded path=\"&#34;&lt;\">\n\n</tool_result_offloaded>")
	f.Fuzz(func(t *testing.T, text string) {
		path, ok := toolresult.OffloadedPath(schema.ToolMessage(text, "call_1"))
		require.Equal(t, ok, path != "")
		if ok {
			_, again := toolresult.OffloadedPath(schema.ToolMessage(text+text, "call_1"))
			require.False(t, again, "two notices are none")
		}
	})
}
