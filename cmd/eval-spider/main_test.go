package main

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tabert-workbench/tabert-workbench/internal/testdata"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// evalSpider runs the command.
func evalSpider(args ...string) (code int, out, errOut string) {
	var o, e bytes.Buffer
	code = run(context.Background(), args, &o, &e)
	return code, o.String(), e.String()
}

func golden(t *testing.T, file, got string) {
	t.Helper()
	path := filepath.Join("testdata", file)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s (rewritten by -update): got\n%s", file, got)
	}
}

// files writes a file for each name and text that follow each other, and returns their paths.
func files(t *testing.T, texts ...string) (paths []string) {
	t.Helper()
	dir := t.TempDir()
	for i := 0; i < len(texts); i += 2 {
		path := filepath.Join(dir, texts[i])
		if err := os.WriteFile(path, []byte(texts[i+1]), 0o644); err != nil {
			t.Fatal(err)
		}
		paths = append(paths, path)
	}
	return paths
}

// dev has gold.sql of the sample's dev questions, and the same queries as predictions.
func dev(t *testing.T) (gold, pred []string) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(testdata.Sample(t), "dev.json"))
	if err != nil {
		t.Fatal(err)
	}
	var examples []struct {
		DB    string `json:"db_id"`
		Query string `json:"query"`
	}
	if err := json.Unmarshal(data, &examples); err != nil {
		t.Fatal(err)
	}
	for _, x := range examples {
		gold, pred = append(gold, x.Query+"\t"+x.DB), append(pred, x.Query)
	}
	return gold, pred
}

func TestScore(t *testing.T) {
	data := testdata.Sample(t)
	gold, pred := dev(t)
	paths := files(t, "gold.sql", strings.Join(gold, "\n"), "perfect.sql", strings.Join(pred, "\n")+"\n")
	records := filepath.Join(t.TempDir(), "scores.jsonl")
	code, out, errOut := evalSpider("--gold", paths[0], "--pred", paths[1], "--data", data, "--json", records)
	if code != 0 || errOut != "" {
		t.Fatalf("code %d: %s", code, errOut)
	}
	golden(t, "perfect.txt", out)
	text, err := os.ReadFile(records)
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(text), `"exact":true`); n != len(gold) || strings.Count(string(text), "\n") != n {
		t.Errorf("%d exact matches in --json, expected %d", n, len(gold))
	}

	// Every third is not readable, every third of the rest asks for something else.
	for i := range pred {
		switch i % 3 {
		case 1:
			pred[i] = "SELECT"
		case 2:
			pred[i] += " LIMIT 3"
		}
	}
	wrong := files(t, "wrong.sql", strings.Join(pred, "\n"))[0]
	code, out, errOut = evalSpider("--gold", paths[0], "--pred", wrong, "--tables", filepath.Join(data, "tables.json"), "--json", records)
	if code != 0 || errOut != "" {
		t.Fatalf("code %d: %s", code, errOut)
	}
	golden(t, "wrong.txt", out)
	if text, err = os.ReadFile(records); err != nil {
		t.Fatal(err)
	}
	golden(t, "wrong.jsonl", strings.Join(strings.SplitAfter(string(text), "\n")[:6], ""))
}

func TestScoreErrors(t *testing.T) {
	data := testdata.Sample(t)
	const good = "SELECT count(*) FROM singer\tconcert_singer\n"
	for _, test := range []struct {
		name, gold, pred, want string
		data                   string
	}{
		{"no tab", good + "\nSELECT count(*) FROM singer\n", "SELECT\n", "DIR/gold.sql: line 3 has 1 fields between tabs, expected a query and a db_id", data},
		{"unknown database", good + "SELECT 1\tnone\n", "SELECT\nSELECT\n",
			`DIR/gold.sql: line 2: there is no database "none" in DATA/tables.json`, data},
		{"unreadable gold", "\n\nSELECT count(*) FROM singers\tconcert_singer\n", "SELECT\n",
			`DIR/gold.sql: line 3: gold query "SELECT count(*) FROM singers" on database "concert_singer": at offset 21: found "singers", expected a table`, data},
		{"too few predictions", good + good, "SELECT\n\n", "DIR/gold.sql and DIR/pred.sql: there are 2 gold queries and 1 predictions, " +
			"expected as many (blank lines do not count: an empty prediction needs some text, like SELECT)", data},
		{"nothing", "\n", "SELECT\n", "DIR/gold.sql: no queries in it", data},
		{"no tables", good, "SELECT\n", "no DIR/tables.json: expected a folder with Spider's public release, or a file given by --tables", ""},
	} {
		paths := files(t, "gold.sql", test.gold, "pred.sql", test.pred)
		dir := filepath.Dir(paths[0])
		if test.data == "" {
			test.data = dir
		}
		records := filepath.Join(dir, "scores.jsonl")
		code, out, errOut := evalSpider("--gold", paths[0], "--pred", paths[1], "--data", test.data, "--json", records)
		got := strings.NewReplacer(data, "DATA", dir, "DIR").Replace(errOut)
		if code != 1 || out != "" || got != "eval-spider: "+test.want+"\n" {
			t.Errorf("%s: code %d, out %q, error\n%s\nwant\neval-spider: %s", test.name, code, out, got, test.want)
		}
		if _, err := os.Stat(records); err == nil {
			t.Errorf("%s: a file for --json is there", test.name)
		}
	}
}

func TestUsage(t *testing.T) {
	for _, test := range []struct{ args, want string }{
		{"--data d", "expected either --model, or both --gold and --pred (eval-spider --help shows the usage)"},
		{"--data d --gold g", "expected either --model, or both --gold and --pred (eval-spider --help shows the usage)"},
		{"--model m", "--data is missing: the folder of Spider's public release"},
		{"--gold g --pred p", "--data or --tables is missing: the schemas of the databases"},
		{"--data d --model m --gold g", "--model answers the questions of --split; it does not go with --gold and --pred"},
		{"--data d --gold g --pred p --split dev", "--split goes with --model, not with --gold and --pred"},
		{"--data d --gold g --pred p --out o", "--out goes with --model, not with --gold and --pred"},
		{"--data d --model m --limit=-1", "--limit, --beam and --threads must not be negative"},
		{"--data d --model m --device gpu", `--device must be one of "cpu","cuda" but got "gpu" (eval-spider --help shows the usage)`},
	} {
		code, out, errOut := evalSpider(strings.Fields(test.args)...)
		if code != 2 || out != "" || errOut != "eval-spider: "+test.want+"\n" {
			t.Errorf("%s: code %d, out %q, error\n%s", test.args, code, out, errOut)
		}
	}
	code, out, errOut := evalSpider("--help")
	if code != 0 || errOut != "" || !strings.Contains(out, "For example:\n\n    eval-spider --model") || !strings.Contains(out, "--gold=FILE") {
		t.Errorf("--help: code %d, error %q, out\n%s", code, errOut, out)
	}
}
