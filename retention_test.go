package toolresult_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cloudwego/eino/adk/filesystem"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eino-toolresult/toolresult"
)

// agedDir holds files of 100 bytes whose names say how many minutes old they are.
func agedDir(t *testing.T, paths ...string) (*toolresult.DirBackend, string) {
	t.Helper()
	dir := t.TempDir()
	b := openDir(t, dir)
	for _, path := range paths {
		dirWrite(t, b, path, strings.Repeat("x", 100))
		var minutes int
		_, err := fmt.Sscanf(filepath.Base(path), "%d", &minutes)
		require.NoError(t, err)
		then := time.Now().Add(-time.Duration(minutes) * time.Minute)
		require.NoError(t, os.Chtimes(filepath.Join(dir, path), then, then))
	}
	return b, dir
}

func left(t *testing.T, b toolresult.Lister) (paths []string) {
	t.Helper()
	for file, err := range b.List(t.Context(), &toolresult.ListRequest{}) {
		require.NoError(t, err)
		paths = append(paths, file.FilePath)
	}
	return paths
}

func TestSweep(t *testing.T) {
	const minute = time.Minute
	all := []string{"/large_tool_result/5", "/large_tool_result/60", "/large_tool_result/s/120", "/large_tool_result/s/600", "/large_tool_result2/900", "/other/900"}
	const root = "/large_tool_result/"
	for _, c := range []struct {
		name   string
		cfg    toolresult.SweepConfig
		gone   []string
		reason string
	}{
		{"age", toolresult.SweepConfig{MaxAge: 90 * minute}, []string{root + "s/600", root + "s/120"}, "older than that goes, oldest first, below the default prefix alone"},
		{"age, nothing due", toolresult.SweepConfig{MaxAge: 1000 * minute}, nil, "nothing is that old"},
		{"age, all", toolresult.SweepConfig{MaxAge: 1}, []string{root + "s/600", root + "s/120", root + "60", root + "5"}, "MinAge does not speak for age"},
		{"size", toolresult.SweepConfig{MaxBytes: 250}, []string{root + "s/600", root + "s/120"}, "two of four files fit"},
		{"size, exactly", toolresult.SweepConfig{MaxBytes: 300}, []string{root + "s/600"}, "three files fit exactly"},
		{"size, nothing due", toolresult.SweepConfig{MaxBytes: 400}, nil, "all fit"},
		{"size, too young", toolresult.SweepConfig{MaxBytes: 1}, []string{root + "s/600", root + "s/120", root + "60"}, "a result of five minutes ago may not yet be referred to"},
		{"size, no age", toolresult.SweepConfig{MaxBytes: 1, MinAge: -1}, []string{root + "s/600", root + "s/120", root + "60", root + "5"}, "unless one says so"},
		{"size, own age", toolresult.SweepConfig{MaxBytes: 1, MinAge: 100 * minute}, []string{root + "s/600", root + "s/120"}, "or says another age"},
		{"both", toolresult.SweepConfig{MaxAge: 500 * minute, MaxBytes: 250}, []string{root + "s/600", root + "s/120"}, "what age has taken counts for size"},
		{"keep", toolresult.SweepConfig{MaxAge: minute, Keep: []string{root + "s/600", "/none"}}, []string{root + "s/120", root + "60", root + "5"}, "what is kept is never touched"},
		{"keep, unclean", toolresult.SweepConfig{MaxAge: minute, Keep: []string{"large_tool_result//s/./600"}}, []string{root + "s/120", root + "60", root + "5"}, "however its path is written"},
		{"keep, size", toolresult.SweepConfig{MaxBytes: 200, Keep: []string{root + "s/600"}}, []string{root + "s/120", root + "60"}, "what is kept takes its place"},
		{"prefix", toolresult.SweepConfig{MaxAge: minute, Prefix: "/other"}, []string{"/other/900"}, "only below the prefix"},
		{"prefix with slash", toolresult.SweepConfig{MaxAge: minute, Prefix: "/other/"}, []string{"/other/900"}, "with or without a slash"},
		{"all", toolresult.SweepConfig{MaxAge: 700 * minute, Prefix: "/"}, []string{"/large_tool_result2/900", "/other/900"}, "the root is a prefix"},
		{"none", toolresult.SweepConfig{MaxAge: minute, Prefix: "/nowhere"}, nil, "an empty prefix is swept"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b, _ := agedDir(t, all...)
			report, err := toolresult.Sweep(t.Context(), b, &c.cfg)
			require.NoError(t, err, c.reason)
			var gone []string
			for _, file := range report.Deleted {
				gone = append(gone, file.FilePath)
			}
			assert.Equal(t, c.gone, gone, c.reason)
			assert.ElementsMatch(t, all, append(left(t, b), gone...), "the rest is there: %s", c.reason)
			assert.EqualValues(t, 100*len(gone), report.DeletedBytes, c.reason)
			assert.EqualValues(t, 100*report.LeftFiles, report.LeftBytes, c.reason)
		})
	}
}

