package front

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/chzyer/readline"
	"github.com/google/go-cmp/cmp"
	"github.com/mattn/go-sqlite3"

	"github.com/tabert-workbench/tabert-workbench/database"
	"github.com/tabert-workbench/tabert-workbench/internal/testdata"
)

// fake answers a question with the SQL that it was told.
type fake map[string]string

func (f fake) Ask(ctx context.Context, db *database.DB, question string) (*Answer, error) {
	sql, ok := f[question]
	if !ok {
		return nil, fmt.Errorf("no answer to %q", question)
	}
	return &Answer{
		SQL: sql, Score: -0.5,
		Beam: []Hypothesis{{SQL: sql, Score: -0.5}, {SQL: "SELECT", Score: -2, Error: "incomplete input"}},
		Trace: func() ([]Stage, error) {
			return []Stage{{"snapshot", "singer: a | b\n"}, {"tree", "(Select \x1b[31mred)"}}, nil
		},
	}, nil
}

const endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n) SELECT max(i) FROM n"

var answers = fake{
	"How many singers are there?": "SELECT count(*) FROM singer",
	"Which ones?":                 "SELECT Name, Age, NULL AS none, 2.0 AS real, x'00ff' AS bytes FROM singer ORDER BY Age LIMIT 2",
	"有多少歌手？":                      "SELECT count(*) AS 数量 FROM singer",
	"Break":                       "SELECT nme FROM singer",
	"Drop":                        "DROP TABLE singer",
	"All":                         "SELECT * FROM singer, concert, stadium",
	"None":                        "SELECT Name FROM singer WHERE 0",
	"Forever":                     endless,
	"Escape":                      "SELECT 'a' || char(27) || '[31m' || char(10) || 'b' AS v, 9e999 AS f",
}

func open(model, device string, threads int) (Asker, error) { return answers, nil }

func nl2sql(t testing.TB, stdin string, args ...string) (code int, out, errOut string) {
	t.Helper()
	t.Setenv("TABERT_MODEL", t.TempDir())
	var o, e bytes.Buffer
	code = Run(args, strings.NewReader(stdin), &o, &e, open)
	return code, took.ReplaceAllString(o.String(), "(…)"), e.String()
}

// took matches what differs from run to run.
var took = regexp.MustCompile(`\([0-9]+ ms\)`)

func singers(t testing.TB) string {
	return filepath.Join(testdata.Sample(t), "database", "concert_singer", "concert_singer.sqlite")
}

