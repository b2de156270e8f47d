package eval_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/tabert-workbench/tabert-workbench/eval"
	"github.com/tabert-workbench/tabert-workbench/schema"
)

// flights is a small database: two flights keys lead to airport.code.
var flights = &schema.Database{
	ID: "flights",
	Tables: []schema.Table{
		{Name: "airport", Original: "Airport", Columns: columns("Code", "City", "Order")},
		{Name: "flight", Original: "Flight", Columns: columns("No", "Source", "Target", "City")},
		{Name: "seat", Original: "Seat", Columns: columns("No", "Row")},
	},
	ForeignKeys: []schema.ForeignKey{
		{From: schema.Ref{Table: 1, Column: 1}, To: schema.Ref{Table: 0, Column: 0}},
		{From: schema.Ref{Table: 1, Column: 2}, To: schema.Ref{Table: 0, Column: 0}},
		{From: schema.Ref{Table: 2, Column: 0}, To: schema.Ref{Table: 1, Column: 0}},
	},
}

func columns(names ...string) (c []schema.Column) {
	for _, n := range names {
		c = append(c, schema.Column{Name: strings.ToLower(n), Original: n, Type: schema.Text})
	}
	return c
}

func TestMatch(t *testing.T) {
	s := eval.NewSchema(flights)
	for _, c := range []struct {
		gold, pred, wrong, reason string
	}{
		{`SELECT city FROM airport`, `select City from AIRPORT`, "", "case"},
		{`SELECT city, code FROM airport`, `SELECT code, city FROM airport`, "", "columns in any order"},
		{`SELECT city FROM airport WHERE code = 'A'`, `SELECT city FROM airport WHERE code = "B"`, "", "values are off"},
		{`SELECT DISTINCT city FROM airport`, `SELECT city FROM airport`, "", "DISTINCT is off"},
		{`SELECT count(DISTINCT city) FROM airport`, `SELECT count(city) FROM airport`, "", "inside of aggregates too"},
		{`SELECT a.city FROM airport AS a JOIN flight AS f ON f.source = a.code WHERE f.source = 'x'`,
			`SELECT b.city FROM flight AS a JOIN airport AS b ON a.target = b.code WHERE b.code = 'x'`, "", "foreign keys equate, joins are not compared"},
		{`SELECT source FROM flight`, `SELECT target FROM flight`, "", "two keys to one column equate its sources"},
		{`SELECT source FROM flight`, `SELECT code FROM airport`, "tables", "the tables are compared"},
		{`SELECT a FROM airport`, ``, "gold", "an unreadable gold query"},
		{`SELECT city FROM airport ORDER BY code LIMIT 1`, `SELECT city FROM airport ORDER BY code LIMIT 5`, "", "LIMIT's number is off"},
		{`SELECT city FROM airport ORDER BY code LIMIT 1`, `SELECT city FROM airport ORDER BY code`, "order keywords", "LIMIT is not"},
		{`SELECT city FROM airport ORDER BY code`, `SELECT city FROM airport ORDER BY code ASC`, "", "ascending unless said"},
		{`SELECT city FROM airport ORDER BY code DESC`, `SELECT city FROM airport ORDER BY code`, "order keywords", "a direction"},
		{`SELECT max(city) FROM airport`, `SELECT min(city) FROM airport`, "select", "an aggregate"},
		{`SELECT city FROM airport WHERE code = 1`, `SELECT city FROM airport WHERE code > 1`, "where", "an operator"},
		{`SELECT city FROM airport WHERE code = 1 AND city = 2`, `SELECT city FROM airport WHERE city = 2 AND code = 1`, "", "conditions in any order"},
		{`SELECT city FROM airport WHERE code = 1 OR city = 2`, `SELECT city FROM airport WHERE city = 2 AND code = 1`, "and/or keywords", "OR for AND"},
		{`SELECT city FROM airport GROUP BY city`, `SELECT city FROM airport GROUP BY city HAVING count(*) > 1`, "group keywords", "HAVING"},
		{`SELECT airport.city FROM airport JOIN flight GROUP BY airport.city`, `SELECT airport.city FROM airport JOIN flight GROUP BY flight.city`, "group", "group(no Having) has no tables"},
		{`SELECT city FROM airport UNION SELECT city FROM flight`, `SELECT city FROM airport UNION SELECT source FROM flight`, "IUEN", "set operations"},
		{`SELECT city FROM airport EXCEPT SELECT city FROM flight`, `SELECT city FROM airport INTERSECT SELECT city FROM flight`, "IUEN keywords", "another set operation"},
		{`SELECT city FROM airport WHERE code IN (SELECT DISTINCT source FROM flight)`,
			`SELECT city FROM airport WHERE code IN (SELECT source FROM flight)`, "where", "DISTINCT counts in a nested query"},
		{`SELECT city FROM airport WHERE code IN (SELECT source FROM flight)`,
			`SELECT city FROM airport WHERE code IN (SELECT target FROM flight)`, "where", "and foreign keys do not"},
		{`SELECT count(*) FROM (SELECT city FROM airport WHERE code = 1)`,
			`SELECT count(*) FROM (SELECT city FROM airport WHERE code = 2)`, "tables", "in a nested FROM even values count"},
		{`SELECT city FROM airport`, `SELECT city FROM airport; DROP TABLE airport`, "", "what follows is not read"},
		{`SELECT city FROM airport`, `SELECT city FROM airport a`, "error", "an alias without AS"},
	} {
		v, err := s.Match(c.gold, c.pred)
		var wrong []string
		for _, clause := range eval.Clauses() {
			p := v.Partial[clause.String()]
			if p.F1 != 1 && clause != eval.SelectNoAgg && clause != eval.WhereNoOp && clause != eval.GroupNoHaving {
				wrong = append(wrong, clause.String())
			}
		}
		got := strings.Join(wrong, " ")
		switch {
		case err != nil:
			got = "gold"
		case v.PredParseError != nil:
			got = "error"
		case got == "" && !v.Exact:
			got = "tables"
		}
		if got != c.wrong {
			t.Errorf("%s: %q is wrong, want %q\ngold %s\npred %s", c.reason, got, c.wrong, c.gold, c.pred)
		}
		if v.Exact != (c.wrong == "") {
			t.Errorf("%s: exact is %v\ngold %s\npred %s", c.reason, v.Exact, c.gold, c.pred)
		}
	}
}

