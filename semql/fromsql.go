package semql

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/alecthomas/participle/v2/lexer"
	"github.com/tabert-workbench/tabert-workbench/asdl"
	"github.com/tabert-workbench/tabert-workbench/schema"
	"github.com/tabert-workbench/tabert-workbench/semql/sql"
)

// FromSQL reads SQL as a tree of the grammar. What the grammar leaves out and Render infers
// is dropped, also where the inference will differ. Errors are *SyntaxError, *UnknownName,
// or *Inexpressible where the grammar has no tree at all.
func FromSQL(text string, db *schema.Database, g *asdl.Grammar) (*asdl.Tree, error) {
	v, err := newVocabulary(g)
	if err != nil {
		return nil, err
	}
	q, err := sql.Parse(text)
	if err != nil {
		var unsupported *sql.Unsupported
		if errors.As(err, &unsupported) {
			return nil, &Inexpressible{unsupported.Construct}
		}
		return nil, err
	}
	t := &translator{vocabulary: v, db: db, graph: newGraph(db)}
	return t.query(q, nil)
}

type translator struct {
	vocabulary
	db    *schema.Database
	graph *graph
}

// source is a table of FROM and the name it goes by.
type source struct {
	name  string
	table int
}

// scope resolves the names of one SELECT.
type scope struct {
	outer   *scope
	sources []source
	results []*sql.Result // what aliases stand for
	inAlias bool          // while one is being replaced, so that it cannot stand for itself
}

// side is one SELECT of a chain of set operations, with the operation before it.
type side struct {
	op   string
	core *sql.Core
}

var setOperations = map[string]string{"UNION": "Union", "INTERSECT": "Intersect", "EXCEPT": "Except"}

// sides lists a chain from left to right, and takes off parentheses that change nothing.
func sides(q *sql.Query) ([]side, error) {
	first, err := ungroup(q.First, true)
	if err != nil {
		return nil, err
	}
	for _, c := range q.Rest {
		if c.All {
			return nil, &Inexpressible{"UNION ALL"}
		}
		operand, err := ungroup(c.Core, false)
		if err != nil {
			return nil, err
		}
		operand[0].op = setOperations[strings.ToUpper(c.Op)]
		first = append(first, operand...)
	}
	return first, nil
}

func ungroup(c *sql.Core, first bool) ([]side, error) {
	if c.Group == nil {
		return []side{{core: c}}, nil
	}
	list, err := sides(c.Group)
	if err != nil {
		return nil, err
	}
	if len(list) > 1 && !first {
		return nil, &Inexpressible{"a set operation in parentheses on the right of another"}
	}
	if c.OrderBy == nil && c.Limit == nil {
		return list, nil
	}
	last := *list[len(list)-1].core
	if last.OrderBy != nil || last.Limit != nil {
		return nil, &Inexpressible{"ORDER BY or LIMIT around another"}
	}
	last.OrderBy, last.Limit = c.OrderBy, c.Limit
	list[len(list)-1].core = &last
	return list, nil
}

func (t *translator) query(q *sql.Query, outer *scope) (*asdl.Tree, error) {
	list, err := sides(q)
	if err != nil {
		return nil, err
	}
	var names []*sql.Result // of the first SELECT: a later ORDER BY may use them
	if len(list) > 1 {
		names = list[0].core.Select.Columns
	}
	var compound *asdl.Tree
	for i := len(list) - 1; i >= 0; i-- {
		var statement *asdl.Tree
		if statement, err = t.selectStatement(list[i].core, outer, names); err != nil {
			return nil, err
		}
		statement.Fields[fieldCompound] = asdl.Trees()
		if compound != nil {
			statement.Fields[fieldCompound] = asdl.Trees(compound)
		}
		if i == 0 {
			return statement, nil
		}
		compound = t.node("CompoundStatement", asdl.Trees(t.node(list[i].op)), asdl.Trees(statement))
	}
	return nil, nil
}

