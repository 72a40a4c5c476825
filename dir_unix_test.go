//go:build unix

package toolresult_test

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eino-toolresult/toolresult"
)

// within fails the test, instead of hanging with it.
func within(t *testing.T, limit time.Duration, what string, do func()) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		do()
	}()
	select {
	case <-done:
	case <-time.After(limit):
		t.Fatalf("%s hangs", what)
	}
}

func TestDirPipe(t *testing.T) {
	dir := t.TempDir()
	b := openDir(t, dir)
	dirWrite(t, b, "/r/there", "text")
	require.NoError(t, syscall.Mkfifo(filepath.Join(dir, "r/pipe"), 0o600))
	require.NoError(t, syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600))
	for _, path := range []string{"/r/pipe", "/pipe", "/pipe/below"} {
		testDirSpecial(t, b, path, "a pipe is no result, and opening it would wait for a writer")
	}
}

// testDirSpecial leaves out Write, which replaces whatever it finds.
func testDirSpecial(t *testing.T, b *toolresult.DirBackend, path, reason string) {
	t.Helper()
	within(t, 10*time.Second, path, func() {
		testDirSymlink(t, b, path, reason)
		_, err := b.FindLine(t.Context(), &toolresult.LineRequest{FilePath: path, Line: 2})
		assert.Error(t, err, reason)
		for file, err := range b.List(t.Context(), &toolresult.ListRequest{}) {
			assert.NoError(t, err)
			assert.Equal(t, "/r/there", file.FilePath, reason)
		}
	})
}

func TestDirReplacesPipe(t *testing.T) {
	dir := t.TempDir()
	b := openDir(t, dir)
	require.NoError(t, syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600))
	within(t, 10*time.Second, "Write over a pipe", func() { dirWrite(t, b, "/pipe", "text") })
	require.Equal(t, "text", dirRead(t, b, "/pipe"))
}

// A name changes all the time between a result, a link to a secret, and a pipe. Whoever reads it gets the result or an
// error, and never the secret.
func TestDirSwappedUnderReader(t *testing.T) {
	outer := t.TempDir()
	dir := filepath.Join(outer, "dir")
	b := openDir(t, dir)
	secret, name := filepath.Join(dir, "secret"), filepath.Join(dir, "r")
	require.NoError(t, os.WriteFile(secret, []byte("secret"), 0o600))
	stop := time.Now().Add(time.Second / 2)
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := 0; time.Now().Before(stop); i++ {
			other := filepath.Join(outer, fmt.Sprint("other", i))
			var err error
			switch i % 3 {
			case 0:
				err = os.WriteFile(other, []byte("text"), 0o600)
			case 1:
				err = os.Symlink("secret", other)
			default:
				err = syscall.Mkfifo(other, 0o600)
			}
			if !assert.NoError(t, err) || !assert.NoError(t, os.Rename(other, name)) {
				return
			}
		}
	})
	var texts int
	within(t, 20*time.Second, "Read", func() {
		for time.Now().Before(stop) {
			got, err := b.Read(t.Context(), &toolresult.ReadRequest{FilePath: "/r"})
			if err == nil {
				texts++
				if !assert.Equal(t, "text", got.Content) {
					return
				}
			}
		}
	})
	wg.Wait()
	require.NotZero(t, texts, "it was a result for a third of the time")
}

// The body of TestDirKilled's victims: it writes as fast as it can, whole results and streams, until it dies.
func TestDirVictim(t *testing.T) {
	dir := os.Getenv("TOOLRESULT_VICTIM_DIR")
	if dir == "" {
		t.Skip("only of use to TestDirKilled")
	}
	b := openDir(t, dir)
	for i := 0; ; i++ {
		if i == 1 {
			fmt.Println("ready")
		}
		path := fmt.Sprintf("/r/%d-%d", os.Getpid(), i)
		if i%2 == 0 {
			dirWrite(t, b, path, victimText(path))
			continue
		}
		upload, err := b.Create(t.Context(), &toolresult.CreateRequest{FilePath: path})
		require.NoError(t, err)
		for text := victimText(path); text != ""; {
			n, err := upload.WriteString(text[:min(4096, len(text))])
			require.NoError(t, err)
			text = text[n:]
		}
		require.NoError(t, upload.Commit())
	}
}

// victimText is one line for the first result, whose purpose is to say that the victim is at work.
func victimText(path string) string {
	if strings.HasSuffix(path, "-0") {
		return path + "\n"
	}
	return strings.Repeat(path+"\n", 1<<20/len(path))
}

func TestDirKilled(t *testing.T) {
	const kills = 200
	dir := t.TempDir()
	b := openDir(t, dir)
	self, err := os.Executable()
	require.NoError(t, err)
	var next, whole atomic.Int64
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for next.Add(1) <= kills && !t.Failed() {
				killOne(t, self, dir)
			}
		})
	}
	wg.Wait()
	for file, err := range b.List(t.Context(), &toolresult.ListRequest{}) {
		require.NoError(t, err)
		require.Equal(t, victimText(file.FilePath), dirRead(t, b, file.FilePath), "half a result is visible")
		whole.Add(1)
	}
	left := unfinished(t, dir)
	t.Logf("%d processes killed: %d whole results, %d unfinished ones", kills, whole.Load(), len(left))
	require.Greater(t, len(left), kills/4, "most must have died in the middle of a write, or this test says nothing")
	for _, name := range left {
		yesterday := time.Now().Add(-25 * time.Hour)
		require.NoError(t, os.Chtimes(filepath.Join(dir, dirHidden, name), yesterday, yesterday))
	}
	openDir(t, dir)
	require.Empty(t, unfinished(t, dir), "left-overs are swept a day later")
}

func killOne(t *testing.T, self, dir string) {
	victim := exec.Command(self, "-test.run=^TestDirVictim$")
	victim.Env = append(os.Environ(), "TOOLRESULT_VICTIM_DIR="+dir)
	out, err := victim.StdoutPipe()
	if !assert.NoError(t, err) || !assert.NoError(t, victim.Start()) {
		return
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	assert.NoError(t, err)
	assert.Equal(t, "ready\n", line)
	time.Sleep(rand.N(20 * time.Millisecond))
	assert.NoError(t, victim.Process.Kill())
	assert.ErrorContains(t, victim.Wait(), "killed")
}
