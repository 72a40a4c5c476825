package blobbackend_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eino-toolresult/toolresult"
	"github.com/eino-toolresult/toolresult/blobbackend"
)

// TestSweep deletes by age on a real server, whose times are finer in lists than anywhere else.
func TestSweep(t *testing.T) {
	bucket := s3Bucket(t)
	b := newBackend(t, bucket)
	for path, content := range map[string]string{
		"/large_tool_result/s1/old": "old", "/large_tool_result/s1/kept": "kept", "/large_tool_result/s2/old large": textOf(3 << 20), "/large_tool_result/s2/young": "young",
	} {
		write(t, b, path, content)
		if !strings.HasSuffix(path, "young") {
			require.NoError(t, server.Age(lastBucket(), strings.TrimPrefix(path, "/")+".result", 48*time.Hour))
		}
	}
	report, err := toolresult.Sweep(t.Context(), b, &toolresult.SweepConfig{MaxAge: 24 * time.Hour, Keep: []string{"/large_tool_result/s1/kept"}})
	require.NoError(t, err)
	assert.Len(t, report.Deleted, 2)
	assert.EqualValues(t, 3+3<<20, report.DeletedBytes, "a large result counts as large as it is")
	assert.Equal(t, []string{"large_tool_result/s1/kept.result", "large_tool_result/s2/young.result"}, keys(t, bucket), "with data and index")

	deleted, err := toolresult.DeletePrefix(t.Context(), b, "/large_tool_result/s2")
	require.NoError(t, err)
	assert.Equal(t, 1, deleted)
	assert.Equal(t, []string{"/large_tool_result/s1/kept"}, listed(t, b))
}

func TestSweepBySize(t *testing.T) {
	b := newBackend(t, s3Bucket(t))
	for i := range 4 {
		path := fmt.Sprintf("/large_tool_result/%d", i)
		write(t, b, path, textOf(2<<20))
		require.NoError(t, server.Age(lastBucket(), strings.TrimPrefix(path, "/")+".result", time.Duration(10-i)*time.Hour))
	}
	report, err := toolresult.Sweep(t.Context(), b, &toolresult.SweepConfig{MaxBytes: 5 << 20})
	require.NoError(t, err)
	assert.Len(t, report.Deleted, 2)
	left := listed(t, b)
	slices.Sort(left)
	assert.Equal(t, []string{"/large_tool_result/2", "/large_tool_result/3"}, left, "the oldest go")
}

// TestManyResults needs several pages of a list.
func TestManyResults(t *testing.T) {
	bucket := memBucket(t)
	b := newBackend(t, bucket)
	for i := range 2500 {
		put(t, bucket, fmt.Sprintf("s/%d.result", i), "x")
	}
	assert.Len(t, listed(t, b), 2500)
	deleted, err := toolresult.DeletePrefix(t.Context(), b, "/s")
	require.NoError(t, err)
	assert.Equal(t, 2500, deleted)
	assert.Empty(t, keys(t, bucket))
}

func TestSweepLeftOvers(t *testing.T) {
	bucket := memBucket(t)
	b := configured(t, &blobbackend.Config{Bucket: bucket, Prefix: "ours"})
	write(t, b, "/live", textOf(2<<20))
	write(t, b, "/replaced", textOf(2<<20))
	write(t, b, "/replaced", "by something small")
	put(t, bucket, "ours/.toolresult/data/ORPHAN", "its process died before it had a name")
	put(t, bucket, "ours/.toolresult/lines/ORPHAN2", "its process died while it was deleted")
	put(t, bucket, "theirs/.toolresult/data/ORPHAN", "not ours")
	before := len(keys(t, bucket))

	deleted, err := b.SweepLeftOvers(t.Context(), 0)
	require.NoError(t, err)
	assert.Zero(t, deleted, "nothing is a day old")
	deleted, err = b.SweepLeftOvers(t.Context(), 1)
	require.NoError(t, err)
	assert.Equal(t, 3, deleted)
	assert.Len(t, keys(t, bucket), before-4)
	assert.True(t, textOf(2<<20) == read(t, b, "/live"))
	assert.Equal(t, "by something small", read(t, b, "/replaced"))

	_, err = b.SweepLeftOvers(t.Context(), -1)
	assert.ErrorContains(t, err, "want 0")
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = b.SweepLeftOvers(ended, 1)
	assert.ErrorIs(t, err, context.Canceled)
}

// TestSweepLeftOversSparesDoubt has a note that cannot be understood: it may point to anything.
func TestSweepLeftOversSparesDoubt(t *testing.T) {
	bucket := memBucket(t)
	b := newBackend(t, bucket)
	write(t, b, "/a", textOf(2<<20))
	data := slices.IndexFunc(keys(t, bucket), func(key string) bool { return strings.HasPrefix(key, ".toolresult/data/") })
	require.NotEqual(t, -1, data)
	damageNote(t, bucket, "a.result")
	_, err := b.SweepLeftOvers(t.Context(), 1)
	assert.ErrorContains(t, err, "damaged")
	assert.Contains(t, keys(t, bucket)[data], ".toolresult/data/")
	_, err = b.Read(t.Context(), &toolresult.ReadRequest{FilePath: "/a"})
	assert.ErrorContains(t, err, "damaged")
}

// TestDeleteAgain is a deletion that was broken off: the name stays until all else is gone, so it can be repeated.
func TestDeleteAgain(t *testing.T) {
	bucket := memBucket(t)
	b := newBackend(t, bucket)
	write(t, b, "/a", textOf(2<<20))
	for _, key := range keys(t, bucket) {
		if strings.HasPrefix(key, ".toolresult/data/") {
			require.NoError(t, bucket.Delete(t.Context(), key))
		}
	}
	_, err := b.ReadRange(t.Context(), &toolresult.RangeRequest{FilePath: "/a", Length: 10})
	assert.ErrorIs(t, err, fs.ErrNotExist)
	require.NoError(t, b.Delete(t.Context(), &toolresult.DeleteRequest{FilePath: "/a"}))
	assert.Empty(t, keys(t, bucket))
}

// TestSweepWithFineTimes has a store that gives milliseconds in lists, and none when one asks for an object.
func TestSweepWithFineTimes(t *testing.T) {
	needServer(t)
	p, b := newProxied(t, 0)
	write(t, b, "/large_tool_result/old", "old")
	require.NoError(t, server.Age(lastBucket(), "large_tool_result/old.result", 48*time.Hour))
	fine := false
	p.onAnswer(func(r *http.Response) {
		if r.Request.URL.Query().Has("list-type") {
			list, err := io.ReadAll(r.Body)
			assert.NoError(t, err)
			finer := regexp.MustCompile(`(:\d\d)(\.\d+)?Z</LastModified>`).ReplaceAll(list, []byte("$1.123Z</LastModified>"))
			fine = fine || bytes.Contains(finer, []byte(".123Z"))
			r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(finer)), int64(len(finer))
			r.Header.Set("Content-Length", strconv.Itoa(len(finer)))
		}
	})
	report, err := toolresult.Sweep(t.Context(), b, &toolresult.SweepConfig{MaxAge: 24 * time.Hour})
	require.NoError(t, err)
	require.True(t, fine)
	assert.Len(t, report.Deleted, 1, "it is the same result as in the list")
}
