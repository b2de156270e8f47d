package semql

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/tabert-workbench/tabert-workbench/asdl"
	"github.com/tabert-workbench/tabert-workbench/schema"
	"github.com/tabert-workbench/tabert-workbench/semql/sql"
)

// Render writes a tree as SQL that SQLite runs, with the joins, groups and HAVING that
// the tree leaves out. The same tree gives the same text.
func Render(t *asdl.Tree, db *schema.Database) (string, error) {
	q, err := render(t, db)
	if err != nil {
		return "", fmt.Errorf("rendering for database %q: %w", db.ID, err)
	}
	return q.String(), nil
}

func render(t *asdl.Tree, db *schema.Database) (*sql.Query, error) {
	if t == nil || !is(t, "SelectStatement") {
		return nil, fmt.Errorf("the tree is no SelectStatement")
	}
	r := &renderer{db: db, graph: newGraph(db)}
	return r.query(t)
}

type renderer struct {
	db      *schema.Database
	graph   *graph
	aliases int // given so far, in the whole statement
}

// clause is what the expressions of one SELECT need to know: the names of its tables.
type clause struct {
	names map[int]string // by table; empty where only one table is there
}

// query renders a statement with the chain of set operations behind it.
func (r *renderer) query(t *asdl.Tree) (*sql.Query, error) {
	q := &sql.Query{}
	op := ""
	for t != nil {
		core, err := r.core(t)
		if err != nil {
			return nil, err
		}
		compound := child(t, fieldCompound)
		if compound != nil && (core.OrderBy != nil || core.Limit != nil) || q.First != nil && !ordersByResult(t) {
			core = wrap(core)
		}
		if q.First == nil {
			q.First = core
		} else {
			q.Rest = append(q.Rest, &sql.Compound{Op: op, Core: core})
		}
		t = nil
		if compound != nil {
			op = strings.ToUpper(child(compound, 0).Constructor.Name)
			t = child(compound, 1)
		}
	}
	return q, nil
}

// ordersByResult tells whether a SELECT is ordered by nothing but its result columns, which is
// all that SQLite allows behind a set operation.
func ordersByResult(t *asdl.Tree) bool {
	o := child(t, fieldOrderBy)
	if o == nil {
		return true
	}
	for _, term := range o.Fields[0] {
		found := slices.ContainsFunc(t.Fields[fieldColumns], func(n asdl.Node) bool {
			return n.Tree.Equal(term.Tree) || is(n.Tree, "AllRows") && is(term.Tree, "ColumnReference")
		})
		if !found {
			return false
		}
	}
	return true
}

// wrap makes a side of a set operation of a query with ORDER BY or LIMIT, which SQLite
// allows at the end of the whole chain only.
func wrap(core *sql.Core) *sql.Core {
	return &sql.Core{Select: &sql.Select{
		Columns: []*sql.Result{{Expr: &sql.Star{}}},
		From:    &sql.From{First: &sql.Source{Query: &sql.Query{First: core}}},
	}}
}

func (r *renderer) core(t *asdl.Tree) (*sql.Core, error) {
	mentioned, err := r.mentioned(t)
	if err != nil {
		return nil, err
	}
	tables := r.graph.tables(mentioned)
	s := &sql.Select{Distinct: is(child(t, fieldDistinct), "Distinct")}
	c := &clause{names: map[int]string{}}
	if len(tables) > 0 {
		s.From = r.from(tables, mentioned[0], c)
	}
	for _, n := range t.Fields[fieldColumns] {
		x, err := r.expr(n.Tree, c, "")
		if err != nil {
			return nil, err
		}
		s.Columns = append(s.Columns, &sql.Result{Expr: x})
	}
	if len(s.Columns) == 0 {
		return nil, fmt.Errorf("a SelectStatement without result columns")
	}
	where, having := conditions(child(t, fieldWhere))
	if s.Where, err = r.and(where, c); err != nil {
		return nil, err
	}
	if s.Having, err = r.and(having, c); err != nil {
		return nil, err
	}
	for _, ref := range r.groupBy(t, having, tables) {
		s.GroupBy = append(s.GroupBy, r.column(ref, c))
	}
	core := &sql.Core{Select: s}
	if o := child(t, fieldOrderBy); o != nil {
		if core.OrderBy, err = r.orderBy(o, c); err != nil {
			return nil, err
		}
	}
	if len(t.Fields[fieldLimit]) > 0 {
		core.Limit = &sql.Limit{First: &sql.Number{Text: strconv.Itoa(leaf(t, fieldLimit).I)}}
	}
	return core, nil
}

