package parser

import (
	"context"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/tabert-workbench/tabert-workbench/database"
	"github.com/tabert-workbench/tabert-workbench/schema"
	"github.com/tabert-workbench/tabert-workbench/tabert"
	"github.com/tabert-workbench/tabert-workbench/tranx"
	"github.com/tabert-workbench/tabert-workbench/tranx/decoder"
)

// Source is a database as the parser sees it: its schema, and what its cells say.
type Source struct {
	Schema *schema.Database
	tables []sourceTable
}

type sourceTable struct {
	columns []tabert.Column
	stems   []string   // of the table's name
	column  [][]string // stems of each column's name
	index   *tabert.Index
}

// NewSource is a database known by its schema alone.
func NewSource(s *schema.Database) *Source {
	src := &Source{Schema: s}
	for _, t := range s.Tables {
		st := sourceTable{stems: stems(tranx.Words(t.Name))}
		for _, c := range t.Columns {
			kind := tabert.Text
			if c.Type == schema.Number {
				kind = tabert.Real
			}
			st.columns = append(st.columns, tabert.Column{Name: c.Name, Type: kind})
			st.column = append(st.column, stems(tranx.Words(c.Name)))
		}
		src.tables = append(src.tables, st)
	}
	return src
}

// ReadSource reads the cells of a file. s is its schema with the names to show; nil
// takes the one of the file.
func ReadSource(ctx context.Context, db *database.DB, s *schema.Database) (*Source, error) {
	file, err := db.Schema()
	if err != nil {
		return nil, err
	}
	if s == nil {
		s = file
	}
	src := NewSource(s)
	for i, t := range s.Tables {
		names := make([]string, len(t.Columns))
		at, known := file.FindTable(t.Original)
		for j, c := range t.Columns {
			names[j] = c.Original
			if known {
				_, known = file.FindColumn(at, c.Original)
			}
		}
		if len(names) == 0 || !known { // Spider's tables.json lists SQLite's own tables, too
			continue
		}
		b := tabert.NewIndexBuilder(len(names))
		row := make([]tabert.Cell, len(names))
		err := db.Cells(ctx, t.Original, names, func(values []any) error {
			for j, v := range values {
				row[j] = tabert.CellOf(v)
			}
			return b.Add(row)
		})
		if err != nil {
			return nil, fmt.Errorf("%s: reading the cells of table %s: %w", db.Path(), t.Original, err)
		}
		src.tables[i].index = b.Index()
	}
	return src, nil
}

// snapshot is the synthetic row of a table for K = 1; nulls where nothing is known.
func (s *Source) snapshot(table int, utterance string) []tabert.Cell {
	t := s.tables[table]
	if t.index == nil {
		return make([]tabert.Cell, len(t.columns))
	}
	return t.index.Row(utterance)
}

// Input is a question and a database, ready for the encoder.
type Input struct {
	Question string
	Source   *Source
	Words    []tranx.Word
	Tables   []TableInput
	tokens   int   // of all sequences
	wordOf   []int // of each of the utterance's tokens: the word it starts in, −1 where there is none
}

// TableInput is a table that is encoded.
type TableInput struct {
	Table     int           // in the schema
	Snapshot  []tabert.Cell // one a column
	Sequences []tabert.Sequence

	tableMatch  bool
	columnMatch []bool // of each column
	// of each of the utterance's tokens, [CLS] excluded
	tokenTable, tokenColumn []bool
}

// Tokens is how many tokens the encoder reads.
func (in *Input) Tokens() int { return in.tokens }

// EmptyQuestionError says that there is nothing to answer.
type EmptyQuestionError struct{}

func (EmptyQuestionError) Error() string {
	return "the question is empty: expected a question in English, such as \"How many singers are there?\""
}

// Prepare makes an input. tables are those to encode; nil stands for all of them.
func (m *Model) Prepare(src *Source, question string, tables []int) (*Input, error) {
	question = strings.TrimSpace(strings.ToValidUTF8(question, string(utf8.RuneError)))
	if question == "" {
		return nil, EmptyQuestionError{}
	}
	if tables == nil {
		for i := range src.tables {
			tables = append(tables, i)
		}
	}
	if len(tables) == 0 {
		return nil, fmt.Errorf("database %s has no tables", src.Schema.ID)
	}
	in := &Input{Question: question, Source: src, Words: tranx.Words(question)}
	for len(in.Words) > 0 && in.Words[len(in.Words)-1].Text == "" {
		in.Words = in.Words[:len(in.Words)-1]
	}
	utterance := m.Tokenizer.Tokenize(question)
	utterance = utterance[:min(len(utterance), tabert.MaxUtterance)]
	in.wordOf = tokenWords(utterance, in.Words)
	said := stems(in.Words)
	for _, i := range tables {
		t := src.tables[i]
		snapshot := make([]tabert.Cell, len(t.columns))
		if m.Config.Content {
			snapshot = src.snapshot(i, question)
		}
		ti := TableInput{Table: i, Snapshot: snapshot}
		columns, row := t.columns, snapshot
		if m.Config.TableName {
			// The table's name goes first, as a cell of its own kind without a value.
			columns = append([]tabert.Column{{Name: src.Schema.Tables[i].Name, Type: "table"}}, columns...)
			row = append([]tabert.Cell{tabert.TextCell("")}, row...)
		}
		var err error
		if ti.Sequences, err = m.Config.Linearization.LinearizeAll(m.Tokenizer, utterance, columns, row); err != nil {
			return nil, fmt.Errorf("table %s: %w", src.Schema.Tables[i].Original, err)
		}
		in.tokens += ti.Tokens()
		var matched []bool
		matched, ti.tableMatch = link(said, t.stems)
		ti.tokenTable = spread(matched, in.wordOf)
		any := make([]bool, len(in.Words))
		for _, name := range t.column {
			words, mentioned := link(said, name)
			ti.columnMatch = append(ti.columnMatch, mentioned)
			for w, hit := range words {
				any[w] = any[w] || hit
			}
		}
		ti.tokenColumn = spread(any, in.wordOf)
		in.Tables = append(in.Tables, ti)
	}
	return in, nil
}

