// Package sql reads and prints the SELECT statements of SQLite's dialect: what the
// queries of Spider are written in, and what people and models write around it.
//
// Parse builds a syntax tree and knows no schema; names keep their spelling without
// their quotes. A tree's String is SQL again, and parses to the same tree.
package sql

import "github.com/alecthomas/participle/v2/lexer"

// Query is a chain of SELECTs joined by set operations, which bind from the left.
type Query struct {
	Pos   lexer.Position
	First *Core       `parser:"@@"`
	Rest  []*Compound `parser:"@@*"`
}

// Compound is a set operation with its right side.
type Compound struct {
	Op   string `parser:"@('UNION' | 'INTERSECT' | 'EXCEPT')"`
	All  bool   `parser:"@'ALL'?"`
	Core *Core  `parser:"@@"`
}

// Core is one side of a set operation. SQLite allows ORDER BY and LIMIT behind the last
// one only, and no parentheses; other dialects allow both, and so does this reader.
type Core struct {
	Group   *Query       `parser:"( '(' @@ ')'"`
	Select  *Select      `parser:"| @@ )"`
	OrderBy []*OrderTerm `parser:"( 'ORDER' 'BY' @@ ( ',' @@ )* )?"`
	Limit   *Limit       `parser:"@@?"`
}

// Select is a SELECT up to its HAVING.
type Select struct {
	Pos      lexer.Position
	Distinct bool      `parser:"'SELECT' ( @'DISTINCT' | 'ALL' )?"`
	Columns  []*Result `parser:"@@ ( ',' @@ )*"`
	From     *From     `parser:"( 'FROM' @@ )?"`
	Where    Expr      `parser:"( 'WHERE' @@ )?"`
	GroupBy  []Expr    `parser:"( 'GROUP' 'BY' @@ ( ',' @@ )* )?"`
	Having   Expr      `parser:"( 'HAVING' @@ )?"`
}

// Result is one entry of the select list.
type Result struct {
	Expr Expr `parser:"@@"`
	As   Name `parser:"( 'AS' @(Ident | Quoted | String | Keyword) | @(Ident | Quoted | String) )?"`
}

// From is a source with what is joined to it, from the left.
type From struct {
	First *Source `parser:"@@"`
	Joins []*Join `parser:"@@*"`
}

// Join is one more source. Kind is "," or the words before JOIN.
type Join struct {
	Pos   lexer.Position
	Kind  []string `parser:"( @',' | @'NATURAL'? ( @( 'LEFT' | 'RIGHT' | 'FULL' ) 'OUTER'? | @( 'INNER' | 'CROSS' ) )? 'JOIN' )"`
	Right *Source  `parser:"@@"`
	On    Expr     `parser:"( 'ON' @@"`
	Using []Name   `parser:"| 'USING' '(' @(Ident | Quoted | String) ( ',' @(Ident | Quoted | String) )* ')' )?"`
}

// Source is a table, a subquery, or a join in parentheses.
type Source struct {
	Pos   lexer.Position
	Query *Query `parser:"( (?= '(' '('* 'SELECT' ) '(' @@ ')'"`
	From  *From  `parser:"| '(' @@ ')'"`
	Table Name   `parser:"| @(Ident | Quoted | String) )"`
	As    Name   `parser:"( 'AS' @(Ident | Quoted | String | Keyword) | @(Ident | Quoted | String) )?"`
}

// OrderTerm is one entry of ORDER BY.
type OrderTerm struct {
	Expr Expr `parser:"@@ ( 'ASC'"`
	Desc bool `parser:"| @'DESC' )?"`
}

// Limit is LIMIT as it is written: `First`, `First OFFSET Skip`, or `First, Second`,
// where the first number is the one to skip.
type Limit struct {
	First  Expr `parser:"'LIMIT' @@"`
	Second Expr `parser:"( ',' @@"`
	Skip   Expr `parser:"| 'OFFSET' @@ )?"`
}

// Count is the number of rows to keep.
func (l *Limit) Count() Expr {
	if l.Second != nil {
		return l.Second
	}
	return l.First
}

// Offset is the number of rows to leave out, or nil.
func (l *Limit) Offset() Expr {
	if l.Second != nil {
		return l.First
	}
	return l.Skip
}

// Name is an identifier without its quotes.
type Name string

// Capture takes the quotes off.
func (n *Name) Capture(values []string) error {
	text, _ := unquote(values[0])
	*n = Name(text)
	return nil
}

// Expr is an expression: one of the types below.
type Expr interface{ expr() }

// Binary is an operator between two expressions: OR, AND, IS, IS NOT, a comparison, or
// arithmetic. "==" is read as "=", "<>" as "!=".
type Binary struct {
	Op          string
	Left, Right Expr
}

// Unary is NOT, "-", "+" or "~" before an expression.
type Unary struct {
	Op string
	X  Expr
}

// Between is X BETWEEN Low AND High.
type Between struct {
	Not          bool
	X, Low, High Expr
}

// In is X IN (Query) or X IN (List).
type In struct {
	Not   bool
	X     Expr
	Query *Query
	List  []Expr
}

// Like is X LIKE Pattern; Op may be GLOB, REGEXP or MATCH as well.
type Like struct {
	Not                bool
	Op                 string
	X, Pattern, Escape Expr
}

// IsNull is X IS NULL.
type IsNull struct {
	Not bool
	X   Expr
}

// Exists is EXISTS (Query).
type Exists struct{ Query *Query }

// Subquery is a query in parentheses, used as a value.
type Subquery struct{ Query *Query }

// Call is a function with its arguments; those of COUNT(*) are one Star.
type Call struct {
	Pos      lexer.Position
	Name     string
	Distinct bool
	Args     []Expr
}

// Cast is CAST(X AS Type).
type Cast struct {
	X    Expr
	Type string
}

// Column is a name, qualified or not. DoubleQuoted tells that it was written in double
// quotes, so that SQLite reads it as a string where there is no such column.
type Column struct {
	Pos          lexer.Position
	Table, Name  string
	DoubleQuoted bool
}

// Star is "*" or "table.*".
type Star struct {
	Pos   lexer.Position
	Table string
}

// Number is a numeric literal as written.
type Number struct{ Text string }

// String is a text literal: its value.
type String struct{ Value string }

// Null is NULL.
type Null struct{}

func (*Binary) expr()   {}
func (*Unary) expr()    {}
func (*Between) expr()  {}
func (*In) expr()       {}
func (*Like) expr()     {}
func (*IsNull) expr()   {}
func (*Exists) expr()   {}
func (*Subquery) expr() {}
func (*Call) expr()     {}
func (*Cast) expr()     {}
func (*Column) expr()   {}
func (*Star) expr()     {}
func (*Number) expr()   {}
func (*String) expr()   {}
func (*Null) expr()     {}
