package libtorch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"sort"
	"strings"
	"syscall"
	"time"
)

// Setup finds or fetches what building and training need, in a cache folder.
type Setup struct {
	Cache    string    // per-user folder
	Log      io.Writer // what is being done, a line each
	LibTorch string    // $LIBTORCH: a libtorch that the user names
	Platform string    // GOOS/GOARCH
}

// New is the set-up for this user and machine.
func New(log io.Writer) (*Setup, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return nil, fmt.Errorf("no cache folder for this user: %v (set XDG_CACHE_HOME)", err)
	}
	return &Setup{
		Cache:    filepath.Join(cache, "tabert-workbench"),
		Log:      log,
		LibTorch: os.Getenv("LIBTORCH"),
		Platform: runtime.GOOS + "/" + runtime.GOARCH,
	}, nil
}

func (s *Setup) logf(format string, args ...any) { fmt.Fprintf(s.Log, "setup: "+format+"\n", args...) }

// Library finds a libtorch: $LIBTORCH, the cache, a PyTorch that python3 imports; or downloads one. With cuda, it is
// one with the CUDA half.
func (s *Setup) Library(ctx context.Context, cuda bool) (*Library, error) {
	l, err := s.find(ctx, cuda)
	if err != nil || l != nil {
		return l, err
	}
	release, err := s.lock(ctx)
	if err != nil {
		return nil, err
	}
	defer release()
	s.forget()
	// Another set-up may have done it meanwhile.
	if l, err = s.cached(); err != nil {
		return nil, err
	}
	if l == nil {
		if err := s.fetch(ctx); err != nil {
			return nil, err
		}
		if l, err = s.cached(); err != nil {
			return nil, err
		}
		if l == nil {
			return nil, fmt.Errorf("libtorch was unpacked to %s, but is not complete there: delete that folder and set up again", s.home())
		}
	}
	if cuda && !l.HasCUDA() {
		if err := s.fetchCUDA(ctx, l); err != nil {
			return nil, err
		}
	}
	return l, nil
}

// find looks in the places where a libtorch may be already, in their order.
func (s *Setup) find(ctx context.Context, cuda bool) (*Library, error) {
	if s.LibTorch != "" {
		dir, err := filepath.Abs(s.LibTorch)
		if err != nil {
			return nil, err
		}
		l, err := Open(dir, "$LIBTORCH")
		if err != nil {
			return nil, err
		}
		if cuda && !l.HasCUDA() {
			return nil, fmt.Errorf("$LIBTORCH %s has no %s: name a libtorch with CUDA, or unset LIBTORCH to download one", dir, sharedName("torch_cuda"))
		}
		return l, nil
	}
	l, err := s.cached()
	if err != nil {
		return nil, err
	}
	if l != nil {
		if cuda && !l.HasCUDA() {
			return nil, nil // the other half can be fetched
		}
		return l, nil
	}
	l, err = fromPython(ctx)
	if err != nil {
		s.logf("%v", err)
		return nil, nil
	}
	if l != nil && cuda && !l.HasCUDA() {
		s.logf("%s has no CUDA", l)
		return nil, nil
	}
	return l, nil
}

// home is where set-up unpacks its libtorch; CUDA's half goes into the same folder, so that cgo flags stay the same.
func (s *Setup) home() string {
	return filepath.Join(s.Cache, "libtorch", Default.String()+"-cpu")
}

// cached is the libtorch that an earlier set-up left: the default release, else the newest in range.
func (s *Setup) cached() (*Library, error) {
	candidates := []string{s.home()}
	others, err := filepath.Glob(filepath.Join(s.Cache, "libtorch", "*"))
	if err != nil {
		return nil, err
	}
	sort.Slice(others, func(i, j int) bool {
		v, _ := ParseVersion(filepath.Base(others[i])) // no version sorts last, and is not complete either
		w, _ := ParseVersion(filepath.Base(others[j]))
		return w.Less(v)
	})
	candidates = append(candidates, others...)
	for _, dir := range candidates {
		if strings.Contains(filepath.Base(dir), ".part") {
			continue
		}
		if l, err := Open(filepath.Join(dir, "torch"), "cache"); err == nil {
			return l, nil
		}
	}
	return nil, nil
}

// fromPython asks python3 where its PyTorch lies, without importing it. Nil if there is none; an error says why the
// one that is there is of no use.
func fromPython(ctx context.Context) (*Library, error) {
	const program = `import importlib.util
s = importlib.util.find_spec("torch")
print(list(s.submodule_search_locations)[0] if s and s.submodule_search_locations else "")`
	out, err := exec.CommandContext(ctx, "python3", "-c", program).Output()
	dir := strings.TrimSpace(string(out))
	if err != nil || dir == "" {
		return nil, nil // no python3, or no PyTorch in it
	}
	return Open(dir, "python3's PyTorch")
}

