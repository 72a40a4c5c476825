package toolresult

// What becomes of the chunks of a stream. They are kept as they came, for the case that the result is small; once it is
// certainly too large and on its way into the backend, they are let go.

import (
	"maps"
	"slices"
	"strings"

	"github.com/cloudwego/eino/schema"
)

// textIntake takes in a stream of text.
type textIntake struct {
	*arrival
	chunks []string
}

func (in *textIntake) take(chunk string) error {
	in.chunks = append(in.chunks, chunk)
	err := in.add(chunk)
	if in.begun {
		in.chunks = nil
	}
	return err
}

// end delivers one empty chunk for a stream without any, because Eino cannot join no chunks: an invoked tool fails, and a
// streamed message is dropped.
func (in *textIntake) end() ([]string, error) {
	if in.begun {
		v, err := in.finish()
		if err != nil {
			return nil, err
		}
		return []string{v.text}, nil
	}
	if len(in.chunks) == 0 {
		in.chunks = []string{""}
	}
	whole := strings.Join(in.chunks, "")
	text, err := in.o.transform(in.ctx, in.input, whole)
	if err != nil {
		return nil, err
	}
	v, err := in.o.judge(in.ctx, in.input, text)
	if err != nil {
		return nil, err
	}
	if v.text == whole {
		return in.chunks, nil
	}
	return []string{v.text}, nil
}

// fail withholds what Transform has not seen.
func (in *textIntake) fail() []string {
	if in.o.cfg.Transform != nil {
		return nil
	}
	return in.chunks
}

// partsIntake takes in a stream of enhanced results.
type partsIntake struct {
	*arrival
	chunks []*schema.ToolResult
	parts  []schema.ToolOutputPart // of a result on its way into the backend: all but the texts, the first of which is empty
	texts  int
	apart  bool // another part has come since the last text
}

func (in *partsIntake) take(chunk *schema.ToolResult) error {
	in.chunks = append(in.chunks, chunk)
	if chunk == nil {
		return nil
	}
	for _, p := range chunk.Parts {
		if err := in.part(p); err != nil {
			return err
		}
	}
	if in.begun {
		in.chunks = nil
	}
	return nil
}

// part feeds the text of a part to the arrival, as joinTexts would join it, and keeps everything else.
func (in *partsIntake) part(p schema.ToolOutputPart) error {
	if p.Type != schema.ToolPartTypeText {
		in.apart = true
		in.parts = append(in.parts, p)
		return nil
	}
	if in.apart && in.texts > 0 {
		if err := in.add("\n"); err != nil {
			return err
		}
	}
	in.apart = false
	in.texts++
	if last := len(in.parts) - 1; last >= 0 && in.parts[last].Type == schema.ToolPartTypeText {
		in.parts[last].Extra = joinExtra(in.parts[last].Extra, p.Extra)
	} else if in.texts == 1 {
		first := p
		first.Text = ""
		in.parts = append(in.parts, first)
	}
	return in.add(p.Text)
}

func (in *partsIntake) end() ([]*schema.ToolResult, error) {
	if in.begun {
		v, err := in.finish()
		if err != nil {
			return nil, err
		}
		return []*schema.ToolResult{{Parts: replaceTexts(in.parts, v)}}, nil
	}
	if len(in.chunks) == 0 {
		in.chunks = []*schema.ToolResult{{}}
	}
	parts, changed, err := in.o.judgeParts(in.ctx, in.input, mergeChunks(in.chunks))
	if err != nil {
		return nil, err
	}
	if !changed {
		return in.chunks, nil
	}
	return []*schema.ToolResult{{Parts: parts}}, nil
}

// fail withholds what Transform has not seen.
func (in *partsIntake) fail() []*schema.ToolResult {
	if in.o.cfg.Transform != nil {
		return nil
	}
	return in.chunks
}

// mergeChunks returns the parts of a stream's chunks, with neighbouring texts made one, as Eino makes them when it joins a
// stream. The chunks stay as they are.
func mergeChunks(chunks []*schema.ToolResult) []schema.ToolOutputPart {
	var all []schema.ToolOutputPart
	for _, chunk := range chunks {
		if chunk != nil {
			all = append(all, chunk.Parts...)
		}
	}
	isOther := func(p schema.ToolOutputPart) bool { return p.Type != schema.ToolPartTypeText }
	var merged []schema.ToolOutputPart
	for len(all) > 0 {
		texts := slices.IndexFunc(all, isOther)
		if texts < 0 {
			texts = len(all)
		}
		part, run := all[0], max(texts, 1)
		if texts > 0 {
			part.Text = joinTexts(all[:run])
			for i := range all[1:run] {
				part.Extra = joinExtra(part.Extra, all[1+i].Extra)
			}
		}
		merged, all = append(merged, part), all[run:]
	}
	return merged
}

// joinExtra adds what the first notes lack.
func joinExtra(first, more map[string]any) map[string]any {
	if len(more) == 0 {
		return first
	}
	joined := maps.Clone(more)
	maps.Copy(joined, first)
	return joined
}
