package runes

// Texts that come in pieces, which may be cut inside of a character.

import "unicode/utf8"

// Unfinished returns the number of bytes at the end of a text that begin a character and do not complete it.
func Unfinished(text string) int {
	for back := 1; back < utf8.UTFMax && back <= len(text); back++ {
		tail := text[len(text)-back:]
		if utf8.RuneStart(tail[0]) {
			if utf8.FullRuneInString(tail) {
				return 0
			}
			return back
		}
	}
	return 0
}

// Pieces joins the characters that were cut. The zero value awaits the first piece.
type Pieces struct {
	carry [utf8.UTFMax - 1]byte // the beginning of a character that the last piece ended in
	size  int
}

// Empty reports whether the last piece ended between two characters.
func (p *Pieces) Empty() bool { return p.size == 0 }

// Whole returns the whole characters of the next piece, in two texts: the character that was cut comes with a few behind it,
// so that the rest of the piece need not be copied.
func (p *Pieces) Whole(piece string) (joined, rest string) {
	if p.size > 0 {
		taken := min(len(piece), len(p.carry))
		joined = string(p.carry[:p.size]) + piece[:taken]
		left := Unfinished(joined)
		joined = joined[:len(joined)-left]
		if left > taken { // the piece was too short to complete it
			p.size += copy(p.carry[p.size:], piece)
			return joined, ""
		}
		p.size, piece = 0, piece[taken-left:]
	}
	whole := len(piece) - Unfinished(piece)
	p.size = copy(p.carry[:], piece[whole:])
	return joined, piece[:whole]
}

// End returns the beginning of the character that no piece has completed, and forgets it.
func (p *Pieces) End() string {
	rest := string(p.carry[:p.size])
	p.size = 0
	return rest
}
