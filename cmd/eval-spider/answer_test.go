//go:build !notorch

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tabert-workbench/tabert-workbench/internal/testdata"
	"github.com/tabert-workbench/tabert-workbench/parser/parsertest"
	"github.com/tabert-workbench/tabert-workbench/spider/predict"
)

// questions is a split of one's own: questions on two databases, the last without a gold
// query, one with a gold query that the evaluation does not read.
const questions = `[
{"db_id": "concert_singer", "question": "How many singers are there?", "query": "SELECT count(*) FROM singer"},
{"db_id": "concert_singer", "question": "有多少歌手?", "query": "SELECT count(*) FROM singers"},
{"db_id": "pets_1", "question": "How many pets are there?", "query": "SELECT count(*) FROM pets"},
{"db_id": "pets_1", "question": "What is the age of each student?"}
]`

func records(t *testing.T, path string) (list []predict.Record) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for d := json.NewDecoder(bytes.NewReader(data)); d.More(); {
		var r predict.Record
		if err := d.Decode(&r); err != nil {
			t.Fatal(err)
		}
		list = append(list, r)
	}
	return list
}

func text(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestModel(t *testing.T) {
	model, data := parsertest.Save(t), testdata.Sample(t)
	split := files(t, "split.json", questions)[0]
	dir := t.TempDir()
	preds, sql := filepath.Join(dir, "preds.jsonl"), filepath.Join(dir, "pred.sql")
	code, out, errOut := evalSpider("--model", model, "--data", data, "--split", split, "--json", preds, "--out", sql, "--threads", "1")
	if code != 0 {
		t.Fatalf("code %d: %s", code, errOut)
	}
	list := records(t, preds)
	if len(list) != 4 || strings.Count(text(t, sql), "\n") != 4 {
		t.Fatalf("%d records, --out:\n%s\nexpected 4 of each", len(list), text(t, sql))
	}
	answered := 0
	for i, r := range list {
		line := strings.Split(text(t, sql), "\n")[i]
		switch {
		case r.Error == "" && r.Pred != "" && len(r.Beam) > 0 && r.Beam[0].Score < 0 && line == r.Pred:
			answered++
		case r.Error != "" && r.Pred == "" && line == noAnswer:
		default:
			t.Errorf("record %d: %+v, line %q", i, r, line)
		}
	}
	if answered == 0 {
		t.Error("nothing answered")
	}
	if r := list[0]; r.Exact == nil || r.Hardness != "easy" || r.Gold != "SELECT count(*) FROM singer" || r.Seconds <= 0 {
		t.Errorf("a question that is scored: %+v", r)
	}
	if r := list[1]; r.Exact != nil || !strings.Contains(r.GoldError, `found "singers", expected a table`) {
		t.Errorf("a gold query that cannot be read: %+v", r)
	}
	if r := list[3]; r.Exact != nil || r.GoldError != "" || r.Hardness != "" {
		t.Errorf("no gold query: %+v", r)
	}
	if !strings.Contains(out, "count                2                    0                    0                    0                    2") {
		t.Errorf("table:\n%s", out)
	}
	for _, want := range []string{
		"eval-spider: 1 of 4 questions are not scored, as the evaluation cannot read their gold query; the first: gold query",
		"eval-spider: 1 of 4 questions have no gold query, and are not scored\n",
	} {
		if !strings.Contains(errOut, want) {
			t.Errorf("stderr:\n%s\nexpected %q in it", errOut, want)
		}
	}

	// What --out says is scored alike without a model.
	gold := files(t, "gold.sql", list[0].Gold+"\tconcert_singer\n"+list[2].Gold+"\tpets_1\n", "pred.sql", func() string {
		l := strings.Split(text(t, sql), "\n")
		return l[0] + "\n" + l[2] + "\n"
	}())
	if code, again, errOut := evalSpider("--gold", gold[0], "--pred", gold[1], "--data", data); code != 0 || again != out {
		t.Errorf("scored without a model: code %d, %s\n%s\nwith it:\n%s", code, errOut, again, out)
	}
}

// Databases without files are named once; their questions are answered all the same.
func TestMissingDatabases(t *testing.T) {
	model, data := parsertest.Save(t), testdata.Sample(t)
	split := files(t, "split.json", questions)[0]
	preds := filepath.Join(t.TempDir(), "preds.jsonl")
	code, out, errOut := evalSpider("--model", model, "--data", data, "--split", split, "--databases", t.TempDir(), "--limit", "3", "--json", preds)
	want := "eval-spider: no file of 2 of 2 databases; their questions are answered from tables.json alone: concert_singer, pets_1\n"
	if code != 0 || strings.Count(errOut, want) != 1 || !strings.Contains(out, "exact match") {
		t.Errorf("code %d, stderr:\n%s", code, errOut)
	}
	list := records(t, preds)
	if len(list) != 3 {
		t.Fatalf("%d records, expected 3", len(list))
	}
	for _, r := range list {
		for _, h := range r.Beam {
			if h.SQL != "" && h.Error != "" {
				t.Errorf("%q was checked, though there is no file: %s", h.SQL, h.Error)
			}
		}
	}
}

// copied is a copy of a model whose file name has been changed.
func copied(t *testing.T, model, name string, change func([]byte) []byte) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(model)); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, change([]byte(text(t, path))), 0o644); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestModelErrors(t *testing.T) {
	model, data := parsertest.Save(t), testdata.Sample(t)
	half := func(b []byte) []byte { return b[:len(b)/2] }
	broken := t.TempDir()
	for _, id := range []string{"concert_singer", "pets_1"} {
		if err := os.MkdirAll(filepath.Join(broken, id), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(broken, id, id+".sqlite"), []byte("not SQLite"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, test := range []struct {
		name, model, data string
		args              []string
		want              string
	}{
		{"no model", t.TempDir(), data, nil, "is no model folder: there is no config.json in it"},
		{"no data", model, t.TempDir(), nil, "tables.json: expected a folder with Spider's public release"},
		{"no split", model, data, []string{"--split", "none"}, `unknown split "none": expected train, others, dev, test or a .json file`},
		{"truncated weights", copied(t, model, "model.safetensors", half), data, nil, "model.safetensors"},
		{"truncated header", copied(t, model, "model.safetensors", func(b []byte) []byte { return b[:20] }), data, nil, "model.safetensors"},
		{"truncated configuration", copied(t, model, "config.json", half), data, nil, "config.json"},
		{"another grammar", copied(t, model, "grammar.asdl", func(b []byte) []byte {
			return bytes.Replace(b, []byte("Count"), []byte("HowMany"), 1)
		}), data, nil, "the model was trained with another grammar"},
		{"grammar cut off", copied(t, model, "grammar.asdl", half), data, nil, "grammar.asdl"},
		{"no SQLite", model, data, []string{"--databases", broken, "--limit", "1"}, "concert_singer.sqlite"},
		{"no folder for --json", model, data, []string{"--json", filepath.Join(model, "none", "x.jsonl")}, "no such file or directory"},
	} {
		code, out, errOut := evalSpider(append([]string{"--model", test.model, "--data", test.data}, test.args...)...)
		line, _ := strings.CutSuffix(errOut, "\n")
		if code != 1 || out != "" || !strings.HasPrefix(line, "eval-spider: ") || strings.Contains(line, "\n") || !strings.Contains(line, test.want) {
			t.Errorf("%s: code %d, out %q, stderr\n%s\nexpected one line with %q", test.name, code, out, errOut, test.want)
		}
	}
}

// Ctrl-C: what is done stays, beside what was there before.
func TestInterrupted(t *testing.T) {
	dir := t.TempDir()
	preds, sql := filepath.Join(dir, "preds.jsonl"), filepath.Join(dir, "pred.sql")
	if err := os.WriteFile(preds, []byte("old\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() { // cancels when two questions are done
		for ctx.Err() == nil {
			if part, _ := os.ReadFile(preds + ".part"); bytes.Count(part, []byte("\n")) >= 2 {
				cancel()
			}
			time.Sleep(time.Millisecond)
		}
	}()
	var out, errOut bytes.Buffer
	code := run(ctx, []string{"--model", parsertest.Save(t), "--data", testdata.Sample(t), "--json", preds, "--out", sql, "--threads", "1"}, &out, &errOut)
	done := len(records(t, preds+".part"))
	want := fmt.Sprintf("eval-spider: stopped after %d of 661 questions; what is done is in %s.part and %s.part\n", done, preds, sql)
	if code != 130 || done < 2 || done > 600 || !strings.Contains(errOut.String(), want) {
		t.Errorf("code %d, stderr\n%s\nexpected 130 and\n%s", code, errOut.String(), want)
	}
	if text(t, preds) != "old\n" || strings.Count(text(t, sql+".part"), "\n") != done {
		t.Errorf("--json: %q; part of --out:\n%s", text(t, preds), text(t, sql+".part"))
	}
	if !strings.Contains(out.String(), "exact match") {
		t.Errorf("no table of what is done:\n%s", out.String())
	}

	// Stopped before it began: nothing is left.
	out.Reset()
	errOut.Reset()
	preds = filepath.Join(t.TempDir(), "none.jsonl")
	code = run(ctx, []string{"--model", parsertest.Save(t), "--data", testdata.Sample(t), "--json", preds}, &out, &errOut)
	if _, err := os.Stat(preds + ".part"); code != 130 || errOut.String() != "eval-spider: stopped after 0 of 661 questions\n" || err == nil {
		t.Errorf("stopped before it began: code %d, stderr %q, part: %v", code, errOut.String(), err)
	}
}
