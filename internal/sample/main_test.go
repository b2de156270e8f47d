package main

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/tabert-workbench/tabert-workbench/internal/testdata"
)

// What lies in the repository is what this command writes.
func TestSampleIsUpToDate(t *testing.T) {
	sample, dir := testdata.Sample(t), t.TempDir()
	if err := run(testdata.SpiderDir(t), dir); err != nil {
		t.Fatal(err)
	}
	files, size := 0, 0
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		made, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		files, size = files+1, size+len(made)
		name, _ := filepath.Rel(dir, path)
		kept, err := os.ReadFile(filepath.Join(sample, name))
		if err != nil {
			return err
		}
		if !bytes.Equal(made, kept) {
			t.Errorf("%s differs: run the generator again", name)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if files != 4+29 || size > 5<<20 {
		t.Errorf("%d files of %d bytes, expected 33 of at most 5 MiB", files, size)
	}
}
