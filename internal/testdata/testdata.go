// Package testdata finds the data that tests run on: the sample of Spider in this
// repository, and the whole of Spider where a machine has it.
package testdata

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

// Root is the repository's root folder.
func Root() string {
	_, file, _, _ := runtime.Caller(0)
	return filepath.Join(filepath.Dir(file), "..", "..")
}

// Sample is the folder with the part of Spider that lies in this repository.
func Sample(t testing.TB) string {
	t.Helper()
	return filepath.Join(Root(), "testdata", "spider")
}

// SpiderDir is the folder of all of Spider: $SPIDER_DIR, else ../shared/spider beside
// the repository. The test is skipped where neither is there.
func SpiderDir(t testing.TB) string {
	t.Helper()
	return folder(t, "SPIDER_DIR", "spider", "tables.json")
}

// ConformanceDir is the folder with the answers of the reference systems:
// $CONFORMANCE_DIR, else ../shared/conformance. The test is skipped where neither is there.
func ConformanceDir(t testing.TB) string {
	t.Helper()
	return folder(t, "CONFORMANCE_DIR", "conformance", "README.md")
}

// Records reads a gzip-compressed file of JSON lines.
func Records[T any](t testing.TB, path string) []T {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	var all []T
	d := json.NewDecoder(bufio.NewReader(z))
	for d.More() {
		var r T
		if err := d.Decode(&r); err != nil {
			t.Fatalf("%s, record %d: %v", path, len(all)+1, err)
		}
		all = append(all, r)
	}
	return all
}

func folder(t testing.TB, env, name, witness string) string {
	t.Helper()
	dir := os.Getenv(env)
	if dir == "" {
		dir = filepath.Join(Root(), "..", "shared", name)
	}
	if _, err := os.Stat(filepath.Join(dir, witness)); err != nil {
		t.Skipf("skipped: no %s in %s (set %s to a folder that has it)", witness, dir, env)
	}
	return dir
}
