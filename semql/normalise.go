package semql

import (
	"slices"
	"sort"

	"github.com/tabert-workbench/tabert-workbench/asdl"
	"github.com/tabert-workbench/tabert-workbench/schema"
)

// normalise decides in a SELECT what its author left to taste, and fills join_with_tables.
// equal are the columns that its joins set equal.
func (t *translator) normalise(statement *asdl.Tree, sc *scope, equal [][2]asdl.Leaf) {
	var from []int // the tables of FROM in schema order
	for _, s := range sc.sources {
		from = insert(from, s.table)
	}
	rows := t.rowsTable(from)
	mentions := map[int]int{}
	ownLeaves(statement, func(_ *asdl.Tree, l *asdl.Leaf) {
		if l.Kind == asdl.KindIndex && l.I == unplaced {
			l.I = rows
		}
		mentions[l.I]++
	})
	t.takeReferenced(statement, equal, mentions)
	statement.Fields[fieldTables] = asdl.Leaves(t.unmentioned(from, mentions)...)
	for _, field := range []int{fieldColumns, fieldWhere, fieldOrderBy} {
		for i, n := range statement.Fields[field] {
			statement.Fields[field][i].Tree = t.order(n.Tree)
		}
	}
}

// rowsTable is the table that COUNT(*) counts the rows of: the first that no other table of
// FROM references.
func (t *translator) rowsTable(from []int) int {
	for _, table := range from {
		referenced := slices.ContainsFunc(from, func(other int) bool { return other != table && t.graph.references(other, table) })
		if !referenced {
			return table
		}
	}
	if len(from) > 0 {
		return from[0]
	}
	return 0
}

// takeReferenced replaces columns by the key column that the join sets them equal to.
func (t *translator) takeReferenced(statement *asdl.Tree, equal [][2]asdl.Leaf, mentions map[int]int) {
	if len(equal) == 0 {
		return
	}
	ownLeaves(statement, func(_ *asdl.Tree, l *asdl.Leaf) {
		if l.Kind != asdl.KindPair {
			return
		}
		for _, pair := range equal {
			a, b := pair[0], pair[1]
			if b == *l {
				a, b = b, a
			}
			if a == *l && mentions[a.I] > 1 && t.key(a, b) && t.inferred(a, b) {
				mentions[a.I]--
				mentions[b.I]++
				*l = b
				return
			}
		}
	})
}

// inferred tells whether Render, too, joins two tables by these columns.
func (t *translator) inferred(a, b asdl.Leaf) bool {
	return slices.Contains(t.graph.keyPairs(a.I, b.I), [2]schema.Ref{ref(a), ref(b)})
}

// unmentioned are the tables of FROM that Render would not find by itself.
func (t *translator) unmentioned(from []int, mentions map[int]int) []asdl.Leaf {
	var mentioned, extra []int
	for _, table := range from {
		if mentions[table] > 0 {
			mentioned = append(mentioned, table)
		} else {
			extra = append(extra, table)
		}
	}
	infer := func(extra []int) []int {
		all := slices.Clone(mentioned)
		for _, table := range extra {
			all = insert(all, table)
		}
		return t.graph.tables(all)
	}
	// Leave out what the others imply, the last table first.
	want := infer(extra)
	for i := len(extra) - 1; i >= 0; i-- {
		without := slices.Delete(slices.Clone(extra), i, i+1)
		if len(mentioned)+len(without) > 0 && slices.Equal(infer(without), want) {
			extra = without
		}
	}
	var leaves []asdl.Leaf
	for _, table := range extra {
		leaves = append(leaves, asdl.Index(table))
	}
	return leaves
}

var flipped = map[string]string{
	"LessThan": "GreaterThan", "LessThanEqual": "GreaterThanEqual", "GreaterThan": "LessThan",
	"GreaterThanEqual": "LessThanEqual", "Equal": "Equal", "NotEqual": "NotEqual",
}

// order puts the operands of comparisons, AND and OR in order, from the leaves up. Subqueries
// are in order already.
func (t *translator) order(x *asdl.Tree) *asdl.Tree {
	if is(x, "SelectStatement") {
		return x
	}
	fields := make([][]asdl.Node, len(x.Fields))
	for i, nodes := range x.Fields {
		fields[i] = slices.Clone(nodes)
		for j, n := range nodes {
			if n.Tree != nil {
				fields[i][j].Tree = t.order(n.Tree)
			}
		}
	}
	x = asdl.New(x.Constructor, fields...)
	switch {
	case is(x, "AndExpr"), is(x, "OrExpr"):
		sort.SliceStable(fields[0], func(i, j int) bool {
			a, b := fields[0][i].Tree, fields[0][j].Tree
			if aggregates(a) != aggregates(b) {
				return aggregates(b)
			}
			return before(firstColumn(a), firstColumn(b))
		})
	case is(x, "CompareExpr"):
		left, right := child(x, 1), child(x, 2)
		if rank(right) < rank(left) || rank(left) == 0 && rank(right) == 0 && before(firstColumn(right), firstColumn(left)) {
			return t.compare(flipped[child(x, 0).Constructor.Name], right, left)
		}
	}
	return x
}

// rank orders the sides of a comparison: what has columns, then literals, then subqueries.
func rank(x *asdl.Tree) int {
	switch {
	case is(x, "SelectStatement"):
		return 2
	case is(x, "Literal"):
		return 1
	}
	return 0
}

// firstColumn is the first column or table that an expression mentions.
func firstColumn(x *asdl.Tree) (first asdl.Leaf) {
	first = asdl.Pair(1<<30, 0)
	found := false
	ownLeaves(asdl.New(x.Constructor, x.Fields...), func(_ *asdl.Tree, l *asdl.Leaf) {
		if !found {
			first, found = *l, true
		}
	})
	return first
}

func before(a, b asdl.Leaf) bool {
	if a.I != b.I {
		return a.I < b.I
	}
	return a.J < b.J
}
