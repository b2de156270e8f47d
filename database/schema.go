package database

import (
	"cmp"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tabert-workbench/tabert-workbench/schema"
)

// readSchema reads tables, then views, in the order of sqlite_master. SQLite's own
// tables and the shadow tables of virtual ones are left out.
func (d *DB) readSchema(c *conn) error {
	base := filepath.Base(d.path)
	d.schema = &schema.Database{ID: strings.TrimSuffix(base, filepath.Ext(base))}
	names, err := c.rows(`
		SELECT m.name, l.type = 'view' FROM sqlite_master m JOIN pragma_table_list l ON l.name = m.name AND l.schema = 'main'
		WHERE m.type IN ('table', 'view') AND l.type <> 'shadow' AND m.name NOT LIKE 'sqlite\_%' ESCAPE '\'
		ORDER BY l.type = 'view', m.rowid`)
	if err != nil {
		return err
	}
	for _, row := range names {
		name, isView := row[0].(string), row[1] == int64(1)
		table, err := c.table(name)
		if err != nil {
			// A view of a table that is gone, or a virtual table of an unknown module.
			d.notes = append(d.notes, fmt.Sprintf("left out %q: %s", name, oneLine(err)))
			continue
		}
		if isView {
			d.views = append(d.views, name)
		}
		d.schema.Tables = append(d.schema.Tables, *table)
	}
	if len(d.schema.Tables) == 0 {
		text := "the database has no tables"
		if len(d.notes) > 0 {
			text += " that can be read (" + strings.Join(d.notes, "; ") + ")"
		}
		return &fileError{path: d.path, text: text}
	}
	for i := range d.schema.Tables {
		if err := d.foreignKeys(c, i); err != nil {
			return err
		}
	}
	return nil
}

func (c *conn) table(name string) (*schema.Table, error) {
	// hidden: 1 is a virtual table's hidden column; 2 and 3 are generated ones, which are as good as any.
	rows, err := c.rows(`SELECT name, type, pk FROM pragma_table_xinfo(?) WHERE hidden <> 1 ORDER BY cid`, name)
	if err != nil {
		return nil, err
	}
	if len(rows) == 0 {
		return nil, errors.New("it has no columns")
	}
	t := &schema.Table{Name: schema.SplitName(name), Original: name}
	position := map[int]int64{} // of a column within the primary key
	for i, row := range rows {
		original, declared := row[0].(string), row[1].(string)
		t.Columns = append(t.Columns, schema.Column{
			Name: schema.SplitName(original), Original: original, Type: typeOf(declared)})
		if pk := row[2].(int64); pk > 0 {
			position[i] = pk
			t.PrimaryKey = append(t.PrimaryKey, i)
		}
	}
	slices.SortFunc(t.PrimaryKey, func(a, b int) int { return cmp.Compare(position[a], position[b]) })
	return t, nil
}

// foreignKeys adds a table's foreign keys in the order they were declared in; SQLite
// lists the last one first.
func (d *DB) foreignKeys(c *conn, from int) error {
	name := d.schema.Tables[from].Original
	rows, err := c.rows(`SELECT "table", "from", "to", seq FROM pragma_foreign_key_list(?) ORDER BY id DESC, seq`, name)
	if err != nil {
		return err
	}
	for _, row := range rows {
		target, column := row[0].(string), row[1].(string)
		k := schema.ForeignKey{From: schema.Ref{Table: from}}
		var okFrom, okTable, okTo bool
		k.From.Column, okFrom = d.schema.FindColumn(from, column)
		if k.To.Table, okTable = d.schema.FindTable(target); okTable {
			if to, given := row[2].(string); given {
				k.To.Column, okTo = d.schema.FindColumn(k.To.Table, to)
			} else if key, seq := d.schema.Tables[k.To.Table].PrimaryKey, row[3].(int64); seq < int64(len(key)) {
				// Without a column, the target's primary key is meant.
				k.To.Column, okTo = key[seq], true
			}
		}
		switch {
		case !okFrom || !okTable || !okTo:
			d.notes = append(d.notes, fmt.Sprintf("left out the foreign key of %s.%s: %s has no such column or key", name, column, target))
		case !slices.Contains(d.schema.ForeignKeys, k):
			d.schema.ForeignKeys = append(d.schema.ForeignKeys, k)
		}
	}
	return nil
}

// typeOf sorts a declared type, which SQLite lets be any text, into Spider's five. Where
// nothing is declared, text is the most likely.
func typeOf(declared string) schema.Type {
	s := strings.ToUpper(declared)
	has := func(parts ...string) bool {
		return slices.ContainsFunc(parts, func(p string) bool { return strings.Contains(s, p) })
	}
	switch {
	case s == "" || has("CHAR", "TEXT", "CLOB", "STRING", "ENUM", "VAR"):
		return schema.Text
	case has("BOOL"):
		return schema.Boolean
	case has("DATE", "TIME", "YEAR", "INTERVAL"):
		return schema.Time
	case has("POINT") && !has("FLOAT"):
		return schema.Others // a place, not an INT
	case has("INT", "REAL", "FLOA", "DOUB", "NUM", "DEC", "MONEY", "SERIAL", "LONG"):
		return schema.Number
	default:
		return schema.Others
	}
}

// rows runs one of our own statements, before the guard stands.
func (c *conn) rows(sql string, args ...string) ([][]driver.Value, error) {
	values := make([]driver.Value, len(args))
	for i, a := range args {
		values[i] = a
	}
	found, err := c.Query(sql, values)
	if err != nil {
		return nil, err
	}
	defer found.Close()
	var all [][]driver.Value
	for {
		row := make([]driver.Value, len(found.Columns()))
		if err := found.Next(row); errors.Is(err, io.EOF) {
			return all, nil
		} else if err != nil {
			return nil, err
		}
		all = append(all, row)
	}
}
