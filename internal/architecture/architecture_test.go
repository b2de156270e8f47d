// Package architecture holds the rules of the house as tests: who may import whom, and which rooms
// are built without libtorch.
package architecture

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strings"
	"testing"
)

const (
	module = "github.com/tabert-workbench/tabert-workbench"
	gotch  = "github.com/sugarme/gotch"
)

// room is a folder with its subfolders, except those that are rooms of their own. What a room may import are rooms
// too, with their subfolders; "internal/…" rooms that a floor may use are named one by one, so that no pure room gets
// a tensor from them.
type room struct {
	path   string
	may    []string
	tensor bool // may import gotch, itself or through others
}

// all stands for every room on a lower floor.
var all = []string{"."}

// rooms are the floors, from the bottom up. A room may import what stands before it and in its list; the rooms that
// those may import come with them, for their types appear in what they export.
var rooms = []room{
	{path: "internal/testdata"},
	{path: "internal/architecture"},
	{path: "internal/libtorch"},
	{path: "internal", may: []string{"internal"}, tensor: true},

	{path: "asdl"},
	{path: "schema"},
	{path: "grammars"},

	{path: "tabert", may: []string{"internal", "schema"}},
	{path: "tabert/encoder", may: []string{"tabert", "internal"}, tensor: true},
	{path: "semql", may: []string{"asdl", "schema", "grammars"}},
	{path: "database", may: []string{"schema"}},

	{path: "tranx", may: []string{"asdl"}},
	{path: "tranx/decoder", may: []string{"tranx", "internal"}, tensor: true},

	{path: "eval", may: []string{"schema"}},
	{path: "eval/exec", may: []string{"eval", "database"}},
	{path: "parser", may: []string{"asdl", "schema", "grammars", "tabert", "semql", "database", "tranx", "internal"}, tensor: true},

	{path: "spider", may: all},
	{path: "spider/predict", may: all, tensor: true},
	{path: "spider/train", may: all, tensor: true},
	{path: "wtq", may: all},
	{path: "wtq/train", may: all, tensor: true},

	{path: "cmd/setup", may: []string{"internal/libtorch"}},
	{path: "cmd", may: all, tensor: true},
}

// roomOf is the room with the longest path that holds the package.
func roomOf(pkg string) (int, bool) {
	best, found := 0, false
	for i, r := range rooms {
		if (pkg == r.path || strings.HasPrefix(pkg, r.path+"/")) && (!found || len(r.path) > len(rooms[best].path)) {
			best, found = i, true
		}
	}
	return best, found
}

// allowed reports whether a package of room from may import one of room to.
func allowed(from, to int) bool {
	if from == to {
		return true
	}
	if to > from {
		return false
	}
	for _, m := range rooms[from].may {
		if m == "." {
			return true
		}
		target := rooms[to].path
		if target == m || strings.HasPrefix(target, m+"/") {
			return true
		}
		if i, ok := roomOf(m); ok && i != from && allowed(i, to) {
			return true
		}
	}
	return false
}

type goPackage struct {
	ImportPath, Dir string
	Imports, Deps   []string
	ForTest         string
}

