package toolresult_test

// Whoever keeps what the hook returned and whoever hands in the whole conversation each time: the same bytes at every call, and
// the same files, whatever is pruned and how.

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eino-toolresult/toolresult"
)

// dressed gives the calls and results of a conversation what their tools have: write long arguments, read_file a path, shot a
// picture, and view every second time the same arguments.
func dressed(messages []*schema.Message) []*schema.Message {
	tools := make(map[string]string)
	for i, msg := range messages {
		if msg == nil {
			continue
		}
		for j := range msg.ToolCalls {
			call := &msg.ToolCalls[j]
			tools[call.ID] = call.Function.Name
			call.Function.Arguments = argumentsOf(call.Function.Name, i)
		}
		if msg.Role == schema.Tool && tools[msg.ToolCallID] == "shot" {
			text := schema.MessageInputPart{Type: schema.ChatMessagePartTypeText, Text: msg.Content}
			msg.Content, msg.UserInputMultiContent = "", []schema.MessageInputPart{text, imageInput("aGVsbG8=")}
		}
	}
	return messages
}

func argumentsOf(tool string, i int) string {
	switch tool {
	case "write":
		return fmt.Sprintf(`{"path": "/tmp/%d", "text": "%s"}`, i, strings.Repeat("word ", 40+i%7*60))
	case "read_file":
		return `{"file_path": "/large_tool_result/a"}`
	case "view":
		return fmt.Sprintf(`{"file": "main.go", "page": %d.0}`, i%2)
	}
	return fmt.Sprintf(`{"command": "ls %d"}`, i)
}

// keptSettings are bits that turn options on.
type keptSettings uint16

func (s keptSettings) has(bit int) bool { return s>>bit&1 == 1 }

// prune is what the lower bits say of pruning.
func (s keptSettings) prune(backend toolresult.Backend) *toolresult.PruneConfig {
	cfg := &toolresult.PruneConfig{MinTokens: 30, PagesFirst: s.has(6)}
	if s.has(0) {
		cfg.Archive = backend
	}
	if s.has(1) {
		cfg.Pointers = toolresult.ShortenPointers
	}
	if s.has(2) {
		cfg.Superseded = []string{"view", "bash"}
	}
	if s.has(3) {
		cfg.ArgumentTokens = map[string]int{"*": 50}
	}
	if s.has(4) {
		cfg.MinKeepSteps = 2
	}
	if s.has(5) {
		cfg.Keep = func(msg *schema.Message) bool { return strings.Contains(msg.Content, "message 7.") }
	}
	return cfg
}

// hook is what the higher bits say of when.
func (s keptSettings) hook(t testing.TB, window int, backend toolresult.Backend) *toolresult.CompactionHook {
	hook := toolresult.CompactionConfig{ContextWindow: window, Compactor: newPruner(t, s.prune(backend))}
	if s.has(7) {
		hook.Cache = &toolresult.CachePrices{Read: 0.5, Write: 1, RemainingCalls: int(s>>8) & 7}
	}
	if s.has(11) {
		hook.MinGain = -1
	}
	if s.has(12) {
		hook.Offload = &toolresult.OffloadConfig{Backend: backend, StepTokenLimit: window / 4}
	}
	return newHook(t, &hook)
}

// usage is what the provider reports for a request.
func (s keptSettings) usage(t testing.TB, sent []*schema.Message) *schema.ResponseMeta {
	tokens := int(tokensOf(t, sent...))
	switch s >> 13 & 3 {
	case 1:
		tokens = tokens*3/2 + 50
	case 2:
		tokens = tokens * 7 / 10
	case 3:
		tokens = tokens + 20
	default:
		return nil
	}
	meta := &schema.ResponseMeta{Usage: &schema.TokenUsage{PromptTokens: tokens}}
	meta.Usage.PromptTokenDetails.CachedTokens = tokens / 2
	return meta
}

// runBoth plays a conversation for both callers, and returns how many requests differed from what was said.
func (s keptSettings) runBoth(t testing.TB, messages []*schema.Message, window int) (rewritten int) {
	stores := [2]*memory{newMemory(), newMemory()}
	hooks := [2]*toolresult.CompactionHook{s.hook(t, window, stores[0]), s.hook(t, window, stores[1])}
	var kept, whole []*schema.Message
	for i, msg := range append(messages[:len(messages):len(messages)], schema.AssistantMessage("the end", nil)) {
		if msg != nil && msg.Role == schema.Assistant {
			before := kept
			snapshot := deepCopy(whole)
			kept = beforeModel(t, hooks[0], before)
			requireAlike(t, kept, beforeModel(t, hooks[1], whole), i)
			require.Equal(t, snapshot, whole, "a caller's messages are not modified")
			if !sameSlice(before, kept) {
				rewritten++
			}
			answer := *msg
			answer.ResponseMeta = s.usage(t, kept)
			msg = &answer
		}
		kept, whole = append(kept, msg), append(whole, msg)
	}
	require.Equal(t, stores[0].stored(), stores[1].stored(), "and the same files")
	require.Equal(t, stores[0].written(), stores[1].written(), "each written once")
	return rewritten
}

func requireAlike(t testing.TB, kept, whole []*schema.Message, at int) {
	t.Helper()
	require.Len(t, whole, len(kept))
	for i := range kept {
		a, err := json.Marshal(kept[i])
		require.NoError(t, err)
		b, err := json.Marshal(whole[i])
		require.NoError(t, err)
		require.Equal(t, string(a), string(b), "message %d of the request at %d", i, at)
	}
}

