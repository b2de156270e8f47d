package exec

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// removeDistinct takes every word DISTINCT out of the first statement, and drops the
// other statements. What a word is follows sqlparse 0.4.2: none is in quotes, brackets or
// comments, and a backslash escapes a quote.
func removeDistinct(sql string) string {
	var b strings.Builder
	depth := 0
	for i := 0; i < len(sql); {
		j := i + tokenLength(sql, i)
		switch t := sql[i:j]; {
		case strings.EqualFold(t, "distinct"):
		case t == ";" && depth <= 0:
			return b.String() + t
		default:
			switch {
			case t == "(":
				depth++
			case t == ")", strings.EqualFold(t, "end"):
				depth--
			}
			b.WriteString(t)
		}
		i = j
	}
	return b.String()
}

// tokenLength is the length of the token at sql[i:].
func tokenLength(sql string, i int) int {
	rest := sql[i:]
	switch c := rest[0]; {
	case strings.HasPrefix(rest, "--"), strings.HasPrefix(rest, "# "):
		if n := strings.IndexAny(rest, "\r\n"); n >= 0 {
			return n
		}
		return len(rest)
	case strings.HasPrefix(rest, "/*"):
		if n := strings.Index(rest[2:], "*/"); n >= 0 {
			return n + 4
		}
	case c == '\'', c == '"':
		return quoted(rest, c)
	case c == '`':
		if n := strings.IndexByte(rest[1:], '`'); n >= 0 {
			return n + 2
		}
	case c == '[' && (i == 0 || !isWordEnd(sql[i-1])):
		if n := strings.IndexAny(rest[1:], "[]"); n > 0 && rest[1+n] == ']' {
			return n + 2
		}
	case c == '@', c == '#', c == '$', c == ':', c == '?', c == '\\':
		return 1 + wordLength(rest[1:])
	}
	if n := wordLength(rest); n > 0 {
		return n
	}
	_, n := utf8.DecodeRuneInString(rest)
	return n
}

func isWordEnd(c byte) bool {
	return c == '_' || c == ')' || c == ']' || c >= utf8.RuneSelf || unicode.IsLetter(rune(c)) || unicode.IsDigit(rune(c))
}

// quoted is the length of a quoted text. If all its quotes are doubled or escaped, the
// last of them closes it after all; if there is none, the length is 1.
func quoted(s string, quote byte) int {
	length := 1
	for i := 1; i < len(s); i++ {
		switch {
		case s[i] == '\\' && i+1 < len(s) && s[i+1] == '\\':
			i++
		case s[i] == '\\' && i+1 < len(s) && s[i+1] == quote:
			i++
			length = i + 1
		case s[i] == quote && i+1 < len(s) && s[i+1] == quote:
			length = i + 1
			i++
		case s[i] == quote:
			return i + 1
		}
	}
	return length
}

func wordLength(s string) int {
	for i, r := range s {
		if r != '_' && !unicode.IsLetter(r) && !unicode.IsNumber(r) && (i == 0 || r != '$' && r != '#') {
			return i
		}
	}
	return len(s)
}
