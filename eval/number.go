package eval

import (
	"math"
	"strconv"
	"strings"
	"unicode"
)

// pythonFloat reads what Python's float() reads: "1_000", "1.", ".5e-3", "inf", "nan".
func pythonFloat(s string) (float64, bool) {
	if s == "" {
		return 0, false
	}
	// Most words are names.
	if c := s[0]; 'a' <= c && c <= 'z' && c != 'i' && c != 'n' {
		return 0, false
	}
	s, ok := asciiDigits(s)
	if !ok {
		return 0, false
	}
	rest := strings.TrimLeft(s, "+-")
	if len(s)-len(rest) > 1 {
		return 0, false
	}
	switch rest {
	case "nan":
		return math.NaN(), true
	case "inf", "infinity":
	default:
		if rest == "" || rest[0] != '.' && (rest[0] < '0' || rest[0] > '9') || strings.ContainsAny(rest, "xXpP") {
			return 0, false
		}
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil && err.(*strconv.NumError).Err == strconv.ErrSyntax {
		return 0, false
	}
	return f, true // out of range is infinity, there as here
}

// pythonInt reads what Python's int() reads, into a canonical form.
func pythonInt(s string) (string, bool) {
	s, ok := asciiDigits(s)
	if !ok {
		return "", false
	}
	sign := ""
	switch {
	case strings.HasPrefix(s, "-"):
		sign, s = "-", s[1:]
	case strings.HasPrefix(s, "+"):
		s = s[1:]
	}
	const most = 4300 // Python refuses more digits
	if s == "" || strings.Trim(s, "0123456789") != "" || len(s) > most {
		return "", false
	}
	s = strings.TrimLeft(s, "0")
	if s == "" {
		return "0", true
	}
	return sign + s, true
}

// asciiDigits turns decimal digits of any script into ASCII, and drops single
// underscores between digits, which Python allows.
func asciiDigits(s string) (string, bool) {
	plain := true
	for i := 0; i < len(s) && plain; i++ {
		plain = s[i] != '_' && s[i] < 0x80
	}
	if plain {
		return s, true
	}
	var b strings.Builder
	digit, underscore := false, false
	for _, r := range s {
		if r == '_' {
			if !digit {
				return "", false
			}
			digit, underscore = false, true
			continue
		}
		digit = unicode.IsDigit(r)
		if underscore && !digit {
			return "", false
		}
		underscore = false
		if digit && r >= 0x80 {
			r = '0' + digitValue(r)
		}
		b.WriteRune(r)
	}
	return b.String(), !underscore
}

// digitValue: decimal digits come in runs of ten, zero first; some runs adjoin, so that
// the value is counted from the first of the range.
func digitValue(r rune) rune {
	for _, t := range unicode.Nd.R16 {
		if rune(t.Lo) <= r && r <= rune(t.Hi) {
			return (r - rune(t.Lo)) % 10
		}
	}
	for _, t := range unicode.Nd.R32 {
		if rune(t.Lo) <= r && r <= rune(t.Hi) {
			return (r - rune(t.Lo)) % 10
		}
	}
	return 0
}
