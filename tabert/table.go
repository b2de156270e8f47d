// Package tabert turns an utterance and a table into what TaBERT reads (Yin et al., ACL 2020, §3.1): a content
// snapshot of the table, each of its rows linearised beside the utterance, as word pieces with the spans of every
// column. It is pure Go; package tabert/encoder computes vectors from its sequences.
package tabert

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Table is a table as a semantic parser sees it.
type Table struct {
	Name    string
	Columns []Column
	Rows    [][]Cell
}

// Column is a column's name in words and its type.
type Column struct {
	Name   string
	Type   string // Text or Real
	Sample Cell   // a typical cell, for callers that make no snapshot
}

// The two column types of the paper.
const (
	Text = "text"
	Real = "real"
)

// Cell is the text of a cell, or null. The zero value is null.
type Cell struct {
	Text  string
	Valid bool // false: null
}

// TextCell is a cell that holds text.
func TextCell(text string) Cell { return Cell{Text: text, Valid: true} }

// MaxCellBytes is how much of a cell's text CellOf keeps. A linearised cell shows five tokens of it;
// the rest serves n-gram overlap only.
const MaxCellBytes = 4096

// CellOf is the cell for a value read from a database: numbers as Python writes them (the reference
// converts cells with Python's str), text cut to MaxCellBytes, nil as null.
func CellOf(value any) Cell {
	switch v := value.(type) {
	case nil:
		return Cell{}
	case string:
		return TextCell(cut(v))
	case []byte:
		return TextCell(cut(string(v[:min(len(v), MaxCellBytes+utf8.UTFMax)])))
	case int64:
		return TextCell(strconv.FormatInt(v, 10))
	case float64:
		return TextCell(formatFloat(v))
	case bool:
		if v {
			return TextCell("True")
		}
		return TextCell("False")
	default:
		return TextCell(cut(fmt.Sprint(v)))
	}
}

// cut keeps at most MaxCellBytes of s, whole characters, in memory of its own.
func cut(s string) string {
	if len(s) <= MaxCellBytes {
		return s
	}
	end := MaxCellBytes
	for end > MaxCellBytes-utf8.UTFMax && !utf8.RuneStart(s[end]) {
		end--
	}
	return strings.Clone(s[:end])
}

// formatFloat writes f as Python's repr does: the shortest digits that read back as f, with an
// exponent below 1e-4 and from 1e16 on.
func formatFloat(f float64) string {
	switch {
	case math.IsNaN(f):
		return "nan"
	case math.IsInf(f, 0):
		return strings.ToLower(strings.TrimPrefix(fmt.Sprint(f), "+"))
	}
	if a := math.Abs(f); a != 0 && (a < 1e-4 || a >= 1e16) {
		return strconv.FormatFloat(f, 'e', -1, 64)
	}
	s := strconv.FormatFloat(f, 'f', -1, 64)
	if !strings.Contains(s, ".") {
		s += ".0"
	}
	return s
}
