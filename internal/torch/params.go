package torch

// #include "native.h"
import "C"

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"sort"
	"strings"
	"unsafe"

	"github.com/sugarme/gotch"
	"github.com/sugarme/gotch/libtch"
	"github.com/sugarme/gotch/ts"

	"github.com/tabert-workbench/tabert-workbench/internal/safetensors"
)

// Params are the parameters of a model, by name. Names are paths with dots, as in
// PyTorch's state dictionaries.
type Params struct {
	Device  gotch.Device
	tensors map[string]*ts.Tensor
}

// NewParams makes an empty set on a device.
func NewParams(device gotch.Device) *Params {
	return &Params{Device: device, tensors: map[string]*ts.Tensor{}}
}

// Names are the names of all parameters, sorted.
func (p *Params) Names() []string {
	names := make([]string, 0, len(p.tensors))
	for name := range p.tensors {
		names = append(names, name)
	}
	sort.Strings(names)
	return names
}

// Count is the number of scalars in all parameters.
func (p *Params) Count() int {
	n := 0
	for _, t := range p.tensors {
		n += int(t.Numel())
	}
	return n
}

// Get is the parameter of that name, nil if there is none.
func (p *Params) Get(name string) *ts.Tensor { return p.tensors[name] }

// Need is the parameter of that name; it must have that shape.
func (p *Params) Need(name string, shape ...int64) (*ts.Tensor, error) {
	t, ok := p.tensors[name]
	if !ok {
		return nil, fmt.Errorf("parameter %q is missing", name)
	}
	if got := t.MustSize(); !equal(got, shape) {
		return nil, fmt.Errorf("parameter %q has shape %v, expected %v", name, got, shape)
	}
	return t, nil
}

func equal(a, b []int64) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

// Set puts a parameter in place of the one of that name, if any.
func (p *Params) Set(name string, values []float32, shape ...int64) {
	p.put(name, Floats(p.Device, values, shape...))
}

func (p *Params) put(name string, t *ts.Tensor) {
	if old, ok := p.tensors[name]; ok {
		old.MustDrop()
	}
	p.tensors[name] = t
}

// Normal makes a parameter from N(0, std²).
func (p *Params) Normal(r *rand.Rand, name string, std float64, shape ...int64) {
	p.fill(name, func() float64 { return r.NormFloat64() * std }, shape)
}

// Uniform makes a parameter from U(−bound, bound).
func (p *Params) Uniform(r *rand.Rand, name string, bound float64, shape ...int64) {
	p.fill(name, func() float64 { return (2*r.Float64() - 1) * bound }, shape)
}

// Constant makes a parameter of one value.
func (p *Params) Constant(name string, value float64, shape ...int64) {
	p.fill(name, func() float64 { return value }, shape)
}

func (p *Params) fill(name string, next func() float64, shape []int64) {
	n := int64(1)
	for _, d := range shape {
		n *= d
	}
	values := make([]float32, n)
	for i := range values {
		values[i] = float32(next())
	}
	p.Set(name, values, shape...)
}

// Train makes exactly the parameters that want accepts record gradients.
func (p *Params) Train(want func(name string) bool) {
	for name, t := range p.tensors {
		on := want != nil && want(name)
		if t.MustRequiresGrad() != on {
			p.tensors[name] = t.MustSetRequiresGrad(on, true)
		}
		if !on {
			C.tw_drop_grad(p.tensors[name].Ctensor())
		}
	}
}

// DropGrads frees all gradients.
func (p *Params) DropGrads() {
	for _, t := range p.tensors {
		C.tw_drop_grad(t.Ctensor())
	}
}

// Grad copies the gradient of a parameter out, nil where it has none.
func (p *Params) Grad(name string) []float32 {
	t, ok := p.tensors[name]
	if !ok {
		return nil
	}
	var grad unsafe.Pointer
	if C.tw_grad(t.Ctensor(), &grad) == 0 {
		return nil
	}
	g := ts.New(libtch.Ctensor(grad))
	defer g.MustDrop()
	return ToFloats(g)
}

// Clip scales all gradients so that their common L2 norm is at most max (0: no limit),
// and returns the norm that they had.
func (p *Params) Clip(max float64) (float64, error) {
	pointers := make([]unsafe.Pointer, 0, len(p.tensors))
	for _, name := range p.Names() {
		pointers = append(pointers, p.tensors[name].Ctensor())
	}
	if len(pointers) == 0 {
		return 0, nil
	}
	var norm C.double
	err := failure(C.tw_clip(&pointers[0], C.int64_t(len(pointers)), C.double(max), &norm))
	return float64(norm), err
}

// Close frees all parameters.
func (p *Params) Close() {
	for name, t := range p.tensors {
		t.MustDrop()
		delete(p.tensors, name)
	}
}

// Precision says how Arrays stores parameters.
type Precision struct {
	Half bool // float16 in place of float32
	// RowInt8 names the matrices that are stored as int8 with a float32 scale a row, in
	// a second array of that name + ".scale": value = scale · int.
	RowInt8 func(name string) bool
}

const scaleSuffix = ".scale"

