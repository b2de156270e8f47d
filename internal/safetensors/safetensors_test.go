package safetensors

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func write(t testing.TB, arrays map[string]Array, meta map[string]string) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "a.safetensors")
	if err := WriteFile(path, arrays, meta); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func readBytes(data []byte) (map[string]Array, map[string]string, error) {
	return read(bytes.NewReader(data), int64(len(data)))
}

// file is a file of a header and a body.
func file(header string, body int) []byte {
	data := binary.LittleEndian.AppendUint64(nil, uint64(len(header)))
	return append(append(data, header...), make([]byte, body)...)
}

func TestRoundTrip(t *testing.T) {
	types := slices.Sorted(maps.Keys(sizes))
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		arrays := map[string]Array{}
		for _, name := range rapid.SliceOfNDistinct(rapid.StringMatching(`[a-zé."\\]{1,6}`), 0, 5, rapid.ID[string]).Draw(t, "names") {
			kind := rapid.SampledFrom(types).Draw(t, "type")
			shape := rapid.SliceOfN(rapid.Int64Range(0, 4), 0, 3).Draw(t, "shape")
			n := sizes[kind]
			for _, d := range shape {
				n *= int(d)
			}
			arrays[name] = Array{kind, shape, rapid.SliceOfN(rapid.Byte(), n, n).Draw(t, "data")}
		}
		meta := rapid.MapOfN(rapid.StringMatching("[a-z]{1,3}"), rapid.String(), 1, 2).Draw(t, "metadata")
		path := filepath.Join(dir, "a.safetensors")
		if err := WriteFile(path, arrays, meta); err != nil {
			t.Fatal(err)
		}
		got, gotMeta, err := ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(meta, gotMeta) || len(got) != len(arrays) {
			t.Fatalf("%d arrays and %v, wrote %d and %v", len(got), gotMeta, len(arrays), meta)
		}
		for name, a := range arrays {
			if b := got[name]; a.DType != b.DType || !slices.Equal(a.Shape, b.Shape) || !bytes.Equal(a.Data, b.Data) {
				t.Errorf("%q: %v, wrote %v", name, b, a)
			}
		}
	})
	if left, err := os.ReadDir(dir); err != nil || len(left) > 1 {
		t.Errorf("files left over: %v, %v", left, err)
	}
}

func TestValues(t *testing.T) {
	floats := []float32{0, -1.5, math.MaxFloat32, float32(math.Inf(-1)), 1e-45, 3}
	got, err := FromFloats(floats, 2, 3).Floats()
	if err != nil || !slices.Equal(got, floats) {
		t.Errorf("%v, %v", got, err)
	}
	ints := Array{I64, []int64{2}, binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(nil, 7), math.MaxUint64)}
	if got, err := ints.Ints(); err != nil || !slices.Equal(got, []int64{7, -1}) {
		t.Errorf("%v, %v", got, err)
	}
	ints = Array{I32, []int64{1}, binary.LittleEndian.AppendUint32(nil, math.MaxUint32)}
	if got, err := ints.Ints(); err != nil || !slices.Equal(got, []int64{-1}) {
		t.Errorf("%v, %v", got, err)
	}
	if _, err := ints.Floats(); err == nil || err.Error() != "array of type I32 where F32 was expected" {
		t.Error(err)
	}
	if _, err := FromFloats(floats, 6).Ints(); err == nil || err.Error() != "array of type F32 where I32 or I64 was expected" {
		t.Error(err)
	}
}

// TestTruncated cuts a file at every byte.
func TestTruncated(t *testing.T) {
	data := write(t, map[string]Array{"a": FromFloats([]float32{1, 2, 3}, 3), "b": {I8, []int64{2, 1}, []byte{4, 5}}}, map[string]string{"k": "v"})
	if _, _, err := readBytes(data); err != nil {
		t.Fatal(err)
	}
	for n := range data {
		_, _, err := readBytes(data[:n])
		if err == nil || strings.Contains(err.Error(), "\n") {
			t.Fatalf("cut after %d of %d bytes: %v", n, len(data), err)
		}
	}
}

