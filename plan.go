package toolresult

// Why each result stays or goes. A plan is what Compact would do, told beforehand.

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/schema"
)

// PruneReason says why a result goes or stays.
type PruneReason int

const (
	// ReasonOldest goes: it is the oldest that may.
	ReasonOldest PruneReason = iota
	// ReasonSuperseded goes: a later call with equal arguments has a result.
	ReasonSuperseded
	// ReasonPage goes: it is a page of a stored result and can be read again.
	ReasonPage
	// ReasonShortened goes: it is a notice, which becomes one line with its path.
	ReasonShortened
	// ReasonArguments goes: the arguments of calls, which become stubs.
	ReasonArguments
	// ReasonTargetMet stays: what goes before it is enough.
	ReasonTargetMet
	// ReasonRecentStep stays: it belongs to one of the newest steps.
	ReasonRecentStep
	// ReasonUnanswered stays: the model has not seen it yet.
	ReasonUnanswered
	// ReasonMarked stays: it was pruned before.
	ReasonMarked
	// ReasonExcluded stays: its tool is one of ExcludeTools.
	ReasonExcluded
	// ReasonPointer stays: it is a notice, the only way to the whole result.
	ReasonPointer
	// ReasonProtected stays: its metadata has one of SkipExtraKeys.
	ReasonProtected
	// ReasonKept stays: Keep says so.
	ReasonKept
	// ReasonSmall stays: it has no more than MinTokens, or no arguments above ArgumentTokens.
	ReasonSmall
	// ReasonNoSaving stays: the placeholder is not shorter.
	ReasonNoSaving
	// ReasonSigned stays: the message carries what a provider has signed.
	ReasonSigned
	// ReasonNotStored stays: it could not be archived.
	ReasonNotStored
)

func (r PruneReason) goes() bool { return r < ReasonTargetMet }

// String is the reason in English.
func (r PruneReason) String() string { return r.in(adk.LanguageEnglish) }

func (r PruneReason) in(lang adk.Language) string {
	english := [...]string{
		"oldest", "superseded", "page of a stored result", "notice, shortened", "arguments, stubbed",
		"target met", "recent step", "not seen yet", "pruned before", "tool excluded", "notice", "protected by metadata", "kept", "small",
		"no saving", "signed", "not stored",
	}
	chinese := [...]string{
		"最早", "已被取代", "已保存结果的分页", "提示，已缩短", "参数，已缩短",
		"已达目标", "最近步骤", "模型尚未读到", "此前已修剪", "工具已排除", "提示", "受元数据保护", "按规则保留", "过小",
		"没有节省", "带签名", "未能保存",
	}
	if r < 0 || int(r) >= len(english) {
		return fmt.Sprintf("PruneReason(%d)", int(r))
	}
	return inLanguage(lang, english[r], chinese[r])
}

// PrunePlan tells of every tool result whether it goes or stays, and why.
type PrunePlan struct {
	// Results are all results, in the order of the conversation, and with ArgumentTokens the messages with calls.
	Results []PlannedResult
	// TokensBefore is the size of the conversation, TokensAfter what it would come to, in the counter's tokens.
	TokensBefore, TokensAfter int64
	// TargetTokens is what was asked for; TokensAfter above it means that it would be missed.
	TargetTokens int64

	language adk.Language
}

// PlannedResult is what a plan says of one result.
type PlannedResult struct {
	// PrunedResult is the result. TokensAfter equals TokensBefore where it stays. Path is where an archived result would be, if that name is
	// free, or where a notice says it is.
	PrunedResult
	// Goes reports whether it would be pruned.
	Goes bool
	// Reason says why it goes or stays.
	Reason PruneReason
}

