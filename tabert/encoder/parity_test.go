package encoder_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/sugarme/gotch"

	"github.com/tabert-workbench/tabert-workbench/internal/safetensors"
	"github.com/tabert-workbench/tabert-workbench/internal/testdata"
	"github.com/tabert-workbench/tabert-workbench/internal/torch"
	"github.com/tabert-workbench/tabert-workbench/tabert"
	"github.com/tabert-workbench/tabert-workbench/tabert/encoder"
)

// onThread keeps a test on one OS thread, where libtorch has its grad mode.
func onThread(t testing.TB) {
	runtime.LockOSThread()
	t.Cleanup(runtime.UnlockOSThread)
}

func read[T any](t *testing.T, path string) T {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var v T
	if err := json.Unmarshal(data, &v); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return v
}

// conformanceSequences linearises the cases of the conformance data as K = 1 does.
func conformanceSequences(t *testing.T, dir string) map[string]func() tabert.Sequence {
	t.Helper()
	tok, err := tabert.LoadTokenizer(filepath.Join(dir, "tiny-k1", "vocab.txt"), true)
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(filepath.Join(dir, "inputs.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	out := map[string]func() tabert.Sequence{}
	for d := json.NewDecoder(bufio.NewReader(f)); ; {
		var c struct {
			ID, Utterance string
			Table         struct {
				Columns []struct {
					Name, Type string
					Sample     *string `json:"sample_value"`
				}
			}
		}
		if err := d.Decode(&c); err == io.EOF {
			return out
		} else if err != nil {
			t.Fatal(err)
		}
		out[c.ID] = func() tabert.Sequence {
			var columns []tabert.Column
			var row []tabert.Cell
			for _, col := range c.Table.Columns {
				columns = append(columns, tabert.Column{Name: col.Name, Type: col.Type})
				cell := tabert.Cell{}
				if col.Sample != nil {
					cell = tabert.TextCell(*col.Sample)
				}
				row = append(row, cell)
			}
			s, err := tabert.DefaultConfig().Linearize(tok, tok.Tokenize(c.Utterance), columns, row)
			if err != nil {
				t.Fatalf("%s: %v", c.ID, err)
			}
			return s
		}
	}
}

// farthest is the largest absolute difference of two arrays.
func farthest(t *testing.T, got []float32, want []float32) float64 {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%d numbers, expected %d", len(got), len(want))
	}
	far := 0.0
	for i, g := range got {
		if d := math.Abs(float64(g - want[i])); !(d <= far) {
			far = d
		}
	}
	return far
}

// TestConformanceK1 compares the vectors of the reference, for every pooling and batch.
func TestConformanceK1(t *testing.T) {
	onThread(t)
	dir := filepath.Join(testdata.ConformanceDir(t), "tabert")
	sequences := conformanceSequences(t, dir)
	index := read[struct{ Batches map[string][]string }](t, filepath.Join(dir, "index.json"))
	want, _, err := safetensors.ReadFile(filepath.Join(dir, "encodings-k1.safetensors"))
	if err != nil {
		t.Fatal(err)
	}
	params := torch.NewParams(gotch.CPU)
	defer params.Close()
	config, err := encoder.Load(params, "bert.", filepath.Join(dir, "tiny-k1"))
	if err != nil {
		t.Fatal(err)
	}
	model, err := encoder.New(params, "bert.", config)
	if err != nil {
		t.Fatal(err)
	}
	if len(index.Batches) == 0 {
		t.Fatal("no batches")
	}
	for name, cases := range index.Batches {
		var tables [][]tabert.Sequence
		for _, id := range cases {
			tables = append(tables, []tabert.Sequence{sequences[id]()})
		}
		batch, err := model.NewBatch(tables)
		if err != nil {
			t.Fatal(err)
		}
		flat := model.Forward(batch, model.HiddenLayers, encoder.Dropout{})
		for _, representation := range []string{"mean_pool_column_name", "mean_pool", "first_token"} {
			got := model.Pool(batch, flat, encoder.ParsePooling(representation))
			h := config.HiddenSize
			context, columns := want[name+".context_encoding"], want[name+"."+representation+".column_encoding"]
			check := func(what string, got, want []float32) {
				if d := farthest(t, got, want); !(d <= 1e-5) {
					t.Errorf("%s %s %s: off by %g", name, representation, what, d)
				}
			}
			wantContext, _ := context.Floats()
			wantColumns, _ := columns.Floats()
			check("columns", torch.ToFloats(got.Columns), wantColumns)
			n, u := int(context.Shape[0]), int(context.Shape[1])
			gotTables, gotUtterance := torch.ToFloats(got.Tables), torch.ToFloats(got.Utterance)
			for i := range n {
				row := wantContext[i*u*h : (i+1)*u*h]
				check(fmt.Sprint("table ", i), gotTables[i*h:(i+1)*h], row[:h])
				if u > 1 {
					check(fmt.Sprint("utterance ", i), gotUtterance[i*(u-1)*h:(i+1)*(u-1)*h], row[h:])
				}
			}
			got.Free()
		}
		flat.MustDrop()
		batch.Free()
	}
}
