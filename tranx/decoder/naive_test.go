package decoder

import (
	"math"

	"github.com/tabert-workbench/tabert-workbench/internal/torch"
	"github.com/tabert-workbench/tabert-workbench/tranx"
)

// naive is the paper's decoder in plain loops, an example and a step at a time.
type naive struct {
	d       *Decoder
	vectors [][]float64
	params  map[string][][]float64 // a vector is a matrix of one row
}

func newNaive(d *Decoder, vectors [][]float64) *naive {
	n := &naive{d: d, vectors: vectors, params: map[string][][]float64{}}
	for _, s := range d.shapes() {
		values := torch.ToFloats(d.params.Get(d.prefix + s.name))
		width := int(s.size[len(s.size)-1])
		var rows [][]float64
		for i := 0; i < len(values); i += width {
			row := make([]float64, width)
			for j := range row {
				row[j] = float64(values[i+j])
			}
			rows = append(rows, row)
		}
		n.params[s.name] = rows
	}
	return n
}

func dot(a, b []float64) float64 {
	if len(a) != len(b) {
		panic("lengths differ")
	}
	sum := 0.0
	for i := range a {
		sum += a[i] * b[i]
	}
	return sum
}

func plus(a, b []float64) []float64 {
	out := make([]float64, len(a))
	for i := range a {
		out[i] = a[i] + b[i]
	}
	return out
}

func times(s float64, a []float64) []float64 {
	out := make([]float64, len(a))
	for i := range a {
		out[i] = s * a[i]
	}
	return out
}

func tanh(a []float64) []float64 {
	out := make([]float64, len(a))
	for i := range a {
		out[i] = math.Tanh(a[i])
	}
	return out
}

func softmax(scores []float64) []float64 {
	sum, out := 0.0, make([]float64, len(scores))
	for i, s := range scores {
		out[i] = math.Exp(s)
		sum += out[i]
	}
	return times(1/sum, out)
}

// linear is W x + b; the bias may be absent.
func (n *naive) linear(name string, x []float64) []float64 {
	w := n.params[name+".weight"]
	out := make([]float64, len(w))
	for i := range w {
		out[i] = dot(w[i], x)
	}
	if b := n.params[name+".bias"]; b != nil {
		out = plus(out, b[0])
	}
	return out
}

// element is a vector of the memory with its linking features.
func (n *naive) element(e Element) []float64 {
	out := append([]float64(nil), n.vectors[e.Row]...)
	for _, f := range []struct {
		on   bool
		name string
	}{{e.TableMatch, "table_match.weight"}, {e.ColumnMatch, "column_match.weight"}} {
		v := n.params[f.name][0]
		if !f.on {
			v = make([]float64, len(v))
		}
		out = append(out, v...)
	}
	return out
}

// tables is the paper's first equation of the appendix: score(T_i).
func (n *naive) tables(m *Memory, state []float64) []float64 {
	var scores []float64
	for _, t := range m.Tables {
		scores = append(scores, dot(state, n.linear("key", n.element(t.Table))))
	}
	return softmax(scores)
}

// attend gives the context vector and the weight of each element.
func (n *naive) attend(m *Memory, state []float64) (context, weights []float64) {
	context = make([]float64, len(state))
	for i, score := range n.tables(m, state) {
		union := append(append([]Element(nil), m.Tables[i].Utterance...), m.Tables[i].Columns...)
		var scores []float64
		for _, e := range union {
			scores = append(scores, dot(state, n.linear("key", n.element(e))))
		}
		ctx := make([]float64, len(state)) // ctx(T_i)
		for j, a := range softmax(scores) {
			ctx = plus(ctx, times(a, n.linear("value", n.element(union[j]))))
			weights = append(weights, score*a)
		}
		context = plus(context, times(score, ctx))
	}
	return context, weights
}

func (n *naive) columns(m *Memory, table int, state []float64) []float64 {
	var scores []float64
	for _, c := range m.Tables[table].Columns {
		scores = append(scores, dot(state, n.linear("column", n.element(c))))
	}
	return softmax(scores)
}