// Plan tells what Compact would do, and changes and stores nothing. targetTokens is as in CompactRequest, and so is counter: nil
// means a quarter of the bytes. It counts every result, also those that Compact would never come to, and asks the
// PathGenerator. Its only errors are those of the counter, and the end of the context in a PathGenerator.
func (p *Pruner) Plan(ctx context.Context, messages []*schema.Message, targetTokens int64, counter TokenCounter) (*PrunePlan, error) {
	run, err := p.start(ctx, &CompactRequest{Messages: messages, Counter: counter})
	if err != nil {
		return nil, err
	}
	plan := &PrunePlan{TokensBefore: run.tokens, TokensAfter: run.tokens, TargetTokens: max(targetTokens, 0), language: p.cfg.Language}
	run.reasons = make(map[int]PruneReason)
	run.read(len(messages))
	all := slices.Concat(run.pairs.results, run.calls)
	chosen, err := run.choose(ctx, run.tokens-plan.TargetTokens)
	if err != nil {
		return nil, err
	}
	plan.TokensAfter -= chosen.saved
	goes := make(map[int]*swap, len(chosen.swaps))
	for _, s := range chosen.swaps {
		goes[s.Index] = s
	}
	for i := range all {
		planned, err := run.explain(ctx, &all[i], goes)
		if err != nil {
			return nil, err
		}
		plan.Results = append(plan.Results, planned)
	}
	slices.SortFunc(plan.Results, func(a, b PlannedResult) int { return a.Index - b.Index })
	return plan, nil
}

// explain says of one result what was chosen, and where it was not, why.
func (p *pruning) explain(ctx context.Context, r *toolResult, goes map[int]*swap) (PlannedResult, error) {
	if s, ok := goes[r.index]; ok {
		return PlannedResult{s.PrunedResult, true, s.reason}, nil
	}
	planned := PlannedResult{PrunedResult: PrunedResult{Index: r.index, CallID: r.callID, ToolName: r.tool}}
	planned.Arguments = p.classOf(r) == arguments
	planned.Path, _ = OffloadedPath(p.messages[r.index])
	var err error
	if planned.Reason, err = p.whyItStays(ctx, r); err != nil {
		return planned, err
	}
	planned.TokensBefore, err = countMessages(ctx, p.counter, p.messages[r.index:r.index+1], nil)
	planned.TokensAfter = planned.TokensBefore
	return planned, err
}

func (p *pruning) whyItStays(ctx context.Context, r *toolResult) (PruneReason, error) {
	if reason, known := p.reasons[r.index]; known {
		return reason, nil
	}
	switch {
	case r.step > p.pairs.steps-p.cfg.MinKeepSteps:
		return ReasonRecentStep, nil
	case r.index >= p.pairs.answered:
		return ReasonUnanswered, nil
	}
	reason, err := p.weigh(ctx, r)
	if reason.goes() {
		reason = ReasonTargetMet
	}
	return reason, err
}

// String is the plan as a table, in the pruner's language: a line for each result and one for the whole.
func (plan *PrunePlan) String() string {
	say := func(english, chinese string) string { return inLanguage(plan.language, english, chinese) }
	var b strings.Builder
	table := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, say("message\tcall\ttool\ttokens\tafter\tverdict\treason\tpath", "消息\t调用\t工具\ttoken\t之后\t决定\t原因\t路径"))
	for _, r := range plan.Results {
		verdict := say("stays", "保留")
		if r.Goes {
			verdict = say("goes", "移除")
		}
		fmt.Fprintf(table, "%d\t%s\t%s\t%d\t%d\t%s\t%s\t%s\n",
			r.Index, printableID(r.CallID), printableID(r.ToolName), r.TokensBefore, r.TokensAfter, verdict, r.Reason.in(plan.language), r.Path)
	}
	table.Flush() // a strings.Builder has no errors
	fmt.Fprintf(&b, say("%d tokens, %d after, target %d\n", "共 %d 个 token，之后 %d，目标 %d\n"), plan.TokensBefore, plan.TokensAfter, plan.TargetTokens)
	return trimLines(b.String())
}

// trimLines takes away the spaces with which the table fills empty cells at the end of a line.
func trimLines(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = strings.TrimRight(line, " ")
	}
	return strings.Join(lines, "\n")
}
