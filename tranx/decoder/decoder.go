package decoder

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/sugarme/gotch/ts"

	"github.com/tabert-workbench/tabert-workbench/asdl"
	"github.com/tabert-workbench/tabert-workbench/internal/torch"
)

// never is the logit of what must not happen: finite, so that a row of nothing else has
// no NaN.
const never = -1e9

// Decoder scores actions. It owns no tensors: its parameters live in a Params, under a
// prefix.
type Decoder struct {
	Config  Config
	Input   int // size of memory vectors, linking features excluded
	Grammar *asdl.Grammar
	params  *torch.Params
	prefix  string
	acts    actions
}

type shape struct {
	name string
	size []int64
}

// shapes are the decoder's parameters.
func (d *Decoder) shapes() []shape {
	c := d.Config
	state, act := int64(c.State), int64(c.ActionEmbedding)
	in := int64(d.Input)
	element := in + 2*int64(c.LinkEmbedding)
	lstm := act + int64(c.FieldEmbedding) + int64(c.TypeEmbedding) + act + 2*state
	return []shape{
		{"action_embedding.weight", []int64{int64(d.acts.count), act}},
		{"field_embedding.weight", []int64{int64(len(d.Grammar.Fields)) + 1, int64(c.FieldEmbedding)}},
		{"type_embedding.weight", []int64{int64(len(d.Grammar.Types)), int64(c.TypeEmbedding)}},
		{"table_match.weight", []int64{int64(c.LinkEmbedding)}},
		{"column_match.weight", []int64{int64(c.LinkEmbedding)}},
		{"key.weight", []int64{state, element}}, {"key.bias", []int64{state}},
		{"value.weight", []int64{state, element}}, {"value.bias", []int64{state}},
		{"column.weight", []int64{state, element}}, {"column.bias", []int64{state}},
		{"word.weight", []int64{state, in}}, {"word.bias", []int64{state}},
		{"number.weight", []int64{state, in}}, {"number.bias", []int64{state}},
		{"previous_table.weight", []int64{act, element}},
		{"previous_column.weight", []int64{act, element}},
		{"previous_word.weight", []int64{act, in}},
		{"initial.weight", []int64{state, in}}, {"initial.bias", []int64{state}},
		{"lstm.weight_ih", []int64{4 * state, lstm}}, {"lstm.weight_hh", []int64{4 * state, state}},
		{"lstm.bias_ih", []int64{4 * state}}, {"lstm.bias_hh", []int64{4 * state}},
		{"production.weight", []int64{act, state}}, {"production.bias", []int64{act}},
		{"production_bias", []int64{int64(d.acts.productions())}},
		{"token.weight", []int64{int64(len(c.Vocabulary)), state}}, {"token.bias", []int64{int64(len(c.Vocabulary))}},
		{"integer.weight", []int64{int64(len(c.Integers)), state}}, {"integer.bias", []int64{int64(len(c.Integers))}},
	}
}

// New makes a decoder for memory vectors of size input, with random parameters in params
// under prefix ("decoder.").
func New(params *torch.Params, prefix string, config Config, g *asdl.Grammar, input int, r *rand.Rand) (*Decoder, error) {
	if err := config.Validate(); err != nil {
		return nil, err
	}
	d := &Decoder{Config: config, Input: input, Grammar: g, params: params, prefix: prefix, acts: numberActions(g, config)}
	for _, s := range d.shapes() {
		switch {
		case len(s.size) == 2 && (s.name == "action_embedding.weight" || s.name == "field_embedding.weight" || s.name == "type_embedding.weight"):
			params.Normal(r, prefix+s.name, 0.1, s.size...)
		case len(s.size) == 2:
			params.Uniform(r, prefix+s.name, math.Sqrt(6/float64(s.size[0]+s.size[1])), s.size...)
		case s.name == "table_match.weight" || s.name == "column_match.weight":
			params.Normal(r, prefix+s.name, 0.5, s.size...)
		default:
			params.Constant(prefix+s.name, 0, s.size...)
		}
	}
	return d, nil
}

// run is one forward computation: its scope, and whether it trains.
type run struct {
	torch.Scope
	d     *Decoder
	train bool
}

func (r *run) p(name string) *ts.Tensor { return r.d.params.Get(r.d.prefix + name) }

