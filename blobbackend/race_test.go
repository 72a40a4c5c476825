package blobbackend_test

// Many machines at one name. Each has a bucket and a backend of its own.

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"sync"
	"testing"

	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eino-toolresult/toolresult"
	"github.com/eino-toolresult/toolresult/blobbackend"
)

const racers = 16

// machines are backends on one bucket that know nothing of each other.
func machines(t testing.TB) []*blobbackend.Backend {
	t.Helper()
	name := newBucket(t)
	all := make([]*blobbackend.Backend, racers)
	for i := range all {
		all[i] = newBackend(t, openBucket(t, server.URL(name)))
	}
	return all
}

func TestRace(t *testing.T) {
	needServer(t)
	for size, bytes := range map[string]int{"small": 100_000, "40 MB": 40_000_000} {
		filler := strings.Repeat("x", 99) + "\n"
		text := strings.Repeat(filler, bytes/len(filler))
		for how, create := range map[string]func(b *blobbackend.Backend, i int, content string) error{
			"WriteNew": func(b *blobbackend.Backend, _ int, content string) error {
				return b.WriteNew(t.Context(), &toolresult.WriteRequest{FilePath: "/session/call_1", Content: content})
			},
			"Create": createOrRename,
		} {
			if size == "40 MB" && testing.Short() {
				continue
			}
			t.Run(how+" "+size, func(t *testing.T) { race(t, text, create) })
		}
	}
}

// createOrRename does what the library does when the name is taken: nothing is sent twice, and nothing is lost.
func createOrRename(b *blobbackend.Backend, i int, content string) error {
	u, err := b.Create(context.Background(), &toolresult.CreateRequest{FilePath: "/session/call_1"})
	if err != nil {
		return err
	}
	if _, err := u.WriteString(content); err != nil {
		return err
	}
	if err = u.Commit(); errors.Is(err, fs.ErrExist) {
		return errors.Join(err, u.(toolresult.Renamer).CommitAs(fmt.Sprintf("/renamed/%d", i)))
	}
	return err
}

func race(t *testing.T, text string, create func(b *blobbackend.Backend, i int, content string) error) {
	all := machines(t)
	contentOf := func(i int) string { return fmt.Sprintf("by machine %d\n", i) + text }
	errs := make([]error, racers)
	var wg sync.WaitGroup
	begin := make(chan struct{})
	for i, b := range all {
		wg.Go(func() {
			<-begin
			errs[i] = create(b, i, contentOf(i))
		})
	}
	close(begin)
	wg.Wait()

	winner := -1
	for i, err := range errs {
		if err == nil {
			require.Equal(t, -1, winner, "one winner")
			winner = i
			continue
		}
		require.ErrorIs(t, err, fs.ErrExist, "the others are too late, and nothing else")
		require.NotContains(t, err.Error(), "/renamed/", "and get a name of their own")
	}
	require.NotEqual(t, -1, winner, "one winner")
	require.True(t, contentOf(winner) == read(t, all[0], "/session/call_1"), "the winner's content is there, whole")
	for file, err := range all[0].List(t.Context(), &toolresult.ListRequest{Prefix: "/renamed"}) {
		require.NoError(t, err)
		var i int
		_, err := fmt.Sscanf(file.FilePath, "/renamed/%d", &i)
		require.NoError(t, err)
		require.EqualValues(t, len(contentOf(i)), file.Size, "and so are the others'")
	}
}

// TestTwoMachinesOneCall has two agents whose models gave the same ID to their calls.
func TestTwoMachinesOneCall(t *testing.T) {
	name := newBucket(t)
	for _, size := range []int{100_000, 3 << 20} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			var wg sync.WaitGroup
			said := make([]string, 2)
			for i := range said {
				b := newBackend(t, openBucket(t, server.URL(name)))
				offload, err := toolresult.NewOffload(t.Context(), &toolresult.OffloadConfig{Backend: b, TokenLimit: 1000})
				require.NoError(t, err)
				wg.Go(func() {
					said[i] = streamed(t, offload, fmt.Sprintf("call_%d", size), fmt.Sprintf("of machine %d\n%s", i, textOf(size)))
				})
			}
			wg.Wait()
			paths := map[string]bool{}
			b := newBackend(t, openBucket(t, server.URL(name)))
			for i, notice := range said {
				path, ok := toolresult.OffloadedPath(schema.ToolMessage(notice, ""))
				require.True(t, ok, notice)
				paths[path] = true
				assert.True(t, fmt.Sprintf("of machine %d\n%s", i, textOf(size)) == read(t, b, path), "each notice leads to its own result")
			}
			assert.Len(t, paths, 2)
		})
	}
}

// streamed runs a tool that streams a text, and returns what the model reads.
func streamed(t *testing.T, mw compose.ToolMiddleware, callID, text string) string {
	endpoint := mw.Streamable(func(context.Context, *compose.ToolInput) (*compose.StreamToolOutput, error) {
		var chunks []string
		for rest := text; rest != ""; rest = rest[min(len(rest), 4096):] {
			chunks = append(chunks, rest[:min(len(rest), 4096)])
		}
		return &compose.StreamToolOutput{Result: schema.StreamReaderFromArray(chunks)}, nil
	})
	out, err := endpoint(t.Context(), &compose.ToolInput{Name: "search", CallID: callID})
	if !assert.NoError(t, err) {
		return ""
	}
	defer out.Result.Close()
	var said strings.Builder
	for {
		chunk, err := out.Result.Recv()
		if err != nil {
			return said.String()
		}
		said.WriteString(chunk)
	}
}
