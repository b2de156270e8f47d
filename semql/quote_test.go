package semql_test

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tabert-workbench/tabert-workbench/database"
	"github.com/tabert-workbench/tabert-workbench/internal/testdata"
	"github.com/tabert-workbench/tabert-workbench/schema"
	"github.com/tabert-workbench/tabert-workbench/semql"
)

// sqliteKeywords are SQLite's (sqlite.org/lang_keywords.html).
const sqliteKeywords = `ABORT ACTION ADD AFTER ALL ALTER ALWAYS ANALYZE AND AS ASC ATTACH AUTOINCREMENT BEFORE BEGIN
	BETWEEN BY CASCADE CASE CAST CHECK COLLATE COLUMN COMMIT CONFLICT CONSTRAINT CREATE CROSS CURRENT CURRENT_DATE
	CURRENT_TIME CURRENT_TIMESTAMP DATABASE DEFAULT DEFERRABLE DEFERRED DELETE DESC DETACH DISTINCT DO DROP EACH ELSE END
	ESCAPE EXCEPT EXCLUDE EXCLUSIVE EXISTS EXPLAIN FAIL FILTER FIRST FOLLOWING FOR FOREIGN FROM FULL GENERATED GLOB GROUP
	GROUPS HAVING IF IGNORE IMMEDIATE IN INDEX INDEXED INITIALLY INNER INSERT INSTEAD INTERSECT INTO IS ISNULL JOIN KEY
	LAST LEFT LIKE LIMIT MATCH MATERIALIZED NATURAL NO NOT NOTHING NOTNULL NULL NULLS OF OFFSET ON OR ORDER OTHERS OUTER
	OVER PARTITION PLAN PRAGMA PRECEDING PRIMARY QUERY RAISE RANGE RECURSIVE REFERENCES REGEXP REINDEX RELEASE RENAME
	REPLACE RESTRICT RETURNING RIGHT ROLLBACK ROW ROWS SAVEPOINT SELECT SET TABLE TEMP TEMPORARY THEN TIES TO TRANSACTION
	TRIGGER UNBOUNDED UNION UNIQUE UPDATE USING VACUUM VALUES VIEW VIRTUAL WHEN WHERE WINDOW WITH WITHOUT`

// Tables and columns may be called anything: SQLite and this package's own reader take the
// rendered query for what it is.
func TestNames(t *testing.T) {
	db, err := database.Open(filepath.Join(testdata.Sample(t), "database", "pets_1", "pets_1.sqlite"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	g := figure(t)
	tree := parseTree(t, `(SelectStatement None [(ColumnReference #0.0) (ColumnReference #0.1)] (CompareExpr Equal (ColumnReference #0.0) (Literal "1")) (OrderByClause [(ColumnReference #0.0)] ASC) - [] -)`)
	for _, name := range append(strings.Fields(sqliteKeywords), "plain", "two words", `"`, "'", "`", "[x]", "a.b", "3d", "ünï", "a-b", "x;", "--", "") {
		for _, name := range []string{name, strings.ToLower(name)} {
			s := &schema.Database{ID: "names", Tables: []schema.Table{{Original: "any", Columns: []schema.Column{{Original: name, Type: schema.Number}, {Original: "b"}}}}}
			text, err := semql.Render(tree, s)
			if err != nil {
				t.Fatal(err)
			}
			if again, err := semql.FromSQL(text, s, g); err != nil || !again.Equal(tree) {
				t.Errorf("%q: %s reads as %v (%v)", name, text, again, err)
			}
			if name == "" {
				continue // SQLite has no such names
			}
			// The same query over a table that is made up on the spot.
			quoted := `"` + strings.ReplaceAll(name, `"`, `""`) + `"`
			text = "WITH any AS (SELECT 1 AS " + quoted + ", 2 AS b) " + text
			if err := db.Prepare(context.Background(), text); err != nil {
				t.Errorf("%q: %s: %v", name, text, err)
			}
			result, err := db.Query(context.Background(), text, database.Limits{})
			if err != nil || len(result.Rows) != 1 || result.Rows[0][0] != int64(1) {
				t.Errorf("%q: %s: %v (%v), want 1", name, text, result, err)
			}
		}
	}
}
