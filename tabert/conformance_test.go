package tabert_test

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/tabert-workbench/tabert-workbench/internal/testdata"
	"github.com/tabert-workbench/tabert-workbench/tabert"
)

// conformanceCase is a record of inputs.jsonl.
type conformanceCase struct {
	ID, Utterance string
	Table         struct {
		Columns []struct {
			Name, Type string
			Sample     *string `json:"sample_value"`
		}
		Rows [][]*string
	}
}

func (c *conformanceCase) columns() (columns []tabert.Column, sample []tabert.Cell) {
	for _, col := range c.Table.Columns {
		cell := toCell(col.Sample)
		columns = append(columns, tabert.Column{Name: col.Name, Type: col.Type, Sample: cell})
		sample = append(sample, cell)
	}
	return columns, sample
}

func toCell(s *string) tabert.Cell {
	if s == nil {
		return tabert.Cell{}
	}
	return tabert.TextCell(*s)
}

// records decodes JSON lines: values that follow one another.
func records[T any](t *testing.T, r io.Reader) []T {
	t.Helper()
	var out []T
	for d := json.NewDecoder(bufio.NewReader(r)); ; {
		var v T
		if err := d.Decode(&v); err == io.EOF {
			return out
		} else if err != nil {
			t.Fatalf("record %d: %v", len(out)+1, err)
		}
		out = append(out, v)
	}
}

