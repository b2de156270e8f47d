package schema_test

import (
	"bytes"
	"path/filepath"
	"reflect"
	"sort"
	"strings"
	"testing"

	"github.com/tabert-workbench/tabert-workbench/internal/testdata"
	"github.com/tabert-workbench/tabert-workbench/schema"
)

const pets = `[{
  "db_id": "pets",
  "table_names": ["student", "has pet"],
  "table_names_original": ["Student", "Has_Pet"],
  "column_names": [[-1, "*"], [0, "student id"], [0, "last name"], [1, "student id"], [1, "pet id"]],
  "column_names_original": [[-1, "*"], [0, "StuID"], [0, "LName"], [1, "StuID"], [1, "PetID"]],
  "column_types": ["text", "number", "text", "number", "number"],
  "primary_keys": [1, [3, 4]],
  "foreign_keys": [[3, 1]]
}]`

func TestReadJSON(t *testing.T) {
	dbs, err := schema.ReadJSON(strings.NewReader(pets))
	if err != nil {
		t.Fatal(err)
	}
	want := []*schema.Database{{
		ID: "pets",
		Tables: []schema.Table{
			{Name: "student", Original: "Student", PrimaryKey: []int{0}, Columns: []schema.Column{
				{Name: "student id", Original: "StuID", Type: schema.Number},
				{Name: "last name", Original: "LName", Type: schema.Text}}},
			{Name: "has pet", Original: "Has_Pet", PrimaryKey: []int{0, 1}, Columns: []schema.Column{
				{Name: "student id", Original: "StuID", Type: schema.Number},
				{Name: "pet id", Original: "PetID", Type: schema.Number}}},
		},
		ForeignKeys: []schema.ForeignKey{{From: schema.Ref{Table: 1, Column: 0}, To: schema.Ref{Table: 0, Column: 0}}},
	}}
	if !reflect.DeepEqual(dbs, want) {
		t.Fatalf("read %+v, want %+v", dbs[0], want[0])
	}
	db := dbs[0]
	if i, ok := db.FindTable("HAS_pet"); i != 1 || !ok {
		t.Errorf("FindTable = %d, %v", i, ok)
	}
	if i, ok := db.FindColumn(1, "petid"); i != 1 || !ok {
		t.Errorf("FindColumn = %d, %v", i, ok)
	}
	if _, ok := db.FindTable("nobody"); ok {
		t.Error("found a table that is not there")
	}
	if _, ok := db.FindColumn(7, "PetID"); ok {
		t.Error("found a column of a table that is not there")
	}
}

func TestReadJSONErrors(t *testing.T) {
	for _, tt := range []struct{ name, json, want string }{
		{"not JSON", `x`, "expected a JSON list of databases as in Spider's tables.json"},
		{"not a list", `{}`, "expected a JSON list of databases as in Spider's tables.json"},
		{"names", `[{"db_id":"a","table_names":["x"]}]`, `schema: database 0 ("a"): 1 table_names, but 0 table_names_original`},
		{"foreign key", strings.Replace(pets, "[[3, 1]]", "[[3, 9]]", 1), `schema: database 0 ("pets"): foreign_keys names column 9, which no table has`},
		{"star as key", strings.Replace(pets, "[[3, 1]]", "[[3, 0]]", 1), `schema: database 0 ("pets"): foreign_keys names column 0, which no table has`},
		{"table", strings.Replace(pets, `[1, "StuID"]`, `[5, "StuID"]`, 1), `schema: database 0 ("pets"): column 3 ("StuID") belongs to table 5, but there are 2 tables`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := schema.ReadJSON(strings.NewReader(tt.json))
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want %q", err, tt.want)
			}
		})
	}
}

// What is written reads back as the same databases.
func TestRoundTrip(t *testing.T) {
	byID, err := schema.LoadJSON(filepath.Join(testdata.SpiderDir(t), "tables.json"))
	if err != nil {
		t.Fatal(err)
	}
	var dbs []*schema.Database
	for _, db := range byID {
		dbs = append(dbs, db)
	}
	sort.Slice(dbs, func(i, j int) bool { return dbs[i].ID < dbs[j].ID })
	var b bytes.Buffer
	if err := schema.WriteJSON(&b, dbs); err != nil {
		t.Fatal(err)
	}
	again, err := schema.ReadJSON(&b)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(dbs, again) {
		t.Error("databases differ after writing and reading")
	}
}

func TestSplitName(t *testing.T) {
	for _, tt := range []struct{ in, want string }{
		{"StuID", "stu id"},
		{"stu_id", "stu id"},
		{"Home Town", "home town"},
		{"HTTPServer", "http server"},
		{"address2", "address 2"},
		{"CUSTOMERS", "customers"},
		{"__", "__"},
		{"名字", "名字"},
		{"", ""},
	} {
		if got := schema.SplitName(tt.in); got != tt.want {
			t.Errorf("SplitName(%q) = %q, want %q", tt.in, got, tt.want)
		}
	}
}
