package eval

import (
	"fmt"
	"strings"
	"sync"
)

// maxDepth is how deep the functions of the official reader nest before Python, which
// allows 1000 calls, gives up on a query; a few of them are in use already.
const maxDepth = 996

// Parse reads a query as the official get_sql does, which is not quite SQL: what it
// refuses (say, a table alias without AS) is a *ParseError here, and what it reads wrongly
// is read wrongly in the same way.
func (s *Schema) Parse(sql string) (*Query, error) {
	p := parsers.Get().(*parser)
	defer parsers.Put(p)
	return p.parse(s, sql)
}

var parsers = sync.Pool{New: func() any { return new(parser) }}

// keepTokens is how long a list of tokens may get and still be kept for the next query.
const keepTokens = 1 << 12

type parser struct {
	schema  *Schema
	toks    []token
	n       int // the number of tokens, without the end token
	aliases map[string]string
	depth   int
}

func (p *parser) parse(s *Schema, sql string) (*Query, error) {
	toks, err := tokenize(sql, p.toks[:0])
	p.toks = nil
	if err == nil {
		p.schema, p.n, p.depth = s, len(toks), 0
		toks = append(toks, token{"", len(sql), end})
		p.toks = toks
	}
	if cap(toks) <= keepTokens {
		defer func() {
			clear(toks) // lets go of the text
			p.toks = toks[:0]
		}()
	} else {
		defer func() { p.toks = nil }()
	}
	if err != nil {
		return nil, err
	}
	if err := p.scanAliases(); err != nil {
		return nil, err
	}
	q, _, err := p.query(0)
	return q, err
}

// at is the token at i. Where the official script would look behind the end, which is an
// error, it gets the end token, which nothing accepts.
func (p *parser) at(i int) token {
	if i >= p.n {
		return p.toks[p.n]
	}
	return p.toks[i]
}

func (p *parser) fail(i int, format string, args ...any) error {
	return &ParseError{p.at(i).pos, fmt.Sprintf(format, args...)}
}

// expect steps over a token that must be there.
func (p *parser) expect(i int, k kind, name string) (int, error) {
	if p.at(i).kind != k {
		return i, p.fail(i, "found %s, expected %s", p.at(i), name)
	}
	return i + 1, nil
}

func (t token) String() string {
	if t.kind == end {
		return "the end of the query"
	}
	const most = 40
	if len(t.text) > most {
		return fmt.Sprintf("%q…", t.text[:most])
	}
	return fmt.Sprintf("%q", t.text)
}

// scanAliases reads every "x AS y" of the query, wherever it stands: an alias of
// a subquery holds in the whole query, and of two with the same name the last one holds.
func (p *parser) scanAliases() error {
	clear(p.aliases)
	for i, t := range p.toks[:p.n] {
		if t.kind != asKind {
			continue
		}
		if i+1 == p.n {
			return p.fail(i, "nothing follows AS")
		}
		before := p.toks[p.n-1] // index -1 is the last token
		if i > 0 {
			before = p.toks[i-1]
		}
		if p.aliases == nil {
			p.aliases = map[string]string{}
		}
		p.aliases[p.toks[i+1].text] = before.text
	}
	for alias := range p.aliases {
		if _, ok := p.schema.tables[alias]; ok {
			return &ParseError{p.aliasOffset(alias), fmt.Sprintf("alias %q is the name of a table", alias)}
		}
	}
	return nil
}

func (p *parser) aliasOffset(alias string) int {
	for i, t := range p.toks[:p.n-1] {
		if t.kind == asKind && p.toks[i+1].text == alias {
			return p.toks[i+1].pos
		}
	}
	return 0
}

// table is what a table name or an alias stands for. An alias can stand for any word.
func (p *parser) table(name string) (string, bool) {
	if target, ok := p.aliases[name]; ok {
		return target, true
	}
	_, ok := p.schema.tables[name]
	return name, ok
}

// enter counts a call of the official script that nests n functions.
func (p *parser) enter(i, n int) error {
	if p.depth += n; p.depth > maxDepth {
		return p.fail(i, "the query is nested too deeply")
	}
	return nil
}

