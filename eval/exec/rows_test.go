package exec

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestSameRows(t *testing.T) {
	type rows = [][]any
	for _, c := range []struct {
		gold, pred rows
		ordered    bool
		want       bool
		reason     string
	}{
		{rows{}, rows{}, true, true, "no rows"},
		{rows{{int64(1)}}, rows{}, false, false, "fewer rows"},
		{rows{{int64(1)}}, rows{{int64(1), nil}}, false, false, "more columns"},
		{rows{{int64(1)}, {int64(2)}}, rows{{int64(2)}, {int64(1)}}, false, true, "rows in any order"},
		{rows{{int64(1)}, {int64(2)}}, rows{{int64(2)}, {int64(1)}}, true, false, "unless it matters"},
		{rows{{int64(1), "a"}, {int64(2), "b"}}, rows{{"a", int64(1)}, {"b", int64(2)}}, true, true, "columns in any order"},
		{rows{{int64(1), int64(2)}, {int64(2), int64(1)}}, rows{{int64(1), int64(1)}, {int64(2), int64(2)}}, false, false, "equal columns, other rows"},
		{rows{{int64(1)}, {int64(1)}, {int64(2)}}, rows{{int64(1)}, {int64(2)}, {int64(2)}}, false, false, "a bag, not a set"},
		{rows{{int64(1)}}, rows{{1.0}}, false, true, "integers and floats"},
		{rows{{int64(1)}}, rows{{"1"}}, false, false, "numbers and text"},
		{rows{{"a"}}, rows{{[]byte("a")}}, false, false, "text and blobs"},
		{rows{{nil}}, rows{{""}}, false, false, "NULL and empty text"},
		{rows{{0.0}}, rows{{math.Copysign(0, -1)}}, false, true, "both zeros"},
		{rows{{"caf\uFFFD"}}, rows{{"caf"}}, false, true, "what is not UTF-8 is dropped"},
		{rows{{int64(1 << 60)}}, rows{{float64(1<<60 + 1<<10)}}, false, false, "large numbers"},
		{rows{{int64(1), "1-"}}, rows{{1.0, "1-"}}, true, true, "a float that sorts as the integer does"},
		{rows{{int64(1), "1.0;"}}, rows{{1.0, "1.0;"}}, true, true, "the same with text between"},
		{rows{{int64(1), "1.5"}}, rows{{1.0, "1.5"}}, true, false, "a float that does not: an oddity of the official code"},
	} {
		if got := sameRows(c.gold, c.pred, c.ordered); got != c.want {
			t.Errorf("%s: %v and %v: %v, want %v", c.reason, c.gold, c.pred, got, c.want)
		}
	}
}

// The search for columns agrees with trying all their orders.
func TestSameRowsAgrees(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, columns := rapid.IntRange(1, 5).Draw(t, "rows"), rapid.IntRange(1, 4).Draw(t, "columns")
		value := rapid.SampledFrom([]any{int64(1), int64(2), "a", nil})
		draw := func(name string) [][]any {
			rows := make([][]any, n)
			for i := range rows {
				rows[i] = rapid.SliceOfN(value, columns, columns).Draw(t, name)
			}
			return rows
		}
		gold, pred := draw("gold"), draw("pred")
		if rapid.Bool().Draw(t, "shuffled") {
			order := rapid.Permutation(numbers(columns)).Draw(t, "order")
			for i := range pred {
				pred[i] = permuted(gold[i], order)
			}
			if rapid.Bool().Draw(t, "rows shuffled") {
				pred = rapid.Permutation(pred).Draw(t, "row order")
			}
		}
		ordered := rapid.Bool().Draw(t, "ordered")
		if got, want := sameRows(gold, pred, ordered), naive(gold, pred, ordered); got != want {
			t.Fatalf("%v and %v, ordered %v: %v, want %v", gold, pred, ordered, got, want)
		}
	})
}

func numbers(n int) (l []int) {
	for i := range n {
		l = append(l, i)
	}
	return l
}

func permuted(row []any, order []int) []any {
	out := make([]any, len(row))
	for i, j := range order {
		out[i] = row[j]
	}
	return out
}

