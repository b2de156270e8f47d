package sql

import (
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/alecthomas/participle/v2"
	"github.com/alecthomas/participle/v2/lexer"
)

// SyntaxError says where reading stopped, what was there, and what could have been.
type SyntaxError struct {
	Line, Column    int
	Found, Expected string
}

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("%d:%d: found %s, expected %s", e.Line, e.Column, e.Found, e.Expected)
}

// Unsupported names a construct of SQL that this reader knows, but does not read.
type Unsupported struct {
	Line, Column int
	Construct    string
}

func (e *Unsupported) Error() string {
	return fmt.Sprintf("%d:%d: %s is not supported", e.Line, e.Column, e.Construct)
}

// Parse reads one SELECT statement; a semicolon may end it. Errors are *SyntaxError or
// *Unsupported.
func Parse(text string) (*Query, error) {
	q, err := newReader().parser.ParseString("", text)
	if err == nil {
		return q, nil
	}
	err = refine(err)
	var syntax *SyntaxError
	if errors.As(err, &syntax) && syntax.Expected == "" {
		syntax.Expected = behind(text, syntax)
	}
	return nil, err
}

// behind tells what could have followed the word before an error.
func behind(text string, e *SyntaxError) string {
	s := &scanner{text: text, pos: lexer.Position{Line: 1, Column: 1}}
	last := ""
	for {
		tok, err := s.Next()
		if err != nil || tok.EOF() || tok.Pos.Line > e.Line || tok.Pos.Line == e.Line && tok.Pos.Column >= e.Column {
			break
		}
		last = strings.ToUpper(tok.Value)
	}
	switch last {
	case "", "UNION", "INTERSECT", "EXCEPT":
		return "SELECT"
	case "FROM", "JOIN", ",", "(":
		return "a table"
	case "LEFT", "RIGHT", "FULL", "INNER", "CROSS", "NATURAL", "OUTER":
		return "JOIN"
	}
	return "the end of the query"
}

// reader holds the parser of statements, which expressions need for their subqueries.
type reader struct {
	parser *participle.Parser[Query]
}

var newReader = sync.OnceValue(func() *reader {
	r := &reader{}
	r.parser = participle.MustBuild[Query](
		participle.Lexer(definition{}),
		participle.CaseInsensitive("Ident", "Keyword"),
		participle.ParseTypeWith(r.expr),
	)
	return r
})

// refine turns participle's errors into ours.
func refine(err error) error {
	var syntax *SyntaxError
	if errors.As(err, &syntax) {
		return syntax
	}
	var unsupported *Unsupported
	if errors.As(err, &unsupported) {
		return unsupported
	}
	var unexpected *participle.UnexpectedTokenError
	if errors.As(err, &unexpected) {
		tok := unexpected.Unexpected
		if name := statementOrClause(tok); name != "" {
			return &Unsupported{tok.Pos.Line, tok.Pos.Column, name}
		}
		return &SyntaxError{tok.Pos.Line, tok.Pos.Column, found(&tok), expected(unexpected.Message())}
	}
	var other participle.Error
	if errors.As(err, &other) {
		return &SyntaxError{other.Position().Line, other.Position().Column, other.Message(), "a SELECT statement"}
	}
	return err
}

// statementOrClause names the constructs that start with a word of their own where this
// grammar has no place for it.
func statementOrClause(tok lexer.Token) string {
	if tok.Type != tokenIdent && tok.Type != tokenKeyword {
		return ""
	}
	switch word := strings.ToUpper(tok.Value); word {
	case "WITH", "VALUES", "WINDOW", "COLLATE", "INSERT", "UPDATE", "DELETE", "CREATE", "DROP", "PRAGMA", "ALTER", "EXPLAIN":
		return word
	}
	return ""
}

func found(tok *lexer.Token) string {
	if tok.EOF() {
		return "the end of the query"
	}
	return fmt.Sprintf("%q", tok.Value)
}

