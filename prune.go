package toolresult

// Old tool output is the cheapest context to give up: the call stays visible, its result becomes one line, and the model can
// call again. The rule is Haystack's: oldest first, only as many as are needed, and never those of the newest steps. Every call
// keeps its result, in place, so the conversation stays one that providers accept.

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/schema"
)

const (
	placeholderEnglish = "[Tool result removed to free up context. Call `{tool_name}` again if you need it.]"
	placeholderChinese = "[工具结果已移除以释放上下文。如有需要，请再次调用 `{tool_name}`。]"

	storedEnglish = "[Tool result removed. Read it with `{read_tool_name}`: {file_path}]"
	storedChinese = "[工具结果已移除。可用 `{read_tool_name}` 读取：{file_path}]"

	defaultMinTokens = 200
)

// Compactor makes a conversation smaller. *Pruner is one.
//
// Compact must not change the messages it is given, nor the slice. It should stop at the target and must report what it reached.
type Compactor interface {
	Compact(ctx context.Context, req *CompactRequest) (*Compaction, error)
}

// CompactRequest asks for a conversation to be made smaller.
type CompactRequest struct {
	// Messages is the conversation. It is never changed.
	Messages []*schema.Message
	// TargetTokens is the size to come down to, in tokens of Counter. A goal, not a guarantee. Below 0 counts as 0.
	TargetTokens int64
	// Tokens is the count of Messages by Counter, where the caller has it. 0 means not counted yet.
	Tokens int64
	// Counter counts messages. Nil means a quarter of the bytes.
	Counter TokenCounter
}

// Compaction is what came of a CompactRequest.
type Compaction struct {
	// Messages is the conversation now, the caller's own slice where nothing changed.
	Messages []*schema.Message
	// Changed reports whether anything changed.
	Changed bool
	// TokensBefore and TokensAfter are the size of the conversation, in the counter's tokens.
	TokensBefore, TokensAfter int64
	// TargetTokens is the target of the request; TokensAfter above it means that it was missed.
	TargetTokens int64
	// Pruned are the results that were replaced, oldest first.
	Pruned []PrunedResult
	// OverWindow reports that the next request will be over the context window all the same, as what may not go is too large. Only
	// CompactionHook knows.
	OverWindow bool
	// Err joins the errors of results that stayed because they could not be archived. It is nil where none did.
	Err error
}

// PrunedResult tells of one result that became a placeholder, or of the arguments of one message's calls that became stubs.
type PrunedResult struct {
	// Index is the place of the message in the conversation.
	Index int
	// CallID and ToolName are those of the tool call that the result answers. Of arguments they are those of the first call.
	CallID, ToolName string
	// Arguments reports that the arguments of calls went, and no result.
	Arguments bool
	// TokensBefore and TokensAfter are the size of the message, in the counter's tokens.
	TokensBefore, TokensAfter int64
	// Path is where the result can still be read. Empty: nowhere.
	Path string
}

