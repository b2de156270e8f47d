package parser_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/sugarme/gotch"

	"github.com/tabert-workbench/tabert-workbench/database"
	"github.com/tabert-workbench/tabert-workbench/internal/testdata"
	"github.com/tabert-workbench/tabert-workbench/internal/torch"
	"github.com/tabert-workbench/tabert-workbench/parser"
	"github.com/tabert-workbench/tabert-workbench/parser/parsertest"
	"github.com/tabert-workbench/tabert-workbench/schema"
	"github.com/tabert-workbench/tabert-workbench/tabert"
	"github.com/tabert-workbench/tabert-workbench/tranx/decoder"
)

// load loads a random model on this thread.
func load(t *testing.T, dir string) *parser.Model {
	t.Helper()
	runtime.LockOSThread()
	t.Cleanup(runtime.UnlockOSThread)
	torch.SetThreads(1)
	m, err := parser.Load(dir, gotch.CPU)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Close)
	return m
}

func table(name string, columns ...string) schema.Table {
	t := schema.Table{Name: name, Original: name}
	for _, c := range columns {
		t.Columns = append(t.Columns, schema.Column{Name: c, Original: c, Type: schema.Text})
	}
	return t
}

func numbered(n int) []string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf("name age country %d", i)
	}
	return list
}

// TestMemory compares every vector of a batch with the mean over the tokens that it should come from.
func TestMemory(t *testing.T) {
	m := load(t, parsertest.Save(t))
	wide := &schema.Database{ID: "wide", Tables: []schema.Table{table("singer", numbered(300)...), table("age", "name")}}
	narrow := &schema.Database{ID: "narrow", Tables: []schema.Table{table("country", "name", "\u200b", "how many"), table("singer")}}
	for _, named := range []bool{false, true} {
		m.Config.TableName = named
		var inputs []*parser.Input
		for _, x := range []struct {
			db       *schema.Database
			question string
		}{{wide, "How many singers are there?"}, {narrow, "有多少 singers' age 12 ?"}, {narrow, "\u200b"}, {wide, strings.Repeat("name ", 400)}} {
			in, err := m.Prepare(parser.NewSource(x.db), x.question, nil)
			if err != nil {
				t.Fatal(err)
			}
			inputs = append(inputs, in)
		}
		if n := len(inputs[0].Tables[0].Sequences); n < 5 {
			t.Errorf("300 columns in %d sequences", n)
		}
		b, err := m.NewBatch(inputs)
		if err != nil {
			t.Fatal(err)
		}
		H := m.Config.Encoder.HiddenSize
		flat := make([]float32, b.Encoder.Positions*H)
		for i := range flat {
			flat[i] = float32((i*7919)%10007) / 10007
		}
		states := torch.Floats(gotch.CPU, flat, int64(b.Encoder.Positions), int64(H))
		tensor := m.Vectors(b, states)
		vectors := torch.ToFloats(tensor)
		states.MustDrop()
		tensor.MustDrop()
		used := map[int]bool{}
		first := 0 // table of the batch
		for i, in := range inputs {
			mem := b.Memories[i]
			check := func(what string, e decoder.Element, table, sequence int, spans ...tabert.Span) {
				t.Helper()
				if used[e.Row] {
					t.Errorf("%s: row %d is another's", what, e.Row)
				}
				used[e.Row] = true
				want := make([]float64, H) // the mean over spans of the means over their tokens
				for _, s := range spans {
					for p := s.Start; p < s.End; p++ {
						row := b.Encoder.Row(first+table, sequence) + p
						for h := range want {
							want[h] += float64(flat[row*H+h]) / float64(s.Len()) / float64(len(spans))
						}
					}
				}
				for h := range want {
					if math.Abs(float64(vectors[e.Row*H+h])-want[h]) > 1e-5 {
						t.Fatalf("%s: [%d] is %g, expected %g", what, h, vectors[e.Row*H+h], want[h])
					}
				}
			}
			if len(mem.Tables) != len(in.Tables) || len(mem.Words) != len(in.Words) {
				t.Fatalf("%d tables and %d words, expected %d and %d", len(mem.Tables), len(mem.Words), len(in.Tables), len(in.Words))
			}
			offset := 0
			if named {
				offset = 1
			}
			for k, entry := range mem.Tables {
				columns := in.Source.Schema.Tables[k].Columns
				if entry.Index != k || len(entry.Columns) != len(columns) {
					t.Fatalf("table %d: %d columns, expected %d", entry.Index, len(entry.Columns), len(columns))
				}
				seen := 0
				spans := []tabert.Span{{Start: 0, End: 1}}
				for q, s := range in.Tables[k].Sequences {
					for _, c := range s.Columns {
						if c.Column < offset {
							spans = append(spans, c.Name)
							continue
						}
						check(fmt.Sprintf("input %d, column %d.%d", i, k, c.Column-offset), entry.Columns[c.Column-offset], k, q, c.Name)
						seen++
					}
				}
				if seen != len(columns) {
					t.Errorf("input %d, table %d: %d of %d columns are in a sequence", i, k, seen, len(columns))
				}
				check(fmt.Sprintf("input %d, table %d", i, k), entry.Table, k, 0, spans...)
				context := in.Tables[k].Sequences[0].Context
				if len(entry.Utterance) != context.Len()-1 {
					t.Fatalf("%d utterance tokens, expected %d", len(entry.Utterance), context.Len()-1)
				}
				for u, e := range entry.Utterance {
					check(fmt.Sprintf("input %d, table %d, token %d", i, k, u), e, k, 0, tabert.Span{Start: 1 + u, End: 2 + u})
				}
			}
			pieces := 0
			for _, w := range mem.Words {
				pieces += len(w.Rows)
			}
			if want := len(mem.Tables) * len(mem.Tables[0].Utterance); pieces != want {
				t.Errorf("input %d: words have %d pieces, expected %d", i, pieces, want)
			}
			first += len(in.Tables)
		}
		if len(used)*H != len(vectors) {
			t.Errorf("%d of %d vectors are used", len(used), len(vectors)/H)
		}
		b.Free()
	}
}