// selectStatement translates one SELECT; the compound field is left to the caller.
func (t *translator) selectStatement(core *sql.Core, outer *scope, names []*sql.Result) (*asdl.Tree, error) {
	s := core.Select
	sc := &scope{outer: outer, results: s.Columns}
	from := &fromClause{}
	if s.From != nil {
		if err := t.from(s.From, sc, from); err != nil {
			return nil, err
		}
	}
	var columns []*asdl.Tree
	for _, c := range s.Columns {
		x, err := t.result(c.Expr, sc)
		if err != nil {
			return nil, err
		}
		columns = append(columns, x)
	}
	var conditions []*asdl.Tree
	for _, x := range append(from.conditions, s.Where, s.Having) {
		if x == nil {
			continue
		}
		c, err := t.expr(x, sc)
		if err != nil {
			return nil, err
		}
		conditions = append(conditions, c)
	}
	orderBy, err := t.orderBy(core.OrderBy, sc, columns, names)
	if err != nil {
		return nil, err
	}
	var limit []asdl.Node
	if core.Limit != nil {
		if core.Limit.Offset() != nil {
			return nil, &Inexpressible{"OFFSET"}
		}
		n, ok := integer(core.Limit.Count())
		if !ok {
			return nil, &Inexpressible{"LIMIT by an expression"}
		}
		limit = asdl.Leaves(asdl.Int(n))
	}
	where := t.and(conditions)
	where, implied := t.dropImplied(where, sc)
	from.equal = append(from.equal, implied...)

	statement := t.node("SelectStatement", asdl.Trees(t.distinct(s.Distinct)), asdl.Trees(columns...), asdl.Trees(),
		asdl.Trees(orderBy...), limit, nil, nil)
	if where != nil {
		statement.Fields[fieldWhere] = asdl.Trees(where)
	}
	t.normalise(statement, sc, from.equal)
	return statement, nil
}

// result translates an entry of the select list.
func (t *translator) result(x sql.Expr, sc *scope) (*asdl.Tree, error) {
	if star, ok := x.(*sql.Star); ok {
		return t.star(star, sc)
	}
	return t.expr(x, sc)
}

// integer is a literal number of rows.
func integer(x sql.Expr) (int, bool) {
	number, ok := x.(*sql.Number)
	if !ok {
		return 0, false
	}
	n, err := strconv.Atoi(number.Text)
	return n, err == nil && n >= 0
}

// fromClause is what FROM says beside its tables.
type fromClause struct {
	equal      [][2]asdl.Leaf // columns that ON or USING sets equal
	conditions []sql.Expr     // other conditions of ON
}

func (t *translator) from(f *sql.From, sc *scope, out *fromClause) error {
	if err := t.source(f.First, sc, out); err != nil {
		return err
	}
	for _, j := range f.Joins {
		for _, k := range j.Kind {
			switch k = strings.ToUpper(k); k {
			case "LEFT", "RIGHT", "FULL":
				return &Inexpressible{k + " JOIN"}
			}
		}
		before := len(sc.sources)
		if err := t.source(j.Right, sc, out); err != nil {
			return err
		}
		for _, name := range j.Using {
			t.using(string(name), sc.sources[:before], sc.sources[before:], out)
		}
		if j.On != nil {
			if err := t.on(j.On, sc, out); err != nil {
				return err
			}
		}
	}
	return nil
}

func (t *translator) source(s *sql.Source, sc *scope, out *fromClause) error {
	switch {
	case s.Query != nil:
		return &Inexpressible{"a subquery in FROM"}
	case s.From != nil:
		return t.from(s.From, sc, out)
	}
	i, ok := t.db.FindTable(string(s.Table))
	if !ok {
		return &UnknownName{s.Pos.Line, s.Pos.Column, "table", string(s.Table), t.db.ID}
	}
	name := string(s.As)
	if name == "" {
		name = string(s.Table)
	}
	sc.sources = append(sc.sources, source{name, i})
	return nil
}