// mentioned are the tables that a SELECT mentions, in the order of their first mention.
func (r *renderer) mentioned(t *asdl.Tree) ([]int, error) {
	var list []int
	var err error
	ownLeaves(t, func(_ *asdl.Tree, l *asdl.Leaf) {
		switch {
		case l.I < 0 || l.I >= len(r.db.Tables):
			err = fmt.Errorf("table %d of %d", l.I, len(r.db.Tables))
		case l.Kind == asdl.KindPair && !r.has(ref(*l)):
			err = fmt.Errorf("column %d of %d in table %s", l.J, len(r.db.Tables[l.I].Columns), r.db.Tables[l.I].Original)
		case !slices.Contains(list, l.I):
			list = append(list, l.I)
		}
	})
	return list, err
}

// from joins tables, starting with the first. Where there are several they are named T1, T2, …,
// in the whole statement once each: Spider's official evaluation knows no scopes.
func (r *renderer) from(tables []int, first int, c *clause) *sql.From {
	f := &sql.From{First: r.source(first)}
	if len(tables) == 1 {
		return f
	}
	name := func(table int, s *sql.Source) {
		r.aliases++
		c.names[table] = "T" + strconv.Itoa(r.aliases)
		s.As = sql.Name(c.names[table])
	}
	name(first, f.First)
	for _, e := range r.graph.join(tables, first) {
		j := &sql.Join{Right: r.source(e.to)}
		name(e.to, j.Right)
		for _, p := range e.pairs {
			equal := &sql.Binary{Op: "=", Left: r.column(p[0], c), Right: r.column(p[1], c)}
			if j.On == nil {
				j.On = equal
			} else {
				j.On = &sql.Binary{Op: "AND", Left: j.On, Right: equal}
			}
		}
		f.Joins = append(f.Joins, j)
	}
	return f
}

func (r *renderer) source(table int) *sql.Source {
	return &sql.Source{Table: sql.Name(r.db.Tables[table].Original)}
}

func (r *renderer) column(ref schema.Ref, c *clause) *sql.Column {
	return &sql.Column{Table: c.names[ref.Table], Name: r.db.Tables[ref.Table].Columns[ref.Column].Original}
}

// conditions splits a where clause at its top ANDs into conditions on rows and, where they
// aggregate, on groups.
func conditions(where *asdl.Tree) (rows, groups []*asdl.Tree) {
	if where == nil {
		return nil, nil
	}
	all := []asdl.Node{{Tree: where}}
	if is(where, "AndExpr") {
		all = where.Fields[0]
	}
	for _, n := range all {
		if aggregates(n.Tree) {
			groups = append(groups, n.Tree)
		} else {
			rows = append(rows, n.Tree)
		}
	}
	return rows, groups
}

// groupBy infers the columns of GROUP BY (see the package comment).
func (r *renderer) groupBy(t *asdl.Tree, having []*asdl.Tree, tables []int) []schema.Ref {
	aggregated := len(having) > 0
	var plain []schema.Ref
	add := func(x *asdl.Tree) {
		if aggregates(x) {
			aggregated = true
			return
		}
		ownLeaves(asdl.New(x.Constructor, x.Fields...), func(_ *asdl.Tree, l *asdl.Leaf) {
			switch {
			case is(x, "SelectStatement"):
			case l.Kind == asdl.KindPair:
				if ref := (schema.Ref{Table: l.I, Column: l.J}); !slices.Contains(plain, ref) {
					plain = append(plain, ref)
				}
			default:
				plain = append(plain, r.rowKey(l.I)...)
			}
		})
	}
	for _, n := range t.Fields[fieldColumns] {
		add(n.Tree)
	}
	selected := len(plain)
	if o := child(t, fieldOrderBy); o != nil {
		for _, n := range o.Fields[0] {
			add(n.Tree)
		}
	}
	if selected > 0 {
		plain = plain[:selected]
	}
	if !aggregated || len(plain) == 0 {
		return nil
	}
	if key, ok := r.onlyKey(plain, tables); ok {
		return []schema.Ref{key}
	}
	if key, ok := r.referencedKey(plain, tables); ok {
		return []schema.Ref{key}
	}
	return plain
}

// rowKey are the columns that tell the rows of a table apart: the primary key, or all there are.
func (r *renderer) rowKey(table int) (key []schema.Ref) {
	for _, j := range r.db.Tables[table].PrimaryKey {
		key = append(key, schema.Ref{Table: table, Column: j})
	}
	if key == nil {
		for j := range r.db.Tables[table].Columns {
			key = append(key, schema.Ref{Table: table, Column: j})
		}
	}
	return key
}

