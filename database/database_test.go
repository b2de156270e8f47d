package database

import (
	"context"
	"crypto/sha256"
	"database/sql/driver"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/mattn/go-sqlite3"

	"github.com/tabert-workbench/tabert-workbench/schema"
)

// write opens a file for writing, past this package.
func write(t testing.TB, path string, statements ...string) *sqlite3.SQLiteConn {
	t.Helper()
	opened, err := new(sqlite3.SQLiteDriver).Open("file:" + path)
	if err != nil {
		t.Fatal(err)
	}
	c := opened.(*sqlite3.SQLiteConn)
	for _, s := range statements {
		if _, err := c.Exec(s, nil); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
	return c
}

// file makes a database and closes it.
func file(t testing.TB, statements ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "shop.sqlite")
	if err := write(t, path, statements...).Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

func mustOpen(t testing.TB, path string) *DB {
	t.Helper()
	db, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

var pets = []string{
	`CREATE TABLE owner (OwnerID INTEGER PRIMARY KEY, name TEXT, born DATE, member BOOLEAN)`,
	`CREATE TABLE pet (id INTEGER PRIMARY KEY, owner INTEGER REFERENCES owner, weight REAL, seen DATETIME)`,
	`CREATE INDEX pet_owner ON pet(owner)`,
	`INSERT INTO owner VALUES (1, 'Ann', '2001-02-03', 1), (2, 'Bo', 'unknown', 0), (3, NULL, 2001, NULL)`,
	`INSERT INTO pet VALUES (1, 1, 2.5, 1700000000), (2, 1, 3, '2020-01-01 10:00:00'), (3, 2, NULL, NULL)`,
}

// state is everything about a folder that must not change.
func state(t testing.TB, dir string) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		s := info.Mode().String() + " " + info.ModTime().Format(time.RFC3339Nano)
		if !d.IsDir() {
			content, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			s += fmt.Sprintf(" %d", len(content))
			if !strings.HasSuffix(path, "-shm") { // a reader in the writer's own process marks there what it reads
				s += fmt.Sprintf(" %x", sha256.Sum256(content))
			}
		}
		found[path] = s
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestSchema(t *testing.T) {
	path := file(t,
		`CREATE TABLE "order details" ("unit price" DECIMAL(10,2), "a""b" TEXT, [select] varchar(20), FOREIGN KEY ("select") REFERENCES "größe"("名前"))`,
		`CREATE TABLE größe (名前 TEXT PRIMARY KEY, erstellt TIMESTAMP, foto BLOB, aktiv BOOLEAN, ort POINT, ohne)`,
		`CREATE TABLE link (b INTEGER, a INTEGER, PRIMARY KEY (a, b)) WITHOUT ROWID`,
		`CREATE TABLE uses (x INT, y INT, doubled INT GENERATED ALWAYS AS (x * 2), FOREIGN KEY (x, y) REFERENCES link, FOREIGN KEY (x) REFERENCES gone)`,
		`CREATE TABLE auto (id INTEGER PRIMARY KEY AUTOINCREMENT)`,
		`CREATE VIEW broken AS SELECT * FROM nowhere`,
		`CREATE VIEW cheap AS SELECT "unit price" AS UnitPrice FROM "order details"`,
	)
	db := mustOpen(t, path)
	got, err := db.Schema()
	if err != nil {
		t.Fatal(err)
	}
	want := &schema.Database{
		ID: "shop",
		Tables: []schema.Table{
			{Name: "order details", Original: "order details", Columns: []schema.Column{
				{Name: "unit price", Original: "unit price", Type: schema.Number},
				{Name: "a b", Original: `a"b`, Type: schema.Text},
				{Name: "select", Original: "select", Type: schema.Text}}},
			{Name: "größe", Original: "größe", PrimaryKey: []int{0}, Columns: []schema.Column{
				{Name: "名前", Original: "名前", Type: schema.Text},
				{Name: "erstellt", Original: "erstellt", Type: schema.Time},
				{Name: "foto", Original: "foto", Type: schema.Others},
				{Name: "aktiv", Original: "aktiv", Type: schema.Boolean},
				{Name: "ort", Original: "ort", Type: schema.Others},
				{Name: "ohne", Original: "ohne", Type: schema.Text}}},
			{Name: "link", Original: "link", PrimaryKey: []int{1, 0}, Columns: []schema.Column{
				{Name: "b", Original: "b", Type: schema.Number},
				{Name: "a", Original: "a", Type: schema.Number}}},
			{Name: "uses", Original: "uses", Columns: []schema.Column{
				{Name: "x", Original: "x", Type: schema.Number},
				{Name: "y", Original: "y", Type: schema.Number},
				{Name: "doubled", Original: "doubled", Type: schema.Number}}},
			{Name: "auto", Original: "auto", PrimaryKey: []int{0}, Columns: []schema.Column{
				{Name: "id", Original: "id", Type: schema.Number}}},
			{Name: "cheap", Original: "cheap", Columns: []schema.Column{
				{Name: "unit price", Original: "UnitPrice", Type: schema.Number}}},
		},
		ForeignKeys: []schema.ForeignKey{
			{From: schema.Ref{Table: 0, Column: 2}, To: schema.Ref{Table: 1, Column: 0}},
			{From: schema.Ref{Table: 3, Column: 0}, To: schema.Ref{Table: 2, Column: 1}},
			{From: schema.Ref{Table: 3, Column: 1}, To: schema.Ref{Table: 2, Column: 0}},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("schema (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"cheap"}, db.Views()); diff != "" {
		t.Errorf("views (-want +got):\n%s", diff)
	}
	notes := []string{
		`left out "broken": no such table: main.nowhere`,
		`left out the foreign key of uses.x: gone has no such column or key`,
	}
	if diff := cmp.Diff(notes, db.Notes()); diff != "" {
		t.Errorf("notes (-want +got):\n%s", diff)
	}
}

func TestOpenErrors(t *testing.T) {
	dir := t.TempDir()
	at := func(name, content string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	none := filepath.Join(dir, "none.sqlite")
	write(t, none, "CREATE TABLE t (a)", "DROP TABLE t").Close()
	for _, test := range []struct{ path, want string }{
		{"", "no database file given"},
		{filepath.Join(dir, "missing.sqlite"), "$: no such file"},
		{dir, "$: a folder, expected an SQLite file"},
		{at("empty.sqlite", ""), "$: the file is empty, there are no tables to ask about"},
		{at("people.csv", "name,age\nAnn,3\n"), `$: not an SQLite database: starts with "name,age\nAnn,3\n", expected "SQLite format 3"`},
		{at("short.sqlite", magic), "$: the database is damaged: only 16 bytes long"},
		{at("noise.sqlite", magic+strings.Repeat("noise", 1000)), "$: not a readable SQLite database: the header is SQLite's, what follows is not (encrypted or damaged)"},
		{none, "$: the database has no tables"},
		{os.DevNull, "$: not a regular file, expected an SQLite file"},
	} {
		db, err := Open(test.path)
		want := strings.ReplaceAll(test.want, "$", test.path)
		if err == nil {
			db.Close()
			t.Errorf("Open(%q): no error, want %q", test.path, want)
		} else if err.Error() != want {
			t.Errorf("Open(%q): %q, want %q", test.path, err, want)
		}
	}
}

func TestLocked(t *testing.T) {
	path := file(t, pets...)
	c := write(t, path, "BEGIN EXCLUSIVE")
	defer c.Close()
	_, err := Open(path)
	if want := path + ": locked by another program (waited 1s)"; err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
}

func TestQuery(t *testing.T) {
	db := mustOpen(t, file(t, pets...))
	got, err := db.Query(context.Background(), "SELECT *, x'00ff' AS blob FROM owner; -- that is all", Limits{})
	if err != nil {
		t.Fatal(err)
	}
	// Dates and booleans stay as they are stored.
	want := &Result{
		Columns: []string{"OwnerID", "name", "born", "member", "blob"},
		Rows: [][]any{
			{int64(1), "Ann", "2001-02-03", int64(1), []byte{0, 255}},
			{int64(2), "Bo", "unknown", int64(0), []byte{0, 255}},
			{int64(3), nil, int64(2001), nil, []byte{0, 255}},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}

	got, err = db.Query(context.Background(), "SELECT id FROM pet", Limits{Rows: 2})
	if err != nil || len(got.Rows) != 2 || !got.Truncated {
		t.Errorf("two of three rows: %v, %v", got, err)
	}
	got, err = db.Query(context.Background(), "SELECT id FROM pet", Limits{Rows: 3})
	if err != nil || len(got.Rows) != 3 || got.Truncated {
		t.Errorf("three of three rows: %v, %v", got, err)
	}
	got, err = db.Query(context.Background(),
		"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n) SELECT zeroblob(1000000) FROM n", Limits{Rows: -1, Bytes: 5_500_000})
	if err != nil || len(got.Rows) != 5 || !got.Truncated {
		t.Errorf("five and a half million bytes: %d rows, %v", len(got.Rows), err)
	}
	got, err = db.Query(context.Background(), "SELECT name FROM owner WHERE 0", Limits{})
	if err != nil || len(got.Rows) != 0 || len(got.Columns) != 1 {
		t.Errorf("no rows: %v, %v", got, err)
	}
}

func TestCells(t *testing.T) {
	path := file(t, `CREATE TABLE "a ""b""" ("c d" TEXT, e DATE)`, `INSERT INTO "a ""b""" VALUES ('x', NULL), (CAST(x'41ff42' AS TEXT), '2020')`)
	db := mustOpen(t, path)
	var got [][]any
	err := db.Cells(context.Background(), `a "b"`, []string{"c d", "e"}, func(row []any) error {
		got = append(got, append([]any(nil), row...))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([][]any{{"x", nil}, {"A\uFFFDB", int64(2020)}}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}

	enough := errors.New("enough")
	calls := 0
	err = db.Cells(context.Background(), `a "b"`, []string{"c d"}, func([]any) error { calls++; return enough })
	if err != enough || calls != 1 {
		t.Errorf("%d calls, error %v", calls, err)
	}
	for _, test := range []struct{ table, column, want string }{
		{`a "b"`, "z", `no such column: t.z`},
		{"z", "z", "no such table: z"},
	} {
		err := db.Cells(context.Background(), test.table, []string{test.column}, func([]any) error { return nil })
		if err == nil || err.Error() != test.want {
			t.Errorf("%s.%s: error %v, want %s", test.table, test.column, err, test.want)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	err = db.Cells(ctx, `a "b"`, []string{"c d"}, func([]any) error { cancel(); return nil })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

func TestPrepare(t *testing.T) {
	db := mustOpen(t, file(t, pets...))
	ctx := context.Background()
	if err := db.Prepare(ctx, "SELECT name FROM owner WHERE name LIKE '%;%' -- ; \n"); err != nil {
		t.Error(err)
	}
	// Preparing runs nothing.
	if err := db.Prepare(ctx, "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n) SELECT max(i) FROM n"); err != nil {
		t.Error(err)
	}
	for _, test := range []struct{ sql, want string }{
		{"", "no statement"},
		{" ; -- nothing", "no statement"},
		{"SELECT 1; SELECT 2", "more than one statement; one at a time, please"},
		{"SELECT ?", "the statement has 1 parameters without a value"},
		{"SELECT 1 \x00 DROP", "the statement contains a NUL character"},
		{"SELEC 1", `near "SELEC": syntax error`},
		{"SELECT nme FROM owner", "no such column: nme"},
		{"SELECT 'open", `unrecognized token: "'open"`},
	} {
		if err := db.Prepare(ctx, test.sql); err == nil || err.Error() != test.want {
			t.Errorf("%q: error %v, want %s", test.sql, err, test.want)
		}
	}
}

// attacks try to write, to get out of the file, or to cost too much. Each must be refused
// within the limits.
var attacks = []struct{ sql, want string }{
	{"INSERT INTO owner VALUES (9, 'x', 1, 1)", "only reading is allowed, refused: INSERT owner"},
	{"REPLACE INTO owner VALUES (1, 'x', 1, 1)", "only reading is allowed, refused: INSERT owner"},
	{"WITH x AS (SELECT 1) INSERT INTO owner(name) SELECT * FROM x", "only reading is allowed, refused: INSERT owner"},
	{"UPDATE owner SET name = 'x'", "only reading is allowed, refused: UPDATE owner"},
	{"UPDATE owner SET name = 'x' RETURNING *", "only reading is allowed, refused: UPDATE owner"},
	{"DELETE FROM owner", "only reading is allowed, refused: DELETE owner"},
	{"DELETE FROM sqlite_master", ""},
	{"CREATE TABLE z (a)", "only reading is allowed, refused: INSERT sqlite_master"},
	{"CREATE TEMP TABLE z (a)", ""},
	{"CREATE TABLE z AS SELECT * FROM owner", ""},
	{"CREATE INDEX z ON owner(name)", ""},
	{"CREATE VIEW z AS SELECT 1", ""},
	{"CREATE TEMP VIEW z AS SELECT 1", ""},
	{"CREATE TRIGGER z AFTER INSERT ON owner BEGIN SELECT 1; END", ""},
	{"CREATE VIRTUAL TABLE z USING fts3(a)", ""},
	{"DROP TABLE owner", ""},
	{"ALTER TABLE owner RENAME TO z", ""},
	{"ALTER TABLE owner ADD COLUMN z", ""},
	{"ATTACH 'other.db' AS other", "only reading is allowed, refused: ATTACH"},
	{"ATTACH ':memory:' AS other", "only reading is allowed, refused: ATTACH"},
	{"DETACH main", ""},
	{"VACUUM", ""},
	{"VACUUM INTO 'copy.db'", ""},
	{"REINDEX", ""},
	{"ANALYZE", ""},
	{"BEGIN", "only reading is allowed, refused: a transaction: BEGIN"},
	{"COMMIT", ""},
	{"SAVEPOINT x", ""},
	{"PRAGMA query_only = OFF", "only reading is allowed, refused: PRAGMA query_only"},
	{"PRAGMA journal_mode = WAL", "only reading is allowed, refused: PRAGMA journal_mode"},
	{"PRAGMA user_version = 7", ""},
	{"PRAGMA writable_schema = ON", ""},
	{"PRAGMA wal_checkpoint(TRUNCATE)", ""},
	{"SELECT * FROM pragma_table_info('owner')", ""},
	{"EXPLAIN DELETE FROM owner", ""},
	{"SELECT load_extension('evil')", ""},
	{"SELECT fts3_tokenizer('simple')", ""},
	{"SELECT 1; DROP TABLE owner", "more than one statement; one at a time, please"},
	{"SELECT 1 /* ; */; DROP TABLE owner", "more than one statement; one at a time, please"},
	{"SELECT randomblob(1000000000)", "a value or the statement is too long (limits: 16 MiB a value, 1 MiB SQL)"},
	{"SELECT length(zeroblob(1000000000))", "a value or the statement is too long (limits: 16 MiB a value, 1 MiB SQL)"},
	{"SELECT printf('%.1000000000c', 'x')", "a value or the statement is too long (limits: 16 MiB a value, 1 MiB SQL)"},
	{"SELECT replace(hex(zeroblob(1000000)), '00', hex(zeroblob(1000)))", "a value or the statement is too long (limits: 16 MiB a value, 1 MiB SQL)"},
	{"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n) SELECT max(i) FROM n", "stopped: the query ran longer than 200ms"},
	{"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i FROM n) SELECT i FROM n WHERE i = 2", "stopped: the query ran longer than 200ms"},
	{"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n) SELECT group_concat(hex(randomblob(1000000))) FROM n", ""},
	{"SELECT count(*) FROM (WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n LIMIT 100000) SELECT * FROM n a, n b, n c)", "stopped: the query ran longer than 200ms"},
	{"SELECT " + strings.Repeat("(", 5000) + "1" + strings.Repeat(")", 5000), ""},
	{"SELECT 1" + strings.Repeat("+1", 5000), ""},
	{"SELECT 1" + strings.Repeat(" UNION ALL SELECT 1", 5000), ""},
	{"SELECT '" + strings.Repeat("x", 2<<20) + "'", ""},
	{"SELECT 'a' LIKE '" + strings.Repeat("%a", 5000) + "'", ""},
}

func TestAttacks(t *testing.T) {
	path := file(t, pets...)
	db := mustOpen(t, path)
	before := state(t, filepath.Dir(path))
	for _, a := range attacks {
		name := a.sql[:min(len(a.sql), 70)]
		start := time.Now()
		_, err := db.Query(context.Background(), a.sql, Limits{Time: 200 * time.Millisecond, Bytes: 1 << 20})
		if err == nil {
			t.Errorf("%s: not refused", name)
		} else if a.want != "" && err.Error() != a.want {
			t.Errorf("%s: error %q, want %q", name, err, a.want)
		} else if strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: more than one line: %q", name, err)
		}
		if took := time.Since(start); took > 2*time.Second {
			t.Errorf("%s: took %v", name, took)
		}
		if diff := cmp.Diff(before, state(t, filepath.Dir(path))); diff != "" {
			t.Fatalf("%s: changed something:\n%s", name, diff)
		}
	}
	// The connection is still good.
	if got, err := db.Query(context.Background(), "SELECT count(*) FROM owner", Limits{}); err != nil || got.Rows[0][0] != int64(3) {
		t.Errorf("afterwards: %v, %v", got, err)
	}
}

// TestWithoutATrace opens files in every state that another program can leave them in.
func TestWithoutATrace(t *testing.T) {
	leave := func(t *testing.T, dir string, from string, ends ...string) string {
		to := filepath.Join(dir, "left ?#%41.sqlite")
		for _, end := range ends {
			if err := copyFile(to+end, from+end); err != nil {
				t.Fatal(err)
			}
		}
		return to
	}
	// rows 1-3 are in the main file, row 4 in what lies beside it.
	writer := func(t *testing.T, mode string) (string, *sqlite3.SQLiteConn) {
		path := file(t, append([]string{"PRAGMA journal_mode = " + mode}, pets...)...)
		c := write(t, path, "PRAGMA journal_mode = "+mode, "PRAGMA wal_autocheckpoint = 0")
		t.Cleanup(func() { c.Close() })
		return path, c
	}
	exec := func(t *testing.T, c *sqlite3.SQLiteConn, sql string) {
		if _, err := c.Exec(sql, []driver.Value{}); err != nil {
			t.Fatal(err)
		}
	}
	const insert = "INSERT INTO owner VALUES (4, 'new', NULL, NULL)"
	for _, test := range []struct {
		name string
		make func(t *testing.T) string
		rows int64
		note string
	}{
		{"plain", func(t *testing.T) string { return file(t, pets...) }, 3, ""},
		{"WAL, closed", func(t *testing.T) string {
			path, c := writer(t, "WAL")
			c.Close()
			return path
		}, 3, "shop.sqlite is in WAL mode and nobody has it open: it is read as it is now, without locks"},
		{"WAL, in use", func(t *testing.T) string {
			path, c := writer(t, "WAL")
			exec(t, c, insert)
			return path
		}, 4, ""},
		{"WAL, being written", func(t *testing.T) string {
			path, c := writer(t, "WAL")
			exec(t, c, "BEGIN IMMEDIATE")
			exec(t, c, insert)
			return path
		}, 3, ""},
		{"WAL, crashed", func(t *testing.T) string {
			path, c := writer(t, "WAL")
			exec(t, c, insert)
			return leave(t, t.TempDir(), path, "", "-wal", "-shm")
		}, 4, ""},
		{"WAL without -shm", func(t *testing.T) string {
			path, c := writer(t, "WAL")
			exec(t, c, insert)
			return leave(t, t.TempDir(), path, "", "-wal")
		}, 4, "left ?#%41.sqlite has unfinished changes in left ?#%41.sqlite-wal: a copy is read, so that both stay as they are"},
		{"being written", func(t *testing.T) string {
			path, c := writer(t, "DELETE")
			exec(t, c, "BEGIN IMMEDIATE")
			exec(t, c, insert)
			return path
		}, 3, ""},
		{"crashed with a journal", func(t *testing.T) string {
			path, c := writer(t, "DELETE")
			exec(t, c, "PRAGMA cache_size = 1")
			exec(t, c, "BEGIN")
			exec(t, c, "PRAGMA cache_spill = 1")
			exec(t, c, "WITH RECURSIVE n(i) AS (SELECT 10 UNION ALL SELECT i+1 FROM n LIMIT 20000) INSERT INTO owner SELECT i, 'lost', 1, 1 FROM n")
			return leave(t, t.TempDir(), path, "", "-journal")
		}, 3, "left ?#%41.sqlite has unfinished changes in left ?#%41.sqlite-journal: a copy is read, so that both stay as they are"},
	} {
		t.Run(test.name, func(t *testing.T) {
			path := test.make(t)
			before := state(t, filepath.Dir(path))
			db, err := Open(path)
			if err != nil {
				t.Fatal(err)
			}
			got, err := db.Query(context.Background(), "SELECT count(*) FROM owner", Limits{})
			if err != nil {
				t.Fatal(err)
			}
			if got.Rows[0][0] != test.rows {
				t.Errorf("%v rows, want %d", got.Rows[0][0], test.rows)
			}
			if note := strings.Join(db.Notes(), "; "); note != test.note {
				t.Errorf("note %q, want %q", note, test.note)
			}
			if diff := cmp.Diff(before, state(t, filepath.Dir(path))); diff != "" {
				t.Errorf("while open:\n%s", diff)
			}
			if err := db.Close(); err != nil {
				t.Error(err)
			}
			if diff := cmp.Diff(before, state(t, filepath.Dir(path))); diff != "" {
				t.Errorf("after closing:\n%s", diff)
			}
			if db.source.temp != "" {
				if _, err := os.Stat(db.source.temp); !errors.Is(err, fs.ErrNotExist) {
					t.Errorf("the copy is left behind: %v", err)
				}
			}
		})
	}
}

func TestCancel(t *testing.T) {
	db := mustOpen(t, file(t, pets...))
	ctx, cancel := context.WithCancel(context.Background())
	time.AfterFunc(50*time.Millisecond, cancel)
	_, err := db.Query(ctx, "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n) SELECT max(i) FROM n", Limits{})
	if !errors.Is(err, context.Canceled) || err.Error() != "stopped: context canceled" {
		t.Errorf("error %v", err)
	}
}

func TestConcurrently(t *testing.T) {
	db := mustOpen(t, file(t, pets...))
	var wg sync.WaitGroup
	for range 12 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for range 20 {
				got, err := db.Query(context.Background(), "SELECT sum(weight) FROM pet", Limits{})
				if err != nil || got.Rows[0][0] != 5.5 {
					t.Errorf("%v, %v", got, err)
					return
				}
			}
		}()
	}
	wg.Wait()
	if n := len(db.idle); n == 0 || n > maxIdle {
		t.Errorf("%d idle connections", n)
	}
	db.Close()
	if _, err := db.Query(context.Background(), "SELECT 1", Limits{}); !errors.Is(err, os.ErrClosed) {
		t.Errorf("closed: %v", err)
	}
}

func FuzzStatements(f *testing.F) {
	for _, s := range []string{"SELECT 1", "a;b", "'a;b'';c'", "-- x;\n;", "/* ; */ x", "[;]", `";`, "'"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, sql string) {
		n := statements(sql)
		// White space and comments around it change nothing.
		if got := statements(" /* ; */ -- ;\n" + sql); got != n {
			t.Errorf("%q: %d statements, with a comment before it %d", sql, n, got)
		}
		if n > strings.Count(sql, ";")+1 {
			t.Errorf("%q: %d statements", sql, n)
		}
	})
}