// PruneConfig configures NewPruner.
type PruneConfig struct {
	// MinKeepSteps is how many of the newest tool-calling steps keep their results, whatever the target. A step is an
	// assistant message with tool calls and the results that answer it. Steps. Optional. 0 means 1. Negative values are refused.
	MinKeepSteps int
	// MinTokens is the size up to which a result is not worth a placeholder. Tokens, of the counter. Optional. 0 means 200; 1
	// prunes results of any size. Negative values are refused.
	MinTokens int
	// Placeholder takes the place of a result. {tool_name} in it becomes the tool's name; other braces stay. A result to which it
	// saves nothing stays, so keep it short: half of all results are below 170 bytes. It should be words: some clients drop a
	// result of {} or null. Optional. Default: a line in Language.
	Placeholder string
	// StoredPlaceholder takes the place of a result that can still be read, because it was archived or is a shortened notice.
	// {file_path} in it, which must be there, becomes the path, escaped as in a notice; {tool_name} the tool's name;
	// {read_tool_name} that of the tool that reads it. Optional. Default: a line in Language.
	StoredPlaceholder string
	// SkipExtraKeys protect a result whose message, or a part of it, has one of them in Extra. Optional. Nil means
	// {"tool_result_offloaded"}; an empty slice protects none.
	SkipExtraKeys []string
	// ExcludeTools are tools whose results and arguments stay. Optional.
	ExcludeTools []string
	// Keep protects a result for which it returns true, a failed one for example, and with ArgumentTokens a message with calls. It
	// must go by the message alone and not change it. Optional.
	Keep func(msg *schema.Message) bool
	// Pointers says what becomes of the notices that the offloader left. Optional. Default KeepPointers.
	Pointers PointerPolicy
	// Archive stores every result before it is pruned; the placeholder names the path. A result that cannot be stored stays, and
	// Compaction.Err says why. What can be read already is not stored: notices, and pages of stored results. Parts that are no
	// text are stored as files of their own, beside the text, which names them. To be read back by a model, and to know again what
	// it has, it must be a Reader too. One that can only write, and is the offloader's as well, needs a PathPrefix of its own here.
	// What was stored is remembered, the last 4096, and not looked for again. Optional. Default: what is pruned is lost.
	Archive Backend
	// PathGenerator names the file of an archived result, as it does in OffloadConfig. Optional. Default: PathPrefix, then the
	// call ID in the encoding of SafeName.
	PathGenerator func(ctx context.Context, input *compose.ToolInput) (string, error)
	// PathPrefix is the folder of the default PathGenerator. What the read and the search tool took from below it, or from a file
	// that the conversation names, is a page. Optional. Default "/large_tool_result".
	PathPrefix string
	// ReadToolName and SearchToolName are the tools that read stored results. Optional. Default "read_file" and "search_file".
	ReadToolName, SearchToolName string
	// Superseded are tools of which an older result goes before anything else, once a later call with equal arguments has a result.
	// Arguments are equal where their JSON is, whatever the order of keys and the spaces. Optional.
	Superseded []string
	// PagesFirst lets the pages go next that the read and the search tool took from stored results, as they can be taken again.
	// Optional.
	PagesFirst bool
	// ArgumentTokens are the sizes above which the arguments of older calls are stubbed, by tool; "*" stands for every tool that is
	// not named. They go last, where results are not enough: long values in them become a short string that says so, and the rest,
	// which tells what the call did, stays. With an Archive the whole is stored, and the stub names the path. Never where the call or its message
	// carries what a provider has signed. Tokens, of the counter. Optional. Default: arguments stay. Values below 1 are refused.
	ArgumentTokens map[string]int
	// Language is that of the default placeholders, of stubs, and of a plan's table. Optional. Default English.
	Language adk.Language
}

// PointerPolicy says what pruning does with the notices that the offloader left in place of large results.
type PointerPolicy int

const (
	// KeepPointers leaves them as they are.
	KeepPointers PointerPolicy = iota
	// ShortenPointers prunes them as it does results, but to the StoredPlaceholder, which keeps the path: only the sample is lost. Media
	// that stand beside a notice go with it, into the Archive if there is one.
	ShortenPointers
)

// Pruner replaces older tool results by placeholders. It keeps no state of any conversation and is safe for concurrent use.
type Pruner struct {
	cfg       PruneConfig // defaults filled in
	minTokens int64
	nameless  string // stands in for the name of a tool that nobody knows
	classes   []class
	counter   TokenCounter
	archive   *offloader // nil: none
}

// NewPruner returns a Pruner. A nil config asks for all defaults.
func NewPruner(ctx context.Context, cfg *PruneConfig) (*Pruner, error) {
	if cfg == nil {
		cfg = &PruneConfig{}
	}
	if err := checkPrune(cfg); err != nil {
		return nil, err
	}
	counter, err := NewTokenCounter(ctx, nil)
	if err != nil {
		return nil, err
	}
	p := &Pruner{cfg: *cfg, counter: counter, nameless: inLanguage(cfg.Language, "the same tool", "原工具")}
	p.fillIn()
	if p.cfg.PathPrefix, err = cleanPrefix("PruneConfig.PathPrefix", cfg.PathPrefix); err != nil {
		return nil, err
	}
	if cfg.Archive == nil {
		return p, nil
	}
	p.archive, err = newOffloader(&OffloadConfig{Backend: cfg.Archive, PathGenerator: cfg.PathGenerator, PathPrefix: cfg.PathPrefix})
	return p, err
}

