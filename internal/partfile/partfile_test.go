package partfile

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if os.IsNotExist(err) {
		return "(none)"
	} else if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.txt")
	if err := os.WriteFile(path, []byte("old"), 0o644); err != nil {
		t.Fatal(err)
	}
	f, err := Create(path)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprint(f, "new")
	if err := f.Flush(); err != nil {
		t.Fatal(err)
	}
	if got := read(t, path) + " " + read(t, f.Part()); got != "old new" {
		t.Errorf("while it grows: %q", got)
	}
	if err := f.Commit(); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Error("Close after Commit:", err)
	}
	if got := read(t, path) + " " + read(t, f.Part()); got != "new (none)" {
		t.Errorf("complete: %q", got)
	}

	if f, err = Create(path); err != nil {
		t.Fatal(err)
	}
	fmt.Fprint(f, "half")
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if got := read(t, path) + " " + read(t, f.Part()); got != "new half" {
		t.Errorf("interrupted: %q", got)
	}

	if f, err = Create(path); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if got := read(t, path) + " " + read(t, f.Part()); got != "new (none)" {
		t.Errorf("interrupted before anything was written: %q", got)
	}
}

func TestNobodyAsked(t *testing.T) {
	var f *File
	if n, err := f.Write([]byte("abc")); n != 3 || err != nil {
		t.Error(n, err)
	}
	if f.Flush() != nil || f.Commit() != nil || f.Close() != nil {
		t.Error("a file that is not there fails")
	}
}

func TestCreateErrors(t *testing.T) {
	dir := t.TempDir()
	for _, path := range []string{dir, filepath.Join(dir, "none", "a.txt")} {
		if f, err := Create(path); err == nil {
			t.Errorf("%s: made %v", path, f)
		}
	}
}

// What is no regular file is written to as it is.
func TestDevice(t *testing.T) {
	f, err := Create(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprint(f, "gone")
	if f.Part() != os.DevNull {
		t.Error("part:", f.Part())
	}
	if err := f.Commit(); err != nil {
		t.Error(err)
	}
}