// word is the mean of a word's pieces over all tables.
func (n *naive) word(w Word) []float64 {
	out := make([]float64, n.d.Input)
	for _, row := range w.Rows {
		out = plus(out, times(1/float64(len(w.Rows)), n.vectors[row]))
	}
	return out
}

// tokens is the probability of each token.
func (n *naive) tokens(m *Memory, state []float64, first bool) map[string]float64 {
	scores, names := n.linear("token", state), append([]string(nil), n.d.Config.Vocabulary...)
	for _, w := range m.Words {
		scores = append(scores, dot(state, n.linear("word", n.word(w))))
		if first {
			names = append(names, w.Text)
		} else {
			names = append(names, w.Space+w.Text)
		}
	}
	p := map[string]float64{}
	for i, q := range softmax(scores) {
		p[names[i]] += q
	}
	return p
}

func (n *naive) integers(m *Memory, state []float64) map[int]float64 {
	scores, values := n.linear("integer", state), append([]int(nil), n.d.Config.Integers...)
	for _, w := range m.Words {
		if v, ok := Integer(w.Text); ok {
			scores, values = append(scores, dot(state, n.linear("number", n.word(w)))), append(values, v)
		}
	}
	p := map[int]float64{}
	for i, q := range softmax(scores) {
		p[values[i]] += q
	}
	return p
}

// productions is the probability of the constructors by their ids, of Reduce and of
// filling a leaf, among what is legal.
func (n *naive) productions(state []float64, e tranx.Expectation) map[int]float64 {
	var legal []int
	for _, c := range e.Constructors {
		legal = append(legal, c.ID)
	}
	constructors := len(n.d.Grammar.Constructors)
	if e.Reduce {
		legal = append(legal, constructors)
		if e.Kind != tranx.ApplyConstr {
			legal = append(legal, constructors+1)
		}
	}
	query := tanh(n.linear("production", state))
	var scores []float64
	for _, id := range legal {
		scores = append(scores, dot(query, n.params["action_embedding.weight"][id])+n.params["production_bias"][0][id])
	}
	p := map[int]float64{}
	for i, q := range softmax(scores) {
		p[legal[i]] = q
	}
	return p
}

// previous embeds the action before a step.
func (n *naive) previous(m *Memory, last *tranx.Action, firstToken bool) []float64 {
	emb := n.params["action_embedding.weight"]
	base := len(n.d.Grammar.Constructors)
	if last == nil {
		return emb[base+2]
	}
	switch last.Kind {
	case tranx.ApplyConstr:
		return emb[last.Constructor.ID]
	case tranx.Reduce:
		return emb[base]
	case tranx.SelectInt:
		return emb[base+5]
	case tranx.GenToken:
		out := emb[base+6]
		for i, w := range n.d.Config.Vocabulary {
			if w == last.Token {
				out = emb[base+7+i]
			}
		}
		for _, w := range m.Words {
			if !firstToken && w.Space+w.Text == last.Token || firstToken && w.Text == last.Token {
				return plus(out, n.linear("previous_word", n.word(w)))
			}
		}
		return out
	}
	for _, t := range m.Tables {
		if t.Index != last.Table {
			continue
		}
		if last.Kind == tranx.SelectTable {
			return plus(emb[base+3], n.linear("previous_table", n.element(t.Table)))
		}
		return plus(emb[base+4], n.linear("previous_column", n.element(t.Columns[last.Column])))
	}
	panic("no such table")
}

func (n *naive) initial(m *Memory) []float64 {
	mean := make([]float64, n.d.Input)
	for _, t := range m.Tables {
		mean = plus(mean, times(1/float64(len(m.Tables)), n.vectors[t.Table.Row]))
	}
	return tanh(n.linear("initial", mean))
}

