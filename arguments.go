package toolresult

// Arguments as models write them: numbers as text, whole numbers with a fraction, null for what they leave out. What can be
// understood is; the rest gets an answer that says what was expected.

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// place is the arguments that both tools have.
type place struct {
	FilePath   string    `json:"file_path"`
	Offset     looseInt  `json:"offset"`
	ByteOffset *looseInt `json:"byte_offset"`
}

// parse reads a tool's arguments and answers where they cannot be read.
func (s *shelf) parse(arguments string, args any) (answer string) {
	if strings.TrimSpace(arguments) == "" {
		arguments = "{}"
	}
	err := json.Unmarshal([]byte(arguments), args)
	if err == nil {
		return ""
	}
	return fmt.Sprintf(s.say(
		"The arguments could not be read (%s). Give one JSON object, for example {\"file_path\": \"%s/call_1\"}.",
		"无法解析参数（%s）。请提供一个 JSON 对象，例如 {\"file_path\": \"%s/call_1\"}。"), s.brief(mistake(err)), s.brief(s.PathPrefix))
}

// mistake says what is wrong with arguments without the names of Go types.
func mistake(err error) string {
	var wrong *json.UnmarshalTypeError
	if !errors.As(err, &wrong) {
		return err.Error()
	}
	field := wrong.Field[strings.LastIndexByte(wrong.Field, '.')+1:]
	if field == "" {
		return wrong.Value + " in place of an object"
	}
	return fmt.Sprintf("%s: %s in place of a string", field, wrong.Value)
}

// looseInt is a number as models write them: 12, 12.0 or "12". What is beyond any file is cut down.
type looseInt int64

// UnmarshalJSON implements json.Unmarshaler.
func (n *looseInt) UnmarshalJSON(text []byte) error {
	number := unquoted(text)
	if number == "" {
		return nil
	}
	value, err := strconv.ParseFloat(number, 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) || math.IsNaN(value) {
		return fmt.Errorf("%s is not a number", number)
	}
	*n = looseInt(min(max(value, -1<<53), 1<<53))
	return nil
}

// looseBool is a truth value as models write them: true, "true" or 1.
type looseBool bool

// UnmarshalJSON implements json.Unmarshaler.
func (b *looseBool) UnmarshalJSON(text []byte) error {
	word := unquoted(text)
	if word == "" {
		return nil
	}
	value, err := strconv.ParseBool(strings.ToLower(word))
	if err != nil {
		return fmt.Errorf("%s is not true or false", word)
	}
	*b = looseBool(value)
	return nil
}

// unquoted is a JSON value without quotes, empty for null.
func unquoted(text []byte) string {
	word := strings.TrimSpace(strings.Trim(string(text), `"`))
	if word == "null" {
		return ""
	}
	return word
}
