package toolresult

// What an AsyncBackend must remember beside its queue: the writes that have failed, and who is at which path.

import (
	"context"
	"fmt"
	"io/fs"
	"slices"
	"sync"
)

// lostWrites remembers which writes have failed, and why: the first of all since the last report, and the last for each of
// the paths that failed last.
type lostWrites struct {
	count  int
	first  error
	byPath map[string]error
	oldest []string // the paths in byPath, first in first out
}

// set notes how the write to a path has ended. One that has worked makes good an earlier one that has not, for its path, but
// not for the count: what was lost between the two was lost.
func (l *lostWrites) set(key string, err error) {
	if err == nil {
		if _, known := l.byPath[key]; known {
			delete(l.byPath, key)
			l.oldest = slices.DeleteFunc(l.oldest, func(old string) bool { return old == key })
		}
		return
	}
	l.count++
	if l.first == nil {
		l.first = err
	}
	if l.byPath == nil {
		l.byPath = map[string]error{}
	}
	if _, known := l.byPath[key]; !known {
		l.oldest = append(l.oldest, key)
	}
	l.byPath[key] = err
	if len(l.oldest) > asyncFailures {
		delete(l.byPath, l.oldest[0])
		l.oldest = l.oldest[1:]
	}
}

// at gives an error that counts as "not there", for those who only ask that, and still says why.
func (l *lostWrites) at(key string) error {
	err, lost := l.byPath[key]
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

// pathLocks lets one at a time at a path, and takes memory only for paths at which somebody is. A mutex would not do, as
// nobody can stop waiting for it when a context ends.
type pathLocks struct {
	mu   sync.Mutex
	held map[string]chan struct{} // closed when it is free again
}

func (l *pathLocks) lock(ctx context.Context, key string) error {
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		l.mu.Lock()
		held, ok := l.held[key]
		if !ok {
			if l.held == nil {
				l.held = map[string]chan struct{}{}
			}
			l.held[key] = make(chan struct{})
		}
		l.mu.Unlock()
		if !ok {
			return nil
		}
		select {
		case <-held:
		case <-ctx.Done():
		}
	}
}

func (l *pathLocks) unlock(key string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	close(l.held[key])
	delete(l.held, key)
}
