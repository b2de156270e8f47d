package decoder

import (
	"fmt"
	"math"
	"sort"

	"github.com/sugarme/gotch/ts"

	"github.com/tabert-workbench/tabert-workbench/internal/torch"
	"github.com/tabert-workbench/tabert-workbench/tranx"
)

// Session scores the hypotheses of one example: a tranx.Scorer. It must be used on the
// thread of a torch.Worker, and closed.
type Session struct {
	d      *Decoder
	memory *Memory
	bank   *bank
	keep   *run
}

// memo is what the LSTM knows of a hypothesis.
type memo struct {
	h, c   []float32
	past   *past // states so far, the latest first
	length int
	// Attention is the weight of each element, tables one after the other, in each its
	// utterance tokens and then its columns.
	Attention []float32
}

type past struct {
	h      []float32
	before *past
}

// at is the state behind time step t, −1 the initial one.
func (m *memo) at(t int) []float32 {
	p := m.past
	for i := m.length - 1; i > t; i-- {
		p = p.before
	}
	return p.h
}

// NewSession prepares the memory of one example for decoding.
func (d *Decoder) NewSession(vectors *ts.Tensor, memory *Memory) (*Session, error) {
	s := &Session{d: d, memory: memory, keep: &run{d: d}}
	var err error
	torch.NoGrad(func() { s.bank, err = s.keep.bank(vectors, []*Memory{memory}) })
	if err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// Close frees the session's tensors.
func (s *Session) Close() { s.keep.Free() }

// Attention is where the decoder looked when it chose a hypothesis's latest action: a
// weight for each element, tables one after the other, in each its utterance tokens and
// then its columns. Nil at the start.
func Attention(h *tranx.Hypothesis) []float32 {
	if m, ok := h.State.(*memo); ok {
		return m.Attention
	}
	return nil
}

// Score gives the log-probabilities of every action that each hypothesis may take.
func (s *Session) Score(hyps []*tranx.Hypothesis) (out [][]tranx.Scored, err error) {
	torch.NoGrad(func() { out, err = s.score(hyps) })
	return out, err
}

func (s *Session) score(hyps []*tranx.Hypothesis) ([][]tranx.Scored, error) {
	r := &run{d: s.d}
	defer r.Free()
	n, size := int64(len(hyps)), s.d.Config.State
	k := r.expand(s.bank, n)
	frontiers := make([]tranx.Frontier, n)
	list := make([]inputs, n)
	h, c, parent := make([]float32, 0, int(n)*size), make([]float32, 0, int(n)*size), make([]float32, 0, int(n)*size)
	memos := make([]*memo, n)
	for i, hyp := range hyps {
		f := hyp.Open()
		frontiers[i] = f
		var last *tranx.Action
		if a, ok := hyp.Last(); ok {
			last = &a
		}
		var err error
		if list[i], err = s.d.input(s.bank, s.memory, 0, f, last); err != nil {
			return nil, err
		}
		m, ok := hyp.State.(*memo)
		if !ok {
			start := torch.ToFloats(s.bank.initial)
			m = &memo{h: start, c: make([]float32, size), past: &past{h: start}}
		}
		if m.length != hyp.Len() {
			return nil, fmt.Errorf("hypothesis of %d actions with the state of %d", hyp.Len(), m.length)
		}
		memos[i] = m
		h, c, parent = append(h, m.h...), append(c, m.c...), append(parent, m.at(f.ParentStep)...)
	}
	dims := []int64{n, int64(size)}
	h1, c1, weights := r.step(k, r.pre(k, list), r.floats(parent, dims...), r.floats(h, dims...), r.floats(c, dims...))
	hs, cs, ws := torch.ToFloats(h1), torch.ToFloats(c1), torch.ToFloats(weights)
	for i, hyp := range hyps {
		state := hs[i*size : (i+1)*size]
		hyp.State = &memo{h: state, c: cs[i*size : (i+1)*size], past: &past{h: state, before: memos[i].past},
			length: memos[i].length + 1, Attention: ws[i*int(k.e) : (i+1)*int(k.e)]}
	}
	return s.choices(r, h1, frontiers)
}

// choices lists what each hypothesis may do with its updated state [n state].
func (s *Session) choices(r *run, states *ts.Tensor, frontiers []tranx.Frontier) ([][]tranx.Scored, error) {
	acts, out := s.d.acts, make([][]tranx.Scored, len(frontiers))
	fill := make([]float64, len(frontiers)) // log-probability of not reducing, where that is a choice
	where := func(want func(tranx.Expectation) bool) (rows []int64) {
		for i, f := range frontiers {
			if want(f.Expect) {
				rows = append(rows, int64(i))
			}
		}
		return rows
	}
	kind := func(kinds ...tranx.Kind) []int64 {
		return where(func(e tranx.Expectation) bool {
			for _, k := range kinds {
				if e.Kind == k {
					return true
				}
			}
			return false
		})
	}
	zeros := func(rows []int64) []int64 { return make([]int64, len(rows)) }

	width := acts.productions()
	if rows := where(func(e tranx.Expectation) bool { return e.Kind == tranx.ApplyConstr || e.Reduce }); len(rows) > 0 {
		legal := make([]float32, len(rows)*width)
		for j, i := range rows {
			acts.legal(legal[j*width:(j+1)*width], frontiers[i].Expect)
		}
		log := torch.ToFloats(r.productions(r.rows(states, rows), legal))
		for j, i := range rows {
			p := log[j*width : (j+1)*width]
			e := frontiers[i].Expect
			for _, c := range e.Constructors {
				out[i] = append(out[i], tranx.Scored{Action: tranx.Action{Kind: tranx.ApplyConstr, Constructor: c}, LogProb: float64(p[c.ID])})
			}
			if e.Reduce {
				out[i] = append(out[i], tranx.Scored{Action: tranx.Action{Kind: tranx.Reduce}, LogProb: float64(p[acts.reduce])})
				if e.Kind != tranx.ApplyConstr {
					fill[i] = float64(p[acts.fill])
				}
			}
		}
	}
	if rows := kind(tranx.SelectTable, tranx.SelectColumn); len(rows) > 0 {
		log := torch.ToFloats(r.tables(s.bank, r.rows(states, rows), zeros(rows)))
		T, C := int(s.bank.t), int(s.bank.c)
		columns := map[int64][]float32{}
		if with := kind(tranx.SelectColumn); len(with) > 0 {
			var index, table []int64
			for _, i := range with {
				for t := range s.memory.Tables {
					index, table = append(index, i), append(table, int64(t))
				}
			}
			p := torch.ToFloats(r.columns(s.bank, r.rows(states, index), table))
			for j, i := range with {
				columns[i] = p[j*len(s.memory.Tables)*C:]
			}
		}
		for j, i := range rows {
			for t, entry := range s.memory.Tables {
				p := float64(log[j*T+t]) + fill[i]
				if frontiers[i].Expect.Kind == tranx.SelectTable {
					out[i] = append(out[i], tranx.Scored{Action: tranx.Action{Kind: tranx.SelectTable, Table: entry.Index}, LogProb: p})
					continue
				}
				for c := range entry.Columns {
					out[i] = append(out[i], tranx.Scored{Action: tranx.Action{Kind: tranx.SelectColumn, Table: entry.Index, Column: c},
						LogProb: p + float64(columns[i][t*C+c])})
				}
			}
		}
	}
	if rows := kind(tranx.GenToken); len(rows) > 0 {
		V, W := len(s.d.Config.Vocabulary), int(s.bank.w)
		log := torch.ToFloats(r.tokens(s.bank, r.rows(states, rows), zeros(rows)))
		for j, i := range rows {
			p := log[j*(V+W) : (j+1)*(V+W)]
			sum := map[string]float64{}
			for v, token := range s.d.Config.Vocabulary {
				sum[token] += math.Exp(float64(p[v]))
			}
			for w, word := range s.memory.Words {
				if token := word.token(len(frontiers[i].Tokens) == 0); token != "" {
					sum[token] += math.Exp(float64(p[V+w]))
				}
			}
			for token, q := range sum {
				out[i] = append(out[i], tranx.Scored{Action: tranx.Action{Kind: tranx.GenToken, Token: token}, LogProb: math.Min(0, math.Log(q)) + fill[i]})
			}
			sort.Slice(out[i], func(a, b int) bool { return out[i][a].Action.Token < out[i][b].Action.Token })
		}
	}
	if rows := kind(tranx.SelectInt); len(rows) > 0 {
		I, W := len(s.d.Config.Integers), int(s.bank.w)
		var legal []float32
		for range rows {
			legal = append(legal, s.memory.numbers(s.bank.w)...)
		}
		log := torch.ToFloats(r.integers(s.bank, r.rows(states, rows), zeros(rows), legal))
		for j, i := range rows {
			p := log[j*(I+W) : (j+1)*(I+W)]
			sum := map[int]float64{}
			for v, n := range s.d.Config.Integers {
				sum[n] += math.Exp(float64(p[v]))
			}
			for w, word := range s.memory.Words {
				if n, is := Integer(word.Text); is {
					sum[n] += math.Exp(float64(p[I+w]))
				}
			}
			for n, q := range sum {
				out[i] = append(out[i], tranx.Scored{Action: tranx.Action{Kind: tranx.SelectInt, Int: n}, LogProb: math.Min(0, math.Log(q)) + fill[i]})
			}
			sort.Slice(out[i], func(a, b int) bool {
				x, y := out[i][a].Action, out[i][b].Action
				return x.Kind < y.Kind || x.Kind == y.Kind && x.Int < y.Int
			})
		}
	}
	return out, nil
}
