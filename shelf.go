package toolresult

// A shelf is what the read and the search tool share: where results lie, how a model may ask for one, and what it is told
// when it asks for something that is not there.

import (
	"context"
	"encoding/json"
	"fmt"
	"html"
	"math"
	"path"
	"strconv"
	"strings"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/schema"
)

const (
	defaultPageTokens = 5_000
	minPageTokens     = 100 // room for the hints and some text
	hintBytes         = 180 // kept free for the last line of a page
)

type shelf struct {
	backend Reader
	prefix  string
	budget  int // bytes of a page, hints included
	lang    adk.Language
}

func newShelf(config string, backend Reader, maxTokens int, prefix string, lang adk.Language) (*shelf, error) {
	if backend == nil {
		return nil, badConfig(config+".Backend", "nil", "a Reader")
	}
	if maxTokens == 0 {
		maxTokens = defaultPageTokens
	}
	if maxTokens < minPageTokens || maxTokens > math.MaxInt/4 {
		return nil, badConfig(config+".MaxTokens", maxTokens, fmt.Sprintf("0 (the default, %d), or %d or more", defaultPageTokens, minPageTokens))
	}
	clean, err := cleanPrefix(config+".PathPrefix", prefix)
	if err != nil {
		return nil, err
	}
	return &shelf{backend, clean, maxTokens * 4, lang}, checkLanguage(config+".Language", lang)
}

func (s *shelf) say(english, chinese string) string { return inLanguage(s.lang, english, chinese) }

func (s *shelf) pathParam() *schema.ParameterInfo {
	return &schema.ParameterInfo{Type: schema.String, Required: true, Desc: s.say(
		"Path of the stored result, as the notice names it.", "已保存结果的路径，即提示中给出的路径。")}
}

// parse reads a tool's arguments and returns a complaint where they cannot be read.
func (s *shelf) parse(arguments string, args any) (complaint string) {
	if strings.TrimSpace(arguments) == "" {
		arguments = "{}"
	}
	if err := json.Unmarshal([]byte(arguments), args); err != nil {
		return fmt.Sprintf(s.say(
			"The arguments could not be read (%s). Give one JSON object, for example {\"file_path\": \"%s/call_1\"}.",
			"无法解析参数（%s）。请提供一个 JSON 对象，例如 {\"file_path\": \"%s/call_1\"}。"), brief(err.Error()), s.prefix)
	}
	return ""
}

// open finds the result that a model asks for, or says why it cannot be had. A path may come as the notice shows it, escaped.
func (s *shelf) open(ctx context.Context, asked string) (text storedText, complaint string, err error) {
	asked = strings.TrimSpace(asked)
	for _, at := range []string{asked, html.UnescapeString(asked)} {
		if !strings.HasPrefix(at, s.prefix+"/") || path.Clean(at) != at {
			continue
		}
		if text, err = openStored(ctx, s.backend, at); text != nil || err != nil {
			return text, "", err
		}
		complaint = fmt.Sprintf(s.say(
			"There is no result under %s: it is not, or no longer, stored. If you need it, call the tool that returned it again.",
			"%s 下没有结果：该结果不存在，或已不再保存。如有需要，请再次调用返回该结果的工具。"), brief(at))
	}
	if complaint == "" {
		complaint = fmt.Sprintf(s.say(
			"%s cannot be read: stored results have paths that begin with %s/. Use the path as the notice names it.",
			"无法读取 %s：已保存结果的路径以 %s/ 开头。请使用提示中给出的路径。"), brief(strconv.Quote(asked)), s.prefix)
	}
	return nil, complaint, nil
}

// brief keeps what a model wrote from filling the answer to it.
func brief(text string) string {
	text = printable(text)
	if size, _ := cutRunes(text, 200); size < len(text) {
		return text[:size] + "…"
	}
	return text
}

// behindEnd answers a request for lines that are not there.
func (s *shelf) behindEnd(line int64, text storedText) string {
	switch total := text.lines(); {
	case text.size() == 0:
		return s.say("[The result is empty.]", "[结果为空。]")
	case total < 0:
		return fmt.Sprintf(s.say("[Offset %d is behind the last line. Use a smaller offset.]", "[offset %d 超出最后一行，请使用更小的 offset。]"), line)
	default:
		return fmt.Sprintf(s.say("[Offset %d is behind the last line. Use an offset from 1 to %d.]",
			"[offset %d 超出最后一行，请使用 1 到 %d 之间的 offset。]"), line, total)
	}
}

// looseInt is a number as models write them: 12, 12.0 or "12". What is beyond any file is cut down.
type looseInt int64

// UnmarshalJSON implements json.Unmarshaler.
func (n *looseInt) UnmarshalJSON(text []byte) error {
	number := strings.TrimSpace(strings.Trim(string(text), `"`))
	if number == "null" || number == "" {
		return nil
	}
	value, err := strconv.ParseFloat(number, 64)
	if err != nil || math.IsNaN(value) {
		return fmt.Errorf("%s is not a number", number)
	}
	*n = looseInt(min(max(value, -1<<53), 1<<53))
	return nil
}

// looseBool is a truth value as models write them: true or "true".
type looseBool bool

// UnmarshalJSON implements json.Unmarshaler.
func (b *looseBool) UnmarshalJSON(text []byte) error {
	*b = looseBool(strings.EqualFold(strings.Trim(string(text), `"`), "true"))
	return nil
}

// unreadable answers where a stored result cannot be read just now, unless the run itself has ended.
func (s *shelf) unreadable(ctx context.Context) (string, error) {
	return s.say("The result could not be read just now. Try again.", "暂时无法读取该结果，请重试。"), ctx.Err()
}
