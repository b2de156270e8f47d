package encoder

import (
	"fmt"
	"math"
	"slices"

	"github.com/sugarme/gotch/ts"

	"github.com/tabert-workbench/tabert-workbench/internal/torch"
	"github.com/tabert-workbench/tabert-workbench/tabert"
)

// Batch is sequences of some tables, ready to be encoded. Sequences of similar lengths are put into one group, so that little is
// computed on padding; what the groups give, laid end to end, is the flat hidden states that Pool reads.
type Batch struct {
	Groups []Group
	// Tokens and Positions count the tokens and, padding included, what is computed.
	Tokens, Positions int

	tables int
	pool   map[Pooling]*pooling
	starts [][]int // table, sequence → its first row in the flat hidden states
	source [][]tabert.Sequence
	model  *Model
}

// Group is sequences that are padded to one length. Free frees its tensors with the batch's.
type Group struct {
	IDs, Segments *ts.Tensor // B S
	Mask          *ts.Tensor // B 1 1 S, for Layers
	B, S          int
}

// groupCost is what a group costs beside its positions, in positions: small products run slower. Measured
// with MiniLM on two cores.
const groupCost = 200

// groupLimit is the most positions of a group, which bounds the memory of intermediate results.
const groupLimit = 1 << 14

// NewBatch lays out the sequences of tables; those of one table are what LinearizeAll gave.
func (m *Model) NewBatch(tables [][]tabert.Sequence) (*Batch, error) {
	b := &Batch{tables: len(tables), starts: make([][]int, len(tables)), source: tables, model: m, pool: map[Pooling]*pooling{}}
	type item struct{ table, sequence, length int }
	var items []item
	for i, sequences := range tables {
		if len(sequences) == 0 {
			return nil, fmt.Errorf("table %d of the batch has no sequence", i)
		}
		b.starts[i] = make([]int, len(sequences))
		for j, s := range sequences {
			if err := m.check(s); err != nil {
				return nil, fmt.Errorf("table %d of the batch, sequence %d: %w", i, j, err)
			}
			items = append(items, item{i, j, len(s.IDs)})
			b.Tokens += len(s.IDs)
		}
	}
	if len(items) == 0 {
		return nil, fmt.Errorf("a batch of no tables")
	}
	slices.SortStableFunc(items, func(x, y item) int { return x.length - y.length })
	lengths := make([]int, len(items))
	for i, it := range items {
		lengths[i] = it.length
	}
	start := 0
	for _, end := range cuts(lengths) {
		part := items[start:end]
		rows, width := len(part), lengths[end-1]
		ids, segments, mask := make([]int64, rows*width), make([]int64, rows*width), make([]float32, rows*width)
		for r, it := range part {
			s := &tables[it.table][it.sequence]
			for c, id := range s.IDs {
				ids[r*width+c], segments[r*width+c] = int64(id), int64(s.Segments[c])
			}
			for c := len(s.IDs); c < width; c++ {
				mask[r*width+c] = masked
			}
			b.starts[it.table][it.sequence] = b.Positions + r*width
		}
		device, n, w := m.params.Device, int64(rows), int64(width)
		b.Groups = append(b.Groups, Group{
			IDs: torch.Ints(device, ids, n, w), Segments: torch.Ints(device, segments, n, w),
			Mask: torch.Floats(device, mask, n, 1, 1, w), B: rows, S: width,
		})
		b.Positions += rows * width
		start = end
	}
	return b, nil
}

