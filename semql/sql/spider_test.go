package sql_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/tabert-workbench/tabert-workbench/internal/testdata"
	"github.com/tabert-workbench/tabert-workbench/semql/sql"
)

// Every query of Spider is read, and what is printed of it reads as the same.
func TestSpider(t *testing.T) {
	dir := testdata.SpiderDir(t)
	for _, split := range []string{"train_spider", "train_others", "dev"} {
		b, err := os.ReadFile(filepath.Join(dir, split+".json"))
		if err != nil {
			t.Fatal(err)
		}
		var queries []struct{ Query string }
		if err := json.Unmarshal(b, &queries); err != nil {
			t.Fatal(err)
		}
		failed := 0
		for i, q := range queries {
			tree, err := sql.Parse(q.Query)
			if err != nil {
				failed++
				t.Errorf("%s %d: %s: %v", split, i, q.Query, err)
				continue
			}
			once := tree.String()
			again, err := sql.Parse(once)
			if err != nil {
				t.Errorf("%s %d: %s: printed as %s: %v", split, i, q.Query, once, err)
				continue
			}
			if twice := again.String(); once != twice {
				t.Errorf("%s %d: printed as %s, then as %s", split, i, once, twice)
			}
		}
		t.Logf("%s: %d queries, %d not read", split, len(queries), failed)
	}
}

func TestOne(t *testing.T) {
	for _, s := range []string{
		"select 1, from t", "SELECT", "SELECT a FROM", "SELECT a FROM t WHERE", "SELECT a FROM t WHERE a = ", "SELECT a b c FROM t", "SELECT a FROM t LIMIT 3, 4",
		"SELECT a FROM t LIMIT 3 OFFSET 5", "SELECT a FROM t ORDER a", "SELECT a FROM t GROUP BY", "SELECT a FROM (SELECT b FROM c", "WITH a AS (SELECT 1) SELECT 2",
		"SELECT a FROM t UNION", "SELECT a FROM t JOIN", "SELECT a FROM t LEFT OUTER JOIN u USING (a, b) JOIN v ON t.a = v.b", "(SELECT a FROM b) UNION (SELECT c FROM d)", "SELECT a FROM ((b JOIN c ON x = y))",
		"SELECT count(*) FROM [a b] WHERE x IS NOT NULL AND y NOT IN (1,2,3) OR NOT z LIKE 'a''b%'", "SELECT a FROM t extra words", "SELECT a FROM t WHERE x = 'abc", "SELECT a FROM t; SELECT b", "SELECT a FROM t WHERE CASE WHEN 1 THEN 2 END", "SELECT count(a FROM t", "INSERT INTO x", "SELECT a FROM t WHERE a # b", "SELECT a FROM t WHERE a IN (SELECT b, FROM c)", "hello", "", "SELECT a FROM t WHERE x BETWEEN 1",
	} {
		q, err := sql.Parse(s)
		if err != nil {
			t.Log(s, "=>", err)
		} else {
			t.Log(s, "=>", q)
		}
	}
}
func BenchmarkParse(b *testing.B) {
	for i := 0; i < b.N; i++ {
		sql.Parse("SELECT T1.name, count(*) FROM singer AS T1 JOIN singer_in_concert AS T2 ON T1.id = T2.singer_id WHERE T1.age > 20 AND T1.country = 'France' GROUP BY T1.id ORDER BY count(*) DESC LIMIT 1")
	}
}
