package train

import (
	"context"
	"syscall"
	"testing"
	"time"

	"github.com/tabert-workbench/tabert-workbench/eval"
	"github.com/tabert-workbench/tabert-workbench/internal/testdata"
	"github.com/tabert-workbench/tabert-workbench/parser"
	"github.com/tabert-workbench/tabert-workbench/parser/parsertest"
	"github.com/tabert-workbench/tabert-workbench/semql"
	"github.com/tabert-workbench/tabert-workbench/spider"
	"github.com/tabert-workbench/tabert-workbench/spider/predict"
)

// sampleOf is the sample of Spider cut down to n examples that the grammar expresses and
// that come back from it unchanged, from all over its databases.
func sampleOf(t testing.TB, n int) *spider.Data {
	t.Helper()
	data, err := spider.Load(testdata.Sample(t), spider.Train)
	if err != nil {
		t.Fatal(err)
	}
	g, err := semql.Grammar("figure")
	if err != nil {
		t.Fatal(err)
	}
	var good []spider.Example
	for _, x := range data.Examples {
		db := data.Databases[x.DBID]
		tree, err := semql.FromSQL(x.Query, db, g)
		if err != nil {
			continue
		}
		sql, err := semql.Render(tree, db)
		if err != nil {
			t.Fatal(err)
		}
		if v, err := eval.NewSchema(db).Match(x.Query, sql); err == nil && v.Exact {
			good = append(good, x)
		}
	}
	if len(good) < n {
		t.Fatalf("only %d examples, expected %d", len(good), n)
	}
	data.Examples = nil
	for i := range n {
		data.Examples = append(data.Examples, good[i*len(good)/n])
	}
	return data
}

// texts are the words that the sample is about.
func texts(data *spider.Data) []string {
	var list []string
	for _, x := range data.Examples {
		list = append(list, x.Question)
		for _, t := range data.Databases[x.DBID].Tables {
			list = append(list, t.Name)
			for _, c := range t.Columns {
				list = append(list, c.Name)
			}
		}
	}
	return list
}

// TestOverfit trains a small model from nothing until it knows twenty examples by heart.
func TestOverfit(t *testing.T) {
	data := sampleOf(t, 20)
	vocabulary := parsertest.Vocabulary(texts(data)...)
	bert := parsertest.Encoder(len(vocabulary))
	bert.HiddenSize, bert.HiddenLayers, bert.Heads, bert.IntermediateSize = 64, 2, 4, 128
	c := DefaultConfig()
	c.Batch, c.Steps, c.EncoderRate, c.Rate, c.RateDecay, c.FreezeSteps, c.HeldOut = 10, 150, 1e-3, 3e-3, true, 0, 0
	c.CheckpointEvery, c.CheckpointMinutes = 0, 0
	c.Model.Content, c.Model.TableName = false, true
	c.Model.Decoder.State, c.Model.Decoder.ActionEmbedding, c.Model.Decoder.Dropout = 96, 48, 0
	began, cpu := time.Now(), cpuTime(t)
	// One thread: on a busy machine two wait for each other, and sizes are small.
	result, err := Run(context.Background(), data, c, Options{Out: t.TempDir(), Init: parsertest.BERT(t, bert, vocabulary), Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	p, err := parser.Open(result.Model, parser.Options{Device: "cpu"})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	sources := predict.NewSources(data)
	right := 0
	for _, x := range data.Examples {
		src, err := sources.Get(context.Background(), x.DBID)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := p.Parse(context.Background(), src, x.Question, nil)
		if err != nil {
			t.Errorf("%s: %v", x.Question, err)
			continue
		}
		v, err := eval.NewSchema(src.Schema).Match(x.Query, answer.SQL)
		if err != nil {
			t.Fatal(err)
		}
		if v.Exact {
			right++
		} else {
			t.Logf("%s\n  gold: %s\n  pred: %s", x.Question, x.Query, answer.SQL)
		}
	}
	if right != len(data.Examples) {
		t.Errorf("%d of %d right", right, len(data.Examples))
	}
	used := cpuTime(t) - cpu
	t.Logf("%d of %d right; %v, %v of it on the CPU", right, len(data.Examples), time.Since(began).Round(time.Second), used.Round(time.Second))
	if used > 2*90*time.Second {
		t.Errorf("%v on the CPU, expected less than 90 s of two cores", used)
	}
}

// cpuTime is what this process has computed so far.
func cpuTime(t *testing.T) time.Duration {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
