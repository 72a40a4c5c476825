package toolresult

// Names of stored results. A call ID comes from a model, so it can be anything: empty, a path out of the folder, a name
// that Windows keeps for its printers. Distinct IDs get distinct names, and no name leaves its folder.

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"fmt"
	"path"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/eino-toolresult/toolresult/internal/runes"
)

const (
	maxPlainName   = 200 // leaves room for a suffix below the 255 bytes that file systems allow
	maxSegment     = 255
	readablePrefix = 40
)

// SafeName returns the file name of a call ID: the ID itself if it is a portable file name, else a readable part, a "~"
// and a hash. Distinct IDs have distinct names (as sure as 100 bits of SHA-256 are), each is a single path segment of at
// most 200 bytes of ASCII letters, digits, "-", "_", "." and "~". It serves custom path generators as it serves the default one.
func SafeName(callID string) string {
	if isPlainName(callID) {
		return callID
	}
	readable := strings.Map(func(r rune) rune {
		if isPlainRune(r) && r != '.' {
			return r
		}
		return '_'
	}, callID[:min(len(callID), readablePrefix)])
	return readable + "~" + digest(callID)
}

// isPlainName holds for names that every file system and object store takes as they are. "~" is not among them, which
// is what keeps encoded names apart from plain ones.
func isPlainName(name string) bool {
	if name == "" || len(name) > maxPlainName || name[0] == '.' || name[len(name)-1] == '.' {
		return false
	}
	for _, r := range name {
		if !isPlainRune(r) {
			return false
		}
	}
	return !isReserved(name)
}

func isPlainRune(r rune) bool {
	return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || r == '-' || r == '_' || r == '.'
}

// isReserved holds for the names that Windows keeps for devices, with any extension.
func isReserved(name string) bool {
	stem, _, _ := strings.Cut(strings.ToUpper(name), ".")
	switch stem {
	case "CON", "PRN", "AUX", "NUL":
		return true
	}
	return len(stem) == 4 && (strings.HasPrefix(stem, "COM") || strings.HasPrefix(stem, "LPT")) && '0' <= stem[3] && stem[3] <= '9'
}

// defaultPath is the path of a result whose PathGenerator is the default. Without a call ID the content gives the name,
// with a word in front that SafeName never gives out.
func defaultPath(prefix, callID, text string) string {
	if callID == "" {
		return prefix + "/content~" + digest(text)
	}
	return prefix + "/" + SafeName(callID)
}

// pathAttempts is how many names a result tries.
const pathAttempts = 3

// nextPath is the name for an attempt: the result's own, one from its content, a random one.
func nextPath(own, text string, attempt int) string {
	switch attempt {
	case 0:
		return own
	case 1:
		return withSuffix(own, digest(text))
	default:
		return withSuffix(own, rand.Text())
	}
}

// withSuffix puts a suffix before the extension and keeps the last segment within what file systems allow.
func withSuffix(own, suffix string) string {
	folder, name := path.Split(own)
	ext := path.Ext(name)
	if len(ext) == len(name) || len(ext) > readablePrefix {
		ext = ""
	}
	stem := strings.TrimSuffix(name, ext)
	stem = stem[:runes.Floor(stem, maxSegment-len(suffix)-len(ext)-1)]
	return folder + stem + "-" + suffix + ext
}

// checkPath refuses what no backend should be asked to store under.
func checkPath(p string) error {
	if p == "" || p == "/" || p == "." || p == ".." || strings.HasPrefix(p, "../") || path.Clean(p) != p {
		return badPath(p, "a clean path below the root")
	}
	if !isCleanText(p) {
		return badPath(p, wantCleanText)
	}
	return nil
}

// badPath is the error of a generator that returns a path of no use.
func badPath(p, want string) error {
	return fmt.Errorf("PathGenerator returned %q; want %s", p, want)
}

const wantCleanText = "UTF-8 without control characters"

func isCleanText(p string) bool {
	return utf8.ValidString(p) && strings.IndexFunc(p, unicode.IsControl) < 0
}

// cleanPrefix checks a PathPrefix and returns it without its final slash.
func cleanPrefix(field, prefix string) (string, error) {
	if prefix == "" {
		return defaultPathPrefix, nil
	}
	trimmed := strings.TrimSuffix(prefix, "/")
	if !path.IsAbs(trimmed) || trimmed == "/" || path.Clean(trimmed) != trimmed {
		return "", badConfig(field, strconv.Quote(prefix), `an absolute, clean folder other than "/"`)
	}
	if !isCleanText(trimmed) {
		return "", badConfig(field, strconv.Quote(prefix), wantCleanText)
	}
	return trimmed, nil
}

// digest is a short name for a text: 100 bits of its SHA-256 in 20 characters that are the same in any case. The text is
// hashed in pieces, because a conversion to bytes would copy all of it.
func digest(text string) string {
	hash := sha256.New()
	var piece [4096]byte
	for text != "" {
		n := copy(piece[:], text)
		hash.Write(piece[:n])
		text = text[n:]
	}
	return strings.ToLower(base32.HexEncoding.EncodeToString(hash.Sum(nil)))[:20]
}
