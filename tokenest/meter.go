package tokenest

// Meter estimates the tokens of a text that arrives in pieces. It has read what was written to it and keeps none of it, so
// asking costs nothing and may be done after every piece. Get one from [Estimator.Meter]. It is for one goroutine.
//
// It is an io.Writer and an io.StringWriter whose writes never fail.
type Meter struct {
	t    *table
	last uint32 // the entry of the last byte
	sum  uint64
	n    int
}

// Meter returns a meter that has read nothing yet.
func (e *Estimator) Meter() *Meter { return &Meter{t: &e.t, last: start} }

// Write reads p. It returns len(p) and nil.
func (m *Meter) Write(p []byte) (int, error) {
	sum, last := run(m.t, p, m.last, never)
	return m.add(len(p), sum, last), nil
}

// WriteString reads s. It returns len(s) and nil.
func (m *Meter) WriteString(s string) (int, error) {
	sum, last := run(m.t, s, m.last, never)
	return m.add(len(s), sum, last), nil
}

func (m *Meter) add(n int, sum uint64, last uint32) int {
	m.sum, m.last, m.n = m.sum+sum, last, m.n+n
	return n
}

// Tokens returns what Estimate returns for the whole text written so far, however it was cut.
func (m *Meter) Tokens() int { return tokens(m.sum, m.n) }

// Exceeds reports whether Tokens() > limit. Once true, it stays so.
func (m *Meter) Exceeds(limit int) bool { return m.Tokens() > limit }
