package schema

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
)

// record is one database in tables.json. Columns are numbered through all tables, and
// number 0 is "*".
type record struct {
	ID              string      `json:"db_id"`
	TableNames      []string    `json:"table_names"`
	TableOriginals  []string    `json:"table_names_original"`
	ColumnNames     []columnRow `json:"column_names"`
	ColumnOriginals []columnRow `json:"column_names_original"`
	ColumnTypes     []Type      `json:"column_types"`
	PrimaryKeys     []keyRow    `json:"primary_keys"`
	ForeignKeys     [][2]int    `json:"foreign_keys"`
}

// columnRow is [table index, name].
type columnRow struct {
	table int
	name  string
}

func (c columnRow) MarshalJSON() ([]byte, error) { return json.Marshal([]any{c.table, c.name}) }

func (c *columnRow) UnmarshalJSON(b []byte) error {
	row := []any{&c.table, &c.name}
	if err := json.Unmarshal(b, &row); err != nil {
		return err
	}
	if len(row) != 2 {
		return fmt.Errorf("a column has %d entries, expected [table index, name]", len(row))
	}
	return nil
}

// keyRow is one entry of primary_keys: a column number, or (in some later copies of
// Spider) the numbers of a composite key.
type keyRow []int

func (k keyRow) MarshalJSON() ([]byte, error) {
	if len(k) == 1 {
		return json.Marshal(k[0])
	}
	return json.Marshal([]int(k))
}

func (k *keyRow) UnmarshalJSON(b []byte) error {
	var one int
	if json.Unmarshal(b, &one) == nil {
		*k = keyRow{one}
		return nil
	}
	return json.Unmarshal(b, (*[]int)(k))
}

// ReadJSON reads databases in the layout of Spider's tables.json.
func ReadJSON(r io.Reader) ([]*Database, error) {
	var records []record
	if err := json.NewDecoder(r).Decode(&records); err != nil {
		return nil, fmt.Errorf("schema: expected a JSON list of databases as in Spider's tables.json: %w", err)
	}
	dbs := make([]*Database, len(records))
	for i := range records {
		db, err := records[i].database()
		if err != nil {
			return nil, fmt.Errorf("schema: database %d (%q): %w", i, records[i].ID, err)
		}
		dbs[i] = db
	}
	return dbs, nil
}

// LoadJSON reads a file in the layout of Spider's tables.json, by db_id.
func LoadJSON(path string) (map[string]*Database, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	dbs, err := ReadJSON(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	byID := make(map[string]*Database, len(dbs))
	for _, db := range dbs {
		if byID[db.ID] != nil {
			return nil, fmt.Errorf("%s: database %q occurs twice", path, db.ID)
		}
		byID[db.ID] = db
	}
	return byID, nil
}

func (r *record) database() (*Database, error) {
	if len(r.TableNames) != len(r.TableOriginals) {
		return nil, fmt.Errorf("%d table_names, but %d table_names_original", len(r.TableNames), len(r.TableOriginals))
	}
	if len(r.ColumnNames) != len(r.ColumnOriginals) || len(r.ColumnTypes) != len(r.ColumnOriginals) {
		return nil, fmt.Errorf("%d column_names and %d column_types, but %d column_names_original",
			len(r.ColumnNames), len(r.ColumnTypes), len(r.ColumnOriginals))
	}
	db := &Database{ID: r.ID, Tables: make([]Table, len(r.TableNames))}
	for i := range db.Tables {
		db.Tables[i] = Table{Name: r.TableNames[i], Original: r.TableOriginals[i]}
	}
	refs := make([]Ref, len(r.ColumnOriginals)) // by column number
	for i, c := range r.ColumnOriginals {
		if c.table == -1 {
			refs[i] = Ref{-1, -1} // "*"
			continue
		}
		if c.table < 0 || c.table >= len(db.Tables) {
			return nil, fmt.Errorf("column %d (%q) belongs to table %d, but there are %d tables", i, c.name, c.table, len(db.Tables))
		}
		t := &db.Tables[c.table]
		refs[i] = Ref{c.table, len(t.Columns)}
		t.Columns = append(t.Columns, Column{Name: r.ColumnNames[i].name, Original: c.name, Type: r.ColumnTypes[i]})
	}
	ref := func(what string, n int) (Ref, error) {
		if n < 0 || n >= len(refs) || refs[n].Table < 0 {
			return Ref{}, fmt.Errorf("%s names column %d, which no table has", what, n)
		}
		return refs[n], nil
	}
	for _, key := range r.PrimaryKeys {
		for _, n := range key {
			c, err := ref("primary_keys", n)
			if err != nil {
				return nil, err
			}
			t := &db.Tables[c.Table]
			t.PrimaryKey = append(t.PrimaryKey, c.Column)
		}
	}
	for _, pair := range r.ForeignKeys {
		from, err := ref("foreign_keys", pair[0])
		if err != nil {
			return nil, err
		}
		to, err := ref("foreign_keys", pair[1])
		if err != nil {
			return nil, err
		}
		db.ForeignKeys = append(db.ForeignKeys, ForeignKey{from, to})
	}
	return db, nil
}

// WriteJSON writes databases in the layout of Spider's tables.json.
func WriteJSON(w io.Writer, dbs []*Database) error {
	records := make([]record, len(dbs))
	for i, db := range dbs {
		r, err := newRecord(db)
		if err != nil {
			return fmt.Errorf("schema: database %q: %w", db.ID, err)
		}
		records[i] = r
	}
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(records)
}

func newRecord(db *Database) (record, error) {
	r := record{
		ID:              db.ID,
		TableNames:      []string{},
		TableOriginals:  []string{},
		ColumnNames:     []columnRow{{-1, "*"}},
		ColumnOriginals: []columnRow{{-1, "*"}},
		ColumnTypes:     []Type{Text},
		PrimaryKeys:     []keyRow{},
		ForeignKeys:     [][2]int{},
	}
	first := make([]int, len(db.Tables)) // number of each table's first column
	for i, t := range db.Tables {
		first[i] = len(r.ColumnNames)
		r.TableNames = append(r.TableNames, t.Name)
		r.TableOriginals = append(r.TableOriginals, t.Original)
		for _, c := range t.Columns {
			r.ColumnNames = append(r.ColumnNames, columnRow{i, c.Name})
			r.ColumnOriginals = append(r.ColumnOriginals, columnRow{i, c.Original})
			r.ColumnTypes = append(r.ColumnTypes, c.Type)
		}
	}
	number := func(ref Ref) (int, error) {
		if ref.Table < 0 || ref.Table >= len(db.Tables) || ref.Column < 0 || ref.Column >= len(db.Tables[ref.Table].Columns) {
			return 0, fmt.Errorf("a key names column %d of table %d, which is not there", ref.Column, ref.Table)
		}
		return first[ref.Table] + ref.Column, nil
	}
	for i, t := range db.Tables {
		// Spider's own layout is flat: the columns of a composite key stand beside each other.
		for _, c := range t.PrimaryKey {
			n, err := number(Ref{i, c})
			if err != nil {
				return record{}, err
			}
			r.PrimaryKeys = append(r.PrimaryKeys, keyRow{n})
		}
	}
	for _, k := range db.ForeignKeys {
		from, err := number(k.From)
		if err != nil {
			return record{}, err
		}
		to, err := number(k.To)
		if err != nil {
			return record{}, err
		}
		r.ForeignKeys = append(r.ForeignKeys, [2]int{from, to})
	}
	return r, nil
}
