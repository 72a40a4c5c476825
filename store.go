package toolresult

// A store puts texts into a backend and never knowingly writes one over another. How sure it can be of that depends on
// the backend: one that creates only if absent decides for itself; one that can read is asked first; one that can only write
// is guarded by a bounded memory of what was written.

import (
	"context"
	"errors"
	"hash/maphash"
	"io/fs"
	"math"
	"slices"
	"sync"
)

// maxRemembered bounds the memory of a store.
const maxRemembered = 4096

type resultStore struct {
	backend   Backend
	exclusive ExclusiveWriter // nil where the backend is none
	reader    Reader          // likewise
	creator   Creator         // likewise

	writing pathLocks // of puts under way, so that two parallel calls with one ID cannot both find it free
	seed    maphash.Seed
	mu      sync.Mutex
	written recent[uint64] // path to hash of its text, where no backend is asked
}

func newResultStore(backend Backend) *resultStore {
	s := &resultStore{backend: backend, seed: maphash.MakeSeed()}
	s.exclusive, _ = backend.(ExclusiveWriter)
	s.reader, _ = backend.(Reader)
	s.creator, _ = backend.(Creator)
	return s
}

// put stores a text under a path, or finds it there already. taken reports that the path has another text.
func (s *resultStore) put(ctx context.Context, path, text string) (taken bool, err error) {
	if s.exclusive != nil {
		err := s.exclusive.WriteNew(ctx, &WriteRequest{FilePath: path, Content: text})
		if !errors.Is(err, fs.ErrExist) {
			return false, err
		}
		stored, found, err := readWhole(ctx, s.reader, path)
		return !found || stored != text, err
	}
	if err := s.writing.lock(ctx, path); err != nil {
		return false, err
	}
	defer s.writing.unlock(path)
	if s.reader == nil {
		return s.putBlind(ctx, path, text)
	}
	stored, found, err := readWhole(ctx, s.reader, path)
	if err != nil || found {
		return found && stored != text, err
	}
	return false, s.backend.Write(ctx, &WriteRequest{FilePath: path, Content: text})
}

// place puts a text under the first of its names that is free or has it already, and returns that name. What it has placed
// before it does not ask for again: the same conversation may be pruned anew at every call.
func (s *resultStore) place(ctx context.Context, own, text string) (path string, err error) {
	hash := maphash.String(s.seed, text)
	for attempt := range pathAttempts {
		path = nextPath(own, text, attempt)
		if known, found := s.recall(path); found && known == hash {
			return path, nil
		}
		taken, err := s.put(ctx, path, text)
		if err != nil {
			return path, err
		}
		if !taken {
			s.remember(path, hash)
			return path, nil
		}
	}
	return path, fs.ErrExist
}

func (s *resultStore) recall(path string) (hash uint64, found bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	hash, found = s.written.byPath[path]
	return hash, found
}

func (s *resultStore) remember(path string, hash uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.written.set(path, hash, maxRemembered)
}

// putBlind goes by memory. A failed write is not remembered: nobody was told of its path.
func (s *resultStore) putBlind(ctx context.Context, path, text string) (taken bool, err error) {
	hash := maphash.String(s.seed, text)
	if known, found := s.recall(path); found {
		return known != hash, nil
	}
	if err := s.backend.Write(ctx, &WriteRequest{FilePath: path, Content: text}); err != nil {
		return false, err
	}
	s.remember(path, hash)
	return false, nil
}

// readWhole returns the whole text under a path. Foreign backends have plain errors for what is not there, so any error but
// the context's own means "not found". A nil reader finds nothing.
func readWhole(ctx context.Context, reader Reader, path string) (text string, found bool, err error) {
	if reader == nil {
		return "", false, nil
	}
	content, err := reader.Read(ctx, wholeFile(path))
	if err != nil || content == nil {
		return "", false, ctx.Err()
	}
	return content.Content, true, nil
}

// exists reports whether a path is known to be taken. It may be wrong: an upload finds out for certain when it ends.
func (s *resultStore) exists(ctx context.Context, path string) bool {
	if stater, ok := s.backend.(Stater); ok {
		_, err := stater.Stat(ctx, &StatRequest{FilePath: path})
		return err == nil
	}
	if s.reader == nil {
		return false
	}
	content, err := s.reader.Read(ctx, &ReadRequest{FilePath: path, Offset: 1, Limit: 1})
	return err == nil && content != nil
}

// holds reports whether a path has a text of this size and hash. Anything that keeps it from knowing counts as no.
func (s *resultStore) holds(ctx context.Context, path string, size int64, hash *maphash.Hash) bool {
	ranges, ok := s.backend.(RangeReader)
	stater, knowsSize := s.backend.(Stater)
	if !ok || !knowsSize {
		return false
	}
	if info, err := stater.Stat(ctx, &StatRequest{FilePath: path}); err != nil || info.Size != size {
		return false
	}
	var stored maphash.Hash
	stored.SetSeed(hash.Seed())
	const step = 256 << 10
	for at := int64(0); at < size; at += step {
		text, err := ranges.ReadRange(ctx, &RangeRequest{FilePath: path, Offset: at, Length: step})
		if err != nil {
			return false
		}
		stored.WriteString(text)
	}
	return stored.Sum64() == hash.Sum64()
}

// wholeFile asks for all lines by number, because some backends take a limit of 0 for a page of theirs.
func wholeFile(path string) *ReadRequest {
	return &ReadRequest{FilePath: path, Offset: 1, Limit: math.MaxInt32}
}

// pathLocks lets one at a time at a path, and takes memory only for paths at which somebody is. A mutex would not do, as
// nobody can stop waiting for it when a context ends. The zero value is ready for use.
type pathLocks struct {
	mu   sync.Mutex
	held map[string]chan struct{} // closed when it is free again
}

// lock gives what is free also where the context has ended: that ends the waiting and nothing else.
func (l *pathLocks) lock(ctx context.Context, path string) error {
	for {
		held := l.take(path)
		if held == nil {
			return nil
		}
		select {
		case <-held:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// take answers with what to wait for where somebody else is at the path.
func (l *pathLocks) take(path string) (held <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if other, busy := l.held[path]; busy {
		return other
	}
	if l.held == nil {
		l.held = map[string]chan struct{}{}
	}
	l.held[path] = make(chan struct{})
	return nil
}

func (l *pathLocks) unlock(path string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	close(l.held[path])
	delete(l.held, path)
}

// recent is a map of paths that forgets the one that has been in it longest. The zero value is ready for use.
type recent[V any] struct {
	byPath map[string]V
	oldest []string // the paths in byPath, first in first out
}

func (r *recent[V]) set(path string, value V, limit int) {
	if r.byPath == nil {
		r.byPath = map[string]V{}
	}
	if _, known := r.byPath[path]; !known {
		r.oldest = append(r.oldest, path)
	}
	r.byPath[path] = value
	if len(r.oldest) > limit {
		delete(r.byPath, r.oldest[0])
		r.oldest = r.oldest[1:]
	}
}

func (r *recent[V]) forget(path string) {
	if _, known := r.byPath[path]; known {
		delete(r.byPath, path)
		r.oldest = slices.DeleteFunc(r.oldest, func(old string) bool { return old == path })
	}
}
