package tabert

import (
	"fmt"
	"hash/maphash"
	"slices"
	"sort"
	"strings"
)

// What an Index keeps of a column: its first distinct cells, up to that many, and up to so many bytes of their
// text. It bounds the memory of an index, whatever the number of rows.
const (
	MaxDistinct     = 1 << 17
	maxDistinctText = 1 << 26
)

// Index finds the synthetic row of K = 1 without reading the table again: it is built once from the table's rows, and
// answers any number of utterances as Snapshot does. It can be used by many goroutines at once.
type Index struct {
	words   map[string]uint32
	columns []indexColumn
}

// indexColumn holds the distinct cells of a column in the order in which they first occur.
type indexColumn struct {
	first Cell // the first cell that is not null
	text  string
	ends  []uint32 // of each cell in text
	words []uint32 // of all cells
	stops []uint32 // of each cell in words
	// postings are word<<32 | cell, ascending: the cells with a word.
	postings []uint64
	complete bool
}

// IndexBuilder makes an Index of rows that come one at a time.
type IndexBuilder struct {
	index   *Index
	n       int
	columns []columnBuilder
	seed    maphash.Seed
	scratch []string
}

type columnBuilder struct {
	text strings.Builder
	// seen holds hashes of the cells so far. Two texts of one hash in 2⁶⁴ count as the same cell.
	seen map[uint64]struct{}
}

// NewIndexBuilder starts an index of a table with that many columns.
func NewIndexBuilder(columns int) *IndexBuilder {
	b := &IndexBuilder{index: &Index{words: map[string]uint32{}, columns: make([]indexColumn, columns)},
		columns: make([]columnBuilder, columns), seed: maphash.MakeSeed()}
	for i := range b.columns {
		b.columns[i].seen = map[uint64]struct{}{}
		b.index.columns[i].complete = true
	}
	return b
}

// Add looks at the next row, and keeps neither it nor its texts.
func (b *IndexBuilder) Add(row []Cell) error {
	if len(row) != len(b.columns) {
		return fmt.Errorf("row %d has %d cells, expected %d", b.n+1, len(row), len(b.columns))
	}
	b.n++
	for i, c := range row {
		if c.Valid {
			b.add(&b.columns[i], &b.index.columns[i], c.Text)
		}
	}
	return nil
}

func (b *IndexBuilder) add(build *columnBuilder, col *indexColumn, text string) {
	if !col.first.Valid {
		col.first = TextCell(strings.Clone(text))
	}
	hash := maphash.String(b.seed, text)
	if _, ok := build.seen[hash]; ok {
		return
	}
	if len(build.seen) >= MaxDistinct || build.text.Len()+len(text) > maxDistinctText {
		col.complete = false
		return
	}
	build.seen[hash] = struct{}{}
	b.scratch = appendWords(b.scratch[:0], text)
	if len(b.scratch) == 0 {
		return // never overlaps
	}
	cell := uint32(len(col.ends))
	build.text.WriteString(text)
	col.ends = append(col.ends, uint32(build.text.Len()))
	for _, w := range b.scratch {
		id, ok := b.index.words[w]
		if !ok {
			id = uint32(len(b.index.words))
			b.index.words[strings.Clone(w)] = id
		}
		col.postings = append(col.postings, uint64(id)<<32|uint64(cell))
		col.words = append(col.words, id)
	}
	col.stops = append(col.stops, uint32(len(col.words)))
}

// Index is the finished index. The builder is of no use after it.
func (b *IndexBuilder) Index() *Index {
	for i := range b.columns {
		col := &b.index.columns[i]
		col.text = b.columns[i].text.String()
		slices.Sort(col.postings)
		col.postings = slices.Compact(col.postings)
	}
	b.columns = nil
	return b.index
}

// NewIndex is the index of a table in memory.
func NewIndex(t *Table) (*Index, error) {
	b := NewIndexBuilder(len(t.Columns))
	for _, row := range t.Rows {
		if err := b.Add(row); err != nil {
			return nil, fmt.Errorf("table %q: %w", t.Name, err)
		}
	}
	return b.Index(), nil
}

// Complete tells whether every distinct cell is in the index, so that Row is what Snapshot gives.
func (x *Index) Complete() bool {
	return !slices.ContainsFunc(x.columns, func(c indexColumn) bool { return !c.complete })
}

// Row is the synthetic row for an utterance: the only row of Snapshot with k = 1.
func (x *Index) Row(utterance string) []Cell {
	text := appendWords(nil, utterance)
	ids := make([]uint32, len(text))
	for i, w := range text {
		id, ok := x.words[w]
		if !ok {
			id = noWord - 1 - uint32(i) // a number of its own, which no cell has
		}
		ids[i] = id
	}
	grams := gramsOf(ids)
	distinct := slices.Clone(ids)
	slices.Sort(distinct)
	distinct = slices.Compact(distinct)

	row := make([]Cell, len(x.columns))
	for i := range x.columns {
		col := &x.columns[i]
		row[i] = col.first
		var best ratio
		at := -1
		for _, w := range distinct {
			from := sort.Search(len(col.postings), func(j int) bool { return col.postings[j]>>32 >= uint64(w) })
			for _, p := range col.postings[from:] {
				if p>>32 != uint64(w) {
					break
				}
				cell := int(uint32(p))
				r := grams.overlap(part(col.words, col.stops, cell))
				if best.less(r) || at > cell && !r.less(best) {
					best, at = r, cell
				}
			}
		}
		if at >= 0 {
			start := uint32(0)
			if at > 0 {
				start = col.ends[at-1]
			}
			row[i] = TextCell(col.text[start:col.ends[at]])
		}
	}
	return row
}

func part(all, ends []uint32, i int) []uint32 {
	if i == 0 {
		return all[:ends[0]]
	}
	return all[ends[i-1]:ends[i]]
}
