package asdl_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tabert-workbench/tabert-workbench/asdl"
)

const small = `
stmt = Select(column* columns, expr? where) -- one of the two kinds of comment
     | Nothing
expr = And(expr left, expr right) | Equal(column column, string value) | stmt  # the other
     | Top(int? n, order order, span span)
order = ASC | DESC
span = (int start, int end) attributes (int line, string* notes)
`

// read gives the grammars of testdata and of the workbench by file name.
func read(t testing.TB) map[string]string {
	t.Helper()
	texts := map[string]string{"small": small}
	for _, pattern := range []string{"testdata/*.asdl", "../grammars/*.asdl"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatalf("no file is %s (%v)", pattern, err)
		}
		for _, f := range files {
			text, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			texts[filepath.Base(f)] = string(text)
		}
	}
	return texts
}

func TestString(t *testing.T) {
	const want = `stmt = Select(column* columns, expr? where)
     | Nothing

expr = And(expr left, expr right)
     | Equal(column column, string value)
     | stmt
     | Top(int? n, order order, span span)

order = ASC
      | DESC

span = (int start, int end)
       attributes (int line, string* notes)
`
	if diff := cmp.Diff(want, asdl.MustParse(small).String()); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestStringIsParsedBack(t *testing.T) {
	for name, text := range read(t) {
		t.Run(name, func(t *testing.T) {
			sameWhenPrinted(t, asdl.MustParse(text))
		})
	}
}

func sameWhenPrinted(t *testing.T, g *asdl.Grammar) {
	t.Helper()
	again, err := asdl.Parse(g.String())
	if err != nil {
		t.Fatalf("%v in\n%s", err, g)
	}
	if diff := cmp.Diff(list(g), list(again)); diff != "" {
		t.Errorf("(-first +second)\n%s", diff)
	}
	if g.String() != again.String() {
		t.Errorf("printed as\n%s\nand then as\n%s", g, again)
	}
}

// list writes down all that a grammar holds, one thing a line.
func list(g *asdl.Grammar) []string {
	lines := []string{"root " + g.Root.Name}
	for _, t := range g.Types {
		lines = append(lines, fmt.Sprintf("type %d %s %t %v", t.ID, t.Name, t.Primitive, t.Attributes))
		for _, c := range t.Constructors {
			lines = append(lines, fmt.Sprintf("  %d %s", c.ID, c))
		}
	}
	for _, c := range g.Constructors {
		lines = append(lines, fmt.Sprintf("constructor %d %s of %s", c.ID, c, c.Type.Name))
	}
	for _, f := range g.Fields {
		lines = append(lines, fmt.Sprintf("field %d %s of %s, %d of type %d", f.ID, f, f.Constructor.Name, f.Index, f.Type.ID))
	}
	return lines
}

func TestIDs(t *testing.T) {
	g := asdl.MustParse(small)
	var types, constructors, fields []string
	for i, x := range g.Types {
		if x.ID != i || g.Type(x.Name) != x {
			t.Errorf("type %d: %v", i, x)
		}
		types = append(types, x.Name)
	}
	for i, x := range g.Constructors {
		if x.ID != i || g.Constructor(x.Name) != x {
			t.Errorf("constructor %d: %v", i, x)
		}
		constructors = append(constructors, x.Name)
	}
	for i, x := range g.Fields {
		if x.ID != i || x.Constructor.Fields[x.Index] != x {
			t.Errorf("field %d: %v", i, x)
		}
		fields = append(fields, x.Constructor.Name+"."+x.Name)
	}
	for _, c := range []struct {
		what, want string
		got        []string
	}{
		{"types", "stmt expr order span column string int", types},
		{"constructors", "Select Nothing And Equal Top ASC DESC span", constructors},
		{"fields", "Select.columns Select.where And.left And.right Equal.column Equal.value Top.n Top.order Top.span span.start span.end", fields},
	} {
		if diff := cmp.Diff(c.want, strings.Join(c.got, " ")); diff != "" {
			t.Errorf("%s (-want +got)\n%s", c.what, diff)
		}
	}
	if g.Root != g.Type("stmt") || !g.Type("int").Primitive || g.Type("expr").Primitive {
		t.Errorf("root %v, int %v, expr %v", g.Root, g.Type("int"), g.Type("expr"))
	}
}

// A type as an alternative stands for its constructors, in the order of the file.
func TestAlternativesAreExpanded(t *testing.T) {
	g := asdl.MustParse("a = b | One(a x)\nb = c | Two\nc = Three | b")
	for name, want := range map[string]string{"a": "One Two Three", "b": "Two Three", "c": "Two Three"} {
		var got []string
		for _, c := range g.Type(name).Constructors {
			got = append(got, c.Name)
		}
		if diff := cmp.Diff(want, strings.Join(got, " ")); diff != "" {
			t.Errorf("%s (-want +got)\n%s", name, diff)
		}
	}
	if c := g.Constructor("Three"); c.Type != g.Type("c") || !g.Type("a").Fills(c) || g.Type("b").Fills(g.Constructor("One")) {
		t.Errorf("Three is defined in %s", c.Type.Name)
	}
}

func TestParseErrors(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", `1:1: no rule (expected one of the form "type = Constructor(…) | …")`},
		{"# nothing\n", `1:1: no rule (expected one of the form "type = Constructor(…) | …")`},
		{"a = A(int x)\nb = A", "2:5: duplicate constructor A (first defined at 1:5)"},
		{"a = A\n\n  a = B", "3:3: duplicate type a (first defined at 1:1)"},
		{"a = A(int x,\n      b? x)\nb = B", "2:7: duplicate field x of A"},
		{"a = A | b", "1:9: undefined type b as an alternative of a"},
		{"a = A(b x) | b", "1:14: primitive type b as an alternative of a (wrap it in a constructor)"},
		{"a = b | A | b\nb = B", "1:13: duplicate alternative b of a"},
		{"a = b(int x)\nb = B", "1:5: constructor b must start with a capital letter"},
		{"a = A\nb = B(b x)", "2:1: type b has no finite value (every alternative leads to itself again)"},
		{"a = A(b x) | C(a a)\nb = B(a x)", "1:1: type a has no finite value (every alternative leads to itself again)"},
		{"a = b\nb = a", "1:1: type a has no finite value (every alternative leads to itself again)"},
		{"a = A(int)", `1:10: unexpected token ")" (expected (<typename> | <constructorname>))`},
		{"a = A(Int x)", `1:7: unexpected token "Int" (expected ")")`},
		{"a = A(int x", `1:12: unexpected token "<EOF>" (expected ")")`},
		{"a = A) b", `1:6: unexpected token ")"`},
		{"a = A\nB = b", `2:1: unexpected token "B"`},
		{"a = A\nb", `2:2: unexpected token "<EOF>" (expected "=" (("(" Field ("," Field)* ")") | (Production ("|" Production)*)) ("attributes" "(" Field ("," Field)* ")")?)`},
		{"a = A ;", `1:7: lexer: invalid input text ";"`},
	} {
		_, err := asdl.Parse(c.text)
		if err == nil {
			t.Errorf("%q: no error (expected %s)", c.text, c.want)
		} else if diff := cmp.Diff(c.want, err.Error()); diff != "" {
			t.Errorf("%q (-want +got)\n%s", c.text, diff)
		}
	}
}

func TestOptionalAndSequenceFieldsAreABaseCase(t *testing.T) {
	g, err := asdl.Parse("a = A(a? x, a* y)")
	if err != nil {
		t.Fatal(err)
	}
	sameWhenPrinted(t, g)
}

func TestAWordAttributesMayNameARule(t *testing.T) {
	g := asdl.MustParse("a = A attributes (int line)\nattributes = (a attributes) attributes (a a)\nb = B")
	if got := len(g.Types); got != 3 {
		t.Errorf("%d types (expected a, attributes, b)", got)
	}
	sameWhenPrinted(t, g)
}

func FuzzParse(f *testing.F) {
	for _, text := range read(f) {
		f.Add(text)
	}
	f.Add("a = (int? x) attributes (b* c)\nattributes = a | A")
	f.Fuzz(func(t *testing.T, text string) {
		g, err := asdl.Parse(text)
		if err != nil {
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("an error of more than one line: %v", err)
			}
			return
		}
		sameWhenPrinted(t, g)
	})
}