// Plan says what Library would download.
func (s *Setup) Plan(ctx context.Context, cuda bool) error {
	l, err := s.find(ctx, cuda)
	if err != nil {
		return err
	}
	if l != nil {
		s.logf("%s: nothing to download", l)
		return nil
	}
	if l, err = s.cached(); err != nil {
		return err
	}
	r, err := s.release()
	if err != nil {
		return err
	}
	wheels := append([]wheel{r.torch}, r.base...)
	if l != nil {
		wheels = []wheel{r.torch} // only CUDA is missing
	}
	if cuda {
		if len(r.cuda) == 0 {
			return noCUDA(s.Platform)
		}
		wheels = append(wheels, r.cuda...)
	}
	s.logf("would download %d files, %s, for %s:", len(wheels), byteCount(totalSize(wheels)), s.Platform)
	for _, w := range wheels {
		s.logf("  %9s  %s", byteCount(w.Size), w.File)
	}
	return nil
}

func (s *Setup) release() (release, error) {
	r, ok := releases[s.Platform]
	if !ok {
		return release{}, fmt.Errorf("PyPI has no libtorch %s for %s: set LIBTORCH to a folder with one (include/ and lib/, version %s)", Default, s.Platform, Range)
	}
	return r, nil
}

func noCUDA(platform string) error { return fmt.Errorf("there is no CUDA for %s", platform) }

// fetch downloads and unpacks the CPU half.
func (s *Setup) fetch(ctx context.Context) error {
	r, err := s.release()
	if err != nil {
		return err
	}
	wheels := append([]wheel{r.torch}, r.base...)
	s.logf("no libtorch %s in $LIBTORCH, %s or python3", Range, s.Cache)
	s.logf("downloading libtorch %s for %s from PyPI, %s, once for this user", Default, s.Platform, byteCount(totalSize(wheels)))
	files, err := s.download(ctx, wheels)
	if err != nil {
		return err
	}
	part, err := s.partFolder(filepath.Base(s.home()))
	if err != nil {
		return err
	}
	defer os.RemoveAll(part)
	s.logf("unpacking to %s", s.home())
	if err := unpackCPU(ctx, files, part); err != nil {
		return err
	}
	if err := os.RemoveAll(s.home()); err != nil { // if it exists, it is incomplete
		return err
	}
	if err := os.Rename(part, s.home()); err != nil {
		return err
	}
	return s.discard(files)
}

// unpackCPU unpacks headers, libtorch_cpu, libc10 and whatever of the wheels these need. files[0] is the torch wheel.
func unpackCPU(ctx context.Context, files []string, dir string) error {
	a, err := openWheel(files[0])
	if err != nil {
		return err
	}
	defer a.Close()
	names := a.names(func(name string) bool {
		return strings.HasPrefix(name, "torch/include/") || name == "torch/version.py" || a.papers(name)
	})
	if err := a.unpack(ctx, dir, names); err != nil {
		return err
	}
	roots := a.names(func(name string) bool {
		base := path.Base(name)
		return path.Dir(name) == "torch/lib" && (base == "libtorch_cpu.so" || base == "libtorch_cpu.dylib")
	})
	if len(roots) == 0 {
		return fmt.Errorf("%s: no libtorch_cpu in torch/lib", files[0])
	}
	archives := []*archive{a}
	for _, f := range files[1:] {
		b, err := openWheel(f)
		if err != nil {
			return err
		}
		defer b.Close()
		if err := b.unpack(ctx, dir, b.names(b.papers)); err != nil {
			return err
		}
		archives = append(archives, b)
	}
	return unpackNeeded(ctx, archives, dir, roots)
}

// unpackNeeded unpacks libraries of the first wheel, and from all wheels those that they need.
func unpackNeeded(ctx context.Context, archives []*archive, dir string, roots []string) error {
	type entry struct {
		a    *archive
		name string
	}
	byBase := map[string]entry{}
	for _, a := range archives {
		for name := range a.files {
			if base := path.Base(name); strings.Contains(base, ".so") || strings.HasSuffix(base, ".dylib") {
				byBase[base] = entry{a, name}
			}
		}
	}
	seen := map[string]bool{}
	var queue []entry
	for _, name := range roots {
		queue = append(queue, entry{archives[0], name})
		seen[path.Base(name)] = true
	}
	for len(queue) > 0 {
		e := queue[0]
		queue = queue[1:]
		if err := e.a.unpack(ctx, dir, []string{e.name}); err != nil {
			return err
		}
		libraries, _, err := needed(filepath.Join(dir, filepath.FromSlash(e.name)))
		if err != nil {
			return err
		}
		for _, base := range libraries {
			if next, ok := byBase[base]; ok && !seen[base] {
				seen[base] = true
				queue = append(queue, next)
			}
		}
	}
	return nil
}

