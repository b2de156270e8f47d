package semql_test

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tabert-workbench/tabert-workbench/asdl"
	"github.com/tabert-workbench/tabert-workbench/schema"
	"github.com/tabert-workbench/tabert-workbench/semql"
)

var update = flag.Bool("update", false, "rewrite the expected outputs in testdata")

// school is the schema of the cases: a chain of tables, a composite key, two keys between the
// same tables, names that need quotes, and a table that nothing leads to.
func school(t testing.TB) *schema.Database {
	t.Helper()
	dbs, err := schema.LoadJSON(filepath.Join("testdata", "tables.json"))
	if err != nil {
		t.Fatal(err)
	}
	return dbs["school"]
}

// golden compares text with a file of a case, or rewrites the file. No text: no file.
func golden(t *testing.T, path, text string) {
	t.Helper()
	if *update {
		os.Remove(path)
		if text != "" {
			if err := os.WriteFile(path, []byte(text+"\n"), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	if got := text; got != strings.TrimSuffix(string(want), "\n") {
		t.Errorf("%s:\n%s\nwant\n%s", filepath.Base(path), got, want)
	}
}

// Each folder of testdata/cases has a query, and its tree and what that renders as, or an error.
func TestCases(t *testing.T) {
	db, g := school(t), figure(t)
	dirs, err := filepath.Glob(filepath.Join("testdata", "cases", "*"))
	if err != nil || len(dirs) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	for _, dir := range dirs {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			query, err := os.ReadFile(filepath.Join(dir, "query.sql"))
			if err != nil {
				t.Fatal(err)
			}
			var sexpr, rendered, failure string
			tree, err := semql.FromSQL(string(query), db, g)
			if err != nil {
				failure = err.Error()
			} else {
				if err := tree.Check(g); err != nil {
					t.Fatal(err)
				}
				sexpr = tree.String()
				if rendered, err = semql.Render(tree, db); err != nil {
					t.Fatal(err)
				}
				again, err := asdl.ParseTree(g, sexpr)
				if err != nil || !again.Equal(tree) {
					t.Errorf("%s reads as %v (%v)", sexpr, again, err)
				}
			}
			golden(t, filepath.Join(dir, "tree.txt"), sexpr)
			golden(t, filepath.Join(dir, "rendered.sql"), rendered)
			golden(t, filepath.Join(dir, "error.txt"), failure)
		})
	}
}
