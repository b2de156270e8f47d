package decoder

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"github.com/sugarme/gotch"
	"github.com/sugarme/gotch/ts"

	"github.com/tabert-workbench/tabert-workbench/asdl"
	"github.com/tabert-workbench/tabert-workbench/internal/torch"
	"github.com/tabert-workbench/tabert-workbench/tranx"
)

const grammarText = `
query = Query(expr* columns, table_ref table, int? top, order order, string? note)
expr = Col(column_ref column) | Equal(column_ref column, string value) | In(column_ref column, query query) | Count
order = Up | Down
`

func system(t testing.TB, g *asdl.Grammar) *tranx.System {
	t.Helper()
	sys, err := tranx.NewSystem(g, nil)
	if err != nil {
		t.Fatal(err)
	}
	return sys
}

// example is a memory and the actions that build a tree.
func example(t testing.TB, sys *tranx.System, m *Memory, text string) Example {
	t.Helper()
	tree, err := asdl.ParseTree(sys.Grammar, text)
	if err != nil {
		t.Fatal(err)
	}
	actions, err := sys.Oracle(tree)
	if err != nil {
		t.Fatal(err)
	}
	frontiers, err := sys.Replay(actions)
	if err != nil {
		t.Fatal(err)
	}
	return Example{m, actions, frontiers}
}

const input = 11

// config has sizes that are all different.
func config() Config {
	return Config{State: 7, ActionEmbedding: 5, FieldEmbedding: 3, TypeEmbedding: 2, LinkEmbedding: 4,
		Vocabulary: []string{tranx.EndOfString, "x", " of"}, Integers: []int{1, 5}}
}

// fixture is a decoder with random weights and a batch of three examples of different sizes, all
// padded somewhere, over vectors that they share.
func fixture(t testing.TB) (*Decoder, [][]float64, []Example) {
	t.Helper()
	runtime.LockOSThread()
	t.Cleanup(runtime.UnlockOSThread)
	torch.SetThreads(1) // sizes are tiny
	sys := system(t, asdl.MustParse(grammarText))
	r := rand.New(rand.NewPCG(5, 6))
	params := torch.NewParams(gotch.CPU)
	t.Cleanup(params.Close)
	d, err := New(params, "d.", config(), sys.Grammar, input, r)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range d.shapes() { // biases, too, or a forgotten one goes unnoticed
		params.Normal(r, "d."+s.name, 0.5, s.size...)
	}
	next := 0
	elements := func(n int) []Element {
		list := make([]Element, n)
		for i := range list {
			list[i] = Element{Row: next, TableMatch: r.IntN(3) == 0, ColumnMatch: r.IntN(3) == 0}
			next++
		}
		return list
	}
	memory := func(words []Word, index []int, columns []int, tokens int) *Memory {
		m := &Memory{Words: words}
		for i := range index {
			m.Tables = append(m.Tables, Entry{Index: index[i], Table: elements(1)[0], Utterance: elements(tokens), Columns: elements(columns[i])})
			for k, e := range m.Tables[i].Utterance { // the last word gets no piece
				w := min(k, len(words)-2)
				m.Words[w].Rows = append(m.Words[w].Rows, e.Row)
			}
		}
		return m
	}
	memories := []*Memory{
		memory([]Word{{Text: "Ann"}, {Text: "Lee", Space: " "}, {Text: "?"}}, []int{0}, []int{2}, 3),
		memory([]Word{{Text: "top"}, {Text: "3", Space: " "}, {Text: "Two", Space: " "}, {Text: "3", Space: " "}, {Text: "of", Space: " "}}, []int{0, 1, 2}, []int{4, 1, 3}, 5),
		memory([]Word{{Text: "x", Space: ""}, {Text: "y", Space: " "}}, []int{1, 3}, []int{3, 1}, 2),
	}
	var batch []Example
	for i, text := range []string{
		`(Query [(Equal #0.1 "Ann Lee") (Col #0.0)] #0 - Up "x of?")`,
		`(Query [Count (In #2.2 (Query [] #1 2 Down "")) (Col #0.3) (Equal #1.0 "3")] #2 3 Down -)`,
		`(Query [] #3 5 Down "x")`,
	} {
		batch = append(batch, example(t, sys, memories[i], text))
	}
	vectors := make([][]float64, next)
	for i := range vectors {
		for range input {
			vectors[i] = append(vectors[i], float64(float32(r.NormFloat64())))
		}
	}
	return d, vectors, batch
}

