package semql

import (
	"cmp"
	"math/bits"
	"slices"
	"sort"
	"strings"

	"github.com/tabert-workbench/tabert-workbench/schema"
)

// edge joins a table to one before it by pairs of columns that are equal; without any it is
// a cross join.
type edge struct {
	from, to int // tables; from comes before to
	pairs    [][2]schema.Ref
}

// graph is a database's tables with the keys between them.
type graph struct {
	db        *schema.Database
	keys      [][]schema.ForeignKey // by the table that they lead from, in the order of its columns
	neighbors [][]int               // by table, ascending: the tables that a foreign key leads to or from
}

// newGraph links tables along foreign keys, those of a table to itself aside.
func newGraph(db *schema.Database) *graph {
	g := &graph{db: db, keys: make([][]schema.ForeignKey, len(db.Tables)), neighbors: make([][]int, len(db.Tables))}
	for _, k := range db.ForeignKeys {
		g.keys[k.From.Table] = append(g.keys[k.From.Table], k)
	}
	for _, keys := range g.keys {
		slices.SortStableFunc(keys, func(a, b schema.ForeignKey) int { return a.From.Column - b.From.Column })
	}
	for _, k := range db.ForeignKeys {
		g.link(k.From.Table, k.To.Table)
	}
	return g
}

func (g *graph) link(a, b int) {
	if a == b || slices.Contains(g.neighbors[a], b) {
		return
	}
	g.neighbors[a] = insert(g.neighbors[a], b)
	g.neighbors[b] = insert(g.neighbors[b], a)
}

func insert(sorted []int, x int) []int {
	i := sort.SearchInts(sorted, x)
	if i < len(sorted) && sorted[i] == x {
		return sorted
	}
	return slices.Insert(sorted, i, x)
}

// tables are those that joining the given ones takes, in schema order: no others where the
// given ones can be joined directly (see pairs); else a smallest set that holds them and is
// connected by foreign keys as far as they can be, ties broken by schema order.
func (g *graph) tables(mentioned []int) []int {
	terminals := slices.Clone(mentioned)
	sort.Ints(terminals)
	if len(terminals) < 2 || g.joinable(terminals) {
		return terminals
	}
	var all []int
	for _, group := range g.components(terminals) {
		for _, t := range g.steiner(group) {
			all = insert(all, t)
		}
	}
	return all
}

// joinable tells whether tables can be joined among themselves.
func (g *graph) joinable(tables []int) bool {
	return spans(tables, func(a, b int) bool { return len(g.pairs(a, b)) > 0 })
}

// connected tells whether tables are connected by foreign keys among themselves.
func (g *graph) connected(tables []int) bool {
	return spans(tables, func(a, b int) bool { return slices.Contains(g.neighbors[a], b) })
}

// spans tells whether all tables are reached from the first over linked ones.
func spans(tables []int, linked func(a, b int) bool) bool {
	reached := []int{tables[0]}
	for i := 0; i < len(reached); i++ {
		for _, t := range tables {
			if !slices.Contains(reached, t) && linked(reached[i], t) {
				reached = append(reached, t)
			}
		}
	}
	return len(reached) == len(tables)
}

// components groups tables by whether any path of keys leads from one to the other.
func (g *graph) components(tables []int) [][]int {
	var groups [][]int
	seen := make([]bool, len(g.neighbors))
	for _, t := range tables {
		if seen[t] {
			continue
		}
		reached := []int{t}
		seen[t] = true
		for i := 0; i < len(reached); i++ {
			for _, n := range g.neighbors[reached[i]] {
				if !seen[n] {
					seen[n] = true
					reached = append(reached, n)
				}
			}
		}
		var group []int
		for _, u := range tables {
			if slices.Contains(reached, u) {
				group = append(group, u)
			}
		}
		groups = append(groups, group)
	}
	return groups
}