// list runs go list in the root of the repository. It looks at each source file itself, too: go test repeats a
// cached result unless a file that the test has looked at changed.
func list(t *testing.T, args ...string) []goPackage {
	t.Helper()
	err := filepath.WalkDir(root(t), func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (strings.HasPrefix(d.Name(), ".") || d.Name() == "database" && strings.Contains(path, "testdata")) {
			return filepath.SkipDir
		}
		if strings.HasSuffix(path, ".go") {
			_, err = os.Stat(path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	var out []goPackage
	for d := json.NewDecoder(bytes.NewReader(goCommand(t, nil, append([]string{"list", "-json=ImportPath,Dir,Imports,Deps,ForTest"}, args...)...))); ; {
		var p goPackage
		if err := d.Decode(&p); err == io.EOF {
			return out
		} else if err != nil {
			t.Fatal(err)
		}
		out = append(out, p)
	}
}

func root(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func goCommand(t *testing.T, env []string, args ...string) []byte {
	t.Helper()
	var stderr bytes.Buffer
	cmd := exec.Command("go", args...)
	cmd.Dir, cmd.Stderr, cmd.Env = root(t), &stderr, env
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, &stderr)
	}
	return out
}

// inside is the path of a package within this module.
func inside(importPath string) (string, bool) {
	if i := strings.IndexByte(importPath, ' '); i >= 0 {
		importPath = importPath[:i] // "pkg [pkg.test]"
	}
	return strings.CutPrefix(importPath, module+"/")
}

func TestImportsGoDown(t *testing.T) {
	for _, p := range list(t, "./...") {
		pkg, ok := inside(p.ImportPath)
		if !ok {
			t.Errorf("%s: the root of the module holds no package", p.ImportPath)
			continue
		}
		from, ok := roomOf(pkg)
		if !ok {
			t.Errorf("%s is in no room: give it a place in the table of this test", pkg)
			continue
		}
		for _, imported := range p.Imports {
			if imported == gotch || strings.HasPrefix(imported, gotch+"/") {
				if !rooms[from].tensor {
					t.Errorf("%s imports %s: tensors stay out of %s", pkg, imported, rooms[from].path)
				}
				continue
			}
			dep, ok := inside(imported)
			if !ok {
				continue
			}
			if to, ok := roomOf(dep); ok && !allowed(from, to) {
				t.Errorf("%s imports %s: %s may import %s", pkg, dep, rooms[from].path, permission(rooms[from]))
			}
		}
	}
}

func permission(r room) string {
	switch {
	case len(r.may) == 0:
		return "no other room"
	case r.may[0] == ".":
		return "lower floors only"
	}
	return "only " + strings.Join(r.may, ", ")
}

// The rooms without tensors need no libtorch: not for themselves, and not for their tests.
func TestPureRooms(t *testing.T) {
	for _, p := range list(t, "-test", "./...") {
		path := p.ImportPath
		if p.ForTest != "" {
			path = p.ForTest
		}
		pkg, ok := inside(strings.TrimSuffix(path, ".test"))
		if !ok {
			continue
		}
		if i, ok := roomOf(pkg); !ok || rooms[i].tensor {
			continue
		}
		for _, dep := range p.Deps {
			if dep == gotch || strings.HasPrefix(dep, gotch+"/") {
				t.Errorf("%s depends on %s", p.ImportPath, dep)
				break
			}
		}
	}
}

// Scoring needs no libtorch: eval-spider builds without it, and without the cgo flags of the set-up.
func TestScoringWithoutLibtorch(t *testing.T) {
	const command = "cmd/eval-spider"
	if _, err := os.Stat(filepath.Join(root(t), command)); os.IsNotExist(err) {
		t.Skipf("no %s: skipped", command)
	}
	for _, p := range list(t, "-tags", "notorch", "./"+command) {
		for _, dep := range p.Deps {
			if dep == gotch || strings.HasPrefix(dep, gotch+"/") {
				t.Fatalf("%s depends on %s with -tags notorch", command, dep)
			}
		}
	}
	var env []string
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "CGO_") && !strings.HasPrefix(v, "LIBTORCH=") {
			env = append(env, v)
		}
	}
	program := filepath.Join(t.TempDir(), "eval-spider")
	goCommand(t, env, "build", "-tags", "notorch", "-o", program, "./"+command)
	if out, err := exec.Command(program, "--help").CombinedOutput(); err != nil || !bytes.Contains(out, []byte("--gold")) {
		t.Errorf("eval-spider --help: %v, expected a usage with --gold:\n%s", err, out)
	}
}

// The table itself: what it must allow, and what it must not.
func TestTable(t *testing.T) {
	for _, c := range []struct {
		from, to string
		want     bool
	}{
		{"semql/sql", "asdl", true},
		{"semql", "tranx", false},
		{"asdl", "schema", false},
		{"tranx", "asdl", true},
		{"tranx", "schema", false},
		{"tranx/decoder", "asdl", true}, // through tranx
		{"tranx/decoder", "internal/torch", true},
		{"tranx/decoder", "tabert", false},
		{"tabert", "tabert/encoder", false},
		{"tabert/encoder", "tabert", true},
		{"eval", "semql", false},
		{"eval/exec", "database", true},
		{"eval", "eval/exec", false},
		{"parser", "eval", false},
		{"parser", "tabert/encoder", true},
		{"spider", "parser", true},
		{"parser", "spider", false},
		{"spider/train", "parser", true},
		{"cmd/nl2sql", "spider/train", true},
		{"cmd/setup", "internal/torch", false},
		{"internal/torch", "asdl", false},
	} {
		from, ok := roomOf(c.from)
		if !ok {
			t.Fatalf("no room for %s", c.from)
		}
		to, ok := roomOf(c.to)
		if !ok {
			t.Fatalf("no room for %s", c.to)
		}
		if got := allowed(from, to); got != c.want {
			t.Errorf("%s imports %s: allowed %v, want %v", c.from, c.to, got, c.want)
		}
	}
	var paths []string
	for _, r := range rooms {
		paths = append(paths, r.path)
	}
	sort.Strings(paths)
	for i := 1; i < len(paths); i++ {
		if paths[i] == paths[i-1] {
			t.Errorf("the table has %s twice", paths[i])
		}
	}
}
