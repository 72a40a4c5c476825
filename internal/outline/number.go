package outline

// The grammar of a JSON number, a byte at a time: "2024-01-01" is none, and "[2024-01-01] started" therefore no JSON.

type numberState int

const (
	numberEnds numberState = iota // the byte is no part of the number
	numberBegins
	numberMinus
	numberZero
	numberDigits
	numberPoint
	numberFraction
	numberE
	numberSign
	numberExponent
)

// complete says whether a number may end here.
func (n numberState) complete() bool {
	return n == numberZero || n == numberDigits || n == numberFraction || n == numberExponent
}

// step returns what the number is with one byte more.
func (n numberState) step(c byte) numberState {
	if c-'0' < 10 {
		return n.digit(c)
	}
	switch {
	case c == '-' && n == numberBegins:
		return numberMinus
	case c == '.' && (n == numberZero || n == numberDigits):
		return numberPoint
	case (c == 'e' || c == 'E') && (n == numberZero || n == numberDigits || n == numberFraction):
		return numberE
	case (c == '-' || c == '+') && n == numberE:
		return numberSign
	}
	return numberEnds
}

func (n numberState) digit(c byte) numberState {
	switch n {
	case numberDigits, numberFraction, numberExponent:
		return n
	case numberBegins, numberMinus:
		if c == '0' {
			return numberZero
		}
		return numberDigits
	case numberPoint:
		return numberFraction
	case numberE, numberSign:
		return numberExponent
	}
	return numberEnds
}

// isNumber says whether a text is a number and nothing else.
func isNumber(text string) bool {
	state := numberBegins
	for i := range len(text) {
		if state = state.step(text[i]); state == numberEnds {
			return false
		}
	}
	return state.complete()
}
