package toolresult_test

// One handler for a whole team: agents in a row, side by side, in a loop, behind a transfer, and as tools of one another. Each
// must read what it needs, and none may get more than its window holds.

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/adk/prebuilt/deep"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eino-toolresult/toolresult"
	"github.com/eino-toolresult/toolresult/internal/provider"
)

const teamWindow = 16_000 // tokens; results above 2 000 are offloaded

// team makes agents that share a handler. Each has a model with a script of its own, and a tool fetch that returns too much.
type team struct {
	t       *testing.T
	handler adk.ChatModelAgentMiddleware
	backend *memory
	models  map[string]*provider.Model
}

func newTeam(t *testing.T) *team {
	backend := newMemory()
	h := newHandler(t, &toolresult.HandlerConfig{Backend: exclusive{backend}, ContextWindow: teamWindow})
	return &team{t: t, handler: h, backend: backend, models: make(map[string]*provider.Model)}
}

// text is what fetch returns to an agent. It does not fit into the window.
func (*team) text(agent string) string { return numberedLines(1200) + "fetched by " + agent }

func (m *team) agent(name string, said ...*schema.Message) *adk.ChatModelAgent {
	return m.agentWith(name, nil, said...)
}

func (m *team) agentWith(name string, more []tool.BaseTool, said ...*schema.Message) *adk.ChatModelAgent {
	m.models[name] = provider.New(scripted(said...), teamWindow, requestTokens)
	tools := append([]tool.BaseTool{fakeTool("invokable", "fetch", m.text(name))}, more...)
	return newAgent(m.t, name, m.models[name], tools, nil, m.handler)
}

// heard is all that an agent read in its n-th request, from 0.
func (m *team) heard(name string, n int) string {
	m.t.Helper()
	require.Greater(m.t, len(m.models[name].Requests()), n, "%s was not asked as often", name)
	var text string
	for _, msg := range m.models[name].Requests()[n] {
		text += textOf(msg) + "\n"
	}
	return text
}

// requireStored asserts that an agent reads a notice, and that all lies where the notice says.
func (m *team) requireStored(heard, owner string) (path string) {
	m.t.Helper()
	for path, content := range m.backend.stored() {
		if strings.HasSuffix(content, "fetched by "+owner) {
			assert.Equal(m.t, m.text(owner), content)
			assert.Contains(m.t, heard, fmt.Sprintf("<tool_result_offloaded path=%q>", path))
			return path
		}
	}
	require.Fail(m.t, "nothing is stored", "by %s", owner)
	return ""
}

func fetches() *schema.Message { return callsFor(toolCall("call_1", "fetch")) }

func readsFile(path string) *schema.Message {
	return callsFor(callWith("call_2", "read_file", fmt.Sprintf(`{"file_path":%q,"offset":1200}`, path)))
}

// The second agent reads what the first had fetched: it hears of it by the notice, which Eino quotes to it.
func TestHandlerInSequence(t *testing.T) {
	inBothModes(t, func(t *testing.T, streaming bool) {
		m := newTeam(t)
		first := m.agent("first", fetches(), answers("I have it."))
		second := m.agent("second", readsFile("/large_tool_result/call_1"), fetches(), answers("done"))
		agent, err := adk.NewSequentialAgent(t.Context(), &adk.SequentialAgentConfig{Name: "row", SubAgents: []adk.Agent{first, second}})
		require.NoError(t, err)
		mustRun(t, agent, streaming, "go")

		assert.Equal(t, "/large_tool_result/call_1", m.requireStored(m.heard("second", 0), "first"))
		assert.Contains(t, m.heard("second", 1), "fetched by first", "the page that it asked for")
		assert.NotEqual(t, "/large_tool_result/call_1", m.requireStored(m.heard("second", 2), "second"), "an ID of the first again")
	})
}

func TestHandlerInParallel(t *testing.T) {
	inBothModes(t, func(t *testing.T, streaming bool) {
		m := newTeam(t)
		var agents []adk.Agent
		for i := range 6 {
			agents = append(agents, m.agent(fmt.Sprint("agent ", i), fetches(), answers("done")))
		}
		agent, err := adk.NewParallelAgent(t.Context(), &adk.ParallelAgentConfig{Name: "crowd", SubAgents: agents})
		require.NoError(t, err)
		mustRun(t, agent, streaming, "go")

		paths := make(map[string]bool)
		for name := range m.models {
			paths[m.requireStored(m.heard(name, 1), name)] = true
		}
		assert.Len(t, paths, 6, "one ID, six results, six paths")
	})
}

