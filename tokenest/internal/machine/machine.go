// Package machine describes the byte machine behind package tokenest: a finite-state machine over bytes whose state says
// what the byte before was. Every move fires the features that it is made of, none to three of them, and a profile says
// what each feature costs.
//
// It describes and does not run: [Step] is called once for every pair of state and byte when a profile is compiled, so it
// is written to be read and not to be fast. What a byte costs knows nothing of the bytes after it, and of the bytes before
// it only the state. That is what makes a stream countable.
package machine

// Move is what the machine does with one byte.
type Move struct {
	Next  State      // what the byte after this one finds; below States
	Fires [3]Feature // None fills the unused places
}

// Step returns the move of state s at byte b. s must be below States.
func Step(s State, b byte) Move {
	switch k := kindOf(b); {
	case k == highByte:
		return high(s, b)
	case k.lower():
		return lower(s, k)
	case k.upper():
		return upper(s, k)
	case k == digit:
		return number(s)
	case k >= punctuation:
		return punct(s, k-punctuation)
	case k == control:
		return Move{Next: Controls, Fires: [3]Feature{pick(s == Controls, ControlRepeat, Control)}}
	case b == 0x1b:
		return Move{Next: Controls, Fires: [3]Feature{Escape}}
	}
	return blank(s, b)
}

// Count adds to counts, which is indexed by Feature, how often text fires each feature. It is for fitting a profile.
func Count(text string, counts *[Features]int) {
	s := LineStart
	for i := range len(text) {
		m := Step(s, text[i])
		for _, f := range m.Fires {
			counts[f]++
		}
		s = m.Next
	}
}