func (t *translator) using(name string, left, right []source, out *fromClause) {
	for _, a := range left {
		for _, b := range right {
			i, okA := t.db.FindColumn(a.table, name)
			j, okB := t.db.FindColumn(b.table, name)
			if okA && okB {
				out.equal = append(out.equal, [2]asdl.Leaf{asdl.Pair(a.table, i), asdl.Pair(b.table, j)})
			}
		}
	}
}

// on splits ON at its ANDs into equal columns, other comparisons of columns, which are dropped
// as well, and the rest.
func (t *translator) on(x sql.Expr, sc *scope, out *fromClause) error {
	if b, ok := x.(*sql.Binary); ok && b.Op == "AND" {
		if err := t.on(b.Left, sc, out); err != nil {
			return err
		}
		return t.on(b.Right, sc, out)
	}
	if b, ok := x.(*sql.Binary); ok && b.Op == "=" {
		left, right := t.joined(b.Left, sc), t.joined(b.Right, sc)
		if left != nil && right != nil {
			out.equal = append(out.equal, [2]asdl.Leaf{*left, *right})
			return nil
		}
	}
	if !t.joinsOnly(x, sc) {
		out.conditions = append(out.conditions, x)
	}
	return nil
}

// joined is the column that one side of a join's condition names, or nil.
func (t *translator) joined(x sql.Expr, sc *scope) *asdl.Leaf {
	c, ok := x.(*sql.Column)
	if !ok {
		return nil
	}
	ref, ok := sc.column(t.db, c)
	if !ok {
		return nil
	}
	return &ref
}

// joinsOnly tells whether a condition compares nothing but columns.
func (t *translator) joinsOnly(x sql.Expr, sc *scope) bool {
	switch x := x.(type) {
	case *sql.Binary:
		return t.joinsOnly(x.Left, sc) && t.joinsOnly(x.Right, sc)
	case *sql.Column:
		return t.joined(x, sc) != nil
	}
	return false
}

// column resolves a name in this scope alone: among several tables, the first that has it.
func (sc *scope) column(db *schema.Database, c *sql.Column) (asdl.Leaf, bool) {
	for _, s := range sc.sources {
		if c.Table != "" && !strings.EqualFold(c.Table, s.name) {
			continue
		}
		if j, ok := db.FindColumn(s.table, c.Name); ok {
			return asdl.Pair(s.table, j), true
		}
	}
	if c.Table == "" {
		return asdl.Leaf{}, false
	}
	// A table that has an alias is called by its own name now and then.
	for _, s := range sc.sources {
		if strings.EqualFold(c.Table, db.Tables[s.table].Original) {
			if j, ok := db.FindColumn(s.table, c.Name); ok {
				return asdl.Pair(s.table, j), true
			}
		}
	}
	return asdl.Leaf{}, false
}

// resolve finds what a name stands for: a column, an alias of the select list, or a column of
// a query around this one.
func (t *translator) resolve(c *sql.Column, sc *scope) (*asdl.Tree, error) {
	if ref, ok := sc.column(t.db, c); ok {
		return t.vocabulary.column(ref), nil
	}
	if x, err := t.alias(c, sc); x != nil || err != nil {
		return x, err
	}
	for outer := sc.outer; outer != nil; outer = outer.outer {
		if ref, ok := outer.column(t.db, c); ok {
			return t.vocabulary.column(ref), nil
		}
	}
	if c.DoubleQuoted && c.Table == "" {
		return t.literal(c.Name), nil
	}
	name := c.Name
	if c.Table != "" {
		name = c.Table + "." + name
	}
	return nil, t.unknown(c.Pos, name)
}

func (t *translator) unknown(pos lexer.Position, column string) error {
	return &UnknownName{pos.Line, pos.Column, "column", column, t.db.ID}
}

