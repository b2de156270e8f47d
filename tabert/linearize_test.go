package tabert_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/tabert-workbench/tabert-workbench/tabert"
)

func TestLinearize(t *testing.T) {
	tok := small(t, "how", "many", "year", "city", "2005", "rio", "none")
	columns := []tabert.Column{{Name: "Year", Type: tabert.Real}, {Name: "City", Type: tabert.Text}}
	row := []tabert.Cell{tabert.TextCell("2005"), tabert.TextCell("Rio rio rio rio rio rio")}
	tests := []struct {
		template string
		columns  []tabert.Column
		row      []tabert.Cell
		want     string
	}{
		{tabert.ColumnTypeValueTemplate, columns, row, "[CLS] how many [SEP] year | real | 2005 [SEP] city | text | rio rio rio rio rio [SEP]"},
		{tabert.ColumnTypeTemplate, columns, nil, "[CLS] how many [SEP] year | real [SEP] city | text [SEP]"},
		{tabert.ColumnTemplate, columns, nil, "[CLS] how many [SEP] year [SEP] city [SEP]"},
		{tabert.ColumnIsValueTemplate, columns[:1], row[:1], "[CLS] how many [SEP] year is 2005 [SEP]"},
		{tabert.ColumnTypeValueTemplate, columns[:1], []tabert.Cell{{}}, "[CLS] how many [SEP] year | real | none [SEP]"},
		{tabert.ColumnTypeValueTemplate, columns[:1], []tabert.Cell{tabert.TextCell("")}, "[CLS] how many [SEP] year | real | [SEP]"},
		{tabert.ColumnTypeValueTemplate, nil, nil, "[CLS] how many [SEP]"},
	}
	for _, tt := range tests {
		config := tabert.DefaultConfig()
		var err error
		if config.Template, err = tabert.ParseTemplate(tt.template); err != nil {
			t.Fatal(err)
		}
		s, err := config.Linearize(tok, tok.Tokenize("How many"), tt.columns, tt.row)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tt.want, strings.Join(s.Tokens, " ")); diff != "" {
			t.Errorf("%s: -want +got\n%s", tt.template, diff)
		}
	}
}

func TestLinearizeErrors(t *testing.T) {
	tok := small(t)
	long := tok.Tokenize(strings.Repeat("a ", 505))
	column := []tabert.Column{{Name: "a b", Type: tabert.Text}}
	row := []tabert.Cell{tabert.TextCell("c")}
	with := func(edit func(*tabert.Config)) tabert.Config {
		c := tabert.DefaultConfig()
		edit(&c)
		return c
	}
	tests := []struct {
		config    tabert.Config
		utterance []tabert.Token
		columns   []tabert.Column
		row       []tabert.Cell
		want      string
	}{
		{tabert.DefaultConfig(), long, column, row, "table too long: the utterance has 505 tokens and the first cell 7, together at most 509 fit"},
		{tabert.DefaultConfig(), nil, column, nil, "linearising a row of 0 cells under 1 columns"},
		{tabert.DefaultConfig(), nil, []tabert.Column{{Name: "a", Type: "date"}}, row, `column "a": its type "date" is not in the vocabulary, expected text or real`},
		{with(func(c *tabert.Config) { c.Template = tabert.Template{"column", "Type"} }), nil, column, row, `cell template "column Type": "Type" is not in the vocabulary`},
		{with(func(c *tabert.Config) { c.Delimiter = "[NONE]" }), nil, column, row, `the column delimiter "[NONE]" is not in the vocabulary`},
		{with(func(c *tabert.Config) { c.Template = nil }), nil, column, row, "TaBERT configuration: cell_input_template is empty"},
		{with(func(c *tabert.Config) { c.MaxCellLen = -1 }), nil, column, row, "TaBERT configuration: max_cell_len is -1, expected 0 or more"},
	}
	for _, tt := range tests {
		_, err := tt.config.Linearize(tok, tt.utterance, tt.columns, tt.row)
		if err == nil || err.Error() != tt.want {
			t.Errorf("got %v, expected %s", err, tt.want)
		}
		if e := (*tabert.TableTooLongError)(nil); errors.As(err, &e) != strings.HasPrefix(tt.want, "table too long") {
			t.Errorf("%v is a %T", err, err)
		}
	}
	if _, err := tabert.ReadConfig(strings.NewReader(`{"cell_input_template": 3}`)); err == nil ||
		err.Error() != "TaBERT configuration: cell template: neither text nor a list of tokens: 3" {
		t.Errorf("got %v", err)
	}
}