func TestPrepare(t *testing.T) {
	m := load(t, parsertest.Save(t))
	db := &schema.Database{ID: "d", Tables: []schema.Table{table("singer", "name", "age"), table("country", "name")}}
	src := parser.NewSource(db)
	for _, question := range []string{"", "  \n\t"} {
		var empty parser.EmptyQuestionError
		if _, err := m.Prepare(src, question, nil); !errors.As(err, &empty) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: %v", question, err)
		}
	}
	if _, err := m.Prepare(parser.NewSource(&schema.Database{ID: "void"}), "How many?", nil); err == nil || err.Error() != "database void has no tables" {
		t.Error(err)
	}
	in, err := m.Prepare(src, " how \xff many singers? ", []int{1})
	if err != nil {
		t.Fatal(err)
	}
	if in.Question != "how \uFFFD many singers?" || len(in.Tables) != 1 || in.Tables[0].Table != 1 || len(in.Words) != 5 {
		t.Errorf("%+v", in)
	}
	in, err = m.Prepare(src, "singers", nil)
	if err != nil {
		t.Fatal(err)
	}
	all, one := in.Tokens(), in.Tables[1].Tokens()
	if in.Keep([]int{1}); in.Tokens() != one || one >= all || len(in.Tables) != 1 {
		t.Errorf("%d tokens are kept of %d, expected %d", in.Tokens(), all, one)
	}
}

// TestContextLast has the utterance behind the table, where its span ends with a [SEP].
func TestContextLast(t *testing.T) {
	m := load(t, parsertest.Save(t))
	m.Config.Linearization.ContextFirst = false
	in, err := m.Prepare(parser.NewSource(&schema.Database{ID: "d", Tables: []schema.Table{table("singer", "name")}}), "how many singers", nil)
	if err != nil {
		t.Fatal(err)
	}
	b, err := m.NewBatch([]*parser.Input{in})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Free()
	if n := len(b.Memories[0].Tables[0].Utterance); n != 3 {
		t.Errorf("%d utterance tokens, expected 3", n)
	}
}

