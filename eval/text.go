package eval

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// char is a character of a text that is being rewritten, with its place in the original.
type char struct {
	r   rune
	pos int
}

// tokenizeText reads any query, by the very substitutions that the official script and
// NLTK's tokenizer make, one after the other. Substitutions for quotes are left out: there
// are none in the text any more when NLTK sees it. The quotes of sql are balanced.
func tokenizeText(sql string, toks []token) []token {
	values := map[string]string{}
	var text []char
	index, open, openIndex := 0, -1, 0 // the official keys count characters
	for i, r := range sql {
		size := utf8.RuneLen(r)
		if r == utf8.RuneError {
			_, size = utf8.DecodeRuneInString(sql[i:])
		}
		switch {
		case (r == '\'' || r == '"') && open < 0:
			open, openIndex = i, index
		case r == '\'' || r == '"':
			key := fmt.Sprintf("__val_%d_%d__", openIndex, index)
			values[key] = strings.ReplaceAll(sql[open:i+size], "'", `"`)
			for _, k := range key {
				text = append(text, char{k, open})
			}
			open = -1
		case open < 0:
			text = append(text, char{r, i})
		}
		index++
	}

	for _, rule := range rules {
		text = pad(text, rule)
	}
	text = cutContractions(text)
	text = append(text, char{' ', len(sql)})

	var b strings.Builder
	for i := 0; i < len(text); {
		if isSpace(text[i].r) {
			i++
			continue
		}
		b.Reset()
		pos := text[i].pos
		for ; i < len(text) && !isSpace(text[i].r); i++ {
			b.WriteRune(text[i].r)
		}
		w := lower(b.String())
		if v, ok := values[w]; ok {
			toks = append(toks, token{v, pos, value})
		} else {
			toks = append(toks, token{w, pos, kindOf(w)})
		}
	}
	return toks
}

// A rule finds what a substitution matches at text[i]: it puts a space before text[from]
// and one before text[to], and goes on at text[next]. It does not match if next is i.
type rule func(text []char, i int) (from, to, next int)

// rules are NLTK's (version 3.8), in its order. Where several of its patterns in a row put
// spaces around single characters, they are one rule here.
var rules = []rule{
	quotation("«“‘„"),
	run('`', 1, -1),
	run('`', 2, 2),
	endOfSentence,
	comma,
	lastComma,
	run('.', 2, -1),
	single(";@#$%&"),
	single("?!"),
	single("*"),
	single("[](){}<>"),
	run('-', 2, 2),
	quotation("»”’"),
}

func pad(text []char, find rule) []char {
	out := make([]char, 0, len(text)+len(text)/8+8)
	for i := 0; i < len(text); {
		from, to, next := find(text, i)
		if next == i {
			out = append(out, text[i])
			i++
			continue
		}
		for ; i < next; i++ {
			if i == from || i == to {
				out = append(out, char{' ', text[i].pos})
			}
			out = append(out, text[i])
		}
		if to == next {
			out = append(out, char{' ', text[next-1].pos})
		}
	}
	return out
}

// single puts spaces around each of the characters of a set.
func single(set string) rule {
	return func(text []char, i int) (int, int, int) {
		if strings.ContainsRune(set, text[i].r) {
			return i, i + 1, i + 1
		}
		return i, i, i
	}
}

func quotation(set string) rule { return single(set) }

// run puts spaces around at least min times the character c, but not more than max
// (if max is not -1).
func run(c rune, min, max int) rule {
	return func(text []char, i int) (int, int, int) {
		j := i
		for j < len(text) && text[j].r == c && j-i != max {
			j++
		}
		if j-i < min {
			return i, i, i
		}
		return i, j, j
	}
}

// endOfSentence: ([^\.])(\.)([\]\)}>"'»”’ ]*)\s*$ gets spaces around its period.
func endOfSentence(text []char, i int) (int, int, int) {
	if text[i].r != '.' || i == 0 || text[i-1].r == '.' {
		return i, i, i
	}
	j := i + 1
	for j < len(text) && strings.ContainsRune("])}>»”’ ", text[j].r) {
		j++
	}
	for j < len(text) && isSpace(text[j].r) {
		j++
	}
	if j < len(text) {
		return i, i, i
	}
	return i, i + 1, i + 1
}

