package semql_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/tabert-workbench/tabert-workbench/asdl"
	"github.com/tabert-workbench/tabert-workbench/eval"
	"github.com/tabert-workbench/tabert-workbench/internal/testdata"
	"github.com/tabert-workbench/tabert-workbench/schema"
	"github.com/tabert-workbench/tabert-workbench/semql"
	"github.com/tabert-workbench/tabert-workbench/tranx"
)

type example struct {
	ID    string `json:"db_id"`
	Query string
}

var splits = []string{"train_spider", "train_others", "dev"}

func spiderSplit(t testing.TB, dir, split string) []example {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, split+".json"))
	if err != nil {
		t.Fatal(err)
	}
	var list []example
	if err := json.Unmarshal(b, &list); err != nil {
		t.Fatal(err)
	}
	return list
}

func spiderSchemas(t testing.TB, dir string) map[string]*schema.Database {
	t.Helper()
	dbs, err := schema.LoadJSON(filepath.Join(dir, "tables.json"))
	if err != nil {
		t.Fatal(err)
	}
	return dbs
}

func figure(t testing.TB) *asdl.Grammar {
	t.Helper()
	g, err := semql.Grammar("figure")
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// Gold queries come back from trees and from actions: nearly all have a tree, every tree is
// the same after its actions, values included, is allowed by the constraint action by action,
// and renders as SQL that matches the gold as far as the figure's grammar can say it.
func TestSpider(t *testing.T) {
	testSpider(t, testdata.SpiderDir(t), map[string]float64{"train_spider": 0.945, "train_others": 0.91, "dev": 0.94})
}

// The same of the part of Spider in this repository.
func TestSample(t *testing.T) {
	testSpider(t, testdata.Sample(t), map[string]float64{"train_spider": 0.9, "train_others": 0.9, "dev": 0.9})
}

// testSpider checks each split in a folder; at least the given share must match the gold.
func testSpider(t *testing.T, dir string, least map[string]float64) {
	dbs, g := spiderSchemas(t, dir), figure(t)
	system, err := tranx.NewSystem(g, semql.LeafKinds())
	if err != nil {
		t.Fatal(err)
	}
	for _, split := range splits {
		examples := spiderSplit(t, dir, split)
		same, exact := 0, 0
		for i, e := range examples {
			db := dbs[e.ID]
			tree, err := semql.FromSQL(e.Query, db, g)
			if err != nil {
				continue
			}
			if err := tree.Check(g); err != nil {
				t.Fatalf("%s %d: %s: %v", split, i, e.Query, err)
			}
			if allowed(t, system, tree, db) {
				same++
			} else {
				t.Errorf("%s %d: %s: %s is forbidden, or lost in its actions", split, i, e.Query, tree)
			}
			text, err := semql.Render(tree, db)
			if err != nil {
				t.Fatalf("%s %d: %s: %v", split, i, e.Query, err)
			}
			verdict, err := eval.NewSchema(db).Match(e.Query, text)
			if err != nil {
				t.Fatalf("%s %d: %v", split, i, err)
			}
			if verdict.Exact {
				exact++
			}
		}
		n := float64(len(examples))
		t.Logf("%s: %d queries, %.1f %% the same after their actions, %.1f %% exact", split, len(examples), 100*float64(same)/n, 100*float64(exact)/n)
		if float64(same) < 0.98*n {
			t.Errorf("%s: only %d of %d queries are the same after their actions", split, same, len(examples))
		}
		if float64(exact) < least[split]*n {
			t.Errorf("%s: only %d of %d queries match the gold, expected %.1f %%", split, exact, len(examples), 100*least[split])
		}
	}
}

// allowed takes a tree's actions one by one under the constraint, and compares what they build.
func allowed(t *testing.T, system *tranx.System, tree *asdl.Tree, db *schema.Database) bool {
	t.Helper()
	actions, err := system.Oracle(tree)
	if err != nil {
		t.Fatalf("%s: %v", tree, err)
	}
	constraint := semql.Constraint(db)
	h := system.Start()
	for _, a := range actions {
		if !h.Allows(constraint, a) {
			return false
		}
		if h, err = h.Apply(a); err != nil {
			t.Fatalf("%s: %v", tree, err)
		}
	}
	return h.Done() && h.Tree().Equal(tree)
}