func TestParseErrors(t *testing.T) {
	s := eval.NewSchema(flights)
	for _, c := range []struct{ sql, want string }{
		{``, `at offset 0: no FROM follows`},
		{`SELECT nam FROM airport`, `at offset 7: found "nam", expected a column of airport`},
		{`SELECT a.nam FROM airport AS a`, `at offset 7: "a.nam": "airport" has no column "nam"`},
		{`SELECT b.city FROM airport AS a`, `at offset 7: "b.city": there is no table or alias "b"`},
		{`SELECT city FROM airport LEFT JOIN flight`, `at offset 25: found "left", expected a table`},
		{`SELECT city FROM airport AS flight`, `at offset 28: alias "flight" is the name of a table`},
		{`SELECT city FROM airport AS`, `at offset 25: nothing follows AS`},
		{`SELECT city FROM airport WHERE code`, `at offset 35: found the end of the query, expected a comparison`},
		{`SELECT city FROM airport WHERE code IN ('a', 'b')`, `at offset 43: found ",", expected ")"`},
		{`SELECT city FROM airport WHERE code IS NOT NULL`, `at offset 39: found "not", expected a column of airport`},
		{`SELECT city FROM airport WHERE code BETWEEN 1 OR 2`, `at offset 46: found "or", expected AND`},
		{`SELECT city FROM airport LIMIT x`, `at offset 31: LIMIT needs a whole number, found "x"`},
		{`SELECT city FROM airport GROUP city`, `at offset 31: found "city", expected BY`},
		{`SELECT count(city FROM airport`, `at offset 18: found "from", expected ")"`},
		{`SELECT city FROM (SELECT city FROM airport)`, `at offset 7: found "city", expected a column with its table: FROM has no table by name`},
		{`SELECT city FROM airport WHERE code = (city)`, `at offset 43: found the end of the query, expected ")"`},
		{`SELECT city FROM airport WHERE city = 'it's'`, `at offset 43: a quote is not closed`},
	} {
		_, err := s.Parse(c.sql)
		if err == nil || err.Error() != c.want {
			t.Errorf("%s\ngot  %v\nwant %s", c.sql, err, c.want)
		}
	}
}

