package asdl_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/tabert-workbench/tabert-workbench/asdl"
	"github.com/tabert-workbench/tabert-workbench/asdl/asdltest"
)

func TestTreeString(t *testing.T) {
	g := asdl.MustParse(small)
	c := g.Constructor
	column := func(i, j int) []asdl.Node { return asdl.Leaves(asdl.Pair(i, j)) }
	span := asdl.New(c("span"), asdl.Leaves(asdl.Int(-3)), asdl.Leaves(asdl.Int(4)))
	for _, test := range []struct {
		tree *asdl.Tree
		want string
	}{
		{asdl.New(c("Nothing")), `Nothing`},
		{asdl.New(c("Select"), nil, nil), `(Select [] -)`},
		{asdl.New(c("Select"), append(column(0, 12), asdl.Node{Leaf: asdl.Index(7)}), asdl.Trees(asdl.New(c("Nothing")))), `(Select [#0.12 #7] Nothing)`},
		{
			asdl.New(c("Select"), nil, asdl.Trees(asdl.New(c("Equal"), column(1, 0), asdl.Leaves(asdl.Text("say \"hi\"\n"))))),
			`(Select [] (Equal #1.0 "say \"hi\"\n"))`,
		},
		{
			asdl.New(c("Select"), nil, asdl.Trees(asdl.New(c("Top"), nil, asdl.Trees(asdl.New(c("ASC"))), asdl.Trees(span)))),
			`(Select [] (Top - ASC (span -3 4)))`,
		},
	} {
		if diff := cmp.Diff(test.want, test.tree.String()); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
		again, err := asdl.ParseTree(g, test.want)
		if err != nil {
			t.Errorf("%s: %v", test.want, err)
		} else if !again.Equal(test.tree) || again.Check(g) != nil {
			t.Errorf("%s was read as %s (%v)", test.want, again, again.Check(g))
		}
	}
}

func TestParseTreeErrors(t *testing.T) {
	g := asdl.MustParse(small)
	for _, c := range []struct{ text, want string }{
		{"", `1:1: found the end (expected a constructor of stmt)`},
		{"(Select", `1:8: found the end (expected a bracket for the sequence Select.columns)`},
		{"Select [] -", `1:1: found "Select" (expected a parenthesis before Select, which has fields)`},
		{"(Select []\n  (ASC))", `2:4: found "ASC" (expected a constructor of expr)`},
		{"(Select [-] -)", `1:10: found "-" (expected a leaf for Select.columns: "text", 3, #2 or #2.5)`},
		{"(Select [#1.2 -)", `1:15: found "-" (expected a leaf for Select.columns: "text", 3, #2 or #2.5)`},
		{"(Select [#1.2] - -)", `1:18: found "-" (expected a parenthesis after the fields of Select)`},
		{"(Select [] -) Nothing", `1:15: found "Nothing" (expected the end)`},
		{`(Select [] (Equal #1.0 "a\q"))`, `1:24: found "\"a\\q\"" (expected a leaf for Equal.value: "text", 3, #2 or #2.5)`},
		{`(Select [] (Equal #1.0 "é" "a))`, `1:28: found "\"" (expected a parenthesis after the fields of Equal)`},
		{"(Select [] (Top 99999999999999999999 ASC", `1:17: found "99999999999999999999" (expected a leaf for Top.n: "text", 3, #2 or #2.5)`},
		{"(Select [] " + strings.Repeat("(And ", 20_000), `1:50012: found "(" (expected a tree of 10000 levels at most)`},
	} {
		_, err := asdl.ParseTree(g, c.text)
		if err == nil {
			t.Errorf("%.40q: no error (expected %s)", c.text, c.want)
		} else if diff := cmp.Diff(c.want, err.Error()); diff != "" {
			t.Errorf("%.40q (-want +got)\n%s", c.text, diff)
		}
	}
}

func TestCheck(t *testing.T) {
	g, other := asdl.MustParse(small), asdl.MustParse(small)
	c := g.Constructor
	nothing, asc, n := asdl.New(c("Nothing")), asdl.New(c("ASC")), asdl.Leaves(asdl.Int(1))
	for _, test := range []struct {
		tree *asdl.Tree
		want string
	}{
		{&asdl.Tree{}, "root: no constructor (expected stmt)"},
		{asc, "root: constructor ASC (expected stmt)"},
		{asdl.New(other.Constructor("Nothing")), "root: constructor Nothing is not of this grammar"},
		{asdl.New(c("Select"), n), "root: 1 fields for Select(column* columns, expr? where)"},
		{asdl.New(c("Select"), n, asdl.Trees(nothing, nothing)), "Select.where: 2 values (expected one expr at most)"},
		{asdl.New(c("Select"), n, n), "Select.where: leaf 1 (expected expr)"},
		{asdl.New(c("Select"), asdl.Trees(nothing), nil), "Select.columns: a tree (expected a leaf of the primitive type column)"},
		{asdl.New(c("Select"), n, asdl.Trees(asc)), "Select.where: constructor ASC (expected expr)"},
		{asdl.New(c("Select"), n, asdl.Trees(asdl.New(c("And"), asdl.Trees(nothing), nil))), "And.right: 0 values (expected one expr)"},
	} {
		err := test.tree.Check(g)
		if err == nil {
			t.Errorf("no error (expected %s)", test.want)
		} else if diff := cmp.Diff(test.want, err.Error()); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
	}
}

func TestTreesOfAllGrammars(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := asdltest.Grammar().Draw(t, "grammar")
		trees := asdltest.Tree(g, asdltest.Leaves())
		a, b := trees.Draw(t, "tree"), trees.Draw(t, "another tree")
		if err := a.Check(g); err != nil {
			t.Fatalf("%s: %v", a, err)
		}
		again, err := asdl.ParseTree(g, a.String())
		if err != nil {
			t.Fatalf("%s: %v", a, err)
		}
		if !again.Equal(a) || again.Hash() != a.Hash() {
			t.Errorf("%s was read as %s", a, again)
		}
		if same := a.String() == b.String(); a.Equal(b) != same || (a.Hash() == b.Hash()) != same {
			t.Errorf("%s and %s: equal %t, hashes %x and %x", a, b, a.Equal(b), a.Hash(), b.Hash())
		}
	})
}

func TestGrammarsAreParsedBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := asdltest.Grammar().Draw(t, "grammar")
		again, err := asdl.Parse(g.String())
		if err != nil {
			t.Fatalf("%v in\n%s", err, g)
		}
		if diff := cmp.Diff(list(g), list(again)); diff != "" {
			t.Errorf("(-first +second)\n%s", diff)
		}
	})
}

func FuzzParseTree(f *testing.F) {
	g := asdl.MustParse(small)
	f.Add("Nothing")
	f.Add(`(Select [#0.1 "a b" -3] (And (Equal #2 "\xff\u00e9") (Top 3 DESC (span 1 2))))`)
	f.Fuzz(func(t *testing.T, text string) {
		tree, err := asdl.ParseTree(g, text)
		if err != nil {
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("an error of more than one line: %v", err)
			}
			return
		}
		again, err := asdl.ParseTree(g, tree.String())
		if err != nil || !again.Equal(tree) || tree.Check(g) != nil {
			t.Errorf("%s was read as %s (%v, %v)", tree, again, err, tree.Check(g))
		}
	})
}