func (r *run) linear(x *ts.Tensor, name string) *ts.Tensor {
	return r.T(torch.Linear(x, r.p(name+".weight"), r.p(name+".bias")))
}

// project is linear without a bias.
func (r *run) project(x *ts.Tensor, name string) *ts.Tensor {
	w := r.T(torch.Transpose(r.p(name+".weight"), 0, 1))
	return r.T(torch.Matmul(x, w))
}

func (r *run) ints(values []int64, shape ...int64) *ts.Tensor {
	return r.T(torch.Ints(r.d.params.Device, values, shape...))
}

func (r *run) floats(values []float32, shape ...int64) *ts.Tensor {
	return r.T(torch.Floats(r.d.params.Device, values, shape...))
}

func (r *run) rows(x *ts.Tensor, index []int64) *ts.Tensor {
	return r.T(torch.Rows(x, r.ints(index, int64(len(index)))))
}

func (r *run) view(x *ts.Tensor, shape ...int64) *ts.Tensor { return r.T(torch.Reshape(x, shape...)) }

func (r *run) add(x, y *ts.Tensor) *ts.Tensor { return r.T(torch.Add(x, y)) }

func (r *run) cat(dim int64, parts ...*ts.Tensor) *ts.Tensor { return r.T(torch.Cat(dim, parts...)) }

func (r *run) dropout(x *ts.Tensor) *ts.Tensor {
	if !r.train || r.d.Config.Dropout == 0 {
		return x
	}
	return r.T(torch.Dropout(x, r.d.Config.Dropout))
}

// withZero appends a row of zeros, which stands for padding.
func (r *run) withZero(x *ts.Tensor) *ts.Tensor {
	zero := r.floats(make([]float32, x.MustSize()[1]), 1, x.MustSize()[1])
	return r.cat(0, x, zero)
}

// bank holds the memories of a batch as padded tensors.
type bank struct {
	b, t, e, c, w int64      // examples; the most tables, elements, columns a table, words
	tableKey      *ts.Tensor // [B T state]
	tableMask     *ts.Tensor // [B T]: 0 or never
	key, value    *ts.Tensor // [B E state]
	elementMask   *ts.Tensor // [B E]
	inTable       *ts.Tensor // [B T E]: 0 where the element is of the table, else never
	tableOf       *ts.Tensor // [B E]
	columnKey     *ts.Tensor // [ΣT C state], tables of all examples one after the other
	columnMask    *ts.Tensor // [ΣT C]
	wordKey       *ts.Tensor // [B W state]
	wordMask      *ts.Tensor // [B W]
	numberKey     *ts.Tensor // [B W state]
	initial       *ts.Tensor // [B state]
	// previous actions: row 0 is zero, then all tables, all columns, all words
	previous                           *ts.Tensor // [1+ΣT+ΣC+ΣW act]
	firstTable, firstColumn, firstWord []int64    // an example's first row in it; of columns: one a table, by its number in ΣT
	tableStart                         []int64    // an example's first table in ΣT
}

func ceil(n int) int64 {
	if n == 0 {
		return 1
	}
	return int64(n)
}

