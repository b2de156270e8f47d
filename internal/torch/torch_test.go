package torch

import (
	"math"
	"math/rand/v2"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/sugarme/gotch"

	"github.com/tabert-workbench/tabert-workbench/internal/safetensors"
)

func TestHalfRoundTrip(t *testing.T) {
	for h := 0; h < 1<<16; h++ {
		v := halfToFloat(uint16(h))
		if v != v {
			continue
		}
		if got := floatToHalf(v); got != uint16(h) {
			t.Fatalf("float16 %#04x = %g goes to %#04x", h, v, got)
		}
	}
	r := rand.New(rand.NewPCG(1, 2))
	for range 10000 {
		v := float32(r.NormFloat64())
		if w := halfToFloat(floatToHalf(v)); math.Abs(float64(w-v)) > math.Abs(float64(v))/2048+1e-7 {
			t.Fatalf("%g became %g", v, w)
		}
	}
}

func TestParamsSaveAndLoad(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	make := func() *Params {
		p := NewParams(gotch.CPU)
		p.Normal(r, "a.weight", 1, 7, 5)
		p.Uniform(r, "b.weight", 0.5, 3)
		return p
	}
	p, q := make(), make()
	defer p.Close()
	defer q.Close()
	path := filepath.Join(t.TempDir(), "p.safetensors")
	for _, c := range []struct {
		how Precision
		tol float64
	}{{Precision{}, 0}, {Precision{Half: true}, 2e-3}, {Precision{RowInt8: func(n string) bool { return n == "a.weight" }}, 2e-2}} {
		if err := safetensors.WriteFile(path, p.Arrays(c.how), map[string]string{"k": "v"}); err != nil {
			t.Fatal(err)
		}
		stored, meta, err := safetensors.ReadFile(path)
		if err != nil || meta["k"] != "v" {
			t.Fatal(err, meta)
		}
		if err := q.Load(stored); err != nil {
			t.Fatal(err)
		}
		for _, name := range p.Names() {
			a, b := ToFloats(p.Get(name)), ToFloats(q.Get(name))
			for i := range a {
				if math.Abs(float64(a[i]-b[i])) > c.tol {
					t.Errorf("%+v: %s[%d] = %g, was %g", c.how, name, i, b[i], a[i])
				}
			}
		}
	}
	stored := p.Arrays(Precision{})
	delete(stored, "b.weight")
	stored["c"] = safetensors.FromFloats([]float32{1}, 1)
	stored["a.weight"] = safetensors.FromFloats([]float32{1, 2}, 2)
	want := "3 parameters do not fit: a.weight has shape [2], expected [7 5]; missing b.weight; unknown c"
	if err := q.Load(stored); err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// TestAdam compares with the update rule written out, over three steps.
func TestAdam(t *testing.T) {
	p := NewParams(gotch.CPU)
	defer p.Close()
	p.Set("w", []float32{1, -2, 0.5}, 3)
	p.Train(func(string) bool { return true })
	a := NewAdam()
	defer a.Close()
	w := []float64{1, -2, 0.5}
	m, v := make([]float64, 3), make([]float64, 3)
	for step := 1; step <= 3; step++ {
		p.DropGrads()
		s := &Scope{}
		x := p.Get("w")
		s.T(s.T(x.MustMul(x, false)).MustSum(gotch.Float, false)).MustBackward() // gradient 2w
		s.Free()
		if err := a.Step(p, func(string) (float64, float64) { return 0.1, 0.01 }); err != nil {
			t.Fatal(err)
		}
		for i := range w {
			g := 2 * w[i]
			w[i] *= 1 - 0.1*0.01
			m[i] = 0.9*m[i] + 0.1*g
			v[i] = 0.999*v[i] + 0.001*g*g
			w[i] -= 0.1 * m[i] / (1 - math.Pow(0.9, float64(step))) / (math.Sqrt(v[i]/(1-math.Pow(0.999, float64(step)))) + 1e-8)
		}
		if step == 2 { // the state survives being saved
			b := NewAdam()
			if err := b.Load(a.Arrays(), gotch.CPU); err != nil {
				t.Fatal(err)
			}
			a.Close()
			a = b
		}
	}
	for i, got := range ToFloats(p.Get("w")) {
		if math.Abs(float64(got)-w[i]) > 1e-5 {
			t.Errorf("w[%d] = %g, expected %g", i, got, w[i])
		}
	}
}

func TestClip(t *testing.T) {
	p := NewParams(gotch.CPU)
	defer p.Close()
	p.Set("w", []float32{3, 4}, 2)
	p.Train(func(string) bool { return true })
	s := &Scope{}
	defer s.Free()
	x := p.Get("w")
	s.T(s.T(x.MustMul(x, false)).MustSum(gotch.Float, false)).MustBackward()
	norm, err := p.Clip(5)
	if err != nil || math.Abs(norm-10) > 1e-5 {
		t.Fatal(norm, err)
	}
	if g := p.Grad("w"); math.Abs(float64(g[0])-3) > 1e-4 || math.Abs(float64(g[1])-4) > 1e-4 {
		t.Errorf("clipped gradient %v, expected [3 4]", g)
	}
}

func TestWorkerTurnsPanicsIntoErrors(t *testing.T) {
	w := NewWorker()
	defer w.Close()
	if err := w.Do(func() error { panic("boom") }); err == nil || !strings.Contains(err.Error(), "boom") {
		t.Errorf("got %v", err)
	}
	if err := w.Do(func() error { return nil }); err != nil {
		t.Error(err)
	}
}

func TestNoGradRestores(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	func() {
		defer func() { _ = recover() }()
		NoGrad(func() { panic("x") })
	}()
	p := NewParams(gotch.CPU)
	defer p.Close()
	p.Set("w", []float32{1}, 1)
	p.Train(func(string) bool { return true })
	s := &Scope{}
	defer s.Free()
	if y := s.T(p.Get("w").MustMul(p.Get("w"), false)); !y.MustRequiresGrad() {
		t.Error("gradients stayed off after a panic")
	}
}

// TestTrain switches gradients on and off: exactly what is wanted has one, and Load and
// Adam leave it so.
func TestTrain(t *testing.T) {
	p := NewParams(gotch.CPU)
	defer p.Close()
	p.Set("a", []float32{1, 2}, 2)
	p.Set("b", []float32{3, 4}, 2)
	grads := func() string {
		p.DropGrads()
		s := &Scope{}
		defer s.Free()
		l := s.T(s.T(p.Get("a").MustMul(p.Get("b"), false)).MustSum(gotch.Float, false))
		if l.MustRequiresGrad() {
			l.MustBackward()
		}
		text := ""
		for _, name := range p.Names() {
			if p.Grad(name) != nil {
				text += name
			}
		}
		return text
	}
	for _, want := range []string{"", "a", "b", "ab", "a"} {
		p.Train(func(name string) bool { return strings.Contains(want, name) })
		if got := grads(); got != want {
			t.Errorf("gradients of %q, expected of %q", got, want)
		}
	}
	if p.Train(nil); p.Grad("a") != nil {
		t.Error("what is no longer trained keeps its gradient")
	}
	p.Train(func(name string) bool { return name == "b" })
	if err := p.Load(p.Arrays(Precision{})); err != nil {
		t.Fatal(err)
	}
	if got := grads(); got != "b" {
		t.Errorf("gradients of %q behind Load, expected of b", got)
	}
	a := NewAdam()
	defer a.Close()
	for range 2 {
		if err := a.Step(p, func(string) (float64, float64) { return 0.1, 0 }); err != nil {
			t.Fatal(err)
		}
		if got := grads(); got != "b" {
			t.Errorf("gradients of %q behind a step, expected of b", got)
		}
	}
	if v := ToFloats(p.Get("a")); v[0] != 1 || v[1] != 2 {
		t.Errorf("a became %v without being trained", v)
	}
}

func TestAdamErrors(t *testing.T) {
	one := safetensors.FromFloats([]float32{1}, 1)
	for _, test := range []struct {
		arrays map[string]safetensors.Array
		want   string
	}{
		{map[string]safetensors.Array{"x": one}, `optimiser state "x": unknown name`},
		{map[string]safetensors.Array{"adam.m.w": one, "adam.t.w": one}, `optimiser state of "w" is incomplete`},
		{map[string]safetensors.Array{"adam.v.w": one, "adam.t.w": one}, `optimiser state of "w" is incomplete`},
		{map[string]safetensors.Array{"adam.m.w": one, "adam.v.w": one}, `optimiser state of "w" is incomplete`},
		{map[string]safetensors.Array{"adam.t.w": safetensors.FromFloats(nil, 0)}, `optimiser state "adam.t.w" has 0 values, expected 1`},
		{map[string]safetensors.Array{"adam.m.w": {DType: safetensors.I8, Shape: []int64{1}, Data: []byte{1}}}, `optimiser state "adam.m.w": array of type I8 where F32 was expected`},
	} {
		a := NewAdam()
		if err := a.Load(test.arrays, gotch.CPU); err == nil || err.Error() != test.want {
			t.Errorf("%v, expected %s", err, test.want)
		}
		a.Close()
	}
}
