// Package grammars holds the abstract syntaxes of the workbench's languages, as ASDL
// text.
package grammars

import _ "embed"

// SemQL is the grammar of the figure "ASDL Grammar of SemQL used in TranX" in the
// appendix of the TaBERT paper, to the letter.
//
//go:embed semql.asdl
var SemQL string
