// Package parsertest makes models for tests.
package parsertest

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sugarme/gotch"

	"github.com/tabert-workbench/tabert-workbench/internal/torch"
	"github.com/tabert-workbench/tabert-workbench/parser"
	"github.com/tabert-workbench/tabert-workbench/tabert"
	"github.com/tabert-workbench/tabert-workbench/tabert/encoder"
	"github.com/tabert-workbench/tabert-workbench/tranx"
)

// Save saves a small model that has learnt nothing, but likes columns and short lists:
// wholly random queries hardly ever end. It returns the model's folder.
func Save(t testing.TB) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "model")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	words := "[PAD] [UNK] [CLS] [SEP] [MASK] how many singers are there name age country real text table | 1 2 ?"
	vocab := filepath.Join(dir, "vocab.txt")
	if err := os.WriteFile(vocab, []byte(strings.ReplaceAll(words, " ", "\n")+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	tok, err := tabert.LoadTokenizer(vocab, true)
	if err != nil {
		t.Fatal(err)
	}
	config := parser.DefaultConfig()
	config.Encoder = encoder.Config{VocabSize: tok.Size(), HiddenSize: 14, HiddenLayers: 1, Heads: 7, IntermediateSize: 15,
		MaxPositions: 512, TypeVocabSize: 2, LayerNormEps: 1e-12, Activation: "gelu"}
	config.Decoder.State, config.Decoder.ActionEmbedding = 17, 13
	config.Decoder.Vocabulary, config.Decoder.Integers = []string{tranx.EndOfString, "1"}, []int{1, 3}
	config.MaxSteps = 60
	worker := torch.NewWorker()
	defer worker.Close()
	err = worker.Do(func() error {
		r := rand.New(rand.NewPCG(3, 4))
		params := torch.NewParams(gotch.CPU)
		defer params.Close()
		encoder.Init(params, parser.EncoderPrefix, config.Encoder, r)
		m, err := parser.New(params, config, tok, r)
		if err != nil {
			return err
		}
		n := len(m.System.Grammar.Constructors)
		bias := make([]float32, n+2) // constructors, Reduce, and opening a leaf
		bias[m.System.Grammar.Constructor("ColumnReference").ID] = 6
		bias[n] = 5
		params.Set(parser.DecoderPrefix+"production_bias", bias, int64(n+2))
		return m.Save(dir, torch.Precision{})
	})
	if err != nil {
		t.Fatal(err)
	}
	return dir
}
