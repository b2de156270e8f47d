package tranx_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/tabert-workbench/tabert-workbench/asdl"
	"github.com/tabert-workbench/tabert-workbench/asdl/asdltest"
	"github.com/tabert-workbench/tabert-workbench/grammars"
	"github.com/tabert-workbench/tabert-workbench/tranx"
)

func system(t testing.TB, text string) *tranx.System {
	t.Helper()
	s, err := tranx.NewSystem(asdl.MustParse(text), nil)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func parseTree(t testing.TB, s *tranx.System, text string) *asdl.Tree {
	t.Helper()
	tree, err := asdl.ParseTree(s.Grammar, text)
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

func oracle(t testing.TB, s *tranx.System, text string) []tranx.Action {
	t.Helper()
	actions, err := s.Oracle(parseTree(t, s, text))
	if err != nil {
		t.Fatal(err)
	}
	return actions
}

// "How many singers are from the  USA?", and one with all that the grammar has.
const query = `(SelectStatement None [(AggregateExpr Count (AllRows #1) None) (ColumnReference #1.0)]` +
	` (CompareExpr Equal (ColumnReference #1.3) (Literal "the  USA")) (OrderByClause [] DESC) 3 [#1 #0]` +
	` (CompoundStatement Union (SelectStatement Distinct [] (Literal "") - - [] -)))`

func TestReplay(t *testing.T) {
	s := system(t, grammars.SemQL)
	actions := oracle(t, s, query)
	frontiers, err := s.Replay(actions)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for i, f := range frontiers {
		where := "root"
		if f.Field != nil {
			where = fmt.Sprintf("%s.%s of step %d", f.Field.Constructor.Name, f.Field.Name, f.ParentStep)
		} else if f.FieldID() != -1 || f.ConstructorID() != -1 || f.ParentStep != -1 || f.TypeID() != s.Grammar.Root.ID {
			t.Errorf("root: field %d, constructor %d, step %d", f.FieldID(), f.ConstructorID(), f.ParentStep)
		}
		reduce := ""
		if f.Expect.Reduce {
			reduce = " or Reduce"
		}
		got = append(got, fmt.Sprintf("%2d %s%q %s%s: %s", i, where, f.Tokens, f.Expect.Kind, reduce, actions[i]))
	}
	want := strings.Split(`
 0 root[] ApplyConstr: ApplyConstr(SelectStatement)
 1 SelectStatement.distinct of step 0[] ApplyConstr: ApplyConstr(None)
 2 SelectStatement.result_columns of step 0[] ApplyConstr or Reduce: ApplyConstr(AggregateExpr)
 3 AggregateExpr.op of step 2[] ApplyConstr: ApplyConstr(Count)
 4 AggregateExpr.value of step 2[] ApplyConstr: ApplyConstr(AllRows)
 5 AllRows.table_name of step 4[] SelectTable: SelectTable(1)
 6 AggregateExpr.distinct of step 2[] ApplyConstr: ApplyConstr(None)
 7 SelectStatement.result_columns of step 0[] ApplyConstr or Reduce: ApplyConstr(ColumnReference)
 8 ColumnReference.column_name of step 7[] SelectColumn: SelectColumn(1, 0)
 9 SelectStatement.result_columns of step 0[] ApplyConstr or Reduce: Reduce
10 SelectStatement.where_clause of step 0[] ApplyConstr or Reduce: ApplyConstr(CompareExpr)
11 CompareExpr.op of step 10[] ApplyConstr: ApplyConstr(Equal)
12 CompareExpr.left_value of step 10[] ApplyConstr: ApplyConstr(ColumnReference)
13 ColumnReference.column_name of step 12[] SelectColumn: SelectColumn(1, 3)
14 CompareExpr.right_value of step 10[] ApplyConstr: ApplyConstr(Literal)
15 Literal.value of step 14[] GenToken: GenToken("the")
16 Literal.value of step 14["the"] GenToken: GenToken("  USA")
17 Literal.value of step 14["the" "  USA"] GenToken: GenToken("</s>")
18 SelectStatement.order_by_clause of step 0[] ApplyConstr or Reduce: ApplyConstr(OrderByClause)
19 OrderByClause.expr_list of step 18[] ApplyConstr or Reduce: Reduce
20 OrderByClause.order of step 18[] ApplyConstr: ApplyConstr(DESC)
21 SelectStatement.limit_value of step 0[] SelectInt or Reduce: SelectInt(3)
22 SelectStatement.join_with_tables of step 0[] SelectTable or Reduce: SelectTable(1)
23 SelectStatement.join_with_tables of step 0[] SelectTable or Reduce: SelectTable(0)
24 SelectStatement.join_with_tables of step 0[] SelectTable or Reduce: Reduce
25 SelectStatement.compound_statement of step 0[] ApplyConstr or Reduce: ApplyConstr(CompoundStatement)
26 CompoundStatement.op of step 25[] ApplyConstr: ApplyConstr(Union)
27 CompoundStatement.query of step 25[] ApplyConstr: ApplyConstr(SelectStatement)
28 SelectStatement.distinct of step 27[] ApplyConstr: ApplyConstr(Distinct)
29 SelectStatement.result_columns of step 27[] ApplyConstr or Reduce: Reduce
30 SelectStatement.where_clause of step 27[] ApplyConstr or Reduce: ApplyConstr(Literal)
31 Literal.value of step 30[] GenToken: GenToken("</s>")
32 SelectStatement.order_by_clause of step 27[] ApplyConstr or Reduce: Reduce
33 SelectStatement.limit_value of step 27[] SelectInt or Reduce: Reduce
34 SelectStatement.join_with_tables of step 27[] SelectTable or Reduce: Reduce
35 SelectStatement.compound_statement of step 27[] ApplyConstr or Reduce: Reduce`, "\n")[1:]
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	sameBothWays(t, s, parseTree(t, s, query))
}

// sameBothWays checks that Oracle and Tree are inverse, and that replaying agrees with a
// hypothesis at each step.
func sameBothWays(t interface {
	Fatalf(string, ...any)
	Errorf(string, ...any)
}, s *tranx.System, tree *asdl.Tree,
) {
	actions, err := s.Oracle(tree)
	if err != nil {
		t.Fatalf("%s: %v", tree, err)
	}
	again, err := s.Tree(actions)
	if err != nil {
		t.Fatalf("%s: %v", tree, err)
	}
	if !again.Equal(tree) {
		t.Errorf("%s became %s", tree, again)
	}
	back, err := s.Oracle(again)
	if diff := cmp.Diff(fmt.Sprint(actions), fmt.Sprint(back)); diff != "" || err != nil {
		t.Errorf("actions of %s (%v) (-first +second)\n%s", tree, err, diff)
	}
	for i := range actions[:len(actions)-1] {
		if _, err := s.Tree(actions[:i]); err == nil {
			t.Errorf("%s is complete after %d of %d actions", tree, i, len(actions))
		}
	}
}

func TestOracleAndTreeAreInverse(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := asdltest.Grammar().Draw(t, "grammar")
		s, err := tranx.NewSystem(g, asdltest.Leaves())
		if err != nil {
			t.Fatal(err)
		}
		sameBothWays(t, s, asdltest.Tree(g, asdltest.Leaves()).Draw(t, "tree"))
	})
}