// maxExact is the number of terminals up to which the smallest tree is found exactly; the
// work grows with its third power of three. Beyond it each terminal is linked by a shortest path.
const maxExact = 7

// steiner is a smallest connected set of tables that holds the terminals, which are known to be
// connected (Dreyfus and Wagner, "The Steiner problem in graphs", 1971, with unit weights).
func (g *graph) steiner(terminals []int) []int {
	if len(terminals) < 2 || g.connected(terminals) {
		return terminals
	}
	if len(terminals) > maxExact {
		return g.shortestPaths(terminals)
	}
	vertices := g.between(terminals)
	n := len(vertices)
	const unreached = 1 << 20
	type origin struct{ mask, via int } // mask > 0: two trees joined here; else the neighbour it grew from
	full := 1<<(len(terminals)-1) - 1   // the last terminal is where the tree is read off
	cost := make([][]int, full+1)
	from := make([][]origin, full+1)
	position := make(map[int]int, n)
	for v, t := range vertices {
		position[t] = v
	}
	neighbors := make([][]int, n)
	for v, t := range vertices {
		for _, u := range g.neighbors[t] {
			if w, ok := position[u]; ok {
				neighbors[v] = append(neighbors[v], w)
			}
		}
	}
	buckets := make([][]int, n+1)
	for mask := 1; mask <= full; mask++ {
		cost[mask], from[mask] = make([]int, n), make([]origin, n)
		for v := range cost[mask] {
			cost[mask][v] = unreached
			from[mask][v] = origin{via: -1}
		}
		if bits.OnesCount(uint(mask)) == 1 {
			cost[mask][position[terminals[bits.TrailingZeros(uint(mask))]]] = 0
		}
		for sub := (mask - 1) & mask; sub > mask-sub; sub = (sub - 1) & mask {
			for v := 0; v < n; v++ {
				if c := cost[sub][v] + cost[mask^sub][v]; c < cost[mask][v] {
					cost[mask][v], from[mask][v] = c, origin{mask: sub, via: -1}
				}
			}
		}
		// Unit weights: tables settle in order of cost, so a bucket for each cost is enough.
		for c := range buckets {
			buckets[c] = buckets[c][:0]
		}
		for v, c := range cost[mask] {
			if c <= n {
				buckets[c] = append(buckets[c], v)
			}
		}
		for c := 0; c < n; c++ {
			sort.Ints(buckets[c])
			for _, v := range buckets[c] {
				if cost[mask][v] != c {
					continue
				}
				for _, w := range neighbors[v] {
					if c+1 < cost[mask][w] {
						cost[mask][w], from[mask][w] = c+1, origin{via: v}
						buckets[c+1] = append(buckets[c+1], w)
					}
				}
			}
		}
	}
	var set []int
	var collect func(mask, v int)
	collect = func(mask, v int) {
		set = insert(set, vertices[v])
		switch o := from[mask][v]; {
		case o.mask > 0:
			collect(o.mask, v)
			collect(mask^o.mask, v)
		case o.via >= 0:
			collect(mask, o.via)
		}
	}
	collect(full, position[terminals[len(terminals)-1]])
	return set
}

// between are the tables that a way between terminals may lead over, in schema order: all but
// those that hang on the rest by one key, again and again.
func (g *graph) between(terminals []int) []int {
	degree := make([]int, len(g.neighbors))
	var ends []int
	drop := func(t int) {
		if degree[t] <= 1 && !slices.Contains(terminals, t) {
			ends = append(ends, t)
		}
	}
	for t, n := range g.neighbors {
		degree[t] = len(n)
	}
	for t := range degree {
		drop(t)
	}
	gone := make([]bool, len(degree))
	for len(ends) > 0 {
		t := ends[len(ends)-1]
		ends = ends[:len(ends)-1]
		if gone[t] {
			continue
		}
		gone[t] = true
		for _, n := range g.neighbors[t] {
			if degree[n]--; !gone[n] {
				drop(n)
			}
		}
	}
	var kept []int
	for t := range gone {
		if !gone[t] {
			kept = append(kept, t)
		}
	}
	return kept
}

