package tranx_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/tabert-workbench/tabert-workbench/asdl"
	"github.com/tabert-workbench/tabert-workbench/grammars"
	"github.com/tabert-workbench/tabert-workbench/tranx"
)

// scorerFunc scores one hypothesis at a time.
type scorerFunc func(h *tranx.Hypothesis) []tranx.Scored

func (f scorerFunc) Score(hyps []*tranx.Hypothesis) ([][]tranx.Scored, error) {
	var all [][]tranx.Scored
	for _, h := range hyps {
		all = append(all, f(h))
	}
	return all, nil
}

// random is a distribution that depends on the seed and on all actions so far.
func random(seed uint64) scorerFunc {
	return func(h *tranx.Hypothesis) []tranx.Scored {
		var sum float64
		var scored []tranx.Scored
		for _, a := range continuations(h) {
			w := math.Exp(3 * uniform(seed, h.Actions(), a))
			scored, sum = append(scored, tranx.Scored{Action: a, LogProb: w}), sum+w
		}
		for i := range scored {
			scored[i].LogProb = math.Log(scored[i].LogProb / sum)
		}
		return scored
	}
}

func uniform(seed uint64, of ...any) float64 {
	h := fnv.New64a()
	fmt.Fprint(h, seed, of)
	return float64(h.Sum64()*0x9E3779B97F4A7C15>>11) / (1 << 53)
}

// forbid is a constraint that refuses a share of all candidates.
func forbid(seed uint64, share float64) tranx.Constraint {
	return func(path []asdl.Frame, next asdl.Candidate) bool {
		var where string
		for _, f := range path {
			where += fmt.Sprintf("%s.%d ", f.Tree.Constructor.Name, f.Field)
		}
		what := next.Leaf.String()
		if next.Constructor != nil {
			what = next.Constructor.Name
		}
		return uniform(seed, where, what, next.IsLeaf, next.Reduce) >= share
	}
}

// plain is beam search as one would write it without a thought for speed: every
// continuation is made, judged and sorted, and the search goes on to the last step.
func plain(s *tranx.System, scorer scorerFunc, opts tranx.BeamOptions) []*tranx.Hypothesis {
	byScore := func(a, b *tranx.Hypothesis) int { return cmp.Compare(b.Score, a.Score) }
	open, done := []*tranx.Hypothesis{s.Start()}, []*tranx.Hypothesis(nil)
	for range opts.MaxSteps {
		var next []*tranx.Hypothesis
		for _, h := range open {
			for _, c := range scorer(h) {
				if !h.Allows(opts.Constraint, c.Action) {
					continue
				}
				n, err := h.Apply(c.Action)
				if err != nil {
					panic(err)
				}
				n.Score += c.LogProb
				next = append(next, n)
			}
		}
		slices.SortStableFunc(next, byScore)
		open = nil
		for _, h := range next[:min(len(next), opts.Size)] {
			if h.Done() {
				done = append(done, h)
			} else {
				open = append(open, h)
			}
		}
	}
	slices.SortStableFunc(done, byScore)
	return done[:min(len(done), opts.Size)]
}

// exhaustive gives every complete hypothesis of at most so many steps, best first.
func exhaustive(s *tranx.System, scorer scorerFunc, c tranx.Constraint, steps int) []*tranx.Hypothesis {
	return plain(s, scorer, tranx.BeamOptions{Size: math.MaxInt, MaxSteps: steps, Constraint: c})
}

func lines(hyps []*tranx.Hypothesis) []string {
	var lines []string
	for _, h := range hyps {
		lines = append(lines, fmt.Sprintf("%.9f %s", h.Score, h.Tree()))
	}
	return lines
}

const tiny = "e = Zero | Add(e left, e right) | Call(string? name, int* ns) | Column(column_ref c, table_ref? t)"

func TestBeam(t *testing.T) {
	s := system(t, tiny)
	rapid.Check(t, func(t *rapid.T) {
		opts := tranx.BeamOptions{Size: rapid.IntRange(1, 20).Draw(t, "size"), MaxSteps: rapid.IntRange(1, 7).Draw(t, "steps")}
		seed := rapid.Uint64().Draw(t, "seed")
		if rapid.Bool().Draw(t, "constrained") {
			opts.Constraint = forbid(seed, 0.3)
		}
		got, err := tranx.Beam(context.Background(), s, random(seed), opts)
		if err != nil {
			t.Fatal(err)
		}
		if diff := gocmp.Diff(lines(plain(s, random(seed), opts)), lines(got)); diff != "" {
			t.Errorf("(-plain +got)\n%s", diff)
		}
		for _, h := range got {
			for i, at := 0, s.Start(); i < h.Len(); i++ {
				a := h.Actions()[i]
				if !at.Allows(opts.Constraint, a) {
					t.Errorf("%s: the constraint forbids action %d, %s", h.Tree(), i, a)
				}
				if at, err = at.Apply(a); err != nil {
					t.Fatal(err)
				}
			}
		}
	})
}