func TestSweepConfig(t *testing.T) {
	b := openDir(t, t.TempDir())
	for _, c := range []struct {
		cfg          *toolresult.SweepConfig
		want, reason string
	}{
		{nil, "toolresult: SweepConfig.MaxAge is 0; want a bound in it or in MaxBytes", "nothing to do is a mistake"},
		{&toolresult.SweepConfig{Prefix: "/x"}, "toolresult: SweepConfig.MaxAge is 0; want a bound in it or in MaxBytes", "nothing to do is a mistake"},
		{&toolresult.SweepConfig{MaxAge: -time.Second}, "toolresult: SweepConfig.MaxAge is -1s; want 0 or more", "it would delete the future"},
		{&toolresult.SweepConfig{MaxBytes: -1}, "toolresult: SweepConfig.MaxBytes is -1; want 0 or more", "it would delete everything"},
		{&toolresult.SweepConfig{MaxAge: 1, Prefix: "x"}, `toolresult: SweepConfig.Prefix is "x"; want an absolute path without ".."`, "relative to what?"},
		{&toolresult.SweepConfig{MaxAge: 1, Prefix: "/x/../y"}, `toolresult: SweepConfig.Prefix is "/x/../y"; want an absolute path without ".."`, "no climbing"},
	} {
		report, err := toolresult.Sweep(t.Context(), b, c.cfg)
		assert.EqualError(t, err, c.want, c.reason)
		assert.NotNil(t, report, "the report is always there")
	}
}

func TestRetentionNeedsListAndDelete(t *testing.T) {
	_, err := toolresult.Sweep(t.Context(), filesystem.NewInMemoryBackend(), &toolresult.SweepConfig{MaxAge: 1})
	assert.ErrorIs(t, err, errors.ErrUnsupported)
	assert.EqualError(t, err, "toolresult: sweep /large_tool_result: *filesystem.InMemoryBackend cannot list: unsupported operation")
	_, err = toolresult.DeletePrefix(t.Context(), listsOnly{}, "/s")
	assert.EqualError(t, err, "toolresult: delete /s: toolresult_test.listsOnly cannot delete: unsupported operation")
}

type listsOnly struct{ toolresult.Backend }

func (listsOnly) List(context.Context, *toolresult.ListRequest) iter.Seq2[*toolresult.StoredFile, error] {
	return nil
}

