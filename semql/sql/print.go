package sql

import "strings"

// reserved are SQLite's words that cannot be a table's or a column's name without quotes.
var reserved = wordSet(`ADD ALL ALTER AND AS AUTOINCREMENT BETWEEN CASE CHECK COLLATE COMMIT CONSTRAINT CREATE
	DEFAULT DEFERRABLE DELETE DISTINCT DROP ELSE ESCAPE EXCEPT EXISTS FOREIGN FROM GROUP HAVING IF IN INDEX
	INSERT INTERSECT INTO IS ISNULL JOIN LIMIT NOT NOTHING NOTNULL NULL ON OR ORDER PRIMARY REFERENCES
	RETURNING SELECT SET TABLE THEN TO TRANSACTION UNION UNIQUE UPDATE USING VALUES WHEN WHERE`)

// values are words that are no column where they stand alone, but may be a table's name.
var values = wordSet(`CAST CURRENT_DATE CURRENT_TIME CURRENT_TIMESTAMP RAISE`)

// QuoteName is a name as SQL needs it: bare where it can be, else in double quotes.
func QuoteName(name string) string {
	if isBare(name) {
		return name
	}
	return `"` + strings.ReplaceAll(name, `"`, `""`) + `"`
}

func isBare(name string) bool {
	if name == "" || isDigit(name[0]) {
		return false
	}
	for i := 0; i < len(name); i++ {
		c := name[i]
		if !('a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '_' || isDigit(c)) {
			return false
		}
	}
	upper := strings.ToUpper(name)
	return !reserved[upper] && !keywords[upper]
}

// QuoteString is a text literal.
func QuoteString(value string) string { return "'" + strings.ReplaceAll(value, "'", "''") + "'" }

// String is the query as SQL.
func (q *Query) String() string {
	var p printer
	p.query(q)
	return p.String()
}

// Print is an expression as SQL.
func Print(x Expr) string {
	var p printer
	p.expr(x, 0)
	return p.String()
}

type printer struct{ strings.Builder }

func (p *printer) write(parts ...string) {
	for _, s := range parts {
		p.WriteString(s)
	}
}

func (p *printer) query(q *Query) {
	p.core(q.First)
	for _, c := range q.Rest {
		p.write(" ", strings.ToUpper(c.Op))
		if c.All {
			p.write(" ALL")
		}
		p.write(" ")
		p.core(c.Core)
	}
}

func (p *printer) core(c *Core) {
	if c.Group != nil {
		p.write("(")
		p.query(c.Group)
		p.write(")")
	} else {
		p.selectClause(c.Select)
	}
	for i, t := range c.OrderBy {
		if i == 0 {
			p.write(" ORDER BY ")
		} else {
			p.write(", ")
		}
		p.expr(t.Expr, 0)
		if t.Desc {
			p.write(" DESC")
		}
	}
	if c.Limit != nil {
		p.write(" LIMIT ")
		p.expr(c.Limit.Count(), 0)
		if offset := c.Limit.Offset(); offset != nil {
			p.write(" OFFSET ")
			p.expr(offset, 0)
		}
	}
}

func (p *printer) selectClause(s *Select) {
	p.write("SELECT ")
	if s.Distinct {
		p.write("DISTINCT ")
	}
	for i, c := range s.Columns {
		if i > 0 {
			p.write(", ")
		}
		p.expr(c.Expr, 0)
		if c.As != "" {
			p.write(" AS ", QuoteName(string(c.As)))
		}
	}
	if s.From != nil {
		p.write(" FROM ")
		p.from(s.From)
	}
	if s.Where != nil {
		p.write(" WHERE ")
		p.expr(s.Where, 0)
	}
	for i, x := range s.GroupBy {
		if i == 0 {
			p.write(" GROUP BY ")
		} else {
			p.write(", ")
		}
		p.expr(x, 0)
	}
	if s.Having != nil {
		p.write(" HAVING ")
		p.expr(s.Having, 0)
	}
}

func (p *printer) from(f *From) {
	p.source(f.First)
	for _, j := range f.Joins {
		if len(j.Kind) == 1 && j.Kind[0] == "," {
			p.write(", ")
		} else {
			p.write(" ")
			for _, k := range j.Kind {
				p.write(strings.ToUpper(k), " ")
			}
			p.write("JOIN ")
		}
		p.source(j.Right)
		if j.On != nil {
			p.write(" ON ")
			p.expr(j.On, 0)
		}
		for i, n := range j.Using {
			if i == 0 {
				p.write(" USING (")
			} else {
				p.write(", ")
			}
			p.write(QuoteName(string(n)))
		}
		if len(j.Using) > 0 {
			p.write(")")
		}
	}
}