func TestAWideBeamIsExhaustive(t *testing.T) {
	s := system(t, tiny)
	for seed := range uint64(5) {
		for _, constraint := range []tranx.Constraint{nil, forbid(seed, 0.3)} {
			opts := tranx.BeamOptions{Size: 1 << 20, MaxSteps: 6, Constraint: constraint}
			got, err := tranx.Beam(context.Background(), s, random(seed), opts)
			if err != nil {
				t.Fatal(err)
			}
			want := exhaustive(s, random(seed), constraint, opts.MaxSteps)
			if diff := gocmp.Diff(lines(want), lines(got)); diff != "" || constraint == nil && len(got) != 102 {
				t.Errorf("seed %d, %d trees (-want +got)\n%s", seed, len(got), diff)
			}
		}
	}
}

// Equal scores: the order of the hypotheses, then of the scorer's candidates, decides.
func TestBeamBreaksTiesByOrder(t *testing.T) {
	s := system(t, "a = A(b x, b y)\nb = B | C | D")
	level := scorerFunc(func(h *tranx.Hypothesis) []tranx.Scored {
		var scored []tranx.Scored
		for _, a := range continuations(h) {
			scored = append(scored, tranx.Scored{Action: a, LogProb: -1})
		}
		return scored
	})
	got, err := tranx.Beam(context.Background(), s, level, tranx.BeamOptions{Size: 5, MaxSteps: 10})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"-3.000000000 (A B B)", "-3.000000000 (A B C)", "-3.000000000 (A B D)", "-3.000000000 (A C B)", "-3.000000000 (A C C)"}
	if diff := gocmp.Diff(want, lines(got)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestBeamLeavesDeadEnds(t *testing.T) {
	s := system(t, "a = A(int? x) | B(int x) | C")
	best := scorerFunc(func(h *tranx.Hypothesis) []tranx.Scored {
		if h.Len() == 0 {
			var scored []tranx.Scored
			for i, a := range continuations(h) {
				scored = append(scored, tranx.Scored{Action: a, LogProb: -float64(i + 1)})
			}
			return scored
		}
		return []tranx.Scored{
			{Action: tranx.Action{Kind: tranx.SelectInt, Int: 1}, LogProb: math.NaN()},
			{Action: tranx.Action{Kind: tranx.SelectInt, Int: 2}, LogProb: math.Inf(-1)},
		}
	})
	for _, test := range []struct {
		why        string
		size       int
		constraint tranx.Constraint
		want       []string
	}{
		{"A and B have no continuation, C needs none", 3, nil, []string{"-3.000000000 C"}},
		{"the only hypothesis has no continuation", 1, nil, nil},
		{"forbidden candidates take no place", 1, func(_ []asdl.Frame, next asdl.Candidate) bool {
			return next.Constructor == s.Grammar.Constructor("C")
		}, []string{"-3.000000000 C"}},
		{"everything is forbidden", 3, func([]asdl.Frame, asdl.Candidate) bool { return false }, nil},
	} {
		got, err := tranx.Beam(context.Background(), s, best, tranx.BeamOptions{Size: test.size, MaxSteps: 9, Constraint: test.constraint})
		if err != nil {
			t.Fatal(err)
		}
		if diff := gocmp.Diff(test.want, lines(got)); diff != "" {
			t.Errorf("%s (-want +got)\n%s", test.why, diff)
		}
	}
}

// The constraint sees the way to the open field, with what is complete on it.
func TestConstraintSeesThePath(t *testing.T) {
	s := system(t, grammars.SemQL)
	var asked []string
	watch := func(path []asdl.Frame, next asdl.Candidate) bool {
		var where []string
		for _, f := range path {
			var sizes []int
			for _, nodes := range f.Tree.Fields {
				sizes = append(sizes, len(nodes))
			}
			where = append(where, fmt.Sprintf("%s%v.%s", f.Tree.Constructor.Name, sizes, f.Tree.Constructor.Fields[f.Field].Name))
		}
		what := "Reduce"
		switch {
		case next.IsLeaf:
			what = next.Leaf.String()
		case next.Constructor != nil:
			what = next.Constructor.Name
		}
		asked = append(asked, strings.Join(append(where, what), " "))
		return true
	}
	h := s.Start()
	for _, a := range oracle(t, s, `(SelectStatement None [(Literal "the USA") (ColumnReference #1.2)] - - - [#1] -)`) {
		if !h.Allows(watch, a) {
			t.Errorf("%s is forbidden", a)
		}
		next, err := h.Apply(a)
		if err != nil {
			t.Fatal(err)
		}
		h = next
	}
	want := []string{
		"SelectStatement",
		"SelectStatement[0 0 0 0 0 0 0].distinct None",
		"SelectStatement[1 0 0 0 0 0 0].result_columns Literal",
		`SelectStatement[1 0 0 0 0 0 0].result_columns Literal[0].value "the USA"`,
		"SelectStatement[1 1 0 0 0 0 0].result_columns ColumnReference",
		"SelectStatement[1 1 0 0 0 0 0].result_columns ColumnReference[0].column_name #1.2",
		"SelectStatement[1 2 0 0 0 0 0].result_columns Reduce",
		"SelectStatement[1 2 0 0 0 0 0].where_clause Reduce",
		"SelectStatement[1 2 0 0 0 0 0].order_by_clause Reduce",
		"SelectStatement[1 2 0 0 0 0 0].limit_value Reduce",
		"SelectStatement[1 2 0 0 0 0 0].join_with_tables #1",
		"SelectStatement[1 2 0 0 0 1 0].join_with_tables Reduce",
		"SelectStatement[1 2 0 0 0 1 0].compound_statement Reduce",
	}
	if diff := gocmp.Diff(want, asked); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestStateIsInherited(t *testing.T) {
	s := system(t, tiny)
	counting := scorerFunc(func(h *tranx.Hypothesis) []tranx.Scored {
		before, _ := h.State.(int)
		if before != h.Len() {
			t.Errorf("state %d after %d actions", before, h.Len())
		}
		if last, ok := h.Last(); ok != (before > 0) || ok && last != h.Actions()[before-1] {
			t.Errorf("last action %s of %v", last, h.Actions())
		}
		h.State = before + 1
		return random(1)(h)
	})
	got, err := tranx.Beam(context.Background(), s, counting, tranx.BeamOptions{Size: 4, MaxSteps: 30})
	if err != nil || len(got) != 4 {
		t.Errorf("%v (%v)", lines(got), err)
	}
}

// errorScorer gives the same answer to everything.
type errorScorer struct {
	scored [][]tranx.Scored
	err    error
}

func (e errorScorer) Score([]*tranx.Hypothesis) ([][]tranx.Scored, error) { return e.scored, e.err }

func TestBeamErrors(t *testing.T) {
	s := system(t, "a = A")
	cancelled, cancel := context.WithCancel(context.Background())
	cancel()
	ok := tranx.BeamOptions{Size: 1, MaxSteps: 1}
	for _, test := range []struct {
		ctx    context.Context
		scorer tranx.Scorer
		opts   tranx.BeamOptions
		want   string
	}{
		{context.Background(), random(0), tranx.BeamOptions{Size: 0, MaxSteps: 5}, "beam search of size 0 and 5 steps (expected at least 1 of both)"},
		{context.Background(), random(0), tranx.BeamOptions{Size: 2}, "beam search of size 2 and 0 steps (expected at least 1 of both)"},
		{cancelled, random(0), ok, "context canceled"},
		{context.Background(), errorScorer{err: errors.New("no memory")}, ok, "no memory"},
		{context.Background(), errorScorer{}, ok, "scorer: candidates for 0 hypotheses (expected 1)"},
		{
			context.Background(), errorScorer{scored: [][]tranx.Scored{{{Action: tranx.Action{Kind: tranx.Reduce}}}}}, ok,
			"scorer: Reduce is not legal at the root (expected ApplyConstr of A)",
		},
	} {
		if _, err := tranx.Beam(test.ctx, s, test.scorer, test.opts); err == nil || err.Error() != test.want {
			t.Errorf("%v (expected %s)", err, test.want)
		}
	}
}

// A model that offers a thousand continuations, of which hardly any is allowed to close.
func BenchmarkBeam(b *testing.B) {
	s := system(b, "a = A(column_ref* columns)")
	var columns []tranx.Scored
	for i := range 1000 {
		columns = append(columns, tranx.Scored{Action: tranx.Action{Kind: tranx.SelectColumn, Column: i}, LogProb: -5 - uniform(0, i)})
	}
	scorer := scorerFunc(func(h *tranx.Hypothesis) []tranx.Scored {
		if h.Len() == 0 {
			return random(0)(h)
		}
		if h.Len() > 40 {
			return []tranx.Scored{{Action: tranx.Action{Kind: tranx.Reduce}}}
		}
		return columns
	})
	for b.Loop() {
		got, err := tranx.Beam(context.Background(), s, scorer, tranx.BeamOptions{Size: 5, MaxSteps: 100})
		if err != nil || len(got) != 5 {
			b.Fatal(lines(got), err)
		}
	}
}