func tensor(rows [][]float64) *ts.Tensor {
	var flat []float32
	for _, row := range rows {
		for _, v := range row {
			flat = append(flat, float32(v))
		}
	}
	return torch.Floats(gotch.CPU, flat, int64(len(rows)), int64(len(rows[0])))
}

func near(t *testing.T, what string, got []float32, want []float64, tolerance float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d values, expected %d", what, len(got), len(want))
	}
	for i := range got {
		if !(math.Abs(float64(got[i])-want[i]) <= tolerance) {
			t.Errorf("%s: [%d] is %g, expected %g", what, i, got[i], want[i])
		}
	}
}

func random(r *rand.Rand, rows, columns int) [][]float64 {
	out := make([][]float64, rows)
	for i := range out {
		for range columns {
			out[i] = append(out[i], float64(float32(r.NormFloat64())))
		}
	}
	return out
}

func logs(p []float64) []float64 {
	out := make([]float64, len(p))
	for i := range p {
		out[i] = math.Log(p[i])
	}
	return out
}

// TestEquations compares each equation with plain loops, on a padded batch and random states.
func TestEquations(t *testing.T) {
	d, vectors, batch := fixture(t)
	n := newNaive(d, vectors)
	r := &run{d: d}
	defer r.Free()
	memories := []*Memory{batch[0].Memory, batch[1].Memory, batch[2].Memory}
	k, err := r.bank(r.T(tensor(vectors)), memories)
	if err != nil {
		t.Fatal(err)
	}
	source := rand.New(rand.NewPCG(7, 8))
	queries := random(source, 3, d.Config.State)
	states := r.T(tensor(queries))
	const eps = 2e-5

	tables := torch.ToFloats(r.tables(k, states, []int64{0, 1, 2}))
	contextTensor, weightTensor := r.attend(k, states)
	context, weights := torch.ToFloats(contextTensor), torch.ToFloats(weightTensor)
	initial := torch.ToFloats(k.initial)
	S, T, E, C, W := d.Config.State, int(k.t), int(k.e), int(k.c), int(k.w)
	for b, m := range memories {
		name := func(what string) string { return fmt.Sprintf("%s of example %d", what, b) }
		near(t, name("score(T_i)"), tables[b*T:b*T+len(m.Tables)], logs(n.tables(m, queries[b])), eps)
		wantContext, wantWeights := n.attend(m, queries[b])
		near(t, name("context"), context[b*S:(b+1)*S], wantContext, eps)
		near(t, name("attention"), weights[b*E:b*E+len(wantWeights)], wantWeights, eps)
		near(t, name("attention at padding"), weights[b*E+len(wantWeights):(b+1)*E], make([]float64, E-len(wantWeights)), 0)
		near(t, name("initial state"), initial[b*S:(b+1)*S], n.initial(m), eps)
		one := r.T(states.MustNarrow(0, int64(b), 1, false))
		for i, entry := range m.Tables {
			got := torch.ToFloats(r.columns(k, one, []int64{k.tableStart[b] + int64(i)}))
			if len(got) != C {
				t.Fatalf("%d columns, expected %d", len(got), C)
			}
			near(t, name(fmt.Sprintf("score(c_j) of table %d", i)), got[:len(entry.Columns)], logs(n.columns(m, i, queries[b])), eps)
		}
		for _, first := range []bool{true, false} {
			want := n.tokens(m, queries[b], first)
			log := torch.ToFloats(r.tokens(k, one, []int64{int64(b)}))
			if V := len(d.Config.Vocabulary); len(log) != V+W {
				t.Fatalf("%d tokens, expected %d", len(log), V+W)
			}
			for token, p := range want {
				fits, ok := d.tokenMask(m, k.w, token, first)
				if !ok {
					t.Fatalf("%q cannot be produced", token)
				}
				near(t, name(fmt.Sprintf("p(%q)", token)), []float32{float32(fitting(log, fits))}, []float64{p}, eps)
			}
		}
		log := torch.ToFloats(r.integers(k, one, []int64{int64(b)}, m.numbers(k.w)))
		for v, p := range n.integers(m, queries[b]) {
			fits, ok := d.integerMask(m, k.w, v)
			if !ok {
				t.Fatalf("%d cannot be produced", v)
			}
			near(t, name(fmt.Sprintf("p(%d)", v)), []float32{float32(fitting(log, fits))}, []float64{p}, eps)
		}
	}

	// The LSTM's step, with its input in the order of the weights.
	width := 2*d.Config.ActionEmbedding + d.Config.FieldEmbedding + d.Config.TypeEmbedding
	pre, parent, cells := random(source, 3, width), random(source, 3, S), random(source, 3, S)
	h1, c1, _ := r.step(k, r.T(tensor(pre)), r.T(tensor(parent)), states, r.T(tensor(cells)))
	for b, m := range memories {
		ctx, _ := n.attend(m, queries[b])
		x := slices.Concat(pre[b], ctx, parent[b])
		wantH, wantC := n.cell(x, queries[b], cells[b])
		near(t, "state_t", torch.ToFloats(h1)[b*S:(b+1)*S], wantH, eps)
		near(t, "LSTM cell", torch.ToFloats(c1)[b*S:(b+1)*S], wantC, eps)
	}

	// Productions: only what is legal has a probability.
	for step, f := range batch[1].Frontiers {
		legal := make([]float32, d.acts.productions())
		if !d.acts.legal(legal, f.Expect) {
			continue
		}
		got := torch.ToFloats(r.productions(r.T(states.MustNarrow(0, 0, 1, false)), legal))
		want := n.productions(queries[0], f.Expect)
		for id, log := range got {
			near(t, fmt.Sprintf("production %d at step %d", id, step), []float32{float32(math.Exp(float64(log)))}, []float64{want[id]}, eps)
		}
	}
}

