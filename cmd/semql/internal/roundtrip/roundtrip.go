// Package roundtrip measures what a SemQL grammar loses: it takes gold queries from SQL to a
// tree, from the tree to actions and back, and from the tree to SQL again, and compares the
// result with the gold by Spider's exact set match.
package roundtrip

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"sort"
	"strings"
	"text/tabwriter"

	"github.com/tabert-workbench/tabert-workbench/asdl"
	"github.com/tabert-workbench/tabert-workbench/eval"
	"github.com/tabert-workbench/tabert-workbench/semql"
	"github.com/tabert-workbench/tabert-workbench/semql/sql"
	"github.com/tabert-workbench/tabert-workbench/spider"
	"github.com/tabert-workbench/tabert-workbench/tranx"
)

// Record is what became of one query.
type Record struct {
	Split    string `json:"split"`
	DBID     string `json:"db_id"`
	Gold     string `json:"gold"`
	Sexpr    string `json:"sexpr,omitempty"`
	Rendered string `json:"rendered,omitempty"`
	Hardness string `json:"hardness,omitempty"`
	Same     bool   `json:"same"` // the tree came back from its actions
	Exact    bool   `json:"exact"`
	Reason   string `json:"reason,omitempty"` // why it is not exact
}

// Expressible tells whether the grammar has a tree for the query.
func (r *Record) Expressible() bool { return r.Sexpr != "" }

// Run takes every example of the data through the grammar, and hands on what became of it.
func Run(data *spider.Data, g *asdl.Grammar, each func(Record) error) error {
	system, err := tranx.NewSystem(g, semql.LeafKinds())
	if err != nil {
		return err
	}
	schemas := map[string]*eval.Schema{}
	for _, e := range data.Examples {
		db := data.Databases[e.DBID]
		if schemas[e.DBID] == nil {
			schemas[e.DBID] = eval.NewSchema(db)
		}
		r := Record{Split: string(e.Split), DBID: e.DBID, Gold: e.Query}
		r.Hardness, _ = schemas[e.DBID].Hardness(e.Query)
		tree, err := semql.FromSQL(e.Query, db, g)
		if err != nil {
			r.Reason = refusal(err)
			if err := each(r); err != nil {
				return err
			}
			continue
		}
		r.Sexpr = tree.String()
		if r.Same = survives(system, tree); !r.Same {
			r.Reason = "lost between tree and actions"
		}
		if r.Rendered, err = semql.Render(tree, db); err != nil {
			return fmt.Errorf("%s: %w", e.Query, err)
		}
		verdict, err := schemas[e.DBID].Match(e.Query, r.Rendered)
		switch {
		case err != nil:
			r.Reason = "the evaluation cannot read the gold query"
		case verdict.Exact:
			r.Exact = true
		default:
			r.Reason = difference(e.Query, r.Rendered, verdict)
		}
		if err := each(r); err != nil {
			return err
		}
	}
	return nil
}

// survives tells whether a tree comes back from its actions.
func survives(system *tranx.System, tree *asdl.Tree) bool {
	actions, err := system.Oracle(tree)
	if err != nil {
		return false
	}
	again, err := system.Tree(actions)
	return err == nil && again.Equal(tree)
}

// refusal groups the errors of semql.FromSQL.
func refusal(err error) string {
	var inexpressible *semql.Inexpressible
	var unknown *semql.UnknownName
	switch {
	case errors.As(err, &inexpressible):
		return "no tree: " + inexpressible.Construct
	case errors.As(err, &unknown):
		return "no tree: a " + unknown.Kind + " that the schema lacks"
	}
	return "no tree: not read as SQL"
}

// difference says why rendered SQL is not the gold.
func difference(gold, rendered string, verdict eval.Verdict) string {
	if verdict.PredParseError != nil {
		return "the official reader refuses what was rendered"
	}
	g, err := sql.Parse(gold)
	if err != nil {
		return "other"
	}
	r, err := sql.Parse(rendered)
	if err != nil {
		return "other"
	}
	golds, pairs := g.Selects(), r.Selects()
	for _, s := range golds {
		if t := tables(s); len(slices.Compact(t)) < len(tables(s)) {
			return "a table is joined with itself"
		}
	}
	if len(golds) != len(pairs) {
		return "other subqueries"
	}
	if !slices.EqualFunc(sorted(golds, tables), sorted(pairs, tables), slices.Equal[[]string]) {
		return "other tables than the keys imply"
	}
	if reason := grouping(golds, pairs); reason != "" {
		return reason
	}
	if len(golds) > 1 {
		return "joins inside a subquery, where the evaluation takes no key columns for equal"
	}
	return "other"
}

