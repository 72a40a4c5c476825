package blobbackend_test

// What the backend costs beside the bare client doing the same: on one server, in one run, turn about. A turn is one iteration:
//
//	go test -run '^$' -bench . -benchtime 5x
//
// The bare client is used in two ways: as one would at first, and with what this package knows of drivers (large pieces, parts of
// 5 MiB, four at once). Figures above 1 in x-… columns are in our favour; peaks are of memory in use by the process, in MB.

import (
	"bufio"
	"fmt"
	"io"
	"runtime/debug"
	"runtime/metrics"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"gocloud.dev/blob"

	"github.com/eino-toolresult/toolresult"
	"github.com/eino-toolresult/toolresult/blobbackend"
)

const (
	agents       = 8
	smallResults = 1000
	smallBytes   = 100_000
	largeBytes   = 200_000_000
	deepLine     = 1_000_000
	lineBytes    = 100
)

// contender does one job, every time under new names.
type contender struct {
	name    string
	prepare func(tb testing.TB) // not timed; may be nil
	do      func(tb testing.TB, turn int)

	took time.Duration
	peak uint64
}

// compare lets contenders take turns, the first of them being ours.
func compare(b *testing.B, bytes int64, contenders ...*contender) {
	turn := 0
	for b.Loop() {
		for i := range contenders {
			c := contenders[(turn+i)%len(contenders)] // nobody is always first
			if c.prepare != nil {
				c.prepare(b)
			}
			stop := watchMemory()
			begun := time.Now()
			c.do(b, turn)
			c.took += time.Since(begun)
			c.peak = max(c.peak, stop())
		}
		turn++
	}
	ours := contenders[0]
	for _, c := range contenders {
		if bytes > 0 {
			b.ReportMetric(float64(bytes)*float64(turn)/1e6/c.took.Seconds(), c.name+"-MB/s")
			b.ReportMetric(float64(c.peak)/1e6, c.name+"-peak-MB")
		} else {
			b.ReportMetric(float64(c.took.Microseconds())/1e3/float64(turn), c.name+"-ms")
		}
		if c != ours {
			b.ReportMetric(c.took.Seconds()/ours.took.Seconds(), "x-"+c.name)
		}
	}
	b.ReportMetric(0, "ns/op") // of all contenders together: of no interest
}

// watchMemory samples what the process has from the system, without what it had at first.
func watchMemory() (peak func() uint64) {
	debug.FreeOSMemory()
	inUse := func() uint64 {
		s := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
		metrics.Read(s)
		return s[0].Value.Uint64() - s[1].Value.Uint64()
	}
	var highest atomic.Uint64
	done := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			highest.Store(max(highest.Load(), inUse()))
			select {
			case <-done:
				return
			case <-time.After(2 * time.Millisecond):
			}
		}
	})
	return func() uint64 {
		close(done)
		wg.Wait()
		return highest.Load()
	}
}

func BenchmarkSmall(b *testing.B) {
	bucket := s3Bucket(b)
	backend := newBackend(b, bucket)
	text := strings.Repeat(strings.Repeat("x", lineBytes-1)+"\n", smallBytes/lineBytes)
	compare(b, smallResults*smallBytes,
		&contender{name: "ours", do: func(tb testing.TB, turn int) {
			fromAgents(func(i int) error {
				return backend.WriteNew(tb.Context(), &toolresult.WriteRequest{FilePath: fmt.Sprintf("/ours/%d/%d", turn, i), Content: text})
			}, tb)
		}},
		&contender{name: "bare", do: func(tb testing.TB, turn int) {
			fromAgents(func(i int) error {
				opts := &blob.WriterOptions{ContentType: "text/plain", IfNotExist: true}
				return bucket.WriteAll(tb.Context(), fmt.Sprintf("bare/%d/%d", turn, i), []byte(text), opts)
			}, tb)
		}},
	)
}

func fromAgents(do func(i int) error, tb testing.TB) {
	var wg sync.WaitGroup
	for agent := range agents {
		wg.Go(func() {
			for i := agent; i < smallResults; i += agents {
				if err := do(i); err != nil {
					tb.Error(err)
				}
			}
		})
	}
	wg.Wait()
}

