// Package safetensors reads and writes the safetensors format: a JSON header with the
// names, types, shapes and places of arrays, and then their bytes, little-endian.
//
// Source: the format description of huggingface/safetensors.
package safetensors

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"sort"

	"github.com/tabert-workbench/tabert-workbench/internal/partfile"
)

// DType names the type of an array's elements, as the header spells it.
type DType string

// The element types that this project reads and writes.
const (
	F64  DType = "F64"
	F32  DType = "F32"
	F16  DType = "F16"
	BF16 DType = "BF16"
	I64  DType = "I64"
	I32  DType = "I32"
	I8   DType = "I8"
	U8   DType = "U8"
	Bool DType = "BOOL"
)

var sizes = map[DType]int{F64: 8, F32: 4, F16: 2, BF16: 2, I64: 8, I32: 4, I8: 1, U8: 1, Bool: 1}

// maxHeader bounds the header, as the reference implementation does.
const maxHeader = 100 << 20

// maxElements bounds an array, so that no size in bytes overflows.
const maxElements = 1 << 50

// Array is an array in row-major order. Data holds little-endian elements.
type Array struct {
	DType DType
	Shape []int64
	Data  []byte
}

// Elements is the number of elements that the shape says.
func (a Array) Elements() int {
	n := 1
	for _, d := range a.Shape {
		n *= int(d)
	}
	return n
}

// FromFloats makes an F32 array.
func FromFloats(values []float32, shape ...int64) Array {
	data := make([]byte, 4*len(values))
	for i, v := range values {
		binary.LittleEndian.PutUint32(data[4*i:], math.Float32bits(v))
	}
	return Array{DType: F32, Shape: shape, Data: data}
}

// Floats are the elements of an F32 array.
func (a Array) Floats() ([]float32, error) {
	if a.DType != F32 {
		return nil, fmt.Errorf("array of type %s where F32 was expected", a.DType)
	}
	values := make([]float32, len(a.Data)/4)
	for i := range values {
		values[i] = math.Float32frombits(binary.LittleEndian.Uint32(a.Data[4*i:]))
	}
	return values, nil
}

// Ints are the elements of an I32 or I64 array.
func (a Array) Ints() ([]int64, error) {
	values := make([]int64, a.Elements())
	for i := range values {
		switch a.DType {
		case I64:
			values[i] = int64(binary.LittleEndian.Uint64(a.Data[8*i:]))
		case I32:
			values[i] = int64(int32(binary.LittleEndian.Uint32(a.Data[4*i:])))
		default:
			return nil, fmt.Errorf("array of type %s where I32 or I64 was expected", a.DType)
		}
	}
	return values, nil
}

type entry struct {
	DType   DType    `json:"dtype"`
	Shape   []int64  `json:"shape"`
	Offsets [2]int64 `json:"data_offsets"`
}

// ReadFile reads all arrays of a file, and its metadata (nil if it has none).
func ReadFile(path string) (map[string]Array, map[string]string, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, nil, err
	}
	arrays, meta, err := read(f, info.Size())
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", path, err)
	}
	return arrays, meta, nil
}

func read(r io.Reader, size int64) (map[string]Array, map[string]string, error) {
	var prefix [8]byte
	if _, err := io.ReadFull(r, prefix[:]); err != nil {
		return nil, nil, fmt.Errorf("not a safetensors file: %d bytes, expected at least 8", size)
	}
	n := binary.LittleEndian.Uint64(prefix[:])
	if n > maxHeader || int64(n) > size-8 {
		return nil, nil, fmt.Errorf("not a safetensors file, or cut off: a header of %d bytes announced in a file of %d bytes", n, size)
	}
	header := make([]byte, n)
	if _, err := io.ReadFull(r, header); err != nil {
		return nil, nil, fmt.Errorf("header: %w", err)
	}
	var raw map[string]json.RawMessage
	if err := json.Unmarshal(header, &raw); err != nil {
		return nil, nil, fmt.Errorf("header is not JSON: %w", err)
	}
	var meta map[string]string
	if m, ok := raw["__metadata__"]; ok {
		if err := json.Unmarshal(m, &meta); err != nil {
			return nil, nil, fmt.Errorf("__metadata__: %w", err)
		}
		delete(raw, "__metadata__")
	}
	body := make([]byte, size-8-int64(n))
	if _, err := io.ReadFull(r, body); err != nil {
		return nil, nil, fmt.Errorf("cut off: %w", err)
	}
	arrays := make(map[string]Array, len(raw))
	left := int64(len(body))
	for name, m := range raw {
		var e entry
		if err := json.Unmarshal(m, &e); err != nil {
			return nil, nil, fmt.Errorf("header of %q: %w", name, err)
		}
		width, ok := sizes[e.DType]
		if !ok {
			if e.DType == "" {
				e.DType = `""`
			}
			return nil, nil, fmt.Errorf("%q has the type %s, which is not supported", name, e.DType)
		}
		from, to := e.Offsets[0], e.Offsets[1]
		if from < 0 || to < from {
			return nil, nil, fmt.Errorf("%q lies at bytes %d to %d of the data", name, from, to)
		}
		if to > int64(len(body)) {
			return nil, nil, fmt.Errorf("cut off: %q ends at byte %d of the data, the file has %d", name, to, len(body))
		}
		most := int64(maxElements) // a dimension of 0 counts as 1: the others of an empty array must not overflow, either
		for _, d := range e.Shape {
			if d < 0 || d > most {
				return nil, nil, fmt.Errorf("%q has the shape %v", name, e.Shape)
			}
			most /= max(d, 1)
		}
		a := Array{DType: e.DType, Shape: e.Shape, Data: body[from:to:to]}
		if int64(a.Elements())*int64(width) != to-from {
			return nil, nil, fmt.Errorf("%q: %d bytes for shape %v of %s", name, to-from, e.Shape, e.DType)
		}
		left -= to - from
		arrays[name] = a
	}
	if left > 0 {
		return nil, nil, fmt.Errorf("%d bytes of the data belong to no array", left)
	}
	return arrays, meta, nil
}

// WriteFile writes arrays in the order of their names. It writes beside and renames,
// so that path is never half written.
func WriteFile(path string, arrays map[string]Array, meta map[string]string) (err error) {
	names := make([]string, 0, len(arrays))
	for name := range arrays {
		names = append(names, name)
	}
	sort.Strings(names)
	header := make(map[string]any, len(names)+1)
	if len(meta) > 0 {
		header["__metadata__"] = meta
	}
	var at int64
	for _, name := range names {
		a := arrays[name]
		if a.Elements()*sizes[a.DType] != len(a.Data) {
			return fmt.Errorf("%s: %q has %d bytes for shape %v of %s", path, name, len(a.Data), a.Shape, a.DType)
		}
		shape := a.Shape
		if shape == nil {
			shape = []int64{}
		}
		header[name] = entry{a.DType, shape, [2]int64{at, at + int64(len(a.Data))}}
		at += int64(len(a.Data))
	}
	text, err := json.Marshal(header)
	if err != nil {
		return err
	}
	for len(text)%8 != 0 {
		text = append(text, ' ')
	}
	f, err := partfile.Create(path)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := binary.Write(f, binary.LittleEndian, uint64(len(text))); err != nil {
		return err
	}
	if _, err := f.Write(text); err != nil {
		return err
	}
	for _, name := range names {
		if _, err := f.Write(arrays[name].Data); err != nil {
			return err
		}
	}
	return f.Commit()
}
