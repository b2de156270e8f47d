package encoder_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/sugarme/gotch"
	"github.com/sugarme/gotch/ts"

	"github.com/tabert-workbench/tabert-workbench/internal/safetensors"
	"github.com/tabert-workbench/tabert-workbench/internal/torch"
	"github.com/tabert-workbench/tabert-workbench/tabert"
	"github.com/tabert-workbench/tabert-workbench/tabert/encoder"
)

// odd is a small BERT of odd, distinct sizes.
var odd = encoder.Config{VocabSize: 29, HiddenSize: 35, HiddenLayers: 3, Heads: 7, IntermediateSize: 23, MaxPositions: 19,
	TypeVocabSize: 2, LayerNormEps: 1e-5, Activation: "gelu"}

// randomModel has parameters large enough that mistakes show.
func randomModel(t testing.TB, c encoder.Config) (*encoder.Model, *torch.Params) {
	t.Helper()
	onThread(t)
	p := torch.NewParams(gotch.CPU)
	t.Cleanup(p.Close)
	r := rand.New(rand.NewPCG(1, 2))
	for name, shape := range c.Shapes() {
		p.Normal(r, "bert."+name, 0.3, shape...)
	}
	m, err := encoder.New(p, "bert.", c)
	if err != nil {
		t.Fatal(err)
	}
	return m, p
}

// sequence makes a sequence of n tokens: [CLS], context−1 tokens, and columns of two tokens each, numbered from first.
func sequence(r *rand.Rand, vocab, n, context, first int) tabert.Sequence {
	s := tabert.Sequence{Context: tabert.Span{End: context}}
	for i := range n {
		s.IDs = append(s.IDs, r.IntN(vocab))
		s.Segments = append(s.Segments, min(1, i/(context+1)))
	}
	for at := context + 1; at+2 < n; at += 3 {
		s.Columns = append(s.Columns, tabert.ColumnSpan{Column: first + len(s.Columns),
			Name: tabert.Span{Start: at, End: at + 1 + at%2}, Whole: tabert.Span{Start: at, End: at + 2}})
	}
	return s
}

// naive computes BERT as the paper writes it down, number by number, in float64.
func naive(p *torch.Params, c encoder.Config, s tabert.Sequence) [][]float64 {
	get := func(name string) []float64 {
		var out []float64
		for _, v := range torch.ToFloats(p.Get("bert." + name)) {
			out = append(out, float64(v))
		}
		return out
	}
	h := c.HiddenSize
	norm := func(name string, x []float64) []float64 {
		weight, bias := get(name+".weight"), get(name+".bias")
		mean, variance := 0.0, 0.0
		for _, v := range x {
			mean += v / float64(h)
		}
		for _, v := range x {
			variance += (v - mean) * (v - mean) / float64(h)
		}
		out := make([]float64, h)
		for i, v := range x {
			out[i] = (v-mean)/math.Sqrt(variance+c.LayerNormEps)*weight[i] + bias[i]
		}
		return out
	}
	linear := func(name string, x []float64) []float64 {
		weight, bias := get(name+".weight"), get(name+".bias")
		out := make([]float64, len(bias))
		for i := range out {
			out[i] = bias[i]
			for j, v := range x {
				out[i] += weight[i*len(x)+j] * v
			}
		}
		return out
	}
	plus := func(a, b []float64) []float64 {
		out := make([]float64, len(a))
		for i := range a {
			out[i] = a[i] + b[i]
		}
		return out
	}
	words, positions, types := get("embeddings.word_embeddings.weight"), get("embeddings.position_embeddings.weight"), get("embeddings.token_type_embeddings.weight")
	x := make([][]float64, len(s.IDs))
	for i, id := range s.IDs {
		seg := s.Segments[i]
		x[i] = norm("embeddings.LayerNorm", plus(plus(words[id*h:(id+1)*h], positions[i*h:(i+1)*h]), types[seg*h:(seg+1)*h]))
	}
	for l := range c.HiddenLayers {
		name := fmt.Sprintf("encoder.layer.%d.", l)
		var q, k, v, next [][]float64
		for _, row := range x {
			q, k, v = append(q, linear(name+"attention.self.query", row)), append(k, linear(name+"attention.self.key", row)), append(v, linear(name+"attention.self.value", row))
		}
		size := h / c.Heads
		for i := range x {
			mixed := make([]float64, h)
			for a := range c.Heads {
				scores, sum := make([]float64, len(x)), 0.0
				for j := range x {
					for d := a * size; d < (a+1)*size; d++ {
						scores[j] += q[i][d] * k[j][d] / math.Sqrt(float64(size))
					}
					scores[j] = math.Exp(scores[j])
					sum += scores[j]
				}
				for j := range x {
					for d := a * size; d < (a+1)*size; d++ {
						mixed[d] += scores[j] / sum * v[j][d]
					}
				}
			}
			y := norm(name+"attention.output.LayerNorm", plus(linear(name+"attention.output.dense", mixed), x[i]))
			z := linear(name+"intermediate.dense", y)
			for j, u := range z {
				z[j] = u * 0.5 * (1 + math.Erf(u/math.Sqrt2))
			}
			next = append(next, norm(name+"output.LayerNorm", plus(linear(name+"output.dense", z), y)))
		}
		x = next
	}
	return x
}

