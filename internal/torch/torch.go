// Package torch is what gotch lacks for this project: scopes that free tensors,
// parameters by name, an Adam whose state can be saved, seeds, threads, and devices
// with CUDA loaded on demand.
//
// Tensor work belongs on one OS thread (libtorch keeps the grad mode, its last error
// and its OpenMP team there): run it through a Worker, or lock the thread.
package torch

// #include <stdlib.h>
// #include "native.h"
// #cgo CXXFLAGS: -std=c++17
// #cgo LDFLAGS: -ldl
import "C"

import (
	"errors"
	"fmt"
	"runtime"
	"unsafe"

	"github.com/sugarme/gotch"
	"github.com/sugarme/gotch/libtch"
	"github.com/sugarme/gotch/ts"
)

func failure(message *C.char) error {
	if message == nil {
		return nil
	}
	defer C.free(unsafe.Pointer(message))
	return errors.New(C.GoString(message))
}

// Version is the libtorch that this program was compiled against.
func Version() string { return C.GoString(C.tw_version()) }

// SetThreads sets how many threads one operation may use.
func SetThreads(n int) { C.tw_set_threads(C.int(n)) }

// Threads is how many threads one operation may use.
func Threads() int { return int(C.tw_threads()) }

// Seed sets the seed of libtorch's random numbers (initial values, dropout).
func Seed(seed uint64) {
	if err := failure(C.tw_seed(C.uint64_t(seed))); err != nil {
		panic(err)
	}
}

// OpenDevice is the device of that name: "cpu", or "cuda", which loads libtorch_cuda.
// It must come before the first tensor is made.
func OpenDevice(name string) (gotch.Device, error) {
	switch name {
	case "", "cpu":
		return gotch.CPU, nil
	case "cuda":
		if C.tw_cuda_available() == 0 {
			path := C.CString("libtorch_cuda.so")
			defer C.free(unsafe.Pointer(path))
			if err := failure(C.tw_load_library(path)); err != nil {
				return gotch.CPU, fmt.Errorf("--device cuda: libtorch_cuda.so of libtorch %s cannot be loaded: %w; "+
					"`make setup CUDA=1` fetches it, or put the lib folder of such a PyTorch on LD_LIBRARY_PATH", Version(), err)
			}
			if C.tw_cuda_available() == 0 {
				return gotch.CPU, errors.New("--device cuda: libtorch_cuda is loaded, but finds no GPU (is its driver installed?)")
			}
		}
		return gotch.CudaBuilder(0), nil
	}
	return gotch.CPU, fmt.Errorf("device %q: expected cpu or cuda", name)
}

// NoGrad runs f without recording gradients. The mode is restored also where f panics.
func NoGrad(f func()) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	// Not ts.MustGradSetEnabled: what it returns as the mode before is not (it reads eight
	// bytes of a C int).
	before := C.tw_set_grad(0)
	defer C.tw_set_grad(before)
	f()
}

// Worker is a goroutine that keeps its OS thread and runs functions on it, one after
// the other.
type Worker struct {
	jobs chan func()
}

// NewWorker starts a worker. Close ends it.
func NewWorker() *Worker {
	w := &Worker{jobs: make(chan func())}
	go func() {
		runtime.LockOSThread()
		for job := range w.jobs {
			job()
		}
	}()
	return w
}

// Do runs f on the worker's thread and waits for it. A panic in f comes back as an error.
func (w *Worker) Do(f func() error) error {
	result := make(chan error, 1)
	w.jobs <- func() {
		defer func() {
			if p := recover(); p != nil {
				buf := make([]byte, 4096)
				buf = buf[:runtime.Stack(buf, false)]
				result <- &PanicError{Value: p, Stack: string(buf)}
			}
		}()
		result <- f()
	}
	return <-result
}

// Close ends the worker.
func (w *Worker) Close() { close(w.jobs) }

// PanicError is a panic that a Worker caught.
type PanicError struct {
	Value any
	Stack string
}

func (e *PanicError) Error() string { return fmt.Sprintf("internal error: %v", e.Value) }