func TestSaveAndLoad(t *testing.T) {
	dir, copied := parsertest.Save(t), filepath.Join(t.TempDir(), "copy")
	m := load(t, dir)
	if err := m.Save(copied, torch.Precision{}); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"config.json", "grammar.asdl", "vocab.txt", "model.safetensors"} {
		a, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(filepath.Join(copied, name))
		if err != nil {
			t.Fatal(err)
		}
		if string(a) != string(b) {
			t.Errorf("%s differs", name)
		}
	}
	if !parser.IsModel(copied) || parser.IsModel(t.TempDir()) {
		t.Error("IsModel")
	}
	db, err := database.Open(filepath.Join(testdata.Sample(t), "database", "concert_singer", "concert_singer.sqlite"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	ask := func(dir, question string) parser.Answer {
		p, err := parser.Open(dir, parser.Options{Device: "cpu"})
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		a, err := p.Ask(context.Background(), db, question)
		if err != nil {
			t.Fatal(err)
		}
		steps, err := p.Explain(a.Input, a.Actions)
		if err != nil {
			t.Fatal(err)
		}
		sum := 0.0
		for i, s := range steps {
			sum += s.LogProb
			if s.Action != a.Actions[i] || len(s.Attention) == 0 {
				t.Errorf("step %d: %+v", i, s)
			}
		}
		if math.Abs(sum-a.Score) > 1e-4 {
			t.Errorf("the steps' scores sum to %g, the answer's is %g", sum, a.Score)
		}
		return a
	}
	for _, question := range []string{"How many singers are there?", "有多少歌手?"} {
		a, b := ask(dir, question), ask(copied, question)
		if a.SQL == "" || a.SQL != b.SQL || a.Score != b.Score || len(a.Beam) != len(b.Beam) {
			t.Errorf("%s: %q with %g became %q with %g", question, a.SQL, a.Score, b.SQL, b.Score)
		}
	}
}

func TestLoadErrors(t *testing.T) {
	good := parsertest.Save(t)
	for _, test := range []struct {
		name   string
		file   string
		change func(text string) string // nil: the file is removed
		want   string                   // DIR stands for the folder; a last … for what libraries word
	}{
		{"no config", "config.json", nil, "DIR is no model folder: there is no config.json in it"},
		{"no grammar", "grammar.asdl", nil, "grammar of the model: open DIR/grammar.asdl: no such file or directory"},
		{"no vocabulary", "vocab.txt", nil, "vocabulary: open DIR/vocab.txt: no such file or directory"},
		{"no weights", "model.safetensors", nil, "weights: open DIR/model.safetensors: no such file or directory"},
		{"unknown key", "config.json", func(s string) string { return strings.Replace(s, `"beam"`, `"beams"`, 1) },
			`DIR/config.json: json: unknown field "beams" (is it the folder of a parser, and of this version?)`},
		{"a BERT's configuration", "config.json", func(string) string { return `{"hidden_size": 3}` },
			`DIR/config.json: json: unknown field "hidden_size" (is it the folder of a parser, and of this version?)`},
		{"version", "config.json", func(s string) string { return strings.Replace(s, `"version": 1`, `"version": 7`, 1) },
			"DIR/config.json: version 7, this program reads version 1"},
		{"beam", "config.json", func(s string) string { return strings.Replace(s, `"beam": 3`, `"beam": 0`, 1) }, "DIR: beam (0) and max_steps (60) must be positive"},
		{"grammar's name", "config.json", func(s string) string { return strings.Replace(s, `"grammar": "figure"`, `"grammar": "spoken"`, 1) },
			`DIR/config.json: semql: no grammar "spoken" (there is: figure)`},
		{"grammar text", "grammar.asdl", func(string) string { return "a = " }, "DIR/grammar.asdl: 1:5:…"},
		{"another grammar", "grammar.asdl", func(s string) string { return strings.Replace(s, "| Avg", "| Avg | Median", 1) },
			`DIR/grammar.asdl: the model was trained with another grammar than "figure" of this program: it has`},
		{"vocabulary", "vocab.txt", func(s string) string { return s + "more\n" }, "DIR: the vocabulary has "},
		{"cut off", "model.safetensors", func(s string) string { return s[:len(s)-1] }, "weights: DIR/model.safetensors: cut off: "},
		{"cut off early", "model.safetensors", func(s string) string { return s[:100] }, "weights: DIR/model.safetensors: not a safetensors file, or cut off: "},
		{"empty", "model.safetensors", func(string) string { return "" }, "weights: DIR/model.safetensors: not a safetensors file: 0 bytes, expected at least 8"},
		{"surplus parameter", "model.safetensors", func(s string) string { return strings.Replace(s, "decoder.initial.bias", "decoder.initial.bios", 1) },
			"weights DIR/model.safetensors: 2 parameters do not fit: missing decoder.initial.bias; unknown decoder.initial.bios"},
		{"encoder's parameter", "model.safetensors", func(s string) string {
			return strings.Replace(s, "encoder.embeddings.LayerNorm.bias", "encoder.embeddings.LayerNorm.bios", 1)
		}, "weights DIR/model.safetensors: 2 tensors do not fit the configuration: surplus embeddings.LayerNorm.bios; missing embeddings.LayerNorm.bias"},
		{"sizes", "config.json", func(s string) string { return strings.Replace(s, `"state": 17`, `"state": 18`, 1) }, "weights DIR/model.safetensors: "},
	} {
		dir := t.TempDir()
		for _, name := range []string{"config.json", "grammar.asdl", "vocab.txt", "model.safetensors"} {
			data, err := os.ReadFile(filepath.Join(good, name))
			if err != nil {
				t.Fatal(err)
			}
			if name == test.file {
				if test.change == nil {
					continue
				}
				changed := test.change(string(data))
				if changed == string(data) {
					t.Fatalf("%s: nothing changed", test.name)
				}
				data = []byte(changed)
			}
			if err := os.WriteFile(filepath.Join(dir, name), data, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		p, err := parser.Open(dir, parser.Options{Device: "cpu"})
		if err == nil {
			p.Close()
			t.Errorf("%s: no error", test.name)
			continue
		}
		want := strings.ReplaceAll(strings.TrimSuffix(test.want, "…"), "DIR", dir)
		if !strings.HasPrefix(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v\nexpected %s", test.name, err, want)
		}
	}
	if _, err := parser.Open(good, parser.Options{Device: "abacus"}); err == nil || err.Error() != `device "abacus": expected cpu or cuda` {
		t.Error(err)
	}
}