// TestModelAgainstNaive encodes tables of several lengths, some of several sequences, in one batch.
func TestModelAgainstNaive(t *testing.T) {
	m, p := randomModel(t, odd)
	r := rand.New(rand.NewPCG(3, 4))
	tables := [][]tabert.Sequence{
		{sequence(r, odd.VocabSize, 13, 3, 0)},
		{sequence(r, odd.VocabSize, 19, 5, 0), sequence(r, odd.VocabSize, 11, 5, 4)},
		{sequence(r, odd.VocabSize, 2, 1, 0)}, // no utterance, no columns
		{sequence(r, odd.VocabSize, 17, 2, 0)},
	}
	tables[3][0].Columns[1].Name.End = tables[3][0].Columns[1].Name.Start // a name without tokens
	batch, err := m.NewBatch(tables)
	if err != nil {
		t.Fatal(err)
	}
	defer batch.Free()
	if batch.Tokens != 13+19+11+2+17 || batch.Positions < batch.Tokens {
		t.Errorf("%d tokens, %d positions", batch.Tokens, batch.Positions)
	}
	flat := m.Forward(batch, -1, encoder.Dropout{})
	defer flat.MustDrop()
	got := m.Pool(batch, flat, encoder.PoolName)
	defer got.Free()

	n, u, c, h := 4, 4, 5, odd.HiddenSize
	for _, shape := range []struct {
		what string
		got  []int64
		want []int
	}{
		{"tables", got.Tables.MustSize(), []int{n, h}},
		{"utterance", got.Utterance.MustSize(), []int{n, u, h}},
		{"utterance mask", got.UtteranceMask.MustSize(), []int{n, u}},
		{"columns", got.Columns.MustSize(), []int{n, c, h}},
		{"columns mask", got.ColumnsMask.MustSize(), []int{n, c}},
	} {
		if fmt.Sprint(shape.got) != fmt.Sprint(shape.want) {
			t.Fatalf("%s: shape %v, expected %v", shape.what, shape.got, shape.want)
		}
	}
	wantTables, wantUtterance, wantUtteranceMask := make([]float32, n*h), make([]float32, n*u*h), make([]float32, n*u)
	wantColumns, wantColumnsMask := make([]float32, n*c*h), make([]float32, n*c)
	for i, sequences := range tables {
		for j, s := range sequences {
			x := naive(p, odd, s)
			for d := range h {
				if j == 0 {
					wantTables[i*h+d] = float32(x[0][d])
					for k := 1; k < s.Context.End; k++ {
						wantUtterance[(i*u+k-1)*h+d] = float32(x[k][d])
						wantUtteranceMask[i*u+k-1] = 1
					}
				}
				for _, col := range s.Columns {
					wantColumnsMask[i*c+col.Column] = 1
					for k := col.Name.Start; k < col.Name.End; k++ {
						wantColumns[(i*c+col.Column)*h+d] += float32(x[k][d]) / float32(col.Name.Len())
					}
				}
			}
		}
	}
	for _, v := range []struct {
		what string
		got  *ts.Tensor
		want []float32
	}{
		{"tables", got.Tables, wantTables}, {"utterance", got.Utterance, wantUtterance}, {"utterance mask", got.UtteranceMask, wantUtteranceMask},
		{"columns", got.Columns, wantColumns}, {"columns mask", got.ColumnsMask, wantColumnsMask},
	} {
		if d := farthest(t, torch.ToFloats(v.got), v.want); !(d <= 1e-5) {
			t.Errorf("%s: off by %g", v.what, d)
		}
	}
}