// fitting sums the probabilities that a mask lets through.
func fitting(log []float32, fits []float32) float64 {
	sum := 0.0
	for i := range log {
		if fits[i] == 0 {
			sum += math.Exp(float64(log[i]))
		}
	}
	return sum
}

func loss(t testing.TB, d *Decoder, vectors *ts.Tensor, batch []Example) (float64, Count) {
	t.Helper()
	var scope torch.Scope
	defer scope.Free()
	l, count, err := d.Loss(&scope, vectors, batch, false)
	if err != nil {
		t.Fatal(err)
	}
	return float64(torch.ToFloats(l)[0]), count
}

// TestLoss compares the loss of a batch with plain loops and with the losses of its examples alone.
func TestLoss(t *testing.T) {
	d, vectors, batch := fixture(t)
	n := newNaive(d, vectors)
	x := tensor(vectors)
	defer x.MustDrop()
	sum := 0.0
	for i, e := range batch {
		want, actions := 0.0, 0
		for step, c := range n.replay(e) {
			p, ok := c.p[e.Actions[step]]
			if !ok {
				t.Fatalf("example %d: %v is not legal", i, e.Actions[step])
			}
			want -= math.Log(p)
			actions++
		}
		got, count := loss(t, d, x, batch[i:i+1])
		if math.Abs(got-want) > 1e-4 {
			t.Errorf("loss of example %d is %g, expected %g", i, got, want)
		}
		if count.Actions < actions || count.Unproducible != 0 {
			t.Errorf("example %d: %+v of %d actions", i, count, actions)
		}
		sum += want
	}
	got, count := loss(t, d, x, batch)
	if math.Abs(got-sum/3) > 1e-4 {
		t.Errorf("loss of the batch is %g, expected %g", got, sum/3)
	}
	if count.Values != 8 {
		t.Errorf("%d values, expected 8", count.Values)
	}
}