// bank computes the keys and values of a batch from its vectors [R Input].
func (r *run) bank(vectors *ts.Tensor, memories []*Memory) (*bank, error) {
	rows := int(vectors.MustSize()[0])
	k := &bank{b: int64(len(memories)), t: 1, e: 1, c: 1, w: 1}
	var (
		tables, elements, columns []Element
		wordRows, wordIDs         []int64
		wordWeight                []float32
		words                     int64
		clsRows                   []int64
		clsWeight                 []float32
		clsExample                []int64
	)
	for b, m := range memories {
		if len(m.Tables) == 0 {
			return nil, fmt.Errorf("memory of example %d has no tables", b)
		}
		n := 0
		for _, entry := range m.Tables {
			n += len(entry.Utterance) + len(entry.Columns)
			k.c = max(k.c, int64(len(entry.Columns)))
			for _, list := range [][]Element{{entry.Table}, entry.Utterance, entry.Columns} {
				for _, e := range list {
					if e.Row < 0 || e.Row >= rows {
						return nil, fmt.Errorf("memory of example %d: row %d of %d", b, e.Row, rows)
					}
				}
			}
		}
		k.t, k.e, k.w = max(k.t, int64(len(m.Tables))), max(k.e, int64(n)), max(k.w, int64(len(m.Words)))
	}
	B, T, E, C, W := k.b, k.t, k.e, k.c, k.w
	// Lists of all elements, and where each stands in the padded tensors.
	tableAt, elementAt := padding(B*T), padding(B*E)
	tableMask, elementMask, wordMask := mask(B*T), mask(B*E), mask(B*W)
	inTable, tableOf := mask(B*T*E), make([]int64, B*E)
	wordAt := padding(B * W)
	var columnAt []int64
	var columnMask []float32
	for b, m := range memories {
		k.tableStart = append(k.tableStart, int64(len(tables)))
		k.firstTable = append(k.firstTable, 1+int64(len(tables)))
		at := int64(b) * E
		for i, entry := range m.Tables {
			tableAt[int64(b)*T+int64(i)] = int64(len(tables))
			tableMask[int64(b)*T+int64(i)] = 0
			tables = append(tables, entry.Table)
			clsRows, clsExample = append(clsRows, int64(entry.Table.Row)), append(clsExample, int64(b))
			clsWeight = append(clsWeight, 1/float32(len(m.Tables)))
			k.firstColumn = append(k.firstColumn, int64(len(columns)))
			row, rowMask := padding(C), mask(C)
			for j := range entry.Columns {
				row[j], rowMask[j] = int64(len(columns)+j), 0
			}
			columnAt, columnMask = append(columnAt, row...), append(columnMask, rowMask...)
			columns = append(columns, entry.Columns...)
			for _, list := range [][]Element{entry.Utterance, entry.Columns} {
				for _, e := range list {
					elementAt[at], elementMask[at], tableOf[at] = int64(len(elements)), 0, int64(i)
					inTable[(int64(b)*T+int64(i))*E+at-int64(b)*E] = 0
					elements = append(elements, e)
					at++
				}
			}
			if len(entry.Utterance)+len(entry.Columns) == 0 {
				// No element refers to this table, but padding refers to the first one: its sum must be no
				// smaller than that of padding.
				clear(inTable[(int64(b)*T+int64(i))*E : (int64(b)*T+int64(i)+1)*E])
			}
		}
		k.firstWord = append(k.firstWord, words)
		for i, w := range m.Words {
			wordAt[int64(b)*W+int64(i)], wordMask[int64(b)*W+int64(i)] = words, 0
			for _, row := range w.Rows {
				if row < 0 || row >= rows {
					return nil, fmt.Errorf("memory of example %d: row %d of %d", b, row, rows)
				}
				wordRows, wordIDs = append(wordRows, int64(row)), append(wordIDs, words)
				wordWeight = append(wordWeight, 1/float32(len(w.Rows)))
			}
			words++
		}
	}
	for i := range k.firstColumn {
		k.firstColumn[i] += 1 + int64(len(tables))
	}
	for i := range k.firstWord {
		k.firstWord[i] += 1 + int64(len(tables)+len(columns))
	}

	state := int64(r.d.Config.State)
	tableVectors, elementVectors := r.linked(vectors, tables), r.linked(vectors, elements)
	columnVectors := r.linked(vectors, columns)
	k.tableKey = r.view(r.rows(r.withZero(r.linear(tableVectors, "key")), filled(tableAt, len(tables))), B, T, state)
	elementIndex := filled(elementAt, len(elements))
	k.key = r.view(r.rows(r.withZero(r.linear(elementVectors, "key")), elementIndex), B, E, state)
	k.value = r.view(r.rows(r.withZero(r.linear(elementVectors, "value")), elementIndex), B, E, state)
	k.columnKey = r.view(r.rows(r.withZero(r.linear(columnVectors, "column")), filled(columnAt, len(columns))), int64(len(tables)), C, state)
	wordVectors := r.weightedSum(vectors, wordRows, wordIDs, wordWeight, words)
	wordIndex := filled(wordAt, int(words))
	k.wordKey = r.view(r.rows(r.withZero(r.linear(wordVectors, "word")), wordIndex), B, W, state)
	k.numberKey = r.view(r.rows(r.withZero(r.linear(wordVectors, "number")), wordIndex), B, W, state)
	k.initial = r.T(torch.Tanh(r.linear(r.weightedSum(vectors, clsRows, clsExample, clsWeight, B), "initial")))
	k.previous = r.cat(0, r.floats(make([]float32, r.d.Config.ActionEmbedding), 1, int64(r.d.Config.ActionEmbedding)),
		r.project(tableVectors, "previous_table"), r.project(columnVectors, "previous_column"), r.project(wordVectors, "previous_word"))
	k.tableMask, k.elementMask, k.wordMask = r.floats(tableMask, B, T), r.floats(elementMask, B, E), r.floats(wordMask, B, W)
	k.inTable, k.tableOf = r.floats(inTable, B, T, E), r.ints(tableOf, B, E)
	k.columnMask = r.floats(columnMask, int64(len(tables)), C)
	return k, nil
}

