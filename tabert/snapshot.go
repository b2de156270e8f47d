package tabert

import (
	"fmt"
	"slices"
)

// Snapshot is the content snapshot of a table (§3.1 of the paper): for k = 1 one synthetic row, which takes from each column
// the cell with the highest n-gram overlap ratio with the utterance; for k > 1 the k rows with the highest ratio,
// in the table's order.
//
// The ratio is the share of a cell's (of a row's) word n-grams, n ≤ 3 and within cells, that occur in the
// utterance. Of equals the earlier one counts; where nothing overlaps, the first cell that is not null,
// the first k rows. A column without any cell gives null. A table of fewer than k rows gives all of them.
func Snapshot(utterance string, t *Table, k int) ([][]Cell, error) {
	s, err := NewSnapshotter(utterance, len(t.Columns), k)
	if err != nil {
		return nil, err
	}
	for _, row := range t.Rows {
		if err := s.Add(row); err != nil {
			return nil, fmt.Errorf("table %q: %w", t.Name, err)
		}
	}
	return s.Rows(), nil
}

// Snapshotter makes a snapshot of rows that come one at a time; it remembers no more than k of them.
type Snapshotter struct {
	words   map[string]uint32 // of the utterance
	grams   grams
	columns int
	k, n    int // rows wanted, rows seen
	text    []string
	ids     []uint32

	cells  []Cell // k = 1: the best of each column
	ratios []ratio
	best   []scoredRow // k > 1: descending, earlier rows first
}

type scoredRow struct {
	row   []Cell
	n     int // in the table
	ratio ratio
}

// NewSnapshotter makes a Snapshotter for a table with that many columns.
func NewSnapshotter(utterance string, columns, k int) (*Snapshotter, error) {
	if k < 1 {
		return nil, fmt.Errorf("a snapshot of %d rows, expected at least 1", k)
	}
	s := &Snapshotter{words: map[string]uint32{}, columns: columns, k: k,
		cells: make([]Cell, columns), ratios: make([]ratio, columns)}
	s.text = appendWords(nil, utterance)
	for _, w := range s.text {
		if _, ok := s.words[w]; !ok {
			s.words[w] = uint32(len(s.words))
		}
	}
	s.number()
	s.grams = gramsOf(s.ids)
	return s, nil
}

// number sets ids to the numbers of the words in text.
func (s *Snapshotter) number() {
	s.ids = s.ids[:0]
	for _, w := range s.text {
		id, ok := s.words[w]
		if !ok {
			id = noWord
		}
		s.ids = append(s.ids, id)
	}
}

func (s *Snapshotter) overlap(c Cell) ratio {
	if !c.Valid {
		return ratio{}
	}
	s.text = appendWords(s.text[:0], c.Text)
	s.number()
	return s.grams.overlap(s.ids)
}

// Add looks at the next row. It keeps cells of it, but not the slice.
func (s *Snapshotter) Add(row []Cell) error {
	if len(row) != s.columns {
		return fmt.Errorf("row %d has %d cells, expected %d", s.n+1, len(row), s.columns)
	}
	s.n++
	if s.k == 1 {
		for i, c := range row {
			r := s.overlap(c)
			if c.Valid && (!s.cells[i].Valid || s.ratios[i].less(r)) {
				s.cells[i], s.ratios[i] = c, r
			}
		}
		return nil
	}
	var total ratio
	for _, c := range row {
		total = total.plus(s.overlap(c))
	}
	at := len(s.best)
	for at > 0 && s.best[at-1].ratio.less(total) {
		at--
	}
	if at < s.k {
		if len(s.best) == s.k {
			s.best = s.best[:s.k-1]
		}
		s.best = slices.Insert(s.best, at, scoredRow{slices.Clone(row), s.n, total})
	}
	return nil
}

// Rows is the snapshot of the rows so far: one row for k = 1, else at most k in the table's order.
func (s *Snapshotter) Rows() [][]Cell {
	if s.k == 1 {
		return [][]Cell{slices.Clone(s.cells)}
	}
	sorted := slices.Clone(s.best)
	slices.SortFunc(sorted, func(a, b scoredRow) int { return a.n - b.n })
	rows := make([][]Cell, len(sorted))
	for i, r := range sorted {
		rows[i] = r.row
	}
	return rows
}
