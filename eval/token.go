package eval

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// maxText is the longest query that is read. The official script has no such limit;
// nothing that anyone would score comes near it.
const maxText = 1 << 20

// ParseError says why the official reader would refuse a query, and where.
type ParseError struct {
	Offset  int // in bytes from the start of the query
	Message string
}

func (e *ParseError) Error() string {
	return fmt.Sprintf("at offset %d: %s", e.Offset, e.Message)
}

// token is a word of a query: in lower case, or a quoted value as it stands, with
// either kind of quote turned into '"'.
type token struct {
	text string
	pos  int
	kind kind
}

// kind tells the tokens apart that the reader asks for by name. The order matters:
// the numbers of operators in the official tree are differences of kinds.
type kind uint8

const (
	word kind = iota
	value
	end // stands behind the last token

	selectKind
	fromKind
	whereKind
	groupKind
	orderKind
	limitKind
	intersectKind
	unionKind
	exceptKind

	joinKind
	onKind
	asKind

	notKind
	betweenKind
	equalKind
	greaterKind
	lessKind
	greaterEqualKind
	lessEqualKind
	notEqualKind
	inKind
	likeKind
	isKind
	existsKind

	noneKind // "none" is both the absent aggregate and the absent operator
	maxKind
	minKind
	countKind
	sumKind
	avgKind

	minusKind
	plusKind
	starKind
	slashKind

	andKind
	orKind
	openKind
	closeKind
	commaKind
	semicolonKind
	distinctKind
	byKind
	havingKind
	ascKind
	descKind
)

func (k kind) clause() bool   { return selectKind <= k && k <= exceptKind }
func (k kind) join() bool     { return joinKind <= k && k <= asKind }
func (k kind) compare() bool  { return notKind <= k && k <= existsKind }
func (k kind) agg() bool      { return noneKind <= k && k <= avgKind }
func (k kind) operator() bool { return k == noneKind || minusKind <= k && k <= slashKind }
func (k kind) closing() bool  { return k.clause() || k == closeKind || k == semicolonKind }

func kindOf(text string) kind {
	switch text {
	case "select":
		return selectKind
	case "from":
		return fromKind
	case "where":
		return whereKind
	case "group":
		return groupKind
	case "order":
		return orderKind
	case "limit":
		return limitKind
	case "intersect":
		return intersectKind
	case "union":
		return unionKind
	case "except":
		return exceptKind
	case "join":
		return joinKind
	case "on":
		return onKind
	case "as":
		return asKind
	case "not":
		return notKind
	case "between":
		return betweenKind
	case "=":
		return equalKind
	case ">":
		return greaterKind
	case "<":
		return lessKind
	case ">=":
		return greaterEqualKind
	case "<=":
		return lessEqualKind
	case "!=":
		return notEqualKind
	case "in":
		return inKind
	case "like":
		return likeKind
	case "is":
		return isKind
	case "exists":
		return existsKind
	case "none":
		return noneKind
	case "max":
		return maxKind
	case "min":
		return minKind
	case "count":
		return countKind
	case "sum":
		return sumKind
	case "avg":
		return avgKind
	case "-":
		return minusKind
	case "+":
		return plusKind
	case "*":
		return starKind
	case "/":
		return slashKind
	case "and":
		return andKind
	case "or":
		return orKind
	case "(":
		return openKind
	case ")":
		return closeKind
	case ",":
		return commaKind
	case ";":
		return semicolonKind
	case "distinct":
		return distinctKind
	case "by":
		return byKind
	case "having":
		return havingKind
	case "asc":
		return ascKind
	case "desc":
		return descKind
	}
	return word
}

// tokenize splits a query as the official script does: text between two quotes (of
// either kind: they are not told apart) is one value, the rest goes through NLTK's
// word_tokenize in lower case, and "! =", "> =", "< =" are joined. Sentences are not
// split. It appends to toks.
func tokenize(sql string, toks []token) ([]token, error) {
	if len(sql) > maxText {
		return toks, &ParseError{maxText, fmt.Sprintf("the query has %d bytes; at most %d are read", len(sql), maxText)}
	}
	toks, ok, err := tokenizePlain(sql, toks)
	if err != nil {
		return toks, err
	}
	if !ok {
		toks = tokenizeText(sql, toks[:0])
	}
	return joinComparisons(toks), nil
}

// contractions are the words that NLTK cuts in two ("can not") wherever they stand
// alone; the number is the length of the first part.
var contractions = []struct {
	word string
	cut  int
}{{"cannot", 3}, {"gimme", 3}, {"gonna", 3}, {"gotta", 3}, {"lemme", 3}, {"wanna", 3}}