// padding is n places that nothing stands in yet.
func padding(n int64) []int64 {
	p := make([]int64, n)
	for i := range p {
		p[i] = -1
	}
	return p
}

// filled has the row of zeros wherever nothing stands.
func filled(at []int64, zero int) []int64 {
	for i, v := range at {
		if v < 0 {
			at[i] = int64(zero)
		}
	}
	return at
}

func mask(n int64) []float32 {
	m := make([]float32, n)
	for i := range m {
		m[i] = never
	}
	return m
}

// linked gathers elements and concatenates their linking features: [n D]. What is not
// matched gets zeros.
func (r *run) linked(vectors *ts.Tensor, list []Element) *ts.Tensor {
	n := int64(len(list))
	index, flags := make([]int64, n), make([]float32, 2*n)
	for i, e := range list {
		index[i] = int64(e.Row)
		if e.TableMatch {
			flags[i] = 1
		}
		if e.ColumnMatch {
			flags[n+int64(i)] = 1
		}
	}
	link := int64(r.d.Config.LinkEmbedding)
	feature := func(flags []float32, name string) *ts.Tensor {
		return r.T(torch.Matmul(r.floats(flags, n, 1), r.view(r.p(name+".weight"), 1, link)))
	}
	return r.cat(1, r.dropout(r.rows(vectors, index)), feature(flags[:n], "table_match"), feature(flags[n:], "column_match"))
}

// weightedSum adds weighted rows into n sums: [n Input].
func (r *run) weightedSum(vectors *ts.Tensor, rows, into []int64, weights []float32, n int64) *ts.Tensor {
	zeros := r.T(torch.Zeros(r.d.params.Device, n, int64(r.d.Input)))
	if len(rows) == 0 {
		return zeros
	}
	parts := r.T(torch.Mul(r.rows(vectors, rows), r.floats(weights, int64(len(weights)), 1)))
	return r.T(torch.AddRows(zeros, r.ints(into, int64(len(into))), parts))
}

// expand repeats the one example of a bank, for n hypotheses over it.
func (r *run) expand(k *bank, n int64) *bank {
	if n == 1 {
		return k
	}
	x := *k
	x.b = n
	for _, t := range []**ts.Tensor{&x.tableKey, &x.tableMask, &x.key, &x.value, &x.elementMask, &x.inTable, &x.tableOf} {
		size := (*t).MustSize()
		size[0] = n
		*t = r.T(torch.Expand(*t, size...))
	}
	return &x
}

// attend is the hierarchical attention of the paper's appendix: a softmax over tables,
// in each table one over its utterance tokens and columns. query [B state] → context
// [B state]; also the weight of each element [B E], which sums to 1.
func (r *run) attend(k *bank, query *ts.Tensor) (context, weights *ts.Tensor) {
	q := r.T(torch.Unsqueeze(query, 2))
	tableLog := r.logSoftmax(r.add(r.T(torch.Squeeze(r.T(torch.Bmm(k.tableKey, q)), 2)), k.tableMask))
	score := r.add(r.T(torch.Squeeze(r.T(torch.Bmm(k.key, q)), 2)), k.elementMask)      // [B E]
	inEach := r.T(torch.LogSumExp(r.add(r.T(torch.Unsqueeze(score, 1)), k.inTable), 2)) // [B T]
	scale := r.T(torch.Gather(r.T(torch.Sub(tableLog, inEach)), 1, k.tableOf))          // [B E]
	weights = r.T(torch.Exp(r.add(score, scale)))
	context = r.T(torch.Squeeze(r.T(torch.Bmm(r.T(torch.Unsqueeze(weights, 1)), k.value)), 1))
	return context, weights
}

