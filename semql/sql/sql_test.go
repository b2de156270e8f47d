package sql_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tabert-workbench/tabert-workbench/internal/testdata"
	"github.com/tabert-workbench/tabert-workbench/semql/sql"
)

func TestParse(t *testing.T) {
	for _, tt := range []struct{ name, in, want string }{
		{"as it is", "SELECT a FROM t", "SELECT a FROM t"},
		{"any case, semicolon", "select A from T ;", "SELECT A FROM T"},
		{"comments", "SELECT a -- the first\nFROM /* the\nonly */ t", "SELECT a FROM t"},
		{"quoted names", "SELECT \"a b\", `c`, [d e], t.'f g' FROM [my table] AS \"x y\"", `SELECT "a b", c, "d e", t."f g" FROM "my table" AS "x y"`},
		{"doubled quotes", `SELECT "a""b" FROM t WHERE c = 'it''s'`, `SELECT "a""b" FROM t WHERE c = 'it''s'`},
		{"reserved names", `SELECT t.order FROM t`, `SELECT t."order" FROM t`},
		{"a name that starts with a digit", `SELECT 18_49_Rating FROM t`, `SELECT "18_49_Rating" FROM t`},
		{"aliases", "SELECT a x, b AS y FROM t u JOIN v w ON u.a = w.a", "SELECT a AS x, b AS y FROM t AS u JOIN v AS w ON u.a = w.a"},
		{"joins", "SELECT * FROM a, b NATURAL JOIN c LEFT OUTER JOIN d USING (x, y) INNER JOIN e ON 1 CROSS JOIN f", "SELECT * FROM a, b NATURAL JOIN c LEFT JOIN d USING (x, y) INNER JOIN e ON 1 CROSS JOIN f"},
		{"a join in parentheses", "SELECT * FROM (a JOIN b ON a.x = b.x) JOIN c", "SELECT * FROM (a JOIN b ON a.x = b.x) JOIN c"},
		{"a subquery in FROM", "SELECT * FROM (SELECT a FROM t) AS u", "SELECT * FROM (SELECT a FROM t) AS u"},
		{"everything at once", "SELECT DISTINCT a, count(*) FROM t WHERE b > 1 GROUP BY a, c HAVING count(*) > 2 ORDER BY a ASC, count(*) DESC LIMIT 3 OFFSET 4",
			"SELECT DISTINCT a, count(*) FROM t WHERE b > 1 GROUP BY a, c HAVING count(*) > 2 ORDER BY a, count(*) DESC LIMIT 3 OFFSET 4"},
		{"offset before limit", "SELECT a FROM t LIMIT 4, 3", "SELECT a FROM t LIMIT 3 OFFSET 4"},
		{"set operations", "SELECT a FROM t union all SELECT b FROM u EXCEPT (SELECT c FROM v INTERSECT SELECT d FROM w)", "SELECT a FROM t UNION ALL SELECT b FROM u EXCEPT (SELECT c FROM v INTERSECT SELECT d FROM w)"},
		{"predicates", "SELECT a FROM t WHERE a BETWEEN 1 AND 2 AND b NOT BETWEEN 3 AND 4 AND c IN (1, 'x') AND d NOT IN (SELECT e FROM u) AND f LIKE '%x' AND g NOT LIKE 'y' ESCAPE '!' AND h IS NULL AND i IS NOT NULL AND j NOTNULL AND k NOT NULL",
			"SELECT a FROM t WHERE a BETWEEN 1 AND 2 AND b NOT BETWEEN 3 AND 4 AND c IN (1, 'x') AND d NOT IN (SELECT e FROM u) AND f LIKE '%x' AND g NOT LIKE 'y' ESCAPE '!' AND h IS NULL AND i IS NOT NULL AND j IS NOT NULL AND k IS NOT NULL"},
		{"operators", "SELECT a FROM t WHERE a == 1 OR b <> 2 AND NOT c >= -3.5e2 OR EXISTS (SELECT 1)", "SELECT a FROM t WHERE a = 1 OR b != 2 AND NOT c >= -3.5e2 OR EXISTS (SELECT 1)"},
		{"arithmetic", "SELECT (a + b) * c - d - (e - f) / -g FROM t", "SELECT (a + b) * c - d - (e - f) / -g FROM t"},
		{"needless parentheses", "SELECT ((a)) FROM t WHERE ((a = 1) AND (b = 2)) OR (c = 3)", "SELECT a FROM t WHERE a = 1 AND b = 2 OR c = 3"},
		{"needed parentheses", "SELECT a FROM t WHERE a = 1 AND (b = 2 OR c = 3) AND NOT (d = 4 AND e = 5)", "SELECT a FROM t WHERE a = 1 AND (b = 2 OR c = 3) AND NOT (d = 4 AND e = 5)"},
		{"functions", "SELECT COUNT(DISTINCT a), max(b, c), CAST(d AS varchar) FROM t", "SELECT count(DISTINCT a), max(b, c), CAST(d AS VARCHAR) FROM t"},
		{"a table called cast", "SELECT t2.a FROM CAST AS t2", "SELECT t2.a FROM CAST AS t2"},
		{"signs", "SELECT - - 1", "SELECT - -1"},
		{"no FROM", "SELECT 1, NULL, 'x'", "SELECT 1, NULL, 'x'"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			q, err := sql.Parse(tt.in)
			if err != nil {
				t.Fatal(err)
			}
			if got := q.String(); got != tt.want {
				t.Errorf("printed\n%s, want\n%s", got, tt.want)
			}
		})
	}
}