// onlyKey is the one key column among the plain columns: a primary key, or between joined tables
// either end of a foreign key.
func (r *renderer) onlyKey(plain []schema.Ref, tables []int) (key schema.Ref, ok bool) {
	for _, ref := range plain {
		if r.isKey(ref) || len(tables) > 1 && r.inForeignKey(ref) {
			if ok {
				return key, false
			}
			key, ok = ref, true
		}
	}
	return key, ok
}

func (r *renderer) inForeignKey(ref schema.Ref) bool {
	return slices.ContainsFunc(r.db.ForeignKeys, func(k schema.ForeignKey) bool { return k.From == ref || k.To == ref })
}

// isKey tells whether a column alone identifies the rows of its table.
func (r *renderer) isKey(ref schema.Ref) bool {
	key := r.db.Tables[ref.Table].PrimaryKey
	return len(key) == 1 && key[0] == ref.Column
}

// referencedKey is the primary key of the plain columns' table, if it is one of exactly two
// and the other one references it.
func (r *renderer) referencedKey(plain []schema.Ref, tables []int) (schema.Ref, bool) {
	if len(tables) != 2 {
		return schema.Ref{}, false
	}
	table := plain[0].Table
	for _, ref := range plain {
		if ref.Table != table {
			return schema.Ref{}, false
		}
	}
	other := tables[0] + tables[1] - table
	key := r.db.Tables[table].PrimaryKey
	if len(key) != 1 {
		return schema.Ref{}, false
	}
	return schema.Ref{Table: table, Column: key[0]}, r.graph.references(other, table)
}

func (r *renderer) orderBy(o *asdl.Tree, c *clause) ([]*sql.OrderTerm, error) {
	var terms []*sql.OrderTerm
	for _, n := range o.Fields[0] {
		x, err := r.expr(n.Tree, c, "")
		if err != nil {
			return nil, err
		}
		terms = append(terms, &sql.OrderTerm{Expr: x, Desc: is(child(o, 1), "DESC")})
	}
	return terms, nil
}

func (r *renderer) and(list []*asdl.Tree, c *clause) (sql.Expr, error) {
	var all sql.Expr
	for _, t := range list {
		x, err := r.expr(t, c, "")
		if err != nil {
			return nil, err
		}
		if all == nil {
			all = x
		} else {
			all = &sql.Binary{Op: "AND", Left: all, Right: x}
		}
	}
	return all, nil
}

var operators = map[string]string{
	"LessThan": "<", "LessThanEqual": "<=", "GreaterThan": ">", "GreaterThanEqual": ">=", "Equal": "=", "NotEqual": "!=",
	"Add": "+", "Sub": "-", "Divide": "/", "Multiply": "*",
	"Sum": "sum", "Max": "max", "Min": "min", "Count": "count", "Avg": "avg",
}

// expr renders an expression. against is the type of what a literal is compared with; it
// decides on the literal's quotes.
func (r *renderer) expr(t *asdl.Tree, c *clause, against schema.Type) (sql.Expr, error) {
	if t == nil {
		return nil, fmt.Errorf("an expression is missing")
	}
	switch t.Constructor.Name {
	case "AndExpr", "OrExpr":
		return r.connective(t, c)
	case "NotExpr":
		return r.not(t, c)
	case "CompareExpr", "BinaryExpr":
		left, right := child(t, 1), child(t, 2)
		list, err := r.exprs(c, operand{left, r.typeOf(right)}, operand{right, r.typeOf(left)})
		if err != nil {
			return nil, err
		}
		return &sql.Binary{Op: operators[child(t, 0).Constructor.Name], Left: list[0], Right: list[1]}, nil
	case "AggregateExpr":
		return r.aggregate(t, c)
	case "BetweenExpr":
		typ := r.typeOf(child(t, 0))
		list, err := r.exprs(c, operand{child(t, 0), r.typeOf(child(t, 1))}, operand{child(t, 1), typ}, operand{child(t, 2), typ})
		if err != nil {
			return nil, err
		}
		return &sql.Between{X: list[0], Low: list[1], High: list[2]}, nil
	case "InExpr":
		return r.in(t, c)
	case "LikeExpr":
		pattern, err := r.expr(child(t, 1), c, schema.Text)
		if err != nil {
			return nil, err
		}
		return &sql.Like{Op: "LIKE", X: r.column(ref(leaf(t, 0)), c), Pattern: pattern}, nil
	case "AllRows":
		return &sql.Star{}, nil
	case "SelectStatement":
		q, err := r.query(t)
		if err != nil {
			return nil, err
		}
		return &sql.Subquery{Query: q}, nil
	case "Literal":
		return literal(leaf(t, 0).Text, against), nil
	case "ColumnReference":
		return r.column(ref(leaf(t, 0)), c), nil
	}
	return nil, fmt.Errorf("no SQL for the constructor %s", t.Constructor.Name)
}

