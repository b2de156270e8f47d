package exec

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/tabert-workbench/tabert-workbench/internal/testdata"
)

type pair struct {
	DB       string `json:"db_id"`
	Gold     string `json:"gold"`
	Pred     string `json:"pred"`
	Kind     string `json:"kind"`
	Exec     *bool  `json:"exec"`
	Note     Note   `json:"exec_note"`
	Unstable bool   `json:"exec_unstable"`
}

func conformance(t testing.TB) []pair {
	t.Helper()
	return testdata.Records[pair](t, filepath.Join(testdata.ConformanceDir(t), "spider-eval.jsonl.gz"))
}

func TestConformance(t *testing.T) {
	pairs := conformance(t)
	dir := filepath.Join(testdata.SpiderDir(t), "database")
	suites := map[string]*Suite{}
	wrong := 0
	for i, p := range pairs {
		s := suites[p.DB]
		if s == nil {
			var err error
			if s, err = OpenFolder(filepath.Join(dir, p.DB)); err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			suites[p.DB] = s
		}
		if p.Unstable {
			continue
		}
		got := s.Match(context.Background(), p.Gold, p.Pred, Limits{})
		if got.Note != p.Note || p.Exec != nil && got.Match != *p.Exec {
			if wrong++; wrong <= 10 {
				t.Errorf("pair %d of %s (%s)\ngold %s\npred %s\ngot  %+v\nwant %v %q", i+1, p.DB, p.Kind, p.Gold, p.Pred, got, p.Exec != nil && *p.Exec, p.Note)
			}
		}
	}
	t.Logf("%d of %d pairs agree", len(pairs)-wrong, len(pairs))
	if wrong > 10 {
		t.Errorf("%d more", wrong-10)
	}
}
