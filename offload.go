package toolresult

// A large tool result is a parcel too big for the counter: it goes into a locker, whole, and the model gets the claim
// ticket. The middleware never summarises, calls a model, or cuts what it stores; and a model never reads more with it than
// it would have read without.

import (
	"context"
	"fmt"
	"io/fs"
	"strings"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/compose"
)

const (
	defaultTokenLimit     = 20_000
	defaultPathPrefix     = "/large_tool_result"
	defaultReadToolName   = "read_file"
	defaultSearchToolName = "search_file"
)

// OffloadConfig configures NewOffload.
type OffloadConfig struct {
	// Backend stores the results. Required. Whether two results with one call ID can ever overwrite each other depends on
	// what it can do: never, where it is an ExclusiveWriter; never among the calls of one middleware, where it is a Reader,
	// as others may write between its look and its write; and where it can only write, as long as this middleware lives and
	// remembers the path (the last 4096).
	Backend Backend
	// TokenLimit is the size up to which a result stays as it is. Tokens. Optional. 0 means 20 000. Negative values are refused.
	TokenLimit int
	// PathGenerator names the file of a result. Its path must be clean, not above the root, UTF-8 without control
	// characters; anything else counts as its error. It must not name both x and x/y, as a file cannot lie in a file. It
	// may be asked twice for one streamed result. Optional. Default: PathPrefix, then the call ID in the encoding of
	// SafeName; a result without a call ID takes a name from its content.
	PathGenerator func(ctx context.Context, input *compose.ToolInput) (string, error)
	// TokenCounter measures results and notices. It sees one tool message with the text, or the text alone where it has
	// ExceedsTokens. Optional. Default: a quarter of the bytes, rounded up, as EstimateTokens.
	TokenCounter TokenCounter
	// ReadToolName is the tool that the notice names; its own results are never offloaded. Optional. Default "read_file".
	ReadToolName string
	// SearchToolName is the tool that searches in stored results; its own results are never offloaded. Optional. Default
	// "search_file".
	SearchToolName string
	// ExcludeTools are tools whose results are never offloaded, such as those whose result goes to the user directly. Eino
	// hands over the name that the model wrote, so a tool with aliases is listed under each of them. Optional.
	ExcludeTools []string
	// ToolTokenLimits are limits for single tools, in place of TokenLimit, by every name that a model may use for them.
	// Tokens. Optional. 0 means a limit of 0 here; negative: never offloaded.
	ToolTokenLimits map[string]int
	// StepTokenLimit bounds the results of parallel calls together: above it the largest are offloaded before the model sees any.
	// CompactionHook keeps it, as a middleware sees one result at a time, and fails the model call under FailCall: give it this
	// config as CompactionConfig.Offload. What could not be stored under PassThrough is tried again at the next call, and the model
	// then reads a notice where it read the whole. Tokens. Optional. 0 means no such limit. Negative values are refused.
	StepTokenLimit int
	// PathPrefix is the folder of the default PathGenerator. It is absolute, clean, not "/", with or without a final slash.
	// Optional. Default "/large_tool_result".
	PathPrefix string
	// Sampler takes the sample that a notice shows. Optional. Default HeadSampler(10, 1000).
	Sampler Sampler
	// Template is the text of the notice, between its tags: a pyfmt template with plain {name} of tool_call_id, tool_name,
	// file_path (must be there), content_sample, read_tool_name, total_bytes, total_lines, total_tokens. Optional.
	// Default: the text for Language.
	Template string
	// Language is that of every text that a model reads. Optional. Default English.
	Language adk.Language
	// Transform rewrites results before anything else sees them, for example to mask secrets: every result, however small,
	// those of excluded tools too. In an enhanced result it sees each text part by itself. It needs the whole text, so a
	// stream is held back to its end. Its error fails the call under any FailurePolicy. Not called for pages of the read and
	// the search tool, nor under WithoutOffload. Optional.
	Transform func(ctx context.Context, input *compose.ToolInput, result string) (string, error)
	// OnFailure says what happens when a result cannot be stored. Optional. Default FailCall.
	OnFailure FailurePolicy
	// OnOffload observes every result that was stored, or should have been. It may be called concurrently, and before the
	// model has seen the notice. Optional.
	OnOffload func(ctx context.Context, event OffloadEvent)
}

// OffloadEvent tells of one result that was stored, or should have been.
type OffloadEvent struct {
	// ToolName is the name that the model called.
	ToolName string
	// CallID is the ID of the tool call, as the model gave it.
	CallID string
	// Path is where the result lies. Empty if saving failed before there was one.
	Path string
	// Bytes and Lines are the size of the whole result.
	Bytes, Lines int64
	// TokensBefore is the count of the whole result, TokensAfter that of the notice; 0 both where saving failed.
	TokensBefore, TokensAfter int64
	// Err is why saving failed, nil if it did not.
	Err error
}