// shortestPaths links terminals one after the other to what is linked already.
func (g *graph) shortestPaths(terminals []int) []int {
	set := []int{terminals[0]}
	for _, t := range terminals[1:] {
		if slices.Contains(set, t) {
			continue
		}
		previous := map[int]int{t: t}
		queue := []int{t}
		for i := 0; i < len(queue); i++ {
			v := queue[i]
			if slices.Contains(set, v) {
				for v != t {
					v = previous[v]
					set = insert(set, v)
				}
				break
			}
			for _, w := range g.neighbors[v] {
				if _, seen := previous[w]; !seen {
					previous[w] = v
					queue = append(queue, w)
				}
			}
		}
	}
	return set
}

// join orders tables so that each is joined to one before it as pairs says, starting with
// first. Where there are more ways than needed, it prefers the better kind of link, and then
// those of the table that references most of the others: the one that is there to connect
// them. What nothing joins is a cross join.
func (g *graph) join(tables []int, first int) []edge {
	tree := g.spanning(tables)
	joined := []int{first}
	rest := slices.DeleteFunc(slices.Clone(tables), func(t int) bool { return t == first })
	var edges []edge
	for len(rest) > 0 {
		e, i := edge{joined[0], rest[0], nil}, 0
	search:
		for _, a := range joined {
			for k, b := range rest {
				if slices.Contains(tree, [2]int{min(a, b), max(a, b)}) {
					e, i = edge{a, b, g.pairs(a, b)}, k
					break search
				}
			}
		}
		edges = append(edges, e)
		joined = append(joined, e.to)
		rest = slices.Delete(rest, i, i+1)
	}
	return edges
}

// spanning chooses which pairs of tables are joined, each pair in schema order.
func (g *graph) spanning(tables []int) [][2]int {
	type candidate struct {
		pair         [2]int
		kind, others int
	}
	var list []candidate
	for i, a := range tables {
		for _, b := range tables[i+1:] {
			for kind, link := range g.links() {
				if len(link(a, b)) > 0 {
					list = append(list, candidate{[2]int{a, b}, kind, g.referenced(g.child(a, b), tables)})
					break
				}
			}
		}
	}
	slices.SortStableFunc(list, func(a, b candidate) int { return cmp.Or(a.kind-b.kind, b.others-a.others) })
	group := map[int]int{}
	for _, t := range tables {
		group[t] = t
	}
	var tree [][2]int
	for _, c := range list {
		a, b := group[c.pair[0]], group[c.pair[1]]
		if a == b {
			continue
		}
		for _, t := range tables {
			if group[t] == b {
				group[t] = a
			}
		}
		tree = append(tree, c.pair)
	}
	return tree
}

// child is that of two tables which references the other.
func (g *graph) child(a, b int) int {
	if g.references(b, a) {
		return b
	}
	return a
}

func (g *graph) references(from, to int) bool {
	return slices.ContainsFunc(g.keys[from], func(k schema.ForeignKey) bool { return k.To.Table == to })
}

// referenced counts the tables that a table references, among the given ones.
func (g *graph) referenced(table int, tables []int) int {
	n := 0
	for _, t := range tables {
		if t != table && g.references(table, t) {
			n++
		}
	}
	return n
}

// links are the ways of joining two tables, the best first: a foreign key between them; keys
// of both that reference the same column; a column that is called as if it were a foreign key;
// a column of the same name that is the primary key of one.
func (g *graph) links() []func(a, b int) [][2]schema.Ref {
	return []func(a, b int) [][2]schema.Ref{g.keyPairs, g.sharedPairs, g.calledPairs, g.namePairs}
}

// pairs are the columns that the best way of joining two tables sets equal; none if there is none.
func (g *graph) pairs(a, b int) [][2]schema.Ref {
	for _, link := range g.links() {
		if p := link(a, b); len(p) > 0 {
			return p
		}
	}
	return nil
}

