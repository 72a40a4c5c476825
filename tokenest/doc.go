// Package tokenest estimates how many tokens a tokenizer would make of a text, without its vocabulary: one pass over the
// bytes, no allocation, about as fast as a loop that sums the bytes.
//
// It does not count. An [Estimator] is off by two or three per cent on a kind of text (source code, logs, base64, CSV, a
// language), by ten at worst on the kinds that it was fitted to, and by more on a kind that it has never seen. Four bytes
// to a token, the rule of thumb, is off by a quarter on average and by two thirds on base64, numbers and UUIDs, which are
// what tools return. Use a real tokenizer where a single text has to be exact.
//
// A text is read by a finite-state machine whose state says what the byte before was. A byte costs the sum of the
// features that it fires there: a word after a space, a digit after three digits, a lower-case letter after capitals. The
// costs of the hundred features are the whole of a profile, and there is one for each family of tokenizers. They were
// fitted to texts of 87 kinds; the directory fit holds the tool for it, and how to make a profile of one's own.
package tokenest