func TestDeletePrefix(t *testing.T) {
	b, dir := agedDir(t, "/r/a/1", "/r/a/b/2", "/r/ab/3", "/r/4")
	for _, c := range []struct{ prefix, reason string }{
		{"", "nothing"}, {"/", "everything"}, {"/r/", "what remains of /r/ + session where the session is empty"},
		{"r/a", "relative to what?"}, {"/r/a/..", "climbing"}, {"/r//a", "unclean"},
	} {
		deleted, err := toolresult.DeletePrefix(t.Context(), b, c.prefix)
		assert.ErrorContains(t, err, fmt.Sprintf("toolresult: the prefix of DeletePrefix is %q; want a clean absolute path", c.prefix), c.reason)
		assert.Zero(t, deleted, c.reason)
	}
	assert.Len(t, left(t, b), 4, "a refused call deletes nothing")
	deleted, err := toolresult.DeletePrefix(t.Context(), b, "/r/a")
	require.NoError(t, err)
	assert.Equal(t, 2, deleted)
	assert.ElementsMatch(t, []string{"/r/ab/3", "/r/4"}, left(t, b), "a session whose name only begins alike stays")
	assert.NoDirExists(t, filepath.Join(dir, "r/a"), "no empty folder stays of a session")
	deleted, err = toolresult.DeletePrefix(t.Context(), b, "/r/a")
	require.NoError(t, err, "to delete nothing is no error")
	assert.Zero(t, deleted)
}

// stubborn fails to delete one file, and has somebody else replace another one just before it is deleted.
type stubborn struct {
	*toolresult.DirBackend
	never, replaced string
}

var errStubborn = errors.New("no")

func (s stubborn) Delete(ctx context.Context, req *toolresult.DeleteRequest) error {
	if req.FilePath == s.never {
		return errStubborn
	}
	return s.DirBackend.Delete(ctx, req)
}

func (s stubborn) Stat(ctx context.Context, req *toolresult.StatRequest) (*toolresult.StoredFile, error) {
	if req.FilePath == s.replaced {
		if err := s.Write(ctx, &toolresult.WriteRequest{FilePath: s.replaced, Content: "new"}); err != nil {
			return nil, err
		}
	}
	return s.DirBackend.Stat(ctx, req)
}

func TestSweepGoesOn(t *testing.T) {
	b, _ := agedDir(t, "/r/9", "/r/8", "/r/7")
	report, err := toolresult.Sweep(t.Context(), stubborn{DirBackend: b, never: "/r/9"}, &toolresult.SweepConfig{Prefix: "/r", MaxAge: 1})
	require.ErrorIs(t, err, errStubborn)
	require.EqualError(t, err, "toolresult: sweep /r: 1 files not deleted, the first: no")
	require.Len(t, report.Deleted, 2, "one file that stays does not save the others")
	require.Equal(t, 1, report.LeftFiles)
	require.Equal(t, []string{"/r/9"}, left(t, b))
}

func TestSweepSparesNewResult(t *testing.T) {
	b, _ := agedDir(t, "/r/9")
	report, err := toolresult.Sweep(t.Context(), stubborn{DirBackend: b, replaced: "/r/9"}, &toolresult.SweepConfig{Prefix: "/r", MaxAge: time.Minute})
	require.NoError(t, err)
	require.Empty(t, report.Deleted)
	require.Equal(t, "new", dirRead(t, b, "/r/9"), "what was listed is not what is there now")
}

func TestSweepContext(t *testing.T) {
	b, _ := agedDir(t, "/r/9", "/r/8", "/r/7")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := toolresult.Sweep(ctx, b, &toolresult.SweepConfig{Prefix: "/r", MaxAge: 1})
	require.ErrorIs(t, err, context.Canceled)
	_, err = toolresult.DeletePrefix(ctx, b, "/r")
	require.ErrorIs(t, err, context.Canceled)
	require.Len(t, left(t, b), 3)
}

// Several sweeps of one store at once, as of several machines: each file is deleted by one of them, and none fails.
func TestSweepTogether(t *testing.T) {
	var paths []string
	for i := range 200 {
		paths = append(paths, fmt.Sprint("/r/", i+10))
	}
	b, _ := agedDir(t, paths...)
	var wg sync.WaitGroup
	var mu sync.Mutex
	deleted := 0
	for range 4 {
		wg.Go(func() {
			report, err := toolresult.Sweep(t.Context(), b, &toolresult.SweepConfig{Prefix: "/r", MaxAge: time.Minute})
			assert.NoError(t, err)
			mu.Lock()
			defer mu.Unlock()
			deleted += len(report.Deleted)
		})
	}
	wg.Wait()
	assert.Equal(t, len(paths), deleted)
	assert.Empty(t, left(t, b))
}
