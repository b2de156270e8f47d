package sql

import (
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/alecthomas/participle/v2/lexer"
)

// Kinds of token. Quoted is a name in double quotes, backquotes or brackets; String is
// in single quotes.
const (
	tokenIdent lexer.TokenType = -(iota + 2)
	tokenKeyword
	tokenQuoted
	tokenString
	tokenNumber
	tokenOp
)

// Limits that keep the recursion of reader and printer bounded.
const (
	maxTokens = 20000
	maxNested = 100
)

// keywords are the words that end a name: no alias, table or column is written like this
// without quotes or a qualifier. SQLite allows some of them as names; the words of Spider's
// schemas (rank, date, year, cast, key, ...) are none of them.
var keywords = wordSet(`ALL AND AS ASC BETWEEN BY CASE COLLATE CROSS DESC DISTINCT ELSE END ESCAPE EXCEPT EXISTS
	FROM FULL GLOB GROUP HAVING IN INNER INTERSECT IS ISNULL JOIN LEFT LIKE LIMIT NATURAL NOT NOTNULL NULL
	OFFSET ON OR ORDER OUTER RIGHT SELECT THEN UNION USING VALUES WHEN WHERE WITH`)

func wordSet(words string) map[string]bool {
	set := map[string]bool{}
	for _, w := range strings.Fields(words) {
		set[w] = true
	}
	return set
}

// definition is SQL's lexer for participle.
type definition struct{}

func (definition) Symbols() map[string]lexer.TokenType {
	return map[string]lexer.TokenType{
		"EOF": lexer.EOF, "Ident": tokenIdent, "Keyword": tokenKeyword, "Quoted": tokenQuoted,
		"String": tokenString, "Number": tokenNumber, "Op": tokenOp,
	}
}

func (d definition) Lex(name string, r io.Reader) (lexer.Lexer, error) {
	b, err := io.ReadAll(r)
	if err != nil {
		return nil, err
	}
	return d.LexString(name, string(b))
}

func (definition) LexString(name, text string) (lexer.Lexer, error) {
	return &scanner{text: text, pos: lexer.Position{Filename: name, Line: 1, Column: 1}}, nil
}

type scanner struct {
	text           string
	pos            lexer.Position // of the next character
	tokens, nested int
}

// advance moves n bytes on; columns count characters.
func (s *scanner) advance(n int) {
	part := s.text[s.pos.Offset : s.pos.Offset+n]
	for _, r := range part {
		if r == '\n' {
			s.pos.Line++
			s.pos.Column = 1
		} else {
			s.pos.Column++
		}
	}
	s.pos.Offset += n
}

func (s *scanner) fail(pos lexer.Position, found, expected string) error {
	return &SyntaxError{Line: pos.Line, Column: pos.Column, Found: found, Expected: expected}
}

func (s *scanner) Next() (lexer.Token, error) {
	if err := s.skipSpace(); err != nil {
		return lexer.Token{}, err
	}
	rest := s.text[s.pos.Offset:]
	// A semicolon ends the statement; nothing but white space may follow.
	if strings.HasPrefix(rest, ";") && strings.Trim(rest, "; \t\r\n") == "" {
		s.advance(len(rest))
		rest = ""
	}
	if rest == "" {
		return lexer.EOFToken(s.pos), nil
	}
	if s.tokens++; s.tokens > maxTokens {
		return lexer.Token{}, s.fail(s.pos, "a longer query", fmt.Sprintf("at most %d words", maxTokens))
	}
	kind, n, err := s.scan(rest)
	if err != nil {
		return lexer.Token{}, err
	}
	token := lexer.Token{Type: kind, Value: rest[:n], Pos: s.pos}
	switch token.Value {
	case "(":
		if s.nested++; s.nested > maxNested {
			return lexer.Token{}, s.fail(s.pos, "one more", fmt.Sprintf("at most %d parentheses in each other", maxNested))
		}
	case ")":
		s.nested--
	}
	s.advance(n)
	return token, nil
}

// skipSpace skips white space and both kinds of comment.
func (s *scanner) skipSpace() error {
	for {
		rest := s.text[s.pos.Offset:]
		switch {
		case strings.HasPrefix(rest, "--"):
			n := strings.IndexByte(rest, '\n')
			if n < 0 {
				n = len(rest)
			}
			s.advance(n)
		case strings.HasPrefix(rest, "/*"):
			n := strings.Index(rest[2:], "*/")
			if n < 0 {
				return s.fail(s.pos, "the end of the query", "*/, which ends this comment")
			}
			s.advance(n + 4)
		default:
			r, n := utf8.DecodeRuneInString(rest)
			if n == 0 || !unicode.IsSpace(r) {
				return nil
			}
			s.advance(n)
		}
	}
}