func FuzzKeptOrNot(f *testing.F) {
	for i, tt := range pairings {
		f.Add(tt.script, uint16(600+i*50), uint16(i*0x2f3))
	}
	for _, bits := range []uint16{0, 0x7f, 0x387f, 0x587f, 0x787f, 0x20ff, 0xffff, 0x1001, 0x300f} {
		f.Add("system(20) user(50) call(a:bash) result(a::400) call(b:view,c:write,d:shot) result(b::300) result(c::10) result(d::50) call(e:read_file) result(e::200) "+
			"call(f:write) result(f::20) call(g:view) result(g::300) answer(20) user(30) call(h:bash) result(h::500) call(i:write,j:bash) result(i::100) result(j::100) call(k:shot) result(k) answer user", uint16(1500), bits)
	}
	f.Fuzz(func(t *testing.T, script string, window, bits uint16) {
		if !utf8.ValidString(script) || len(script) > 600 || window == 0 {
			t.Skip("a conversation is a text of some words")
		}
		keptSettings(bits).runBoth(t, dressed(conversation(script)), int(window))
	})
}

// randomScript is a conversation that providers accept: every call is answered behind it, in some order. IDs may be used again.
func randomScript(r *rand.Rand, steps int, again bool) string {
	tools := []string{"bash", "view", "write", "read_file", "shot", "ls"}
	sizes := []int{5, 40, 100, 300, 700}
	words := []string{"system(30)", "user(40)"}
	for i := range steps {
		var calls, results []string
		for j := range 1 + r.IntN(3) {
			id := fmt.Sprintf("c%d_%d", i, j)
			if again && r.IntN(8) == 0 {
				id = string(rune('a' + j))
			}
			calls = append(calls, id+":"+tools[r.IntN(len(tools))])
			results = append(results, fmt.Sprintf("result(%s::%d)", id, sizes[r.IntN(len(sizes))]))
		}
		r.Shuffle(len(results), func(a, b int) { results[a], results[b] = results[b], results[a] })
		words = append(append(words, "call("+strings.Join(calls, ",")+")"), results...)
		if r.IntN(6) == 0 {
			words = append(words, "answer(30)", "user(20)")
		}
	}
	return strings.Join(words, " ")
}

func TestRandomConversationsKeptOrNot(t *testing.T) {
	rewritten := 0
	for seed := range uint64(80) {
		r := rand.New(rand.NewPCG(seed, 1))
		script, bits, window := randomScript(r, 3+r.IntN(12), true), keptSettings(r.Uint32()), 800+r.IntN(3000)
		ok := t.Run(fmt.Sprint(seed), func(t *testing.T) {
			rewritten += bits.runBoth(t, dressed(conversation(script)), window)
		})
		require.True(t, ok, "options %#x, window %d:\n%s", bits, window, script)
	}
	assert.Greater(t, rewritten, 200, "there was something to compare")
}

// One hook, one history, many callers.
func TestConcurrentCallersOfOneHook(t *testing.T) {
	for _, bits := range []keptSettings{0x587f, 0x180d, 0x20ff} {
		backend := exclusive{newMemory()}
		hook := bits.hook(t, 1500, backend)
		messages := dressed(conversation(randomScript(rand.New(rand.NewPCG(7, 7)), 14, true)))
		snapshot, want := deepCopy(messages), beforeModel(t, hook, messages)
		files := backend.stored()
		var callers sync.WaitGroup
		for range 8 {
			callers.Go(func() {
				got, err := hook.BeforeModel(context.Background(), messages, nil)
				assert.NoError(t, err)
				assert.Equal(t, want, got)
			})
		}
		callers.Wait()
		assert.Equal(t, snapshot, messages)
		assert.Equal(t, files, backend.stored())
	}
}

// Usages may be missing at times, of two models, or noisy: what was sent counts as sent.
func TestKeptOrNotWithOddUsages(t *testing.T) {
	for mode, scale := range map[string]func(r *rand.Rand) float64{
		"noise": func(r *rand.Rand) float64 { return 1.2 * (0.8 + r.Float64()*0.4) },
		"two models": func(r *rand.Rand) float64 {
			if r.IntN(6) == 0 {
				return 0.9
			}
			return 1.6
		},
		"sometimes none": func(r *rand.Rand) float64 {
			if r.IntN(3) == 0 {
				return 0
			}
			return 1.3
		},
	} {
		differ := 0
		for seed := range uint64(300) {
			r := rand.New(rand.NewPCG(seed, 9))
			messages := dressed(conversation(randomScript(r, 6+r.IntN(14), false)))
			hook := newHook(t, &toolresult.CompactionConfig{ContextWindow: 1500 + r.IntN(2500), Compactor: newPruner(t, &toolresult.PruneConfig{MinTokens: 30})})
			var kept, whole []*schema.Message
			alike := true
			for i, msg := range messages {
				if msg.Role == schema.Assistant {
					kept = beforeModel(t, hook, kept)
					for j, other := range beforeModel(t, hook, whole) {
						if kept[j].Content != other.Content && alike {
							alike = false
							t.Logf("%s, seed %d: message %d of the request at %d", mode, seed, j, i)
						}
					}
					answer := *msg
					if s := scale(r); s > 0 {
						answer.ResponseMeta = &schema.ResponseMeta{Usage: &schema.TokenUsage{PromptTokens: int(s * float64(tokensOf(t, kept...)))}}
					}
					msg = &answer
				}
				kept, whole = append(kept, msg), append(whole, msg)
			}
			if !alike {
				differ++
			}
		}
		assert.Zero(t, differ, "%s: of 300 conversations", mode)
	}
}