func TestOracleAndTreeAreInverseForGrammarFiles(t *testing.T) {
	leaves := tranx.DefaultLeaves()
	for _, pattern := range []string{"../grammars/*.asdl", "../asdl/testdata/*.asdl"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatalf("no file is %s (%v)", pattern, err)
		}
		for _, file := range files {
			t.Run(filepath.Base(file), func(t *testing.T) {
				text, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				s := system(t, string(text))
				rapid.Check(t, func(t *rapid.T) {
					sameBothWays(t, s, asdltest.Tree(s.Grammar, leaves).Draw(t, "tree"))
				})
			})
		}
	}
}

// An action that Legal refuses has an error, one that it accepts leads on, for any actions in
// any order.
func TestEveryLegalWalkIsATree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, err := tranx.NewSystem(asdltest.Grammar().Draw(t, "grammar"), asdltest.Leaves())
		if err != nil {
			t.Fatal(err)
		}
		h := s.Start()
		for h.Len() < 50 && !h.Done() {
			open := h.Open()
			choice := continuations(h)
			if len(choice) == 0 {
				t.Fatalf("nothing may come after %v", h.Actions())
			}
			before := fmt.Sprint(h.Path())
			for _, a := range choice {
				if _, err := h.Apply(a); err != nil {
					t.Errorf("%v", err)
				}
			}
			if after := fmt.Sprint(h.Path()); after != before {
				t.Fatalf("a hypothesis was changed from %s to %s", before, after)
			}
			for _, a := range []tranx.Action{{Kind: tranx.Reduce}, {Kind: tranx.SelectInt}, {Kind: tranx.GenToken, Token: "x"}} {
				_, err := h.Apply(a)
				legal := a.Kind == open.Expect.Kind || a.Kind == tranx.Reduce && open.Expect.Reduce
				if (err == nil) != legal {
					t.Errorf("%s at %+v: %v", a, open, err)
				}
			}
			if path := h.Path(); open.Field != nil {
				last := path[len(path)-1]
				if last.Tree.Constructor.Fields[last.Field] != open.Field {
					t.Errorf("the path leads to %v (expected %v)", last, open.Field)
				}
				if a := h.Actions()[open.ParentStep]; a.Constructor != open.Field.Constructor {
					t.Errorf("step %d of %v is not of %s", open.ParentStep, h.Actions(), open.Field.Constructor.Name)
				}
			}
			h, err = h.Apply(rapid.SampledFrom(choice).Draw(t, "action"))
			if err != nil {
				t.Fatal(err)
			}
		}
		if h.Done() {
			tree, err := s.Tree(h.Actions())
			if err != nil || !tree.Equal(h.Tree()) || tree.Check(s.Grammar) != nil {
				t.Errorf("%v built %s and then %s (%v, %v)", h.Actions(), h.Tree(), tree, err, tree.Check(s.Grammar))
			}
		}
	})
}

