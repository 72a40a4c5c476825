package toolresult

// A shelf is what the read and the search tool share: where results lie, how a model may ask for one, and what it is told
// when it asks for something that is not there.

import (
	"context"
	"errors"
	"fmt"
	"html"
	"io/fs"
	"math"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/cloudwego/eino/schema"

	"github.com/eino-toolresult/toolresult/internal/runes"
)

const (
	defaultPageTokens = 5_000
	minPageTokens     = 100 // room for the hints and some text
	footerBytes       = 220 // kept free for the last line of an answer, at its longest
)

type shelf struct {
	ReadConfig     // of either tool; defaults filled in
	budget     int // bytes of an answer without its last line
}

func newShelf(config string, cfg ReadConfig) (*shelf, error) {
	if cfg.Backend == nil {
		return nil, badConfig(config+".Backend", "nil", "a Reader")
	}
	if cfg.MaxTokens == 0 {
		cfg.MaxTokens = defaultPageTokens
	}
	if cfg.MaxTokens < minPageTokens || cfg.MaxTokens > math.MaxInt/4 {
		return nil, badConfig(config+".MaxTokens", cfg.MaxTokens,
			fmt.Sprintf("0 (the default, %d), or %d to %d", defaultPageTokens, minPageTokens, math.MaxInt/4))
	}
	var err error
	if cfg.PathPrefix, err = cleanPrefix(config+".PathPrefix", cfg.PathPrefix); err != nil {
		return nil, err
	}
	return &shelf{cfg, cfg.MaxTokens*4 - footerBytes}, checkLanguage(config+".Language", cfg.Language)
}

func (s *shelf) say(english, chinese string) string { return inLanguage(s.Language, english, chinese) }

func (s *shelf) pathParam() *schema.ParameterInfo {
	return &schema.ParameterInfo{Type: schema.String, Required: true, Desc: s.say(
		"Path of the stored result, as the notice names it.", "已保存结果的路径，即提示中给出的路径。")}
}

// open finds the result that a model asks for, or answers why it cannot be had. A path may come as the notice shows it,
// escaped.
func (s *shelf) open(ctx context.Context, asked string) (text storedText, answer string, err error) {
	folder, err := s.folder(ctx)
	if err != nil {
		return nil, "", err
	}
	answer = s.refused(asked, folder)
	for _, at := range spellings(asked) {
		if !strings.HasPrefix(at, folder+"/") || path.Clean(at) != at {
			continue
		}
		if text, err = openStored(ctx, s.Backend, at); err == nil {
			return text, "", nil
		}
		if answer, err = s.failed(ctx, at, err); err != nil {
			return nil, "", err
		}
	}
	return nil, answer, nil
}

// spellings are the paths that a model may mean, the likeliest first: a notice shows a path escaped, and some models add white
// space around it.
func spellings(asked string) []string {
	var all []string
	for _, at := range []string{html.UnescapeString(asked), asked, strings.TrimSpace(html.UnescapeString(asked)), strings.TrimSpace(asked)} {
		if !slices.Contains(all, at) {
			all = append(all, at)
		}
	}
	return all
}

// folder is where the results lie that a call may see.
func (s *shelf) folder(ctx context.Context) (string, error) {
	if err := ctx.Err(); err != nil || s.Scope == nil {
		return s.PathPrefix, err
	}
	return sessionFolder(ctx, s.PathPrefix, s.Scope)
}

func (s *shelf) refused(asked, folder string) string {
	return fmt.Sprintf(s.say(
		"\"%s\" cannot be read: stored results have paths that begin with %s/. Use the path as the notice names it.",
		"无法读取 \"%s\"：已保存结果的路径以 %s/ 开头。请使用提示中给出的路径。"), s.brief(asked), s.brief(folder))
}

// failed answers for a result that could not be read, unless the run itself has ended. What the model cannot act on, the
// application is told.
func (s *shelf) failed(ctx context.Context, path string, err error) (string, error) {
	switch {
	case ctx.Err() != nil:
		return "", ctx.Err()
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, fs.ErrInvalid):
		return fmt.Sprintf(s.say(
			"There is no result under %s: it is not, or no longer, stored. If you need it, call the tool that returned it again.",
			"%s 下没有结果：该结果不存在，或已不再保存。如有需要，请再次调用返回该结果的工具。"), s.brief(path)), nil
	}
	if s.OnError != nil {
		s.OnError(ctx, fmt.Errorf("toolresult: read back %q: %w", path, err))
	}
	return fmt.Sprintf(s.say(
		"%s could not be read just now. Try again, or call the tool that returned it again.",
		"暂时无法读取 %s。请重试，或再次调用返回该结果的工具。"), s.brief(path)), nil
}

// brief keeps what a model wrote from filling the answer to it.
func (s *shelf) brief(text string) string {
	most := min(300, s.MaxTokens)
	shown := printableID(text[:runes.Floor(text, most)])
	if cut := runes.Floor(shown, most); cut < len(shown) || most < len(text) {
		return shown[:cut] + "…"
	}
	return shown
}

// seek finds the byte of a text at which a page begins. A byte offset that cuts a character goes back to its beginning; one
// behind its line goes to the next.
func seek(ctx context.Context, text storedText, asked *place) (position, int64, error) {
	from := position{line: max(int64(asked.Offset), 1)}
	start, err := text.lineStart(ctx, from.line)
	if err != nil || asked.ByteOffset == nil || *asked.ByteOffset <= 0 {
		return from, start, err
	}
	end, err := text.lineStart(ctx, from.line+1)
	if err != nil {
		return from, start, err
	}
	from.byte = int64(*asked.ByteOffset)
	switch at := start + from.byte; {
	case at >= text.size():
		return from, at, nil
	case at >= end:
		return position{line: from.line + 1}, end, nil
	}
	back := min(int64(utf8.UTFMax-1), from.byte)
	around, err := text.window(ctx, start+from.byte-back, 2*utf8.UTFMax)
	from.byte += int64(runes.Floor(around, int(back))) - back
	return from, start + from.byte, err
}

// behindEnd answers a request for what is not there.
func (s *shelf) behindEnd(from position, text storedText) string {
	if text.size() == 0 {
		return s.say("[The result is empty.]", "[结果为空。]")
	}
	said := fmt.Sprintf(s.say("[%s is behind the end. ", "[%s 超出结尾。"), from.hint(from.byte > 0))
	if total := text.lines(); total >= 0 {
		said += fmt.Sprintf(s.say("The result has %d lines. ", "结果共 %d 行。"), total)
	}
	return said + s.say("Use smaller values.]", "请使用更小的值。]")
}

// escapes explains escapes where there are some.
func (s *shelf) escapes(some bool) string {
	if !some {
		return ""
	}
	return s.say(`\xNN is a byte that is not text. `, `\xNN 表示非文本字节。`)
}

// goOn ends an answer with what to ask for next.
func (s *shelf) goOn(next *position, always bool) string {
	if next == nil {
		return s.say("End of result.]", "结果到此结束。]")
	}
	return s.say("Next: ", "下一页：") + next.hint(always) + "]"
}
