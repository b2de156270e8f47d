package exec

import (
	"encoding/binary"
	"fmt"
	"hash/maphash"
	"math"
	"slices"
	"strconv"
	"strings"
)

// sameRows is result_eq: is there an order of pred's columns, and unless the order
// counts one of its rows, that makes it gold? The official code tries the orders of
// columns one after the other; here, one column after the other is found its partners.
func sameRows(gold, pred [][]any, ordered bool) bool {
	if len(gold) == 0 && len(pred) == 0 {
		return true // whatever their columns are
	}
	if len(gold) != len(pred) || len(gold[0]) != len(pred[0]) {
		return false
	}
	n := numbering{ids: map[any]int32{}}
	g, p := n.columns(gold), n.columns(pred)
	if n.mixed && !sameUnordered(gold, pred, g, p, ordered) {
		return false
	}
	if ordered {
		// Then columns are independent of each other.
		slices.SortFunc(g, slices.Compare[[]int32])
		slices.SortFunc(p, slices.Compare[[]int32])
		return slices.EqualFunc(g, p, slices.Equal[[]int32])
	}
	return newAlignment(g, p).search(0)
}

// numbering gives equal values equal numbers.
type numbering struct {
	ids   map[any]int32
	float []bool // by id: the value is a floating-point number where it comes first
	mixed bool   // some number is an integer in one place and a float in another
}

func (n *numbering) columns(rows [][]any) [][]int32 {
	columns := make([][]int32, len(rows[0]))
	cells := make([]int32, len(rows)*len(columns))
	for c := range columns {
		columns[c] = cells[c*len(rows) : (c+1)*len(rows)]
		for r, row := range rows {
			columns[c][r] = n.id(row[c])
		}
	}
	return columns
}

// blob keeps binary values apart from text.
type blob string

func (n *numbering) id(v any) int32 {
	key, float := v, false
	switch x := v.(type) {
	case float64:
		float = true
		// Numbers are equal if they are, whatever their type.
		if x == math.Trunc(x) && x >= -1<<63 && x < 1<<63 {
			key = int64(x)
		}
	case string:
		key = decoded(x)
	case []byte:
		key = blob(x)
	}
	id, ok := n.ids[key]
	if !ok {
		id = int32(len(n.ids))
		n.ids[key] = id
		n.float = append(n.float, float)
	} else if n.float[id] != float {
		n.mixed = true
	}
	return id
}

// decoded drops what is not UTF-8, where the database has put U+FFFD.
func decoded(s string) string {
	if !strings.Contains(s, "\uFFFD") {
		return s
	}
	return strings.ReplaceAll(s, "\uFFFD", "")
}

// sameUnordered is quick_rej: do both have the same rows, if each row is sorted by what
// Python prints for its values? Without numbers of both types, equal rows always pass: the
// comparison after it is the stricter one. With them, rows that are equal but for the type of
// a number may sort differently, and are then not equal.
func sameUnordered(gold, pred [][]any, g, p [][]int32, ordered bool) bool {
	a, b := sortedRows(gold, g), sortedRows(pred, p)
	if !ordered {
		slices.Sort(a)
		slices.Sort(b)
		a, b = slices.Compact(a), slices.Compact(b)
	}
	return slices.Equal(a, b)
}

// sortedRows are the numbers of each row's values in the order of what Python prints.
func sortedRows(rows [][]any, columns [][]int32) []string {
	type cell struct {
		print string
		id    int32
	}
	all := make([]string, len(rows))
	cells := make([]cell, len(columns))
	for r, row := range rows {
		for c, v := range row {
			cells[c] = cell{printed(v), columns[c][r]}
		}
		slices.SortStableFunc(cells, func(a, b cell) int { return strings.Compare(a.print, b.print) })
		var b []byte
		for _, c := range cells {
			b = binary.LittleEndian.AppendUint32(b, uint32(c.id))
		}
		all[r] = string(b)
	}
	return all
}

// printed is Python's str(v) + str(type(v)).
func printed(v any) string {
	switch x := v.(type) {
	case nil:
		return "None<class 'NoneType'>"
	case int64:
		return strconv.FormatInt(x, 10) + "<class 'int'>"
	case float64:
		return pythonFloat(x) + "<class 'float'>"
	case string:
		return decoded(x) + "<class 'str'>"
	case []byte:
		return pythonBytes(x) + "<class 'bytes'>"
	}
	return fmt.Sprint(v)
}

