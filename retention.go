package toolresult

// How long results are kept. Nothing is deleted unless somebody calls one of these functions: what a conversation may
// still ask for only its owner knows. They need a backend that can list and delete, and nothing else of it.
//
// They do not run by themselves, do not follow references (LivePaths does), and do not archive.

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"
)

const sweepMinAge = 10 * time.Minute

// SweepConfig says what Sweep deletes. At least one of MaxAge and MaxBytes must be set.
type SweepConfig struct {
	// Prefix is the folder below which files are swept, an absolute path. "" means "/large_tool_result", and "/" all
	// that the backend holds.
	Prefix string
	// MaxAge is the age from which files are deleted, by the time of the store and the clock of this machine. 0 means
	// that none is too old; negative values are refused.
	MaxAge time.Duration
	// MaxBytes is how many bytes may stay below Prefix. The oldest files are deleted until it holds, or nothing more may
	// be deleted. 0 means no bound; negative values are refused.
	MaxBytes int64
	// MinAge is the age below which no file is deleted for the sake of MaxBytes, because the notice that names it may not
	// yet be in the messages from which Keep was made. 0 means 10 minutes; negative values mean no such age.
	MinAge time.Duration
	// Keep are paths that are never deleted, for instance what LivePaths found. What they name counts towards MaxBytes;
	// unknown paths do no harm. Default none.
	Keep []string
}

// SweepReport is what Sweep has done. It is right as far as Sweep came, also beside an error.
type SweepReport struct {
	// Deleted are the deleted files, the oldest first.
	Deleted []*StoredFile
	// DeletedBytes is their size.
	DeletedBytes int64
	// LeftFiles is the number of files left below the prefix.
	LeftFiles int
	// LeftBytes is their size. It can be above MaxBytes, where Keep or MinAge forbade more.
	LeftBytes int64
}

// Sweep deletes results that are too old, and then the oldest while they are too many. Any number of sweeps, readers and
// writers may run beside it. The list of what is below the prefix is held in memory.
//
// One file that cannot be deleted does not save the others: the error, the first of them, comes at the end. A backend that
// is no Lister and Deleter gives an error for which errors.Is(err, errors.ErrUnsupported) holds.
func Sweep(ctx context.Context, backend Backend, cfg *SweepConfig) (*SweepReport, error) {
	sweep, err := newSweep(backend, cfg)
	if err != nil {
		return &SweepReport{}, err
	}
	if err := sweep.list(ctx); err != nil {
		return sweep.report, fmt.Errorf("toolresult: sweep %s: %w", sweep.prefix, err)
	}
	if err := sweep.deleteIf(ctx, sweep.isDue); err != nil {
		return sweep.report, fmt.Errorf("toolresult: sweep %s: %w", sweep.prefix, err)
	}
	return sweep.report, nil
}

// DeletePrefix deletes everything below a folder, such as the results of one session, and says how many files that was. The
// prefix must be absolute, clean, and not the root; a slash at its end is refused, because it is what remains of
// "/results/" + session when the session is empty. Nothing there is no error. Errors are like those of Sweep.
func DeletePrefix(ctx context.Context, backend Backend, prefix string) (deleted int, err error) {
	if !path.IsAbs(prefix) || path.Clean(prefix) != prefix || prefix == "/" {
		return 0, badConfig("the prefix of DeletePrefix", fmt.Sprintf("%q", prefix), "a clean absolute path below the root, without a final slash")
	}
	sweep, err := newSweeper(backend, prefix)
	if err == nil {
		err = sweep.list(ctx)
	}
	if err == nil {
		err = sweep.deleteIf(ctx, func(*StoredFile) bool { return true })
	}
	if err != nil {
		err = fmt.Errorf("toolresult: delete %s: %w", prefix, err)
	}
	return len(sweep.report.Deleted), err
}

// sweeper is one run of Sweep or DeletePrefix.
type sweeper struct {
	lister  Lister
	deleter Deleter
	stater  Stater // nil where the backend is none
	prefix  string
	keep    map[string]bool
	cfg     SweepConfig
	now     time.Time
	files   []*StoredFile // the oldest first
	report  *SweepReport
}

func newSweep(backend Backend, cfg *SweepConfig) (*sweeper, error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}
	sweep, err := newSweeper(backend, cmp.Or(cfg.Prefix, defaultPathPrefix))
	if err != nil {
		return nil, fmt.Errorf("toolresult: sweep %s: %w", sweep.prefix, err)
	}
	sweep.cfg = *cfg
	sweep.cfg.MinAge = cmp.Or(cfg.MinAge, sweepMinAge)
	for _, kept := range cfg.Keep {
		sweep.keep[rooted(kept)] = true
	}
	return sweep, nil
}