// continuations lists legal actions, of many that fill a leaf a few.
func continuations(h *tranx.Hypothesis) []tranx.Action {
	if h.Done() {
		return nil
	}
	e, all := h.Expect(), []tranx.Action(nil)
	for _, c := range e.Constructors {
		all = append(all, tranx.Action{Kind: tranx.ApplyConstr, Constructor: c})
	}
	switch e.Kind {
	case tranx.GenToken:
		all = append(all, tranx.Action{Kind: tranx.GenToken, Token: "a"}, tranx.Action{Kind: tranx.GenToken, Token: " b"},
			tranx.Action{Kind: tranx.GenToken, Token: tranx.EndOfString})
	case tranx.SelectTable:
		all = append(all, tranx.Action{Kind: tranx.SelectTable}, tranx.Action{Kind: tranx.SelectTable, Table: 1})
	case tranx.SelectColumn:
		all = append(all, tranx.Action{Kind: tranx.SelectColumn}, tranx.Action{Kind: tranx.SelectColumn, Table: 1, Column: 2})
	case tranx.SelectInt:
		all = append(all, tranx.Action{Kind: tranx.SelectInt}, tranx.Action{Kind: tranx.SelectInt, Int: -1})
	}
	if e.Reduce {
		all = append(all, tranx.Action{Kind: tranx.Reduce})
	}
	return all
}

const small = "a = A(b b, string? s, a* as) | None\nb = B(int n, table_ref t, column_ref c) | a"