func (p *parser) leave(n int) { p.depth -= n }

// query: parse_sql.
func (p *parser) query(i int) (*Query, int, error) {
	if err := p.enter(i, 1); err != nil {
		return nil, i, err
	}
	defer p.leave(1)
	q := &Query{schema: p.schema}
	start, block := i, p.at(i).kind == openKind
	if block {
		i++
	}
	after, scope, err := p.from(q, start)
	if err != nil {
		return nil, i, err
	}
	if err := p.selectList(q, i, scope); err != nil {
		return nil, i, err
	}
	i = after
	if p.at(i).kind == whereKind {
		if q.where, i, err = p.conditions(i+1, scope, 1); err != nil {
			return nil, i, err
		}
	}
	if i, err = p.groupBy(q, i, scope); err != nil {
		return nil, i, err
	}
	if p.at(i).kind == havingKind {
		if q.having, i, err = p.conditions(i+1, scope, 1); err != nil {
			return nil, i, err
		}
	}
	if i, err = p.order(q, i, scope); err != nil {
		return nil, i, err
	}
	if p.at(i).kind == limitKind {
		limit, ok := pythonInt(p.at(i + 1).text)
		if !ok {
			return nil, i, p.fail(i+1, "LIMIT needs a whole number, found %s", p.at(i+1))
		}
		q.limited, q.limit = true, limit
		i += 2
	}
	i = p.skipSemicolons(i)
	if block {
		if i, err = p.expect(i, closeKind, `")"`); err != nil {
			return nil, i, err
		}
	}
	i = p.skipSemicolons(i)
	// Whatever follows, other than a set operation, is not read at all.
	var operand **Query
	switch p.at(i).kind {
	case intersectKind:
		operand = &q.intersect
	case unionKind:
		operand = &q.union
	case exceptKind:
		operand = &q.except
	default:
		return q, i, nil
	}
	*operand, i, err = p.query(i + 1)
	return q, i, err
}

func (p *parser) skipSemicolons(i int) int {
	for p.at(i).kind == semicolonKind {
		i++
	}
	return i
}

// from: parse_from. The first FROM that follows counts, wherever it stands. The scope it
// returns are the tables in which a column without a table name is looked for.
func (p *parser) from(q *Query, i int) (_ int, scope []string, err error) {
	if err := p.enter(i, 1); err != nil {
		return i, nil, err
	}
	defer p.leave(1)
	start := i
	for p.at(i).kind != fromKind {
		if i >= p.n {
			return i, nil, p.fail(start, "no FROM follows")
		}
		i++
	}
	i++
	for i < p.n {
		block := p.at(i).kind == openKind
		if block {
			i++
		}
		if p.at(i).kind == selectKind {
			var sql *Query
			if sql, i, err = p.query(i); err != nil {
				return i, nil, err
			}
			q.from = append(q.from, tableUnit{sql: sql})
		} else {
			if p.at(i).kind == joinKind {
				i++
			}
			t := p.at(i)
			target, ok := p.table(t.text)
			if !ok {
				return i, nil, p.fail(i, "found %s, expected a table", t)
			}
			name, ok := p.schema.ids[target]
			if !ok {
				return i, nil, p.fail(i, "alias %s stands for %q, which is no table", t, target)
			}
			if i++; p.at(i).kind == asKind {
				i += 2
			}
			q.from = append(q.from, tableUnit{name: name})
			scope = append(scope, target)
		}
		if p.at(i).kind == onKind {
			var on []item
			if on, i, err = p.conditions(i+1, scope, 0); err != nil {
				return i, nil, err
			}
			if len(q.on) > 0 {
				q.on = append(q.on, item{join: andKind})
			}
			q.on = append(q.on, on...)
		}
		if block {
			if i, err = p.expect(i, closeKind, `")"`); err != nil {
				return i, nil, err
			}
		}
		if p.at(i).kind.closing() {
			break
		}
	}
	return i, scope, nil
}