// has tells whether the database has a column.
func (r *renderer) has(ref schema.Ref) bool {
	return 0 <= ref.Table && ref.Table < len(r.db.Tables) && 0 <= ref.Column && ref.Column < len(r.db.Tables[ref.Table].Columns)
}

func ref(l asdl.Leaf) schema.Ref { return schema.Ref{Table: l.I, Column: l.J} }

// operand is an expression and the type of what it is compared with.
type operand struct {
	tree    *asdl.Tree
	against schema.Type
}

func (r *renderer) exprs(c *clause, operands ...operand) ([]sql.Expr, error) {
	list := make([]sql.Expr, len(operands))
	for i, o := range operands {
		var err error
		if list[i], err = r.expr(o.tree, c, o.against); err != nil {
			return nil, err
		}
	}
	return list, nil
}

func (r *renderer) connective(t *asdl.Tree, c *clause) (sql.Expr, error) {
	op := "AND"
	if is(t, "OrExpr") {
		op = "OR"
	}
	var all sql.Expr
	for _, n := range t.Fields[0] {
		x, err := r.expr(n.Tree, c, "")
		if err != nil {
			return nil, err
		}
		if all == nil {
			all = x
		} else {
			all = &sql.Binary{Op: op, Left: all, Right: x}
		}
	}
	if all == nil {
		return nil, fmt.Errorf("%s of nothing", op)
	}
	return all, nil
}

// not renders NOT, inside the predicates that have a place for it.
func (r *renderer) not(t *asdl.Tree, c *clause) (sql.Expr, error) {
	x, err := r.expr(child(t, 0), c, "")
	if err != nil {
		return nil, err
	}
	switch x := x.(type) {
	case *sql.In:
		x.Not = !x.Not
		return x, nil
	case *sql.Like:
		x.Not = !x.Not
		return x, nil
	case *sql.Between:
		x.Not = !x.Not
		return x, nil
	}
	return &sql.Unary{Op: "NOT", X: x}, nil
}

func (r *renderer) aggregate(t *asdl.Tree, c *clause) (sql.Expr, error) {
	op := operators[child(t, 0).Constructor.Name]
	if is(child(t, 1), "AllRows") && op != "count" {
		return nil, fmt.Errorf("%s(*)", op)
	}
	x, err := r.expr(child(t, 1), c, "")
	if err != nil {
		return nil, err
	}
	return &sql.Call{Name: op, Distinct: is(child(t, 2), "Distinct"), Args: []sql.Expr{x}}, nil
}

func (r *renderer) in(t *asdl.Tree, c *clause) (sql.Expr, error) {
	left := ref(leaf(t, 0))
	in := &sql.In{X: r.column(left, c)}
	right, err := r.expr(child(t, 1), c, r.db.Tables[left.Table].Columns[left.Column].Type)
	if err != nil {
		return nil, err
	}
	if sub, ok := right.(*sql.Subquery); ok {
		in.Query = sub.Query
	} else {
		in.List = []sql.Expr{right}
	}
	return in, nil
}

// typeOf is the type of an expression's values where it is sure.
func (r *renderer) typeOf(t *asdl.Tree) schema.Type {
	if t == nil {
		return ""
	}
	switch t.Constructor.Name {
	case "ColumnReference":
		ref := ref(leaf(t, 0))
		if !r.has(ref) {
			return ""
		}
		return r.db.Tables[ref.Table].Columns[ref.Column].Type
	case "AggregateExpr":
		if op := child(t, 0); is(op, "Max") || is(op, "Min") {
			return r.typeOf(child(t, 1))
		}
		return schema.Number
	case "BinaryExpr":
		return schema.Number
	case "SelectStatement":
		if columns := t.Fields[fieldColumns]; len(columns) > 0 {
			return r.typeOf(columns[0].Tree)
		}
	}
	return ""
}

// canonical is how SQL writes numbers; with other zeros or signs it is a text that looks
// like one.
var canonical = regexp.MustCompile(`^-?((0|[1-9][0-9]*)(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?$`)

// literal is a number where the value is written as one and not compared with a text, else
// a string.
func literal(value string, against schema.Type) sql.Expr {
	if against == schema.Text || !canonical.MatchString(value) {
		return &sql.String{Value: value}
	}
	if value[0] == '-' {
		return &sql.Unary{Op: "-", X: &sql.Number{Text: value[1:]}}
	}
	return &sql.Number{Text: value}
}
