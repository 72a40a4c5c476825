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
	"sync"
)

// maxRemembered bounds the memory of a store over a backend that can only write.
const maxRemembered = 4096

type resultStore struct {
	backend   Backend
	exclusive ExclusiveWriter // nil where the backend is none
	reader    Reader          // likewise
	creator   Creator         // likewise

	mu      sync.Mutex
	writing map[string]chan struct{} // paths with a put under way; closed when it ends
	seed    maphash.Seed
	written map[string]uint64 // only for a backend that can only write: path to hash of its text
	oldest  []string          // the paths in written, first in first out
}

func newResultStore(backend Backend) *resultStore {
	s := &resultStore{backend: backend, writing: make(map[string]chan struct{}), seed: maphash.MakeSeed(), written: make(map[string]uint64)}
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
		stored, found, err := s.read(ctx, path)
		return !found || stored != text, err
	}
	if err := s.lock(ctx, path); err != nil {
		return false, err
	}
	defer s.unlock(path)
	if s.reader == nil {
		return s.putBlind(ctx, path, text)
	}
	stored, found, err := s.read(ctx, path)
	if err != nil || found {
		return found && stored != text, err
	}
	return false, s.backend.Write(ctx, &WriteRequest{FilePath: path, Content: text})
}

// putBlind goes by memory. A failed write is not remembered: nobody was told of its path.
func (s *resultStore) putBlind(ctx context.Context, path, text string) (taken bool, err error) {
	hash := maphash.String(s.seed, text)
	s.mu.Lock()
	known, found := s.written[path]
	s.mu.Unlock()
	if found {
		return known != hash, nil
	}
	if err := s.backend.Write(ctx, &WriteRequest{FilePath: path, Content: text}); err != nil {
		return false, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.written[path] = hash
	s.oldest = append(s.oldest, path)
	if len(s.oldest) > maxRemembered {
		delete(s.written, s.oldest[0])
		s.oldest = s.oldest[1:]
	}
	return false, nil
}

// read returns the whole text under a path. Foreign backends have plain errors for what is not there, so any error but
// the context's own means "not found".
func (s *resultStore) read(ctx context.Context, path string) (text string, found bool, err error) {
	if s.reader == nil {
		return "", false, nil
	}
	content, err := s.reader.Read(ctx, wholeFile(path))
	if err != nil {
		return "", false, ctx.Err()
	}
	if content == nil {
		return "", false, nil
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

// lock waits for a put of the same path, so that two parallel calls with one ID cannot both find it free.
func (s *resultStore) lock(ctx context.Context, path string) error {
	for {
		s.mu.Lock()
		other, busy := s.writing[path]
		if !busy {
			s.writing[path] = make(chan struct{})
			s.mu.Unlock()
			return nil
		}
		s.mu.Unlock()
		select {
		case <-other:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (s *resultStore) unlock(path string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.writing[path])
	delete(s.writing, path)
}