func pythonFloat(f float64) string {
	switch {
	case math.IsInf(f, 1):
		return "inf"
	case math.IsInf(f, -1):
		return "-inf"
	}
	if a := math.Abs(f); a != 0 && (a < 1e-4 || a >= 1e16) {
		return strconv.FormatFloat(f, 'e', -1, 64)
	}
	s := strconv.FormatFloat(f, 'f', -1, 64)
	if !strings.Contains(s, ".") {
		s += ".0"
	}
	return s
}

func pythonBytes(b []byte) string {
	quote := byte('\'')
	if slices.Contains(b, '\'') && !slices.Contains(b, '"') {
		quote = '"'
	}
	s := []byte{'b', quote}
	for _, c := range b {
		switch {
		case c == quote || c == '\\':
			s = append(s, '\\', c)
		case c == '\t':
			s = append(s, `\t`...)
		case c == '\n':
			s = append(s, `\n`...)
		case c == '\r':
			s = append(s, `\r`...)
		case c < ' ' || c > '~':
			s = fmt.Appendf(s, `\x%02x`, c)
		default:
			s = append(s, c)
		}
	}
	return string(append(s, quote))
}

// alignment looks for a column of pred for each of gold such that the bags of rows agree.
type alignment struct {
	gold, pred   [][]int32
	candidates   [][]int
	used         []bool
	goldHash     [][]uint64 // goldHash[k]: a hash of the first k columns of each row
	goldBag      []uint64   // goldBag[k]: of the bag of goldHash[k]
	predHash     [][]uint64
	chosen       []int
	seed         maphash.Seed
	rows, budget int
}

// searchBudget is how many columns are tried at most. Rows that need as many attempts are
// made on purpose.
const searchBudget = 100_000

func newAlignment(gold, pred [][]int32) *alignment {
	a := &alignment{gold: gold, pred: pred, rows: len(gold[0]), budget: searchBudget, seed: maphash.MakeSeed()}
	n := len(gold)
	a.used, a.chosen = make([]bool, n), make([]int, n)
	predBags := make([]uint64, n)
	for i := range pred {
		predBags[i] = bag(a.extend(nil, pred[i]))
	}
	for i := range gold {
		own := bag(a.extend(nil, gold[i]))
		var c []int
		for j := range pred {
			if predBags[j] == own {
				c = append(c, j)
			}
		}
		a.candidates = append(a.candidates, c)
	}
	a.goldHash, a.goldBag = make([][]uint64, n+1), make([]uint64, n+1)
	a.predHash = make([][]uint64, n+1)
	for i := range gold {
		a.goldHash[i+1] = a.extend(a.goldHash[i], gold[i])
		a.goldBag[i+1] = bag(a.goldHash[i+1])
	}
	return a
}

// extend hashes one more column into the rows.
func (a *alignment) extend(rows []uint64, column []int32) []uint64 {
	out := make([]uint64, len(column))
	var b [12]byte
	for r, v := range column {
		if rows != nil {
			binary.LittleEndian.PutUint64(b[:], rows[r])
		}
		binary.LittleEndian.PutUint32(b[8:], uint32(v))
		out[r] = maphash.Bytes(a.seed, b[:])
	}
	return out
}

// bag is the same for hashes in any order.
func bag(hashes []uint64) uint64 {
	var sum uint64
	for _, h := range hashes {
		sum += h
	}
	return sum
}

// search finds partners for the columns of gold from the kth on.
func (a *alignment) search(k int) bool {
	if k == len(a.gold) {
		return a.verify()
	}
	var tried []int
	for _, j := range a.candidates[k] {
		if a.used[j] || slices.ContainsFunc(tried, func(i int) bool { return slices.Equal(a.pred[i], a.pred[j]) }) {
			continue
		}
		tried = append(tried, j)
		if a.budget--; a.budget < 0 {
			return false
		}
		h := a.extend(a.predHash[k], a.pred[j])
		if bag(h) != a.goldBag[k+1] {
			continue
		}
		a.used[j], a.chosen[k], a.predHash[k+1] = true, j, h
		if a.search(k + 1) {
			return true
		}
		a.used[j] = false
	}
	return false
}

// verify compares the rows themselves, not their hashes.
func (a *alignment) verify() bool {
	row := func(columns func(i int) []int32, r int) string {
		b := make([]byte, 0, 4*len(a.gold))
		for i := range a.gold {
			b = binary.LittleEndian.AppendUint32(b, uint32(columns(i)[r]))
		}
		return string(b)
	}
	count := make(map[string]int, a.rows)
	for r := 0; r < a.rows; r++ {
		count[row(func(i int) []int32 { return a.gold[i] }, r)]++
	}
	for r := 0; r < a.rows; r++ {
		key := row(func(i int) []int32 { return a.pred[a.chosen[i]] }, r)
		if count[key]--; count[key] < 0 {
			return false
		}
	}
	return true
}
