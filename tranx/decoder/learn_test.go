package decoder

import (
	"math"
	"testing"

	"github.com/sugarme/gotch/ts"

	"github.com/tabert-workbench/tabert-workbench/internal/torch"
)

// TestLearn holds Learn's gradients against those of Loss and its plain backward pass, with
// the same dropout.
func TestLearn(t *testing.T) {
	d, vectors, batch := fixture(t)
	d.Config.Dropout = 0.3
	d.params.Train(func(string) bool { return true })
	const weight = 0.7
	gradients := func(learn func(x *ts.Tensor) float64) (float64, map[string][]float32) {
		d.params.DropGrads()
		plain := tensor(vectors)
		defer plain.MustDrop()
		leaf := torch.Leaf(plain)
		defer leaf.MustDrop()
		x := torch.Scale(leaf, 1.5) // has a history, as the encoder's output has
		defer x.MustDrop()
		torch.Seed(5)
		loss := learn(x)
		all := map[string][]float32{}
		for _, s := range d.shapes() {
			all[s.name] = d.params.Grad("d." + s.name)
		}
		g := torch.Grad(leaf)
		defer g.MustDrop()
		all["vectors"] = torch.ToFloats(g)
		return loss, all
	}
	wantLoss, want := gradients(func(x *ts.Tensor) float64 {
		var scope torch.Scope
		defer scope.Free()
		l, _, err := d.Loss(&scope, x, batch, true)
		if err != nil {
			t.Fatal(err)
		}
		l = scope.T(torch.Scale(l, weight))
		if err := l.Backward(); err != nil {
			t.Fatal(err)
		}
		return float64(torch.ToFloats(l)[0])
	})
	gotLoss, got := gradients(func(x *ts.Tensor) float64 {
		l, _, err := d.Learn(x, batch, weight)
		if err != nil {
			t.Fatal(err)
		}
		return l
	})
	if math.Abs(gotLoss-wantLoss) > 1e-5*math.Abs(wantLoss) {
		t.Errorf("loss %g, expected %g", gotLoss, wantLoss)
	}
	for name, w := range want {
		g := got[name]
		if len(g) != len(w) || len(w) == 0 {
			t.Errorf("%s has %d gradients, expected %d", name, len(g), len(w))
			continue
		}
		for i := range w {
			if math.Abs(float64(g[i]-w[i])) > 1e-5+1e-4*math.Abs(float64(w[i])) {
				t.Errorf("gradient of %s[%d] is %g, expected %g", name, i, g[i], w[i])
				break
			}
		}
	}
}
