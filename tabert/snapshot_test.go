package tabert_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/tabert-workbench/tabert-workbench/tabert"
)

// table reads cells between bars; a dot is a null cell.
func table(rows ...string) *tabert.Table {
	t := &tabert.Table{Name: "t"}
	for _, line := range rows {
		var row []tabert.Cell
		for _, text := range strings.Split(line, "|") {
			cell := tabert.TextCell(text)
			if text == "." {
				cell = tabert.Cell{}
			}
			row = append(row, cell)
		}
		t.Rows = append(t.Rows, row)
	}
	for i := range t.Rows[0] {
		t.Columns = append(t.Columns, tabert.Column{Name: fmt.Sprint("c", i), Type: tabert.Text})
	}
	return t
}

func TestSnapshot(t *testing.T) {
	olympics := []string{"2004|Athens|10,625", "2008|Beijing|10,942", "2012|London|10,568", "2016|Rio de Janeiro|."}
	tests := []struct {
		name, utterance string
		k               int
		rows, want      []string
	}{
		{"cells of several rows", "How many more participants were there in 2008 than in the London Olympics?", 1, olympics, []string{"2008|London|10,625"}},
		{"accents and case", "what about RÍO DE janeiro", 1, olympics, []string{"2004|Rio de Janeiro|10,625"}},
		{"a share, not a count", "rio de oro or athens", 1, olympics, []string{"2004|Athens|10,625"}},
		{"no overlap", "hello", 1, olympics, []string{"2004|Athens|10,625"}},
		{"no utterance", "", 1, olympics, []string{"2004|Athens|10,625"}},
		{"the first that is not null", "hello", 1, []string{".|.", ".|a", "b|."}, []string{"b|a"}},
		{"nothing but nulls", "hello", 1, []string{".|.", ".|."}, []string{".|."}},
		{"equals: the earlier one", "a b", 1, []string{"x", "b", "a"}, []string{"b"}},
		{"ideographs are words", "北京人", 1, []string{"上海", "北京"}, []string{"北京"}},
		{"rows", "2012 in London or 2008", 2, olympics, []string{"2008|Beijing|10,942", "2012|London|10,568"}},
		{"rows: equals and no overlap", "2016", 3, olympics, []string{"2004|Athens|10,625", "2008|Beijing|10,942", "2016|Rio de Janeiro|."}},
		{"fewer rows than k", "2016", 9, olympics[:2], olympics[:2]},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			source := table(tt.rows...)
			got, err := tabert.Snapshot(tt.utterance, source, tt.k)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(table(tt.want...).Rows, got); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
			if tt.k > 1 {
				return
			}
			index, err := tabert.NewIndex(source)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(got[0], index.Row(tt.utterance)); diff != "" {
				t.Errorf("index: -snapshot +index\n%s", diff)
			}
		})
	}
}

func TestSnapshotErrors(t *testing.T) {
	if _, err := tabert.Snapshot("x", table("a|b"), 0); err == nil || err.Error() != "a snapshot of 0 rows, expected at least 1" {
		t.Errorf("k = 0: %v", err)
	}
	ragged := table("a|b", "c|d")
	ragged.Rows[1] = ragged.Rows[1][:1]
	const want = `table "t": row 2 has 1 cells, expected 2`
	if _, err := tabert.Snapshot("x", ragged, 1); err == nil || err.Error() != want {
		t.Errorf("short row: %v", err)
	}
	if _, err := tabert.NewIndex(ragged); err == nil || err.Error() != want {
		t.Errorf("short row in an index: %v", err)
	}
}

// overlap is the definition, word for word: the share of the cells' n-grams that are n-grams of the utterance.
func overlap(utterance string, cells ...tabert.Cell) float64 {
	grams := func(text string) (out []string) {
		words := strings.Fields(text)
		for n := 1; n <= 3; n++ {
			for i := 0; i+n <= len(words); i++ {
				out = append(out, strings.Join(words[i:i+n], " "))
			}
		}
		return out
	}
	has := map[string]bool{}
	for _, g := range grams(utterance) {
		has[g] = true
	}
	hits, all := 0, 0
	for _, c := range cells {
		for _, g := range grams(c.Text) {
			all++
			if has[g] {
				hits++
			}
		}
	}
	return float64(hits) / float64(max(all, 1))
}

func TestSnapshotProperty(t *testing.T) {
	words := rapid.StringMatching(`(a|b|c)?( (a|b|c|d)){0,6}`)
	rapid.Check(t, func(t *rapid.T) {
		cell := rapid.Custom(func(t *rapid.T) tabert.Cell {
			return tabert.Cell{Text: words.Draw(t, "text"), Valid: true}
		})
		cells := rapid.OneOf(cell, rapid.Just(tabert.Cell{}))
		columns := rapid.IntRange(1, 3).Draw(t, "columns")
		source := &tabert.Table{Columns: make([]tabert.Column, columns)}
		source.Rows = rapid.SliceOfN(rapid.SliceOfN(cells, columns, columns), 0, 12).Draw(t, "rows")
		utterance := words.Draw(t, "utterance")

		one, err := tabert.Snapshot(utterance, source, 1)
		if err != nil {
			t.Fatal(err)
		}
		for i := range columns {
			want := tabert.Cell{}
			for _, row := range source.Rows {
				if row[i].Valid && (!want.Valid || overlap(utterance, row[i]) > overlap(utterance, want)) {
					want = row[i]
				}
			}
			if one[0][i] != want {
				t.Fatalf("column %d: %v, expected %v", i, one[0][i], want)
			}
		}
		index, err := tabert.NewIndex(source)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(one[0], index.Row(utterance)); diff != "" || !index.Complete() {
			t.Fatalf("complete: %t, -snapshot +index\n%s", index.Complete(), diff)
		}

		k := rapid.IntRange(2, 5).Draw(t, "k")
		got, err := tabert.Snapshot(utterance, source, k)
		if err != nil {
			t.Fatal(err)
		}
		want := [][]tabert.Cell{}
		for i, row := range source.Rows {
			better := 0
			for j, other := range source.Rows {
				if a, b := overlap(utterance, row...), overlap(utterance, other...); b > a || b == a && j < i {
					better++
				}
			}
			if better < k {
				want = append(want, row)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("-want +got\n%s", diff)
		}
	})
}

func TestIndexBounded(t *testing.T) {
	b := tabert.NewIndexBuilder(1)
	const n = tabert.MaxDistinct + 10
	for i := range n {
		if err := b.Add([]tabert.Cell{tabert.TextCell(fmt.Sprint("w", i))}); err != nil {
			t.Fatal(err)
		}
	}
	x := b.Index()
	if x.Complete() {
		t.Errorf("an index of %d distinct cells says that it has them all", n)
	}
	if got := x.Row("and w77777 ?")[0].Text; got != "w77777" {
		t.Errorf("found %q", got)
	}
	if got := x.Row(fmt.Sprint("w", n-1))[0].Text; got != "w0" {
		t.Errorf("a cell beyond the limit: found %q", got)
	}
}

func BenchmarkSnapshotterAdd(b *testing.B) {
	s, err := tabert.NewSnapshotter("How many more participants were there in 2008 than in the London Olympics?", 4, 1)
	if err != nil {
		b.Fatal(err)
	}
	row := []tabert.Cell{tabert.TextCell("12345"), tabert.TextCell("Industrial and Commercial Bank of China"), tabert.TextCell("2008-03-01"), {}}
	for b.Loop() {
		if err := s.Add(row); err != nil {
			b.Fatal(err)
		}
	}
}
