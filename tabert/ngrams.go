package tabert

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxN is the length of the longest n-grams that count in a snapshot (§3.1 of the paper, footnote).
const maxN = 3

// appendWords adds the words of text that n-grams are made of: runs of letters, marks and digits, lower-cased and
// without accents as the tokenizer has them; an ideograph is a word. Punctuation separates and is no word.
func appendWords(words []string, text string) []string {
	ascii := true
	for i := 0; i < len(text); i++ {
		if text[i] >= utf8.RuneSelf {
			ascii = false
			break
		}
	}
	if ascii {
		text = strings.ToLower(text)
		start := -1
		for i := 0; i < len(text); i++ {
			if c := text[i]; 'a' <= c && c <= 'z' || '0' <= c && c <= '9' {
				if start < 0 {
					start = i
				}
			} else if start >= 0 {
				words = append(words, text[start:i])
				start = -1
			}
		}
		if start >= 0 {
			words = append(words, text[start:])
		}
		return words
	}
	splitWords(text, func(word []char) bool {
		word = fold(word)
		for start := 0; start < len(word); {
			end := start
			for end < len(word) && unicode.In(word[end].r, unicode.L, unicode.M, unicode.N) {
				end++
			}
			if end > start {
				words = append(words, characters(word[start:end]))
			}
			start = max(end, start+1)
		}
		return true
	})
	return words
}

// grams are the n-grams of an utterance over numbered words.
type grams struct {
	one   map[uint32]bool
	two   map[[2]uint32]bool
	three map[[3]uint32]bool
}

// noWord is the number of words that the utterance does not have.
const noWord = ^uint32(0)

func gramsOf(words []uint32) grams {
	g := grams{map[uint32]bool{}, map[[2]uint32]bool{}, map[[3]uint32]bool{}}
	for i, w := range words {
		g.one[w] = true
		if i >= 1 {
			g.two[[2]uint32{words[i-1], w}] = true
		}
		if i >= 2 {
			g.three[[3]uint32{words[i-2], words[i-1], w}] = true
		}
	}
	return g
}

// overlap counts the n-grams of words (n ≤ 3, each as often as it occurs) and those of them in g.
func (g grams) overlap(words []uint32) ratio {
	r := ratio{all: gramCount(len(words))}
	run := 0 // words of the utterance up to here
	for i, w := range words {
		if w == noWord || !g.one[w] {
			run = 0
			continue
		}
		run++
		r.hits++
		if run >= 2 && g.two[[2]uint32{words[i-1], w}] {
			r.hits++
		}
		if run >= 3 && g.three[[3]uint32{words[i-2], words[i-1], w}] {
			r.hits++
		}
	}
	return r
}

func gramCount(words int) int {
	n := 0
	for i := range maxN {
		n += max(0, words-i)
	}
	return n
}

// ratio is a share of n-grams, kept as counts so that it compares exactly.
type ratio struct{ hits, all int }

func (r ratio) less(s ratio) bool {
	return r.hits*max(s.all, 1) < s.hits*max(r.all, 1)
}

func (r ratio) plus(s ratio) ratio { return ratio{r.hits + s.hits, r.all + s.all} }