// check tells what of a sequence the model cannot read.
func (m *Model) check(s tabert.Sequence) error {
	if len(s.IDs) == 0 || len(s.IDs) > m.MaxPositions {
		return fmt.Errorf("%d tokens, expected 1 to %d", len(s.IDs), m.MaxPositions)
	}
	if len(s.Segments) != len(s.IDs) {
		return fmt.Errorf("%d segments for %d tokens", len(s.Segments), len(s.IDs))
	}
	for i, id := range s.IDs {
		if id < 0 || id >= m.VocabSize {
			return fmt.Errorf("token id %d, but the model's vocabulary has %d entries", id, m.VocabSize)
		}
		if s.Segments[i] < 0 || s.Segments[i] >= m.TypeVocabSize {
			return fmt.Errorf("segment %d of %d", s.Segments[i], m.TypeVocabSize)
		}
	}
	spans := []tabert.Span{s.Context}
	for _, c := range s.Columns {
		spans = append(spans, c.Name, c.Whole)
	}
	for _, span := range spans {
		if span.Start < 0 || span.End < span.Start || span.End > len(s.IDs) {
			return fmt.Errorf("span [%d, %d) in %d tokens", span.Start, span.End, len(s.IDs))
		}
	}
	if s.Context.Len() == 0 {
		return fmt.Errorf("no [CLS] in the context span")
	}
	return nil
}

// cuts splits ascending lengths into groups of the least cost: where each group ends.
func cuts(lengths []int) []int {
	n := len(lengths)
	cost, from := make([]int, n+1), make([]int, n+1)
	for end := 1; end <= n; end++ {
		cost[end] = math.MaxInt
		for start := end - 1; start >= 0; start-- {
			positions := (end - start) * lengths[end-1]
			if positions > groupLimit && start < end-1 {
				break
			}
			if c := cost[start] + positions + groupCost; c < cost[end] {
				cost[end], from[end] = c, start
			}
		}
	}
	var ends []int
	for end := n; end > 0; end = from[end] {
		ends = append(ends, end)
	}
	slices.Reverse(ends)
	return ends
}

// Row is where a sequence begins in the flat hidden states; its i-th token is i rows further.
func (b *Batch) Row(table, sequence int) int { return b.starts[table][sequence] }

// Free frees the batch's tensors.
func (b *Batch) Free() {
	for _, g := range b.Groups {
		g.IDs.MustDrop()
		g.Segments.MustDrop()
		g.Mask.MustDrop()
	}
	for _, p := range b.pool {
		p.free()
	}
	b.Groups, b.pool = nil, nil
}

// Hidden is the hidden states of a batch after some layer, [B S H] for each group.
type Hidden []*ts.Tensor

// Free frees the hidden states.
func (h Hidden) Free() {
	for _, x := range h {
		x.MustDrop()
	}
}

// Flat lays the hidden states end to end: one row for each position of the batch.
func (h Hidden) Flat() *ts.Tensor {
	var s torch.Scope
	defer s.Free()
	parts := make([]*ts.Tensor, len(h))
	for i, x := range h {
		parts[i] = s.T(torch.Reshape(x, -1, x.MustSize()[2]))
	}
	return torch.Cat(0, parts...)
}

// Begin is the output of the embedding layer.
func (m *Model) Begin(b *Batch, d Dropout) Hidden {
	h := make(Hidden, len(b.Groups))
	for i, g := range b.Groups {
		h[i] = m.Embed(g.IDs, g.Segments, d)
	}
	return h
}

// Continue is the output of layers from, …, to−1 for h, which stays the caller's.
func (m *Model) Continue(b *Batch, h Hidden, from, to int, d Dropout) Hidden {
	out := make(Hidden, len(h))
	for i, g := range b.Groups {
		out[i] = m.Layers(h[i], g.Mask, from, to, d)
	}
	return out
}

// Forward is the flat output of the last layer. The embeddings and the lowest frozen layers record no gradient
// and drop nothing; frozen < 0: all record.
func (m *Model) Forward(b *Batch, frozen int, d Dropout) *ts.Tensor {
	var h Hidden
	if frozen < 0 {
		h = m.Begin(b, d)
		frozen = 0
	} else {
		torch.NoGrad(func() {
			begin := m.Begin(b, Dropout{})
			h = m.Continue(b, begin, 0, frozen, Dropout{})
			begin.Free()
		})
	}
	top := m.Continue(b, h, frozen, m.HiddenLayers, d)
	h.Free()
	defer top.Free()
	return top.Flat()
}