// Scope holds the tensors of a computation, to free them all at once.
type Scope struct {
	tensors []*ts.Tensor
}

// T puts tensors under the scope's care and returns the first one.
func (s *Scope) T(t *ts.Tensor) *ts.Tensor {
	s.tensors = append(s.tensors, t)
	return t
}

// Free frees every tensor of the scope, except those named.
func (s *Scope) Free(except ...*ts.Tensor) {
next:
	for i := len(s.tensors) - 1; i >= 0; i-- {
		for _, k := range except {
			if k == s.tensors[i] {
				continue next
			}
		}
		s.tensors[i].MustDrop()
	}
	s.tensors = s.tensors[:0]
}

func fromPointer(p unsafe.Pointer, shape []int64, kind gotch.DType, width uint, device gotch.Device) *ts.Tensor {
	dims := shape
	if len(dims) == 0 {
		dims = []int64{1} // AtTensorOfData takes the address of the first one
	}
	t := ts.New(libtch.AtTensorOfData(p, dims, uint(len(shape)), width, int(kind.CKind())))
	if err := ts.TorchErr(); err != nil {
		panic(err)
	}
	if device.IsCuda() {
		defer t.MustDrop()
		return to(t, device)
	}
	return t
}

var zero [8]byte

func place[E any](values []E) unsafe.Pointer {
	if len(values) == 0 {
		return unsafe.Pointer(&zero)
	}
	return unsafe.Pointer(&values[0])
}

func check[E any](values []E, shape []int64) {
	n := int64(1)
	for _, d := range shape {
		n *= d
	}
	if n != int64(len(values)) {
		panic(fmt.Sprintf("%d values for shape %v", len(values), shape))
	}
}

// Ints copies values into a new int64 tensor.
func Ints(device gotch.Device, values []int64, shape ...int64) *ts.Tensor {
	check(values, shape)
	return fromPointer(place(values), shape, gotch.Int64, 8, device)
}

// Floats copies values into a new float32 tensor.
func Floats(device gotch.Device, values []float32, shape ...int64) *ts.Tensor {
	check(values, shape)
	return fromPointer(place(values), shape, gotch.Float, 4, device)
}

// Halfs copies float16 values, as bytes, into a new tensor.
func Halfs(device gotch.Device, values []byte, shape ...int64) *ts.Tensor {
	check(values, append([]int64{2}, shape...))
	return fromPointer(place(values), shape, gotch.Half, 2, device)
}

// ToHalfs copies a tensor out as float16, as bytes.
func ToHalfs(t *ts.Tensor) []byte {
	s := &Scope{}
	defer s.Free()
	x := s.T(contiguous(s.T(to(s.T(As(s.T(detach(t)), gotch.Half)), gotch.CPU))))
	values := make([]byte, 2*x.Numel())
	if len(values) > 0 {
		libtch.AtCopyData(c(x), unsafe.Pointer(&values[0]), uint(x.Numel()), 2)
		if err := ts.TorchErr(); err != nil {
			panic(err)
		}
	}
	return values
}

// Bools copies values into a new bool tensor.
func Bools(device gotch.Device, values []bool, shape ...int64) *ts.Tensor {
	check(values, shape)
	return fromPointer(place(values), shape, gotch.Bool, 1, device)
}

// ToFloats copies a float32 tensor of any device out.
func ToFloats(t *ts.Tensor) []float32 {
	s := &Scope{}
	defer s.Free()
	x := s.T(contiguous(s.T(to(s.T(As(s.T(detach(t)), gotch.Float)), gotch.CPU))))
	values := make([]float32, x.Numel())
	if len(values) > 0 {
		libtch.AtCopyData(c(x), unsafe.Pointer(&values[0]), uint(len(values)), 4)
		if err := ts.TorchErr(); err != nil {
			panic(err)
		}
	}
	return values
}

// Drain takes the tensors out of the scope's care.
func (s *Scope) Drain() []*ts.Tensor {
	all := s.tensors
	s.tensors = nil
	return all
}
