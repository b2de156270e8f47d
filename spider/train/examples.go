package train

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sort"
	"strings"

	"github.com/tabert-workbench/tabert-workbench/parser"
	"github.com/tabert-workbench/tabert-workbench/semql"
	"github.com/tabert-workbench/tabert-workbench/spider"
	"github.com/tabert-workbench/tabert-workbench/tranx"
	"github.com/tabert-workbench/tabert-workbench/tranx/decoder"
)

// item is an example in the decoder's terms.
type item struct {
	spider.Example
	actions   []tranx.Action
	frontiers []tranx.Frontier
	tables    []int // of the gold query

	input *parser.Input // made when first used
	kept  [][]byte      // states of each sequence after the frozen layers, float16
}

// items turns examples into actions. Those that the grammar cannot express are counted by
// what it lacks.
func items(data *spider.Data, examples []spider.Example, sys *tranx.System) ([]*item, map[string]int, error) {
	var list []*item
	lost := map[string]int{}
	for _, x := range examples {
		db, ok := data.Databases[x.DBID]
		if !ok {
			return nil, nil, fmt.Errorf("%s example %d: no schema of database %q", x.Split, x.ID, x.DBID)
		}
		tree, err := semql.FromSQL(x.Query, db, sys.Grammar)
		var no *semql.Inexpressible
		switch {
		case errors.As(err, &no):
			lost[no.Construct]++
			continue
		case err != nil:
			lost["cannot be read"]++
			continue
		}
		it := &item{Example: x}
		if it.actions, err = sys.Oracle(tree); err == nil {
			it.frontiers, err = sys.Replay(it.actions)
		}
		if err != nil {
			return nil, nil, fmt.Errorf("%s example %d: %w", x.Split, x.ID, err)
		}
		seen := map[int]bool{}
		for _, a := range it.actions {
			if (a.Kind == tranx.SelectTable || a.Kind == tranx.SelectColumn) && !seen[a.Table] {
				seen[a.Table] = true
				it.tables = append(it.tables, a.Table)
			}
		}
		list = append(list, it)
	}
	return list, lost, nil
}

// choose picks the tables that an example shows: those of the gold query, and others in
// random order while they fit into the budget, all in the schema's order.
func choose(r *rand.Rand, n int, gold []int, budget int, tokens func(table int) int) []int {
	shown := map[int]bool{}
	used := 0
	for _, t := range gold {
		shown[t] = true
		used += tokens(t)
	}
	for _, t := range r.Perm(n) {
		if !shown[t] && used+tokens(t) <= budget {
			shown[t] = true
			used += tokens(t)
		}
	}
	list := make([]int, 0, len(shown))
	for t := range shown {
		list = append(list, t)
	}
	sort.Ints(list)
	return list
}

// vocabulary finds the tokens of values that do not stand in their question and the
// integers likewise, the most frequent first.
func vocabulary(list []*item, limit int) ([]string, []int) {
	tokens, integers := map[string]int{}, map[int]int{}
	for _, it := range list {
		// The first word of a value is copied without the space before it.
		first, later, numbers := map[string]bool{}, map[string]bool{}, map[int]bool{}
		for _, w := range tranx.Words(strings.TrimSpace(it.Question)) {
			first[w.Text], later[w.Space+w.Text] = true, true
			if n, ok := decoder.Integer(w.Text); ok {
				numbers[n] = true
			}
		}
		said := first
		for _, a := range it.actions {
			switch {
			case a.Kind == tranx.GenToken && a.Token != tranx.EndOfString && !said[a.Token]:
				tokens[a.Token]++
			case a.Kind == tranx.SelectInt && !numbers[a.Int]:
				integers[a.Int]++
			}
			if said = first; a.Kind == tranx.GenToken && a.Token != tranx.EndOfString {
				said = later
			}
		}
	}
	words := most(tokens, limit-1, func(a, b string) bool { return a < b })
	numbers := most(integers, 20, func(a, b int) bool { return a < b })
	if !slices.Contains(numbers, 1) {
		numbers = append(numbers, 1) // the superlative's LIMIT 1, also where training lacks it
	}
	return append([]string{tranx.EndOfString}, words...), numbers
}

// most lists the keys with the highest counts, at least 2, ties in the order of less.
func most[K comparable](counts map[K]int, limit int, less func(a, b K) bool) []K {
	var keys []K
	for k, n := range counts {
		if n >= 2 {
			keys = append(keys, k)
		}
	}
	sort.Slice(keys, func(i, j int) bool {
		if a, b := counts[keys[i]], counts[keys[j]]; a != b {
			return a > b
		}
		return less(keys[i], keys[j])
	})
	return keys[:min(len(keys), max(limit, 0))]
}

// schedule is the order of an epoch: batches of examples of like length, in random order,
// from (seed, epoch) alone.
func schedule(seed uint64, epoch int, list []*item, batch int, othersShare float64) [][]*item {
	r := rand.New(rand.NewPCG(seed, 1000+uint64(epoch)))
	var shown []*item
	for _, it := range list {
		if it.Split != spider.Others || othersShare >= 1 || r.Float64() < othersShare {
			shown = append(shown, it)
		}
	}
	r.Shuffle(len(shown), func(i, j int) { shown[i], shown[j] = shown[j], shown[i] })
	var batches [][]*item
	const pool = 20
	for start := 0; start < len(shown); start += pool * batch {
		part := shown[start:min(start+pool*batch, len(shown))]
		sort.SliceStable(part, func(i, j int) bool { return len(part[i].actions) < len(part[j].actions) })
		for i := 0; i < len(part); i += batch {
			batches = append(batches, part[i:min(i+batch, len(part))])
		}
	}
	r.Shuffle(len(batches), func(i, j int) { batches[i], batches[j] = batches[j], batches[i] })
	return batches
}
