package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mattn/go-sqlite3"

	"github.com/tabert-workbench/tabert-workbench/internal/testdata"
	"github.com/tabert-workbench/tabert-workbench/parser/parsertest"
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

func TestRun(t *testing.T) {
	model := parsertest.Save(t)
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