// fetchCUDA adds to an unpacked libtorch what the CPU half leaves out.
func (s *Setup) fetchCUDA(ctx context.Context, l *Library) error {
	r, err := s.release()
	if err != nil {
		return err
	}
	if len(r.cuda) == 0 {
		return noCUDA(s.Platform)
	}
	if l.Version != Default {
		return fmt.Errorf("%s: CUDA can be added to libtorch %s only; delete that folder to have it downloaded", l, Default)
	}
	home := filepath.Dir(l.Dir)
	wheels := append([]wheel{r.torch}, r.cuda...)
	s.logf("downloading CUDA's half of libtorch %s for %s from PyPI, %s, once for this user", Default, s.Platform, byteCount(totalSize(wheels)))
	files, err := s.download(ctx, wheels)
	if err != nil {
		return err
	}
	part, err := s.partFolder(filepath.Base(home) + "-cuda")
	if err != nil {
		return err
	}
	defer os.RemoveAll(part)
	s.logf("unpacking to %s", home)
	if err := unpackCUDA(ctx, files, part, r); err != nil {
		return err
	}
	if err := merge(part, home); err != nil {
		return err
	}
	return s.discard(files)
}

// unpackCUDA unpacks the CUDA libraries of the torch wheel (files[0]) and all libraries of the nvidia wheels: cuDNN
// and others load parts of themselves by name.
func unpackCUDA(ctx context.Context, files []string, dir string, r release) error {
	a, err := openWheel(files[0])
	if err != nil {
		return err
	}
	defer a.Close()
	metadata, err := a.read(a.info + "/METADATA")
	if err != nil {
		return err
	}
	if missing := missingPins(metadata, r); len(missing) > 0 {
		return fmt.Errorf("%s requires %s, which set-up does not know", a.name, strings.Join(missing, ", "))
	}
	roots := a.names(func(name string) bool {
		switch path.Base(name) {
		case "libtorch_cuda.so", "libtorch_cuda_linalg.so", "libcaffe2_nvrtc.so":
			return path.Dir(name) == "torch/lib"
		}
		return false
	})
	if err := unpackNeeded(ctx, []*archive{a}, dir, roots); err != nil {
		return err
	}
	for _, f := range files[1:] {
		b, err := openWheel(f)
		if err != nil {
			return err
		}
		err = b.unpack(ctx, dir, b.names(func(name string) bool {
			return strings.Contains(path.Base(name), ".so") || b.papers(name)
		}))
		b.Close()
		if err != nil {
			return err
		}
	}
	return nil
}

// merge moves the files of from into to, leaving those that are there; libtorch_cuda, which HasCUDA looks for, last.
func merge(from, to string) error {
	var names []string
	err := filepath.WalkDir(from, func(p string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			names = append(names, p)
		}
		return err
	})
	if err != nil {
		return err
	}
	last := sharedName("torch_cuda")
	sort.SliceStable(names, func(i, j int) bool { return filepath.Base(names[i]) != last && filepath.Base(names[j]) == last })
	for _, p := range names {
		rel, err := filepath.Rel(from, p)
		if err != nil {
			return err
		}
		target := filepath.Join(to, rel)
		if _, err := os.Stat(target); err == nil {
			continue
		}
		if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
			return err
		}
		if err := os.Rename(p, target); err != nil {
			return err
		}
	}
	return nil
}

// partFolder makes a folder beside the final one, so that it can be renamed.
func (s *Setup) partFolder(name string) (string, error) {
	dir := filepath.Join(s.Cache, "libtorch")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	part, err := os.MkdirTemp(dir, name+".part-*")
	if err != nil {
		return "", err
	}
	return part, os.Chmod(part, 0o755)
}

// forget removes what interrupted set-ups left half done. The lock is held: nobody else is at work.
func (s *Setup) forget() {
	for _, pattern := range []string{"libtorch/*.part-*", "downloads/*.part-*", "*.part-*"} {
		leftovers, _ := filepath.Glob(filepath.Join(s.Cache, pattern)) // the patterns are constant and good
		for _, p := range leftovers {
			os.RemoveAll(p) // what stays costs disk space only
		}
	}
}

func (s *Setup) discard(files []string) error {
	for _, f := range files {
		if err := os.Remove(f); err != nil {
			return err
		}
	}
	return nil
}

// lock waits until no other set-up works in this cache. The lock goes with the process, however it ends.
func (s *Setup) lock(ctx context.Context) (release func(), err error) {
	if err := os.MkdirAll(s.Cache, 0o755); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(filepath.Join(s.Cache, "lock"), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	for told := false; ; told = true {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return func() { f.Close() }, nil
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR) {
			f.Close()
			return nil, fmt.Errorf("%s: cannot lock: %v", f.Name(), err)
		}
		if !told {
			s.logf("another set-up is at work; waiting for it")
		}
		select {
		case <-ctx.Done():
			f.Close()
			return nil, ctx.Err()
		case <-time.After(100 * time.Millisecond):
		}
	}
}
