package toolresult_test

// Real outputs of real tools: JSON of one line, logs, diffs, binary, UTF-16, ANSI, CRLF. Nobody here wrote them, and they are
// not part of the repository; where they lie beside it, every one must come back as it went.

import (
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/cloudwego/eino/compose"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eino-toolresult/toolresult"
)

// realOutputs returns the texts by file name, or skips the test where there are none.
func realOutputs(t testing.TB) map[string]string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", "shared", "data", "outputs", "*.gz"))
	require.NoError(t, err)
	if len(files) == 0 {
		t.Skip("no real outputs beside the repository, in ../shared/data/outputs: nothing was tried")
	}
	texts := make(map[string]string)
	for _, name := range files {
		file, err := os.Open(name)
		require.NoError(t, err)
		unzipped, err := gzip.NewReader(file)
		require.NoError(t, err, name)
		text, err := io.ReadAll(unzipped)
		require.NoError(t, err, name)
		require.NoError(t, file.Close())
		texts[filepath.Base(name)] = string(text)
	}
	return texts
}

func TestRealOutputsComeBack(t *testing.T) {
	texts := realOutputs(t)
	offloaded, bytes, notices := 0, 0, 0
	for sampler, take := range map[string]toolresult.Sampler{
		"head": toolresult.HeadSampler(0, 0), "head and tail": toolresult.HeadTailSampler(0, 0, 0), "short": toolresult.HeadTailSampler(1, 1, 80), "outline": toolresult.OutlineSampler(0),
	} {
		memory, dir := newMemory(), openDir(t, t.TempDir())
		whole := newOffload(t, &toolresult.OffloadConfig{Backend: memory, TokenLimit: 500, Sampler: take})
		streamed := newOffload(t, &toolresult.OffloadConfig{Backend: dir, TokenLimit: 500, Sampler: take})
		for name, text := range texts {
			said := offload(t, whole, name, text)
			chunks, err := chunked(t, streamed, &compose.ToolInput{Name: "fetch", CallID: name}, pieces(text, 4093)...)
			require.NoError(t, err, name)
			require.Equal(t, said, strings.Join(chunks, ""), "%s: a stream reads the same", name)
			if len(text) <= 4*500 {
				assert.True(t, said == text, "%s is within the limit", name)
				continue
			}
			path := pathIn(t, said)
			stored, err := dir.Read(t.Context(), &toolresult.ReadRequest{FilePath: path})
			require.NoError(t, err, name)
			assert.True(t, stored.Content == text, "%s, %s: not what was stored from the stream", name, sampler)
			assert.True(t, memory.stored()[path] == text, "%s, %s: not what was stored whole", name, sampler)
			assert.True(t, utf8.ValidString(said) && !strings.Contains(said, "\x00"), name)
			assert.Less(t, len(said), len(text), name)
			offloaded, bytes, notices = offloaded+1, bytes+len(text), notices+len(said)
		}
	}
	require.NotZero(t, offloaded)
	t.Logf("%d real outputs tried with 4 samplers: %d offloaded, %d bytes became %d", len(texts), offloaded, bytes, notices)
}