type withoutOffloadKey struct{}

// WithoutOffload returns a context under which tool results pass the middleware untouched.
func WithoutOffload(ctx context.Context) context.Context {
	return context.WithValue(ctx, withoutOffloadKey{}, true)
}

// NewOffload returns a middleware that stores large tool results and hands the model a notice instead. It wraps all four
// kinds of tool endpoints. Results of Eino's UnknownToolsHandler never pass a middleware. It is safe for concurrent use, also
// by several nodes at once. A result that stays as it is costs no allocation.
func NewOffload(_ context.Context, cfg *OffloadConfig) (compose.ToolMiddleware, error) {
	o, err := newOffloader(cfg)
	if err != nil {
		return compose.ToolMiddleware{}, err
	}
	return compose.ToolMiddleware{
		Invokable:          o.invokable,
		Streamable:         o.streamable,
		EnhancedInvokable:  o.enhancedInvokable,
		EnhancedStreamable: o.enhancedStreamable,
	}, nil
}

func newOffloader(cfg *OffloadConfig) (*offloader, error) {
	if err := checkOffload(cfg); err != nil {
		return nil, err
	}
	prefix, err := cleanPrefix("OffloadConfig.PathPrefix", cfg.PathPrefix)
	if err != nil {
		return nil, err
	}
	text := cfg.Template
	if text == "" {
		text = inLanguage(cfg.Language, noticeEnglish, noticeChinese)
	}
	template, err := parseTemplate(text)
	if err != nil {
		return nil, err
	}
	o := &offloader{cfg: *cfg, prefix: prefix, template: template, store: newResultStore(cfg.Backend)}
	o.cfg.ReadToolName = nonEmpty(cfg.ReadToolName, defaultReadToolName)
	o.cfg.SearchToolName = nonEmpty(cfg.SearchToolName, defaultSearchToolName)
	if o.cfg.TokenLimit == 0 {
		o.cfg.TokenLimit = defaultTokenLimit
	}
	if o.cfg.Sampler == nil {
		o.cfg.Sampler = HeadSampler(0, 0)
	}
	o.limits = toolLimits(cfg)
	o.size = textSizer{counter: cfg.TokenCounter}
	o.size.limiter, _ = cfg.TokenCounter.(textLimiter)
	o.needsTokens = cfg.OnOffload != nil || template.uses("total_tokens")
	return o, nil
}

func checkOffload(cfg *OffloadConfig) error {
	switch {
	case cfg == nil:
		return badConfig("OffloadConfig", "nil", "a config with a Backend")
	case cfg.Backend == nil:
		return badConfig("OffloadConfig.Backend", "nil", "a Backend")
	case cfg.TokenLimit < 0:
		return badConfig("OffloadConfig.TokenLimit", cfg.TokenLimit, "0 (the default, 20000) or more; exclude a tool by ExcludeTools")
	case cfg.StepTokenLimit < 0:
		return badConfig("OffloadConfig.StepTokenLimit", cfg.StepTokenLimit, "0 (no limit) or more")
	case cfg.Sampler != nil && cfg.Sampler() == nil:
		return badConfig("OffloadConfig.Sampler", "one that returns nil", "one that returns a new Sample at every call")
	case cfg.OnFailure < FailCall || cfg.OnFailure > TruncateInline:
		return badConfig("OffloadConfig.OnFailure", int(cfg.OnFailure), "FailCall, PassThrough or TruncateInline")
	}
	return checkLanguage("OffloadConfig.Language", cfg.Language)
}

// toolLimits joins exclusions and limits; an exclusion wins.
func toolLimits(cfg *OffloadConfig) map[string]int {
	limits := make(map[string]int, len(cfg.ToolTokenLimits)+len(cfg.ExcludeTools))
	for name, limit := range cfg.ToolTokenLimits {
		limits[name] = limit
	}
	for _, name := range cfg.ExcludeTools {
		limits[name] = -1
	}
	return limits
}

func nonEmpty(value, byDefault string) string {
	if value == "" {
		return byDefault
	}
	return value
}

type offloader struct {
	cfg         OffloadConfig // defaults filled in
	prefix      string
	within      bool // a generated path must lie below prefix
	template    *noticeTemplate
	limits      map[string]int // tools with a limit of their own; negative: never
	size        textSizer
	needsTokens bool // a count of the whole result, even where a comparison would do
	store       *resultStore
}

// ignores reports whether a call passes untouched.
func (o *offloader) ignores(ctx context.Context, input *compose.ToolInput) bool {
	return input.Name == o.cfg.ReadToolName || input.Name == o.cfg.SearchToolName || ctx.Value(withoutOffloadKey{}) != nil
}

func (o *offloader) limit(tool string) int {
	if limit, own := o.limits[tool]; own {
		return limit
	}
	return o.cfg.TokenLimit
}

