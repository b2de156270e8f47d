package tabert

import (
	"slices"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// char is a character of normalised text, with the bytes of the original that it stands for.
type char struct {
	r          rune
	start, end int
}

// splitWords calls fn with each word of text as BERT's basic tokenizer cleans and separates it: characters of
// category C* and U+FFFD dropped, words ended by white space, each CJK ideograph a word. The slice is
// valid during the call only; fn returns false to stop.
func splitWords(text string, fn func(word []char) bool) {
	var word []char
	flush := func() bool {
		if len(word) == 0 {
			return true
		}
		more := fn(word)
		word = word[:0]
		return more
	}
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		c := char{r, i, i + size}
		i += size
		switch {
		case isSpace(r):
			if !flush() {
				return
			}
		case isDropped(r):
		case isIdeograph(r):
			if !flush() {
				return
			}
			word = append(word, c)
			if !flush() {
				return
			}
		default:
			word = append(word, c)
		}
	}
	flush()
}

// fold lower-cases a word in place as Python does (the full Unicode mapping, final sigma included), decomposes
// it (NFD) and drops marks of category Mn. The bytes of a dropped mark go to the character before it.
func fold(word []char) []char {
	if ascii := !slices.ContainsFunc(word, func(c char) bool { return c.r >= utf8.RuneSelf }); ascii {
		for i, c := range word {
			if 'A' <= c.r && c.r <= 'Z' {
				word[i].r += 'a' - 'A'
			}
		}
		return word
	}

	decomposed := make([]char, 0, len(word)+4)
	ccc := make([]uint8, 0, len(word)+4)
	var buf []byte
	for i, c := range word {
		lower := unicode.ToLower(c.r)
		switch c.r {
		case 'İ':
			lower = 'i' // followed by U+0307, a mark that would be dropped anyway
		case 'Σ':
			if isFinalSigma(word, i) {
				lower = 'ς'
			}
		}
		buf = norm.NFD.AppendString(buf[:0], string(lower))
		for _, r := range string(buf) {
			decomposed = append(decomposed, char{r, c.start, c.end})
			ccc = append(ccc, norm.NFD.PropertiesString(string(r)).CCC())
		}
	}
	// Canonical order: each run of marks is sorted by combining class, equal ones stay in place.
	for i := 1; i < len(decomposed); i++ {
		for j := i; j > 0 && ccc[j] != 0 && ccc[j-1] > ccc[j]; j-- {
			decomposed[j], decomposed[j-1] = decomposed[j-1], decomposed[j]
			ccc[j], ccc[j-1] = ccc[j-1], ccc[j]
		}
	}
	kept := decomposed[:0]
	for _, c := range decomposed {
		if !unicode.Is(unicode.Mn, c.r) {
			kept = append(kept, c)
		} else if n := len(kept); n > 0 {
			kept[n-1].end = max(kept[n-1].end, c.end)
		}
	}
	return kept
}

// isFinalSigma is Unicode's Final_Sigma condition within a word: a cased letter before, none after, case-ignorable ones skipped.
func isFinalSigma(word []char, i int) bool {
	j := i - 1
	for j >= 0 && isCaseIgnorable(word[j].r) {
		j--
	}
	if j < 0 || !isCased(word[j].r) {
		return false
	}
	j = i + 1
	for j < len(word) && isCaseIgnorable(word[j].r) {
		j++
	}
	return j == len(word) || !isCased(word[j].r)
}

func isCased(r rune) bool {
	return unicode.In(r, unicode.Lu, unicode.Ll, unicode.Lt, unicode.Other_Lowercase, unicode.Other_Uppercase)
}

func isCaseIgnorable(r rune) bool {
	switch r {
	case '\'', '.', ':', '·', '\u0387', '\u055F', '\u05F4', '\u2018', '\u2019', '\u2024', '\u2027',
		'\uFE13', '\uFE52', '\uFE55', '\uFF07', '\uFF0E', '\uFF1A':
		return true
	}
	return unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf, unicode.Lm, unicode.Sk)
}

func isSpace(r rune) bool {
	return r == ' ' || r == '\t' || r == '\n' || r == '\r' || r >= utf8.RuneSelf && unicode.Is(unicode.Z, r)
}

// isDropped tells characters of category C*, unassigned ones among them, and what stands for unreadable bytes.
func isDropped(r rune) bool {
	if r < utf8.RuneSelf {
		return r < ' ' || r == 0x7F
	}
	return r == utf8.RuneError || !unicode.In(r, unicode.L, unicode.M, unicode.N, unicode.P, unicode.S, unicode.Z)
}

// isPunctuation is BERT's idea of it: all ASCII that is no letter, digit or space, and category P*.
func isPunctuation(r rune) bool {
	if r < utf8.RuneSelf {
		return '!' <= r && r <= '/' || ':' <= r && r <= '@' || '[' <= r && r <= '`' || '{' <= r && r <= '~'
	}
	return unicode.Is(unicode.P, r)
}

// isIdeograph tells the CJK blocks that BERT sets apart: no kana, no Hangul.
func isIdeograph(r rune) bool {
	return r >= 0x3400 && (r <= 0x4DBF || 0x4E00 <= r && r <= 0x9FFF || 0xF900 <= r && r <= 0xFAFF ||
		0x20000 <= r && r <= 0x2A6DF || 0x2A700 <= r && r <= 0x2B73F || 0x2B740 <= r && r <= 0x2B81F ||
		0x2B820 <= r && r <= 0x2CEAF || 0x2F800 <= r && r <= 0x2FA1F)
}
