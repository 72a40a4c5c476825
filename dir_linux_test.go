package toolresult_test

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eino-toolresult/toolresult"
)

func TestDirDevice(t *testing.T) {
	dir := t.TempDir()
	b := openDir(t, dir)
	dirWrite(t, b, "/r/there", "text")
	const zero = 1<<8 | 5 // the numbers of /dev/zero
	if err := syscall.Mknod(filepath.Join(dir, "r/zero"), syscall.S_IFCHR|0o600, zero); err != nil {
		t.Skip("cannot make a device here:", err)
	}
	testDirSpecial(t, b, "/r/zero", "a device is no result, and this one never ends")
}

// smallDisk is a file system of 1 MiB, full.
func smallDisk(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=1m"); err != nil {
		t.Skip("cannot mount a small tmpfs here:", err)
	}
	t.Cleanup(func() { assert.NoError(t, syscall.Unmount(dir, syscall.MNT_DETACH)) })
	return dir
}

func TestDirDiskFull(t *testing.T) {
	dir := smallDisk(t)
	b := openDir(t, dir)
	dirWrite(t, b, "/r/before", "there before")
	text := strings.Repeat("0123456789abcde\n", 2<<16) // 2 MiB
	for name, write := range map[string]func(path string) error{
		"Write": func(path string) error {
			return b.Write(t.Context(), &toolresult.WriteRequest{FilePath: path, Content: text})
		},
		"WriteNew": func(path string) error {
			return b.WriteNew(t.Context(), &toolresult.WriteRequest{FilePath: path, Content: text})
		},
		"Commit": func(path string) error {
			upload, err := b.Create(t.Context(), &toolresult.CreateRequest{FilePath: path})
			require.NoError(t, err)
			_, writeErr := io.WriteString(upload, text)
			require.ErrorIs(t, writeErr, syscall.ENOSPC)
			return upload.Commit()
		},
		"Abort": func(path string) error {
			upload, err := b.Create(t.Context(), &toolresult.CreateRequest{FilePath: path})
			require.NoError(t, err)
			_, writeErr := io.WriteString(upload, text)
			require.NoError(t, upload.Abort())
			return writeErr
		},
	} {
		err := write("/r/" + name)
		require.ErrorIs(t, err, syscall.ENOSPC, name)
		require.NotContains(t, err.Error(), dir, name)
		require.NoFileExists(t, filepath.Join(dir, "r", name), "%s must not show half a result", name)
		require.Empty(t, unfinished(t, dir), "%s gives the space back", name)
	}
	require.Error(t, b.Write(t.Context(), &toolresult.WriteRequest{FilePath: "/r/before", Content: text}))
	require.Equal(t, "there before", dirRead(t, b, "/r/before"), "what cannot be replaced stays")
	dirWrite(t, b, "/r/after", text[:1<<19])
}

// A buffer hides a full disk until it is flushed.
func TestDirDiskFullAtCommit(t *testing.T) {
	dir := smallDisk(t)
	b := openDir(t, dir)
	upload, err := b.Create(t.Context(), &toolresult.CreateRequest{FilePath: "/r/u"})
	require.NoError(t, err)
	require.ErrorIs(t, os.WriteFile(filepath.Join(dir, "ballast"), make([]byte, 2<<20), 0o600), syscall.ENOSPC)
	_, err = io.WriteString(upload, "a few bytes")
	require.NoError(t, err)
	require.ErrorIs(t, upload.Commit(), syscall.ENOSPC)
	require.NoFileExists(t, filepath.Join(dir, "r/u"))
	require.Empty(t, unfinished(t, dir))
}

// asNobody runs do without root's power over every file. The thread ends with its goroutine, and takes the change along.
func asNobody(t *testing.T, do func()) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		if os.Getuid() == 0 {
			runtime.LockOSThread()
			const nobody = 65534
			_, _, errno := syscall.RawSyscall(syscall.SYS_SETFSUID, nobody, 0, 0)
			if !assert.Zero(t, errno) {
				return
			}
		}
		do()
	}()
	<-done
}

// nobodysDir is a directory that asNobody owns and can reach.
func nobodysDir(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if os.Getuid() == 0 {
		require.NoError(t, os.Chmod(filepath.Dir(dir), 0o755))
		require.NoError(t, os.Chown(dir, 65534, 65534))
	}
	return dir
}

func TestDirReadOnly(t *testing.T) {
	dir := nobodysDir(t)
	asNobody(t, func() {
		assert.NoError(t, os.Chmod(dir, 0o500))
		_, err := toolresult.NewDirBackend(t.Context(), &toolresult.DirConfig{Dir: dir})
		assert.ErrorIs(t, err, fs.ErrPermission, "better now than at the first large result")
		assert.NoError(t, os.Chmod(dir, 0o700))
	})
}

func TestDirPermissionLost(t *testing.T) {
	dir := nobodysDir(t)
	asNobody(t, func() {
		b, err := toolresult.NewDirBackend(t.Context(), &toolresult.DirConfig{Dir: dir})
		if !assert.NoError(t, err) {
			return
		}
		defer b.Close()
		ctx := t.Context()
		assert.NoError(t, b.Write(ctx, &toolresult.WriteRequest{FilePath: "/r/1", Content: "text"}))
		for _, c := range []struct {
			path   string
			mode   fs.FileMode
			do     func() error
			reason string
		}{
			{"r", 0o500, func() error { return b.Write(ctx, &toolresult.WriteRequest{FilePath: "/r/2"}) }, "no new file in the folder"},
			{"r", 0o500, func() error { return b.Delete(ctx, &toolresult.DeleteRequest{FilePath: "/r/1"}) }, "no file leaves the folder"},
			{"r", 0o000, func() error { _, err := b.Read(ctx, &toolresult.ReadRequest{FilePath: "/r/1"}); return err }, "no way in"},
			{"r/1", 0o000, func() error { _, err := b.Read(ctx, &toolresult.ReadRequest{FilePath: "/r/1"}); return err }, "not readable"},
			{"r", 0o300, func() error { return listError(b.List(ctx, &toolresult.ListRequest{})) }, "a folder that cannot be listed"},
			{dirHidden, 0o500, func() error { return b.Write(ctx, &toolresult.WriteRequest{FilePath: "/r/2"}) }, "no unfinished file"},
		} {
			real := filepath.Join(dir, c.path)
			before, err := os.Stat(real)
			assert.NoError(t, err)
			assert.NoError(t, os.Chmod(real, c.mode))
			err = c.do()
			assert.ErrorIs(t, err, fs.ErrPermission, c.reason)
			assert.NotContains(t, fmt.Sprint(err), dir, c.reason)
			assert.NoError(t, os.Chmod(real, before.Mode().Perm()))
			assert.Empty(t, unfinished(t, dir), c.reason)
		}
	})
}

func listError[T any](sequence func(yield func(T, error) bool)) (err error) {
	for _, err = range sequence {
		if err != nil {
			break
		}
	}
	return err
}