// selectList: parse_select. Commas between the columns are not required.
func (p *parser) selectList(q *Query, i int, scope []string) (err error) {
	if i, err = p.expect(i, selectKind, "SELECT"); err != nil {
		return err
	}
	if p.at(i).kind == distinctKind {
		q.distinct = yes
		i++
	}
	for i < p.n && !p.at(i).kind.clause() {
		var s selected
		if k := p.at(i).kind; k.agg() {
			s.agg = uint8(k - noneKind)
			i++
		}
		if s.unit, i, err = p.unit(i, scope); err != nil {
			return err
		}
		q.sel = append(q.sel, s)
		if p.at(i).kind == commaKind {
			i++
		}
	}
	return nil
}

func (p *parser) groupBy(q *Query, i int, scope []string) (_ int, err error) {
	if p.at(i).kind != groupKind {
		return i, nil
	}
	if i, err = p.expect(i+1, byKind, "BY"); err != nil {
		return i, err
	}
	for i < p.n && !p.at(i).kind.closing() {
		var c columnUnit
		if c, i, err = p.columnUnit(i, p.n, scope); err != nil {
			return i, err
		}
		q.group = append(q.group, c)
		if p.at(i).kind != commaKind {
			break
		}
		i++
	}
	return i, nil
}

func (p *parser) order(q *Query, i int, scope []string) (_ int, err error) {
	if p.at(i).kind != orderKind {
		return i, nil
	}
	if i, err = p.expect(i+1, byKind, "BY"); err != nil {
		return i, err
	}
	q.ordered, q.order = true, ascKind
	for i < p.n && !p.at(i).kind.closing() {
		var u unit
		if u, i, err = p.unit(i, scope); err != nil {
			return i, err
		}
		q.orderBy = append(q.orderBy, u)
		if k := p.at(i).kind; k == ascKind || k == descKind {
			q.order = k
			i++
		}
		if p.at(i).kind != commaKind {
			break
		}
		i++
	}
	return i, nil
}

// conditions: parse_condition, called through so many other functions.
func (p *parser) conditions(i int, scope []string, through int) (_ []item, _ int, err error) {
	if err := p.enter(i, through+1); err != nil {
		return nil, i, err
	}
	defer p.leave(through + 1)
	var items []item
	for i < p.n {
		c := new(condition)
		if c.unit, i, err = p.unit(i, scope); err != nil {
			return nil, i, err
		}
		if p.at(i).kind == notKind {
			c.not = true
			i++
		}
		k := p.at(i).kind
		if !k.compare() {
			return nil, i, p.fail(i, "found %s, expected a comparison", p.at(i))
		}
		c.op = uint8(k - notKind)
		if c.v1, i, err = p.operand(i+1, scope); err != nil {
			return nil, i, err
		}
		if k == betweenKind {
			if i, err = p.expect(i, andKind, "AND"); err != nil {
				return nil, i, err
			}
			if c.v2, i, err = p.operand(i, scope); err != nil {
				return nil, i, err
			}
		}
		items = append(items, item{cond: c})
		k = p.at(i).kind
		if k.closing() || k.join() {
			break
		}
		if k == andKind || k == orKind {
			items = append(items, item{join: k})
			i++
		}
	}
	return items, i, nil
}

// unit: parse_val_unit.
func (p *parser) unit(i int, scope []string) (u unit, _ int, err error) {
	block := p.at(i).kind == openKind
	if block {
		i++
	}
	if u.left, i, err = p.columnUnit(i, p.n, scope); err != nil {
		return u, i, err
	}
	if k := p.at(i).kind; k.operator() {
		u.binary = true
		if k != noneKind {
			u.op = uint8(k - minusKind + 1)
		}
		if u.right, i, err = p.columnUnit(i+1, p.n, scope); err != nil {
			return u, i, err
		}
	}
	if block {
		i, err = p.expect(i, closeKind, `")"`)
	}
	return u, i, err
}