// Arrays copies all parameters out.
func (p *Params) Arrays(how Precision) map[string]safetensors.Array {
	arrays := make(map[string]safetensors.Array, len(p.tensors))
	for name, t := range p.tensors {
		values, shape := ToFloats(t), t.MustSize()
		switch {
		case how.RowInt8 != nil && how.RowInt8(name) && len(shape) == 2:
			data, scales := quantize(values, int(shape[1]))
			arrays[name] = safetensors.Array{DType: safetensors.I8, Shape: shape, Data: data}
			arrays[name+scaleSuffix] = safetensors.FromFloats(scales, shape[0])
		case how.Half:
			data := make([]byte, 2*len(values))
			for i, v := range values {
				binary.LittleEndian.PutUint16(data[2*i:], floatToHalf(v))
			}
			arrays[name] = safetensors.Array{DType: safetensors.F16, Shape: shape, Data: data}
		default:
			arrays[name] = safetensors.FromFloats(values, shape...)
		}
	}
	return arrays
}

// quantize takes each row to int8 with the largest absolute value at 127.
func quantize(values []float32, width int) ([]byte, []float32) {
	data := make([]byte, len(values))
	scales := make([]float32, len(values)/width)
	for row := range scales {
		v := values[row*width : (row+1)*width]
		var max float64
		for _, x := range v {
			max = math.Max(max, math.Abs(float64(x)))
		}
		if max == 0 {
			continue
		}
		scale := max / 127
		scales[row] = float32(scale)
		for i, x := range v {
			data[row*width+i] = byte(int8(math.Round(float64(x) / scale)))
		}
	}
	return data, scales
}

// Decode gives the values of stored parameters as float32, int8 rows with their scales.
func Decode(arrays map[string]safetensors.Array) (map[string]safetensors.Array, error) {
	out := make(map[string]safetensors.Array, len(arrays))
	for name, a := range arrays {
		switch a.DType {
		case safetensors.F32:
			if base, ok := strings.CutSuffix(name, scaleSuffix); ok && arrays[base].DType == safetensors.I8 {
				continue
			}
			out[name] = a
		case safetensors.F16:
			values := make([]float32, a.Elements())
			for i := range values {
				values[i] = halfToFloat(binary.LittleEndian.Uint16(a.Data[2*i:]))
			}
			out[name] = safetensors.FromFloats(values, a.Shape...)
		case safetensors.I8:
			scales, ok := arrays[name+scaleSuffix]
			if !ok || len(a.Shape) != 2 || len(scales.Shape) != 1 || scales.Shape[0] != a.Shape[0] {
				return nil, fmt.Errorf("%q is int8 without its scales in %q", name, name+scaleSuffix)
			}
			s, err := scales.Floats()
			if err != nil {
				return nil, fmt.Errorf("%q: %w", name+scaleSuffix, err)
			}
			values := make([]float32, a.Elements())
			width := int(a.Shape[1])
			for i := range values {
				values[i] = float32(int8(a.Data[i])) * s[i/width]
			}
			out[name] = safetensors.FromFloats(values, a.Shape...)
		case safetensors.I64, safetensors.I32: // position ids of HuggingFace checkpoints: no parameter
		default:
			return nil, fmt.Errorf("%q has the type %s, which is not supported for parameters", name, a.DType)
		}
	}
	return out, nil
}

// floatToHalf rounds to the nearest float16, ties to even.
func floatToHalf(v float32) uint16 {
	bits := math.Float32bits(v)
	sign := uint16(bits >> 16 & 0x8000)
	abs := math.Abs(float64(v))
	switch {
	case abs != abs:
		return sign | 0x7e00
	case abs >= 65520:
		return sign | 0x7c00
	case abs < 1.0/(1<<14): // subnormal: a multiple of 2⁻²⁴
		return sign | uint16(math.RoundToEven(abs*(1<<24)))
	}
	exp := int(bits>>23&255) - 127
	frac := math.RoundToEven(math.Ldexp(abs, 10-exp)) // 1024 … 2048
	return sign | uint16((exp+14)<<10+int(frac))
}

func halfToFloat(h uint16) float32 {
	sign, exp, frac := uint32(h>>15)<<31, uint32(h>>10)&31, uint32(h)&1023
	switch {
	case exp == 0:
		v := float32(frac) / (1 << 24)
		return math.Float32frombits(math.Float32bits(v) | sign)
	case exp == 31:
		return math.Float32frombits(sign | 0xff<<23 | frac<<13)
	}
	return math.Float32frombits(sign | (exp+112)<<23 | frac<<13)
}

// Load sets the parameters from stored ones of the same names and shapes. Names that
// are missing or surplus and shapes that differ are all in the error.
func (p *Params) Load(stored map[string]safetensors.Array) error {
	stored, err := Decode(stored)
	if err != nil {
		return err
	}
	var problems []string
	for _, name := range p.Names() {
		a, ok := stored[name]
		if !ok {
			problems = append(problems, "missing "+name)
		} else if shape := p.tensors[name].MustSize(); !equal(shape, a.Shape) {
			problems = append(problems, fmt.Sprintf("%s has shape %v, expected %v", name, a.Shape, shape))
		}
	}
	for name := range stored {
		if p.tensors[name] == nil {
			problems = append(problems, "unknown "+name)
		}
	}
	if len(problems) > 0 {
		sort.Strings(problems)
		n := len(problems)
		if n > 5 {
			problems = append(problems[:5], fmt.Sprintf("and %d more", n-5))
		}
		return fmt.Errorf("%d parameters do not fit: %s", n, strings.Join(problems, "; "))
	}
	for name := range p.tensors {
		values, err := stored[name].Floats()
		if err != nil {
			return fmt.Errorf("%q: %w", name, err)
		}
		grad := p.tensors[name].MustRequiresGrad()
		p.Set(name, values, stored[name].Shape...)
		if grad {
			p.tensors[name] = p.tensors[name].MustSetRequiresGrad(true, true)
		}
	}
	return nil
}
