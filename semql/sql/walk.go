package sql

// Selects lists every SELECT of a query: its own sides first, then those of the subqueries in
// FROM and in the conditions of each, as they are written.
func (q *Query) Selects() []*Select {
	w := &walker{}
	w.query(q)
	return w.list
}

// Sources lists the tables and subqueries of a FROM from left to right.
func (f *From) Sources() []*Source {
	if f == nil {
		return nil
	}
	list := f.First.flat()
	for _, j := range f.Joins {
		list = append(list, j.Right.flat()...)
	}
	return list
}

func (s *Source) flat() []*Source {
	if s.From != nil {
		return s.From.Sources()
	}
	return []*Source{s}
}

type walker struct{ list []*Select }

func (w *walker) query(q *Query) {
	if q == nil {
		return
	}
	cores := []*Core{q.First}
	for _, c := range q.Rest {
		cores = append(cores, c.Core)
	}
	for _, c := range cores {
		if c.Select != nil {
			w.list = append(w.list, c.Select)
		}
	}
	for _, c := range cores {
		w.query(c.Group)
		if c.Select != nil {
			w.selectClause(c.Select)
		}
		for _, t := range c.OrderBy {
			w.expr(t.Expr)
		}
	}
}

func (w *walker) selectClause(s *Select) {
	for _, c := range s.Columns {
		w.expr(c.Expr)
	}
	for _, source := range s.From.Sources() {
		w.query(source.Query)
	}
	w.joins(s.From)
	w.expr(s.Where)
	for _, x := range s.GroupBy {
		w.expr(x)
	}
	w.expr(s.Having)
}

func (w *walker) joins(f *From) {
	if f == nil {
		return
	}
	for _, j := range f.Joins {
		w.joins(j.Right.From)
		w.expr(j.On)
	}
}

func (w *walker) expr(x Expr) {
	switch x := x.(type) {
	case *Binary:
		w.expr(x.Left)
		w.expr(x.Right)
	case *Unary:
		w.expr(x.X)
	case *Between:
		w.expr(x.X)
		w.expr(x.Low)
		w.expr(x.High)
	case *In:
		w.expr(x.X)
		w.query(x.Query)
		for _, y := range x.List {
			w.expr(y)
		}
	case *Like:
		w.expr(x.X)
		w.expr(x.Pattern)
		w.expr(x.Escape)
	case *IsNull:
		w.expr(x.X)
	case *Exists:
		w.query(x.Query)
	case *Subquery:
		w.query(x.Query)
	case *Call:
		for _, y := range x.Args {
			w.expr(y)
		}
	case *Cast:
		w.expr(x.X)
	}
}