func make300(t testing.TB) string {
	path := filepath.Join(t.TempDir(), "wide.sqlite")
	opened, err := new(sqlite3.SQLiteDriver).Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer opened.Close()
	var sql strings.Builder
	for i := range 300 {
		fmt.Fprintf(&sql, ", c%d DEFAULT %d", i, i)
	}
	if _, err := opened.(*sqlite3.SQLiteConn).Exec("CREATE TABLE singer ("+sql.String()[2:]+"); INSERT INTO singer DEFAULT VALUES", nil); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestQuestion(t *testing.T) {
	for _, test := range []struct {
		name string
		args []string
		want string
	}{
		{"table", []string{"-q", "Which ones?"}, `SELECT Name, Age, NULL AS none, 2.0 AS real, x'00ff' AS bytes FROM singer ORDER BY Age LIMIT 2
┌──────────────┬─────┬──────┬──────┬─────────┐
│ Name         │ Age │ none │ real │ bytes   │
├──────────────┼─────┼──────┼──────┼─────────┤
│ Tribal King  │  25 │ NULL │  2.0 │ x'00ff' │
│ Justin Brown │  29 │ NULL │  2.0 │ x'00ff' │
└──────────────┴─────┴──────┴──────┴─────────┘
2 rows (…)
`},
		{"csv", []string{"--format", "csv", "-q", "Which ones?"}, "Name,Age,none,real,bytes\nTribal King,25,,2.0,x'00ff'\nJustin Brown,29,,2.0,x'00ff'\n"},
		{"sql", []string{"--format", "sql", "-q", "Which ones?", "-q", "Drop"}, answers["Which ones?"] + "\nDROP TABLE singer\n"},
		{"Chinese", []string{"-q", "有多少歌手？"}, `SELECT count(*) AS 数量 FROM singer
┌──────┐
│ 数量 │
├──────┤
│    6 │
└──────┘
1 row (…)
`},
		{"no rows", []string{"-q", "None"}, `SELECT Name FROM singer WHERE 0
┌──────┐
│ Name │
├──────┤
└──────┘
no rows (…)
`},
		{"hostile cells", []string{"-q", "Escape"}, `SELECT 'a' || char(27) || '[31m' || char(10) || 'b' AS v, 9e999 AS f
┌──────────┬─────┐
│ v        │   f │
├──────────┼─────┤
│ a�[31m⏎b │ Inf │
└──────────┴─────┘
1 row (…)
`},
		{"too many rows", []string{"--max-rows", "1", "--format", "csv", "-q", "Which ones?"}, "Name,Age,none,real,bytes\nTribal King,25,,2.0,x'00ff'\n"},
		{"trace", []string{"--trace", "-q", "How many singers are there?"}, `── snapshot ──────────────────────────────────────────────────────────────
singer: a | b
── tree ──────────────────────────────────────────────────────────────────
(Select �[31mred)
── SQL ───────────────────────────────────────────────────────────────────
SELECT count(*) FROM singer
── rows ──────────────────────────────────────────────────────────────────
1 row, columns: 1
┌──────────┐
│ count(*) │
├──────────┤
│        6 │
└──────────┘
1 row (…)
`},
	} {
		t.Run(test.name, func(t *testing.T) {
			code, out, errOut := nl2sql(t, "", append([]string{singers(t)}, test.args...)...)
			if code != 0 {
				t.Errorf("code %d, stderr %s", code, errOut)
			}
			if diff := cmp.Diff(test.want, out); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestJSON(t *testing.T) {
	file := filepath.Join(t.TempDir(), "answers.jsonl")
	code, out, errOut := nl2sql(t, "", singers(t), "--format", "json", "--trace", "--json", file, "-q", "Which ones?")
	if code != 0 || !strings.Contains(errOut, "── snapshot") {
		t.Errorf("code %d, stderr %s", code, errOut)
	}
	written, err := os.ReadFile(file)
	if err != nil || string(written) != out {
		t.Errorf("the file has %q, %v; stdout %q", written, err, out)
	}
	var got map[string]any
	if err := json.Unmarshal([]byte(out), &got); err != nil {
		t.Fatal(err)
	}
	if s, ok := got["seconds"].(float64); !ok || s < 0 {
		t.Errorf("seconds: %v", got["seconds"])
	}
	delete(got, "seconds")
	want := map[string]any{
		"question": "Which ones?", "sql": answers["Which ones?"], "score": -0.5,
		"beam": []any{
			map[string]any{"sql": answers["Which ones?"], "score": -0.5},
			map[string]any{"sql": "SELECT", "score": -2.0, "error": "incomplete input"}},
		"trace": []any{
			map[string]any{"name": "snapshot", "text": "singer: a | b\n"},
			map[string]any{"name": "tree", "text": "(Select \x1b[31mred)"}},
		"columns": []any{"Name", "Age", "none", "real", "bytes"},
		"rows": []any{
			[]any{"Tribal King", 25.0, nil, 2.0, "x'00ff'"},
			[]any{"Justin Brown", 29.0, nil, 2.0, "x'00ff'"}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestBadInput is one line on stderr and exit code 1 or 2 each.
func TestBadInput(t *testing.T) {
	dir := t.TempDir()
	csv := filepath.Join(dir, "people.csv")
	os.WriteFile(csv, []byte("name,age\n"), 0o600)
	empty := filepath.Join(dir, "empty.sqlite")
	os.WriteFile(empty, nil, 0o600)
	db := singers(t)
	for _, test := range []struct {
		name string
		args []string
		code int
		want string
	}{
		{"nothing", nil, 2, `expected "<file>" (nl2sql --help shows the usage)`},
		{"unknown flag", []string{db, "--qestion", "x"}, 2, `unknown flag --qestion, did you mean "--question"? (nl2sql --help shows the usage)`},
		{"format", []string{db, "--format", "xml"}, 2, `--format must be one of "table","csv","json","sql" but got "xml" (nl2sql --help shows the usage)`},
		{"missing file", []string{"none.sqlite", "-q", "x"}, 1, "none.sqlite: no such file"},
		{"folder", []string{dir, "-q", "x"}, 1, dir + ": a folder, expected an SQLite file"},
		{"not SQLite", []string{csv, "-q", "x"}, 1, csv + `: not an SQLite database: starts with "name,age\n", expected "SQLite format 3"`},
		{"no tables", []string{empty, "-q", "x"}, 1, empty + ": the file is empty, there are no tables to ask about"},
		{"empty question", []string{db, "-q", " "}, 2, "the question is empty"},
		{"no answer", []string{db, "-q", "What?"}, 1, `no answer to "What?"`},
		{"bad query", []string{db, "-q", "Break", "--format", "csv"}, 1, "the query failed: no such column: nme"},
		{"writing", []string{db, "-q", "Drop", "--format", "csv"}, 1, "the query failed: only reading is allowed, refused: DELETE sqlite_master"},
		{"timeout", []string{db, "-q", "Forever", "--format", "csv", "--timeout", "100ms"}, 1, "the query failed: stopped: the query ran longer than 100ms"},
		{"rows", []string{db, "--max-rows", "0"}, 2, "--max-rows: expected at least 1, got 0"},
		{"no time", []string{db, "--timeout", "0s"}, 2, "--timeout: expected more than nothing, got 0s"},
		{"JSON nowhere", []string{db, "-q", "x", "--json", dir}, 1, "open " + dir + ": is a directory"},
	} {
		t.Run(test.name, func(t *testing.T) {
			code, out, errOut := nl2sql(t, "", test.args...)
			if code != test.code || errOut != "nl2sql: "+test.want+"\n" || out != "" {
				t.Errorf("code %d, want %d, stdout %q, stderr\n%s, want\nnl2sql: %s", code, test.code, out, errOut, test.want)
			}
		})
	}
}

func TestModelErrors(t *testing.T) {
	var o, e bytes.Buffer
	broken := func(model, device string, threads int) (Asker, error) {
		return nil, fmt.Errorf("%s on %s: truncated", model, device)
	}
	code := Run([]string{singers(t), "--model", "m", "--device", "cuda", "-q", "x"}, strings.NewReader(""), &o, &e, broken)
	if want := "nl2sql: m on cuda: truncated\n"; code != 1 || e.String() != want {
		t.Errorf("code %d, %q, want %q", code, e.String(), want)
	}
}

func TestFindModel(t *testing.T) {
	t.Chdir(t.TempDir())
	if dir, err := findModel(""); err == nil || !strings.HasPrefix(err.Error(), "no model: nothing in ") {
		t.Errorf("%q, %v", dir, err)
	}
	if err := os.MkdirAll(filepath.Join("models", "mini"), 0o700); err != nil {
		t.Fatal(err)
	}
	if dir, err := findModel(""); err != nil || dir != filepath.Join("models", "mini") {
		t.Errorf("%q, %v", dir, err)
	}
	if dir, err := findModel("given"); err != nil || dir != "given" {
		t.Errorf("%q, %v", dir, err)
	}
}

func TestWide(t *testing.T) {
	code, out, errOut := nl2sql(t, "SELECT * FROM singer\n", make300(t))
	if code != 0 || errOut != "" || !strings.Contains(out, " c299 ") {
		t.Errorf("code %d, stderr %q, stdout %.200s", code, errOut, out)
	}
}

func TestBatch(t *testing.T) {
	lines := strings.Join([]string{
		"\uFEFFHow many singers are there?", "", "What?", ".nonsense", "select singers from France",
		"SELECT count(*) FROM stadium;", ".sql", ".sql DELETE FROM singer", ".quit", "not reached",
	}, "\r\n")
	code, out, errOut := nl2sql(t, lines, singers(t), "--format", "csv")
	if want := "count(*)\n6\ncount(*)\n9\nSELECT count(*) FROM stadium;\n"; code != 1 || out != want {
		t.Errorf("code %d, stdout %q, want %q", code, out, want)
	}
	want := `nl2sql: line 3: no answer to "What?"
nl2sql: line 4: unknown command .nonsense; .help lists them
nl2sql: line 5: no answer to "select singers from France"
nl2sql: line 8: the query failed: only reading is allowed, refused: DELETE singer
`
	if diff := cmp.Diff(want, errOut); diff != "" {
		t.Errorf("stderr (-want +got):\n%s", diff)
	}
	if code, out, errOut := nl2sql(t, "", singers(t)); code != 0 || out+errOut != "" {
		t.Errorf("an empty pipe: code %d, %q, %q", code, out, errOut)
	}
}

func TestCommands(t *testing.T) {
	code, out, errOut := nl2sql(t, ".tables\n.schema SINGER_IN_concert\n.trace\n.trace on\n.trace\n.trace off\n.help\n", singers(t))
	want := `stadium
singer
concert
singer_in_concert
singer_in_concert
  concert_ID  number  key, → concert.concert_ID
  Singer_ID   text    key, → singer.Singer_ID
off
on
.tables             the tables
.schema [TABLE]     columns, types and keys
.sql [QUERY]        the last query; with QUERY: run that
.trace on|off       print every stage from the question to the rows, or not
.help               this
.quit               leave (Ctrl-D too)
SELECT … or WITH …  run as SQL, for reading only
anything else       a question
`
	if code != 0 || errOut != "" {
		t.Errorf("code %d, stderr %q", code, errOut)
	}
	if diff := cmp.Diff(want, out); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	code, _, errOut = nl2sql(t, ".schema x\n.trace maybe\n.sql\n", singers(t))
	want = `nl2sql: line 1: no table "x"; .tables lists them
nl2sql: line 2: .trace: expected on or off, got "maybe"
nl2sql: line 3: no query yet
`
	if code != 1 || errOut != want {
		t.Errorf("code %d, stderr %q, want %q", code, errOut, want)
	}
}

// typed are the lines and keys of a person at the prompt.
type typed []any

func (l *typed) Readline() (string, error) {
	if len(*l) == 0 {
		return "", io.EOF
	}
	next := (*l)[0]
	*l = (*l)[1:]
	if err, ok := next.(error); ok {
		return "", err
	}
	return next.(string), nil
}

func (*typed) Close() error { return nil }

func TestInteract(t *testing.T) {
	db, err := database.Open(singers(t))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var out, errOut bytes.Buffer
	s := &session{db: db, asker: answers, out: &out, err: &errOut, format: "table", limits: database.Limits{Time: time.Minute}}

	// Ctrl-C reaches the query, not the program.
	hold := make(chan os.Signal, 1)
	signal.Notify(hold, os.Interrupt)
	defer signal.Stop(hold)
	time.AfterFunc(200*time.Millisecond, func() { syscall.Kill(os.Getpid(), syscall.SIGINT) })
	start := time.Now()
	lines := typed{readline.ErrInterrupt, "Forever", "What?", "How many singers are there?"}
	if err := s.interact(&lines); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(start); took > 10*time.Second {
		t.Errorf("took %v", took)
	}
	if want := "nl2sql: the query failed: stopped\nnl2sql: no answer to \"What?\"\n"; errOut.String() != want {
		t.Errorf("stderr %q, want %q", errOut.String(), want)
	}
	for _, want := range []string{"Ask concert_singer.sqlite something", "(.quit or Ctrl-D leaves)", "│        6 │"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in:\n%s", want, out.String())
		}
	}

	lines = typed{".quit", "not reached"}
	if err := s.interact(&lines); err != nil || len(lines) != 1 {
		t.Errorf("%v, left %v", err, lines)
	}
	broken := errors.New("broken")
	lines = typed{broken}
	if err := s.interact(&lines); err != broken {
		t.Errorf("%v", err)
	}
}

func TestNumber(t *testing.T) {
	for f, want := range map[float64]string{0: "0.0", 2: "2.0", -1.5: "-1.5", 1e6: "1000000.0", 1e20: "1e+20", 1e-7: "1e-07", 0.1: "0.1"} {
		if got := number(f); got != want {
			t.Errorf("%g: %s, want %s", f, got, want)
		}
	}
}

func TestHistoryFile(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("XDG_STATE_HOME", dir)
	if got, want := historyFile(), filepath.Join(dir, "tabert-workbench", "nl2sql-history"); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if info, err := os.Stat(filepath.Join(dir, "tabert-workbench")); err != nil || !info.IsDir() {
		t.Errorf("no folder for it: %v", err)
	}
}