func (r *run) logSoftmax(x *ts.Tensor) *ts.Tensor {
	return r.T(torch.LogSoftmax(x))
}

// step takes the LSTM from state t−1 to t. pre is what does not depend on the state:
// previous action, field, type, parent constructor [B ·]; parent is the state of the time
// step at which the parent constructor was applied [B state].
func (r *run) step(k *bank, pre, parent, h, c *ts.Tensor) (h1, c1, weights *ts.Tensor) {
	context, weights := r.attend(k, h)
	x := r.cat(1, pre, r.dropout(context), parent)
	h1, c1 = torch.LSTMCell(x, h, c, r.p("lstm.weight_ih"), r.p("lstm.weight_hh"), r.p("lstm.bias_ih"), r.p("lstm.bias_hh"))
	return r.T(h1), r.T(c1), weights
}

// inputs are the numbers that a time step's input is made of.
type inputs struct {
	action   int64 // embedding of the previous action
	previous int64 // row of bank.previous added to it
	field    int64
	typ      int64
	parent   int64 // embedding of the parent constructor
}

// pre embeds inputs: [n ·].
func (r *run) pre(k *bank, list []inputs) *ts.Tensor {
	n := len(list)
	var index [5][]int64
	for i := range index {
		index[i] = make([]int64, n)
	}
	for i, in := range list {
		index[0][i], index[1][i], index[2][i], index[3][i], index[4][i] = in.action, in.previous, in.field, in.typ, in.parent
	}
	action := r.add(r.rows(r.p("action_embedding.weight"), index[0]), r.rows(k.previous, index[1]))
	return r.dropout(r.cat(1, action, r.rows(r.p("field_embedding.weight"), index[2]),
		r.rows(r.p("type_embedding.weight"), index[3]), r.rows(r.p("action_embedding.weight"), index[4])))
}

// productions are log-probabilities [n A] of constructors, Reduce and Fill for states
// [n state], among those that legal (0 or never, row-major) allows.
func (r *run) productions(states *ts.Tensor, legal []float32) *ts.Tensor {
	a := int64(r.d.acts.productions())
	query := r.T(torch.Tanh(r.linear(states, "production")))
	embeddings := r.T(torch.Narrow(r.p("action_embedding.weight"), 0, a))
	logits := r.T(torch.Linear(query, embeddings, r.p("production_bias")))
	return r.logSoftmax(r.add(logits, r.floats(legal, states.MustSize()[0], a)))
}

// dot is keys [n m state] · states [n state] → [n m].
func (r *run) dot(keys, states *ts.Tensor) *ts.Tensor {
	return r.T(torch.Squeeze(r.T(torch.Bmm(keys, r.T(torch.Unsqueeze(states, 2)))), 2))
}

// tables are log-probabilities [n T] of the tables of each state's example.
func (r *run) tables(k *bank, states *ts.Tensor, example []int64) *ts.Tensor {
	return r.logSoftmax(r.add(r.dot(r.rows(k.tableKey, example), states), r.rows(k.tableMask, example)))
}

// columns are log-probabilities [n C] of the columns of a table, given the table by its
// number among those of all examples.
func (r *run) columns(k *bank, states *ts.Tensor, table []int64) *ts.Tensor {
	return r.logSoftmax(r.add(r.dot(r.rows(k.columnKey, table), states), r.rows(k.columnMask, table)))
}

// tokens are log-probabilities [n V+W] of generating a token of the vocabulary or
// copying a word of the question.
func (r *run) tokens(k *bank, states *ts.Tensor, example []int64) *ts.Tensor {
	copies := r.add(r.dot(r.rows(k.wordKey, example), states), r.rows(k.wordMask, example))
	return r.logSoftmax(r.cat(1, r.linear(states, "token"), copies))
}

// integers are log-probabilities [n I+W] of choosing a constant or a word's number; legal
// (0 or never, [n W]) says which words are numbers.
func (r *run) integers(k *bank, states *ts.Tensor, example []int64, legal []float32) *ts.Tensor {
	copies := r.add(r.dot(r.rows(k.numberKey, example), states), r.floats(legal, states.MustSize()[0], k.w))
	return r.logSoftmax(r.cat(1, r.linear(states, "integer"), copies))
}
