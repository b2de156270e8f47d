package semql

import (
	"fmt"

	"github.com/tabert-workbench/tabert-workbench/asdl"
)

// vocabulary makes trees of a grammar by the names of its constructors.
type vocabulary struct{ g *asdl.Grammar }

// names that every SemQL grammar has.
var constructors = []string{
	"SelectStatement", "None", "Distinct", "OrderByClause", "ASC", "DESC", "AndExpr", "OrExpr", "NotExpr",
	"CompareExpr", "AggregateExpr", "BinaryExpr", "BetweenExpr", "InExpr", "LikeExpr", "AllRows", "Literal",
	"ColumnReference", "Sum", "Max", "Min", "Count", "Avg", "LessThan", "LessThanEqual", "GreaterThan",
	"GreaterThanEqual", "Equal", "NotEqual", "Add", "Sub", "Divide", "Multiply", "CompoundStatement", "Union",
	"Intersect", "Except",
}

func newVocabulary(g *asdl.Grammar) (vocabulary, error) {
	for _, name := range constructors {
		if g.Constructor(name) == nil {
			return vocabulary{}, fmt.Errorf("semql: the grammar has no constructor %s", name)
		}
	}
	return vocabulary{g}, nil
}

func (v vocabulary) node(name string, fields ...[]asdl.Node) *asdl.Tree {
	return asdl.New(v.g.Constructor(name), fields...)
}

func (v vocabulary) column(c asdl.Leaf) *asdl.Tree {
	return v.node("ColumnReference", asdl.Leaves(c))
}

func (v vocabulary) literal(text string) *asdl.Tree {
	return v.node("Literal", asdl.Leaves(asdl.Text(text)))
}

func (v vocabulary) distinct(yes bool) *asdl.Tree {
	if yes {
		return v.node("Distinct")
	}
	return v.node("None")
}

func (v vocabulary) compare(op string, left, right *asdl.Tree) *asdl.Tree {
	return v.node("CompareExpr", asdl.Trees(v.node(op)), asdl.Trees(left), asdl.Trees(right))
}

// Fields of SelectStatement.
const (
	fieldDistinct = iota
	fieldColumns
	fieldWhere
	fieldOrderBy
	fieldLimit
	fieldTables
	fieldCompound
)

func is(t *asdl.Tree, name string) bool { return t != nil && t.Constructor.Name == name }

// child is the tree that fills a field; nil where it is absent.
func child(t *asdl.Tree, field int) *asdl.Tree {
	if field >= len(t.Fields) || len(t.Fields[field]) == 0 {
		return nil
	}
	return t.Fields[field][0].Tree
}

// leaf is the leaf that fills a field.
func leaf(t *asdl.Tree, field int) asdl.Leaf {
	if field >= len(t.Fields) || len(t.Fields[field]) == 0 {
		return asdl.Leaf{}
	}
	return t.Fields[field][0].Leaf
}

// ownLeaves calls fn for every table and column leaf of a select's own clauses: not those
// of its subqueries, nor of the other sides of its set operation.
func ownLeaves(t *asdl.Tree, fn func(owner *asdl.Tree, leaf *asdl.Leaf)) {
	fields := t.Fields
	if is(t, "SelectStatement") {
		fields = fields[:fieldCompound]
	}
	for i := range fields {
		for j := range fields[i] {
			n := &fields[i][j]
			switch {
			case n.Tree == nil:
				if n.Leaf.Kind == asdl.KindIndex || n.Leaf.Kind == asdl.KindPair {
					fn(t, &n.Leaf)
				}
			case !is(n.Tree, "SelectStatement"):
				ownLeaves(n.Tree, fn)
			}
		}
	}
}

// aggregates tells whether an expression aggregates, its subqueries aside.
func aggregates(t *asdl.Tree) bool {
	if t == nil || is(t, "SelectStatement") {
		return false
	}
	if is(t, "AggregateExpr") {
		return true
	}
	for _, field := range t.Fields {
		for _, n := range field {
			if n.Tree != nil && aggregates(n.Tree) {
				return true
			}
		}
	}
	return false
}
