package database

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tabert-workbench/tabert-workbench/internal/testdata"
	"github.com/tabert-workbench/tabert-workbench/schema"
)

func TestSample(t *testing.T) { compare(t, testdata.Sample(t)) }
func TestSpider(t *testing.T) { compare(t, testdata.SpiderDir(t)) }

// compare reads every file of Spider and compares with what tables.json says.
func compare(t *testing.T, dir string) {
	all, err := schema.LoadJSON(filepath.Join(dir, "tables.json"))
	if err != nil {
		t.Fatal(err)
	}
	var columns, sameType, keys, sameKeys int
	for id, want := range all {
		path := filepath.Join(dir, "database", id, id+".sqlite")
		if _, err := os.Stat(path); err != nil {
			continue
		}
		db, err := Open(path)
		if err != nil {
			t.Error(err)
			continue
		}
		got, _ := db.Schema()
		if got.ID != id {
			t.Errorf("%s: ID %s", id, got.ID)
		}
		for i, table := range want.Tables {
			if strings.HasPrefix(table.Original, "sqlite_") {
				continue // SQLite's own; Spider lists sqlite_sequence of three databases
			}
			j, ok := got.FindTable(table.Original)
			if !ok {
				t.Errorf("%s: no table %q", id, table.Original)
				continue
			}
			if i != j {
				t.Logf("%s: table %q is %d, in tables.json %d", id, table.Original, j, i)
			}
			for k, c := range table.Columns {
				l, ok := got.FindColumn(j, strings.TrimSpace(c.Original))
				if !ok {
					t.Errorf("%s.%s: no column %q", id, table.Original, c.Original)
					continue
				}
				if k != l {
					t.Logf("%s.%s.%s is %d, in tables.json %d", id, table.Original, c.Original, l, k)
				}
				columns++
				if got.Tables[j].Columns[l].Type == c.Type {
					sameType++
				} else {
					t.Logf("%s.%s.%s: type %s, in tables.json %s", id, table.Original, c.Original, got.Tables[j].Columns[l].Type, c.Type)
				}
			}
		}
		keys += len(want.ForeignKeys)
		for _, k := range want.ForeignKeys {
			for _, l := range got.ForeignKeys {
				if name(want, k) == name(got, l) {
					sameKeys++
					break
				}
			}
		}
		db.Close()
	}
	if columns == 0 || sameType*100 < columns*99 || sameKeys != keys {
		t.Errorf("types or keys differ too much from tables.json")
	}
	t.Logf("%d databases: of %d columns %d have the type of tables.json; of its %d foreign keys %d are in the files",
		len(all), columns, sameType, keys, sameKeys)
}

func name(d *schema.Database, k schema.ForeignKey) string {
	column := func(r schema.Ref) string {
		return d.Tables[r.Table].Original + "." + d.Tables[r.Table].Columns[r.Column].Original
	}
	return strings.ToLower(column(k.From) + " -> " + column(k.To))
}