// tokenizePlain reads queries of the common sort in one pass. It reports false for
// the rest, which tokenizeText reads: letters beyond ASCII, backquotes, contractions, and
// values with something else directly beside them.
func tokenizePlain(sql string, toks []token) (_ []token, ok bool, err error) {
	var b strings.Builder
	b.Grow(len(sql))
	quotes, open, plain := 0, 0, true
	for i := 0; i < len(sql); i++ {
		c := sql[i]
		switch {
		case c == '\'' || c == '"':
			if quotes++; quotes%2 == 1 {
				open = i
			}
			c = '"'
		case quotes%2 == 1:
		case 'A' <= c && c <= 'Z':
			c += 'a' - 'A'
		case c >= utf8.RuneSelf || c == '`':
			plain = false
		}
		b.WriteByte(c)
	}
	if quotes%2 == 1 {
		return toks, false, &ParseError{open, "a quote is not closed"}
	}
	text := b.String()
	if !plain || strings.Contains(text, "__val_") {
		return toks, false, nil
	}
	for _, c := range contractions {
		if strings.Contains(text, c.word) {
			return toks, false, nil
		}
	}

	final := finalPeriod(text)
	start := -1 // of the word that is being read
	flush := func(i int) {
		if start >= 0 {
			w := text[start:i]
			toks = append(toks, token{w, start, kindOf(w)})
			start = -1
		}
	}
	single := func(i, j int) {
		flush(i)
		w := text[i:j]
		toks = append(toks, token{w, i, kindOf(w)})
	}
	glued := -1 // a ',' or ':' here is not split off
	for i := 0; i < len(text); {
		c := text[i]
		switch c {
		case ' ', '\t', '\n', '\v', '\f', '\r', 0x1c, 0x1d, 0x1e, 0x1f:
			flush(i)
			i++
		case '"':
			j := i + 1 + strings.IndexByte(text[i+1:], '"') + 1
			if start >= 0 || j < len(text) && !breaks(text, j, final) {
				return toks, false, nil
			}
			toks = append(toks, token{text[i:j], i, value})
			i = j
		case ';', '@', '#', '$', '%', '&', '?', '!', '*', '(', ')', '[', ']', '{', '}', '<', '>':
			single(i, i+1)
			i++
		case ',', ':':
			switch {
			case i == glued && (i+1 == len(text) || text[i+1:] == "\n"):
				single(i, i+1)
			case i == glued:
				if start < 0 {
					start = i
				}
			case i+1 < len(text) && '0' <= text[i+1] && text[i+1] <= '9':
				// "1,2" stays one word.
				if start < 0 {
					start = i
				}
			default:
				// The pattern that splits off a comma takes the character after
				// it along, so that the second of two commas sticks to what follows.
				single(i, i+1)
				glued = i + 1
			}
			i++
		case '.':
			j := i + 1
			for j < len(text) && text[j] == '.' {
				j++
			}
			if j-i > 1 || i == final {
				single(i, j)
			} else if start < 0 {
				start = i
			}
			i = j
		case '-':
			if i+1 < len(text) && text[i+1] == '-' {
				single(i, i+2)
				i += 2
				continue
			}
			fallthrough
		default:
			if start < 0 {
				start = i
			}
			i++
		}
	}
	flush(len(text))
	return toks, true, nil
}

// breaks says whether a value that ends before offset i ends a word there for certain.
func breaks(text string, i, final int) bool {
	switch text[i] {
	case ' ', '\t', '\n', '\r', ';', '(', ')', '*', '!', '?', '<', '>':
		return true
	case ',':
		return i+1 == len(text) || text[i+1] < '0' || text[i+1] > '9'
	case '.':
		return i == final
	}
	return false
}

// finalPeriod finds the period at the end of the text, closing brackets after it
// allowed, that NLTK takes for the end of a sentence; -1 if there is none.
func finalPeriod(text string) int {
	i := len(text)
	for i > 0 && isSpace(rune(text[i-1])) {
		i--
	}
	for i > 0 && strings.IndexByte("])}> ", text[i-1]) >= 0 {
		i--
	}
	if i < 2 || text[i-1] != '.' || text[i-2] == '.' {
		return -1
	}
	return i - 1
}

// joinComparisons turns ">", "=" into ">=", and so on. The official script looks at
// the token before an "=" by a negative index if the "=" is the first one: it finds the last token,
// and doubles the query.
func joinComparisons(toks []token) []token {
	n := 0
	for i, t := range toks {
		if t.kind == equalKind && i > 0 {
			if joined, ok := comparison(toks[i-1]); ok {
				toks[n-1] = joined
				continue
			}
		}
		toks[n] = t
		n++
	}
	toks = toks[:n]
	if n > 1 && toks[0].kind == equalKind {
		if joined, ok := comparison(toks[n-1]); ok {
			rest := append([]token{joined}, toks[1:]...)
			toks = append(toks[:n-1], rest...)
		}
	}
	return toks
}

func comparison(t token) (token, bool) {
	switch t.text {
	case "!":
		return token{"!=", t.pos, notEqualKind}, true
	case ">":
		return token{">=", t.pos, greaterEqualKind}, true
	case "<":
		return token{"<=", t.pos, lessEqualKind}, true
	}
	return t, false
}
