package eval

import (
	"encoding/json"
	"math/big"
	"slices"
)

// Query is a query as the official script understands it.
type Query struct {
	schema   *Schema
	from     []tableUnit
	on       []item // the conditions of all joins, in a row
	distinct flag
	sel      []selected
	where    []item
	group    []columnUnit
	having   []item
	ordered  bool
	order    kind // ascKind or descKind: the last direction that is named holds for all
	orderBy  []unit
	limited  bool
	limit    string // a canonical decimal number

	intersect, union, except *Query
}

// A flag is a boolean that the comparison may blot out.
type flag uint8

const (
	no flag = iota
	yes
	ignored
)

// tableUnit is a table by name, or a query in parentheses.
type tableUnit struct {
	name id
	sql  *Query
}

type selected struct {
	agg  uint8
	unit unit
}

// unit is a column, or two with an arithmetic operator between them.
type unit struct {
	op          uint8
	left, right columnUnit
	binary      bool
}

type columnUnit struct {
	agg      uint8
	column   id
	distinct flag
}

// item is a member of a list of conditions: a condition, or the "and" or "or" between
// two (then cond is nil). The official reader lets conditions follow each other with
// nothing between, and then takes the second for a conjunction.
type item struct {
	join kind // andKind or orKind
	cond *condition
}

type condition struct {
	not    bool
	op     uint8
	unit   unit
	v1, v2 operand
}

type operand struct {
	kind   operandKind
	column columnUnit
	number float64
	text   string
	sql    *Query
}

type operandKind uint8

const (
	absent operandKind = iota
	columnOperand
	numberOperand
	textOperand
	queryOperand
)

// The following equalities are those of the official script's nested tuples and dictionaries.

func (q *Query) equal(r *Query) bool {
	if q == nil || r == nil {
		return q == r
	}
	return q.distinct == r.distinct && q.limited == r.limited && q.limit == r.limit &&
		slices.EqualFunc(q.from, r.from, tableUnit.equal) &&
		slices.EqualFunc(q.on, r.on, item.equal) &&
		slices.Equal(q.sel, r.sel) &&
		slices.EqualFunc(q.where, r.where, item.equal) &&
		slices.Equal(q.group, r.group) &&
		slices.EqualFunc(q.having, r.having, item.equal) &&
		q.sameOrder(r) &&
		q.intersect.equal(r.intersect) && q.union.equal(r.union) && q.except.equal(r.except)
}

func (q *Query) sameOrder(r *Query) bool {
	return q.ordered == r.ordered && q.order == r.order && slices.Equal(q.orderBy, r.orderBy)
}

func (t tableUnit) equal(u tableUnit) bool { return t.name == u.name && t.sql.equal(u.sql) }

func (i item) equal(j item) bool {
	if i.cond == nil || j.cond == nil {
		return i.cond == j.cond && i.join == j.join
	}
	return i.cond.equal(j.cond)
}

func (c *condition) equal(d *condition) bool {
	return c.not == d.not && c.op == d.op && c.unit == d.unit && c.v1.equal(&d.v1) && c.v2.equal(&d.v2)
}

func (o *operand) equal(p *operand) bool {
	return o.kind == p.kind && o.column == p.column && o.number == p.number && o.text == p.text && o.sql.equal(p.sql)
}

// MarshalJSON writes the tree that the official get_sql returns, tuples as lists.
func (q *Query) MarshalJSON() ([]byte, error) { return json.Marshal(q.tree()) }

func (q *Query) tree() any {
	if q == nil {
		return nil
	}
	list := func(n int, at func(int) any) []any {
		l := make([]any, n)
		for i := range l {
			l[i] = at(i)
		}
		return l
	}
	name := func(n id) string { return q.schema.names[n] }
	column := func(c columnUnit) any {
		return []any{c.agg, name(c.column), c.distinct.tree()}
	}
	unitTree := func(u unit) any {
		if u.binary {
			return []any{u.op, column(u.left), column(u.right)}
		}
		return []any{u.op, column(u.left), nil}
	}
	operandTree := func(o operand) any {
		switch o.kind {
		case columnOperand:
			return column(o.column)
		case numberOperand:
			return o.number
		case textOperand:
			return o.text
		case queryOperand:
			return o.sql.tree()
		}
		return nil
	}
	items := func(l []item) any {
		return list(len(l), func(i int) any {
			switch c := l[i].cond; {
			case c != nil:
				return []any{c.not, c.op, unitTree(c.unit), operandTree(c.v1), operandTree(c.v2)}
			case l[i].join == orKind:
				return "or"
			}
			return "and"
		})
	}
	order := []any{}
	if q.ordered {
		direction := "asc"
		if q.order == descKind {
			direction = "desc"
		}
		order = []any{direction, list(len(q.orderBy), func(i int) any { return unitTree(q.orderBy[i]) })}
	}
	var limit any
	if q.limited {
		limit, _ = new(big.Int).SetString(q.limit, 10)
	}
	return map[string]any{
		"from": map[string]any{
			"table_units": list(len(q.from), func(i int) any {
				if t := q.from[i]; t.sql == nil {
					return []any{"table_unit", name(t.name)}
				}
				return []any{"sql", q.from[i].sql.tree()}
			}),
			"conds": items(q.on),
		},
		"select": []any{q.distinct.tree(), list(len(q.sel), func(i int) any {
			return []any{q.sel[i].agg, unitTree(q.sel[i].unit)}
		})},
		"where":     items(q.where),
		"groupBy":   list(len(q.group), func(i int) any { return column(q.group[i]) }),
		"having":    items(q.having),
		"orderBy":   order,
		"limit":     limit,
		"intersect": q.intersect.tree(),
		"union":     q.union.tree(),
		"except":    q.except.tree(),
	}
}

func (f flag) tree() any {
	if f == ignored {
		return nil
	}
	return f == yes
}