func (o *offloader) invokable(next compose.InvokableToolEndpoint) compose.InvokableToolEndpoint {
	return func(ctx context.Context, input *compose.ToolInput) (*compose.ToolOutput, error) {
		out, err := next(ctx, input)
		if err != nil || out == nil {
			return out, err
		}
		text, err := o.result(ctx, input, out.Result)
		if err != nil {
			return nil, err
		}
		if text == out.Result {
			return out, nil
		}
		return &compose.ToolOutput{Result: text}, nil
	}
}

// result returns what the model reads in place of a result.
func (o *offloader) result(ctx context.Context, input *compose.ToolInput, text string) (string, error) {
	if o.ignores(ctx, input) {
		return text, nil
	}
	text, err := o.transform(ctx, input, text)
	if err != nil {
		return "", err
	}
	v, err := o.judge(ctx, input, text)
	return v.text, err
}

func (o *offloader) transform(ctx context.Context, input *compose.ToolInput, text string) (string, error) {
	if o.cfg.Transform == nil {
		return text, nil
	}
	changed, err := o.cfg.Transform(ctx, input, text)
	if err != nil {
		return "", fmt.Errorf("toolresult: transform the result of call %q: %w", input.CallID, err)
	}
	return changed, nil
}

// judge decides whether a text is too large, and if so stores it.
func (o *offloader) judge(ctx context.Context, input *compose.ToolInput, text string) (verdict, error) {
	limit := o.limit(input.Name)
	if limit < 0 {
		return verdict{text: text}, nil
	}
	size, err := o.size.exceeds(ctx, input, text, limit)
	if err != nil {
		return o.fail(ctx, input, text, limit, failure{stage: counting, err: err})
	}
	if !size.over {
		return verdict{text: text}, nil
	}
	v, failed := o.offload(ctx, input, text, size)
	if failed.err != nil {
		return o.fail(ctx, input, text, limit, failed)
	}
	return v, nil
}

// offload stores a text under the first of its paths that is free or has the same text. What would not become smaller
// stays as it is, and is not stored.
func (o *offloader) offload(ctx context.Context, input *compose.ToolInput, text string, size textSize) (verdict, failure) {
	n, failed := o.describe(ctx, input, text, size)
	if failed.err != nil {
		return verdict{}, failed
	}
	own, err := o.path(ctx, input, text)
	if err != nil {
		return verdict{}, failure{stage: naming, err: err}
	}
	for attempt := range pathAttempts {
		n.path = nextPath(own, text, attempt)
		said := o.template.render(n)
		tokens, smaller, err := o.size.smaller(ctx, input, said, text, size)
		if err != nil {
			return verdict{}, failure{stage: counting, path: n.path, err: err}
		}
		if !smaller {
			return verdict{text: text}, failure{}
		}
		taken, err := o.store.put(ctx, n.path, text)
		if err != nil {
			return verdict{}, failure{stage: storing, path: n.path, err: err}
		}
		if !taken {
			o.report(ctx, input, OffloadEvent{Path: n.path, Bytes: n.bytes, Lines: n.lines, TokensBefore: n.tokens, TokensAfter: tokens})
			return verdict{text: said, path: n.path}, failure{}
		}
	}
	return verdict{}, failure{stage: storing, path: n.path, err: fs.ErrExist}
}

// describe gathers what a notice says, but for the path.
func (o *offloader) describe(ctx context.Context, input *compose.ToolInput, text string, size textSize) (*notice, failure) {
	n := o.newNotice(input)
	n.bytes, n.lines = int64(len(text)), countLines(text)
	sample := o.cfg.Sampler()
	if _, err := sample.WriteString(text); err != nil {
		return nil, failure{stage: sampling, err: err}
	}
	n.sample, n.tokens = sample.String(), size.tokens
	if o.needsTokens && size.tokens < 0 {
		var err error
		if n.tokens, err = o.size.count(ctx, input, text); err != nil {
			return nil, failure{stage: counting, err: err}
		}
	}
	return n, failure{}
}

func (o *offloader) newNotice(input *compose.ToolInput) *notice {
	return &notice{callID: input.CallID, toolName: input.Name, readTool: o.cfg.ReadToolName}
}

func (o *offloader) path(ctx context.Context, input *compose.ToolInput, text string) (string, error) {
	if o.cfg.PathGenerator == nil {
		return defaultPath(o.prefix, input.CallID, text), nil
	}
	own, err := o.cfg.PathGenerator(ctx, input)
	if err != nil {
		return "", err
	}
	if o.within && !strings.HasPrefix(own, o.prefix+"/") {
		return "", badPath(own, "a path below "+o.prefix+", where the tools can read it")
	}
	return own, checkPath(own)
}

func (o *offloader) report(ctx context.Context, input *compose.ToolInput, event OffloadEvent) {
	if o.cfg.OnOffload != nil {
		event.ToolName, event.CallID = input.Name, input.CallID
		o.cfg.OnOffload(ctx, event)
	}
}