func TestHardness(t *testing.T) {
	s := eval.NewSchema(flights)
	for sql, want := range map[string]string{
		`SELECT city FROM airport`:                                                                                eval.Easy,
		`SELECT city FROM airport WHERE code=1`:                                                                   "error",
		`SELECT city, code FROM airport WHERE code = 1`:                                                           eval.Medium,
		`SELECT city FROM airport WHERE code IN (SELECT source FROM flight)`:                                      eval.Hard,
		`SELECT city FROM airport WHERE code = 1 UNION SELECT city FROM flight WHERE no = 1 ORDER BY city`:        eval.Hard,
		`SELECT city, code FROM airport WHERE code IN (SELECT source FROM flight) ORDER BY city LIMIT 1`:          eval.Extra,
		`SELECT city FROM airport GROUP BY city HAVING count(*) > 1 OR max(code) = 2 ORDER BY count(*) LIMIT 1 ;`: eval.Extra,
	} {
		got, err := s.Hardness(sql)
		if err != nil {
			got = "error"
		}
		if got != want {
			t.Errorf("%s is %s (%v), want %s", sql, got, err, want)
		}
	}
}

// What makes the official script crash, outside of its reader, is an error in a gold query
// and scored as an empty query in a prediction.
func TestMatchCrash(t *testing.T) {
	s := eval.NewSchema(flights)
	const good, crash = `SELECT city FROM airport`, `SELECT city FROM airport WHERE code = 1 city = 2 AND no = 3`
	const readable = `SELECT city FROM flight WHERE no = 1 city = 2 AND no = 3`
	v, err := s.Match(good, readable)
	if err != nil || v.PredParseError == nil || !strings.Contains(v.PredParseError.Error(), "cannot score") {
		t.Errorf("prediction: %v, %v", v.PredParseError, err)
	}
	if _, err := s.Match(readable, good); err == nil {
		t.Error("a gold query that the official script cannot score is no error")
	}
	if _, err := s.Match(crash, good); err == nil || !strings.Contains(err.Error(), `gold query "SELECT city`) {
		t.Errorf("gold error %v does not name the query", err)
	}
}

// A set of keys is joined by the first key that shares a column with it, and never merged
// with another one.
func TestForeignKeysAreNotTransitive(t *testing.T) {
	ref := func(c int) schema.Ref { return schema.Ref{Table: 0, Column: c} }
	db := &schema.Database{ID: "x", Tables: []schema.Table{{Original: "t", Columns: columns("a", "b", "c", "d")}}}
	for _, k := range [][2]int{{0, 1}, {2, 3}, {1, 2}} {
		db.ForeignKeys = append(db.ForeignKeys, schema.ForeignKey{From: ref(k[0]), To: ref(k[1])})
	}
	s := eval.NewSchema(db)
	for _, c := range []struct {
		a, b string
		want bool
	}{{"a", "b", true}, {"c", "d", true}, {"a", "c", false}, {"a", "d", false}} {
		v, err := s.Match("SELECT "+c.a+" FROM t", "SELECT "+c.b+" FROM t")
		if err != nil || v.Exact != c.want {
			t.Errorf("%s and %s: exact %v, %v, want %v", c.a, c.b, v.Exact, err, c.want)
		}
	}
}

// Deep and long predictions end in a verdict.
func TestMatchHostile(t *testing.T) {
	s := eval.NewSchema(flights)
	const gold = `SELECT city FROM airport WHERE code IN (SELECT source FROM flight)`
	union := strings.Repeat(`SELECT city FROM airport UNION `, 5000) + `SELECT city FROM airport`
	nested := strings.Repeat(`SELECT city FROM airport WHERE code IN (`, 5000) + `SELECT city FROM airport` + strings.Repeat(`)`, 5000)
	from := strings.Repeat(`SELECT count(*) FROM (`, 5000) + `SELECT city FROM airport` + strings.Repeat(`)`, 5000)
	for name, pred := range map[string]string{
		"union": union, "nested": nested, "from": from,
		"parentheses": strings.Repeat("(", 100_000),
		"long":        strings.Repeat("x ", 5<<20),
		"conditions":  `SELECT city FROM airport WHERE code = 1` + strings.Repeat(` AND code = 1`, 50_000),
		"tables":      `SELECT city FROM airport` + strings.Repeat(` JOIN airport`, 50_000),
		"columns":     `SELECT ` + strings.Repeat(`city , `, 50_000) + `city FROM airport`,
		"aliases":     `SELECT city FROM airport` + strings.Repeat(` AS a`, 50_000),
		"binary":      "\x00\xff\xfe'\xf0\x28'",
		"Chinese":     `查询 FROM 机场 WHERE “城市” = '北京'`,
	} {
		v, err := s.Match(gold, pred)
		if err != nil || v.Exact {
			t.Errorf("%s: exact %v, %v", name, v.Exact, err)
		}
	}
	v, err := s.Match(gold, nested)
	if want := "nested too deeply"; err != nil || v.PredParseError == nil || !strings.Contains(v.PredParseError.Error(), want) {
		t.Errorf("nested: %v, %v, want %s", v.PredParseError, err, want)
	}
}

