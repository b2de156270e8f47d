package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tabert-workbench/tabert-workbench/internal/testdata"
	"github.com/tabert-workbench/tabert-workbench/schema"
)

// command runs it.
func command(stdin string, args ...string) (code int, stdout, stderr string) {
	var out, errOut bytes.Buffer
	code = run(args, strings.NewReader(stdin), &out, &errOut)
	return code, out.String(), errOut.String()
}

func TestParseAndRender(t *testing.T) {
	data := testdata.Sample(t)
	const query = "SELECT Name, count(*) FROM singer GROUP BY Name\n"
	const tree = "(SelectStatement None [(ColumnReference #1.1) (AggregateExpr Count (AllRows #1) None)] - - - [] -)\n"
	for _, tt := range []struct {
		name, stdin string
		args        []string
		want        string
	}{
		{"parse", "", []string{"parse", "--data", data, "concert_singer", query}, tree},
		{"parse what is piped in", query, []string{"parse", "--tables", filepath.Join(data, "tables.json"), "concert_singer"}, tree},
		{"render", "", []string{"render", "--data", data, "concert_singer", tree}, query},
		{"render what is piped in", tree, []string{"render", "--data", data, "concert_singer"}, query},
		{"actions", "", []string{"parse", "--data", data, "--actions", "concert_singer", "SELECT count(*) FROM singer"},
			"(SelectStatement None [(AggregateExpr Count (AllRows #1) None)] - - - [] -)\n" +
				"  0 ApplyConstr(SelectStatement)\n  1 ApplyConstr(None)\n  2 ApplyConstr(AggregateExpr)\n  3 ApplyConstr(Count)\n" +
				"  4 ApplyConstr(AllRows)\n  5 SelectTable(1)\n  6 ApplyConstr(None)\n  7 Reduce\n  8 Reduce\n  9 Reduce\n 10 Reduce\n 11 Reduce\n 12 Reduce\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			code, out, errOut := command(tt.stdin, tt.args...)
			if code != 0 || out != tt.want || errOut != "" {
				t.Errorf("code %d, error %q, printed\n%s, want\n%s", code, errOut, out, tt.want)
			}
		})
	}
}

func TestSchema(t *testing.T) {
	code, out, errOut := command("", "schema", filepath.Join(testdata.Sample(t), "database", "concert_singer", "concert_singer.sqlite"))
	if code != 0 || errOut != "" {
		t.Fatalf("code %d, %s", code, errOut)
	}
	dbs, err := schema.ReadJSON(strings.NewReader(out))
	if err != nil || len(dbs) != 1 || dbs[0].ID != "concert_singer" || len(dbs[0].Tables) != 4 || len(dbs[0].ForeignKeys) == 0 {
		t.Errorf("read %v, %v from\n%s", dbs, err, out)
	}
	tables := filepath.Join(t.TempDir(), "tables.json")
	if err := os.WriteFile(tables, []byte(out), 0o644); err != nil {
		t.Fatal(err)
	}
	code, out, errOut = command("", "parse", "--tables", tables, "concert_singer", "SELECT count(*) FROM singer")
	if code != 0 || !strings.HasPrefix(out, "(SelectStatement None [(AggregateExpr Count") {
		t.Errorf("code %d, %q, %q", code, out, errOut)
	}
}

func TestRoundtrip(t *testing.T) {
	records := filepath.Join(t.TempDir(), "out.jsonl")
	code, out, errOut := command("", "roundtrip", "--data", testdata.Sample(t), "--json", records)
	if code != 0 || errOut != "" {
		t.Fatalf("code %d, %s", code, errOut)
	}
	for _, want := range []string{"split", "train", "others", "dev", "exact match", "lost because of", "no tree: a subquery in FROM", "GROUP BY by other columns than the rule's"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	b, err := os.ReadFile(records)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(string(b), "\n"), "\n")
	exact := 0
	for _, line := range lines {
		var r struct {
			Split, Gold, Sexpr, Rendered, Reason string
			Exact, Same                          bool
		}
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatal(err)
		}
		if r.Exact == (r.Reason != "") || r.Exact && (r.Sexpr == "" || r.Rendered == "") || r.Split == "" || r.Gold == "" {
			t.Errorf("record %s", line)
		}
		if r.Exact {
			exact++
		}
	}
	if len(lines) < 900 || exact < len(lines)*9/10 {
		t.Errorf("%d records, %d exact", len(lines), exact)
	}
}