// sharedPairs is the first column of either table that references the same column of a third.
func (g *graph) sharedPairs(a, b int) [][2]schema.Ref {
	for _, k := range g.keys[a] {
		for _, l := range g.keys[b] {
			if l.To == k.To {
				return [][2]schema.Ref{{k.From, l.From}}
			}
		}
	}
	return nil
}

// keyPairs are the columns that the first foreign key between two tables sets equal, with the
// other columns of a composite key.
func (g *graph) keyPairs(a, b int) [][2]schema.Ref {
	var first *schema.ForeignKey
	var pairs [][2]schema.Ref
	for _, table := range [2]int{min(a, b), max(a, b)} {
		for i := range g.keys[table] {
			k := &g.keys[table][i]
			if k.To.Table != a+b-table {
				continue
			}
			if first == nil {
				first = k
			} else if !g.composite(first, k, pairs) {
				continue
			}
			if k.From.Table == a {
				pairs = append(pairs, [2]schema.Ref{k.From, k.To})
			} else {
				pairs = append(pairs, [2]schema.Ref{k.To, k.From})
			}
		}
	}
	return pairs
}

// composite tells whether k belongs to the same composite key as first: it leads the same way,
// and its columns are not in use.
func (g *graph) composite(first, k *schema.ForeignKey, used [][2]schema.Ref) bool {
	if k.From.Table != first.From.Table {
		return false
	}
	for _, p := range used {
		if p[0] == k.From || p[1] == k.From || p[0] == k.To || p[1] == k.To {
			return false
		}
	}
	return true
}

// calledPairs is the first column of either table that is called after the other one, with its
// primary key: what joins tables whose foreign key nobody declared.
func (g *graph) calledPairs(a, b int) [][2]schema.Ref {
	if from, to, ok := g.calledAfter(a, b); ok {
		return [][2]schema.Ref{{from, to}}
	}
	if from, to, ok := g.calledAfter(b, a); ok {
		return [][2]schema.Ref{{to, from}}
	}
	return nil
}

// calledAfter is the first column of a table whose name ends in another table's name, in the
// plural or not, and in the name of its primary key (start_station_id leads to station.id), or
// is just that table's name (airline leads to airlines.uid).
func (g *graph) calledAfter(table, other int) (from, to schema.Ref, ok bool) {
	key := g.db.Tables[other].PrimaryKey
	if len(key) != 1 {
		return from, to, false
	}
	plain := func(name string) string { return strings.ToLower(separators.Replace(name)) }
	keyName := plain(g.db.Tables[other].Columns[key[0]].Original)
	called := plain(g.db.Tables[other].Original)
	singular := strings.TrimSuffix(called, "s")
	for i, c := range g.db.Tables[table].Columns {
		name := plain(c.Original)
		if name == called || name == singular || strings.HasSuffix(name, called+keyName) || strings.HasSuffix(name, singular+keyName) {
			return schema.Ref{Table: table, Column: i}, schema.Ref{Table: other, Column: key[0]}, true
		}
	}
	return from, to, false
}

var separators = strings.NewReplacer("_", "", " ", "")

// namePairs is the first column of two tables that has the same name in both and is the primary
// key of one. That both have a key called id says nothing.
func (g *graph) namePairs(a, b int) [][2]schema.Ref {
	for i, c := range g.db.Tables[a].Columns {
		for j, d := range g.db.Tables[b].Columns {
			if !strings.EqualFold(c.Original, d.Original) {
				continue
			}
			one, other := slices.Equal(g.db.Tables[a].PrimaryKey, []int{i}), slices.Equal(g.db.Tables[b].PrimaryKey, []int{j})
			if one != other || one && !strings.EqualFold(c.Original, "id") {
				return [][2]schema.Ref{{{Table: a, Column: i}, {Table: b, Column: j}}}
			}
		}
	}
	return nil
}