// expected makes readable what participle prints of its grammar: the names of our structs
// and tokens become words. It is empty where participle does not say.
func expected(message string) string {
	_, text, ok := strings.Cut(message, "(expected ")
	if !ok {
		return ""
	}
	text = strings.TrimSuffix(text, ")")
	switch {
	case strings.HasPrefix(text, "Core"), strings.HasPrefix(text, "Query"), strings.Contains(text, `"SELECT"`):
		return "SELECT"
	case strings.HasPrefix(text, "Source"), strings.HasPrefix(text, "From"):
		return "a table"
	case strings.HasPrefix(text, "Result"), strings.HasPrefix(text, "Expr"), strings.HasPrefix(text, "OrderTerm"):
		return "an expression"
	case strings.Contains(text, "<ident>"), strings.Contains(text, "<quoted>"):
		return "a name"
	}
	// `")" ...` is a token with what follows it.
	if strings.HasPrefix(text, `"`) {
		if end := strings.IndexByte(text[1:], '"'); end > 0 {
			return text[1 : end+1]
		}
	}
	return text
}

// Binding strengths, weakest first, as SQLite has them.
const (
	bindOr = iota + 1
	bindAnd
	bindNot
	bindEqual
	bindLess
	bindBits
	bindAdd
	bindMultiply
	bindConcat
	bindUnary
	bindPrimary
)

// binary tells an operator's strength and its spelling in the tree.
func binary(tok *lexer.Token) (strength int, op string) {
	switch tok.Type {
	case tokenOp:
		switch tok.Value {
		case "=", "==":
			return bindEqual, "="
		case "!=", "<>":
			return bindEqual, "!="
		case "<", "<=", ">", ">=":
			return bindLess, tok.Value
		case "&", "|", "<<", ">>":
			return bindBits, tok.Value
		case "+", "-":
			return bindAdd, tok.Value
		case "*", "/", "%":
			return bindMultiply, tok.Value
		case "||":
			return bindConcat, tok.Value
		}
	case tokenKeyword:
		switch {
		case word(tok, "OR"):
			return bindOr, "OR"
		case word(tok, "AND"):
			return bindAnd, "AND"
		}
	}
	return 0, ""
}

func word(tok *lexer.Token, upper string) bool {
	return (tok.Type == tokenKeyword || tok.Type == tokenIdent) && strings.EqualFold(tok.Value, upper)
}

func op(tok *lexer.Token, value string) bool { return tok.Type == tokenOp && tok.Value == value }

// accept takes the next token if it is this word.
func accept(lex *lexer.PeekingLexer, upper string) bool {
	if word(lex.Peek(), upper) {
		lex.Next()
		return true
	}
	return false
}

func acceptOp(lex *lexer.PeekingLexer, value string) bool {
	if op(lex.Peek(), value) {
		lex.Next()
		return true
	}
	return false
}

func unexpected(tok *lexer.Token, expected string) error {
	if name := statementOrClause(*tok); name != "" {
		return unsupported(tok, name)
	}
	return &SyntaxError{tok.Pos.Line, tok.Pos.Column, found(tok), expected}
}

func unsupported(tok *lexer.Token, construct string) error {
	return &Unsupported{tok.Pos.Line, tok.Pos.Column, construct}
}

func (r *reader) expr(lex *lexer.PeekingLexer) (Expr, error) { return r.climb(lex, bindOr) }

// climb reads an expression whose operators bind at least as strongly as min.
func (r *reader) climb(lex *lexer.PeekingLexer, min int) (Expr, error) {
	left, err := r.unary(lex)
	if err != nil {
		return nil, err
	}
	for {
		tok := lex.Peek()
		if strength, name := binary(tok); strength > 0 {
			if strength < min {
				return left, nil
			}
			lex.Next()
			right, err := r.climb(lex, strength+1)
			if err != nil {
				return nil, err
			}
			left = &Binary{name, left, right}
			continue
		}
		if tok.Type != tokenKeyword && tok.Type != tokenIdent || min > bindEqual {
			return left, nil
		}
		next, err := r.predicate(lex, left)
		if err != nil {
			return nil, err
		}
		if next == nil {
			return left, nil
		}
		left = next
	}
}