// TestScore compares decoding with plain loops, several hypotheses at once, and with the loss.
func TestScore(t *testing.T) {
	d, vectors, batch := fixture(t)
	sys := system(t, d.Grammar)
	n := newNaive(d, vectors)
	x := tensor(vectors)
	defer x.MustDrop()
	for i, e := range batch {
		s, err := d.NewSession(x, e.Memory)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		want := n.replay(e)
		// The gold hypothesis between two that go astray wherever they can.
		hyps := []*tranx.Hypothesis{sys.Start(), sys.Start(), sys.Start()}
		total := 0.0
		for step, a := range e.Actions {
			scored, err := s.Score(hyps)
			if err != nil {
				t.Fatal(err)
			}
			near(t, "attention", Attention(hyps[1]), want[step].weights, 2e-5)
			got := map[tranx.Action]float64{}
			for _, c := range scored[1] {
				if _, twice := got[c.Action]; twice {
					t.Errorf("%v has two scores", c.Action)
				}
				got[c.Action] = c.LogProb
				if math.Abs(math.Exp(c.LogProb)-want[step].p[c.Action]) > 2e-5 {
					t.Errorf("example %d, step %d: p(%v) = %g, expected %g", i, step, c.Action, math.Exp(c.LogProb), want[step].p[c.Action])
				}
			}
			if len(got) != len(want[step].p) {
				t.Errorf("example %d, step %d: %d actions, expected %d", i, step, len(got), len(want[step].p))
			}
			for h, list := range scored {
				sum := 0.0
				for _, c := range list {
					sum += math.Exp(c.LogProb)
					if err := hyps[h].Legal(c.Action); err != nil {
						t.Error(err)
					}
				}
				if math.Abs(sum-1) > 1e-5 && len(list) > 0 {
					t.Errorf("example %d, step %d: probabilities sum to %g", i, step, sum)
				}
			}
			total += got[a]
			apply := func(h int, a tranx.Action) *tranx.Hypothesis {
				next, err := hyps[h].Apply(a)
				if err != nil {
					t.Fatal(err)
				}
				return next
			}
			gold := []*tranx.Hypothesis{apply(1, a), apply(1, a), apply(1, a)}
			if gold[1].Done() {
				break
			}
			next := []*tranx.Hypothesis{apply(0, scored[0][step*5%len(scored[0])].Action), gold[1], apply(2, scored[2][(step*3+1)%len(scored[2])].Action)}
			for h := range next {
				if next[h].Done() {
					next[h] = gold[h]
				}
			}
			hyps = next
		}
		if l, _ := loss(t, d, x, batch[i:i+1]); math.Abs(total+l) > 1e-4 {
			t.Errorf("example %d: the gold actions score %g, the loss is %g", i, total, l)
		}
	}
}

// TestGradients compares with finite differences, and asks that every parameter learns.
func TestGradients(t *testing.T) {
	d, vectors, batch := fixture(t)
	x := tensor(vectors)
	defer func() { x.MustDrop() }()
	d.params.Train(func(string) bool { return true })
	x = x.MustSetRequiresGrad(true, true)
	var scope torch.Scope
	l, _, err := d.Loss(&scope, x, batch, false)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Backward(); err != nil {
		t.Fatal(err)
	}
	scope.Free()
	inputs := x.MustGrad(false)
	near := func(what string, got float32, at func(by float32) float64) {
		t.Helper()
		const step = 5e-3
		want := (at(step) - at(-step)) / (2 * step)
		if math.Abs(float64(got)-want) > 2e-3+0.02*math.Abs(want) {
			t.Errorf("gradient of %s is %g, expected %g", what, got, want)
		}
	}
	flat := torch.ToFloats(x)
	grads := torch.ToFloats(inputs)
	inputs.MustDrop()
	for _, i := range []int{0, 17, 100, 201, len(flat) - 1} {
		near(fmt.Sprintf("input %d", i), grads[i], func(by float32) float64 {
			moved := slices.Clone(flat)
			moved[i] += by
			y := torch.Floats(gotch.CPU, moved, int64(len(vectors)), input)
			defer y.MustDrop()
			v, _ := loss(t, d, y, batch)
			return v
		})
	}
	r := rand.New(rand.NewPCG(1, 1))
	for _, s := range d.shapes() {
		name := "d." + s.name
		grad := d.params.Grad(name)
		if grad == nil || !slices.ContainsFunc(grad, func(g float32) bool { return g != 0 }) {
			t.Errorf("%s has no gradient", name)
			continue
		}
		values := torch.ToFloats(d.params.Get(name))
		i := r.IntN(len(values))
		near(fmt.Sprintf("%s[%d]", name, i), grad[i], func(by float32) float64 {
			moved := slices.Clone(values)
			moved[i] += by
			d.params.Set(name, moved, s.size...)
			v, _ := loss(t, d, x, batch)
			return v
		})
		d.params.Set(name, values, s.size...)
	}
}

