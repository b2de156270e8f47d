package tabert

import (
	"fmt"
	"slices"
)

// Sequence is one input of the encoder: [CLS] utterance [SEP] cell [SEP] … cell [SEP].
type Sequence struct {
	Tokens   []string
	IDs      []int
	Segments []int // 0 up to and including the first [SEP], then 1
	// Context is what is returned as utterance: [CLS] and the utterance's tokens.
	Context Span
	Columns []ColumnSpan
}

// Span is a half-open range of positions in a sequence.
type Span struct{ Start, End int }

// Len is the number of positions in the span.
func (s Span) Len() int { return s.End - s.Start }

// ColumnSpan tells where a column's cell stands. Spans that the template lacks are zero.
type ColumnSpan struct {
	Column            int // in the table
	Name, Type, Value Span
	Literals          []int // positions of the template's other tokens
	Whole             Span  // all tokens of the cell, without the delimiter after it
}

// TableTooLongError says that not even a table's first column fits beside the utterance.
type TableTooLongError struct {
	Utterance int // its tokens
	Cell      int // tokens of the first cell and its delimiter
}

func (e *TableTooLongError) Error() string {
	return fmt.Sprintf("table too long: the utterance has %d tokens and the first cell %d, together at most %d fit", e.Utterance, e.Cell, room)
}

// room is what a sequence has for utterance, cells and delimiters. The constant is the reference's:
// it counts three special tokens, and the delimiter even after the last cell.
const room = MaxSequence - 3

// MaxUtterance is the number of utterance tokens that LinearizeAll keeps.
const MaxUtterance = 256

// Linearize puts a row beside an utterance. The first column that does not fit ends the row: it and
// all after it are left out. A table without columns gives the utterance alone.
func (c Config) Linearize(tok *Tokenizer, utterance []Token, columns []Column, row []Cell) (Sequence, error) {
	cells, err := c.cells(tok, columns, row)
	if err != nil {
		return Sequence{}, err
	}
	n := fitting(cells, room-len(utterance))
	if n == 0 && len(cells) > 0 {
		return Sequence{}, &TableTooLongError{len(utterance), cells[0].len() + 1}
	}
	return c.sequence(tok, utterance, cells[:n])
}

// LinearizeAll is Linearize for a parser, which must be able to select every column: columns that do not fit
// go into a further sequence with the same utterance. Each column is in exactly one sequence; there is at least one. Every sequence
// keeps the first MaxUtterance tokens of the utterance, whatever the table, and a cell that
// fills a sequence by itself is cut at its end.
func (c Config) LinearizeAll(tok *Tokenizer, utterance []Token, columns []Column, row []Cell) ([]Sequence, error) {
	cells, err := c.cells(tok, columns, row)
	if err != nil {
		return nil, err
	}
	utterance = utterance[:min(len(utterance), MaxUtterance)]
	left := room - len(utterance)
	var out []Sequence
	for first := true; first || len(cells) > 0; first = false {
		n := fitting(cells, left)
		if n == 0 && len(cells) > 0 {
			cells[0].trim(left - 1)
			n = 1
		}
		s, err := c.sequence(tok, utterance, cells[:n])
		if err != nil {
			return nil, err
		}
		out = append(out, s)
		cells = cells[n:]
	}
	return out, nil
}

// fitting is the number of cells that fit into n tokens, a delimiter after each.
func fitting(cells []cell, n int) int {
	for i := range cells {
		if n -= cells[i].len() + 1; n < 0 {
			return i
		}
	}
	return len(cells)
}

// cell is a linearised cell; its spans count from its first token.
type cell struct {
	tokens []string
	ids    []int
	span   ColumnSpan
}

// absent is the span of what the template lacks, until the cell is put into a sequence.
var absent = Span{-1, -1}

func (c *cell) len() int { return len(c.tokens) }

func (c *cell) add(token string, id int) {
	c.tokens, c.ids = append(c.tokens, token), append(c.ids, id)
}

func (c *cell) addAll(tokens []Token) Span {
	start := c.len()
	for _, t := range tokens {
		c.add(t.Text, t.ID)
	}
	return Span{start, c.len()}
}