// TestFrozen: lower layers without gradients give the same vectors, and gradients only above.
func TestFrozen(t *testing.T) {
	m, p := randomModel(t, odd)
	p.Train(func(string) bool { return true })
	r := rand.New(rand.NewPCG(5, 6))
	batch, err := m.NewBatch([][]tabert.Sequence{{sequence(r, odd.VocabSize, 13, 3, 0)}, {sequence(r, odd.VocabSize, 8, 3, 0)}})
	if err != nil {
		t.Fatal(err)
	}
	defer batch.Free()
	var first []float32
	for frozen := -1; frozen <= odd.HiddenLayers; frozen++ {
		p.DropGrads()
		flat := m.Forward(batch, frozen, encoder.Dropout{})
		got := m.Pool(batch, flat, encoder.PoolName)
		values := torch.ToFloats(got.Columns)
		if first == nil {
			first = values
		}
		if d := farthest(t, values, first); !(d <= 1e-6) {
			t.Errorf("%d frozen layers: off by %g", frozen, d)
		}
		if frozen < odd.HiddenLayers {
			loss := got.Columns.MustSum(gotch.Float, false)
			loss.MustBackward()
			loss.MustDrop()
		} else if got.Columns.MustRequiresGrad() {
			t.Error("all layers are frozen, and there are gradients")
		}
		for _, name := range p.Names() {
			layer, ok := m.LayerOf(name)
			if !ok {
				t.Fatalf("%s is of no layer", name)
			}
			if has, want := p.Grad(name) != nil, layer >= frozen; has != want {
				t.Errorf("%d frozen layers: %s has a gradient: %t, expected %t", frozen, name, has, want)
			}
		}
		got.Free()
		flat.MustDrop()
	}
}

// TestDropout: it is drawn from libtorch's seed, and leaves the vectors random.
func TestDropout(t *testing.T) {
	m, _ := randomModel(t, odd)
	r := rand.New(rand.NewPCG(7, 8))
	batch, err := m.NewBatch([][]tabert.Sequence{{sequence(r, odd.VocabSize, 13, 3, 0)}})
	if err != nil {
		t.Fatal(err)
	}
	defer batch.Free()
	run := func(seed uint64, d encoder.Dropout) []float32 {
		torch.Seed(seed)
		flat := m.Forward(batch, -1, d)
		defer flat.MustDrop()
		return torch.ToFloats(flat)
	}
	for _, d := range []encoder.Dropout{{Hidden: 0.3}, {Attention: 0.3}} {
		if far := farthest(t, run(1, d), run(1, d)); far != 0 {
			t.Errorf("%+v: the same seed differs by %g", d, far)
		}
		if far := farthest(t, run(1, d), run(2, d)); far < 1e-3 {
			t.Errorf("%+v: two seeds differ by %g only", d, far)
		}
	}
}

func TestBatchErrors(t *testing.T) {
	m, _ := randomModel(t, odd)
	r := rand.New(rand.NewPCG(9, 10))
	edit := func(f func(*tabert.Sequence)) [][]tabert.Sequence {
		s := sequence(r, odd.VocabSize, 13, 3, 0)
		f(&s)
		return [][]tabert.Sequence{{s}}
	}
	tests := []struct {
		tables [][]tabert.Sequence
		want   string
	}{
		{nil, "a batch of no tables"},
		{[][]tabert.Sequence{{}}, "table 0 of the batch has no sequence"},
		{edit(func(s *tabert.Sequence) { s.IDs[4] = 29 }), "table 0 of the batch, sequence 0: token id 29, but the model's vocabulary has 29 entries"},
		{edit(func(s *tabert.Sequence) { s.IDs = make([]int, 20) }), "table 0 of the batch, sequence 0: 20 tokens, expected 1 to 19"},
		{edit(func(s *tabert.Sequence) { s.Segments[1] = 2 }), "table 0 of the batch, sequence 0: segment 2 of 2"},
		{edit(func(s *tabert.Sequence) { s.Columns[0].Name.End = 14 }), "table 0 of the batch, sequence 0: span [4, 14) in 13 tokens"},
	}
	for _, tt := range tests {
		if _, err := m.NewBatch(tt.tables); err == nil || err.Error() != tt.want {
			t.Errorf("got %v, expected %s", err, tt.want)
		}
	}
}