// tokenWords is for each token the word that it starts in, −1 where there is none.
func tokenWords(tokens []tabert.Token, words []tranx.Word) []int {
	of := make([]int, len(tokens))
	w := 0
	for i, t := range tokens {
		for w < len(words) && words[w].End <= t.Start {
			w++
		}
		of[i] = -1
		if w < len(words) && words[w].Start < t.End {
			of[i] = w
		}
	}
	return of
}

func spread(words []bool, wordOf []int) []bool {
	out := make([]bool, len(wordOf))
	for i, w := range wordOf {
		out[i] = w >= 0 && words[w]
	}
	return out
}

// pooling says how the decoder's memory vectors come out of hidden states: vector
// into[i] gets weight[i] times the state at (sequence[i], position[i]).
type pooling struct {
	vectors            int
	into               []int64
	sequence, position []int
	weight             []float32
}

func (p *pooling) add(sequence int, span tabert.Span) int {
	row := p.vectors
	p.vectors++
	for i := span.Start; i < span.End; i++ {
		p.into, p.sequence, p.position = append(p.into, int64(row)), append(p.sequence, sequence), append(p.position, i)
		p.weight = append(p.weight, 1/float32(span.Len()))
	}
	return row
}

// memory lays out the vectors of an input: for each table ⟨T, X, C⟩. The column vector is
// the mean over the tokens of its name (the paper's K = 1), the table vector stands at
// [CLS], and is the mean of it and the name where the table's name is in the sequence.
// sequence is the number of the input's first sequence in the batch.
func (m *Model) memory(in *Input, sequence int, p *pooling) *decoder.Memory {
	mem := &decoder.Memory{}
	mem.Words = make([]decoder.Word, len(in.Words))
	for i, w := range in.Words {
		mem.Words[i] = decoder.Word{Text: w.Text, Space: w.Space}
	}
	for _, t := range in.Tables {
		entry := decoder.Entry{Index: t.Table}
		offset := 0
		if m.Config.TableName {
			offset = 1
		}
		entry.Columns = make([]decoder.Element, len(t.columnMatch))
		var name tabert.Span
		for k, s := range t.Sequences {
			for _, c := range s.Columns {
				if c.Column < offset {
					name = c.Name
					continue
				}
				entry.Columns[c.Column-offset] = decoder.Element{Row: p.add(sequence+k, c.Name), ColumnMatch: t.columnMatch[c.Column-offset]}
			}
		}
		context := t.Sequences[0].Context
		entry.Table = decoder.Element{Row: p.add(sequence, tabert.Span{Start: context.Start, End: context.Start + 1}), TableMatch: t.tableMatch}
		if name.Len() > 0 {
			p.weight[len(p.weight)-1] = 0.5
			for i := name.Start; i < name.End; i++ {
				p.into, p.sequence, p.position = append(p.into, int64(entry.Table.Row)), append(p.sequence, sequence), append(p.position, i)
				p.weight = append(p.weight, 0.5/float32(name.Len()))
			}
		}
		for k := range t.tokenTable {
			i := context.Start + 1 + k
			e := decoder.Element{Row: p.add(sequence, tabert.Span{Start: i, End: i + 1}), TableMatch: t.tokenTable[k], ColumnMatch: t.tokenColumn[k]}
			entry.Utterance = append(entry.Utterance, e)
			if w := in.wordOf[k]; w >= 0 {
				mem.Words[w].Rows = append(mem.Words[w].Rows, e.Row)
			}
		}
		mem.Tables = append(mem.Tables, entry)
		sequence += len(t.Sequences)
	}
	return mem
}

// Keep drops all tables but those of the list, in its order.
func (in *Input) Keep(tables []int) {
	at := map[int]int{}
	for i, t := range in.Tables {
		at[t.Table] = i
	}
	all := in.Tables
	in.Tables, in.tokens = nil, 0
	for _, t := range tables {
		if i, ok := at[t]; ok {
			in.Tables = append(in.Tables, all[i])
			in.tokens += all[i].Tokens()
		}
	}
}

// Tokens is how many tokens the encoder reads for a table.
func (t *TableInput) Tokens() int {
	n := 0
	for _, s := range t.Sequences {
		n += len(s.IDs)
	}
	return n
}