func open(t *testing.T, elem ...string) *os.File {
	t.Helper()
	f, err := os.Open(filepath.Join(elem...))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

func conformance(t *testing.T) (dir string, tok *tabert.Tokenizer, cases map[string]*conformanceCase) {
	t.Helper()
	dir = filepath.Join(testdata.ConformanceDir(t), "tabert")
	tok, err := tabert.LoadTokenizer(filepath.Join(dir, "tiny-k1", "vocab.txt"), true)
	if err != nil {
		t.Fatal(err)
	}
	cases = map[string]*conformanceCase{}
	for _, c := range records[*conformanceCase](t, open(t, dir, "inputs.jsonl")) {
		cases[c.ID] = c
	}
	return dir, tok, cases
}

func texts(tokens []tabert.Token) []string {
	out := make([]string, len(tokens))
	for i, t := range tokens {
		out[i] = t.Text
	}
	return out
}

func TestConformanceTokens(t *testing.T) {
	dir, tok, cases := conformance(t)
	type tokenized struct {
		Case      string
		Utterance []string
		Columns   []struct {
			Name   []string
			Sample []string `json:"sample_value"`
		}
		Rows [][][]string
	}
	all := records[tokenized](t, open(t, dir, "tokenized.jsonl"))
	if len(all) != len(cases) {
		t.Fatalf("%d tokenised cases, expected %d", len(all), len(cases))
	}
	check := func(where, text string, want []string) {
		t.Helper()
		tokens := tok.Tokenize(text)
		if diff := cmp.Diff(want, texts(tokens)); diff != "" {
			t.Errorf("%s: %q: -reference +ours\n%s", where, text, diff)
		}
		for i, token := range tokens {
			if token.Start < 0 || token.End > len(text) || token.Start >= token.End || i > 0 && token.Start < tokens[i-1].Start {
				t.Errorf("%s: %q: token %q has offsets [%d, %d)", where, text, token.Text, token.Start, token.End)
			}
		}
	}
	for _, want := range all {
		c := cases[want.Case]
		check(c.ID+" utterance", c.Utterance, want.Utterance)
		for i, col := range c.Table.Columns {
			check(c.ID+" column name", col.Name, want.Columns[i].Name)
			if col.Sample != nil {
				check(c.ID+" sample value", *col.Sample, want.Columns[i].Sample)
			}
		}
		for i, row := range c.Table.Rows {
			for j, cell := range row {
				if text := "None"; cell == nil {
					check(c.ID+" null cell", text, want.Rows[i][j])
				} else {
					check(c.ID+" cell", *cell, want.Rows[i][j])
				}
			}
		}
	}
}

// linearized is a record of linearized.jsonl.gz.
type linearized struct {
	Case, Variant, Error string
	K                    int
	Trim                 bool
	Rows                 []linearizedRow
}

type linearizedRow struct {
	Tokens   []string `json:"tokens"`
	IDs      []int    `json:"token_ids"`
	Segments []int    `json:"segment_ids"`
	Context  [2]int   `json:"context_span"`
	Columns  []linearizedColumn
}

type linearizedColumn struct {
	Name     *[2]int `json:"column_name"`
	Type     *[2]int `json:"type"`
	Value    *[2]int `json:"value"`
	Whole    [2]int  `json:"whole_span"`
	Literals []int   `json:"other_tokens"`
}

func asLinearized(s tabert.Sequence, template tabert.Template) linearizedRow {
	pair := func(s tabert.Span) [2]int { return [2]int{s.Start, s.End} }
	row := linearizedRow{Tokens: s.Tokens, IDs: s.IDs, Segments: s.Segments, Context: pair(s.Context)}
	for _, c := range s.Columns {
		column := linearizedColumn{Whole: pair(c.Whole), Literals: c.Literals}
		for _, slot := range template {
			switch slot {
			case "column":
				p := pair(c.Name)
				column.Name = &p
			case "type":
				p := pair(c.Type)
				column.Type = &p
			case "value":
				p := pair(c.Value)
				column.Value = &p
			}
		}
		row.Columns = append(row.Columns, column)
	}
	return row
}

func TestConformanceLinearize(t *testing.T) {
	dir, tok, cases := conformance(t)
	var index struct {
		Variants  map[string]json.RawMessage
		Templates []struct {
			Template *string         `json:"cell_input_template"`
			Config   json.RawMessage `json:"tb_config"`
			Parsed   []string
		}
	}
	if err := json.NewDecoder(open(t, dir, "index.json")).Decode(&index); err != nil {
		t.Fatal(err)
	}
	for _, tt := range index.Templates {
		text := string(tt.Config)
		if tt.Template != nil {
			data, _ := json.Marshal(map[string]string{"cell_input_template": *tt.Template})
			text = string(data)
		}
		config, err := tabert.ReadConfig(strings.NewReader(text))
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if diff := cmp.Diff(tt.Parsed, []string(config.Template)); diff != "" {
			t.Errorf("template of %s: -reference +ours\n%s", text, diff)
		}
	}

	z, err := gzip.NewReader(open(t, dir, "linearized.jsonl.gz"))
	if err != nil {
		t.Fatal(err)
	}
	compared := 0
	for _, want := range records[linearized](t, z) {
		if want.Trim || want.Error == "TypeError" {
			continue // what pretraining sees; and null sample values, which only the reference refuses
		}
		config, err := tabert.ReadConfig(strings.NewReader(string(index.Variants[want.Variant])))
		if err != nil {
			t.Fatal(err)
		}
		c := cases[want.Case]
		columns, sample := c.columns()
		rows := [][]tabert.Cell{sample}
		if want.K > 1 {
			rows = nil
			for _, r := range c.Table.Rows[:min(len(c.Table.Rows), want.K)] {
				var row []tabert.Cell
				for _, cell := range r {
					row = append(row, toCell(cell))
				}
				rows = append(rows, row)
			}
		}
		utterance := tok.Tokenize(c.Utterance)
		var got []linearizedRow
		tooLong := false
		for _, row := range rows {
			s, err := config.Linearize(tok, utterance, columns, row)
			var e *tabert.TableTooLongError
			if errors.As(err, &e) {
				tooLong = true
			} else if err != nil {
				t.Fatalf("%s %s: %v", want.Case, want.Variant, err)
			}
			got = append(got, asLinearized(s, config.Template))
		}
		compared++
		if wantLong := want.Error == "TableTooLongError"; tooLong != wantLong {
			t.Errorf("%s %s K=%d: too long: %t, in the reference: %t", want.Case, want.Variant, want.K, tooLong, wantLong)
		} else if !tooLong {
			if diff := cmp.Diff(want.Rows, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("%s %s K=%d: -reference +ours\n%.2000s", want.Case, want.Variant, want.K, diff)
			}
		}
	}
	if compared < 1500 {
		t.Errorf("only %d linearisations compared", compared)
	}
}