// One line on stderr, nothing on stdout, and the exit code.
func TestErrors(t *testing.T) {
	data := testdata.Sample(t)
	empty := t.TempDir()
	text := filepath.Join(empty, "notes.sqlite")
	if err := os.WriteFile(text, []byte("not a database"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name string
		args []string
		code int
		want string
	}{
		{"nothing", nil, 2, `semql: expected one of "roundtrip", "parse", "render", "schema" (semql --help shows the usage)`},
		{"no such flag", []string{"schema", "--quick", "x"}, 2, "semql: unknown flag --quick (semql --help shows the usage)"},
		{"no schema", []string{"parse", "shop", "SELECT 1"}, 2, "semql: expected --data or --tables, to know the schema of shop"},
		{"no query", []string{"parse", "--data", data, "concert_singer"}, 2, "semql: no query: expected it as the last argument or on standard input"},
		{"no tree", []string{"render", "--data", data, "concert_singer", " "}, 2, "semql: no tree: expected it as the last argument or on standard input"},
		{"no database", []string{"parse", "--data", data, "nowhere", "SELECT 1"}, 1, "semql: " + data + `/tables.json: no database "nowhere"`},
		{"no data", []string{"roundtrip", "--data", empty}, 1, "semql: no " + empty + "/tables.json: expected a folder with Spider's public release (tables.json, dev.json, database/…)"},
		{"no split", []string{"roundtrip", "--data", data, "--split", "mine"}, 1, `semql: unknown split "mine": expected train, others, dev, test or a .json file`},
		{"syntax", []string{"parse", "--data", data, "concert_singer", "SELECT Name FROM singer WHERE"}, 1, "semql: 1:30: found the end of the query, expected an expression"},
		{"name", []string{"parse", "--data", data, "concert_singer", "SELECT name FROM singers"}, 1, `semql: 1:18: database "concert_singer" has no table "singers" here`},
		{"inexpressible", []string{"parse", "--data", data, "concert_singer", "SELECT name FROM singer WHERE age IS NULL"}, 1, "semql: the grammar cannot express IS NULL"},
		{"table of a tree", []string{"render", "--data", data, "concert_singer", "(SelectStatement None [(AllRows #7)] - - - [] -)"}, 1, `semql: rendering for database "concert_singer": table 7 of 4`},
		{"not SQLite", []string{"schema", text}, 1, "semql: " + text + ": not an SQLite database: "},
		{"no file", []string{"schema", filepath.Join(empty, "none.sqlite")}, 1, "semql: "},
	} {
		t.Run(tt.name, func(t *testing.T) {
			code, out, errOut := command("", tt.args...)
			if code != tt.code || out != "" || !strings.HasPrefix(errOut, tt.want) || strings.Count(errOut, "\n") != 1 {
				t.Errorf("code %d, printed %q, error\n%s, want code %d and\n%s", code, out, errOut, tt.code, tt.want)
			}
		})
	}
}

func TestHelp(t *testing.T) {
	for _, args := range [][]string{{"--help"}, {"roundtrip", "--help"}, {"parse", "--help"}, {"render", "--help"}, {"schema", "--help"}} {
		code, out, errOut := command("", args...)
		out = strings.Join(strings.Fields(out), " ") // lines are wrapped
		if code != 0 || errOut != "" || !strings.Contains(out, "semql schema shop.sqlite > tables.json") && !strings.Contains(out, "For example: semql "+args[0]) {
			t.Errorf("%v: code %d, error %q, printed\n%s", args, code, errOut, out)
		}
	}
}
