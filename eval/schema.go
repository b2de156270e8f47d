package eval

import (
	"slices"
	"strings"
	"sync"

	"github.com/tabert-workbench/tabert-workbench/schema"
)

// Schema is a database as the evaluation sees it: names in lower case, and columns
// that foreign keys declare to be the same. It is safe for concurrent use.
type Schema struct {
	ID string

	names   []string // by name id: "__all__", then "__table.column__", then "__table__"
	ids     map[string]id
	tables  map[string]int // by name
	columns []map[string]id
	tableOf []int // by name id: the table of a column, -1 otherwise
	tableID []id  // by table
	group   []int // by name id: equal for names that GROUP BY takes for equal
	same    []id  // by name id: the column that stands for all that foreign keys equate

	mu   sync.RWMutex
	gold map[string]*gold
}

// id numbers what the official script calls the values of its idMap. 0 is "*".
type id int32

// NewSchema prepares a database for the evaluation. The official script takes the
// names from the SQLite file and the foreign keys from tables.json; for every
// database of Spider both have the same names.
func NewSchema(db *schema.Database) *Schema {
	s := &Schema{
		ID:     db.ID,
		ids:    map[string]id{},
		tables: map[string]int{},
		gold:   map[string]*gold{},
	}
	add := func(key, name string, table int) id {
		n := id(len(s.names))
		s.names = append(s.names, name)
		s.tableOf = append(s.tableOf, table)
		s.ids[key] = n
		return n
	}
	add("*", "__all__", -1)
	refs := map[schema.Ref]id{}
	for i, t := range db.Tables {
		name := lower(t.Original)
		table, ok := s.tables[name]
		if !ok {
			table = len(s.columns)
			s.tables[name] = table
			s.columns = append(s.columns, map[string]id{})
		}
		for j, c := range t.Columns {
			column := lower(c.Original)
			n, ok := s.columns[table][column]
			if !ok {
				key := name + "." + column
				n = add(key, "__"+key+"__", table)
				s.columns[table][column] = n
			}
			refs[schema.Ref{Table: i, Column: j}] = n
		}
	}
	s.tableID = make([]id, len(s.columns))
	for name, table := range s.tables {
		s.tableID[table] = add(name, "__"+name+"__", -1)
	}
	s.same = equate(db.ForeignKeys, refs, len(s.names))

	groups := map[string]int{}
	for _, name := range s.names {
		// GROUP BY compares what stands between the first and the second period.
		if parts := strings.Split(name, "."); len(parts) > 1 {
			name = parts[1]
		}
		if _, ok := groups[name]; !ok {
			groups[name] = len(groups)
		}
		s.group = append(s.group, groups[name])
	}
	return s
}

// equate makes the map of foreign keys: each column of a set that keys connect stands
// for the first one. A key joins the first set that has one of its ends; the official
// script never merges two sets that a later key connects.
func equate(keys []schema.ForeignKey, refs map[schema.Ref]id, n int) []id {
	var sets [][]schema.Ref
	for _, k := range keys {
		i := slices.IndexFunc(sets, func(set []schema.Ref) bool {
			return slices.Contains(set, k.From) || slices.Contains(set, k.To)
		})
		if i < 0 {
			i = len(sets)
			sets = append(sets, nil)
		}
		sets[i] = append(sets[i], k.From, k.To)
	}
	same := make([]id, n)
	for i := range same {
		same[i] = id(i)
	}
	for _, set := range sets {
		first := slices.MinFunc(set, func(a, b schema.Ref) int {
			if a.Table != b.Table {
				return a.Table - b.Table
			}
			return a.Column - b.Column
		})
		for _, ref := range set {
			from, ok := refs[ref]
			to, okFirst := refs[first]
			if ok && okFirst {
				same[from] = to
			}
		}
	}
	return same
}

// inTables is the set of tables whose columns foreign keys may rename: those that
// stand in the outermost FROM by name.
func (s *Schema) inTables(from []tableUnit) []bool {
	in := make([]bool, len(s.columns))
	for _, t := range from {
		if t.sql != nil {
			continue
		}
		for table, n := range s.tableID {
			if n == t.name {
				in[table] = true
			}
		}
	}
	return in
}