func TestConfigErrors(t *testing.T) {
	tests := []struct{ text, want string }{
		{`{`, "BERT configuration: unexpected EOF"},
		{`{}`, "BERT configuration: vocab_size is 0, expected at least 1"},
		{`{"vocab_size": 9, "hidden_size": 10, "num_hidden_layers": 1, "num_attention_heads": 4, "intermediate_size": 3}`,
			"BERT configuration: hidden_size (10) must be divisible by num_attention_heads (4)"},
		{`{"vocab_size": 9, "hidden_size": 10, "num_hidden_layers": 1, "num_attention_heads": 5, "intermediate_size": 3, "hidden_act": "relu"}`,
			`BERT configuration: hidden_act is "relu", expected "gelu"`},
	}
	for _, tt := range tests {
		if _, err := encoder.ReadConfig(strings.NewReader(tt.text)); err == nil || err.Error() != tt.want {
			t.Errorf("%s: got %v, expected %s", tt.text, err, tt.want)
		}
	}
}

func TestLoadChecksNamesAndShapes(t *testing.T) {
	arrays := func() map[string]safetensors.Array {
		out := map[string]safetensors.Array{"pooler.dense.bias": safetensors.FromFloats(make([]float32, 3), 3)}
		for name, shape := range odd.Shapes() {
			n := int64(1)
			for _, d := range shape {
				n *= d
			}
			out["bert."+name] = safetensors.FromFloats(make([]float32, n), shape...)
		}
		return out
	}
	tests := []struct {
		reason string
		edit   func(map[string]safetensors.Array)
		want   string
	}{
		{"as it should be", func(map[string]safetensors.Array) {}, ""},
		{"both ways", func(a map[string]safetensors.Array) {
			delete(a, "bert.encoder.layer.1.output.dense.bias")
			a["bert.encoder.layer.3.output.dense.bias"] = safetensors.FromFloats(make([]float32, 35), 35)
			a["bert.embeddings.LayerNorm.bias"] = safetensors.FromFloats(make([]float32, 3), 3)
		}, "3 tensors do not fit the configuration: bert.embeddings.LayerNorm.bias has shape [3], expected [35]; " +
			"surplus bert.encoder.layer.3.output.dense.bias; missing encoder.layer.1.output.dense.bias"},
	}
	for _, tt := range tests {
		a := arrays()
		tt.edit(a)
		p := torch.NewParams(gotch.CPU)
		err := encoder.LoadArrays(p, "x.", odd, a)
		if got := fmt.Sprint(err); tt.want != "" && got != tt.want || tt.want == "" && err != nil {
			t.Errorf("%s: got %s, expected %s", tt.reason, got, tt.want)
		}
		if err == nil {
			if _, err := encoder.New(p, "x.", odd); err != nil {
				t.Errorf("%s: %v", tt.reason, err)
			}
			p.Constant("x.surplus", 0, 1)
			if _, err := encoder.New(p, "x.", odd); err == nil {
				t.Errorf("%s: a surplus parameter goes unnoticed", tt.reason)
			}
		}
		p.Close()
	}
}

func TestInit(t *testing.T) {
	p := torch.NewParams(gotch.CPU)
	defer p.Close()
	encoder.Init(p, "", odd, rand.New(rand.NewPCG(1, 1)))
	if _, err := encoder.New(p, "", odd); err != nil {
		t.Fatal(err)
	}
	if got, want := len(p.Names()), 5+16*odd.HiddenLayers; got != want {
		t.Errorf("%d parameters, expected %d", got, want)
	}
}

