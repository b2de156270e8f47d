package semql

import (
	"slices"

	"github.com/tabert-workbench/tabert-workbench/asdl"
	"github.com/tabert-workbench/tabert-workbench/schema"
)

// Bounds of what a search may build.
const (
	maxSelects    = 6 // SelectStatements in each other, sides of set operations included
	maxArithmetic = 2 // BinaryExprs in each other
	maxColumns    = 16
)

// Constraint says what may come next in a tree under construction, beyond the grammar: what
// is left renders as SQL that SQLite prepares, and every tree of FromSQL's stays possible
// unless it goes beyond the bounds above. Its rules:
//
//   - A SELECT has result columns: columns, aggregates and arithmetic, or "*" alone. A subquery
//     has one; both sides of a set operation have as many.
//   - Where clauses are conditions, AND and OR of at least two others. Aggregates become HAVING;
//     they do not stand below NOT, nor in an aggregate.
//   - "*" is counted, or stands alone in a select list.
//   - Subqueries stand on the right of comparisons, BETWEEN and IN. IN takes nothing else.
//   - Comparisons have columns on the left; LIKE has a value on the right.
//   - LIMIT is at least 1. A side of a set operation that is ordered has a LIMIT, unless it is the
//     last.
//   - join_with_tables is in schema order, and does not repeat what is mentioned already.
func Constraint(db *schema.Database) func(path []asdl.Frame, next asdl.Candidate) bool {
	c := &constraint{db: db, graph: newGraph(db)}
	return c.allows
}

type constraint struct {
	db    *schema.Database
	graph *graph
}

// place is where in its SELECT the open field is.
type place struct {
	path       []asdl.Frame
	statement  int        // index in path of the nearest SelectStatement
	clause     int        // its open field
	want       int        // how many columns it must have; 0 for any number
	selects    int        // SelectStatements on the path
	left       *asdl.Tree // the left side of the set operation that it is the right side of, or nil
	arithmetic int        // BinaryExprs around
	under      under      // what else is around
}

// under are the constructors between a SELECT and the open field.
type under struct{ aggregate, not bool }

func (p *place) frame() asdl.Frame { return p.path[len(p.path)-1] }

// parent is the constructor whose field is open, field that field's name.
func (p *place) parent() string { return p.frame().Tree.Constructor.Name }

func (p *place) field() string {
	f := p.frame()
	return f.Tree.Constructor.Fields[f.Field].Name
}

// filled is the number of elements in the open field.
func (p *place) filled() int {
	f := p.frame()
	return len(f.Tree.Fields[f.Field])
}

// own is the SELECT as far as it is built.
func (p *place) own() *asdl.Tree { return p.path[p.statement].Tree }

func (c *constraint) locate(path []asdl.Frame) *place {
	p := &place{path: path}
	for i, f := range path {
		switch f.Tree.Constructor.Name {
		case "SelectStatement":
			p.statement, p.clause, p.under, p.arithmetic = i, f.Field, under{}, 0
			p.selects++
			switch {
			case i == 0:
				p.want = 0
			case is(path[i-1].Tree, "CompoundStatement"):
				p.left = path[i-2].Tree
				p.want = c.width(p.left)
				continue
			default:
				p.want = 1
			}
			p.left = nil
		case "AggregateExpr":
			p.under.aggregate = true
		case "NotExpr":
			p.under.not = true
		case "BinaryExpr":
			p.arithmetic++
		}
	}
	return p
}

// width is the number of columns of a complete SELECT.
func (c *constraint) width(t *asdl.Tree) int {
	if !selectsAll(t) {
		return len(t.Fields[fieldColumns])
	}
	width := 0
	for _, table := range c.graph.tables(c.mentioned(t)) {
		width += len(c.db.Tables[table].Columns)
	}
	return width
}

// selectsAll tells whether a SELECT's columns are "*".
func selectsAll(t *asdl.Tree) bool {
	columns := t.Fields[fieldColumns]
	return len(columns) == 1 && is(columns[0].Tree, "AllRows")
}

