package toolresult

// One line for ADK: a handler that offloads, brings the tools that read stored results, and prunes before each model call.

import (
	"context"
	"fmt"
	"slices"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/schema"
)

// NewHandler returns a handler for adk.ChatModelAgentConfig.Handlers. It offloads the results of all four kinds of tools, adds
// the read and the search tool unless the agent has tools of these names, and prunes before each model call with the tool
// schemas counted. Results that are returned directly are left alone, where the agent's configuration says so when a run
// begins; exclude others by name. One handler serves any number of agents at once: give it to every agent of a team.
//
// # Order
//
// Handlers that repair the history or add tools come first (Eino's patchtoolcalls and filesystem), then this one, then
// summarization, which is needed only where pruning is not enough. A handler that must change results before they are stored,
// to mask secrets for example, stands behind it. Two things to know:
//
//   - The read_file tool of Eino's filesystem, which a deep agent with a Backend has too, bounds no page in bytes and reads its
//     own backend only. Beside it, give ReadConfig.ToolName another name.
//   - Summarization goes by the usage of the last answer, which is from before the prune. Give it a TokenCounter that counts
//     the messages.
//
// Do not combine it with Eino's reduction, which does the same two jobs: its clearing takes notices as it takes any result, and
// changes messages in place. The deprecated filesystem.NewMiddleware offloads by itself what is excluded here; give it
// WithoutLargeToolResultOffloading.
//
// # Several turns
//
// What was pruned stays pruned in the agent's state, and in a checkpoint. The events of a run do not show it: they hold each
// result as the model read it first, a notice where it was offloaded and else the whole. (With adk.NewEventSenderToolWrapper
// behind this handler they hold what the tool returned.) A next turn that is made of them is pruned to the same bytes again, as
// BeforeModel says, at the cost of pruning it all; with a Compactor or a TokenCounter of your own it is not, the
// provider's prompt cache misses, and as the usage in the answers is that of the pruned conversation, the estimate is too low. To
// keep what was pruned, take the messages from the state, in AfterAgent of a handler of your own, without the system
// message, which the agent adds anew.
func NewHandler(ctx context.Context, cfg *HandlerConfig) (adk.ChatModelAgentMiddleware, error) {
	if cfg == nil {
		return nil, badConfig("HandlerConfig", "nil", "a config with a Backend and a ContextWindow")
	}
	full, err := fillHandlerConfig(cfg)
	if err != nil {
		return nil, err
	}
	h := &handler{BaseChatModelAgentMiddleware: &adk.BaseChatModelAgentMiddleware{}}
	if h.offloader, err = newOffloader(&full.Offload); err != nil {
		return nil, err
	}
	h.offloader.within = true
	if full.Compaction.Compactor == nil {
		if full.Compaction.Compactor, err = newHandlerPruner(ctx, full, h.offloader.store); err != nil {
			return nil, err
		}
	}
	if h.hook, err = NewCompactionHook(ctx, &full.Compaction); err != nil {
		return nil, err
	}
	h.hook.limitSteps(h.offloader)
	if h.tools, err = handlerTools(ctx, full); err != nil {
		return nil, err
	}
	return h, nil
}

// newHandlerPruner makes a pruner that archives where the tools can read, in the store of the offloader.
func newHandlerPruner(ctx context.Context, cfg *HandlerConfig, store *resultStore) (*Pruner, error) {
	p, err := NewPruner(ctx, &cfg.Prune)
	if err == nil && p.archive != nil {
		p.archive.within, p.archive.store = true, store
	}
	return p, err
}

// handlerTools makes the tools that a handler brings. Two of one name would be refused by the provider.
func handlerTools(ctx context.Context, cfg *HandlerConfig) ([]ownTool, error) {
	read, err := NewReadTool(ctx, &cfg.Read)
	if err != nil {
		return nil, err
	}
	search, err := NewSearchTool(ctx, &cfg.Search)
	if err != nil {
		return nil, err
	}
	var own []ownTool
	for _, t := range []tool.InvokableTool{read, search} {
		info, err := t.Info(ctx)
		if err != nil {
			return nil, err
		}
		if len(own) > 0 && own[0].info.Name == info.Name {
			return nil, badConfig("HandlerConfig.Search.ToolName", fmt.Sprintf("%q", info.Name), "another name than the read tool has")
		}
		own = append(own, ownTool{t, info})
	}
	return own, nil
}

// ownTool introduces itself the same way in every run, so that its schema is counted once.
type ownTool struct {
	tool.InvokableTool
	info *schema.ToolInfo
}

func (t ownTool) Info(context.Context) (*schema.ToolInfo, error) { return t.info, nil }

type handler struct {
	*adk.BaseChatModelAgentMiddleware

	offloader *offloader
	hook      *CompactionHook
	tools     []ownTool
}

type returnDirectlyKey struct{}

