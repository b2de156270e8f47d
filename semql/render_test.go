package semql_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tabert-workbench/tabert-workbench/asdl"
	"github.com/tabert-workbench/tabert-workbench/schema"
	"github.com/tabert-workbench/tabert-workbench/semql"
)

func parseTree(t testing.TB, sexpr string) *asdl.Tree {
	t.Helper()
	tree, err := asdl.ParseTree(figure(t), sexpr)
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

// Trees that no SQL stands for are errors, not panics.
func TestRenderErrors(t *testing.T) {
	db := school(t)
	for _, tt := range []struct{ sexpr, want string }{
		{`(SelectStatement None [] - - - [] -)`, "a SelectStatement without result columns"},
		{`(SelectStatement None [(ColumnReference #9.0)] - - - [] -)`, "table 9 of 8"},
		{`(SelectStatement None [(ColumnReference #1.3)] - - - [] -)`, "column 3 of 3 in table teacher"},
		{`(SelectStatement None [(AllRows #0)] - - - [#8] -)`, "table 8 of 8"},
		{`(SelectStatement None [(AggregateExpr Sum (AllRows #0) None)] - - - [] -)`, "sum(*)"},
		{`(SelectStatement None [(AllRows #0)] (OrExpr []) - - [] -)`, "OR of nothing"},
		{`(SelectStatement None [(AllRows #0)] (CompareExpr Equal (Literal "1") (SelectStatement None [(ColumnReference #8.0)] - - - [] -)) - - [] -)`, "table 8 of 8"},
	} {
		got, err := semql.Render(parseTree(t, tt.sexpr), db)
		want := `rendering for database "school": ` + tt.want
		if err == nil || err.Error() != want {
			t.Errorf("%s:\n%q, %v, want\n%s", tt.sexpr, got, err, want)
		}
	}
	if _, err := semql.Render(nil, db); err == nil {
		t.Error("a tree that is not there is rendered")
	}
	c := figure(t).Constructor("SelectStatement")
	if _, err := semql.Render(asdl.New(c, make([][]asdl.Node, len(c.Fields))...), db); err == nil {
		t.Error("a tree without fields is rendered")
	}
}

// Numbers are bare where SQL writes them like this and they are not compared with a text.
func TestLiterals(t *testing.T) {
	db := school(t)
	for _, tt := range []struct{ value, number, text string }{
		{"5", "5", "'5'"},
		{"-5", "-5", "'-5'"},
		{"2.50", "2.50", "'2.50'"},
		{"0.5", "0.5", "'0.5'"},
		{".5", ".5", "'.5'"},
		{"1e10", "1e10", "'1e10'"},
		{"007", "'007'", "'007'"},
		{"1,000", "'1,000'", "'1,000'"},
		{"--5", "'--5'", "'--5'"},
		{"-", "'-'", "'-'"},
		{".", "'.'", "'.'"},
		{"e5", "'e5'", "'e5'"},
		{"", "''", "''"},
		{" 5", "' 5'", "' 5'"},
		{"it's", "'it''s'", "'it''s'"},
		{"2010-01-02", "'2010-01-02'", "'2010-01-02'"},
		{"NULL", "'NULL'", "'NULL'"},
	} {
		for column, want := range map[string]string{"#0.3": "age = " + tt.number, "#0.5": "school_year = " + tt.text} {
			sexpr := fmt.Sprintf(`(SelectStatement None [(AllRows #0)] (CompareExpr Equal (ColumnReference %s) (Literal %q)) - - [] -)`, column, tt.value)
			got, err := semql.Render(parseTree(t, sexpr), db)
			if want := "SELECT * FROM student WHERE " + want; got != want || err != nil {
				t.Errorf("%q: rendered as %s (%v), want %s", tt.value, got, err, want)
			}
		}
	}
}

// tables makes a schema of tables a, b, c, … with columns id, name, and one for each key: "b>a"
// is a foreign key from b to a.
func tables(n int, keys ...string) *schema.Database {
	db := &schema.Database{ID: "letters"}
	name := func(i int) string {
		if i < 26 {
			return string(rune('a' + i))
		}
		return fmt.Sprintf("t%d", i)
	}
	for i := 0; i < n; i++ {
		db.Tables = append(db.Tables, schema.Table{Name: name(i), Original: name(i), PrimaryKey: []int{0},
			Columns: []schema.Column{{Name: "id", Original: "id", Type: schema.Number}, {Name: "name", Original: "name", Type: schema.Text}}})
	}
	for _, k := range keys {
		from, to, _ := strings.Cut(k, ">")
		i, _ := db.FindTable(from)
		j, _ := db.FindTable(to)
		t := &db.Tables[i]
		t.Columns = append(t.Columns, schema.Column{Name: "ref " + to, Original: fmt.Sprintf("to_%s%d", to, len(t.Columns)), Type: schema.Number})
		db.ForeignKeys = append(db.ForeignKeys, schema.ForeignKey{From: schema.Ref{Table: i, Column: len(t.Columns) - 1}, To: schema.Ref{Table: j}})
	}
	return db
}

// mention is a query for the name in each of these tables.
func mention(db *schema.Database, names ...string) string {
	var columns []string
	for _, name := range names {
		i, _ := db.FindTable(name)
		columns = append(columns, fmt.Sprintf("(ColumnReference #%d.1)", i))
	}
	return "(SelectStatement None [" + strings.Join(columns, " ") + "] - - - [] -)"
}

func TestJoins(t *testing.T) {
	for _, tt := range []struct {
		name    string
		tables  int
		keys    string
		mention string
		want    string // FROM
	}{
		{"one table", 2, "b>a", "b", "b"},
		{"a key", 2, "b>a", "a b", "a AS T1 JOIN b AS T2 ON T1.id = T2.to_a2"},
		{"the table mentioned first comes first", 2, "b>a", "b a", "b AS T1 JOIN a AS T2 ON T1.to_a2 = T2.id"},
		{"through a table", 3, "c>a c>b", "a b", "a AS T1 JOIN c AS T2 ON T1.id = T2.to_a2 JOIN b AS T3 ON T2.to_b3 = T3.id"},
		{"the shortest way", 5, "b>a c>b d>c e>a e>d", "a d", "a AS T1 JOIN e AS T2 ON T1.id = T2.to_a2 JOIN d AS T3 ON T2.to_d3 = T3.id"},
		{"of two ways the first of the schema", 4, "d>a d>b c>a c>b", "a b", "a AS T1 JOIN c AS T2 ON T1.id = T2.to_a2 JOIN b AS T3 ON T2.to_b3 = T3.id"},
		{"a table that joins three", 5, "e>a e>b e>c d>a d>b", "a b c", "a AS T1 JOIN e AS T2 ON T1.id = T2.to_a2 JOIN b AS T3 ON T2.to_b3 = T3.id JOIN c AS T4 ON T2.to_c4 = T4.id"},
		{"two that reference the same", 3, "b>a c>a", "b c", "b AS T1 JOIN c AS T2 ON T1.to_a2 = T2.to_a2"},
		{"through the table that references both others", 3, "b>a c>a c>b", "a b c", "a AS T1 JOIN c AS T2 ON T1.id = T2.to_a2 JOIN b AS T3 ON T2.to_b3 = T3.id"},
		{"two keys between the same tables", 2, "b>a b>a", "a b", "a AS T1 JOIN b AS T2 ON T1.id = T2.to_a2"},
		{"no way", 2, "", "a b", "a AS T1 JOIN b AS T2"},
		{"a way for some", 3, "c>a", "a b c", "a AS T1 JOIN c AS T2 ON T1.id = T2.to_a2 JOIN b AS T3"},
		{"more tables than are joined exactly", 17, "b>a c>b d>c e>d f>e g>f h>g i>h j>i k>j l>k m>l n>m o>n p>o q>p", "a c e g i k m o q",
			"a AS T1 JOIN b AS T2 ON T1.id = T2.to_a2 JOIN c AS T3 ON T2.id = T3.to_b2 JOIN d AS T4 ON T3.id = T4.to_c2 JOIN e AS T5 ON T4.id = T5.to_d2 " +
				"JOIN f AS T6 ON T5.id = T6.to_e2 JOIN g AS T7 ON T6.id = T7.to_f2 JOIN h AS T8 ON T7.id = T8.to_g2 JOIN i AS T9 ON T8.id = T9.to_h2 " +
				"JOIN j AS T10 ON T9.id = T10.to_i2 JOIN k AS T11 ON T10.id = T11.to_j2 JOIN l AS T12 ON T11.id = T12.to_k2 JOIN m AS T13 ON T12.id = T13.to_l2 " +
				"JOIN n AS T14 ON T13.id = T14.to_m2 JOIN o AS T15 ON T14.id = T15.to_n2 JOIN p AS T16 ON T15.id = T16.to_o2 JOIN q AS T17 ON T16.id = T17.to_p2"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			db := tables(tt.tables, strings.Fields(tt.keys)...)
			got, err := semql.Render(parseTree(t, mention(db, strings.Fields(tt.mention)...)), db)
			if err != nil {
				t.Fatal(err)
			}
			if _, from, _ := strings.Cut(got, " FROM "); from != tt.want {
				t.Errorf("joined\n%s, want\n%s", from, tt.want)
			}
		})
	}
}

// BenchmarkManyTables joins six of 300 tables, with a key from each to another and 40 more.
func BenchmarkManyTables(b *testing.B) {
	names, keys := tables(300), []string(nil)
	for i := 1; i < 300; i++ {
		keys = append(keys, names.Tables[i].Original+">"+names.Tables[(i-1)/3].Original)
	}
	for i := 0; i < 40; i++ {
		keys = append(keys, names.Tables[299-7*i].Original+">"+names.Tables[(i*37)%290].Original)
	}
	db := tables(300, keys...)
	tree := parseTree(b, mention(db, "t290", "t120", "t200", "c", "t77", "t260"))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := semql.Render(tree, db); err != nil {
			b.Fatal(err)
		}
	}
}