// Every round calls with the same ID; what the first notice names stays readable.
func TestHandlerInALoop(t *testing.T) {
	inBothModes(t, func(t *testing.T, streaming bool) {
		m := newTeam(t)
		worker := m.agent("worker", fetches(), answers("again"), fetches(), answers("again"), readsFile("/large_tool_result/call_1"), answers("done"))
		agent, err := adk.NewLoopAgent(t.Context(), &adk.LoopAgentConfig{Name: "loop", SubAgents: []adk.Agent{worker}, MaxIterations: 3})
		require.NoError(t, err)
		mustRun(t, agent, streaming, "go")
		assert.Contains(t, m.heard("worker", 5), "fetched by worker")
		assert.Equal(t, 1, len(m.backend.stored()), "the same result under the same ID")
	})
}

func TestHandlerBehindATransfer(t *testing.T) {
	inBothModes(t, func(t *testing.T, streaming bool) {
		m := newTeam(t)
		clerk := m.agent("clerk", readsFile("/large_tool_result/call_1"), fetches(), answers("done"))
		boss := m.agent("boss", fetches(), callsFor(callWith("call_2", adk.TransferToAgentToolName, `{"agent_name":"clerk"}`)))
		agent, err := adk.SetSubAgents(t.Context(), boss, []adk.Agent{clerk})
		require.NoError(t, err)
		messages := mustRun(t, agent, streaming, "go")

		assert.Equal(t, "done", lastOf(messages).Content)
		m.requireStored(m.heard("clerk", 0), "boss")
		assert.Contains(t, m.heard("clerk", 1), "fetched by boss")
		m.requireStored(m.heard("clerk", 2), "clerk")
	})
}

// An agent as a tool: its own large results are offloaded before it reads them, and its answer, if that is large, before the
// other one does.
func TestHandlerInAgentsAsTools(t *testing.T) {
	inBothModes(t, func(t *testing.T, streaming bool) {
		m := newTeam(t)
		report := numberedLines(300) + "the end of the report"
		clerk := m.agent("clerk", fetches(), answers(report))
		boss := m.agentWith("boss", []tool.BaseTool{adk.NewAgentTool(t.Context(), clerk)},
			callsFor(callWith("call_9", "clerk", `{"request":"look it up"}`)), readsFile("/large_tool_result/call_9"), answers("done"))
		mustRun(t, boss, streaming, "go")

		m.requireStored(m.heard("clerk", 1), "clerk")
		assert.Contains(t, m.heard("boss", 1), `<tool_result_offloaded path="/large_tool_result/call_9">`)
		assert.Equal(t, report, m.backend.stored()["/large_tool_result/call_9"])
	})
}

// A tool of the outer agent that returns directly is one that the inner agent's model reads like any other.
func TestHandlerKeepsReturnDirectlyApart(t *testing.T) {
	m := newTeam(t)
	inner := m.agent("inner", fetches(), answers("done"))
	chat := provider.New(scripted(callsFor(callWith("call_9", "inner", `{"request":"x"}`)), fetches()), teamWindow, requestTokens)
	tools := []tool.BaseTool{fakeTool("invokable", "fetch", m.text("outer")), adk.NewAgentTool(t.Context(), inner)}
	outer := newAgent(t, "outer", chat, tools, func(cfg *adk.ChatModelAgentConfig) {
		cfg.ToolsConfig.ReturnDirectly = map[string]bool{"fetch": true}
	}, m.handler)
	messages := mustRun(t, outer, false, "go")
	m.requireStored(m.heard("inner", 1), "inner")
	assert.Equal(t, m.text("outer"), textOf(lastOf(messages)))
}

// A deep agent gives its handlers to its general sub-agent, and has a filesystem with a tool read_file of its own.
func TestHandlerInADeepAgent(t *testing.T) {
	inBothModes(t, func(t *testing.T, streaming bool) {
		m := newTeam(t)
		chat := provider.New(scripted(
			callsFor(callWith("call_0", "task", `{"subagent_type":"general-purpose","description":"look it up"}`)),
			fetches(), readsFile("/large_tool_result/call_1"), answers(numberedLines(300)), // the sub-agent
			fetches(), answers("done"),
		), teamWindow, requestTokens)
		agent, err := deep.New(t.Context(), &deep.Config{
			Name: "deep", Description: "an agent of the tests", ChatModel: chat, Instruction: "You look things up.",
			Handlers: []adk.ChatModelAgentMiddleware{m.handler}, MaxIteration: 20,
			ToolsConfig: adk.ToolsConfig{ToolsNodeConfig: toolsNode(fakeTool("streamable", "fetch", m.text("deep")))},
		})
		require.NoError(t, err)
		mustRun(t, agent, streaming, "go")

		requests := chat.Requests()
		require.Len(t, requests, 6)
		assert.Contains(t, toolResults(requests[3])["call_2"], "fetched by deep", "the sub-agent reads on")
		main := toolResults(requests[5])
		assert.Equal(t, "/large_tool_result/call_0", pathIn(t, main["call_0"]), "the report of the sub-agent")
		assert.Equal(t, "/large_tool_result/call_1", pathIn(t, main["call_1"]), "the same result under the same ID as in the sub-agent")
		assert.Equal(t, 2, len(m.backend.stored()))
	})
}
