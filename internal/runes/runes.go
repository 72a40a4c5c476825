// Package runes cuts texts between their characters, counts these, and makes of any bytes characters that a provider takes.
// It knows UTF-8 and nothing else: neither lines nor the width of a character on a screen.
package runes

import (
	"strings"
	"unicode/utf8"
)

// Printable replaces every byte that is not UTF-8, and every NUL, by U+FFFD: providers refuse both. One for one, so that
// counts of characters stay right.
func Printable(text string) string {
	if utf8.ValidString(text) && strings.IndexByte(text, 0) < 0 {
		return text
	}
	return strings.Map(func(r rune) rune {
		if r == 0 {
			return utf8.RuneError
		}
		return r
	}, text)
}

// Cut returns the size of the first characters of a text, most of them, and how many they are.
func Cut(text string, most int) (size, count int) {
	for at := range text {
		if count == most {
			return at, count
		}
		count++
	}
	return len(text), count
}

// Floor is the largest index at or before at that does not cut a character in two.
func Floor(text string, at int) int {
	at = min(max(at, 0), len(text))
	if start, _ := around(text, at); start < at {
		return start
	}
	return at
}

// Ceil is the smallest index at or behind at that does not cut a character in two.
func Ceil(text string, at int) int {
	at = min(max(at, 0), len(text))
	if start, end := around(text, at); start < at {
		return end
	}
	return at
}

// around finds the character that begins before an index and ends behind it. Where there is none, as at stray bytes
// that belong to no character, both ends are the index itself.
func around(text string, at int) (start, end int) {
	for back := 1; back < utf8.UTFMax && back <= at && at < len(text); back++ {
		if !utf8.RuneStart(text[at-back]) {
			continue
		}
		if _, width := utf8.DecodeRuneInString(text[at-back:]); width > back {
			return at - back, at - back + width
		}
		break
	}
	return at, at
}