// alias is the expression that an alias of the select list stands for, or nil.
func (t *translator) alias(c *sql.Column, sc *scope) (*asdl.Tree, error) {
	if c.Table != "" || sc.inAlias {
		return nil, nil
	}
	for _, r := range sc.results {
		if r.As != "" && strings.EqualFold(string(r.As), c.Name) {
			sc.inAlias = true
			defer func() { sc.inAlias = false }()
			return t.result(r.Expr, sc)
		}
	}
	return nil, nil
}

// orderBy translates ORDER BY. Its terms may be result columns by number or by alias, and
// behind a set operation by their name in the first SELECT.
func (t *translator) orderBy(terms []*sql.OrderTerm, sc *scope, columns []*asdl.Tree, names []*sql.Result) ([]*asdl.Tree, error) {
	if len(terms) == 0 {
		return nil, nil
	}
	var list []*asdl.Tree
	for _, term := range terms {
		if term.Desc != terms[0].Desc {
			return nil, &Inexpressible{"ORDER BY in two directions"}
		}
		x, err := t.orderTerm(term.Expr, sc, columns, names)
		if err != nil {
			return nil, err
		}
		list = append(list, x)
	}
	order := "ASC"
	if terms[0].Desc {
		order = "DESC"
	}
	return []*asdl.Tree{t.node("OrderByClause", asdl.Trees(list...), asdl.Trees(t.node(order)))}, nil
}

func (t *translator) orderTerm(x sql.Expr, sc *scope, columns []*asdl.Tree, names []*sql.Result) (*asdl.Tree, error) {
	if i, ok := integer(x); ok && 1 <= i && i <= len(columns) {
		return columns[i-1], nil
	}
	if c, ok := x.(*sql.Column); ok {
		if alias, err := t.alias(c, sc); alias != nil || err != nil {
			return alias, err
		}
		if _, here := sc.column(t.db, c); !here {
			for i, r := range names {
				named, isColumn := r.Expr.(*sql.Column)
				if i < len(columns) && (strings.EqualFold(string(r.As), c.Name) || isColumn && strings.EqualFold(named.Name, c.Name)) {
					return columns[i], nil
				}
			}
		}
	}
	return t.expr(x, sc)
}

var comparisons = map[string]string{
	"<": "LessThan", "<=": "LessThanEqual", ">": "GreaterThan", ">=": "GreaterThanEqual", "=": "Equal", "!=": "NotEqual",
}

var arithmetic = map[string]string{"+": "Add", "-": "Sub", "/": "Divide", "*": "Multiply"}

var aggregateNames = map[string]string{"sum": "Sum", "max": "Max", "min": "Min", "count": "Count", "avg": "Avg"}

func (t *translator) expr(x sql.Expr, sc *scope) (*asdl.Tree, error) {
	switch x := x.(type) {
	case *sql.Binary:
		return t.binary(x, sc)
	case *sql.Unary:
		return t.unary(x, sc)
	case *sql.Between:
		list, err := t.exprs(sc, x.X, x.Low, x.High)
		if err != nil {
			return nil, err
		}
		return t.not(x.Not, t.node("BetweenExpr", asdl.Trees(list[0]), asdl.Trees(list[1]), asdl.Trees(list[2]))), nil
	case *sql.In:
		return t.in(x, sc)
	case *sql.Like:
		return t.like(x, sc)
	case *sql.IsNull:
		return nil, &Inexpressible{"IS NULL"}
	case *sql.Exists:
		return nil, &Inexpressible{"EXISTS"}
	case *sql.Subquery:
		return t.query(x.Query, sc)
	case *sql.Call:
		return t.call(x, sc)
	case *sql.Cast:
		return nil, &Inexpressible{"CAST"}
	case *sql.Column:
		return t.resolve(x, sc)
	case *sql.Star:
		return nil, &Inexpressible{"* in an expression"}
	case *sql.Number:
		return t.literal(x.Text), nil
	case *sql.String:
		return t.literal(x.Value), nil
	}
	return nil, &Inexpressible{"NULL"}
}