// mentioned are the tables that a SELECT mentions as far as it is built; those of nested
// frames are not among them.
func (c *constraint) mentioned(t *asdl.Tree) (tables []int) {
	ownLeaves(t, func(_ *asdl.Tree, l *asdl.Leaf) {
		if 0 <= l.I && l.I < len(c.db.Tables) {
			tables = insert(tables, l.I)
		}
	})
	return tables
}

func (c *constraint) allows(path []asdl.Frame, next asdl.Candidate) bool {
	if len(path) == 0 {
		return next.Constructor != nil && next.Constructor.Name == "SelectStatement"
	}
	p := c.locate(path)
	switch {
	case next.Reduce:
		return c.mayClose(p)
	case next.IsLeaf:
		return c.leaf(p, next.Leaf)
	}
	return c.constructor(p, next.Constructor.Name)
}

// mayClose tells whether an optional or repeated field may end.
func (c *constraint) mayClose(p *place) bool {
	switch p.parent() {
	case "SelectStatement":
		switch p.clause {
		case fieldColumns:
			n := p.filled()
			return n > 0 && (p.want == 0 || n == p.want || selectsAll(p.own()))
		case fieldTables:
			tables := c.starTables(p)
			return tables == nil || slices.Equal(c.graph.tables(c.mentioned(p.own())), tables)
		}
	case "AndExpr", "OrExpr":
		return p.filled() >= 2
	case "OrderByClause":
		return p.filled() >= 1
	}
	return true
}

func (c *constraint) leaf(p *place, l asdl.Leaf) bool {
	switch l.Kind {
	case asdl.KindInteger:
		return l.I >= 1
	case asdl.KindPair:
		return 0 <= l.I && l.I < len(c.db.Tables) && 0 <= l.J && l.J < len(c.db.Tables[l.I].Columns) && c.mayMention(p, l.I)
	case asdl.KindIndex:
		if l.I < 0 || l.I >= len(c.db.Tables) {
			return false
		}
		if p.parent() != "SelectStatement" {
			return c.starFits(p, l.I) && c.mayMention(p, l.I)
		}
		return c.mayJoin(p, l.I)
	}
	return true
}

// starTables are the tables that a SELECT must join in the end, as its "*" is the right side of
// a set operation; nil where it is free.
func (c *constraint) starTables(p *place) []int {
	if p.left == nil || !selectsAll(p.own()) {
		return nil
	}
	return c.starSet(p, leaf(p.own().Fields[fieldColumns][0].Tree, 0).I)
}

// starSet are the tables whose columns "*" of a table stands for on the right of a set operation:
// those of a left side that is "*" as well, or that table's alone.
func (c *constraint) starSet(p *place, table int) []int {
	if selectsAll(p.left) {
		if tables := c.graph.tables(c.mentioned(p.left)); slices.Contains(tables, table) {
			return tables
		}
	}
	return []int{table}
}

func (c *constraint) mayMention(p *place, table int) bool {
	tables := c.starTables(p)
	return tables == nil || slices.Contains(tables, table)
}

// mayJoin tells whether a table may be next in join_with_tables.
func (c *constraint) mayJoin(p *place, table int) bool {
	joined := p.own().Fields[fieldTables]
	mentioned := c.mentioned(p.own())
	if len(joined) > 0 && joined[len(joined)-1].Leaf.I >= table || slices.Contains(mentioned, table) {
		return false
	}
	tables := c.starTables(p)
	if tables == nil {
		return true
	}
	// What it leaves out must come by itself.
	mentioned = insert(mentioned, table)
	for _, later := range tables {
		if later > table {
			mentioned = insert(mentioned, later)
		}
	}
	return slices.Equal(c.graph.tables(mentioned), tables)
}