// cell is an LSTM with the gates in PyTorch's order: input, forget, cell, output.
func (n *naive) cell(x, h, c []float64) (h1, c1 []float64) {
	gates := plus(plus(mul(n.params["lstm.weight_ih"], x), n.params["lstm.bias_ih"][0]),
		plus(mul(n.params["lstm.weight_hh"], h), n.params["lstm.bias_hh"][0]))
	sigmoid := func(x float64) float64 { return 1 / (1 + math.Exp(-x)) }
	s := len(h)
	h1, c1 = make([]float64, s), make([]float64, s)
	for i := range s {
		c1[i] = sigmoid(gates[s+i])*c[i] + sigmoid(gates[i])*math.Tanh(gates[2*s+i])
		h1[i] = sigmoid(gates[3*s+i]) * math.Tanh(c1[i])
	}
	return h1, c1
}

func mul(w [][]float64, x []float64) []float64 {
	out := make([]float64, len(w))
	for i := range w {
		out[i] = dot(w[i], x)
	}
	return out
}

// choice is what the naive decoder thinks of a step.
type choice struct {
	state   []float64
	weights []float64
	p       map[tranx.Action]float64 // of all legal actions
}

// replay runs over an example's actions.
func (n *naive) replay(x Example) []choice {
	h := n.initial(x.Memory)
	c := make([]float64, len(h))
	states := [][]float64{h}
	var out []choice
	for t, f := range x.Frontiers {
		var last *tranx.Action
		if t > 0 {
			last = &x.Actions[t-1]
		}
		field, parent := len(n.d.Grammar.Fields), n.params["action_embedding.weight"][len(n.d.Grammar.Constructors)+2]
		if f.Field != nil {
			field, parent = f.Field.ID, n.params["action_embedding.weight"][f.Field.Constructor.ID]
		}
		// The last token was a text's first where the one before it belongs to no text.
		first := t > 0 && x.Actions[t-1].Kind == tranx.GenToken && (t == 1 || x.Actions[t-2].Kind != tranx.GenToken || x.Actions[t-2].Token == tranx.EndOfString)
		context, weights := n.attend(x.Memory, h)
		in := append([]float64(nil), n.previous(x.Memory, last, first)...)
		in = append(in, n.params["field_embedding.weight"][field]...)
		in = append(in, n.params["type_embedding.weight"][f.TypeID()]...)
		in = append(in, parent...)
		in = append(in, context...)
		in = append(in, states[f.ParentStep+1]...)
		h, c = n.cell(in, h, c)
		states = append(states, h)
		out = append(out, choice{h, weights, n.actions(x.Memory, f, h)})
	}
	return out
}

// actions is the probability of each legal action.
func (n *naive) actions(m *Memory, f tranx.Frontier, state []float64) map[tranx.Action]float64 {
	p := map[tranx.Action]float64{}
	fill := 1.0
	if e := f.Expect; e.Kind == tranx.ApplyConstr || e.Reduce {
		q := n.productions(state, e)
		for _, c := range e.Constructors {
			p[tranx.Action{Kind: tranx.ApplyConstr, Constructor: c}] = q[c.ID]
		}
		if e.Reduce {
			p[tranx.Action{Kind: tranx.Reduce}] = q[len(n.d.Grammar.Constructors)]
			fill = q[len(n.d.Grammar.Constructors)+1]
		}
	}
	switch f.Expect.Kind {
	case tranx.SelectTable, tranx.SelectColumn:
		for i, q := range n.tables(m, state) {
			if f.Expect.Kind == tranx.SelectTable {
				p[tranx.Action{Kind: tranx.SelectTable, Table: m.Tables[i].Index}] = fill * q
				continue
			}
			for j, c := range n.columns(m, i, state) {
				p[tranx.Action{Kind: tranx.SelectColumn, Table: m.Tables[i].Index, Column: j}] = fill * q * c
			}
		}
	case tranx.GenToken:
		for token, q := range n.tokens(m, state, len(f.Tokens) == 0) {
			p[tranx.Action{Kind: tranx.GenToken, Token: token}] = fill * q
		}
	case tranx.SelectInt:
		for v, q := range n.integers(m, state) {
			p[tranx.Action{Kind: tranx.SelectInt, Int: v}] = fill * q
		}
	}
	return p
}
