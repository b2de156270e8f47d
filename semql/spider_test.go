package semql_test

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"testing"

	_ "github.com/mattn/go-sqlite3"

	"github.com/tabert-workbench/tabert-workbench/internal/testdata"
	"github.com/tabert-workbench/tabert-workbench/schema"
	"github.com/tabert-workbench/tabert-workbench/semql"
)

type example struct {
	ID    string `json:"db_id"`
	Query string
}

func spiderSplit(t testing.TB, split string) []example {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(testdata.SpiderDir(t), split+".json"))
	if err != nil {
		t.Fatal(err)
	}
	var list []example
	if err := json.Unmarshal(b, &list); err != nil {
		t.Fatal(err)
	}
	return list
}

func TestSpider(t *testing.T) {
	dir := testdata.SpiderDir(t)
	dbs, err := schema.LoadJSON(filepath.Join(dir, "tables.json"))
	if err != nil {
		t.Fatal(err)
	}
	g, err := semql.Grammar("figure")
	if err != nil {
		t.Fatal(err)
	}
	conns := map[string]*sql.DB{}
	for _, split := range []string{"train_spider", "train_others", "dev"} {
		losses := map[string]int{}
		ok := 0
		for i, e := range spiderSplit(t, split) {
			db := dbs[e.ID]
			tree, err := semql.FromSQL(e.Query, db, g)
			if err != nil {
				losses[err.Error()]++
				continue
			}
			if err := tree.Check(g); err != nil {
				t.Errorf("%s %d: %s: %v", split, i, e.Query, err)
			}
			text, err := semql.Render(tree, db)
			if err != nil {
				t.Errorf("%s %d: %s: %v", split, i, e.Query, err)
				continue
			}
			again, err := semql.FromSQL(text, db, g)
			if err != nil {
				t.Errorf("%s %d: %s: rendered %s: %v", split, i, e.Query, text, err)
				continue
			}
			if !again.Equal(tree) {
				losses["not a fixpoint"]++
				if losses["not a fixpoint"] < 10 {
					t.Logf("%s %d: %s\n%s\n%s\n%s", split, i, e.Query, text, tree, again)
				}
			}
			if conns[e.ID] == nil {
				c, err := sql.Open("sqlite3", "file:"+filepath.Join(dir, "database", e.ID, e.ID+".sqlite")+"?mode=ro")
				if err != nil {
					t.Fatal(err)
				}
				conns[e.ID] = c
			}
			st, err := conns[e.ID].Prepare(text)
			if err != nil {
				if st, err2 := conns[e.ID].Prepare(e.Query); err2 == nil {
					st.Close()
					t.Errorf("%s %d: %s: rendered %s: %v", split, i, e.Query, text, err)
				} else {
					losses["gold does not run"]++
				}
				continue
			}
			st.Close()
			ok++
		}
		t.Logf("%s: ok %d", split, ok)
		var names []string
		for n := range losses {
			names = append(names, n)
		}
		sort.Slice(names, func(i, j int) bool { return losses[names[i]] > losses[names[j]] })
		for _, n := range names {
			t.Log(fmt.Sprintf("%5d %s", losses[n], n))
		}
	}
}
