package tokenest

// The engine runs a compiled machine over bytes. It knows nothing of words or digits.
//
// One machine is bound by latency: a byte waits for the entry of the byte before, five cycles or so. Six machines side by
// side hide that, so a text is cut into six lanes. A lane must start in the state in which the lane before it ends, which
// is not known yet, so it guesses by running over the few bytes before its border: nearly always they say all there is to
// know. Where a guess was wrong, settle runs the difference until both are in the same state. So the sum is that of one
// machine over the whole text, exactly, wherever the text is cut: that is what makes a stream countable.

import "github.com/eino-toolresult/toolresult/tokenest/internal/machine"

// table is a compiled profile: table[state<<8|byte] has the next state in bits 8 to 13 and the cost, in 1/4096 of a
// token, in bits 16 to 31.
//
// Whole entries are summed. The bits of the state add less than 1/16000 of a token a byte, always the same for the same
// text; masking them out costs a fifth of the speed.
type table [64 << 8]uint32

const _ = uint(64 - machine.States) // does not compile where the states outgrow the table

// costsOf holds the costs of a profile in thousandths of a token, by feature.
type costsOf [machine.Features]uint16

const (
	start      = 0               // the entry to begin with: no cost, state machine.LineStart
	stateMask  = 0x3f00          // of an entry: what to look up the next one with
	costShift  = 16              // of an entry
	costUnit   = 4096            // of a token
	tokenShift = costShift + 12  // of a sum: what makes tokens of it
	never      = uint64(1) << 63 // a stop that no sum reaches

	// Every byte costs a little besides its features. It bounds what Exceeds reads, and is near the truth: tokens of
	// more than a hundred bytes, all of them runs of blanks, exist in every vocabulary.
	byteCost = costUnit / 512
)

const (
	lanes   = 6
	maxLane = 510 // 3 KB at once: the step in which Exceeds stops. Divisible by 3, see run.
	minLane = 48  // below that, the six warm-ups cost more than they save
	warmUp  = 12  // bytes before a lane's border to guess its state from
)

func compile(c *costsOf) *Estimator {
	e := new(Estimator)
	for s := range machine.States {
		for b := range 256 {
			m := machine.Step(machine.State(s), byte(b))
			cost := 0
			for _, f := range m.Fires {
				cost += int(c[f])
			}
			e.t[s<<8|b] = uint32((cost*costUnit+500)/1000+byteCost)<<costShift | uint32(m.Next)<<8
		}
	}
	return e
}

// tokens turns the sum of n bytes into tokens.
func tokens(sum uint64, n int) int {
	return min(int((sum+1<<tokenShift-1)>>tokenShift), n)
}

// text is what the engine reads: a string, or the bytes that a Meter is given.
type text interface{ string | []byte }

// run continues from entry x over s. It returns the sum of the entries and the last one. Once the sum is above stop it
// may return early, with a sum that is above stop and a last entry that means nothing.
func run[T text](t *table, s T, x uint32, stop uint64) (sum uint64, last uint32) {
	for sum <= stop {
		// Lanes divisible by 3, as the warm-up is, keep step with the groups of three that a long row of digits falls into.
		lane := min(len(s)/lanes, maxLane) / 3 * 3
		if lane < minLane {
			rest, last := one(t, s, x)
			return sum + rest, last
		}
		block, last := six(t, s[:lanes*lane], x)
		sum, x, s = sum+block, last, s[lanes*lane:]
	}
	return sum, x
}

// one runs one machine.
func one[T text](t *table, s T, x uint32) (sum uint64, last uint32) {
	for i := 0; i < len(s); i++ {
		x = t[x&stateMask|uint32(s[i])]
		sum += uint64(x)
	}
	return sum, x
}

// six runs six machines over the six lanes of s. It is written out because the six must live in registers. The compiler
// keeps the bounds checks of five lanes; a version with unsafe, which has none, was measured and is no faster.
func six[T text](t *table, s T, x0 uint32) (sum uint64, last uint32) {
	n := len(s) / lanes
	s0, s1, s2, s3, s4, s5 := s[:n], s[n:2*n], s[2*n:3*n], s[3*n:4*n], s[4*n:5*n], s[5*n:]
	g1, g2, g3, g4, g5 := guess(t, s0, x0), guess(t, s1, x0), guess(t, s2, x0), guess(t, s3, x0), guess(t, s4, x0)
	x1, x2, x3, x4, x5 := g1, g2, g3, g4, g5
	for i := 0; i < len(s0); i++ {
		x0 = t[x0&stateMask|uint32(s0[i])]
		sum += uint64(x0)
		x1 = t[x1&stateMask|uint32(s1[i])]
		sum += uint64(x1)
		x2 = t[x2&stateMask|uint32(s2[i])]
		sum += uint64(x2)
		x3 = t[x3&stateMask|uint32(s3[i])]
		sum += uint64(x3)
		x4 = t[x4&stateMask|uint32(s4[i])]
		sum += uint64(x4)
		x5 = t[x5&stateMask|uint32(s5[i])]
		sum += uint64(x5)
	}
	d1, x1 := settle(t, s1, g1, x0, x1)
	d2, x2 := settle(t, s2, g2, x1, x2)
	d3, x3 := settle(t, s3, g3, x2, x3)
	d4, x4 := settle(t, s4, g4, x3, x4)
	d5, x5 := settle(t, s5, g5, x4, x5)
	return sum + d1 + d2 + d3 + d4 + d5, x5
}

// guess returns an entry for the end of s, from the last bytes of s alone. It starts at x, so that a text that is all
// digits, where those bytes say nothing of the phase, comes out right.
func guess[T text](t *table, s T, x uint32) uint32 {
	_, x = one(t, s[len(s)-warmUp:], x)
	return x
}

// settle returns what the sum of a lane lacks, modulo 2^64, that was entered at guess and should have been at x, and the
// true last entry of the lane, given the one that was reached.
func settle[T text](t *table, lane T, guess, x, reached uint32) (uint64, uint32) {
	var lacks uint64
	for i := 0; (guess^x)&stateMask != 0; i++ {
		if i == len(lane) {
			return lacks, x
		}
		guess = t[guess&stateMask|uint32(lane[i])]
		x = t[x&stateMask|uint32(lane[i])]
		lacks += uint64(x) - uint64(guess)
	}
	return lacks, reached
}