func TestReadErrors(t *testing.T) {
	for _, test := range []struct {
		name string
		data []byte
		want string
	}{
		{"empty", nil, "not a safetensors file: 0 bytes, expected at least 8"},
		{"another format", []byte("PK\x03\x04 a zip file"), "not a safetensors file, or cut off: a header of 8800140462016121680 bytes announced in a file of 15 bytes"},
		{"negative header size", append(bytes.Repeat([]byte{0xff}, 8), 1, 2), "not a safetensors file, or cut off: a header of 18446744073709551615 bytes announced in a file of 10 bytes"},
		{"no JSON", file("{x", 0), "header is not JSON: invalid character 'x' looking for beginning of object key string"},
		{"type", file(`{"a":{"dtype":"F8_E4M3","shape":[1],"data_offsets":[0,1]}}`, 1), `"a" has the type F8_E4M3, which is not supported`},
		{"cut off", file(`{"a":{"dtype":"F32","shape":[3],"data_offsets":[0,12]}}`, 11), `cut off: "a" ends at byte 12 of the data, the file has 11`},
		{"backwards", file(`{"a":{"dtype":"I8","shape":[1],"data_offsets":[2,1]}}`, 3), `"a" lies at bytes 2 to 1 of the data`},
		{"shape", file(`{"a":{"dtype":"F32","shape":[2,2],"data_offsets":[0,12]}}`, 12), `"a": 12 bytes for shape [2 2] of F32`},
		{"negative shape", file(`{"a":{"dtype":"I8","shape":[-1,-2],"data_offsets":[0,2]}}`, 2), `"a" has the shape [-1 -2]`},
		{"huge shape", file(`{"a":{"dtype":"I8","shape":[1099511627776,1099511627776],"data_offsets":[0,0]}}`, 0), `"a" has the shape [1099511627776 1099511627776]`},
		{"huge shape of nothing", file(`{"a":{"dtype":"F64","shape":[0,4294967296,4294967296],"data_offsets":[0,0]}}`, 0), `"a" has the shape [0 4294967296 4294967296]`},
		{"surplus", file(`{"a":{"dtype":"I8","shape":[1],"data_offsets":[0,1]}}`, 3), "2 bytes of the data belong to no array"},
		{"null", file(`{"a":null}`, 0), `"a" has the type "", which is not supported`},
	} {
		_, _, err := readBytes(test.data)
		if err == nil || err.Error() != test.want {
			t.Errorf("%s: %v\nwant %s", test.name, err, test.want)
		}
	}
	path := filepath.Join(t.TempDir(), "x.safetensors")
	if err := os.WriteFile(path, []byte("short"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, _, err := ReadFile(path); err == nil || err.Error() != path+": not a safetensors file: 5 bytes, expected at least 8" {
		t.Error(err)
	}
	if _, _, err := ReadFile(path + "x"); err == nil || !strings.HasSuffix(err.Error(), "no such file or directory") {
		t.Error(err)
	}
}

func TestWriteErrors(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.safetensors")
	err := WriteFile(path, map[string]Array{"a": {F32, []int64{2}, make([]byte, 4)}}, nil)
	if want := fmt.Sprintf(`%s: "a" has 4 bytes for shape [2] of F32`, path); err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("files left over: %v, %v", left, err)
	}
}

// FuzzRead checks that whatever can be read is written and read again unchanged.
func FuzzRead(f *testing.F) {
	f.Add(file(`{"a":{"dtype":"I8","shape":[1],"data_offsets":[0,1]},"__metadata__":{"k":"v"}}`, 1))
	f.Add(file(`{"a":{"dtype":"F32","shape":[],"data_offsets":[0,4]},"b":{"dtype":"BOOL","shape":[0],"data_offsets":[4,4]}}`, 4))
	f.Add([]byte("x"))
	f.Fuzz(func(t *testing.T, data []byte) {
		arrays, meta, err := readBytes(data)
		if err != nil {
			return
		}
		got, gotMeta, err := readBytes(write(t, arrays, meta))
		if err != nil {
			t.Fatal(err)
		}
		if len(got) != len(arrays) || len(meta) != len(gotMeta) {
			t.Fatalf("%v became %v, %v became %v", arrays, got, meta, gotMeta)
		}
		for name, a := range arrays {
			if b := got[name]; a.DType != b.DType || !slices.Equal(a.Shape, b.Shape) || !bytes.Equal(a.Data, b.Data) {
				t.Errorf("%q: %v became %v", name, a, b)
			}
		}
	})
}
