package spider

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tabert-workbench/tabert-workbench/internal/testdata"
)

func TestSample(t *testing.T) {
	check(t, testdata.Sample(t), map[Split]int{Train: 323, Others: 20, Dev: 661}, nil)
}

func TestSpider(t *testing.T) {
	check(t, testdata.SpiderDir(t), map[Split]int{Train: 7000, Others: 1659, Dev: 1034}, nil)
}

func check(t *testing.T, dir string, want map[Split]int, missing []string) {
	for split, n := range want {
		d, err := Load(dir, split)
		if err != nil {
			t.Fatal(err)
		}
		if len(d.Examples) != n {
			t.Errorf("%s: %d examples, expected %d", split, len(d.Examples), n)
		}
		for i, e := range d.Examples {
			if e.ID != i || e.Split != split || d.Databases[e.DBID].ID != e.DBID || e.Question == "" || e.Query == "" {
				t.Fatalf("%s: example %d is %+v", split, i, e)
			}
		}
		if diff := cmp.Diff(missing, d.Missing(), cmp.Transformer("nil", func(s []string) []string { return append([]string{}, s...) })); diff != "" {
			t.Errorf("%s: missing (-want +got):\n%s", split, diff)
		}
	}
	d, err := Load(dir, Train, Others)
	if err != nil {
		t.Fatal(err)
	}
	held := d.HeldOut(10, 1)
	train, on := d.Part(held)
	if len(held) != 10 || len(train)+len(on) != want[Train]+want[Others] || len(on) == 0 {
		t.Errorf("%d held-out databases, %d and %d examples", len(held), len(train), len(on))
	}
	for _, e := range on {
		if e.Split != Train {
			t.Fatalf("held out from %s", e.Split)
		}
	}
}

func TestHeldOut(t *testing.T) {
	ids := []string{"f", "a", "b", "c", "d", "e", "a"}
	got := HeldOut(ids, 3, 7)
	slices.Reverse(ids)
	if diff := cmp.Diff(got, HeldOut(ids, 3, 7)); diff != "" {
		t.Errorf("the order of the IDs matters:\n%s", diff)
	}
	if diff := cmp.Diff([]string{"a", "c", "d"}, got); diff != "" {
		t.Errorf("seed 7 chooses (-want +got):\n%s", diff)
	}
	if n := len(HeldOut(ids, 100, 1)); n != 6 {
		t.Errorf("%d of six", n)
	}
	if n := len(HeldOut(nil, 3, 1)); n != 0 {
		t.Errorf("%d of none", n)
	}
}

const tables = `[{"db_id": "a", "table_names": ["t"], "table_names_original": ["t"],
	"column_names": [[-1, "*"], [0, "x"]], "column_names_original": [[-1, "*"], [0, "x"]],
	"column_types": ["text", "text"], "primary_keys": [], "foreign_keys": []}]`

// folder is a release of the given files.
func folder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestErrors(t *testing.T) {
	for _, test := range []struct {
		name, tables, dev, want string
		split                   Split
	}{
		{"no tables", "", "[]", "no $/tables.json: expected a folder with Spider's public release (tables.json, dev.json, database/…)", Dev},
		{"bad tables", "{}", "[]", "$/tables.json: schema: expected a JSON list of databases as in Spider's tables.json: json: cannot unmarshal object into Go value of type []schema.record", Dev},
		{"no questions", tables, "", "open $/dev.json: no such file or directory", Dev},
		{"unknown split", tables, "[]", `unknown split "dave": expected train, others, dev, test or a .json file`, "dave"},
		{"not a list", tables, `{"db_id": "a"}`, "$/dev.json: expected a JSON list of questions with db_id, question and query", Dev},
		{"cut off", tables, `[{"db_id": "a", "question": "q", "query": "s"}`, "$/dev.json: after record 0: unexpected EOF", Dev},
		{"wrong type", tables, `[{"db_id": "a", "question": "q", "query": "s"}, {"db_id": 3}]`, "$/dev.json: record 1: json: cannot unmarshal number into Go struct field .db_id of type string", Dev},
		{"unknown database", tables, `[{"db_id": "b", "question": "q", "query": "s"}]`, `$/dev.json: record 0: db_id "b" is not in tables.json`, Dev},
		{"no database", tables, `[{"question": "q", "query": "s"}]`, `$/dev.json: record 0: no db_id`, Dev},
		{"no question", tables, `[{"db_id": "a", "question": " ", "query": "s"}]`, `$/dev.json: record 0: no question`, Dev},
		{"no query", tables, `[{"db_id": "a", "question": "q"}]`, `$/dev.json: record 0: no query`, Dev},
	} {
		t.Run(test.name, func(t *testing.T) {
			files := map[string]string{"tables.json": test.tables, "dev.json": test.dev}
			for name, content := range files {
				if content == "" {
					delete(files, name)
				}
			}
			dir := folder(t, files)
			_, err := Load(dir, test.split)
			want := strings.ReplaceAll(test.want, "$", dir)
			if err == nil || err.Error() != want {
				t.Errorf("error %v, want %s", err, want)
			}
		})
	}
}

