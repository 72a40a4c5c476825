// Package layout says under which keys things lie in a bucket.
//
// A store has no folders, but some servers keep objects as files, and those refuse the keys x and x/y beside each other. So
// no key of ours may begin with another one and a slash. Results end in .result, folders never do, and everything else lies
// in one hidden folder, under names without a slash.
package layout

import (
	"fmt"
	"io/fs"
	"path"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	// Suffix ends the key of every result, and of nothing else.
	Suffix = ".result"
	// Hidden is the folder below a prefix for all that is no result.
	Hidden = ".toolresult"

	dataFolder  = Hidden + "/data/"
	linesFolder = Hidden + "/lines/"

	maxPart = 255  // bytes; of servers on file systems
	maxKey  = 1024 // bytes; of S3, GCS and Azure
)

var (
	errPath = fmt.Errorf("%w: want a path below the root, in UTF-8 without \"..\", backslash or control characters, its parts of at most %d bytes, the last of %d, all of %d",
		fs.ErrInvalid, maxPart, maxPart-len(Suffix), maxKey)
	errReserved = fmt.Errorf("%w: the folder %s is reserved", fs.ErrInvalid, Hidden)
)

// Layout is the keys below one prefix, which is empty or ends with a slash.
type Layout struct{ prefix string }

// New cleans a prefix as it comes from a user.
func New(prefix string) (Layout, error) {
	if strings.Trim(prefix, "/") == "" {
		return Layout{}, nil
	}
	clean, err := cleanPath(prefix)
	if err != nil || isHidden(clean) {
		return Layout{}, fmt.Errorf("%w, and not %s", errPath, Hidden)
	}
	return Layout{clean + "/"}, nil
}

// Root is what all keys begin with.
func (l Layout) Root() string { return l.prefix }

// Data is the key of the bytes of a large result; all of them begin with DataRoot.
func (l Layout) Data(id string) string { return l.DataRoot() + id }

// DataRoot is what the keys of Data begin with.
func (l Layout) DataRoot() string { return l.prefix + dataFolder }

// Lines is the key of the line index of a large result; all of them begin with LinesRoot.
func (l Layout) Lines(id string) string { return l.LinesRoot() + id }

// LinesRoot is what the keys of Lines begin with.
func (l Layout) LinesRoot() string { return l.prefix + linesFolder }

// Probe is a key for trying out what a store can do.
func (l Layout) Probe(id string) string { return l.prefix + Hidden + "/probe/" + id }

// Result is the key under which a result is found.
func (l Layout) Result(virtual string) (string, error) {
	clean, err := cleanPath(virtual)
	if err != nil {
		return "", err
	}
	if isHidden(clean) {
		return "", errReserved
	}
	folders, name := path.Split(clean)
	key := l.prefix + mapParts(folders, escape) + name + Suffix
	if len(key) > maxKey || hasLongPart(key) {
		return "", errPath
	}
	return key, nil
}

// Folder is what the keys of all results in a folder begin with.
func (l Layout) Folder(virtual string) (string, error) {
	if strings.Trim(virtual, "/") == "" {
		return l.prefix, nil
	}
	clean, err := cleanPath(virtual)
	if err != nil {
		return "", err
	}
	return l.prefix + mapParts(clean, escape) + "/", nil
}

// Path is the path of a result, or not ok for any key that Result does not give.
func (l Layout) Path(key string) (virtual string, ok bool) {
	rest, ours := strings.CutPrefix(key, l.prefix)
	rest, named := strings.CutSuffix(rest, Suffix)
	if !ours || !named {
		return "", false
	}
	folders, name := path.Split(rest)
	virtual = "/" + mapParts(folders, unescape) + name
	again, err := l.Result(virtual)
	return virtual, err == nil && again == key
}

// cleanPath does by itself all that keeps a path below the root, because what a driver makes of dots and of characters that
// its store cannot have differs from one to the next.
func cleanPath(virtual string) (string, error) {
	clean := path.Clean(strings.Trim(virtual, "/"))
	bad := func(r rune) bool { return r == '\\' || unicode.IsControl(r) }
	if clean == "." || !utf8.ValidString(virtual) || strings.ContainsFunc(virtual, bad) {
		return "", errPath
	}
	for part := range strings.SplitSeq(virtual, "/") {
		if part == ".." || len(part) > maxPart {
			return "", errPath
		}
	}
	return clean, nil
}

// isHidden is blind to case, because a server on a file system may be.
func isHidden(clean string) bool {
	first, _, _ := strings.Cut(clean, "/")
	return strings.EqualFold(first, Hidden)
}

func hasLongPart(key string) bool {
	for part := range strings.SplitSeq(key, "/") {
		if len(part) > maxPart {
			return true
		}
	}
	return false
}

func mapParts(folders string, by func(string) string) string {
	parts := strings.Split(folders, "/")
	for i, part := range parts {
		parts[i] = by(part)
	}
	return strings.Join(parts, "/")
}

// escape keeps a folder from ending as results do: x.result becomes x.result+, and x.result+ another plus longer.
func escape(folder string) string {
	if endsLikeResult(folder) {
		return folder + "+"
	}
	return folder
}

func unescape(folder string) string {
	if shorter, ok := strings.CutSuffix(folder, "+"); ok && endsLikeResult(folder) {
		return shorter
	}
	return folder
}

func endsLikeResult(folder string) bool {
	return strings.HasSuffix(strings.TrimRight(folder, "+"), Suffix)
}