// scan tells the kind and length of the token that rest starts with.
func (s *scanner) scan(rest string) (lexer.TokenType, int, error) {
	c := rest[0]
	switch {
	case c == '\'' || c == '"' || c == '`' || c == '[':
		n := quotedLen(rest)
		if n < 0 {
			return 0, 0, s.fail(s.pos, "the end of the query", fmt.Sprintf("%c, which ends what begins here", closing(c)))
		}
		if c == '\'' {
			return tokenString, n, nil
		}
		return tokenQuoted, n, nil
	case isDigit(c) || c == '.' && len(rest) > 1 && isDigit(rest[1]):
		return s.scanNumber(rest)
	}
	if n := identLen(rest); n > 0 {
		if n <= 9 && keywords[strings.ToUpper(rest[:n])] {
			return tokenKeyword, n, nil
		}
		return tokenIdent, n, nil
	}
	if len(rest) > 1 {
		switch rest[:2] {
		case "<=", ">=", "<>", "!=", "==", "||", "<<", ">>":
			return tokenOp, 2, nil
		}
	}
	if strings.IndexByte("()*,.+-/%<>=&|~", c) >= 0 {
		return tokenOp, 1, nil
	}
	if c == ';' {
		return 0, 0, s.fail(s.pos, "more behind a semicolon", "one statement")
	}
	r, _ := utf8.DecodeRuneInString(rest)
	return 0, 0, s.fail(s.pos, fmt.Sprintf("%q", r), "SQL")
}

func (s *scanner) scanNumber(rest string) (lexer.TokenType, int, error) {
	n := 0
	digits := func() {
		for n < len(rest) && isDigit(rest[n]) {
			n++
		}
	}
	digits()
	if n < len(rest) && rest[n] == '.' {
		n++
		digits()
	}
	if n < len(rest) && (rest[n] == 'e' || rest[n] == 'E') {
		m := n
		n++
		if n < len(rest) && (rest[n] == '+' || rest[n] == '-') {
			n++
		}
		if n < len(rest) && isDigit(rest[n]) {
			digits()
		} else {
			n = m
		}
	}
	// A name may not start with a digit; models write such names (18_49_Rating) all the same.
	if m := identLen(rest[n:]); m > 0 {
		if strings.IndexByte(rest[:n], '.') < 0 {
			return tokenIdent, n + m, nil
		}
		return 0, 0, s.fail(s.pos, rest[:n+m], "a number")
	}
	return tokenNumber, n, nil
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// identLen is the length of the name that s starts with: letters, digits, "_" and "$",
// and (as SQLite has it) everything beyond ASCII.
func identLen(s string) int {
	n := 0
	for n < len(s) {
		c := s[n]
		if c < utf8.RuneSelf {
			if !('a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '_' || isDigit(c) || c == '$') {
				break
			}
			n++
			continue
		}
		r, size := utf8.DecodeRuneInString(s[n:])
		if unicode.IsSpace(r) || r == utf8.RuneError && size <= 1 {
			break
		}
		n += size
	}
	return n
}

func closing(open byte) byte {
	if open == '[' {
		return ']'
	}
	return open
}

// quotedLen is the length of the quoted text that s starts with, or -1. A doubled quote
// stands for itself, except in brackets.
func quotedLen(s string) int {
	end := closing(s[0])
	for i := 1; i < len(s); i++ {
		if s[i] != end {
			continue
		}
		if end != ']' && i+1 < len(s) && s[i+1] == end {
			i++
			continue
		}
		return i + 1
	}
	return -1
}

// unquote takes the quotes off a token, and tells which it had (0 for none).
func unquote(token string) (text string, quote byte) {
	if len(token) < 2 {
		return token, 0
	}
	switch q := token[0]; q {
	case '[':
		return token[1 : len(token)-1], q
	case '\'', '"', '`':
		text = token[1 : len(token)-1]
		if strings.IndexByte(text, q) >= 0 {
			text = strings.ReplaceAll(text, string([]byte{q, q}), string(q))
		}
		return text, q
	}
	return token, 0
}