func (p *printer) source(s *Source) {
	switch {
	case s.Query != nil:
		p.write("(")
		p.query(s.Query)
		p.write(")")
	case s.From != nil:
		p.write("(")
		p.from(s.From)
		p.write(")")
	default:
		p.write(QuoteName(string(s.Table)))
	}
	if s.As != "" {
		p.write(" AS ", QuoteName(string(s.As)))
	}
}

var strengths = map[string]int{
	"OR": bindOr, "AND": bindAnd, "=": bindEqual, "!=": bindEqual, "IS": bindEqual, "IS NOT": bindEqual,
	"<": bindLess, "<=": bindLess, ">": bindLess, ">=": bindLess, "&": bindBits, "|": bindBits, "<<": bindBits,
	">>": bindBits, "+": bindAdd, "-": bindAdd, "*": bindMultiply, "/": bindMultiply, "%": bindMultiply, "||": bindConcat,
}

// strength tells how strongly an expression's outermost operator binds.
func strength(x Expr) int {
	switch x := x.(type) {
	case *Binary:
		return strengths[x.Op]
	case *Unary:
		if x.Op == "NOT" {
			return bindNot
		}
		return bindUnary
	case *Between, *In, *Like, *IsNull:
		return bindEqual
	}
	return bindPrimary
}

// expr prints x, in parentheses where it binds more weakly than min.
func (p *printer) expr(x Expr, min int) {
	if strength(x) < min {
		p.write("(")
		defer p.write(")")
	}
	switch x := x.(type) {
	case *Binary:
		s := strengths[x.Op]
		p.expr(x.Left, s)
		p.write(" ", x.Op, " ")
		p.expr(x.Right, s+1)
	case *Unary:
		if x.Op == "NOT" {
			p.write("NOT ")
			p.expr(x.X, bindNot)
			return
		}
		p.write(x.Op)
		if _, ok := x.X.(*Unary); ok {
			p.write(" ") // "--" would start a comment
		}
		p.expr(x.X, bindUnary)
	case *Between:
		p.expr(x.X, bindEqual)
		p.not(x.Not)
		p.write(" BETWEEN ")
		p.expr(x.Low, bindLess)
		p.write(" AND ")
		p.expr(x.High, bindLess)
	case *In:
		p.expr(x.X, bindEqual)
		p.not(x.Not)
		p.write(" IN (")
		if x.Query != nil {
			p.query(x.Query)
		}
		p.list(x.List)
		p.write(")")
	case *Like:
		p.expr(x.X, bindEqual)
		p.not(x.Not)
		p.write(" ", x.Op, " ")
		p.expr(x.Pattern, bindLess)
		if x.Escape != nil {
			p.write(" ESCAPE ")
			p.expr(x.Escape, bindLess)
		}
	case *IsNull:
		p.expr(x.X, bindEqual)
		p.write(" IS")
		p.not(x.Not)
		p.write(" NULL")
	case *Exists:
		p.write("EXISTS (")
		p.query(x.Query)
		p.write(")")
	case *Subquery:
		p.write("(")
		p.query(x.Query)
		p.write(")")
	case *Call:
		p.write(x.Name, "(")
		if x.Distinct {
			p.write("DISTINCT ")
		}
		p.list(x.Args)
		p.write(")")
	case *Cast:
		p.write("CAST(")
		p.expr(x.X, 0)
		p.write(" AS ", x.Type, ")")
	case *Column:
		p.column(x)
	case *Star:
		if x.Table != "" {
			p.write(QuoteName(x.Table), ".")
		}
		p.write("*")
	case *Number:
		p.write(x.Text)
	case *String:
		p.write(QuoteString(x.Value))
	case *Null:
		p.write("NULL")
	}
}

func (p *printer) column(c *Column) {
	if c.Table != "" {
		p.write(QuoteName(c.Table), ".")
	}
	if c.DoubleQuoted || c.Table == "" && values[strings.ToUpper(c.Name)] {
		// Without a column of this name what is in double quotes is a text, and stays one.
		p.write(`"`, strings.ReplaceAll(c.Name, `"`, `""`), `"`)
		return
	}
	p.write(QuoteName(c.Name))
}

func (p *printer) not(not bool) {
	if not {
		p.write(" NOT")
	}
}

func (p *printer) list(list []Expr) {
	for i, x := range list {
		if i > 0 {
			p.write(", ")
		}
		p.expr(x, 0)
	}
}
