package toolresult

import "github.com/eino-toolresult/toolresult/internal/outline"

const (
	outlineRunes = 1000    // the default budget
	outlineMost  = 1 << 20 // what a larger budget is cut to
)

// OutlineSampler shows the shape of JSON (also concatenated, NDJSON, or cut off), CSV and TSV, and its first and last
// elements or rows, all of it within so many characters (runes). Values below 1 ask for the default, 1000.
//
//	{
//	1: "items": [3120 × {"id": number, "tags": [0-12 × string], "price"?: 88 × number|null}]
//	1: {"id":1,"tags":[]},{"id":2,"tags":["a"],"pri [46/401233]
//	1@401201: {"id":3120,"tags":["a","b"]}
//	1@401241: "total": number
//	}
//
// The shape of the elements of an array is merged over all of them: "?" marks a key that some lack, behind it is how many
// have it. Objects that serve as maps are shown as one member: {184 × "1138"|"1139"|…: {…}}. "[12/300]" says how many of the
// keys or characters are shown, "…" is what is left out, or, at the end, that the document ends early. "2: " is a line, and
// "1@401201: " the byte of a long line: offset and byte_offset of the read tool. Members of a document stand in the order in
// which they come, each with its line. NDJSON, CSV and TSV show their own lines below the shape; a table reads
// 25000 × 6 {"zip": string, "county"?: 24990 × string}, which is rows, columns and, with "?", how many cells are not empty.
//
// What was understood before a fault is shown, with the text at the fault, if it is half of the result or more. Any other
// text shows what HeadTailSampler(5, 5, runes) shows, its lines cut further until they fit into the budget.
//
// It passes over the result once, at some hundred megabytes a second. However large the result is, it keeps about a kilobyte
// for each character of the budget at most: as many shapes, excerpts of four bytes, ten lines. Keys are told apart by their
// first 256 bytes; an object has an eighth as many keys as the budget has characters, but 32 at least, and so has a table
// columns; the others are counted. Below 32 levels of nesting there are no shapes. A budget above 1048576 is cut to that.
func OutlineSampler(runes int) Sampler {
	runes = min(orDefault(runes, outlineRunes), outlineMost)
	lines := HeadTailSampler(outline.EndLines, outline.EndLines, runes)
	return func() Sample { return outline.New(runes, lines()) }
}
