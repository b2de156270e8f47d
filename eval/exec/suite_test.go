package exec

import (
	"context"
	"database/sql"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	_ "github.com/mattn/go-sqlite3"
)

// create makes a database file of some statements.
func create(t *testing.T, path, statements string) string {
	t.Helper()
	db, err := sql.Open("sqlite3", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec(statements); err != nil {
		t.Fatal(err)
	}
	return path
}

func open(t *testing.T, paths ...string) *Suite {
	t.Helper()
	s, err := Open(paths...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

const cities = `CREATE TABLE city (name TEXT, people INT); INSERT INTO city VALUES ('Ulm', 1), ('Bonn', 3), ('Kiel', 2), ('Bonn', 3)`

func TestMatch(t *testing.T) {
	s := open(t, create(t, filepath.Join(t.TempDir(), "a.sqlite"), cities))
	for _, c := range []struct {
		gold, pred string
		want       bool
		note       Note
		err        string
	}{
		{gold: `SELECT name FROM city`, pred: `SELECT name FROM city ORDER BY name`, want: true},
		{gold: `SELECT name FROM city ORDER BY people`, pred: `SELECT name FROM city ORDER BY name`},
		{gold: `SELECT name, people FROM city`, pred: `SELECT people, name FROM city`, want: true},
		{gold: `SELECT DISTINCT name FROM city`, pred: `SELECT name FROM city`, want: true},
		{gold: `SELECT name FROM city WHERE people > 2`, pred: `SELECT name FROM city WHERE people > = 3`, want: true},
		{gold: `SELECT name FROM city WHERE people > 9`, pred: `SELECT 1 WHERE 0; DROP TABLE city`, want: true},
		{gold: `SELECT name FROM city WHERE people > 9`, pred: `;`, want: true},
		{gold: `SELECT 2020`, pred: `SELECT YEAR ( CurDate() )`, want: true},
		{gold: `SELECT name FROM city`, pred: `SELECT name FROM city UNION ALL SELECT name FROM city`},
		{gold: `SELECT name FROM city`, pred: ``, note: NoPrediction},
		{gold: `SELECT town FROM city`, pred: `SELECT name FROM city`, note: GoldError, err: "no such column: town"},
		{gold: `SELECT name FROM city`, pred: `SELECT town FROM city`, err: "no such column: town"},
		{gold: `SELECT name FROM city`, pred: `DELETE FROM city`, err: "only reading is allowed"},
		{gold: `SELECT name FROM city`, pred: `PRAGMA user_version = 3`, err: "only reading is allowed"},
		{gold: `SELECT name FROM city`, pred: `ATTACH 'x.sqlite' AS x`, err: "only reading is allowed"},
		{gold: `SELECT name FROM city`, pred: strings.Repeat("(", 100_000), err: "syntax error"},
		{gold: `SELECT name FROM city`, pred: `SELECT '` + strings.Repeat("x", 10<<20) + `'`, err: "too long"},
		// Rows beyond those of the gold query are not fetched.
		{gold: `SELECT name FROM city`, pred: `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n`},
	} {
		v := s.Match(context.Background(), c.gold, c.pred, Limits{Time: 5 * time.Second})
		if v.Match != c.want || v.Note != c.note || (v.Err == nil) != (c.err == "") || v.Err != nil && !strings.Contains(v.Err.Error(), c.err) {
			t.Errorf("gold %s, pred %.80s: %+v, want %v %q %q", c.gold, c.pred, v, c.want, c.note, c.err)
		}
	}
}

func TestMatchTimeLimit(t *testing.T) {
	path := create(t, filepath.Join(t.TempDir(), "a.sqlite"), cities)
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	s := open(t, path)
	for _, pred := range []string{
		`WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n`,
		`SELECT count(*) FROM ` + strings.TrimSuffix(strings.Repeat("city, ", 40), ", "),
	} {
		start := time.Now()
		v := s.Match(context.Background(), `SELECT name FROM city`, pred, Limits{Time: 200 * time.Millisecond})
		if v.Match || v.Err == nil || !strings.Contains(v.Err.Error(), "longer than 200ms") {
			t.Errorf("%.40s: %+v", pred, v)
		}
		if d := time.Since(start); d > 3*time.Second {
			t.Errorf("%.40s took %v", pred, d)
		}
	}
	if v := s.Match(context.Background(), `SELECT name FROM city`, `SELECT name FROM city`, Limits{}); !v.Match {
		t.Errorf("after a stopped query: %+v", v)
	}
	if v := s.Match(context.Background(), `SELECT name FROM city`, `SELECT name FROM city`, Limits{Rows: 3}); v.Note != "" || !v.Match {
		t.Errorf("the answer is known: %+v", v)
	}
	if v := s.Match(context.Background(), `SELECT people FROM city`, `SELECT name FROM city`, Limits{Rows: 3}); v.Note != GoldError {
		t.Errorf("a gold query over the limit: %+v", v)
	}
	after, err := os.ReadFile(path)
	if err != nil || string(after) != string(before) {
		t.Errorf("the file has changed (%v)", err)
	}
}

func TestSuite(t *testing.T) {
	dir := t.TempDir()
	create(t, filepath.Join(dir, "a.sqlite"), cities)
	create(t, filepath.Join(dir, "b.sqlite"), `CREATE TABLE city (name TEXT, people INT); INSERT INTO city VALUES ('Ulm', 2)`)
	s, err := OpenFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	const gold = `SELECT name FROM city WHERE people < 2`
	for pred, want := range map[string]bool{gold: true, `SELECT name FROM city WHERE name = 'Ulm'`: false} {
		if v := s.Match(context.Background(), gold, pred, Limits{}); v.Match != want {
			t.Errorf("%s: %+v, want %v", pred, v, want)
		}
	}

	empty := open(t, create(t, filepath.Join(t.TempDir(), "e.sqlite"), `CREATE TABLE city (name TEXT)`))
	if v := empty.Match(context.Background(), `SELECT 1`, `SELECT 1`, Limits{}); v.Note != EmptyDatabase || v.Match {
		t.Errorf("a database without rows: %+v", v)
	}
}

func TestOpenErrors(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct {
		open func() (*Suite, error)
		want string
	}{
		{func() (*Suite, error) { return Open() }, "no database to run queries on"},
		{func() (*Suite, error) { return Open(filepath.Join(dir, "none.sqlite")) }, "none.sqlite"},
		{func() (*Suite, error) { return OpenFolder(dir) }, "no file with .sqlite in its name"},
		{func() (*Suite, error) { return OpenFolder(filepath.Join(dir, "none")) }, "none"},
	} {
		if _, err := c.open(); err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%v, want %s", err, c.want)
		}
	}
}
