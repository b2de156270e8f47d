package semql_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/tabert-workbench/tabert-workbench/asdl"
	"github.com/tabert-workbench/tabert-workbench/database"
	"github.com/tabert-workbench/tabert-workbench/internal/testdata"
	"github.com/tabert-workbench/tabert-workbench/schema"
	"github.com/tabert-workbench/tabert-workbench/semql"
	"github.com/tabert-workbench/tabert-workbench/tranx"
)

// walker takes random actions among those that grammar and constraint allow.
type walker struct {
	system     *tranx.System
	db         *schema.Database
	constraint tranx.Constraint
}

// candidates lists what may come next. Texts are of a few shapes, and one word long.
func (w *walker) candidates(h *tranx.Hypothesis) []tranx.Action {
	e := h.Expect()
	var list []tranx.Action
	if e.Reduce {
		list = append(list, tranx.Action{Kind: tranx.Reduce})
	}
	switch e.Kind {
	case tranx.ApplyConstr:
		for _, c := range e.Constructors {
			list = append(list, tranx.Action{Kind: tranx.ApplyConstr, Constructor: c})
		}
	case tranx.GenToken:
		if len(h.Open().Tokens) > 0 {
			return []tranx.Action{{Kind: tranx.GenToken, Token: tranx.EndOfString}}
		}
		for _, text := range []string{"", "1", "-2.5", "007", "it's", "%a\"", "né"} {
			if text == "" {
				text = tranx.EndOfString
			}
			list = append(list, tranx.Action{Kind: tranx.GenToken, Token: text})
		}
	case tranx.SelectTable:
		for i := range w.db.Tables {
			list = append(list, tranx.Action{Kind: tranx.SelectTable, Table: i})
		}
	case tranx.SelectColumn:
		for i, t := range w.db.Tables {
			for j := range t.Columns {
				list = append(list, tranx.Action{Kind: tranx.SelectColumn, Table: i, Column: j})
			}
		}
	case tranx.SelectInt:
		for n := 0; n < 4; n++ {
			list = append(list, tranx.Action{Kind: tranx.SelectInt, Int: n})
		}
	}
	var allowed []tranx.Action
	for _, a := range list {
		if h.Allows(w.constraint, a) {
			allowed = append(allowed, a)
		}
	}
	return allowed
}

// tree draws a tree. Once it is large, only what ends it soon is drawn.
func (w *walker) tree(t *rapid.T) *asdl.Tree {
	h := w.system.Start()
	for !h.Done() {
		list := w.candidates(h)
		if len(list) == 0 {
			t.Fatalf("nothing may come next after %v in database %s", h.Actions(), w.db.ID)
		}
		if h.Len() > 60 {
			list = soon(list)
		}
		a := list[rapid.IntRange(0, len(list)-1).Draw(t, "action")]
		next, err := h.Apply(a)
		if err != nil {
			t.Fatal(err)
		}
		h = next
		if h.Len() > 5000 {
			t.Fatalf("no end in sight: %v", h.Actions()[:200])
		}
	}
	return h.Tree()
}

// soon keeps the actions that end a tree soonest.
func soon(list []tranx.Action) []tranx.Action {
	order := map[string]int{"Literal": 1, "ColumnReference": 1, "LikeExpr": 2, "AllRows": 2, "CompareExpr": 3, "SelectStatement": 8, "AndExpr": 9, "OrExpr": 9}
	cost := func(a tranx.Action) int {
		if a.Kind == tranx.Reduce {
			return 0
		}
		if a.Kind == tranx.ApplyConstr && len(a.Constructor.Fields) > 0 {
			if c := order[a.Constructor.Name]; c > 0 {
				return c
			}
			return 5
		}
		return 0
	}
	best := cost(list[0])
	for _, a := range list {
		best = min(best, cost(a))
	}
	var kept []tranx.Action
	for _, a := range list {
		if cost(a) == best {
			kept = append(kept, a)
		}
	}
	return kept
}

// Every tree that grammar and constraint allow renders as SQL that SQLite prepares, the same
// each time, and that reads as a tree which renders as the same again.
func TestRandomTrees(t *testing.T) {
	dir := testdata.Sample(t)
	dbs := spiderSchemas(t, dir)
	g := figure(t)
	system, err := tranx.NewSystem(g, semql.LeafKinds())
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	files := map[string]*database.DB{}
	for id := range dbs {
		path := filepath.Join(dir, "database", id, id+".sqlite")
		if _, err := os.Stat(path); err != nil {
			continue
		}
		db, err := database.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		files[id] = db
		ids = append(ids, id)
	}
	if len(ids) == 0 {
		t.Fatalf("no databases in %s", dir)
	}
	slices.Sort(ids)
	rapid.Check(t, func(t *rapid.T) {
		id := rapid.SampledFrom(ids).Draw(t, "database")
		db := dbs[id]
		w := &walker{system, db, semql.Constraint(db)}
		tree := w.tree(t)
		if err := tree.Check(g); err != nil {
			t.Fatal(err)
		}
		text, err := semql.Render(tree, db)
		if err != nil {
			t.Fatalf("%s: %v", tree, err)
		}
		if again, _ := semql.Render(tree, db); again != text {
			t.Fatalf("%s: rendered as %s, then as %s", tree, text, again)
		}
		if err := files[id].Prepare(context.Background(), text); err != nil {
			t.Fatalf("%s: %s: %s: %v", id, tree, text, err)
		}
	})
}
