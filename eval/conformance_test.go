package eval_test

import (
	"encoding/json"
	"path/filepath"
	"reflect"
	"sync"
	"testing"

	"github.com/tabert-workbench/tabert-workbench/eval"
	"github.com/tabert-workbench/tabert-workbench/internal/testdata"
	"github.com/tabert-workbench/tabert-workbench/schema"
)

// pair is a record of spider-eval.jsonl.gz.
type pair struct {
	DB             string                  `json:"db_id"`
	Gold           string                  `json:"gold"`
	Pred           string                  `json:"pred"`
	Kind           string                  `json:"kind"`
	Hardness       string                  `json:"hardness"`
	Exact          int                     `json:"exact"`
	Partial        map[string]eval.Partial `json:"partial"`
	PredParseError bool                    `json:"pred_parse_error"`
}

var loadSchemas = sync.OnceValues(func() (map[string]*schema.Database, error) {
	return schema.LoadJSON(tablesJSON)
})

var tablesJSON string

// schemas prepares all databases of Spider.
func schemas(t testing.TB) map[string]*eval.Schema {
	t.Helper()
	tablesJSON = filepath.Join(testdata.SpiderDir(t), "tables.json")
	dbs, err := loadSchemas()
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]*eval.Schema{}
	for name, db := range dbs {
		all[name] = eval.NewSchema(db)
	}
	return all
}

// The verdicts of the official evaluation.
func TestMatchConformance(t *testing.T) {
	pairs := testdata.Records[pair](t, filepath.Join(testdata.ConformanceDir(t), "spider-eval.jsonl.gz"))
	schemas := schemas(t)
	wrong := 0
	for i, p := range pairs {
		got, err := schemas[p.DB].Match(p.Gold, p.Pred)
		if err != nil {
			t.Errorf("pair %d: %v", i+1, err)
			continue
		}
		if got.Exact != (p.Exact == 1) || got.Hardness != p.Hardness || !reflect.DeepEqual(got.Partial, p.Partial) ||
			(got.PredParseError != nil) != p.PredParseError {
			if wrong++; wrong <= 5 {
				t.Errorf("pair %d of %s\ngold %s\npred %s\ngot  %+v\nwant %+v", i+1, p.DB, p.Gold, p.Pred, got, p)
			}
		}
	}
	t.Logf("%d of %d pairs agree", len(pairs)-wrong, len(pairs))
	if wrong > 0 {
		t.Errorf("%d of %d pairs differ", wrong, len(pairs))
	}
}

// The trees of the official reader.
func TestParseConformance(t *testing.T) {
	type query struct {
		DB    string `json:"db_id"`
		Query string `json:"query"`
		SQL   any    `json:"sql"`
	}
	queries := testdata.Records[query](t, filepath.Join(testdata.ConformanceDir(t), "spider-parse.jsonl.gz"))
	schemas := schemas(t)
	for i, q := range queries {
		parsed, err := schemas[q.DB].Parse(q.Query)
		if err != nil {
			t.Errorf("query %d of %s: %s: %v", i+1, q.DB, q.Query, err)
			continue
		}
		text, err := json.Marshal(parsed)
		if err != nil {
			t.Fatal(err)
		}
		var got any
		if err := json.Unmarshal(text, &got); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got, q.SQL) {
			want, _ := json.Marshal(q.SQL)
			t.Errorf("query %d of %s: %s\ngot  %s\nwant %s", i+1, q.DB, q.Query, text, want)
		}
	}
	t.Logf("%d queries", len(queries))
}

// Gold queries are read once, as in training and in the evaluation of several models.
func BenchmarkMatch(b *testing.B) {
	pairs := testdata.Records[pair](b, filepath.Join(testdata.ConformanceDir(b), "spider-eval.jsonl.gz"))
	schemas := schemas(b)
	b.ReportAllocs()
	b.ResetTimer()
	for i := 0; i < b.N; i++ {
		p := &pairs[i%len(pairs)]
		if _, err := schemas[p.DB].Match(p.Gold, p.Pred); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "pairs/s")
}

// Everything is read anew, as in one run of the evaluation.
func BenchmarkMatchOnce(b *testing.B) {
	pairs := testdata.Records[pair](b, filepath.Join(testdata.ConformanceDir(b), "spider-eval.jsonl.gz"))
	var all map[string]*eval.Schema
	b.ReportAllocs()
	b.ResetTimer()
	for i := 0; i < b.N; i++ {
		if i%len(pairs) == 0 {
			b.StopTimer()
			all = schemas(b)
			b.StartTimer()
		}
		p := &pairs[i%len(pairs)]
		if _, err := all[p.DB].Match(p.Gold, p.Pred); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "pairs/s")
}
