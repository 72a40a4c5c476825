package toolresult

// Pruned, but not lost. A result goes to the backend before it goes from the conversation, under the names that the offloader
// gives, and its placeholder says where it is. One ledger serves both: what OffloadedPath finds in a notice it finds in a
// placeholder too.

import (
	"context"
	"encoding/json"
	"html"
	"strings"

	"github.com/cloudwego/eino/schema"
)

// fill finds the placeholder of a result that may go for a reason, and whether and where the result must be stored for it. A
// notice is stored only for what stands beside it.
func (p *pruning) fill(ctx context.Context, s *swap, r *toolResult, msg *schema.Message, reason PruneReason) (PruneReason, error) {
	path, isNotice := OffloadedPath(msg)
	switch {
	case isNotice && (p.archive == nil || isNothingElse(msg)):
		s.Path = path
	case p.archive == nil || r.page:
		s.short = withText(msg, p.placeholder(r.tool))
		return reason, nil
	case p.storeIsDown():
		return ReasonNotStored, nil
	default:
		own, err := p.ownPath(ctx, r, msg)
		if err != nil {
			p.fail(r.index, failure{stage: naming, err: err}.wrap(r.callID))
			return ReasonNotStored, ctx.Err()
		}
		s.store, s.Path = true, own
		if isNotice {
			s.files = []string{path}
		}
	}
	s.short = withText(msg, p.storedPlaceholder(r.tool, s.Path, msg))
	return reason, nil
}

// isNothingElse holds for a notice with nothing beside it.
func isNothingElse(msg *schema.Message) bool {
	parts := len(msg.UserInputMultiContent) + len(msg.AssistantGenMultiContent) + len(msg.MultiContent)
	return parts == 0 || parts == 1 && msg.Content == "" && countMedia(msg) == 0
}

// ownPath is the first name that a result tries.
func (p *pruning) ownPath(ctx context.Context, r *toolResult, msg *schema.Message) (string, error) {
	input := inputFor(p.messages, r)
	if r.callID != "" {
		return p.archive.path(ctx, input, "")
	}
	return p.archive.path(ctx, input, archivedText(msg, func(m medium) string { return digest(m.data) }))
}

// storedPlaceholder is the text for a result that can still be read. It tells of media, of which nothing else does any more.
func (p *pruning) storedPlaceholder(tool, path string, msg *schema.Message) string {
	said := strings.NewReplacer(
		"{tool_name}", p.shownName(tool),
		"{file_path}", html.EscapeString(path),
		"{read_tool_name}", printable(p.cfg.ReadToolName),
	).Replace(p.cfg.StoredPlaceholder)
	return said + describeMedia(msg)
}

// keep stores an original before its swap takes its place. It reports false for one that must stay.
func (p *pruning) keep(ctx context.Context, s *swap, msg *schema.Message) (stored bool, err error) {
	if p.storeIsDown() {
		return false, nil
	}
	store := p.storeResult
	if s.Arguments {
		store = p.storeArguments
	}
	moved, failed := store(ctx, s, msg)
	if failed.err != nil {
		p.row++
		p.fail(s.Index, failed.wrap(s.CallID))
		return false, ctx.Err()
	}
	p.row = 0
	if !moved {
		return true, nil
	}
	if s.TokensAfter, err = p.countOne(ctx, s.short); s.TokensAfter >= s.TokensBefore {
		p.reject(s.Index)
		return false, err
	}
	return true, err
}

// storeResult stores a result where its placeholder says, or at the next free place, which the placeholder then names.
func (p *pruning) storeResult(ctx context.Context, s *swap, msg *schema.Message) (moved bool, failed failure) {
	failed.stage = storing
	text := archivedText(msg, func(m medium) string {
		if failed.err == nil {
			failed.path, failed.err = p.archive.store.place(ctx, m.path(s.Path), m.data)
			s.files = append(s.files, failed.path)
		}
		return failed.path
	})
	if failed.err != nil {
		return false, failed
	}
	path, err := p.archive.store.place(ctx, s.Path, text)
	if err != nil {
		return false, failure{stage: storing, path: path, err: err}
	}
	if moved = path != s.Path; moved {
		s.Path, s.short = path, withText(msg, p.storedPlaceholder(s.ToolName, path, msg))
	}
	return moved, failure{}
}

// fail notes that a result could not be stored, and so stays.
func (p *pruning) fail(index int, err error) {
	p.errs = append(p.errs, err)
	p.reject(index)
}

func (p *pruning) reject(index int) {
	if p.failed == nil {
		p.failed = make(map[int]bool)
	}
	p.failed[index] = true
}

// storeIsDown holds when so many have failed that no more are tried.
func (p *pruning) storeIsDown() bool { return p.archive != nil && p.row >= maxStoreFailures }

// isPage holds for what the read or the search tool took from a stored result: it can be taken again, and a copy of it would be stored
// twice.
func (p *pruning) isPage(r *toolResult) bool {
	if r.tool != p.cfg.ReadToolName && r.tool != p.cfg.SearchToolName {
		return false
	}
	call, ok := p.callOf(r)
	if !ok {
		return false
	}
	var args struct {
		FilePath string `json:"file_path"`
	}
	err := json.Unmarshal([]byte(call.Function.Arguments), &args)
	path := html.UnescapeString(strings.TrimSpace(args.FilePath))
	return err == nil && (strings.HasPrefix(path, p.cfg.PathPrefix+"/") || p.stored[path])
}