func (t *translator) exprs(sc *scope, xs ...sql.Expr) ([]*asdl.Tree, error) {
	list := make([]*asdl.Tree, len(xs))
	for i, x := range xs {
		var err error
		if list[i], err = t.expr(x, sc); err != nil {
			return nil, err
		}
	}
	return list, nil
}

func (t *translator) not(not bool, x *asdl.Tree) *asdl.Tree {
	if !not {
		return x
	}
	return t.node("NotExpr", asdl.Trees(x))
}

func (t *translator) binary(x *sql.Binary, sc *scope) (*asdl.Tree, error) {
	list, err := t.exprs(sc, x.Left, x.Right)
	if err != nil {
		return nil, err
	}
	left, right := list[0], list[1]
	switch x.Op {
	case "AND":
		return t.and(list), nil
	case "OR":
		return t.flat("OrExpr", list), nil
	}
	if op, ok := comparisons[x.Op]; ok {
		return t.compare(op, left, right), nil
	}
	if op, ok := arithmetic[x.Op]; ok {
		return t.node("BinaryExpr", asdl.Trees(t.node(op)), asdl.Trees(left), asdl.Trees(right)), nil
	}
	return nil, &Inexpressible{"the operator " + x.Op}
}

// and joins conditions into one; nil without any.
func (t *translator) and(list []*asdl.Tree) *asdl.Tree {
	switch len(list) {
	case 0:
		return nil
	case 1:
		return list[0]
	}
	return t.flat("AndExpr", list)
}

// flat joins operands, and puts those of operands of the same kind in their place.
func (t *translator) flat(name string, list []*asdl.Tree) *asdl.Tree {
	var operands []*asdl.Tree
	for _, x := range list {
		if !is(x, name) {
			operands = append(operands, x)
			continue
		}
		for _, n := range x.Fields[0] {
			operands = append(operands, n.Tree)
		}
	}
	return t.node(name, asdl.Trees(operands...))
}

func (t *translator) unary(x *sql.Unary, sc *scope) (*asdl.Tree, error) {
	switch x.Op {
	case "NOT":
		inner, err := t.expr(x.X, sc)
		if err != nil {
			return nil, err
		}
		return t.not(true, inner), nil
	case "-":
		if n, ok := x.X.(*sql.Number); ok {
			return t.literal("-" + n.Text), nil
		}
		return nil, &Inexpressible{"the sign of an expression"}
	case "+":
		return t.expr(x.X, sc)
	}
	return nil, &Inexpressible{"the operator " + x.Op}
}

// in translates IN (subquery); a list becomes comparisons.
func (t *translator) in(x *sql.In, sc *scope) (*asdl.Tree, error) {
	left, err := t.expr(x.X, sc)
	if err != nil {
		return nil, err
	}
	if x.Query != nil {
		if !is(left, "ColumnReference") {
			return nil, &Inexpressible{"IN behind anything but a column"}
		}
		q, err := t.query(x.Query, sc)
		if err != nil {
			return nil, err
		}
		return t.not(x.Not, t.node("InExpr", left.Fields[0], asdl.Trees(q))), nil
	}
	if len(x.List) == 0 {
		return nil, &Inexpressible{"an empty list"}
	}
	var list []*asdl.Tree
	for _, value := range x.List {
		right, err := t.expr(value, sc)
		if err != nil {
			return nil, err
		}
		list = append(list, t.compare("Equal", left, right))
	}
	if len(list) == 1 {
		return t.not(x.Not, list[0]), nil
	}
	return t.not(x.Not, t.flat("OrExpr", list)), nil
}

