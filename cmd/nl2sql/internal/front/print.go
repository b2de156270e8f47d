package front

import (
	"encoding/csv"
	"encoding/hex"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"unicode"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/tabert-workbench/tabert-workbench/database"
)

// maxCell is the widest a cell of a table gets.
const maxCell = 60

// writeTable prints rows for people. A width of 0 is no limit.
func writeTable(w io.Writer, r *database.Result, width int, colour bool) {
	if len(r.Columns) == 0 {
		return
	}
	t := table.NewWriter()
	style := table.StyleLight
	style.Format.Header = text.FormatDefault // names as they are
	style.Size.WidthMax = width
	t.SetStyle(style)
	header := make(table.Row, len(r.Columns))
	configs := make([]table.ColumnConfig, len(r.Columns))
	for i, name := range r.Columns {
		header[i] = plain(name)
		configs[i] = table.ColumnConfig{Number: i + 1, WidthMax: maxCell, WidthMaxEnforcer: snip}
		if numeric(r.Rows, i) {
			configs[i].Align, configs[i].AlignHeader = text.AlignRight, text.AlignRight
		}
	}
	t.AppendHeader(header)
	t.SetColumnConfigs(configs)
	null := "NULL"
	if colour {
		null = "\x1b[2mNULL\x1b[0m"
	}
	for _, row := range r.Rows {
		cells := make(table.Row, len(row))
		for i, v := range row {
			if v == nil {
				cells[i] = null
			} else {
				cells[i] = plain(display(v))
			}
		}
		t.AppendRow(cells)
	}
	fmt.Fprintln(w, t.Render())
}

// snip cuts a cell that is too wide, and shows that it did.
func snip(cell string, width int) string { return text.Snip(cell, width, "…") }

// numeric says whether a column has numbers and nothing else.
func numeric(rows [][]any, column int) bool {
	found := false
	for _, row := range rows {
		switch row[column].(type) {
		case int64, float64:
			found = true
		case nil:
		default:
			return false
		}
	}
	return found
}

// display writes a value as SQLite's own shell does.
func display(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case int64:
		return strconv.FormatInt(v, 10)
	case float64:
		return number(v)
	case []byte:
		return "x'" + hex.EncodeToString(v) + "'"
	}
	return fmt.Sprint(v)
}

func number(f float64) string {
	switch size := math.Abs(f); {
	case math.IsInf(f, 1):
		return "Inf"
	case math.IsInf(f, -1):
		return "-Inf"
	case size != 0 && (size < 1e-4 || size >= 1e15):
		return strconv.FormatFloat(f, 'e', -1, 64)
	}
	s := strconv.FormatFloat(f, 'f', -1, 64)
	if !strings.Contains(s, ".") {
		s += ".0"
	}
	return s
}

// jsonValue is a value that JSON can hold.
func jsonValue(v any) any {
	switch v := v.(type) {
	case []byte:
		return display(v)
	case float64:
		if math.IsInf(v, 0) || math.IsNaN(v) {
			return number(v)
		}
	}
	return v
}

// writeCSV prints rows for programs; NULL is empty.
func writeCSV(w io.Writer, r *database.Result) error {
	c := csv.NewWriter(w)
	c.Write(r.Columns)
	for _, row := range r.Rows {
		cells := make([]string, len(row))
		for i, v := range row {
			cells[i] = display(v)
		}
		c.Write(cells)
	}
	c.Flush()
	return c.Error()
}

func count(r *database.Result) string {
	switch n := len(r.Rows); {
	case r.Truncated:
		return fmt.Sprintf("the first %d rows; there are more (--max-rows)", n)
	case n == 0:
		return "no rows"
	case n == 1:
		return "1 row"
	default:
		return fmt.Sprintf("%d rows", n)
	}
}

// plain makes text safe for a terminal, in one line: what a database holds must not move
// the cursor or change colours.
func plain(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\r':
			return '⏎'
		case r == '\t':
			return ' '
		case unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r):
			return '�'
		}
		return r
	}, s)
}

// block is plain for text of several lines.
func block(s string) string {
	lines := strings.Split(strings.TrimRight(s, "\n"), "\n")
	for i := range lines {
		lines[i] = plain(lines[i])
	}
	return strings.Join(lines, "\n")
}