func BenchmarkStream(b *testing.B) {
	bucket := s3Bucket(b)
	backend := newBackend(b, bucket)
	compare(b, largeBytes,
		&contender{name: "ours", do: func(tb testing.TB, turn int) {
			path := fmt.Sprintf("/ours/%d", turn)
			u, err := backend.Create(tb.Context(), &toolresult.CreateRequest{FilePath: path})
			require.NoError(tb, err)
			require.NoError(tb, feedChunks(u.Write))
			require.NoError(tb, u.Commit())
			tb.Cleanup(func() { backend.Delete(tb.Context(), &toolresult.DeleteRequest{FilePath: path}) })
		}},
		&contender{name: "bare", do: bareStream(bucket, "bare", &blob.WriterOptions{ContentType: "text/plain"}, 0)},
		&contender{name: "tuned", do: bareStream(bucket, "tuned", &blob.WriterOptions{ContentType: "text/plain", BufferSize: 5 << 20, MaxConcurrency: 4}, 64<<10)},
	)
}

// feedChunks is a tool that streams lines, 4 000 bytes at a time.
func feedChunks(write func([]byte) (int, error)) error {
	chunk := []byte(strings.Repeat(strings.Repeat("x", lineBytes-1)+"\n", 40))
	for range largeBytes / len(chunk) {
		if _, err := write(chunk); err != nil {
			return err
		}
	}
	return nil
}

func bareStream(bucket *blob.Bucket, folder string, opts *blob.WriterOptions, buffer int) func(testing.TB, int) {
	return func(tb testing.TB, turn int) {
		own := *opts
		w, err := bucket.NewWriter(tb.Context(), fmt.Sprintf("%s/%d", folder, turn), &own)
		require.NoError(tb, err)
		if buffer == 0 {
			require.NoError(tb, feedChunks(w.Write))
		} else {
			buffered := bufio.NewWriterSize(w, buffer)
			require.NoError(tb, feedChunks(buffered.Write))
			require.NoError(tb, buffered.Flush())
		}
		require.NoError(tb, w.Close())
	}
}

// BenchmarkPage reads 100 lines from the middle of a result. A backend that is cold knows no index yet; one
// that must scan has none in the store either.
func BenchmarkPage(b *testing.B) {
	bucket := s3Bucket(b)
	known := newBackend(b, bucket)
	u, err := known.Create(b.Context(), &toolresult.CreateRequest{FilePath: "/a"})
	require.NoError(b, err)
	require.NoError(b, feedChunks(u.Write))
	require.NoError(b, u.Commit())
	data, index := hiddenKeys(b, bucket)
	lines, err := bucket.ReadAll(b.Context(), index)
	require.NoError(b, err)
	var fresh *blobbackend.Backend
	compare(b, 0,
		&contender{name: "warm", do: func(tb testing.TB, _ int) { deepPage(tb, known) }},
		&contender{name: "cold", prepare: func(tb testing.TB) {
			put(tb, bucket, index, string(lines))
			fresh = newBackend(tb, bucket)
		}, do: func(tb testing.TB, _ int) { deepPage(tb, fresh) }},
		&contender{name: "scan", prepare: func(tb testing.TB) {
			put(tb, bucket, index, string(lines)) // there may be none left to delete
			require.NoError(tb, bucket.Delete(tb.Context(), index))
			fresh = newBackend(tb, bucket)
		}, do: func(tb testing.TB, _ int) { deepPage(tb, fresh) }},
		&contender{name: "bare", do: func(tb testing.TB, _ int) { barePage(tb, bucket, data) }},
	)
}

func deepPage(tb testing.TB, b *blobbackend.Backend) {
	got, err := b.Read(tb.Context(), &toolresult.ReadRequest{FilePath: "/a", Offset: deepLine, Limit: 100})
	require.NoError(tb, err)
	require.Len(tb, got.Content, 100*lineBytes-1)
}

// barePage is what there is without an index: to read up to the line.
func barePage(tb testing.TB, bucket *blob.Bucket, key string) {
	r, err := bucket.NewReader(tb.Context(), key, nil)
	require.NoError(tb, err)
	defer r.Close()
	in := bufio.NewReaderSize(r, 64<<10)
	for range deepLine - 1 {
		_, err := in.ReadSlice('\n')
		require.NoError(tb, err)
	}
	_, err = io.ReadFull(in, make([]byte, 100*lineBytes))
	require.NoError(tb, err)
}

func hiddenKeys(tb testing.TB, bucket *blob.Bucket) (data, index string) {
	for _, key := range keys(tb, bucket) {
		switch {
		case strings.HasPrefix(key, ".toolresult/data/"):
			data = key
		case strings.HasPrefix(key, indexFolder):
			index = key
		}
	}
	return data, index
}
