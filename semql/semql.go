// Package semql translates between SQL and SemQL, the abstract syntax that the parser of
// the TaBERT paper (appendix, "Semantic Parser on Spider") generates instead of SQL.
//
// SemQL as the paper's figure has it (grammars/semql.asdl) says what is asked for, and
// leaves out what a schema implies. FromSQL drops it, and Render infers it again:
//
//   - The FROM clause. A query joins the tables that its columns and COUNT(*) mention and those
//     of join_with_tables; where these cannot be joined among themselves, also those in between on
//     a smallest tree over the foreign keys (ties: schema order). It starts with the table that
//     is mentioned first.
//   - ON. Two tables are joined by the first foreign key between them in the order of its columns (a
//     composite one whole), else by keys of both that reference the same column, else by a column
//     that is called after the other table or like the key of one of them, else not at all (a
//     cross join).
//   - HAVING. Conditions on aggregates that are joined by AND at the top of the where clause.
//   - GROUP BY, where aggregates mix with plain columns: by the selected key column, where
//     there is exactly one (a primary key; between joined tables a foreign key, too); else, of exactly
//     two joined tables where one references the table of the plain columns, by that table's primary
//     key; else by the plain columns. Plain are the columns outside of aggregates in the select list, or
//     where it has none, in ORDER BY.
//
// What gold SQL leaves to taste, FromSQL decides by rule, so that one meaning has one tree:
//
//   - COUNT(*) and * belong to the table of FROM that no other table of FROM references (the
//     one whose rows the join repeats least); of several, to the first of the schema.
//   - join_with_tables lists, in schema order, only the tables of FROM that neither a column nor
//     COUNT(*) mentions nor joining the others brings in. For most queries it is empty.
//   - Of two columns that an inferred join sets equal, the referenced one is taken, as long as the
//     other's table is mentioned elsewhere too.
//   - AND and OR are flat. Their operands are ordered: conditions without aggregates first, then
//     by their first column in schema order; for the same column the order stays.
//   - A comparison has its column left and its literal or subquery right; of two columns the
//     first of the schema is left.
//   - ON conditions that compare columns only are dropped, others are moved into the where clause. Foreign keys
//     that WHERE spells out for tables joined by comma are dropped.
//   - COUNT(1) is COUNT(*); x IN ('a', 'b') is x = 'a' OR x = 'b'; aliases and the numbers of result
//     columns in ORDER BY are replaced by what they stand for.
package semql

import (
	"fmt"

	"github.com/tabert-workbench/tabert-workbench/asdl"
	"github.com/tabert-workbench/tabert-workbench/grammars"
	"github.com/tabert-workbench/tabert-workbench/semql/sql"
)

// Grammar is one of the grammars by name: "figure", the paper's.
func Grammar(name string) (*asdl.Grammar, error) {
	switch name {
	case "figure":
		return asdl.Parse(grammars.SemQL)
	}
	return nil, fmt.Errorf("semql: no grammar %q (there is: figure)", name)
}

// LeafKinds tells how each primitive type of the grammar is filled: tables by their index,
// columns by the indexes of table and column, values by text.
func LeafKinds() map[string]asdl.LeafKind {
	return map[string]asdl.LeafKind{
		"table_ref":  asdl.KindIndex,
		"column_ref": asdl.KindPair,
		"string":     asdl.KindText,
		"int":        asdl.KindInteger,
	}
}

// SyntaxError says where SQL could not be read, what was there, and what could have been.
type SyntaxError = sql.SyntaxError

// Inexpressible is a query that the grammar has no tree for.
type Inexpressible struct {
	Construct string
}

func (e *Inexpressible) Error() string {
	return fmt.Sprintf("the grammar cannot express %s", e.Construct)
}

// UnknownName is a table or column that the database does not have.
type UnknownName struct {
	Line, Column int
	Kind         string // "table" or "column"
	Name         string
	Database     string
}

func (e *UnknownName) Error() string {
	return fmt.Sprintf("%d:%d: database %q has no %s %q here", e.Line, e.Column, e.Database, e.Kind, e.Name)
}