func (p *Pruner) fillIn() {
	cfg := &p.cfg
	cfg.MinKeepSteps = orDefault(cfg.MinKeepSteps, 1)
	p.minTokens = int64(orDefault(cfg.MinTokens, defaultMinTokens))
	cfg.Placeholder = nonEmpty(cfg.Placeholder, inLanguage(cfg.Language, placeholderEnglish, placeholderChinese))
	cfg.StoredPlaceholder = nonEmpty(cfg.StoredPlaceholder, inLanguage(cfg.Language, storedEnglish, storedChinese))
	cfg.ReadToolName = nonEmpty(cfg.ReadToolName, defaultReadToolName)
	cfg.SearchToolName = nonEmpty(cfg.SearchToolName, defaultSearchToolName)
	if cfg.SkipExtraKeys == nil {
		cfg.SkipExtraKeys = []string{offloadedKey}
	}
	cfg.SkipExtraKeys = slices.Clone(cfg.SkipExtraKeys)
	cfg.ExcludeTools = slices.Clone(cfg.ExcludeTools)
	cfg.Superseded = slices.Clone(cfg.Superseded)
	cfg.ArgumentTokens = maps.Clone(cfg.ArgumentTokens)
	if len(cfg.Superseded) > 0 {
		p.classes = append(p.classes, supersededResults)
	}
	if cfg.PagesFirst {
		p.classes = append(p.classes, pages)
	}
	p.classes = append(p.classes, oldest)
	if len(cfg.ArgumentTokens) > 0 {
		p.classes = append(p.classes, arguments)
	}
}

func checkPrune(cfg *PruneConfig) error {
	switch {
	case cfg.MinKeepSteps < 0:
		return badConfig("PruneConfig.MinKeepSteps", cfg.MinKeepSteps, "0 (the default, 1) or more")
	case cfg.MinTokens < 0:
		return badConfig("PruneConfig.MinTokens", cfg.MinTokens, "0 (the default, 200) or more")
	case cfg.Placeholder != printable(cfg.Placeholder) || cfg.Placeholder != "" && strings.TrimSpace(cfg.Placeholder) == "":
		return badConfig("PruneConfig.Placeholder", strconv.Quote(cfg.Placeholder), wantSendable)
	case cfg.StoredPlaceholder != printable(cfg.StoredPlaceholder):
		return badConfig("PruneConfig.StoredPlaceholder", strconv.Quote(cfg.StoredPlaceholder), wantSendable)
	case cfg.StoredPlaceholder != "" && !strings.Contains(cfg.StoredPlaceholder, "{file_path}"):
		return badConfig("PruneConfig.StoredPlaceholder", strconv.Quote(cfg.StoredPlaceholder), "a text with {file_path}, without which the result could not be found again")
	case cfg.Pointers != KeepPointers && cfg.Pointers != ShortenPointers:
		return badConfig("PruneConfig.Pointers", int(cfg.Pointers), "KeepPointers or ShortenPointers")
	}
	for tool, tokens := range cfg.ArgumentTokens {
		if tokens < 1 {
			return badConfig(fmt.Sprintf("PruneConfig.ArgumentTokens[%q]", tool), tokens, "1 or more")
		}
	}
	return checkLanguage("PruneConfig.Language", cfg.Language)
}

const wantSendable = "words in valid UTF-8 without NUL, as providers refuse anything else"

// Compact replaces tool results by placeholders, oldest first, until the conversation meets the target: it makes a Plan and
// applies it. It goes over the conversation once, counts the whole once (unless the request brings the count), and then only the
// results that may go and their placeholders. Its only errors are those of the counter and the end of the context while it stores.
func (p *Pruner) Compact(ctx context.Context, req *CompactRequest) (*Compaction, error) {
	run, err := p.start(ctx, req)
	if err != nil {
		return nil, err
	}
	target := max(req.TargetTokens, 0)
	c := &Compaction{TokensBefore: run.tokens, TargetTokens: target}
	if run.tokens > target {
		run.read(len(req.Messages))
		if err := run.pruneTo(ctx, target, len(req.Messages)); err != nil {
			return nil, err
		}
	}
	run.report(c)
	return c, nil
}

// start begins a run over a whole conversation.
func (p *Pruner) start(ctx context.Context, req *CompactRequest) (*pruning, error) {
	if req == nil {
		return nil, badConfig("CompactRequest", "nil", "a request")
	}
	run := p.run(req.Messages, req.Counter)
	run.tokens = req.Tokens
	if req.Tokens <= 0 {
		var err error
		if run.tokens, err = countMessages(ctx, run.counter, req.Messages, nil); err != nil {
			return nil, err
		}
	}
	return run, nil
}

// countMessages calls a counter, which need not know what to do with missing messages.
func countMessages(ctx context.Context, counter TokenCounter, messages []*schema.Message, tools []*schema.ToolInfo) (int64, error) {
	if slices.Contains(messages, nil) {
		messages = slices.DeleteFunc(slices.Clone(messages), func(m *schema.Message) bool { return m == nil })
	}
	tokens, err := counter.CountTokens(ctx, messages, tools)
	if err != nil {
		return 0, fmt.Errorf("toolresult: count the tokens of %d messages: %w", len(messages), err)
	}
	return tokens, nil
}
