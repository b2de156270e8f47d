package torch

// #include "native.h"
import "C"

import (
	"fmt"
	"unsafe"

	"github.com/sugarme/gotch"
	"github.com/sugarme/gotch/libtch"
	"github.com/sugarme/gotch/ts"

	"github.com/tabert-workbench/tabert-workbench/internal/safetensors"
)

// Adam is the optimiser of Kingma and Ba (2015), with decoupled weight decay, over
// named parameters; its moments go into checkpoints.
type Adam struct {
	Beta1, Beta2, Eps float64
	m, v              map[string]*ts.Tensor
	steps             map[string]int64
}

// NewAdam is an Adam with PyTorch's defaults.
func NewAdam() *Adam {
	return &Adam{Beta1: 0.9, Beta2: 0.999, Eps: 1e-8, m: map[string]*ts.Tensor{}, v: map[string]*ts.Tensor{}, steps: map[string]int64{}}
}

// Step updates every parameter that has a gradient. rate gives a parameter's learning
// rate and weight decay.
func (a *Adam) Step(p *Params, rate func(name string) (lr, decay float64)) error {
	for _, name := range p.Names() {
		t := p.tensors[name]
		var g unsafe.Pointer
		if C.tw_grad(t.Ctensor(), &g) == 0 {
			continue
		}
		grad := ts.New(libtch.Ctensor(g))
		if a.m[name] == nil {
			a.m[name], a.v[name] = zerosLike(t), zerosLike(t)
		}
		a.steps[name]++
		lr, decay := rate(name)
		err := failure(C.tw_adam(t.Ctensor(), grad.Ctensor(), a.m[name].Ctensor(), a.v[name].Ctensor(),
			C.double(lr), C.double(a.Beta1), C.double(a.Beta2), C.double(a.Eps), C.double(decay), C.int64_t(a.steps[name])))
		grad.MustDrop()
		if err != nil {
			return fmt.Errorf("Adam step of %q: %w", name, err)
		}
	}
	return nil
}

func zerosLike(t *ts.Tensor) *ts.Tensor {
	var z *ts.Tensor
	NoGrad(func() { z = ZerosLike(t) })
	return z
}

const firstMoment, secondMoment, stepCount = "adam.m.", "adam.v.", "adam.t."

// Arrays copies the state out.
func (a *Adam) Arrays() map[string]safetensors.Array {
	arrays := map[string]safetensors.Array{}
	for name, m := range a.m {
		arrays[firstMoment+name] = safetensors.FromFloats(ToFloats(m), m.MustSize()...)
		arrays[secondMoment+name] = safetensors.FromFloats(ToFloats(a.v[name]), m.MustSize()...)
		arrays[stepCount+name] = safetensors.FromFloats([]float32{float32(a.steps[name])}, 1)
	}
	return arrays
}

// Load sets the state from what Arrays gave.
func (a *Adam) Load(arrays map[string]safetensors.Array, device gotch.Device) error {
	for name, arr := range arrays {
		values, err := arr.Floats()
		if err != nil {
			return fmt.Errorf("optimiser state %q: %w", name, err)
		}
		base, isStep := cut(name, stepCount)
		if isStep {
			if len(values) != 1 {
				return fmt.Errorf("optimiser state %q has %d values, expected 1", name, len(values))
			}
			a.steps[base] = int64(values[0])
			continue
		}
		into := a.m
		base, ok := cut(name, firstMoment)
		if !ok {
			into = a.v
			if base, ok = cut(name, secondMoment); !ok {
				return fmt.Errorf("optimiser state %q: unknown name", name)
			}
		}
		if old := into[base]; old != nil {
			old.MustDrop()
		}
		into[base] = Floats(device, values, arr.Shape...)
	}
	for _, moments := range []map[string]*ts.Tensor{a.m, a.v} {
		for name := range moments {
			if a.m[name] == nil || a.v[name] == nil || a.steps[name] == 0 {
				return fmt.Errorf("optimiser state of %q is incomplete", name)
			}
		}
	}
	return nil
}

func cut(name, prefix string) (string, bool) {
	if len(name) > len(prefix) && name[:len(prefix)] == prefix {
		return name[len(prefix):], true
	}
	return name, false
}

// Close frees the state.
func (a *Adam) Close() {
	for _, moments := range []map[string]*ts.Tensor{a.m, a.v} {
		for _, m := range moments {
			m.MustDrop()
		}
	}
	a.m, a.v, a.steps = nil, nil, nil
}
