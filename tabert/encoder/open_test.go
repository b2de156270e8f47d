package encoder_test

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sugarme/gotch"

	"github.com/tabert-workbench/tabert-workbench/internal/safetensors"
	"github.com/tabert-workbench/tabert-workbench/internal/torch"
	"github.com/tabert-workbench/tabert-workbench/tabert"
	"github.com/tabert-workbench/tabert-workbench/tabert/encoder"
)

// folder writes a small random BERT as HuggingFace lays it out.
func folder() (dir string, err error) {
	if dir, err = os.MkdirTemp("", "bert"); err != nil {
		return "", err
	}
	vocabulary := strings.Fields("[PAD] [UNK] [CLS] [SEP] [MASK] text real | none which city host the games in ? year host london 2008")
	c := encoder.Config{VocabSize: len(vocabulary), HiddenSize: 14, HiddenLayers: 2, Heads: 7, IntermediateSize: 15,
		MaxPositions: 512, TypeVocabSize: 2, LayerNormEps: 1e-12, Activation: "gelu"}
	config, err := json.Marshal(c)
	if err != nil {
		return "", err
	}
	p := torch.NewParams(gotch.CPU)
	defer p.Close()
	encoder.Init(p, "", c, rand.New(rand.NewPCG(1, 2)))
	if err := os.WriteFile(filepath.Join(dir, "config.json"), config, 0o644); err != nil {
		return "", err
	}
	if err := os.WriteFile(filepath.Join(dir, "vocab.txt"), []byte(strings.Join(vocabulary, "\n")), 0o644); err != nil {
		return "", err
	}
	return dir, safetensors.WriteFile(filepath.Join(dir, "model.safetensors"), p.Arrays(torch.Precision{}), nil)
}

func ExampleTaBERT_Encode() {
	dir, err := folder() // any HuggingFace BERT folder
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	bert, err := encoder.Open(dir, "cpu")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer bert.Close()

	games := tabert.Table{
		Name:    "games",
		Columns: []tabert.Column{{Name: "year", Type: tabert.Real}, {Name: "host city", Type: tabert.Text}},
		Rows:    [][]tabert.Cell{{tabert.TextCell("2008"), tabert.TextCell("Beijing")}, {tabert.TextCell("2012"), tabert.TextCell("London")}},
	}
	encodings, err := bert.Encode("Which city hosted the games in 2008?", games)
	if err != nil {
		fmt.Println(err)
		return
	}
	e := encodings[0]
	fmt.Println(len(e.Table), len(e.Utterance), len(e.Tokens), len(e.Columns))
	// Output: 14 8 8 2
}

// TestEncode: a table's vectors are the same alone and beside others.
func TestEncode(t *testing.T) {
	dir, err := folder()
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	bert, err := encoder.Open(dir, "cpu")
	if err != nil {
		t.Fatal(err)
	}
	defer bert.Close()
	small := tabert.Table{Name: "small", Columns: []tabert.Column{{Name: "year", Type: tabert.Real}}}
	large := tabert.Table{Name: "large", Columns: []tabert.Column{{Name: "host city", Type: tabert.Text}, {Name: "", Type: tabert.Text}, {Name: "games in the city", Type: tabert.Text}}}
	empty := tabert.Table{Name: "empty"}
	both, err := bert.Encode("which city ?", large, small, empty)
	if err != nil {
		t.Fatal(err)
	}
	alone, err := bert.Encode("which city ?", small)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range append(append([][]float32{alone[0].Table}, alone[0].Utterance...), alone[0].Columns...) {
		got := append(append([][]float32{both[1].Table}, both[1].Utterance...), both[1].Columns...)[i]
		for j := range want {
			if math.Abs(float64(got[j]-want[j])) > 1e-5 {
				t.Fatalf("vector %d is %v beside others, %v alone", i, got, want)
			}
		}
	}
	if len(both[0].Columns) != 3 || len(both[1].Columns) != 1 || len(both[2].Columns) != 0 || len(both[2].Utterance) != 3 {
		t.Errorf("columns: %d, %d, %d", len(both[0].Columns), len(both[1].Columns), len(both[2].Columns))
	}
	if none, err := bert.Encode("which city ?"); err != nil || len(none) != 0 {
		t.Errorf("no tables: %v, %v", none, err)
	}
	if _, err := encoder.Open(t.TempDir(), "cpu"); err == nil || !strings.Contains(err.Error(), "vocab.txt") {
		t.Errorf("an empty folder: %v", err)
	}
}
