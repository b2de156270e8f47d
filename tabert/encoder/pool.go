package encoder

import (
	"strings"

	"github.com/sugarme/gotch/ts"

	"github.com/tabert-workbench/tabert-workbench/internal/torch"
	"github.com/tabert-workbench/tabert-workbench/tabert"
)

// Pooling says which tokens of a linearised cell make the column's vector: their mean.
type Pooling int

const (
	PoolName  Pooling = iota // the column's name: the paper's K = 1
	PoolWhole                // all of the cell
	PoolFirst                // its first token
)

// ParsePooling reads column_representation of a tb_config.json, by the reference's rule: what
// contains column_name pools the name, what contains first_token the first token, all else the whole.
func ParsePooling(name string) Pooling {
	switch {
	case strings.Contains(name, "column_name"):
		return PoolName
	case strings.Contains(name, "first_token"):
		return PoolFirst
	}
	return PoolWhole
}

func (p Pooling) span(c tabert.ColumnSpan) tabert.Span {
	switch p {
	case PoolName:
		return c.Name
	case PoolFirst:
		return tabert.Span{Start: c.Whole.Start, End: min(c.Whole.Start+1, c.Whole.End)}
	}
	return c.Whole
}

// Pooled are TaBERT's vectors of a batch of tables. The masks are bool, true where there is a vector; elsewhere vectors are
// zero. U and C are at least 1, so that nothing below has to deal with empty tensors.
type Pooled struct {
	Tables        *ts.Tensor // N H: at [CLS]
	Utterance     *ts.Tensor // N U H: the utterance's tokens, without [CLS]
	UtteranceMask *ts.Tensor // N U
	Columns       *ts.Tensor // N C H; zero for a name without tokens, though the mask is true
	ColumnsMask   *ts.Tensor // N C
}

// Free frees the vectors.
func (p Pooled) Free() {
	for _, t := range []*ts.Tensor{p.Tables, p.Utterance, p.UtteranceMask, p.Columns, p.ColumnsMask} {
		t.MustDrop()
	}
}

// pooling is what Pool gathers: rows of the flat hidden states, and where they go.
type pooling struct {
	n, u, c       int64
	class         *ts.Tensor // N
	context       *ts.Tensor // N·U, 0 at padding
	contextMask   *ts.Tensor // N U
	contextWeight *ts.Tensor // N·U 1: the mask as numbers
	tokens        *ts.Tensor // M
	target        *ts.Tensor // M: n·C + c
	weight        *ts.Tensor // M 1: one over the number of tokens
	columnsMask   *ts.Tensor // N C
	none          bool       // no column has a token
}

func (p *pooling) free() {
	for _, t := range []*ts.Tensor{p.class, p.context, p.contextMask, p.contextWeight, p.tokens, p.target, p.weight, p.columnsMask} {
		t.MustDrop()
	}
}

func (b *Batch) pooling(how Pooling) *pooling {
	if p := b.pool[how]; p != nil {
		return p
	}
	p := &pooling{n: int64(b.tables), u: 1, c: 1}
	for _, sequences := range b.source {
		p.u = max(p.u, int64(sequences[0].Context.Len()-1))
		for _, s := range sequences {
			for _, col := range s.Columns {
				p.c = max(p.c, int64(col.Column+1))
			}
		}
	}
	class := make([]int64, p.n)
	context, contextMask, contextWeight := make([]int64, p.n*p.u), make([]bool, p.n*p.u), make([]float32, p.n*p.u)
	columnsMask := make([]bool, p.n*p.c)
	var tokens, target []int64
	var weight []float32
	for i, sequences := range b.source {
		start := int64(b.starts[i][0] + sequences[0].Context.Start)
		class[i] = start
		for k := range sequences[0].Context.Len() - 1 {
			at := i*int(p.u) + k
			context[at], contextMask[at], contextWeight[at] = start+1+int64(k), true, 1
		}
		for j, s := range sequences {
			for _, col := range s.Columns {
				at := i*int(p.c) + col.Column
				columnsMask[at] = true
				span := how.span(col)
				for k := span.Start; k < span.End; k++ {
					tokens, target = append(tokens, int64(b.starts[i][j]+k)), append(target, int64(at))
					weight = append(weight, 1/float32(span.Len()))
				}
			}
		}
	}
	device, m := b.model.params.Device, int64(len(tokens))
	p.none = m == 0
	p.class = torch.Ints(device, class, p.n)
	p.context = torch.Ints(device, context, p.n*p.u)
	p.contextMask = torch.Bools(device, contextMask, p.n, p.u)
	p.contextWeight = torch.Floats(device, contextWeight, p.n*p.u, 1)
	p.tokens, p.target = torch.Ints(device, tokens, m), torch.Ints(device, target, m)
	p.weight = torch.Floats(device, weight, m, 1)
	p.columnsMask = torch.Bools(device, columnsMask, p.n, p.c)
	b.pool[how] = p
	return p
}

// Pool makes the vectors from the flat hidden states of a batch. Of a table with several sequences, table and
// utterance come from the first, each column from the one that it is in.
func (m *Model) Pool(b *Batch, flat *ts.Tensor, how Pooling) Pooled {
	p := b.pooling(how)
	h := flat.MustSize()[1]
	var s torch.Scope
	defer s.Free()

	context := s.T(torch.Mul(s.T(torch.Rows(flat, p.context)), p.contextWeight))
	columns := s.T(torch.Zeros(m.params.Device, p.n*p.c, h))
	if !p.none {
		tokens := s.T(torch.Mul(s.T(torch.Rows(flat, p.tokens)), p.weight))
		columns = s.T(torch.AddRows(columns, p.target, tokens))
	}
	return Pooled{
		Tables:        torch.Rows(flat, p.class),
		Utterance:     torch.Reshape(context, p.n, p.u, h),
		UtteranceMask: p.contextMask.MustShallowClone(),
		Columns:       torch.Reshape(columns, p.n, p.c, h),
		ColumnsMask:   p.columnsMask.MustShallowClone(),
	}
}
