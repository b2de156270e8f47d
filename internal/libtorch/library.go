// Package libtorch finds or fetches the libtorch that this project is built on, and says how to build with it.
//
// gotch 0.9.1 is compiled unmodified from the module cache: what it expects of the machine (CUDA in /usr/local, a
// libtorch 2.1 beside its source) is met with cgo flags from the environment alone: empty archives for the libraries
// that a CPU build has not got, a header with three overloads that newer releases dropped, and the real include and
// library folders. Everything lies in a cache folder of the user, so that all clones have the same flags and gotch is
// compiled once.
//
// The package itself needs no libtorch.
package libtorch

import (
	"debug/elf"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// Library is a libtorch on disk.
type Library struct {
	Dir     string // holds include/ and lib/
	Version Version
	OldABI  bool   // built with the C++ ABI before GCC 5, as PyTorch's Linux wheels were before 2.6
	From    string // where it was found, for messages
}

// Open checks that dir has the layout of a libtorch in range: include/ with the C++ API, and lib/.
func Open(dir, from string) (*Library, error) {
	for _, need := range []string{"include/torch/csrc/api/include/torch/all.h", "lib/" + sharedName("torch_cpu"), "lib/" + sharedName("c10")} {
		if _, err := os.Stat(filepath.Join(dir, need)); err != nil {
			return nil, fmt.Errorf("%s %s is no libtorch: %s is missing (expected a folder with include/ and lib/)", from, dir, need)
		}
	}
	v, err := readVersion(dir)
	if err != nil {
		return nil, err
	}
	if !v.Supported() {
		return nil, fmt.Errorf("%s %s is libtorch %s; gotch builds with libtorch %s", from, dir, v, Range)
	}
	l := &Library{Dir: dir, Version: v, From: from}
	if runtime.GOOS == "linux" {
		if l.OldABI, err = oldABI(filepath.Join(dir, "lib", "libc10.so")); err != nil {
			return nil, err
		}
	}
	return l, nil
}

// Lib is the folder of the shared libraries.
func (l *Library) Lib() string { return filepath.Join(l.Dir, "lib") }

// HasCUDA reports whether the CUDA half is there as well.
func (l *Library) HasCUDA() bool {
	_, err := os.Stat(filepath.Join(l.Lib(), sharedName("torch_cuda")))
	return err == nil
}

func (l *Library) String() string {
	s := fmt.Sprintf("libtorch %s in %s (%s)", l.Version, l.Dir, l.From)
	if l.HasCUDA() {
		s += ", with CUDA"
	}
	return s
}

func sharedName(name string) string {
	if runtime.GOOS == "darwin" {
		return "lib" + name + ".dylib"
	}
	return "lib" + name + ".so"
}

// oldABI looks at how a function of libc10 that takes a std::string is mangled: "Ss" is the string of the old ABI.
func oldABI(libc10 string) (bool, error) {
	f, err := elf.Open(libc10)
	if err != nil {
		return false, fmt.Errorf("%s: %v", libc10, err)
	}
	defer f.Close()
	symbols, err := f.DynamicSymbols()
	if err != nil {
		return false, fmt.Errorf("%s: %v", libc10, err)
	}
	for _, s := range symbols {
		if strings.HasPrefix(s.Name, "_ZN3c106detail14torchCheckFail") && strings.HasSuffix(s.Name, "RKSs") {
			return true, nil
		}
	}
	return false, nil
}