func (c *SweepConfig) check() error {
	switch {
	case c == nil || c.MaxAge == 0 && c.MaxBytes == 0:
		return badConfig("SweepConfig.MaxAge", 0, "a bound in it or in MaxBytes")
	case c.MaxAge < 0:
		return badConfig("SweepConfig.MaxAge", c.MaxAge, "0 or more")
	case c.MaxBytes < 0:
		return badConfig("SweepConfig.MaxBytes", c.MaxBytes, "0 or more")
	case c.Prefix != "" && (!path.IsAbs(c.Prefix) || slices.Contains(strings.Split(c.Prefix, "/"), "..")):
		return badConfig("SweepConfig.Prefix", fmt.Sprintf("%q", c.Prefix), `an absolute path without ".."`)
	}
	return nil
}

// newSweeper gives a sweeper also beside an error, for its report.
func newSweeper(backend Backend, prefix string) (*sweeper, error) {
	s := &sweeper{prefix: prefix, keep: map[string]bool{}, now: time.Now(), report: &SweepReport{}}
	var lists, deletes bool
	s.lister, lists = backend.(Lister)
	s.deleter, deletes = backend.(Deleter)
	s.stater, _ = backend.(Stater)
	switch {
	case !lists:
		return s, fmt.Errorf("%T cannot list: %w", backend, errors.ErrUnsupported)
	case !deletes:
		return s, fmt.Errorf("%T cannot delete: %w", backend, errors.ErrUnsupported)
	}
	return s, nil
}

// rooted makes one name of all the ways to write a path. The backends do the same.
func rooted(p string) string { return path.Clean("/" + p) }

// list holds everything before anything is deleted: the oldest must be known, and many a store does not like a list of what
// is being deleted.
func (s *sweeper) list(ctx context.Context) error {
	for file, err := range s.lister.List(ctx, &ListRequest{Prefix: s.prefix}) {
		if err != nil {
			return err
		}
		s.files = append(s.files, file)
		s.report.LeftFiles++
		s.report.LeftBytes += file.Size
	}
	slices.SortFunc(s.files, func(a, b *StoredFile) int {
		return cmp.Or(a.ModTime.Compare(b.ModTime), cmp.Compare(a.FilePath, b.FilePath))
	})
	return nil
}

// isDue is asked from the oldest file on, so that the size falls while it answers.
func (s *sweeper) isDue(file *StoredFile) bool {
	if s.keep[rooted(file.FilePath)] {
		return false
	}
	age := s.now.Sub(file.ModTime)
	if s.cfg.MaxAge > 0 && age >= s.cfg.MaxAge {
		return true
	}
	return s.cfg.MaxBytes > 0 && s.report.LeftBytes > s.cfg.MaxBytes && (s.cfg.MinAge < 0 || age >= s.cfg.MinAge)
}

// deleteIf goes on behind a failure, because the oldest file comes first, and would be the first to fail every time.
func (s *sweeper) deleteIf(ctx context.Context, isDue func(*StoredFile) bool) error {
	var failed int
	var first error
	for _, file := range s.files {
		if err := ctx.Err(); err != nil {
			return err
		}
		if !isDue(file) {
			continue
		}
		if err := s.delete(ctx, file); err != nil {
			failed++
			if first == nil {
				first = err
			}
		}
	}
	if failed > 0 {
		return fmt.Errorf("%d files not deleted, the first: %w", failed, first)
	}
	return nil
}

// delete looks once more where that is cheap: another sweep may have deleted the file, and somebody may have got its path
// for a new result. Some stores give times in whole seconds here and finer ones in a list.
func (s *sweeper) delete(ctx context.Context, file *StoredFile) error {
	if s.stater != nil {
		now, err := s.stater.Stat(ctx, &StatRequest{FilePath: file.FilePath})
		if err == nil && now.ModTime.Sub(file.ModTime) >= time.Second {
			return nil
		}
	}
	err := s.deleter.Delete(ctx, &DeleteRequest{FilePath: file.FilePath})
	gone := errors.Is(err, fs.ErrNotExist)
	if err != nil && !gone {
		return err
	}
	s.report.LeftFiles--
	s.report.LeftBytes -= file.Size
	if !gone {
		s.report.Deleted = append(s.report.Deleted, file)
		s.report.DeletedBytes += file.Size
	}
	return nil
}
