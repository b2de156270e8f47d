package libtorch

import (
	"debug/elf"
	"debug/macho"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// needed lists the base names of the shared libraries that the one in file is linked with, and its search path.
func needed(file string) (libraries, searchPath []string, err error) {
	if f, err := elf.Open(file); err == nil {
		defer f.Close()
		libraries, err := f.ImportedLibraries()
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %v", file, err)
		}
		for _, tag := range []elf.DynTag{elf.DT_RPATH, elf.DT_RUNPATH} {
			values, err := f.DynString(tag)
			if err != nil {
				return nil, nil, fmt.Errorf("%s: %v", file, err)
			}
			for _, v := range values {
				searchPath = append(searchPath, strings.Split(v, ":")...)
			}
		}
		return libraries, searchPath, nil
	}
	f, err := macho.Open(file)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: neither an ELF nor a Mach-O library: %v", file, err)
	}
	defer f.Close()
	imported, err := f.ImportedLibraries()
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %v", file, err)
	}
	for _, name := range imported {
		libraries = append(libraries, path.Base(name))
	}
	for _, load := range f.Loads {
		if r, ok := load.(*macho.Rpath); ok {
			searchPath = append(searchPath, r.Path)
		}
	}
	return libraries, searchPath, nil
}

// closure lists the libraries in files and all that they need, as far as they lie on their search paths or in dir;
// what is not found there (the C library, a driver) is the system's.
func closure(dir string, files []string) ([]string, error) {
	var out []string
	seen := map[string]bool{}
	queue := append([]string{}, files...)
	for _, f := range files {
		seen[filepath.Base(f)] = true
	}
	for len(queue) > 0 {
		file := queue[0]
		queue = queue[1:]
		out = append(out, file)
		libraries, searchPath, err := needed(file)
		if err != nil {
			return nil, err
		}
		for _, name := range libraries {
			if seen[name] {
				continue
			}
			seen[name] = true
			for _, p := range append(searchPath, dir) {
				p = strings.NewReplacer("$ORIGIN", filepath.Dir(file), "${ORIGIN}", filepath.Dir(file), "@loader_path", filepath.Dir(file)).Replace(p)
				candidate := filepath.Join(p, name)
				if _, err := os.Stat(candidate); err == nil && filepath.IsAbs(p) {
					queue = append(queue, candidate)
					break
				}
			}
		}
	}
	return out, nil
}