func (t *translator) like(x *sql.Like, sc *scope) (*asdl.Tree, error) {
	if x.Op != "LIKE" {
		return nil, &Inexpressible{x.Op}
	}
	if x.Escape != nil {
		return nil, &Inexpressible{"ESCAPE"}
	}
	list, err := t.exprs(sc, x.X, x.Pattern)
	if err != nil {
		return nil, err
	}
	if !is(list[0], "ColumnReference") {
		return nil, &Inexpressible{"LIKE behind anything but a column"}
	}
	return t.not(x.Not, t.node("LikeExpr", list[0].Fields[0], asdl.Trees(list[1]))), nil
}

func (t *translator) call(x *sql.Call, sc *scope) (*asdl.Tree, error) {
	op, ok := aggregateNames[x.Name]
	if !ok {
		return nil, &Inexpressible{"the function " + strings.ToUpper(x.Name)}
	}
	if len(x.Args) != 1 {
		return nil, &Inexpressible{strings.ToUpper(x.Name) + " of other than one argument"}
	}
	value, err := t.argument(op, x, sc)
	if err != nil {
		return nil, err
	}
	return t.node("AggregateExpr", asdl.Trees(t.node(op)), asdl.Trees(value), asdl.Trees(t.distinct(x.Distinct))), nil
}

// argument translates what is aggregated. COUNT(1) counts rows, too.
func (t *translator) argument(op string, x *sql.Call, sc *scope) (*asdl.Tree, error) {
	switch arg := x.Args[0].(type) {
	case *sql.Number:
		if op == "Count" && !x.Distinct && len(sc.sources) > 0 {
			return t.rows(), nil
		}
	case *sql.Star:
		if op != "Count" || x.Distinct {
			return nil, &Inexpressible{"* in " + strings.ToUpper(x.Name)}
		}
		return t.star(arg, sc)
	}
	return t.expr(x.Args[0], sc)
}

// unplaced is the table of a "*" until normalise has seen all of FROM.
const unplaced = -1

func (t *translator) rows() *asdl.Tree {
	return t.node("AllRows", asdl.Leaves(asdl.Index(unplaced)))
}

func (t *translator) star(x *sql.Star, sc *scope) (*asdl.Tree, error) {
	if len(sc.sources) == 0 {
		return nil, &Inexpressible{"* without FROM"}
	}
	if x.Table != "" && len(sc.sources) > 1 {
		return nil, &Inexpressible{"all columns of one of several tables"}
	}
	if x.Table != "" && !strings.EqualFold(x.Table, sc.sources[0].name) {
		return nil, &UnknownName{x.Pos.Line, x.Pos.Column, "table", x.Table, t.db.ID}
	}
	return t.rows(), nil
}

// dropImplied takes foreign keys out of the where clause that it spells out for tables joined by
// a comma.
func (t *translator) dropImplied(where *asdl.Tree, sc *scope) (*asdl.Tree, [][2]asdl.Leaf) {
	if where == nil || len(sc.sources) < 2 {
		return where, nil
	}
	conditions := []*asdl.Tree{where}
	if is(where, "AndExpr") {
		conditions = conditions[:0]
		for _, n := range where.Fields[0] {
			conditions = append(conditions, n.Tree)
		}
	}
	var kept []*asdl.Tree
	var implied [][2]asdl.Leaf
	for _, c := range conditions {
		if is(c, "CompareExpr") && is(child(c, 0), "Equal") && is(child(c, 1), "ColumnReference") && is(child(c, 2), "ColumnReference") {
			a, b := leaf(child(c, 1), 0), leaf(child(c, 2), 0)
			if t.key(a, b) || t.key(b, a) {
				implied = append(implied, [2]asdl.Leaf{a, b})
				continue
			}
		}
		kept = append(kept, c)
	}
	return t.and(kept), implied
}

// key tells whether a foreign key leads from one column to another table's.
func (t *translator) key(from, to asdl.Leaf) bool {
	return from.I != to.I && slices.Contains(t.db.ForeignKeys, schema.ForeignKey{
		From: schema.Ref{Table: from.I, Column: from.J}, To: schema.Ref{Table: to.I, Column: to.J}})
}