func naive(gold, pred [][]any, ordered bool) bool {
	var try func(order []int) bool
	try = func(order []int) bool {
		if len(order) < len(gold[0]) {
			for j := range gold[0] {
				if !slices.Contains(order, j) && try(append(slices.Clone(order), j)) {
					return true
				}
			}
			return false
		}
		var g, p []string
		for i := range gold {
			g = append(g, fmt.Sprintf("%#v", gold[i]))
			p = append(p, fmt.Sprintf("%#v", permuted(pred[i], order)))
		}
		if !ordered {
			slices.Sort(g)
			slices.Sort(p)
		}
		return slices.Equal(g, p)
	}
	return try(nil)
}

// Many columns with the same values cost no more than a moment.
func TestSameRowsWide(t *testing.T) {
	const rows, columns = 40, 60
	gold, pred := make([][]any, rows), make([][]any, rows)
	for r := range gold {
		for c := range columns {
			gold[r] = append(gold[r], int64((r*(c+1))%41))
			pred[r] = append(pred[r], int64((r*(columns-c))%41))
		}
	}
	if !sameRows(gold, pred, false) {
		t.Error("reversed columns are not found")
	}
	pred[0][0], pred[1][0] = pred[1][0], pred[0][0]
	if sameRows(gold, pred, false) {
		t.Error("two values changed places, and nobody sees it")
	}
}

func TestPrinted(t *testing.T) {
	for want, v := range map[string]any{
		"1<class 'int'>":               int64(1),
		"1.0<class 'float'>":           1.0,
		"1e+16<class 'float'>":         1e16,
		"1234567890.5<class 'float'>":  1234567890.5,
		"1e-05<class 'float'>":         1e-5,
		"0.0001<class 'float'>":        1e-4,
		"-inf<class 'float'>":          math.Inf(-1),
		"None<class 'NoneType'>":       nil,
		"x<class 'str'>":               "x",
		`b"it's\x00\n"<class 'bytes'>`: []byte("it's\x00\n"),
		`b'\'"\\'<class 'bytes'>`:      []byte(`'"\`),
	} {
		if got := printed(v); got != want {
			t.Errorf("%#v is %s, want %s", v, got, want)
		}
	}
}

func TestRemoveDistinct(t *testing.T) {
	for _, c := range [][2]string{
		{`SELECT DISTINCT a FROM t`, `SELECT  a FROM t`},
		{`SELECT count(DISTINCT a), count(distinct(b)) FROM t`, `SELECT count( a), count((b)) FROM t`},
		{`SELECT 'distinct', "distinct", [distinct], ` + "`distinct`", `SELECT 'distinct', "distinct", [distinct], ` + "`distinct`"},
		{`SELECT distinct_id, a_distinct, t.distinct FROM t`, `SELECT distinct_id, a_distinct, t. FROM t`},
		{`SELECT a -- distinct`, `SELECT a -- distinct`},
		{`SELECT /* distinct */ distinct a`, `SELECT /* distinct */  a`},
		{`SELECT 'it''s distinct', distinct`, `SELECT 'it''s distinct', `},
		{`SELECT 'open distinct`, `SELECT 'open `},
		{`SELECT 'a', distinct''`, `SELECT 'a', ''`},
		{`SELECT 'a distinct'' b`, `SELECT 'a distinct'' b`},
		{`SELECT 'a\' distinct`, `SELECT 'a\' `},
		{`SELECT 1; SELECT distinct 2`, `SELECT 1;`},
		{`SELECT ';' ; x`, `SELECT ';' ;`},
		{`SELECT (1; 2); 3`, `SELECT (1; 2);`},
		{`SELECT @distinct, :distinct`, `SELECT @distinct, :distinct`},
		{``, ``},
	} {
		if got := removeDistinct(c[0]); got != c[1] {
			t.Errorf("%s is %s, want %s", c[0], got, c[1])
		}
	}
}

func FuzzRemoveDistinct(f *testing.F) {
	f.Add("SELECT DISTINCT 'a\\'b' FROM [t] -- x\n; y")
	f.Fuzz(func(t *testing.T, sql string) {
		once := removeDistinct(sql)
		if len(once) > len(sql) {
			t.Fatalf("%q has become %q", sql, once)
		}
	})
}
