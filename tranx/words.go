package tranx

import (
	"unicode"
	"unicode/utf8"
)

// Word is a piece of a text.
type Word struct {
	Text       string // a run of letters, a run of digits, or a single other character
	Space      string // the white space before it
	Start, End int    // byte offsets of Text in the whole
}

// Words splits a text without loss: the concatenation of Space+Text over all words is the
// text again. White space at the end is a last word with an empty Text. Questions and values
// are both split like this, so that the words of one can be copied to the other.
func Words(text string) []Word {
	var words []Word
	for pos := 0; pos < len(text); {
		start := run(text, pos, unicode.IsSpace)
		end := start
		if r, size := utf8.DecodeRuneInString(text[start:]); unicode.IsLetter(r) {
			end = run(text, start, isLetter)
		} else if unicode.IsDigit(r) {
			end = run(text, start, unicode.IsDigit)
		} else {
			end += size
		}
		words = append(words, Word{Text: text[start:end], Space: text[pos:start], Start: start, End: end})
		pos = end
	}
	return words
}

// An accent written behind its letter belongs to the run.
func isLetter(r rune) bool { return unicode.IsLetter(r) || unicode.IsMark(r) }

// run gives the end of the run of runes of a class that begins at pos.
func run(text string, pos int, class func(rune) bool) int {
	for pos < len(text) {
		r, size := utf8.DecodeRuneInString(text[pos:])
		if !class(r) {
			break
		}
		pos += size
	}
	return pos
}
