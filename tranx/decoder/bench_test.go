package decoder

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/sugarme/gotch"

	"github.com/tabert-workbench/tabert-workbench/asdl"
	"github.com/tabert-workbench/tabert-workbench/internal/torch"
)

// batchOfSpider is a batch of the sizes that Spider has, with the paper's decoder: 24
// examples of 5 tables, 20 tokens and 6 columns each, and about 30 actions.
func batchOfSpider(b *testing.B) (*Decoder, *torch.Params, []Example, int) {
	b.Helper()
	sys := system(b, asdl.MustParse(grammarText))
	params := torch.NewParams(gotch.CPU)
	b.Cleanup(params.Close)
	c := DefaultConfig()
	c.Vocabulary, c.Integers = config().Vocabulary, config().Integers
	d, err := New(params, "d.", c, sys.Grammar, 384, rand.New(rand.NewPCG(1, 2)))
	if err != nil {
		b.Fatal(err)
	}
	params.Train(func(string) bool { return true })
	next := 0
	elements := func(n int) []Element {
		list := make([]Element, n)
		for i := range list {
			list[i].Row = next
			next++
		}
		return list
	}
	text := `(Query [` + strings.Repeat(`(In #2.2 (Query [] #1 2 Down "")) (Col #0.3) `, 3) + `] #2 3 Down -)`
	var batch []Example
	for range 24 {
		m := &Memory{Words: []Word{{Text: "3", Rows: []int{next}}}}
		for t := range 5 {
			m.Tables = append(m.Tables, Entry{Index: t, Table: elements(1)[0], Utterance: elements(20), Columns: elements(6)})
		}
		batch = append(batch, example(b, sys, m, text))
	}
	return d, params, batch, next
}

// BenchmarkLoss is a training step of the decoder without Adam, on one thread.
func BenchmarkLoss(b *testing.B) {
	benchmark(b, func(d *Decoder, vectors []float32, rows int, batch []Example) error {
		x := torch.Floats(gotch.CPU, vectors, int64(rows), 384)
		defer x.MustDrop()
		var scope torch.Scope
		defer scope.Free()
		l, _, err := d.Loss(&scope, x, batch, true)
		if err != nil {
			return err
		}
		return l.Backward()
	})
}

func benchmark(b *testing.B, step func(d *Decoder, vectors []float32, rows int, batch []Example) error) {
	w := torch.NewWorker()
	defer w.Close()
	err := w.Do(func() error {
		torch.SetThreads(1)
		d, params, batch, rows := batchOfSpider(b)
		vectors := make([]float32, rows*384)
		r := rand.New(rand.NewPCG(3, 4))
		for i := range vectors {
			vectors[i] = float32(r.NormFloat64())
		}
		for b.Loop() {
			params.DropGrads()
			if err := step(d, vectors, rows, batch); err != nil {
				return err
			}
		}
		b.ReportMetric(float64(len(batch)*b.N)/b.Elapsed().Seconds(), "examples/s")
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
}
