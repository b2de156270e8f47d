// Package parsertest makes models for tests: small ones that have learnt nothing.
package parsertest

import (
	"encoding/json"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sugarme/gotch"

	"github.com/tabert-workbench/tabert-workbench/internal/safetensors"
	"github.com/tabert-workbench/tabert-workbench/internal/torch"
	"github.com/tabert-workbench/tabert-workbench/parser"
	"github.com/tabert-workbench/tabert-workbench/tabert"
	"github.com/tabert-workbench/tabert-workbench/tabert/encoder"
	"github.com/tabert-workbench/tabert-workbench/tranx"
)

// Vocabulary is a vocabulary of word pieces that has the words of some texts, and what
// BERT and its linearisation of tables need.
func Vocabulary(texts ...string) []string {
	words := map[string]bool{}
	for _, text := range append([]string{"text real table | ? 0 1 2 3"}, texts...) {
		for _, w := range tranx.Words(strings.ToLower(text)) {
			if w.Text != "" {
				words[w.Text] = true
			}
		}
	}
	return append([]string{"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"}, slices.Sorted(maps.Keys(words))...)
}

// Encoder is the configuration of a BERT of one layer for a vocabulary of that size.
func Encoder(vocabulary int) encoder.Config {
	return encoder.Config{VocabSize: vocabulary, HiddenSize: 14, HiddenLayers: 1, Heads: 7, IntermediateSize: 15,
		MaxPositions: 512, TypeVocabSize: 2, LayerNormEps: 1e-12, Activation: "gelu"}
}

// onWorker makes random parameters of an encoder and hands them to use.
func onWorker(t testing.TB, c encoder.Config, prefix string, use func(*torch.Params, *rand.Rand) error) {
	t.Helper()
	worker := torch.NewWorker()
	defer worker.Close()
	err := worker.Do(func() error {
		r := rand.New(rand.NewPCG(3, 4))
		params := torch.NewParams(gotch.CPU)
		defer params.Close()
		encoder.Init(params, prefix, c, r)
		return use(params, r)
	})
	if err != nil {
		t.Fatal(err)
	}
}

func write(t testing.TB, path string, data []byte) {
	t.Helper()
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
}

// BERT writes a random BERT as HuggingFace lays it out, and returns its folder.
func BERT(t testing.TB, c encoder.Config, vocabulary []string) string {
	t.Helper()
	dir := t.TempDir()
	config, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "config.json"), config)
	write(t, filepath.Join(dir, "vocab.txt"), []byte(strings.Join(vocabulary, "\n")+"\n"))
	onWorker(t, c, "", func(p *torch.Params, _ *rand.Rand) error {
		return safetensors.WriteFile(filepath.Join(dir, "model.safetensors"), p.Arrays(torch.Precision{}), nil)
	})
	return dir
}

// Save writes a model whose queries are random, but likes columns and short lists: wholly
// random queries hardly ever end. It returns the model's folder.
func Save(t testing.TB) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "model")
	tok, err := tabert.NewTokenizer(Vocabulary("how many singers are there name age country"), true)
	if err != nil {
		t.Fatal(err)
	}
	config := parser.DefaultConfig()
	config.Encoder = Encoder(tok.Size())
	config.Decoder.State, config.Decoder.ActionEmbedding = 17, 13
	config.Decoder.Vocabulary, config.Decoder.Integers = []string{tranx.EndOfString, "1"}, []int{1, 3}
	config.MaxSteps = 60
	onWorker(t, config.Encoder, parser.EncoderPrefix, func(params *torch.Params, r *rand.Rand) error {
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
	return dir
}
