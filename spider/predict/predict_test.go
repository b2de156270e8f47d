package predict

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/tabert-workbench/tabert-workbench/internal/testdata"
	"github.com/tabert-workbench/tabert-workbench/parser"
	"github.com/tabert-workbench/tabert-workbench/parser/parsertest"
	"github.com/tabert-workbench/tabert-workbench/spider"
)

func TestRun(t *testing.T) {
	data, err := spider.Load(testdata.Sample(t), spider.Dev)
	if err != nil {
		t.Fatal(err)
	}
	data.Examples = data.Examples[:5]
	p, err := parser.Open(parsertest.Save(t), parser.Options{Device: "cpu", Beam: 2, Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()

	var got []Record
	keep := func(r Record) error { got = append(got, r); return nil }
	if err := Run(context.Background(), p, data, keep); err != nil {
		t.Fatal(err)
	}
	if len(got) != len(data.Examples) {
		t.Fatalf("%d records, expected %d", len(got), len(data.Examples))
	}
	for i, r := range got {
		x := data.Examples[i]
		if r.DB != x.DBID || r.Question != x.Question || r.Gold != x.Query || r.Exact == nil || r.Hardness == "" || len(r.Beam) > 2 {
			t.Errorf("record %d: %+v", i, r)
		}
		want := ""
		for _, h := range r.Beam {
			if h.Error == "" {
				want = h.SQL
				break
			}
		}
		if r.Pred != want || (r.Error == "") != (want != "") {
			t.Errorf("record %d: answer %q, error %q, expected the first hypothesis without an error, %q", i, r.Pred, r.Error, want)
		}
	}

	full := errors.New("the disk is full")
	if err := Run(context.Background(), p, data, func(Record) error { return full }); !errors.Is(err, full) {
		t.Errorf("an error of the caller: %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	got = nil
	err = Run(ctx, p, data, func(r Record) error {
		if got = append(got, r); len(got) == 3 {
			cancel()
		}
		return nil
	})
	if !parser.IsCancelled(err) || len(got) != 3 {
		t.Errorf("cancelled after 3 records: %d, %v", len(got), err)
	}
}

func TestSources(t *testing.T) {
	data, err := spider.Load(testdata.Sample(t), spider.Dev)
	if err != nil {
		t.Fatal(err)
	}
	s := NewSources(data)
	first, err := s.Get(context.Background(), "pets_1")
	if err != nil {
		t.Fatal(err)
	}
	if second, err := s.Get(context.Background(), "pets_1"); err != nil || second != first {
		t.Errorf("read again: %v", err)
	}
	if first.Schema != data.Databases["pets_1"] {
		t.Error("the schema is not that of tables.json")
	}
	if _, err := s.Get(context.Background(), "none"); err == nil || !strings.Contains(err.Error(), `no schema of database "none"`) {
		t.Errorf("unknown database: %v", err)
	}
}