// starFits tells whether "*" of a table has as many columns as the select list must have.
func (c *constraint) starFits(p *place, table int) bool {
	if p.clause != fieldColumns || p.under.aggregate || p.want == 0 {
		return true
	}
	width := 0
	for _, t := range c.starSet(p, table) {
		width += len(c.db.Tables[t].Columns)
	}
	return width == p.want
}

func (c *constraint) constructor(p *place, name string) bool {
	switch p.parent() {
	case "SelectStatement":
		return c.inSelect(p, name)
	case "OrderByClause":
		return p.field() != "expr_list" || name == "CompareExpr" || isValue(name) && c.value(p, name)
	case "AndExpr":
		return name != "AndExpr" && c.condition(p, name)
	case "OrExpr":
		return name != "OrExpr" && c.condition(p, name)
	case "NotExpr":
		return name != "NotExpr" && c.condition(p, name)
	case "CompareExpr":
		return c.inCompare(p, name)
	case "BetweenExpr":
		if p.field() == "field" {
			return isValue(name) && c.value(p, name)
		}
		return name == "Literal" || name == "SelectStatement" && p.selects < maxSelects
	case "InExpr":
		return name == "SelectStatement"
	case "LikeExpr":
		return name == "Literal"
	case "AggregateExpr":
		return c.inAggregate(p, name)
	case "BinaryExpr":
		switch p.field() {
		case "op":
			return true
		case "left_value":
			return isValue(name) && c.value(p, name)
		}
		return name == "Literal" || isValue(name) && c.value(p, name)
	}
	return true
}

// isValue tells whether a constructor is computed from columns.
func isValue(name string) bool {
	return name == "ColumnReference" || name == "AggregateExpr" || name == "BinaryExpr"
}

// value tells whether a computed value may stand here: no aggregate in an aggregate, nor
// below NOT.
func (c *constraint) value(p *place, name string) bool {
	switch name {
	case "AggregateExpr":
		return !p.under.aggregate && !p.under.not
	case "BinaryExpr":
		return p.arithmetic < maxArithmetic
	}
	return true
}

func (c *constraint) inSelect(p *place, name string) bool {
	switch p.clause {
	case fieldColumns:
		n := p.filled()
		switch {
		case selectsAll(p.own()), p.want > 0 && n >= p.want, p.want == 0 && n >= maxColumns:
			return false
		case name == "AllRows":
			return n == 0 && (p.want == 0 || p.left != nil && c.anyStarFits(p))
		}
		return isValue(name) && c.value(p, name)
	case fieldWhere:
		return c.condition(p, name)
	case fieldCompound:
		ordered, limited := len(p.own().Fields[fieldOrderBy]) > 0, len(p.own().Fields[fieldLimit]) > 0
		return p.selects < maxSelects && (!ordered || limited)
	}
	return true
}

func (c *constraint) anyStarFits(p *place) bool {
	for i := range c.db.Tables {
		if c.starFits(p, i) {
			return true
		}
	}
	return false
}

// condition tells whether a constructor is true or false, and can be completed here.
func (c *constraint) condition(p *place, name string) bool {
	switch name {
	case "AndExpr", "OrExpr", "NotExpr", "CompareExpr", "BetweenExpr", "LikeExpr":
		return true
	case "InExpr":
		return p.selects < maxSelects
	}
	return false
}

func (c *constraint) inCompare(p *place, name string) bool {
	switch p.field() {
	case "op":
		return true
	case "left_value":
		return isValue(name) && c.value(p, name)
	}
	switch name {
	case "Literal":
		return true
	case "SelectStatement":
		return p.selects < maxSelects
	}
	return isValue(name) && c.value(p, name)
}

func (c *constraint) inAggregate(p *place, name string) bool {
	t := p.frame().Tree
	switch p.field() {
	case "value":
		if name == "AllRows" {
			return is(child(t, 0), "Count")
		}
		return name != "AggregateExpr" && isValue(name) && c.value(p, name)
	case "distinct":
		return name != "Distinct" || !is(child(t, 1), "AllRows")
	}
	return true
}