func TestErrors(t *testing.T) {
	for _, tt := range []struct{ in, want string }{
		{"", "1:1: found the end of the query, expected SELECT"},
		{"hello", `1:1: found "hello", expected SELECT`},
		{"SELECT", "1:7: found the end of the query, expected an expression"},
		{"SELECT a, FROM t", `1:11: found "FROM", expected an expression`},
		{"SELECT a FROM", "1:14: found the end of the query, expected a table"},
		{"SELECT a\nFROM t JOIN", "2:12: found the end of the query, expected a table"},
		{"SELECT a FROM t LEFT u", `1:22: found "u", expected JOIN`},
		{"SELECT a FROM t WHERE", "1:22: found the end of the query, expected an expression"},
		{"SELECT a FROM t WHERE a = = 1", `1:27: found "=", expected an expression`},
		{"SELECT a b c FROM t", `1:12: found "c", expected the end of the query`},
		{"SELECT a FROM t ORDER a", `1:23: found "a", expected BY`},
		{"SELECT a FROM t WHERE b BETWEEN 1", "1:34: found the end of the query, expected AND"},
		{"SELECT a FROM t WHERE b IN 1", `1:28: found "1", expected (`},
		{"SELECT count(a FROM t", `1:16: found "FROM", expected ) or a comma`},
		{"SELECT a FROM (SELECT b FROM t", "1:31: found the end of the query, expected )"},
		{"SELECT a FROM t UNION", "1:22: found the end of the query, expected SELECT"},
		{"SELECT a FROM t WHERE b = 'x", "1:27: found the end of the query, expected ', which ends what begins here"},
		{"SELECT a /* b", "1:10: found the end of the query, expected */, which ends this comment"},
		{"SELECT a FROM t; SELECT b", "1:16: found more behind a semicolon, expected one statement"},
		{"SELECT ä FROM t WHERE ä # 1", "1:25: found '#', expected SQL"},
		{"SELECT " + strings.Repeat("(", 101) + "1", "1:108: found one more, expected at most 100 parentheses in each other"},
		{"WITH x AS (SELECT 1) SELECT 2", "1:1: WITH is not supported"},
		{"SELECT CASE WHEN a THEN b END FROM t", "1:8: CASE is not supported"},
		{"SELECT a FROM t WHERE b IN u", "1:28: IN with a table's name is not supported"},
		{"SELECT a FROM main.t", `1:19: found ".", expected the end of the query`},
		{"SELECT main.t.a FROM t", "1:13: a database's name before a table's is not supported"},
		{"SELECT rank() OVER (ORDER BY a) FROM t", "1:15: OVER is not supported"},
		{"SELECT a FROM t WHERE (a, b) = (1, 2)", "1:25: a row of values is not supported"},
		{"SELECT a FROM t ORDER BY a COLLATE nocase", "1:28: COLLATE is not supported"},
		{"SELECT a FROM t WHERE a IS NOT DISTINCT FROM 1", "1:32: IS DISTINCT FROM is not supported"},
		{"DELETE FROM t", "1:1: DELETE is not supported"},
	} {
		q, err := sql.Parse(tt.in)
		if err == nil {
			t.Errorf("%s: read as %s, want error %s", tt.in, q, tt.want)
		} else if err.Error() != tt.want {
			t.Errorf("%s:\n%v, want\n%s", tt.in, err, tt.want)
		}
	}
}

// spider gives every query of Spider's splits.
func spider(t testing.TB) []string {
	var all []string
	for _, split := range []string{"train_spider", "train_others", "dev"} {
		b, err := os.ReadFile(filepath.Join(testdata.SpiderDir(t), split+".json"))
		if err != nil {
			t.Fatal(err)
		}
		var queries []struct{ Query string }
		if err := json.Unmarshal(b, &queries); err != nil {
			t.Fatal(err)
		}
		for _, q := range queries {
			all = append(all, q.Query)
		}
	}
	return all
}

func TestSpider(t *testing.T) {
	for _, text := range spider(t) {
		q, err := sql.Parse(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		sameWhenPrinted(t, text, q)
	}
}

// sameWhenPrinted checks that what is printed reads as what was printed.
func sameWhenPrinted(t *testing.T, text string, q *sql.Query) {
	t.Helper()
	once := q.String()
	again, err := sql.Parse(once)
	if err != nil {
		t.Errorf("%s: printed as %s: %v", text, once, err)
	} else if twice := again.String(); once != twice {
		t.Errorf("%s: printed as %s, then as %s", text, once, twice)
	}
}

func FuzzParse(f *testing.F) {
	for _, text := range []string{
		"SELECT a FROM t", "SELECT DISTINCT t.a, count(*) AS n FROM t JOIN u ON t.x = u.x WHERE b NOT IN (SELECT c FROM v) GROUP BY a HAVING n > 1 ORDER BY a DESC LIMIT 1, 2",
		"(SELECT 1) UNION ALL (SELECT 2 EXCEPT SELECT 3)", "SELECT a FROM (b JOIN (c)) WHERE NOT - - a IS NOT 1 OR \"x\" LIKE '%' ESCAPE '''' AND [y] NOTNULL", "SELECT CAST(a AS x y), .5e-3 + 1. FROM `t`",
		"SELECT a.*, 1 IS NULL BETWEEN 2 AND 3 == 4 <> 5 FROM a -- b\n/* c */;",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if q, err := sql.Parse(text); err == nil {
			sameWhenPrinted(t, text, q)
		} else if err.Error() == "" {
			t.Error("an error that says nothing")
		}
	})
}

func BenchmarkParse(b *testing.B) {
	queries := spider(b)
	b.ReportAllocs()
	for n := 0; b.Loop(); n++ {
		if _, err := sql.Parse(queries[n%len(queries)]); err != nil {
			b.Fatal(err)
		}
	}
}