// TestFreesTensors trains on a batch again and again: what a pass makes, it frees, without the collector's help.
func TestFreesTensors(t *testing.T) {
	m, p := randomModel(t, odd)
	p.Train(func(string) bool { return true })
	r := rand.New(rand.NewPCG(1, 1))
	var tables [][]tabert.Sequence
	for range 20 {
		tables = append(tables, []tabert.Sequence{sequence(r, odd.VocabSize, 5+r.IntN(14), 3, 0)})
	}
	pass := func(frozen int) {
		batch, err := m.NewBatch(tables)
		if err != nil {
			t.Fatal(err)
		}
		flat := m.Forward(batch, frozen, encoder.Dropout{Hidden: 0.1, Attention: 0.1})
		got := m.Pool(batch, flat, encoder.PoolName)
		loss := got.Columns.MustSum(gotch.Float, false)
		loss.MustBackward()
		p.DropGrads()
		loss.MustDrop()
		got.Free()
		flat.MustDrop()
		batch.Free()
	}
	runtime.GC()
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	before := len(ts.ExistingTensors)
	for frozen := -1; frozen < odd.HiddenLayers; frozen++ {
		pass(frozen)
	}
	if after := len(ts.ExistingTensors); after != before {
		t.Errorf("%d tensors before, %d after", before, after)
	}
}

// TestFailuresPanic: what libtorch refuses is a panic with its text, which a torch.Worker makes an error.
func TestFailuresPanic(t *testing.T) {
	m, _ := randomModel(t, odd)
	worker := torch.NewWorker()
	defer worker.Close()
	err := worker.Do(func() error {
		ids := torch.Ints(gotch.CPU, make([]int64, 2*23), 2, 23) // more than there are positions
		defer ids.MustDrop()
		m.Embed(ids, ids, encoder.Dropout{})
		return nil
	})
	if err == nil || !strings.Contains(err.Error(), "narrow") {
		t.Errorf("got %v", err)
	}
}

// minilm is the size of MiniLM-L6.
var minilm = encoder.Config{VocabSize: 30522, HiddenSize: 384, HiddenLayers: 6, Heads: 12, IntermediateSize: 1536, MaxPositions: 512,
	TypeVocabSize: 2, LayerNormEps: 1e-12, Activation: "gelu"}

// BenchmarkEncode encodes 64 tables of 20 to 130 tokens with a BERT of MiniLM's size; train: with
// gradients, above some frozen layers.
func BenchmarkEncode(b *testing.B) {
	m, p := randomModel(b, minilm)
	r := rand.New(rand.NewPCG(1, 1))
	var tables [][]tabert.Sequence
	for range 64 {
		tables = append(tables, []tabert.Sequence{sequence(r, minilm.VocabSize, 20+r.IntN(111), 15, 0)})
	}
	defer torch.SetThreads(torch.Threads())
	for _, threads := range []int{1, 2} {
		for _, frozen := range []int{6, 4, 2, -1} {
			b.Run(fmt.Sprintf("threads=%d/frozen=%d", threads, frozen), func(b *testing.B) {
				torch.SetThreads(threads)
				p.Train(func(string) bool { return frozen < 6 })
				batch, err := m.NewBatch(tables)
				if err != nil {
					b.Fatal(err)
				}
				defer batch.Free()
				for b.Loop() {
					flat := m.Forward(batch, frozen, encoder.Dropout{})
					got := m.Pool(batch, flat, encoder.PoolName)
					if frozen < 6 {
						loss := got.Columns.MustSum(gotch.Float, false)
						loss.MustBackward()
						loss.MustDrop()
					}
					got.Free()
					flat.MustDrop()
				}
				b.ReportMetric(float64(batch.Tokens*b.N)/b.Elapsed().Seconds(), "tokens/s")
				b.ReportMetric(100*float64(batch.Positions-batch.Tokens)/float64(batch.Positions), "%padding")
			})
		}
	}
}

func TestLoadFolderErrors(t *testing.T) {
	dir := t.TempDir()
	p := torch.NewParams(gotch.CPU)
	defer p.Close()
	if _, err := encoder.Load(p, "", dir); err == nil || !strings.Contains(err.Error(), filepath.Join(dir, "config.json")) {
		t.Errorf("an empty folder: %v", err)
	}
	config := `{"vocab_size": 29, "hidden_size": 35, "num_hidden_layers": 3, "num_attention_heads": 7, "intermediate_size": 23}`
	if err := os.WriteFile(filepath.Join(dir, "config.json"), []byte(config), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "model.safetensors"), []byte("cut off"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := encoder.Load(p, "", dir); err == nil || !strings.Contains(err.Error(), "model.safetensors: not a safetensors file") {
		t.Errorf("a damaged file: %v", err)
	}
}
