package tranx_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tabert-workbench/tabert-workbench/tranx"
)

func TestWords(t *testing.T) {
	type word = tranx.Word
	for _, c := range []struct {
		text string
		want []word
	}{
		{"", nil},
		{" \t", []word{{"", " \t", 2, 2}}},
		{"the  USA", []word{{"the", "", 0, 3}, {"USA", "  ", 5, 8}}},
		{"A340-300 ", []word{{"A", "", 0, 1}, {"340", "", 1, 4}, {"-", "", 4, 5}, {"300", "", 5, 8}, {"", " ", 9, 9}}},
		{"</s>", []word{{"<", "", 0, 1}, {"/", "", 1, 2}, {"s", "", 2, 3}, {">", "", 3, 4}}},
		{"Élan e\u0301 \u0301", []word{{"Élan", "", 0, 5}, {"e\u0301", " ", 6, 9}, {"\u0301", " ", 10, 12}}},
		{"x\xff\n東京", []word{{"x", "", 0, 1}, {"\xff", "", 1, 2}, {"東京", "\n", 3, 9}}},
	} {
		if diff := cmp.Diff(c.want, tranx.Words(c.text)); diff != "" {
			t.Errorf("%q (-want +got)\n%s", c.text, diff)
		}
	}
}

func FuzzWords(f *testing.F) {
	for _, text := range []string{"", " ", "How many  singers?\n", "3.5 </s> x1y2", "\xff e\u0301\u00a0ü"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var b strings.Builder
		for _, w := range tranx.Words(text) {
			b.WriteString(w.Space)
			if b.Len() != w.Start {
				t.Errorf("%q starts at %d (expected %d)", w.Text, w.Start, b.Len())
			}
			b.WriteString(w.Text)
			if b.Len() != w.End {
				t.Errorf("%q ends at %d (expected %d)", w.Text, w.End, b.Len())
			}
			if w.Space+w.Text == tranx.EndOfString || w.Space+w.Text == "" {
				t.Errorf("%+v of %q cannot be told from an end", w, text)
			}
		}
		if b.String() != text {
			t.Errorf("%q became %q", text, b.String())
		}
	})
}
