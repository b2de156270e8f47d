package parser

import (
	"strings"
	"unicode"

	"github.com/tabert-workbench/tabert-workbench/tranx"
)

// stopWords match nothing: a column named "id of the student" is not found by "of".
var stopWords = map[string]bool{"a": true, "an": true, "the": true, "of": true, "in": true, "on": true, "for": true,
	"to": true, "and": true, "or": true, "is": true, "are": true, "by": true, "with": true, "at": true, "from": true}

// stem makes singular and plural alike.
func stem(word string) string {
	w := strings.ToLower(word)
	switch {
	case len(w) > 4 && strings.HasSuffix(w, "ies"):
		return w[:len(w)-3] + "y"
	case len(w) > 4 && (strings.HasSuffix(w, "ses") || strings.HasSuffix(w, "xes") || strings.HasSuffix(w, "ches") || strings.HasSuffix(w, "shes")):
		return w[:len(w)-2]
	case len(w) > 3 && strings.HasSuffix(w, "s") && !strings.HasSuffix(w, "ss"):
		return w[:len(w)-1]
	}
	return w
}

// stems are the stems of a text's words, "" for those that match nothing.
func stems(words []tranx.Word) []string {
	out := make([]string, len(words))
	for i, w := range words {
		first := rune(0)
		for _, r := range w.Text {
			first = r
			break
		}
		if (unicode.IsLetter(first) || unicode.IsDigit(first)) && !stopWords[strings.ToLower(w.Text)] {
			out[i] = stem(w.Text)
		}
	}
	return out
}

// link matches a name with the question: which of the question's words are words of the
// name, and whether the name as a whole counts as mentioned, which it does where at least
// half of its words occur. This is the paper's "matches with the name", spelled out.
func link(question, name []string) (words []bool, mentioned bool) {
	words = make([]bool, len(question))
	total, found := 0, 0
	for _, n := range name {
		if n == "" {
			continue
		}
		total++
		hit := false
		for i, q := range question {
			if q == n {
				words[i], hit = true, true
			}
		}
		if hit {
			found++
		}
	}
	if mentioned = found > 0 && 2*found >= total; !mentioned {
		return make([]bool, len(question)), false
	}
	return words, true
}
