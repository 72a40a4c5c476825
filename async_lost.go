package toolresult

// What an AsyncBackend must remember beside its queue: the writes that have failed.

import (
	"fmt"
	"io/fs"
)

// lostWrites remembers which writes have failed, and why: the first of all since the last report, and the last for each of
// the paths that failed last.
type lostWrites struct {
	count int
	first error
	last  recent[error]
}

// set notes how the write to a path has ended. One that has worked makes good an earlier one that has not, for its path, but
// not for the count: what was lost between the two was lost.
func (l *lostWrites) set(key string, err error) {
	if err == nil {
		l.last.forget(key)
		return
	}
	l.count++
	if l.first == nil {
		l.first = err
	}
	l.last.set(key, err, asyncFailures)
}

// at gives an error that counts as "not there", for those who only ask that, and still says why.
func (l *lostWrites) at(key string) error {
	err, lost := l.last.byPath[key]
	if !lost {
		return nil
	}
	return fmt.Errorf("%w: its write has failed: %w", fs.ErrNotExist, err)
}

// report tells of a failure once.
func (l *lostWrites) report() error {
	if l.count == 0 {
		return nil
	}
	err := fmt.Errorf("toolresult: %d queued writes have failed, the first: %w", l.count, l.first)
	l.count, l.first = 0, nil
	return err
}
