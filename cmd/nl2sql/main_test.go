package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mattn/go-sqlite3"
	"github.com/sugarme/gotch"

	"github.com/tabert-workbench/tabert-workbench/internal/testdata"
	"github.com/tabert-workbench/tabert-workbench/internal/torch"
	"github.com/tabert-workbench/tabert-workbench/parser"
	"github.com/tabert-workbench/tabert-workbench/tabert"
	"github.com/tabert-workbench/tabert-workbench/tabert/encoder"
	"github.com/tabert-workbench/tabert-workbench/tranx"
)

// wide makes a database whose one table has 300 columns.
func wide(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "wide.sqlite")
	c, err := new(sqlite3.SQLiteDriver).Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	columns := make([]string, 300)
	for i := range columns {
		columns[i] = fmt.Sprintf("c%d DEFAULT %d", i, i)
	}
	for _, sql := range []string{"CREATE TABLE singer (" + strings.Join(columns, ", ") + ")", "INSERT INTO singer DEFAULT VALUES"} {
		if _, err := c.(*sqlite3.SQLiteConn).Exec(sql, nil); err != nil {
			t.Fatal(err)
		}
	}
	return path
}

// randomModel saves a small model that has learnt nothing, but likes columns and short lists:
// wholly random queries hardly ever end.
func randomModel(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "model")
	words := "[PAD] [UNK] [CLS] [SEP] [MASK] how many singers are there name age country real text table | 1 2 ?"
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
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

func TestRun(t *testing.T) {
	model := randomModel(t)
	file := filepath.Join(testdata.Sample(t), "database", "concert_singer", "concert_singer.sqlite")
	nl2sql := func(file string, args ...string) (int, string, string) {
		var out, errOut bytes.Buffer
		code := run(append([]string{file, "--model", model}, args...), strings.NewReader(""), &out, &errOut)
		return code, out.String(), errOut.String()
	}

	code, out, errOut := nl2sql(file, "--format", "json", "--trace", "-q", "How many singers are there?")
	if code != 0 {
		t.Fatalf("code %d: %s", code, errOut)
	}
	var got struct {
		SQL   string  `json:"sql"`
		Score float64 `json:"score"`
		Trace []struct{ Name, Text string }
	}
	if err := json.Unmarshal([]byte(out), &got); err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(got.SQL, "SELECT ") || got.Score >= 0 {
		t.Errorf("answer %+v", got)
	}
	// Every stage of the way, in its order, with something of what it is.
	for i, want := range []struct{ name, part string }{
		{"question", "words: How | many | singers | are | there | ?"},
		{"snapshot", "Name = "},
		{"linearisation", "singer 1/1: [CLS] how many singers"},
		{"memory", "T [14]"},
		{"actions", "ApplyConstr(SelectStatement)"},
		{"beam", got.SQL},
		{"tree", "(SelectStatement"},
	} {
		if i >= len(got.Trace) || got.Trace[i].Name != want.name || !strings.Contains(got.Trace[i].Text, want.part) {
			t.Errorf("stage %d: want %s with %q; trace: %+v", i, want.name, want.part, got.Trace)
			break
		}
	}

	for _, test := range []struct {
		name, file string
		args       []string
		code       int
		want       string
	}{
		{"300 columns", wide(t), []string{"-q", "How many singers are there?"}, 0, ""},
		{"Chinese", file, []string{"-q", "有多少歌手?", "--format", "sql"}, 0, ""},
		{"no model", file, []string{"--model", t.TempDir(), "-q", "x"}, 1, "is no model folder: there is no config.json in it\n"},
	} {
		code, _, errOut := nl2sql(test.file, test.args...)
		if code != test.code || !strings.HasSuffix(errOut, test.want) || strings.Count(errOut, "\n") != test.code {
			t.Errorf("%s: code %d, stderr %q", test.name, code, errOut)
		}
	}
}
