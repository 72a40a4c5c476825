package runes

// Counting, where a result is one enormous line and the count would take longer than all the rest.

import (
	"math/bits"
	"unicode/utf8"
)

// Count is utf8.RuneCountInString, which takes a nanosecond for a byte. ASCII is passed over in blocks, anything else is
// counted in pieces.
func Count(text string) int {
	count := 0
	for text != "" {
		ascii := asciiBlocks(text)
		piece := Floor(text[ascii:], 512)
		count += ascii + utf8.RuneCountInString(text[ascii:ascii+piece])
		text = text[ascii+piece:]
	}
	return count
}

// asciiBlocks returns the size of the ASCII at the beginning of a text, in whole blocks of 32 bytes.
func asciiBlocks(text string) int {
	size := 0
	for ; len(text) >= 32; text = text[32:] {
		if (EightBytes(text)|EightBytes(text[8:])|EightBytes(text[16:])|EightBytes(text[24:]))&0x8080808080808080 != 0 {
			break
		}
		size += 32
	}
	return size
}

// CountStarts counts the bytes that begin a character, eight at a time: as many as there are characters, but in text that is
// no UTF-8, where stray bytes may count or not. It is much faster than Count where characters have more than a byte.
func CountStarts(text string) int {
	const ones = 0x0101010101010101
	inside := 0
	rest := text
	for ; len(rest) >= 8; rest = rest[8:] {
		x := EightBytes(rest)
		inside += bits.OnesCount64(x >> 7 &^ (x >> 6) & ones)
	}
	for i := range len(rest) {
		if !utf8.RuneStart(rest[i]) {
			inside++
		}
	}
	return len(text) - inside
}

// EightBytes is the first eight bytes as a number, the first in its lowest bits. It is written so that compilers make one load of it.
func EightBytes(s string) uint64 {
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}