func TestErrors(t *testing.T) {
	s := system(t, small)
	c := s.Grammar.Constructor
	apply := func(name string) tranx.Action {
		return tranx.Action{Kind: tranx.ApplyConstr, Constructor: c(name)}
	}
	word := func(w string) tranx.Action { return tranx.Action{Kind: tranx.GenToken, Token: w} }
	reduce := tranx.Action{Kind: tranx.Reduce}
	type actions = []tranx.Action
	for _, test := range []struct {
		actions actions
		want    string
	}{
		{nil, "after 0 actions the tree is not complete: at the root (expected ApplyConstr of A, None)"},
		{actions{apply("A"), apply("None")}, "after 2 actions the tree is not complete: at A.s (expected GenToken or Reduce)"},
		{actions{apply("B")}, "action 1 of 1: ApplyConstr(B) is not legal at the root (expected ApplyConstr of A, None)"},
		{actions{{Kind: tranx.ApplyConstr}}, "action 1 of 1: ApplyConstr(nothing) is not legal at the root (expected ApplyConstr of A, None)"},
		{actions{apply("None"), reduce}, "action 2 of 2: Reduce is not legal at the end of the tree (expected nothing more)"},
		{actions{apply("None"), {Kind: tranx.ApplyConstr}}, "action 2 of 2: ApplyConstr(nothing) is not legal at the end of the tree (expected nothing more)"},
		{actions{apply("A"), reduce}, "action 2 of 2: Reduce is not legal at A.b (expected ApplyConstr of A, None, B)"},
		{actions{apply("A"), apply("None"), word("x"), reduce}, "action 4 of 4: Reduce is not legal at A.s (expected GenToken)"},
		{actions{apply("A"), apply("None"), word("")}, `action 3 of 3: GenToken("") is not legal at A.s (expected GenToken or Reduce)`},
		{actions{apply("A"), apply("None"), reduce, {Kind: tranx.SelectInt, Int: 2}}, "action 4 of 4: SelectInt(2) is not legal at A.as (expected ApplyConstr of A, None or Reduce)"},
		{actions{apply("A"), apply("B"), {Kind: tranx.SelectTable}}, "action 3 of 3: SelectTable(0) is not legal at B.n (expected SelectInt)"},
		{
			actions{apply("A"), apply("B"), {Kind: tranx.SelectInt}, {Kind: tranx.SelectTable, Table: -1}},
			"action 4 of 4: SelectTable(-1) is not legal at B.t (expected SelectTable)",
		},
	} {
		_, err := s.Tree(test.actions)
		if err == nil {
			t.Errorf("%v: no error (expected %s)", test.actions, test.want)
		} else if diff := cmp.Diff(test.want, err.Error()); diff != "" {
			t.Errorf("%v (-want +got)\n%s", test.actions, diff)
		}
	}

	for _, test := range []struct{ tree, want string }{
		{"(A (B #1 #1 #0.0) - [])", "B.n: leaf #1 (expected one for SelectInt)"},
		{"(A (B 1 #1.2 #0.0) - [])", "B.t: leaf #1.2 (expected one for SelectTable)"},
		{`(A (B 1 "x" #0.0) - [])`, `B.t: leaf "x" (expected one for SelectTable)`},
		{"(A None 3 [])", "A.s: leaf 3 (expected one for GenToken)"},
	} {
		_, err := s.Oracle(parseTree(t, s, test.tree))
		if err == nil {
			t.Errorf("%v: no error (expected %s)", test.tree, test.want)
		} else if diff := cmp.Diff(test.want, err.Error()); diff != "" {
			t.Errorf("%v (-want +got)\n%s", test.tree, diff)
		}
	}
	negative := asdl.New(c("B"), asdl.Leaves(asdl.Int(-1)), asdl.Leaves(asdl.Index(0)), asdl.Leaves(asdl.Pair(0, -1)))
	_, err := s.Oracle(asdl.New(c("A"), asdl.Trees(negative), nil, nil))
	if want := "B.c: leaf #0.-1 (expected one for SelectColumn)"; err == nil || err.Error() != want {
		t.Errorf("%v (expected %s)", err, want)
	}
	_, err = s.Oracle(negative)
	if want := "root: constructor B (expected a)"; err == nil || err.Error() != want {
		t.Errorf("%v (expected %s)", err, want)
	}
}

func TestNewSystemErrors(t *testing.T) {
	for _, test := range []struct {
		text   string
		leaves map[string]asdl.LeafKind
		want   string
	}{
		{"a = A(blob b)", nil, "primitive type blob of the grammar: no kind of leaf is given for it"},
		{"a = A(int b)", map[string]asdl.LeafKind{"string": asdl.KindText}, "primitive type int of the grammar: no kind of leaf is given for it"},
		{"a = A(string b)\nstring = B", nil, "type string of the grammar is not primitive (given as a leaf: text)"},
	} {
		_, err := tranx.NewSystem(asdl.MustParse(test.text), test.leaves)
		if err == nil || err.Error() != test.want {
			t.Errorf("%s: %v (expected %s)", test.text, err, test.want)
		}
	}
}

func BenchmarkOracleAndTree(b *testing.B) {
	s := system(b, grammars.SemQL)
	tree := parseTree(b, s, query)
	b.ReportAllocs()
	for b.Loop() {
		actions, err := s.Oracle(tree)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := s.Tree(actions); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "trees/s")
}
