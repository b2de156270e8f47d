package eval_test

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tabert-workbench/tabert-workbench/eval"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s differs (rewrite with -update):\n%s", path, got)
	}
}

const goldFile = "\ufeffSELECT city FROM airport\tflights\r\n\n" +
	"SELECT city FROM airport WHERE code = 1\tflights\n" +
	"SELECT city, code FROM airport WHERE code = 1\tflights\n" +
	"SELECT city FROM airport WHERE code IN (SELECT source FROM flight)\tflights\n" +
	"SELECT city FROM airport GROUP BY city ORDER BY count(*) DESC LIMIT 1\tflights"

const predFile = "select city from airport\n\n\n" +
	"SELECT city FROM airport WHERE code > 1\tignored\n" +
	"SELECT code FROM airport\n" +
	"SELECT city FROM airport a\n" +
	"SELECT city FROM airport GROUP BY city ORDER BY count(*) DESC LIMIT 1\n"

var flightSchemas = map[string]*eval.Schema{"flights": eval.NewSchema(flights)}

func TestScoreFiles(t *testing.T) {
	report, err := eval.ScoreFiles(strings.NewReader(goldFile), strings.NewReader(predFile), flightSchemas)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := report.Write(&b); err != nil {
		t.Fatal(err)
	}
	golden(t, "report.txt", b.Bytes())

	if report.Count(eval.All) != 5 || report.Exact(eval.All) != .4 || report.ParseErrors() != 1 {
		t.Errorf("%d pairs, exact %v, %d unreadable", report.Count(eval.All), report.Exact(eval.All), report.ParseErrors())
	}
	report.AddExecution(eval.Easy, true)
	report.AddExecution(eval.Easy, false)
	report.AddExecution(eval.Hard, true)
	b.Reset()
	if err := report.Write(&b); err != nil {
		t.Fatal(err)
	}
	golden(t, "report_execution.txt", b.Bytes())
}

func TestScoreFilesErrors(t *testing.T) {
	for _, c := range []struct{ gold, pred, want string }{
		{"SELECT city FROM airport\n", "x", "gold queries: line 1 has 1 fields between tabs, expected a query and a db_id"},
		{"\n\nSELECT a\tb\tc\n", "x", "gold queries: line 3 has 3 fields between tabs, expected a query and a db_id"},
		{"SELECT city FROM airport\tflights\n", "", "there are 1 gold queries and 0 predictions, expected as many (blank lines do not count: an empty prediction needs some text, like SELECT)"},
		{"SELECT city FROM airport\tnowhere\n", "x", `pair 1: there is no database "nowhere" in the tables`},
		{"SELECT town FROM airport\tflights\n", "x", `pair 1: gold query "SELECT town FROM airport" on database "flights": at offset 7: found "town", expected a column of airport`},
	} {
		_, err := eval.ScoreFiles(strings.NewReader(c.gold), strings.NewReader(c.pred), flightSchemas)
		if err == nil || err.Error() != c.want {
			t.Errorf("got  %v\nwant %s", err, c.want)
		}
	}
}

func TestLoadSchemas(t *testing.T) {
	if _, err := eval.LoadSchemas(filepath.Join(t.TempDir(), "tables.json")); err == nil {
		t.Error("a missing file is no error")
	}
}
