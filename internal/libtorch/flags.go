package libtorch

import (
	"bytes"
	"crypto/sha256"
	_ "embed" // compat.h
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

//go:embed compat.h
var compatHeader []byte

// stubs are the libraries in gotch's #cgo lines that are not linked: no CUDA at build time (it is loaded on demand),
// and libtorch.so is empty itself.
var stubs = []string{
	"cuda", "cudart", "cublas", "cudnn", "caffe2_nvrtc", "nvrtc-builtins", "nvrtc", "nvToolsExt", "c10_cuda", "torch_cuda", "torch",
}

// emptyArchive is what `ar rcs libX.a` writes without members.
const emptyArchive = "!<arch>\n"

// Flags are the two variables that `go build` needs.
type Flags struct{ CXX, LD string }

// Flags writes the header and the empty archives into the cache, if they are not there, and returns the cgo flags.
// The folder carries the header's hash: another header means other flags, so Go recompiles exactly when it must.
func (s *Setup) Flags(l *Library) (Flags, error) {
	sum := sha256.Sum256(compatHeader)
	dir := filepath.Join(s.Cache, "cgo", hex.EncodeToString(sum[:])[:12])
	header := filepath.Join(dir, "compat.h")
	if err := writeOnce(header, compatHeader); err != nil {
		return Flags{}, err
	}
	stubDir := filepath.Join(dir, "stubs")
	for _, name := range stubs {
		if err := writeOnce(filepath.Join(stubDir, "lib"+name+".a"), []byte(emptyArchive)); err != nil {
			return Flags{}, err
		}
	}
	return flags(runtime.GOOS, l, header, stubDir)
}

func flags(goos string, l *Library, header, stubDir string) (Flags, error) {
	include := filepath.Join(l.Dir, "include")
	cxx := []string{"-O2", "-g", "-I" + include, "-I" + filepath.Join(include, "torch", "csrc", "api", "include"), "-include", header}
	if l.OldABI {
		cxx = append(cxx, "-D_GLIBCXX_USE_CXX11_ABI=0")
	}
	ld := []string{"-L" + stubDir, "-L" + l.Lib(), "-Wl,-rpath," + l.Lib()}
	if goos != "darwin" {
		// libtorch_cpu's own dependencies are found by its RPATH when it is loaded; the linker need not see them.
		ld = append(ld, "-Wl,--allow-shlib-undefined")
	}
	var f Flags
	var err error
	if f.CXX, err = quoteFields(cxx); err != nil {
		return Flags{}, err
	}
	f.LD, err = quoteFields(ld)
	return f, err
}

// quoteFields joins arguments as cgo splits them: at spaces, with single or double quotes around an argument.
func quoteFields(args []string) (string, error) {
	out := make([]string, len(args))
	for i, a := range args {
		switch {
		case !strings.ContainsAny(a, " \t\n'\""):
			out[i] = a
		case !strings.Contains(a, "'"):
			out[i] = "'" + a + "'"
		case !strings.Contains(a, `"`):
			out[i] = `"` + a + `"`
		default:
			return "", fmt.Errorf("path %s has both kinds of quotes, which cgo flags cannot express: set XDG_CACHE_HOME or LIBTORCH to another folder", a)
		}
	}
	return strings.Join(out, " "), nil
}

// Exports prints the flags for a shell.
func (f Flags) Exports() string {
	return fmt.Sprintf("export CGO_CXXFLAGS=%s\nexport CGO_LDFLAGS=%s\n", shellQuote(f.CXX), shellQuote(f.LD))
}

func shellQuote(s string) string {
	if !strings.ContainsAny(s, "\"$`\\!\n") {
		return `"` + s + `"`
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// writeOnce writes a file that never changes; a reader sees all of it or nothing.
func writeOnce(path string, content []byte) error {
	if old, err := os.ReadFile(path); err == nil && bytes.Equal(old, content) {
		return nil
	}
	return writeBeside(path, func(f *os.File) error {
		_, err := f.Write(content)
		return err
	})
}

// writeBeside fills a file beside path and renames it, so that path is never half written. Two programs may do
// it at once.
func writeBeside(path string, fill func(f *os.File) error) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	tmp, err := os.CreateTemp(filepath.Dir(path), ".part-*")
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name())
	err = fill(tmp)
	if err == nil {
		err = tmp.Chmod(0o644)
	}
	if cerr := tmp.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return err
	}
	return os.Rename(tmp.Name(), path)
}