// comma: ([:,])([^\d]) gets spaces around its first character.
func comma(text []char, i int) (int, int, int) {
	if c := text[i].r; c != ',' && c != ':' || i+1 == len(text) || unicode.IsDigit(text[i+1].r) {
		return i, i, i
	}
	return i, i + 1, i + 2
}

// lastComma: ([:,])$, where $ also stands before a line break that ends the text.
func lastComma(text []char, i int) (int, int, int) {
	c := text[i].r
	last := i+1 == len(text) || i+2 == len(text) && text[i+1].r == '\n'
	if c != ',' && c != ':' || !last {
		return i, i, i
	}
	return i, i + 1, i + 1
}

// cutContractions makes " can not " of "cannot", and so on.
func cutContractions(text []char) []char {
	out := make([]char, 0, len(text)+8)
	for i := 0; i < len(text); {
		cut, n := contraction(text, i)
		if n == 0 {
			out = append(out, text[i])
			i++
			continue
		}
		space := char{' ', text[i].pos}
		out = append(append(append(out, space), text[i:i+cut]...), space)
		out = append(append(out, text[i+cut:i+n]...), space)
		i += n
	}
	return out
}

// contraction is where to cut the contraction that text[i] begins, and its length, 0 if
// there is none. "wanna" is only cut before a space.
func contraction(text []char, i int) (cut, n int) {
	if i > 0 && isWord(text[i-1].r) {
		return 0, 0
	}
	for _, c := range contractions {
		n := len(c.word)
		if i+n > len(text) || !folds(text[i:i+n], c.word) {
			continue
		}
		if i+n < len(text) && (isWord(text[i+n].r) || c.word == "wanna" && !isSpace(text[i+n].r)) {
			continue
		}
		return c.cut, n
	}
	return 0, 0
}

func folds(text []char, word string) bool {
	for i, c := range text {
		if fold(c.r) != rune(word[i]) {
			return false
		}
	}
	return true
}

// fold is the case folding of Python's re for the letters of contractions.
func fold(r rune) rune {
	switch {
	case 'A' <= r && r <= 'Z':
		return r + 'a' - 'A'
	case r == 'İ' || r == 'ı':
		return 'i'
	}
	return r
}

// isSpace is Python's: unlike Go's, it takes four separators of ASCII for white space.
func isSpace(r rune) bool { return unicode.IsSpace(r) || 0x1c <= r && r <= 0x1f }

func isWord(r rune) bool {
	return r == '_' || unicode.IsLetter(r) || unicode.IsNumber(r)
}

// lower is Python's str.lower: Go's, but for the two characters whose lower case is not
// one fixed character.
func lower(s string) string {
	if !strings.ContainsAny(s, "İΣ") {
		return strings.ToLower(s)
	}
	var b strings.Builder
	rs := []rune(s)
	for i, r := range rs {
		switch {
		case r == 'İ':
			b.WriteString("i̇")
		case r == 'Σ' && finalSigma(rs, i):
			b.WriteRune('ς')
		default:
			b.WriteRune(unicode.ToLower(r))
		}
	}
	return b.String()
}

// finalSigma: a letter with case comes before, and none after, past what has none.
func finalSigma(rs []rune, i int) bool {
	before := i - 1
	for before >= 0 && caseless(rs[before]) {
		before--
	}
	after := i + 1
	for after < len(rs) && caseless(rs[after]) {
		after++
	}
	return before >= 0 && cased(rs[before]) && (after == len(rs) || !cased(rs[after]))
}

// caseless is Unicode's Case_Ignorable.
func caseless(r rune) bool {
	return strings.ContainsRune("'.:··՟״‧︓﹕：’‘․﹒．＇", r) || unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf, unicode.Lm, unicode.Sk)
}

func cased(r rune) bool {
	return unicode.IsUpper(r) || unicode.IsLower(r) || unicode.IsTitle(r) ||
		unicode.Is(unicode.Other_Lowercase, r) || unicode.Is(unicode.Other_Uppercase, r)
}