// trim cuts the cell after n tokens.
func (c *cell) trim(n int) {
	c.tokens, c.ids = c.tokens[:n], c.ids[:n]
	for _, s := range []*Span{&c.span.Name, &c.span.Type, &c.span.Value, &c.span.Whole} {
		*s = Span{min(s.Start, n), min(s.End, n)}
	}
	c.span.Literals = slices.DeleteFunc(c.span.Literals, func(i int) bool { return i >= n })
}

// null is how a null cell reads: Python's None, as the reference has it.
const null = "None"

func (c Config) cells(tok *Tokenizer, columns []Column, row []Cell) ([]cell, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	if len(row) != len(columns) && c.Template.Shows() {
		return nil, fmt.Errorf("linearising a row of %d cells under %d columns", len(row), len(columns))
	}
	cells := make([]cell, len(columns))
	for i, column := range columns {
		cell := &cells[i]
		cell.span = ColumnSpan{Column: i, Name: absent, Type: absent, Value: absent}
		for _, item := range c.Template {
			switch item {
			case nameSlot:
				cell.span.Name = cell.addAll(tok.Tokenize(column.Name))
			case valueSlot:
				text := null
				if row[i].Valid {
					text = row[i].Text
				}
				cell.span.Value = cell.addAll(tok.First(text, c.MaxCellLen))
			case typeSlot:
				id, ok := tok.ID(column.Type)
				if !ok {
					return nil, fmt.Errorf("column %q: its type %q is not in the vocabulary, expected %s or %s", column.Name, column.Type, Text, Real)
				}
				cell.span.Type = Span{cell.len(), cell.len() + 1}
				cell.add(column.Type, id)
			default:
				id, ok := tok.ID(item)
				if !ok {
					return nil, fmt.Errorf("cell template %q: %q is not in the vocabulary", c.Template, item)
				}
				cell.span.Literals = append(cell.span.Literals, cell.len())
				cell.add(item, id)
			}
		}
		cell.span.Whole = Span{0, cell.len()}
	}
	return cells, nil
}

// sequence joins the utterance and cells that fit.
func (c Config) sequence(tok *Tokenizer, utterance []Token, cells []cell) (Sequence, error) {
	delimiter, ok := tok.ID(c.Delimiter)
	if !ok {
		return Sequence{}, fmt.Errorf("the column delimiter %q is not in the vocabulary", c.Delimiter)
	}
	class, _ := tok.ID(Class)
	separator, _ := tok.ID(Separator)

	n := 3 + len(utterance)
	for i := range cells {
		n += cells[i].len() + 1
	}
	s := Sequence{Tokens: make([]string, 0, n), IDs: make([]int, 0, n), Columns: make([]ColumnSpan, 0, len(cells))}
	add := func(token string, id int) {
		s.Tokens, s.IDs = append(s.Tokens, token), append(s.IDs, id)
	}
	addContext := func() {
		for _, t := range utterance {
			add(t.Text, t.ID)
		}
	}
	addTable := func() {
		for i := range cells {
			if i > 0 {
				add(c.Delimiter, delimiter)
			}
			s.Columns = append(s.Columns, cells[i].span.shift(len(s.Tokens)))
			s.Tokens, s.IDs = append(s.Tokens, cells[i].tokens...), append(s.IDs, cells[i].ids...)
		}
	}

	add(Class, class)
	var first int // tokens of segment 0
	if c.ContextFirst {
		addContext()
		s.Context = Span{0, len(s.Tokens)}
		add(Separator, separator)
		first = len(s.Tokens)
		if addTable(); len(cells) > 0 {
			add(Separator, separator)
		}
	} else {
		addTable()
		s.Context.Start = len(s.Tokens)
		add(Separator, separator)
		first = len(s.Tokens)
		addContext()
		add(Separator, separator)
		s.Context.End = len(s.Tokens)
	}
	s.Segments = make([]int, len(s.Tokens))
	for i := first; i < len(s.Segments); i++ {
		s.Segments[i] = 1
	}
	return s, nil
}

// shift moves the spans of a cell to where the cell stands in its sequence.
func (s ColumnSpan) shift(by int) ColumnSpan {
	for _, p := range []*Span{&s.Name, &s.Type, &s.Value, &s.Whole} {
		if *p == absent {
			*p = Span{}
		} else {
			p.Start, p.End = p.Start+by, p.End+by
		}
	}
	s.Literals = slices.Clone(s.Literals)
	for i := range s.Literals {
		s.Literals[i] += by
	}
	return s
}