// TestUnproducible leaves a value out of the loss that can neither be copied nor generated.
func TestUnproducible(t *testing.T) {
	d, vectors, batch := fixture(t)
	x := tensor(vectors)
	defer x.MustDrop()
	sys := system(t, d.Grammar)
	for _, test := range []struct {
		value        string
		unproducible int
		why          string
	}{
		{"Ann", 0, "the first word stands without its space"},
		{"Lee", 0, "the first word of a value need not be the first of the question"},
		{" Lee", 1, "a space before a value is not copied"},
		{"Ann Lee", 0, "copied with its space"},
		{"AnnLee", 1, "one word that does not stand there"},
		{"Ann?", 0, "words without a space between them"},
		{"Lee Ann", 1, "Ann has no space before it in the question"},
		{"Ann of", 0, "copied and generated"},
		{"Ann  Lee", 1, "two spaces"},
		{"", 0, "nothing but its end"},
	} {
		_, count := loss(t, d, x, []Example{example(t, sys, batch[0].Memory, fmt.Sprintf(`(Query [(Equal #0.1 %q)] #0 - Up -)`, test.value))})
		if count.Values != 1 || count.Unproducible != test.unproducible {
			t.Errorf("%q: %+v, expected %d unproducible: %s", test.value, count, test.unproducible, test.why)
		}
	}
	if _, count := loss(t, d, x, []Example{example(t, sys, batch[0].Memory, `(Query [] #0 9 Up -)`)}); count.Unproducible != 1 {
		t.Errorf("integer: %+v", count)
	}
}

// TestOddMemories has tables without columns, words without pieces, and nothing but tables: no NaN.
func TestOddMemories(t *testing.T) {
	d, vectors, _ := fixture(t)
	sys := system(t, d.Grammar)
	x := tensor(vectors)
	defer x.MustDrop()
	for name, m := range map[string]*Memory{
		"only a table":    {Tables: []Entry{{Table: Element{Row: 1}}}},
		"no columns":      {Tables: []Entry{{Table: Element{Row: 1}, Utterance: []Element{{Row: 2}}}}, Words: []Word{{Text: "a"}}},
		"an empty table":  {Tables: []Entry{{Table: Element{Row: 1}}, {Index: 1, Table: Element{Row: 1}, Columns: []Element{{Row: 3}}}}},
		"words of nought": {Tables: []Entry{{Table: Element{Row: 1}, Columns: []Element{{Row: 3}}}}, Words: []Word{{Text: "7"}, {Text: "8"}}},
	} {
		s, err := d.NewSession(x, m)
		if err != nil {
			t.Fatal(name, err)
		}
		h := sys.Start()
		for range 12 {
			scored, err := s.Score([]*tranx.Hypothesis{h})
			if err != nil {
				t.Fatal(name, err)
			}
			for _, c := range scored[0] {
				if math.IsNaN(c.LogProb) || c.LogProb > 0 {
					t.Fatalf("%s: %v has the score %g", name, c.Action, c.LogProb)
				}
			}
			if len(scored[0]) == 0 { // a column where there is none
				break
			}
			if h, err = h.Apply(scored[0][0].Action); err != nil {
				t.Fatal(name, err)
			}
			if h.Done() {
				break
			}
		}
		s.Close()
	}
}

