package tiktoken_test

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// texts returns the texts of this repository's own by kind: those of testdata, and what a program prints better than a
// person writes. None of them took part in a fit.
func texts(t testing.TB) map[string]string {
	t.Helper()
	all := generated()
	files, err := filepath.Glob("testdata/*")
	require.NoError(t, err)
	require.Len(t, files, 13)
	for _, file := range files {
		data, err := os.ReadFile(file)
		require.NoError(t, err)
		all[filepath.Base(file)] = string(data)
	}
	return all
}

func generated() map[string]string {
	r := rand.New(rand.NewPCG(17, 41))
	random := func(n int) []byte {
		b := make([]byte, n)
		for i := range b {
			b[i] = byte(r.Uint32())
		}
		return b
	}
	var uuids, numbers strings.Builder
	for range 40 {
		u := hex.EncodeToString(random(16))
		fmt.Fprintf(&uuids, "%s-%s-%s-%s-%s\n", u[:8], u[8:12], u[12:16], u[16:20], u[20:])
		fmt.Fprintf(&numbers, "%d,%.3f,%d,%.2f,%d\n", r.IntN(100_000), r.Float64()*100, r.IntN(50), r.NormFloat64()*1e4, 1_772_352_000+r.IntN(1e6))
	}
	return map[string]string{
		"base64":  base64.StdEncoding.EncodeToString(random(1500)),
		"hexdump": hex.Dump(random(700)),
		"numbers": "id,ratio,age,balance,time\n" + numbers.String(),
		"uuids":   uuids.String(),
	}
}