// columnUnit: parse_col_unit, on the tokens before limit.
func (p *parser) columnUnit(i, limit int, scope []string) (c columnUnit, _ int, err error) {
	at := func(i int) token {
		if i >= limit {
			return token{"", p.at(i).pos, end}
		}
		return p.toks[i]
	}
	block := at(i).kind == openKind
	if block {
		i++
	}
	k := at(i).kind
	if k.agg() {
		c.agg = uint8(k - noneKind)
		i++
		if at(i).kind != openKind {
			return c, i, p.fail(i, `found %s, expected "(" after an aggregate`, at(i))
		}
		i++
	}
	if at(i).kind == distinctKind {
		c.distinct = yes
		i++
	}
	if c.column, err = p.column(at(i), scope); err != nil {
		return c, i, err
	}
	i++
	// With an aggregate, a parenthesis around it is left for others to close.
	if k.agg() || block {
		if at(i).kind != closeKind {
			return c, i, p.fail(i, `found %s, expected ")"`, at(i))
		}
		i++
	}
	return c, i, nil
}

// column: parse_col.
func (p *parser) column(t token, scope []string) (id, error) {
	if t.kind == starKind {
		return 0, nil
	}
	fail := func(format string, args ...any) (id, error) {
		return 0, &ParseError{t.pos, fmt.Sprintf(format, args...)}
	}
	if t.kind == end {
		return fail("found %s, expected a column", t)
	}
	if alias, name, ok := strings.Cut(t.text, "."); ok {
		if strings.Contains(name, ".") {
			return fail("%s has more than one period", t)
		}
		target, ok := p.table(alias)
		if !ok {
			return fail("%s: there is no table or alias %q", t, alias)
		}
		if table, ok := p.schema.tables[target]; ok {
			if n, ok := p.schema.columns[table][name]; ok {
				return n, nil
			}
		} else if n, ok := p.schema.ids[target+"."+name]; ok {
			return n, nil
		}
		return fail("%s: %q has no column %q", t, target, name)
	}
	if len(scope) == 0 {
		return fail("found %s, expected a column with its table: FROM has no table by name", t)
	}
	for _, name := range scope {
		target, ok := p.table(name)
		table, isTable := p.schema.tables[target]
		if !ok || !isTable {
			return fail("%s cannot be looked for in %q, which is no table", t, name)
		}
		if n, ok := p.schema.columns[table][t.text]; ok {
			return n, nil
		}
	}
	return fail("found %s, expected a column of %s", t, list(scope))
}

func list(names []string) string {
	const most = 5
	if len(names) > most {
		return strings.Join(names[:most], ", ") + ", …"
	}
	return strings.Join(names, ", ")
}

// operand: parse_value.
func (p *parser) operand(i int, scope []string) (o operand, _ int, err error) {
	if err := p.enter(i, 1); err != nil {
		return o, i, err
	}
	defer p.leave(1)
	start, block := i, p.at(i).kind == openKind
	if block {
		i++
	}
	t := p.at(i)
	number, isNumber := 0.0, false
	if t.kind == word {
		number, isNumber = pythonFloat(t.text)
	}
	switch {
	case t.kind == selectKind:
		o.kind = queryOperand
		o.sql, i, err = p.query(i)
	case t.kind == value:
		o.kind, o.text = textOperand, t.text
		i++
	case isNumber:
		o.kind, o.number = numberOperand, number
		i++
	default:
		// A column. The official script goes on at the next comma, parenthesis, AND
		// or keyword: what stands between (as in "a = b + c", or "a = b OR c = 1") is lost.
		// And it reads the column from before the parenthesis that it has
		// passed, up to but without the one that closes it, so that a column in
		// parentheses always fails.
		for ; i < p.n; i++ {
			k := p.toks[i].kind
			if k == commaKind || k == closeKind || k == andKind || k.clause() || k.join() {
				break
			}
		}
		o.kind = columnOperand
		o.column, _, err = p.columnUnit(start, i, scope)
	}
	if err != nil {
		return o, i, err
	}
	if block {
		i, err = p.expect(i, closeKind, `")"`)
	}
	return o, i, err
}