func TestMatchConcurrently(t *testing.T) {
	s := eval.NewSchema(flights)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for j := range 200 {
				gold := fmt.Sprintf(`SELECT city FROM airport LIMIT %d`, j)
				if v, err := s.Match(gold, `SELECT City FROM airport LIMIT 1`); err != nil || !v.Exact {
					t.Errorf("goroutine %d, %s: %v, %v", i, gold, v.Exact, err)
				}
			}
		}()
	}
	wg.Wait()
}

func FuzzMatch(f *testing.F) {
	s := eval.NewSchema(flights)
	for _, sql := range []string{
		`SELECT city FROM airport AS a JOIN flight AS b ON a.code = b.source WHERE a.city LIKE '%x%' OR no BETWEEN 1 AND 2 GROUP BY city HAVING count(*) > 1 ORDER BY max(code) DESC LIMIT 3`,
		`SELECT count(DISTINCT city), code - no FROM (SELECT city FROM airport) UNION SELECT city FROM flight WHERE NOT no = (SELECT max(no) FROM flight)`,
		`= > as as * from airport where not`,
	} {
		f.Add(sql)
	}
	f.Fuzz(func(t *testing.T, sql string) {
		const gold = `SELECT city FROM airport`
		v, err := s.Match(gold, sql)
		if err != nil {
			t.Fatal(err)
		}
		// What can be read matches itself, unless numbers that differ from themselves
		// (nan) are in it.
		if v.PredParseError == nil && !strings.Contains(strings.ToLower(sql), "nan") {
			if v, err := s.Match(sql, sql); err != nil || !v.Exact {
				t.Fatalf("%q does not match itself: %+v, %v", sql, v, err)
			}
		}
	})
}

func ExampleSchema_Match() {
	s := eval.NewSchema(flights)
	v, err := s.Match(`SELECT city FROM airport WHERE code = 'BER'`, `SELECT max(city) FROM airport WHERE code = 'XXX'`)
	if err != nil {
		panic(err)
	}
	fmt.Println(v.Exact, v.Hardness, v.Partial["select"].F1, v.Partial["select(no AGG)"].F1, v.Partial["where"].F1)
	// Output: false easy 0 1 1
}

func TestQueryJSON(t *testing.T) {
	q, err := eval.NewSchema(flights).Parse(`SELECT DISTINCT max(f.no) - code FROM airport AS a JOIN (SELECT city FROM flight) WHERE city != 'B' ORDER BY code DESC LIMIT 03`)
	if err == nil {
		t.Fatalf("read %v, though the alias f stands for nothing", q)
	}
	q, err = eval.NewSchema(flights).Parse(`SELECT DISTINCT max(a.code) FROM airport AS a WHERE city != 'B' AND NOT a.code IN (SELECT city FROM flight) ORDER BY code DESC LIMIT 03`)
	if err == nil {
		t.Fatal("NOT before a column is not read")
	}
	q, err = eval.NewSchema(flights).Parse(`SELECT DISTINCT max(a.code) FROM airport AS a WHERE city != 'B' AND a.code > -1e3 ORDER BY code DESC LIMIT 03`)
	if err != nil {
		t.Fatal(err)
	}
	got, err := json.Marshal(q)
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"except":null,"from":{"conds":[],"table_units":[["table_unit","__airport__"]]},"groupBy":[],"having":[],"intersect":null,"limit":3,` +
		`"orderBy":["desc",[[0,[0,"__airport.code__",false],null]]],"select":[true,[[1,[0,[0,"__airport.code__",false],null]]]],"union":null,` +
		`"where":[[false,7,[0,[0,"__airport.city__",false],null],"\"B\"",null],"and",[false,3,[0,[0,"__airport.code__",false],null],-1000,null]]}`
	if string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
