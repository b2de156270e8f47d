package eval

import "errors"

// errUneven is an exception of the official script outside of its reader, which ends it.
var errUneven = errors.New("the official evaluation cannot score it: two conditions follow each other without AND or OR, and it mistakes what follows")

// dropValues is rebuild_sql_val: it blanks the values of all conditions, but those of
// subqueries in FROM, and those that an absent AND or OR has shifted to an odd place.
func (q *Query) dropValues() error {
	if q == nil {
		return nil
	}
	for _, items := range [...][]item{q.on, q.having, q.where} {
		for i := 0; i < len(items); i += 2 {
			c := items[i].cond
			if c == nil {
				return errUneven
			}
			for _, v := range [...]*operand{&c.v1, &c.v2} {
				if v.kind != queryOperand {
					*v = operand{}
				} else if err := v.sql.dropValues(); err != nil {
					return err
				}
			}
		}
	}
	// Conditions at odd places of WHERE end up in a set, which a nested query cannot.
	for i := 1; i < len(q.where); i += 2 {
		if c := q.where[i].cond; c != nil && (c.v1.sql != nil || c.v2.sql != nil) {
			return errUneven
		}
	}
	for _, set := range [...]*Query{q.intersect, q.except, q.union} {
		if err := set.dropValues(); err != nil {
			return err
		}
	}
	return nil
}

// equateColumns is rebuild_sql_col: it replaces each column of the given tables by
// the one that stands for it, and blanks DISTINCT. It goes down set operations, with the tables
// of the first FROM, but into no nested query.
func (q *Query) equateColumns(tables []bool) {
	if q == nil {
		return
	}
	s := q.schema
	column := func(c *columnUnit) {
		if t := s.tableOf[c.column]; t >= 0 && tables[t] {
			c.column = s.same[c.column]
		}
		c.distinct = ignored
	}
	both := func(u *unit) {
		column(&u.left)
		if u.binary {
			column(&u.right)
		}
	}
	for i := range q.sel {
		both(&q.sel[i].unit)
	}
	q.distinct = ignored
	for _, items := range [...][]item{q.on, q.where, q.having} {
		for i := 0; i < len(items); i += 2 {
			both(&items[i].cond.unit)
		}
	}
	for i := range q.group {
		column(&q.group[i])
	}
	for i := range q.orderBy {
		both(&q.orderBy[i])
	}
	q.intersect.equateColumns(tables)
	q.except.equateColumns(tables)
	q.union.equateColumns(tables)
}

// rebuild readies a query for the comparison.
func (q *Query) rebuild() error {
	if err := q.dropValues(); err != nil {
		return err
	}
	q.equateColumns(q.schema.inTables(q.from))
	return nil
}