// tables are the names in a SELECT's FROM, in lower case and sorted.
func tables(s *sql.Select) []string {
	var list []string
	for _, source := range s.From.Sources() {
		list = append(list, strings.ToLower(string(source.Table)))
	}
	sort.Strings(list)
	return list
}

func sorted(selects []*sql.Select, of func(*sql.Select) []string) [][]string {
	var list [][]string
	for _, s := range selects {
		list = append(list, of(s))
	}
	slices.SortFunc(list, slices.Compare[[]string])
	return list
}

// grouping says how GROUP BY differs.
func grouping(gold, rendered []*sql.Select) string {
	count := func(list []*sql.Select) (n int) {
		for _, s := range list {
			if len(s.GroupBy) > 0 {
				n++
			}
		}
		return n
	}
	columns := func(s *sql.Select) []string {
		var names []string
		for _, x := range s.GroupBy {
			if c, ok := x.(*sql.Column); ok {
				names = append(names, strings.ToLower(c.Name))
			}
		}
		sort.Strings(names)
		return names
	}
	switch g, r := count(gold), count(rendered); {
	case g > r:
		return "GROUP BY where aggregates do not meet plain columns"
	case g < r:
		return "aggregates meet plain columns without GROUP BY"
	case !slices.EqualFunc(sorted(gold, columns), sorted(rendered, columns), slices.Equal[[]string]):
		return "GROUP BY by other columns than the rule's"
	}
	return ""
}

// Table counts records by split.
type Table struct {
	splits []string
	counts map[string]*count
	losses map[string]map[string]int // by reason, by split
}

type count struct{ queries, expressible, same, exact int }

// Add counts a record.
func (t *Table) Add(r Record) {
	if t.counts == nil {
		t.counts, t.losses = map[string]*count{}, map[string]map[string]int{}
	}
	c := t.counts[r.Split]
	if c == nil {
		c = &count{}
		t.counts[r.Split] = c
		t.splits = append(t.splits, r.Split)
	}
	c.queries++
	for _, yes := range []struct {
		is bool
		n  *int
	}{{r.Expressible(), &c.expressible}, {r.Same, &c.same}, {r.Exact, &c.exact}} {
		if yes.is {
			*yes.n++
		}
	}
	if r.Reason != "" {
		if t.losses[r.Reason] == nil {
			t.losses[r.Reason] = map[string]int{}
		}
		t.losses[r.Reason][r.Split]++
	}
}

// Write prints the counts, and the losses by reason, the most frequent first.
func (t *Table) Write(w io.Writer) error {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "split\tqueries\texpressible\tsame tree\texact match")
	for _, s := range t.splits {
		c := t.counts[s]
		share := func(n int) string { return fmt.Sprintf("%d (%.1f %%)", n, 100*float64(n)/float64(c.queries)) }
		fmt.Fprintf(tw, "%s\t%d\t%s\t%s\t%s\n", s, c.queries, share(c.expressible), share(c.same), share(c.exact))
	}
	if err := tw.Flush(); err != nil || len(t.losses) == 0 {
		return err
	}
	reasons := make([]string, 0, len(t.losses))
	total := map[string]int{}
	for reason, bySplit := range t.losses {
		reasons = append(reasons, reason)
		for _, n := range bySplit {
			total[reason] += n
		}
	}
	slices.SortFunc(reasons, func(a, b string) int {
		if total[a] != total[b] {
			return total[b] - total[a]
		}
		return strings.Compare(a, b)
	})
	fmt.Fprintf(tw, "\n%s\tlost because of\n", strings.Join(t.splits, "\t"))
	for _, reason := range reasons {
		for _, s := range t.splits {
			fmt.Fprintf(tw, "%d\t", t.losses[reason][s])
		}
		fmt.Fprintln(tw, reason)
	}
	return tw.Flush()
}

// WriteJSON writes a record as one line.
func (r Record) WriteJSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	return e.Encode(r)
}