// BeforeAgent adds the tools that the agent lacks and notes which results are not the model's to read.
func (h *handler) BeforeAgent(ctx context.Context, run *adk.ChatModelAgentContext) (context.Context, *adk.ChatModelAgentContext, error) {
	names := make(map[string]bool, len(run.Tools))
	for _, t := range run.Tools {
		info, err := t.Info(ctx)
		if err != nil {
			return ctx, run, fmt.Errorf("toolresult: info of a tool of the agent: %w", err)
		}
		names[info.Name] = true
	}
	extended := *run
	extended.Tools = slices.Clone(run.Tools)
	for _, own := range h.tools {
		if !names[own.info.Name] {
			extended.Tools = append(extended.Tools, own)
		}
	}
	return context.WithValue(ctx, returnDirectlyKey{}, run.ReturnDirectly), &extended, nil
}

// leaves reports whether a tool's result goes to the user, not to the model. A name in the map is enough, whatever its value,
// as Eino looks for no more.
func leaves(ctx context.Context, call *adk.ToolContext) bool { return goesToUser(ctx, call.Name) }

func goesToUser(ctx context.Context, tool string) bool {
	direct, _ := ctx.Value(returnDirectlyKey{}).(map[string]bool)
	_, found := direct[tool]
	return found
}

// BeforeModelRewriteState prunes the conversation when that is due.
func (h *handler) BeforeModelRewriteState(ctx context.Context, state *adk.ChatModelAgentState, _ *adk.ModelContext) (context.Context, *adk.ChatModelAgentState, error) {
	messages, err := h.hook.BeforeModel(ctx, state.Messages, state.ToolInfos)
	if err != nil || isSame(messages, state.Messages) {
		return ctx, state, err
	}
	rewritten := *state
	rewritten.Messages = messages
	return ctx, &rewritten, nil
}

// isSame reports whether two slices are one.
func isSame[T any](a, b []T) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}

func inputOf(call *adk.ToolContext, arguments string, opts []tool.Option) *compose.ToolInput {
	return &compose.ToolInput{Name: call.Name, CallID: call.CallID, Arguments: arguments, CallOptions: opts}
}

// WrapInvokableToolCall offloads a text.
func (h *handler) WrapInvokableToolCall(ctx context.Context, next adk.InvokableToolCallEndpoint, call *adk.ToolContext) (adk.InvokableToolCallEndpoint, error) {
	if leaves(ctx, call) {
		return next, nil
	}
	return func(ctx context.Context, arguments string, opts ...tool.Option) (string, error) {
		result, err := next(ctx, arguments, opts...)
		if err != nil {
			return result, err
		}
		return h.offloader.result(ctx, inputOf(call, arguments, opts), result)
	}, nil
}

// WrapStreamableToolCall offloads a text that arrives in pieces.
func (h *handler) WrapStreamableToolCall(ctx context.Context, next adk.StreamableToolCallEndpoint, call *adk.ToolContext) (adk.StreamableToolCallEndpoint, error) {
	if leaves(ctx, call) {
		return next, nil
	}
	return func(ctx context.Context, arguments string, opts ...tool.Option) (*schema.StreamReader[string], error) {
		result, err := next(ctx, arguments, opts...)
		if err != nil {
			return result, err
		}
		return h.offloader.stream(ctx, inputOf(call, arguments, opts), result), nil
	}, nil
}

// WrapEnhancedInvokableToolCall offloads the texts of an enhanced result.
func (h *handler) WrapEnhancedInvokableToolCall(ctx context.Context, next adk.EnhancedInvokableToolCallEndpoint, call *adk.ToolContext) (adk.EnhancedInvokableToolCallEndpoint, error) {
	if leaves(ctx, call) {
		return next, nil
	}
	return func(ctx context.Context, argument *schema.ToolArgument, opts ...tool.Option) (*schema.ToolResult, error) {
		result, err := next(ctx, argument, opts...)
		if err != nil {
			return result, err
		}
		return h.offloader.enhancedResult(ctx, inputOf(call, argument.Text, opts), result)
	}, nil
}

// WrapEnhancedStreamableToolCall offloads the texts of an enhanced result that arrives in pieces.
func (h *handler) WrapEnhancedStreamableToolCall(ctx context.Context, next adk.EnhancedStreamableToolCallEndpoint, call *adk.ToolContext) (adk.EnhancedStreamableToolCallEndpoint, error) {
	if leaves(ctx, call) {
		return next, nil
	}
	return func(ctx context.Context, argument *schema.ToolArgument, opts ...tool.Option) (*schema.StreamReader[*schema.ToolResult], error) {
		result, err := next(ctx, argument, opts...)
		if err != nil {
			return result, err
		}
		return h.offloader.enhancedStream(ctx, inputOf(call, argument.Text, opts), result), nil
	}, nil
}