// predicate reads what follows left if it is BETWEEN, IN, LIKE, IS and their kin; nil if
// it is none of them.
func (r *reader) predicate(lex *lexer.PeekingLexer, left Expr) (Expr, error) {
	start := lex.MakeCheckpoint()
	not := accept(lex, "NOT")
	tok := lex.Peek()
	switch {
	case accept(lex, "BETWEEN"):
		low, err := r.climb(lex, bindLess)
		if err != nil {
			return nil, err
		}
		if !accept(lex, "AND") {
			return nil, unexpected(lex.Peek(), "AND")
		}
		high, err := r.climb(lex, bindLess)
		if err != nil {
			return nil, err
		}
		return &Between{not, left, low, high}, nil
	case accept(lex, "IN"):
		return r.in(lex, left, not)
	case word(tok, "LIKE"), word(tok, "GLOB"), word(tok, "REGEXP"), word(tok, "MATCH"):
		lex.Next()
		pattern, err := r.climb(lex, bindLess)
		if err != nil {
			return nil, err
		}
		like := &Like{Not: not, Op: strings.ToUpper(tok.Value), X: left, Pattern: pattern}
		if accept(lex, "ESCAPE") {
			if like.Escape, err = r.climb(lex, bindLess); err != nil {
				return nil, err
			}
		}
		return like, nil
	case not && accept(lex, "NULL"):
		return &IsNull{true, left}, nil
	case not:
		lex.LoadCheckpoint(start)
		return nil, nil
	case accept(lex, "ISNULL"):
		return &IsNull{false, left}, nil
	case accept(lex, "NOTNULL"):
		return &IsNull{true, left}, nil
	case accept(lex, "IS"):
		name := "IS"
		not := accept(lex, "NOT")
		if not {
			name = "IS NOT"
		}
		if accept(lex, "NULL") {
			return &IsNull{not, left}, nil
		}
		if word(lex.Peek(), "DISTINCT") {
			return nil, unsupported(lex.Peek(), "IS DISTINCT FROM")
		}
		right, err := r.climb(lex, bindLess)
		if err != nil {
			return nil, err
		}
		return &Binary{name, left, right}, nil
	}
	return nil, nil
}

func (r *reader) in(lex *lexer.PeekingLexer, left Expr, not bool) (Expr, error) {
	if !op(lex.Peek(), "(") {
		if t := lex.Peek().Type; t == tokenIdent || t == tokenQuoted {
			return nil, unsupported(lex.Peek(), "IN with a table's name")
		}
		return nil, unexpected(lex.Peek(), "(")
	}
	if startsQuery(lex) {
		lex.Next()
		q, err := r.query(lex)
		if err != nil {
			return nil, err
		}
		return &In{Not: not, X: left, Query: q}, nil
	}
	lex.Next()
	if acceptOp(lex, ")") {
		return &In{Not: not, X: left}, nil
	}
	list, err := r.list(lex)
	if err != nil {
		return nil, err
	}
	return &In{Not: not, X: left, List: list}, nil
}

// startsQuery tells whether the parenthesis ahead holds a query: SELECT follows, with no
// more than further parentheses in between.
func startsQuery(lex *lexer.PeekingLexer) bool {
	start := lex.MakeCheckpoint()
	defer lex.LoadCheckpoint(start)
	if !acceptOp(lex, "(") {
		return false
	}
	if tok := lex.Peek(); word(tok, "WITH") || word(tok, "VALUES") {
		return true // so that the message names them
	}
	for acceptOp(lex, "(") {
	}
	return word(lex.Peek(), "SELECT")
}

// query reads a query and the parenthesis behind it.
func (r *reader) query(lex *lexer.PeekingLexer) (*Query, error) {
	q, err := r.parser.ParseFromLexer(lex, participle.AllowTrailing(true))
	if err != nil {
		return nil, refine(err)
	}
	if !acceptOp(lex, ")") {
		return nil, unexpected(lex.Peek(), ")")
	}
	return q, nil
}

// list reads expressions and the parenthesis behind them.
func (r *reader) list(lex *lexer.PeekingLexer) ([]Expr, error) {
	var list []Expr
	for {
		x, err := r.climb(lex, bindOr)
		if err != nil {
			return nil, err
		}
		list = append(list, x)
		if acceptOp(lex, ")") {
			return list, nil
		}
		if !acceptOp(lex, ",") {
			return nil, unexpected(lex.Peek(), ") or a comma")
		}
	}
}

// unary reads an operand with the operators before it.
func (r *reader) unary(lex *lexer.PeekingLexer) (Expr, error) {
	tok := lex.Peek()
	switch {
	case word(tok, "NOT"):
		lex.Next()
		x, err := r.climb(lex, bindNot)
		if err != nil {
			return nil, err
		}
		return &Unary{"NOT", x}, nil
	case op(tok, "-"), op(tok, "+"), op(tok, "~"):
		lex.Next()
		x, err := r.unary(lex)
		if err != nil {
			return nil, err
		}
		return &Unary{tok.Value, x}, nil
	}
	return r.primary(lex)
}

