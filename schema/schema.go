// Package schema describes a database: its tables, columns and keys, as they are
// called in SQL and as they are called in English. It reads and writes the layout of
// Spider's tables.json.
package schema

import (
	"strings"
	"unicode"
)

// Type is a column's type, one of Spider's five.
type Type string

// The column types of Spider.
const (
	Text    Type = "text"
	Number  Type = "number"
	Time    Type = "time"
	Boolean Type = "boolean"
	Others  Type = "others"
)

// Database is one database's tables and the foreign keys between them.
type Database struct {
	ID          string
	Tables      []Table
	ForeignKeys []ForeignKey
}

// Table is one table. Name is curated English, Original the name in SQL.
type Table struct {
	Name, Original string
	Columns        []Column
	PrimaryKey     []int // column indexes; several for a composite key
}

// Column is one column. Name is curated English, Original the name in SQL.
type Column struct {
	Name, Original string
	Type           Type
}

// Ref names a column by its table's index and its own index within that table.
type Ref struct{ Table, Column int }

// ForeignKey says that From's values are values of To.
type ForeignKey struct{ From, To Ref }

// FindTable is the index of the table with this SQL name, in any case.
func (d *Database) FindTable(original string) (int, bool) {
	for i := range d.Tables {
		if strings.EqualFold(d.Tables[i].Original, original) {
			return i, true
		}
	}
	return -1, false
}

// FindColumn is the index of the column with this SQL name in a table, in any case.
func (d *Database) FindColumn(table int, original string) (int, bool) {
	if table < 0 || table >= len(d.Tables) {
		return -1, false
	}
	columns := d.Tables[table].Columns
	for i := range columns {
		if strings.EqualFold(columns[i].Original, original) {
			return i, true
		}
	}
	return -1, false
}

// SplitName makes words of an SQL name, for names that nobody curated:
// "StuID" and "stu_id" are "stu id".
func SplitName(original string) string {
	var words []string
	var word []rune
	end := func() {
		if len(word) > 0 {
			words = append(words, strings.ToLower(string(word)))
			word = nil
		}
	}
	rs := []rune(original)
	for i, r := range rs {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			end()
			continue
		}
		if i > 0 && len(word) > 0 {
			prev := rs[i-1]
			switch {
			case unicode.IsUpper(r) && unicode.IsLower(prev):
				end() // stuID -> stu|ID
			case unicode.IsUpper(prev) && unicode.IsUpper(r) && i+1 < len(rs) && unicode.IsLower(rs[i+1]):
				end() // HTTPServer -> HTTP|Server
			case unicode.IsDigit(r) != unicode.IsDigit(prev):
				end() // address2 -> address|2
			}
		}
		word = append(word, r)
	}
	end()
	if len(words) == 0 {
		return strings.TrimSpace(original)
	}
	return strings.Join(words, " ")
}
