// Package asdltest draws random grammars and trees, for tests of properties that every
// grammar must have.
package asdltest

import (
	"fmt"
	"slices"
	"strings"

	"pgregory.net/rapid"

	"github.com/tabert-workbench/tabert-workbench/asdl"
)

// Leaves are the primitive types that the grammars of Grammar use.
func Leaves() map[string]asdl.LeafKind {
	return map[string]asdl.LeafKind{
		"string": asdl.KindText, "int": asdl.KindInteger, "table_ref": asdl.KindIndex, "column_ref": asdl.KindPair,
	}
}

// Grammar draws a grammar of a few types, with products, alternatives that are types, and
// recursion among them.
func Grammar() *rapid.Generator[*asdl.Grammar] {
	return rapid.Custom(func(t *rapid.T) *asdl.Grammar {
		n := rapid.IntRange(1, 4).Draw(t, "types")
		composite := make([]string, n)
		for i := range composite {
			composite[i] = fmt.Sprintf("t%d", i)
		}
		primitive := []string{"string", "int", "table_ref", "column_ref"}
		// A base case needs no value of a composite type.
		fields := func(base bool) string {
			var list []string
			for i := range rapid.IntRange(0, 3).Draw(t, "fields") {
				mark := rapid.SampledFrom([]string{"", "?", "*"}).Draw(t, "mark")
				of := primitive
				if !base || mark != "" {
					of = slices.Concat(primitive, composite)
				}
				list = append(list, fmt.Sprintf("%s%s f%d", rapid.SampledFrom(of).Draw(t, "type"), mark, i))
			}
			return strings.Join(list, ", ")
		}
		var rules []string
		for i, name := range composite {
			if list := fields(true); list != "" && rapid.Bool().Draw(t, "product") {
				rules = append(rules, fmt.Sprintf("%s = (%s)", name, list))
				continue
			}
			alternatives := []string{fmt.Sprintf("C%d(%s)", i, fields(true))}
			for j := range rapid.IntRange(0, 3).Draw(t, "constructors") {
				alternatives = append(alternatives, fmt.Sprintf("C%d_%d(%s)", i, j, fields(false)))
			}
			alternatives = append(alternatives, rapid.SliceOfNDistinct(rapid.SampledFrom(composite), 0, n-1, rapid.ID).Draw(t, "of types")...)
			rules = append(rules, name+" = "+strings.Join(alternatives, " | "))
		}
		return asdl.MustParse(strings.Join(rules, "\n"))
	})
}

// Tree draws a tree of a grammar whose primitive types have the leaves given, a few levels
// deep.
func Tree(g *asdl.Grammar, leaves map[string]asdl.LeafKind) *rapid.Generator[*asdl.Tree] {
	least := levels(g)
	return rapid.Custom(func(t *rapid.T) *asdl.Tree { return tree(t, g.Root, leaves, least, 4) })
}

// levels counts for each constructor the levels that its trees have at least.
func levels(g *asdl.Grammar) map[*asdl.Constructor]int {
	least := map[*asdl.Constructor]int{}
	for level := 1; len(least) < len(g.Constructors); level++ {
		for _, c := range g.Constructors {
			if _, known := least[c]; known {
				continue
			}
			open := slices.ContainsFunc(c.Fields, func(f *asdl.Field) bool {
				return f.Cardinality == asdl.Single && !f.Type.Primitive &&
					!slices.ContainsFunc(f.Type.Constructors, func(c *asdl.Constructor) bool { l, ok := least[c]; return ok && l < level })
			})
			if !open {
				least[c] = level
			}
		}
	}
	return least
}

func tree(t *rapid.T, typ *asdl.Type, leaves map[string]asdl.LeafKind, least map[*asdl.Constructor]int, depth int) *asdl.Tree {
	choice := slices.DeleteFunc(slices.Clone(typ.Constructors), func(c *asdl.Constructor) bool { return least[c] > depth })
	if len(choice) == 0 {
		choice = []*asdl.Constructor{slices.MinFunc(typ.Constructors, func(c, d *asdl.Constructor) int { return least[c] - least[d] })}
	}
	c := rapid.SampledFrom(choice).Draw(t, "constructor")
	made := &asdl.Tree{Constructor: c, Fields: make([][]asdl.Node, len(c.Fields))}
	for i, f := range c.Fields {
		n := 1
		switch {
		case f.Cardinality != asdl.Single && !f.Type.Primitive && depth <= 1:
			n = 0
		case f.Cardinality == asdl.Optional:
			n = rapid.IntRange(0, 1).Draw(t, "values")
		case f.Cardinality == asdl.Sequence:
			n = rapid.IntRange(0, 3).Draw(t, "values")
		}
		for range n {
			if f.Type.Primitive {
				made.Fields[i] = append(made.Fields[i], asdl.Node{Leaf: Leaf(leaves[f.Type.Name]).Draw(t, "leaf")})
			} else {
				made.Fields[i] = append(made.Fields[i], asdl.Node{Tree: tree(t, f.Type, leaves, least, depth-1)})
			}
		}
	}
	return made
}

// Leaf draws a leaf of a kind.
func Leaf(kind asdl.LeafKind) *rapid.Generator[asdl.Leaf] {
	return rapid.Custom(func(t *rapid.T) asdl.Leaf {
		index := rapid.IntRange(0, 9)
		switch kind {
		case asdl.KindInteger:
			return asdl.Int(rapid.Int().Draw(t, "int"))
		case asdl.KindIndex:
			return asdl.Index(index.Draw(t, "table"))
		case asdl.KindPair:
			return asdl.Pair(index.Draw(t, "table"), index.Draw(t, "column"))
		}
		return asdl.Text(rapid.OneOf(
			rapid.String(),
			rapid.SampledFrom([]string{"", " ", "</s>", " </s> ", "New  York\t", "o'Neill \"x\"", "3.50", "-", "é\u0301 ü", "\xff\xfe", "東京 2020"}),
		).Draw(t, "text"))
	})
}
