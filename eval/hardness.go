package eval

// Hardness levels of Spider.
const (
	Easy   = "easy"
	Medium = "medium"
	Hard   = "hard"
	Extra  = "extra"
)

// Levels are the hardness levels in their order.
var Levels = []string{Easy, Medium, Hard, Extra}

// Hardness is the level of a query as the official script sees it. It is read off the
// query as written, before anything is blotted out.
func (q *Query) Hardness() string {
	clauses, others := q.countClauses(), q.countOthers()
	nested := q.countNested()
	switch {
	case clauses <= 1 && others == 0 && nested == 0:
		return Easy
	case others <= 2 && clauses <= 1 && nested == 0, clauses <= 2 && others < 2 && nested == 0:
		return Medium
	case others > 2 && clauses <= 2 && nested == 0,
		2 < clauses && clauses <= 3 && others <= 2 && nested == 0,
		clauses <= 1 && others == 0 && nested <= 1:
		return Hard
	}
	return Extra
}

// countClauses: count_component1. WHERE, GROUP BY, ORDER BY, LIMIT, joins, ORs and LIKEs.
func (q *Query) countClauses() int {
	n := 0
	for _, has := range [...]bool{len(q.where) > 0, len(q.group) > 0, q.ordered, q.limited} {
		if has {
			n++
		}
	}
	n += max(0, len(q.from)-1)
	for _, items := range [...][]item{q.on, q.where, q.having} {
		for i, it := range items {
			if i%2 == 1 && it.cond == nil && it.join == orKind ||
				i%2 == 0 && it.cond != nil && it.cond.op == likeOp {
				n++
			}
		}
	}
	return n
}

const (
	inOp   = uint8(inKind - notKind)
	likeOp = uint8(likeKind - notKind)
)

// countNested: count_component2. Subqueries in FROM do not count.
func (q *Query) countNested() int {
	n := 0
	for _, items := range [...][]item{q.on, q.where, q.having} {
		for i := 0; i < len(items); i += 2 {
			if c := items[i].cond; c != nil {
				for _, v := range [...]*operand{&c.v1, &c.v2} {
					if v.kind == queryOperand {
						n++
					}
				}
			}
		}
	}
	for _, set := range [...]*Query{q.intersect, q.except, q.union} {
		if set != nil {
			n++
		}
	}
	return n
}

// countOthers: count_others. More than one aggregate, column, condition, group.
func (q *Query) countOthers() int {
	aggs := 0
	for _, s := range q.sel {
		if s.agg != 0 {
			aggs++
		}
	}
	// The script looks for an aggregate in the first place of a condition, where NOT
	// is, and of each member of HAVING, where AND and OR have a letter.
	for i := 0; i < len(q.where); i += 2 {
		if c := q.where[i].cond; c != nil && c.not {
			aggs++
		}
	}
	for _, it := range q.having {
		if it.cond == nil || it.cond.not {
			aggs++
		}
	}
	for _, c := range q.group {
		if c.agg != 0 {
			aggs++
		}
	}
	for _, u := range q.orderBy {
		if u.left.agg != 0 {
			aggs++
		}
		if u.binary && u.right.agg != 0 {
			aggs++
		}
	}
	n := 0
	// WHERE counts its ANDs and ORs too.
	for _, many := range [...]bool{aggs > 1, len(q.sel) > 1, len(q.where) > 1, len(q.group) > 1} {
		if many {
			n++
		}
	}
	return n
}
