package libtorch

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"sort"
	"strings"
)

// Dist is a relocatable folder of programs, libtorch and a model, packed as a tarball.
type Dist struct {
	Programs string   // a folder of programs, linked with the rpath $ORIGIN/../lib
	Files    []string // files and folders of the repository, packed under their names
	Modules  []Module // Go modules in the programs: their licences go along
}

// Module is a Go module's path and its folder.
type Module struct{ Path, Dir string }

// entry is one file of the tarball.
type entry struct {
	source, name string
	mode         int64
}

// WriteDist packs d with l and writes out at once, or not at all.
func (s *Setup) WriteDist(ctx context.Context, l *Library, d Dist, out string) error {
	entries, err := s.distEntries(ctx, l, d)
	if err != nil {
		return err
	}
	top := strings.TrimSuffix(filepath.Base(out), ".tar.gz")
	return writeBeside(out, func(f *os.File) error { return writeTarball(ctx, f, top, entries) })
}

func (s *Setup) distEntries(ctx context.Context, l *Library, d Dist) ([]entry, error) {
	var entries []entry
	programs, err := tree(d.Programs, "bin", 0o755)
	if err != nil {
		return nil, err
	}
	entries = append(entries, programs...)
	for _, f := range d.Files {
		files, err := tree(f, filepath.ToSlash(f), 0o644)
		if err != nil {
			return nil, err
		}
		entries = append(entries, files...)
	}

	libraries, err := closure(l.Lib(), []string{filepath.Join(l.Lib(), sharedName("torch_cpu")), filepath.Join(l.Lib(), sharedName("c10"))})
	if err != nil {
		return nil, err
	}
	libraries = append(libraries, compilerLibraries(ctx)...)
	for _, f := range libraries {
		entries = append(entries, entry{f, "lib/" + filepath.Base(f), 0o755})
	}

	papers, err := wheelPapers(filepath.Dir(l.Dir))
	if err != nil {
		return nil, err
	}
	if len(papers) == 0 {
		s.logf("no licence of PyTorch beside %s: add it before you pass the tarball on", l.Dir)
	}
	entries = append(entries, papers...)
	for _, f := range []string{"/usr/share/doc/libstdc++6/copyright", "/usr/share/doc/libgcc-s1/copyright"} {
		if _, err := os.Stat(f); err == nil {
			entries = append(entries, entry{f, "licences/" + filepath.Base(filepath.Dir(f)) + "/copyright", 0o644})
		}
	}
	modules := append([]Module{{"go", runtime.GOROOT()}}, d.Modules...)
	for _, m := range modules {
		files, err := filepath.Glob(filepath.Join(m.Dir, "*"))
		if err != nil {
			return nil, err
		}
		for _, f := range files {
			base := strings.ToUpper(filepath.Base(f))
			if strings.HasPrefix(base, "LICEN") || strings.HasPrefix(base, "COPYING") || strings.HasPrefix(base, "NOTICE") || strings.HasPrefix(base, "PATENTS") {
				entries = append(entries, entry{f, "licences/" + m.Path + "/" + filepath.Base(f), 0o644})
			}
		}
	}
	sort.Slice(entries, func(i, j int) bool { return entries[i].name < entries[j].name })
	return entries, nil
}

// tree lists the files below source (or the file itself) under name.
func tree(source, name string, mode int64) ([]entry, error) {
	var out []entry
	err := filepath.WalkDir(source, func(p string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(source, p)
		if err != nil {
			return err
		}
		out = append(out, entry{p, path.Join(name, filepath.ToSlash(rel)), mode})
		return nil
	})
	return out, err
}

// compilerLibraries are the run-time libraries of g++, which may be older on the machine that the tarball goes to.
func compilerLibraries(ctx context.Context) []string {
	if runtime.GOOS != "linux" {
		return nil
	}
	compiler := "g++"
	if v := strings.Fields(os.Getenv("CXX")); len(v) > 0 {
		compiler = v[0]
	}
	var out []string
	for _, name := range []string{"libstdc++.so.6", "libgcc_s.so.1"} {
		file, err := exec.CommandContext(ctx, compiler, "-print-file-name="+name).Output()
		if f := strings.TrimSpace(string(file)); err == nil && filepath.IsAbs(f) {
			out = append(out, f)
		}
	}
	return out
}

// wheelPapers lists the licences that lie beside an unpacked wheel.
func wheelPapers(dir string) ([]entry, error) {
	var out []entry
	for _, pattern := range []string{"torch-*.dist-info", "nvidia_*.dist-info"} {
		infos, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil {
			return nil, err
		}
		for _, info := range infos {
			files, err := tree(info, "licences/"+strings.TrimSuffix(filepath.Base(info), ".dist-info"), 0o644)
			if err != nil {
				return nil, err
			}
			for _, f := range files {
				base := strings.ToUpper(path.Base(f.name))
				if strings.HasPrefix(base, "LICEN") || strings.HasPrefix(base, "NOTICE") {
					out = append(out, f)
				}
			}
		}
	}
	return out, nil
}

func writeTarball(ctx context.Context, w io.Writer, top string, entries []entry) error {
	zw, err := gzip.NewWriterLevel(w, gzip.BestSpeed+2)
	if err != nil {
		return err
	}
	tw := tar.NewWriter(zw)
	seen := map[string]bool{}
	for _, e := range entries {
		if err := ctx.Err(); err != nil {
			return err
		}
		if seen[e.name] {
			return fmt.Errorf("two files want to be %s in the tarball, one of them %s", e.name, e.source)
		}
		seen[e.name] = true
		if err := addFile(tw, path.Join(top, e.name), e); err != nil {
			return err
		}
	}
	if err := tw.Close(); err != nil {
		return err
	}
	return zw.Close()
}

func addFile(tw *tar.Writer, name string, e entry) error {
	f, err := os.Open(e.source) // follows links: libgomp.so.1 is one in some distributions
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if err := tw.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: e.mode, Size: info.Size(), ModTime: info.ModTime()}); err != nil {
		return err
	}
	_, err = io.Copy(tw, f)
	return err
}