func (r *reader) primary(lex *lexer.PeekingLexer) (Expr, error) {
	tok := lex.Peek()
	switch tok.Type {
	case tokenNumber:
		lex.Next()
		return &Number{tok.Value}, nil
	case tokenString:
		lex.Next()
		if op(lex.Peek(), ".") {
			return r.column(lex, tok)
		}
		text, _ := unquote(tok.Value)
		return &String{text}, nil
	case tokenIdent, tokenQuoted:
		lex.Next()
		return r.column(lex, tok)
	case tokenKeyword:
		switch {
		case accept(lex, "NULL"):
			return &Null{}, nil
		case accept(lex, "EXISTS"):
			if !startsQuery(lex) {
				return nil, unexpected(lex.Peek(), "a subquery")
			}
			lex.Next()
			q, err := r.query(lex)
			if err != nil {
				return nil, err
			}
			return &Exists{q}, nil
		case word(tok, "CASE"):
			return nil, unsupported(tok, "CASE")
		}
	case tokenOp:
		switch {
		case op(tok, "*"):
			lex.Next()
			return &Star{Pos: tok.Pos}, nil
		case startsQuery(lex):
			lex.Next()
			q, err := r.query(lex)
			if err != nil {
				return nil, err
			}
			return &Subquery{q}, nil
		case op(tok, "("):
			lex.Next()
			x, err := r.climb(lex, bindOr)
			if err != nil {
				return nil, err
			}
			if op(lex.Peek(), ",") {
				return nil, unsupported(lex.Peek(), "a row of values")
			}
			if !acceptOp(lex, ")") {
				return nil, unexpected(lex.Peek(), ")")
			}
			return x, nil
		}
	}
	return nil, unexpected(tok, "an expression")
}

// column reads what a name starts: a function, a column, or "table.*".
func (r *reader) column(lex *lexer.PeekingLexer, first *lexer.Token) (Expr, error) {
	name, quote := unquote(first.Value)
	if quote == 0 && op(lex.Peek(), "(") {
		lex.Next()
		return r.call(lex, first)
	}
	if !acceptOp(lex, ".") {
		return &Column{Pos: first.Pos, Name: name, DoubleQuoted: quote == '"'}, nil
	}
	tok := lex.Peek()
	switch {
	case op(tok, "*"):
		lex.Next()
		return &Star{Pos: first.Pos, Table: name}, nil
	case tok.Type == tokenIdent, tok.Type == tokenQuoted, tok.Type == tokenString, tok.Type == tokenKeyword:
		lex.Next()
		column, _ := unquote(tok.Value)
		if op(lex.Peek(), ".") {
			return nil, unsupported(tok, "a database's name before a table's")
		}
		return &Column{Pos: first.Pos, Table: name, Name: column}, nil
	}
	return nil, unexpected(tok, "a column")
}

// call reads a function's arguments behind its parenthesis.
func (r *reader) call(lex *lexer.PeekingLexer, name *lexer.Token) (Expr, error) {
	if word(name, "CAST") {
		return r.cast(lex)
	}
	call := &Call{Pos: name.Pos, Name: strings.ToLower(name.Value)}
	if accept(lex, "DISTINCT") {
		call.Distinct = true
	} else {
		accept(lex, "ALL")
	}
	if call.Distinct || !acceptOp(lex, ")") {
		args, err := r.list(lex)
		if err != nil {
			return nil, err
		}
		call.Args = args
	}
	if tok := lex.Peek(); word(tok, "OVER") || word(tok, "FILTER") {
		return nil, unsupported(tok, strings.ToUpper(tok.Value))
	}
	return call, nil
}

func (r *reader) cast(lex *lexer.PeekingLexer) (Expr, error) {
	x, err := r.climb(lex, bindOr)
	if err != nil {
		return nil, err
	}
	if !accept(lex, "AS") {
		return nil, unexpected(lex.Peek(), "AS")
	}
	var words []string
	for lex.Peek().Type == tokenIdent {
		words = append(words, strings.ToUpper(lex.Next().Value))
	}
	if len(words) == 0 {
		return nil, unexpected(lex.Peek(), "a type")
	}
	if !acceptOp(lex, ")") {
		return nil, unexpected(lex.Peek(), ")")
	}
	return &Cast{x, strings.Join(words, " ")}, nil
}