func TestErrors(t *testing.T) {
	d, vectors, batch := fixture(t)
	x := tensor(vectors)
	defer x.MustDrop()
	good := batch[0]
	with := func(change func(*Example)) []Example {
		e := good
		e.Actions = slices.Clone(e.Actions)
		change(&e)
		return []Example{e}
	}
	column := slices.IndexFunc(good.Actions, func(a tranx.Action) bool { return a.Kind == tranx.SelectColumn })
	entry := good.Memory.Tables[0]
	for _, test := range []struct {
		name  string
		batch []Example
		want  string
	}{
		{"no tables", with(func(e *Example) { e.Memory = &Memory{} }), "memory of example 0 has no tables"},
		{"row", with(func(e *Example) { e.Memory = &Memory{Tables: []Entry{{Table: Element{Row: 99}}}} }), fmt.Sprintf("memory of example 0: row 99 of %d", len(vectors))},
		{"negative row", with(func(e *Example) {
			e.Memory = &Memory{Tables: []Entry{{Table: entry.Table, Columns: []Element{{Row: -1}}}}}
		}), fmt.Sprintf("memory of example 0: row -1 of %d", len(vectors))},
		{"row of a word", with(func(e *Example) {
			e.Memory = &Memory{Tables: good.Memory.Tables, Words: []Word{{Rows: []int{99}}}}
		}), fmt.Sprintf("memory of example 0: row 99 of %d", len(vectors))},
		{"frontiers", with(func(e *Example) { e.Frontiers = e.Frontiers[1:] }),
			fmt.Sprintf("example 0 of the batch has %d actions and %d frontiers", len(good.Actions), len(good.Actions)-1)},
		{"table", with(func(e *Example) { e.Actions[column].Table = 4 }), fmt.Sprintf("example 0 of the batch, action %d: table 4 is not among the 1 tables of the memory", column)},
		{"column", with(func(e *Example) { e.Actions[column].Column = 2 }), fmt.Sprintf("example 0 of the batch, action %d: column 2 of 2 of table 0", column)},
		{"no actions", with(func(e *Example) { e.Actions, e.Frontiers = nil, nil }), "a batch of 1 examples without any action to learn"},
		{"no examples", nil, "a batch of 0 examples without any action to learn"},
	} {
		var scope torch.Scope
		_, _, err := d.Loss(&scope, x, test.batch, false)
		scope.Free()
		if err == nil || err.Error() != test.want {
			t.Errorf("%s: %v, expected %s", test.name, err, test.want)
		}
	}

	s, err := d.NewSession(x, good.Memory)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	h := system(t, d.Grammar).Start()
	if _, err := s.Score([]*tranx.Hypothesis{h}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Score([]*tranx.Hypothesis{h}); err == nil || err.Error() != "hypothesis of 0 actions with the state of 1" {
		t.Error(err)
	}
	if _, err := d.NewSession(x, &Memory{}); err == nil || err.Error() != "memory of example 0 has no tables" {
		t.Error(err)
	}
}

func TestConfigErrors(t *testing.T) {
	for _, test := range []struct {
		change func(*Config)
		want   string
	}{
		{func(c *Config) { c.State = 0 }, "decoder: state (0) must be positive"},
		{func(c *Config) { c.ActionEmbedding = -1 }, "decoder: action_embedding (-1) must be positive"},
		{func(c *Config) { c.Dropout = 1 }, "decoder: dropout (1) must be in [0, 1)"},
		{func(c *Config) { c.Vocabulary = []string{"a"} }, `decoder: vocabulary lacks "</s>"`},
		{func(c *Config) { c.Vocabulary = append(c.Vocabulary, "x") }, `decoder: vocabulary has "x" twice`},
		{func(c *Config) { c.Integers = nil }, "decoder: integers must have at least one number"},
	} {
		c := config()
		test.change(&c)
		if err := c.Validate(); err == nil || err.Error() != test.want {
			t.Errorf("%v, expected %s", err, test.want)
		}
	}
	if err := config().Validate(); err != nil {
		t.Error(err)
	}
}

func TestInteger(t *testing.T) {
	for word, want := range map[string]int{"0": 0, "12": 12, "007": 7, "Three": 3, "TWELVE": 12, "twenty": 20} {
		if n, ok := Integer(word); !ok || n != want {
			t.Errorf("Integer(%q) = %d, %v, expected %d", word, n, ok, want)
		}
	}
	for _, word := range []string{"", "-1", "one1", "99999999999999999999", "1.5", "many"} {
		if n, ok := Integer(word); ok {
			t.Errorf("Integer(%q) = %d, expected none", word, n)
		}
	}
}
