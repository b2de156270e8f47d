package eval

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func words(toks []token) []string {
	var l []string
	for _, t := range toks {
		l = append(l, t.text)
	}
	return l
}

func TestTokenize(t *testing.T) {
	for _, c := range []struct{ sql, want, reason string }{
		{`SELECT a FROM t`, `select|a|from|t`, "lower case"},
		{`x = 'It' AND y = "B b"`, `x|=|"It"|and|y|=|"B b"`, "both quotes are one kind, values keep their case"},
		{`x >= 1 and y ! = 2 and z< =3`, `x|>=|1|and|y|!=|2|and|z|<|=3`, "comparisons are joined, but = sticks to what follows"},
		{`x>=1`, `x|>|=1`, "the same without spaces"},
		{`x='a'`, `x=__val_2_4__`, "a value that touches a word is lost"},
		{`x IN ('a','b')`, `x|in|(|"a"|,|"b"|)`, "a comma before a value is one"},
		{`IN (1,2, 3)`, `in|(|1,2|,|3|)`, "a comma before a digit is none"},
		{`a,,b`, `a|,|,b`, "the second of two commas sticks to what follows"},
		{`a,,`, `a|,|,`, "unless nothing follows"},
		{`select count(*) from t.`, `select|count|(|*|)|from|t|.`, "a period at the end"},
		{`f(t.x.)`, `f|(|t.x|.|)`, "or before brackets at the end"},
		{`t.x ..y`, `t.x|..|y`, "periods in a row"},
		{`a---b`, `a|--|-b`, "two dashes"},
		{`cannot t.Gonna wanna.x wanna`, `can|not|t.|gon|na|wanna.x|wan|na`, "contractions"},
		{"`a` ```", "`|a|`|``|`", "backquotes"},
		{`“a” Ünï`, `“|a|”|ünï`, "quotes that are none"},
		{`= a >`, `=|a|>=|a|>`, "an = at the start looks at the last token"},
		{`a::b`, `a|:|:b`, "colons are commas"},
		{``, ``, "nothing"},
	} {
		toks, err := tokenize(c.sql, nil)
		if err != nil {
			t.Errorf("%s: %q: %v", c.reason, c.sql, err)
			continue
		}
		if got := strings.Join(words(toks), "|"); got != c.want {
			t.Errorf("%s: %q is %s, want %s", c.reason, c.sql, got, c.want)
		}
	}
}

func TestTokenizeErrors(t *testing.T) {
	for _, c := range []struct{ sql, want string }{
		{`select "a`, "at offset 7: a quote is not closed"},
		{`'it's'`, "at offset 5: a quote is not closed"},
		{strings.Repeat("x", maxText+1), "at offset 1048576: the query has 1048577 bytes; at most 1048576 are read"},
	} {
		if _, err := tokenize(c.sql, nil); err == nil || err.Error() != c.want {
			t.Errorf("%.20q: %v, want %s", c.sql, err, c.want)
		}
	}
}

// The fast reader of tokens agrees with the one that makes every substitution.
func TestTokenizePlainAgrees(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sql := rapid.StringOfN(rapid.SampledFrom([]rune("aB1._,:;-<>=!?*()[]{}@#$%& \t\n\x1c'\"'\"  ")), 0, 40, -1).Draw(t, "sql")
		if rapid.Bool().Draw(t, "words") {
			sql = strings.Join(rapid.SliceOf(rapid.SampledFrom(strings.Fields(
				`select from where t1.a a , ' " ( ) * .. 1,2 'x' ,'y' >= = . ; cannot -- count(*) `))).Draw(t, "words"), " ")
		}
		agree(t, sql)
	})
}

func FuzzTokenize(f *testing.F) {
	for _, s := range []string{`select 'a' from t.`, "a,,'b'::--. \n", "İΣ `x` cannot"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, sql string) { agree(t, sql) })
}

func agree(t interface{ Fatalf(string, ...any) }, sql string) {
	fast, ok, err := tokenizePlain(sql, nil)
	if err != nil || !ok {
		return
	}
	if slow := tokenizeText(sql, nil); !slices.Equal(fast, slow) {
		t.Fatalf("%q\nfast %+v\nslow %+v", sql, fast, slow)
	}
}
