package eval

import (
	"math"
	"testing"
)

func TestPythonFloat(t *testing.T) {
	for _, c := range []struct {
		text string
		want float64
	}{
		{"1", 1}, {"1.", 1}, {".5", .5}, {"-2.5e3", -2500}, {"+1", 1}, {"1_000", 1000}, {"1e999", math.Inf(1)},
		{"inf", math.Inf(1)}, {"-infinity", math.Inf(-1)}, {"-nan", math.NaN()}, {"１２", 12}, {"٣", 3}, {"1_0.0_1e1_0", 10.01e10},
	} {
		if got, ok := pythonFloat(c.text); !ok || got != c.want && !(math.IsNaN(got) && math.IsNaN(c.want)) {
			t.Errorf("%q is %v, %v, want %v", c.text, got, ok, c.want)
		}
	}
	for _, text := range []string{"", "x", "1__0", "_1", "1_", "1_e5", "0x1p2", "0x10", "+-1", "+", ".", "1,2", "infin", "name", "i", "1e", "in", "½", "²"} {
		if got, ok := pythonFloat(text); ok {
			t.Errorf("%q is %v, want no number", text, got)
		}
	}
}

func TestPythonInt(t *testing.T) {
	for text, want := range map[string]string{"1": "1", "007": "7", "-0": "0", "+5": "5", "-12": "-12", "1_0": "10", "𝟓": "5"} {
		if got, ok := pythonInt(text); !ok || got != want {
			t.Errorf("%q is %q, %v, want %q", text, got, ok, want)
		}
	}
	for _, text := range []string{"", "-", "1.0", "1e3", "0x1", "--1", `"3"`, "x", "1__0"} {
		if got, ok := pythonInt(text); ok {
			t.Errorf("%q is %q, want no number", text, got)
		}
	}
}
