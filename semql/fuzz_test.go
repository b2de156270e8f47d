package semql_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/tabert-workbench/tabert-workbench/semql"
)

// Whatever SQL reads as a tree is a tree of the grammar, and renders as SQL that is read, too.
func FuzzFromSQL(f *testing.F) {
	files, err := filepath.Glob(filepath.Join("testdata", "cases", "*", "query.sql"))
	if err != nil || len(files) == 0 {
		f.Fatalf("no cases: %v", err)
	}
	for _, path := range files {
		text, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text))
	}
	db, g := school(f), figure(f)
	f.Fuzz(func(t *testing.T, text string) {
		tree, err := semql.FromSQL(text, db, g)
		if err != nil {
			if err.Error() == "" {
				t.Error("an error that says nothing")
			}
			return
		}
		if err := tree.Check(g); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		rendered, err := semql.Render(tree, db)
		if err != nil {
			t.Fatalf("%s: %s: %v", text, tree, err)
		}
		if again, err := semql.Render(tree, db); again != rendered || err != nil {
			t.Fatalf("%s: rendered as %s, then as %s (%v)", text, rendered, again, err)
		}
		if _, err := semql.FromSQL(rendered, db, g); err != nil {
			if _, ok := err.(*semql.Inexpressible); !ok {
				t.Fatalf("%s: rendered as %s: %v", text, rendered, err)
			}
		}
	})
}
