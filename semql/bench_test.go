package semql_test

import (
	"testing"

	"github.com/tabert-workbench/tabert-workbench/internal/testdata"
	"github.com/tabert-workbench/tabert-workbench/semql"
)

// BenchmarkRoundTrip takes the queries of Spider's dev set from SQL to a tree and back.
func BenchmarkRoundTrip(b *testing.B) {
	dir := testdata.SpiderDir(b)
	dbs := spiderSchemas(b, dir)
	g := figure(b)
	queries := spiderSplit(b, dir, "dev")
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		e := queries[n%len(queries)]
		n++
		tree, err := semql.FromSQL(e.Query, dbs[e.ID], g)
		if err != nil {
			continue
		}
		if _, err := semql.Render(tree, dbs[e.ID]); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "queries/s")
}