func TestLayout(t *testing.T) {
	other := strings.ReplaceAll(tables, `"a"`, `"b"`)
	dir := folder(t, map[string]string{
		"tables.json":      tables,
		"test_tables.json": other,
		"test.json":        `[{"db_id": "b", "question": "q", "query": "s"}]`,
		"own.json":         `[{"db_id": "a", "question": "q"}, {"db_id": "a", "question": "r", "query": "s"}]`,
		"elsewhere.json":   other,
	})
	put := func(path string) string {
		path = filepath.Join(dir, path)
		os.MkdirAll(filepath.Dir(path), 0o700)
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	path := put("test_database/b/b.sqlite")

	d, err := Load(dir, Test)
	if err != nil {
		t.Fatal(err)
	}
	if got := d.DatabasePath("b"); got != path || len(d.Missing()) != 0 {
		t.Errorf("path %s, missing %v", got, d.Missing())
	}

	d, err = Load(dir, Split(filepath.Join(dir, "own.json")))
	if err != nil {
		t.Fatal(err)
	}
	if len(d.Examples) != 2 || d.Examples[0].Query != "" {
		t.Errorf("examples %+v", d.Examples)
	}
	if diff := cmp.Diff([]string{"a"}, d.Missing()); diff != "" {
		t.Errorf("missing databases are named once (-want +got):\n%s", diff)
	}

	d, err = Layout{Dir: dir, Tables: filepath.Join(dir, "elsewhere.json"), Databases: filepath.Join(dir, "test_database")}.Load(Test)
	if err != nil || !d.HasFile("b") {
		t.Errorf("elsewhere: %v", err)
	}
}

func TestPairs(t *testing.T) {
	sample := testdata.Sample(t)
	d, err := Load(sample, Others)
	if err != nil {
		t.Fatal(err)
	}
	before := len(d.Examples)
	file := filepath.Join(sample, "database", "pets_1", "pets_1.sqlite")
	dir := folder(t, map[string]string{
		"good.jsonl": `{"question": "How many?", "db_id": "pets_1", "query": "SELECT count(*) FROM Pets"}` + "\n\n" +
			`{"question": "Which?", "database": "mine.sqlite", "query": "SELECT 1", "note": "kept"}` + "\n" +
			`{"question": "Who?", "database": "mine.sqlite", "query": "SELECT 2"}`,
	})
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	mine := filepath.Join(dir, "mine.sqlite")
	if err := os.WriteFile(mine, content, 0o600); err != nil {
		t.Fatal(err)
	}
	n, err := d.AddPairs(filepath.Join(dir, "good.jsonl"))
	if err != nil || n != 3 || len(d.Examples) != before+3 {
		t.Fatalf("%d added, %v", n, err)
	}
	last := d.Examples[before+2]
	if diff := cmp.Diff(Example{ID: 3, Split: Pairs, DBID: "mine", Question: "Who?", Query: "SELECT 2"}, last); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := d.DatabasePath("mine"); got != mine {
		t.Errorf("path %s, want %s", got, mine)
	}
	if got := len(d.Databases["mine"].Tables); got != 3 {
		t.Errorf("%d tables", got)
	}
	for _, test := range []struct{ line, want string }{
		{`{"question": "q"`, "expected a JSON object with question, query and db_id or database: unexpected EOF"},
		{`{"question": "q", "query": "s"}`, "expected either db_id or database"},
		{`{"question": "q", "query": "s", "db_id": "x", "database": "y"}`, "expected either db_id or database"},
		{`{"question": "q", "query": "s", "db_id": "x"}`, `db_id "x" is not in tables.json`},
		{`{"question": "q", "query": "s", "database": "none.sqlite"}`, "$/none.sqlite: no such file"},
		{`{"question": "q", "query": "", "db_id": "geo"}`, "no query"},
		{`{"question": "", "query": "s", "db_id": "geo"}`, "no question"},
	} {
		dir := folder(t, map[string]string{"bad.jsonl": "\n" + test.line + "\n"})
		_, err := d.AddPairs(filepath.Join(dir, "bad.jsonl"))
		want := strings.ReplaceAll(filepath.Join(dir, "bad.jsonl")+":2: "+test.want, "$", dir)
		if err == nil || err.Error() != want {
			t.Errorf("%s: error %v, want %s", test.line, err, want)
		}
	}
}
