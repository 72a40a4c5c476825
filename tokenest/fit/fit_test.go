package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/eino-toolresult/toolresult/tokenest"
)

// kindsOfText are enough to tell some features from others, and no more.
var kindsOfText = map[string]string{
	"code":    "func (m *Meter) add(n int) int {\n\tm.n += n // and nothing else\n\treturn m.n\n}\n",
	"numbers": "12 345 6789\n10, 200, 3000, 40000\n",
	"prose":   "A parcel that is too large for the counter goes into a locker. ",
	"zh":      "结果太大，已存入文件。\n",
}

// writeCorpus writes a corpus whose true counts come from a profile that is known.
func writeCorpus(t *testing.T, e *tokenest.Estimator) string {
	t.Helper()
	dir := t.TempDir()
	c := counts{Chunks: map[string][]int{}, Counts: map[string]map[string][]int{"known": {}}}
	for name, text := range kindsOfText {
		text = strings.Repeat(text, 100)
		c.Chunks[name] = []int{0}
		for at := 0; at+700 < len(text); at += 700 {
			c.Chunks[name] = append(c.Chunks[name], at+700)
			c.Counts["known"][name] = append(c.Counts["known"][name], e.Estimate(text[at:at+700]))
		}
		write(t, filepath.Join(dir, name+".txt"), []byte(text))
	}
	data, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "counts.json"), data)
	return dir
}

func write(t *testing.T, file string, data []byte) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, data, 0o644)); err != nil {
		t.Fatal(err)
	}
}

func TestFitFindsAKnownProfile(t *testing.T) {
	c, err := readCorpus(writeCorpus(t, tokenest.O200K()), split{oneIn: 4})
	if err != nil {
		t.Fatal(err)
	}
	costs := costsFor(c, "known")
	e, err := tokenest.NewEstimator(profile(&costs))
	if err != nil {
		t.Fatal(err)
	}
	errs := errorsOf(c, e, "known")
	if len(errs) != len(kindsOfText) {
		t.Fatalf("%d kinds, want %d", len(errs), len(kindsOfText))
	}
	for _, k := range errs {
		if math.Abs(k.held) > .02 {
			t.Errorf("%s is %+.3f off, though a profile without error exists", k.name, k.held)
		}
	}
	for i, cost := range costs {
		if cost < 0 || cost > maxCost {
			t.Errorf("cost %d is %v, out of range", i, cost)
		}
	}
}

func TestReportNamesEveryKind(t *testing.T) {
	dir := writeCorpus(t, tokenest.O200K())
	var out bytes.Buffer
	if err := run([]string{"-texts", dir}, &out); err != nil {
		t.Fatal(err)
	}
	for name := range kindsOfText {
		if !strings.Contains(out.String(), name) {
			t.Errorf("no %s in the report:\n%s", name, out.String())
		}
	}
}

func TestJSONMakesAnEstimator(t *testing.T) {
	var out bytes.Buffer
	if err := run([]string{"-texts", writeCorpus(t, tokenest.Qwen()), "-json", "known"}, &out); err != nil {
		t.Fatal(err)
	}
	var costs map[string]int
	if err := json.Unmarshal(out.Bytes(), &costs); err != nil {
		t.Fatal(err)
	}
	if _, err := tokenest.NewEstimator(costs); err != nil {
		t.Fatal(err)
	}
}

func TestRefused(t *testing.T) {
	good := writeCorpus(t, tokenest.O200K())
	corpus := func(counts, text string) []string {
		dir := t.TempDir()
		write(t, filepath.Join(dir, "counts.json"), []byte(counts))
		write(t, filepath.Join(dir, "a.txt"), []byte(text))
		return []string{"-texts", dir}
	}
	cases := []struct {
		reason string
		args   []string
		want   string
	}{
		{"there is nothing to read", nil, "-texts is missing"},
		{"one chunk in one would leave none to fit to", []string{"-texts", good, "-holdout", "1"}, "-holdout is 1"},
		{"a tokenizer without counts", []string{"-texts", good, "-json", "gpt"}, `-json is "gpt"`},
		{"the shipped table needs all seven", []string{"-texts", good, "-go", filepath.Join(t.TempDir(), "x")}, "no counts by o200k"},
		{"a folder without counts", []string{"-texts", t.TempDir()}, "counts.json"},
		{"not JSON", corpus("{", "text"), "counts.json"},
		{"a chunk behind the end of the text", corpus(`{"chunks":{"a":[0,9]},"counts":{"x":{"a":[1]}}}`, "text"), "chunk 0 is [0:9] of 4 bytes"},
		{"an empty chunk has no relative error", corpus(`{"chunks":{"a":[2,2]},"counts":{"x":{"a":[1]}}}`, "text"), "chunk 0 is [2:2]"},
		{"a chunk without a count", corpus(`{"chunks":{"a":[0,2,4]},"counts":{"x":{"a":[1]}}}`, "text"), "chunk 1 has no count by x"},
		{"a count of 0 is no count", corpus(`{"chunks":{"a":[0,4]},"counts":{"x":{"a":[0]}}}`, "text"), "chunk 0 has no count by x"},
		{"a kind without its text", corpus(`{"chunks":{"b":[0,4]},"counts":{"x":{"b":[1]}}}`, "text"), "b.txt"},
	}
	for _, c := range cases {
		if err := run(c.args, io.Discard); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q in it", c.reason, err, c.want)
		}
	}
}

// The table that the library ships must be what this tool makes of the corpus, or nobody could make the next one.
func TestShippedTableIsReproduced(t *testing.T) {
	const archive = "../../../shared/tokens/fit-corpus.tar.gz"
	f, err := os.Open(archive)
	if errors.Is(err, fs.ErrNotExist) {
		t.Skipf("%s is not here, so the shipped table goes unchecked: it holds the texts and their true counts", archive)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	dir, made := t.TempDir(), filepath.Join(t.TempDir(), "costs.go")
	unpack(t, f, dir)
	if err := run([]string{"-texts", dir, "-go", made}, io.Discard); err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile(made)
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile("../costs.go")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Error("../costs.go differs from what -go writes; run it again, and look at the errors first")
	}
}

func unpack(t *testing.T, archive io.Reader, dir string) {
	t.Helper()
	z, err := gzip.NewReader(archive)
	if err != nil {
		t.Fatal(err)
	}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		if h.Typeflag != tar.TypeReg {
			continue
		}
		data, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(dir, filepath.FromSlash(h.Name)), data)
	}
}