// TestLinearizeAll: whatever the table, every column is in exactly one sequence, no sequence is too
// long, and the sequences of a table that fits are what Linearize gives.
func TestLinearizeAll(t *testing.T) {
	tok := small(t)
	check := func(t interface{ Fatalf(string, ...any) }, utterance string, columns []tabert.Column) []tabert.Sequence {
		row := make([]tabert.Cell, len(columns))
		for i := range row {
			row[i] = tabert.TextCell("x")
		}
		config := tabert.DefaultConfig()
		tokens := tok.Tokenize(utterance)
		sequences, err := config.LinearizeAll(tok, tokens, columns, row)
		if err != nil {
			t.Fatalf("%v", err)
		}
		next := 0
		for _, s := range sequences {
			if len(s.IDs) > tabert.MaxSequence || len(s.IDs) != len(s.Tokens) || len(s.IDs) != len(s.Segments) {
				t.Fatalf("%d tokens, %d ids, %d segments", len(s.Tokens), len(s.IDs), len(s.Segments))
			}
			if want := min(len(tokens), tabert.MaxUtterance); s.Context != (tabert.Span{End: 1 + want}) {
				t.Fatalf("context %v, expected %d tokens of the utterance", s.Context, want)
			}
			for _, c := range s.Columns {
				if c.Column != next {
					t.Fatalf("column %d, expected %d", c.Column, next)
				}
				next++
				name := texts(tok.Tokenize(columns[c.Column].Name))
				got := s.Tokens[c.Name.Start:c.Name.End]
				if len(name) <= 200 && !slices.Equal(got, name) || len(got) == 0 && len(name) > 0 || len(got) > len(name) || !slices.Equal(got, name[:len(got)]) {
					t.Fatalf("column %d: name %q, expected %q", c.Column, got, name)
				}
			}
		}
		if next != len(columns) {
			t.Fatalf("%d of %d columns", next, len(columns))
		}
		if whole, err := config.Linearize(tok, tokens, columns, row); err == nil && len(whole.Columns) == len(columns) && len(tokens) <= tabert.MaxUtterance {
			if diff := cmp.Diff([]tabert.Sequence{whole}, sequences); diff != "" {
				t.Fatalf("-Linearize +LinearizeAll\n%s", diff)
			}
		}
		return sequences
	}

	many := make([]tabert.Column, 300)
	for i := range many {
		many[i] = tabert.Column{Name: fmt.Sprint("column ", i), Type: tabert.Text}
	}
	if n := len(check(t, "how many", many)); n < 5 {
		t.Errorf("300 columns in %d sequences", n)
	}
	if n := len(check(t, "how many", nil)); n != 1 {
		t.Errorf("no columns: %d sequences", n)
	}
	check(t, strings.Repeat("how ", 1000), many[:3])
	check(t, strings.Repeat("how ", 1000), []tabert.Column{{Name: strings.Repeat("a ", 1000), Type: tabert.Text}, {Type: tabert.Real}})

	rapid.Check(t, func(t *rapid.T) {
		columns := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) tabert.Column {
			return tabert.Column{Name: strings.Repeat("ab ", rapid.IntRange(0, 300).Draw(t, "name")), Type: tabert.Real}
		}), 0, 9).Draw(t, "columns")
		check(t, strings.Repeat("a ", rapid.IntRange(0, 400).Draw(t, "utterance")), columns)
	})
}
