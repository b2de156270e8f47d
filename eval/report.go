package eval

import (
	"bufio"
	"fmt"
	"io"
)

// All is the level that has every pair.
const All = "all"

// Report adds up verdicts, and prints them as the official script does. The zero Report
// is empty and ready.
type Report struct {
	levels      [5]tally // Levels, then All
	parseErrors int
	executed    bool
}

type tally struct {
	count, exact    int
	answered, right int
	partial         [clauses]struct{ acc, rec, accCount, recCount int }
}

func levelIndex(level string) int {
	for i, l := range Levels {
		if l == level {
			return i
		}
	}
	return len(Levels)
}

// Add counts a verdict.
func (r *Report) Add(v Verdict) {
	r.parseErrors += one(v.PredParseError != nil)
	for _, l := range [...]int{levelIndex(v.Hardness), len(Levels)} {
		t := &r.levels[l]
		t.count++
		t.exact += one(v.Exact)
		for c := range t.partial {
			// A clause that a query lacks does not count for it.
			p, sum := v.Partial[clauseNames[c]], &t.partial[c]
			if p.PredTotal > 0 {
				sum.acc += one(p.Acc == 1)
				sum.accCount++
			}
			if p.LabelTotal > 0 {
				sum.rec += one(p.Rec == 1)
				sum.recCount++
			}
		}
	}
}

// AddExecution counts whether a prediction for a gold query of this hardness has the
// right answer. Pairs that have no answer are just not counted.
func (r *Report) AddExecution(hardness string, right bool) {
	r.executed = true
	for _, l := range [...]int{levelIndex(hardness), len(Levels)} {
		r.levels[l].answered++
		r.levels[l].right += one(right)
	}
}

// Count is the number of pairs of a level; All is every one.
func (r *Report) Count(level string) int { return r.levels[levelIndex(level)].count }

// ParseErrors is the number of predictions that could not be read.
func (r *Report) ParseErrors() int { return r.parseErrors }

// Exact is the share of exact matches of a level, 0 if it has no pairs.
func (r *Report) Exact(level string) float64 {
	t := &r.levels[levelIndex(level)]
	return ratio(t.exact, t.count)
}

// Execution is the share of right answers among the pairs of a level that have one, and
// how many these are.
func (r *Report) Execution(level string) (share float64, answered int) {
	t := &r.levels[levelIndex(level)]
	return ratio(t.right, t.answered), t.answered
}

// Partial is the accuracy, recall and F1 of a clause. F1 is 1 where the other two are 0,
// as in the official script.
func (r *Report) Partial(level string, c Clause) (acc, rec, f1 float64) {
	t := &r.levels[levelIndex(level)]
	if t.count == 0 {
		return 0, 0, 0
	}
	p := t.partial[c]
	acc, rec = ratio(p.acc, p.accCount), ratio(p.rec, p.recCount)
	if acc == 0 && rec == 0 {
		return acc, rec, 1
	}
	return acc, rec, 2 * acc * rec / (rec + acc)
}

func ratio(n, of int) float64 {
	if of == 0 {
		return 0
	}
	return float64(n) / float64(of)
}

// Write prints the official table. If some pairs have no answer, the number of those that
// have one follows the execution accuracy, which is the share among them.
func (r *Report) Write(w io.Writer) error {
	b := bufio.NewWriter(w)
	row := func(name string, cell func(level string) string) {
		fmt.Fprintf(b, "%-20s", name)
		for _, l := range append(append([]string(nil), Levels...), All) {
			fmt.Fprintf(b, " %-20s", cell(l))
		}
		b.WriteByte('\n')
	}
	share := func(name string, of func(level string) float64) {
		row(name, func(l string) string { return fmt.Sprintf("%.3f", of(l)) })
	}
	row("", func(l string) string { return l })
	row("count", func(l string) string { return fmt.Sprint(r.Count(l)) })
	if r.executed {
		fmt.Fprintln(b, "=====================   EXECUTION ACCURACY     =====================")
		share("execution", func(l string) float64 { f, _ := r.Execution(l); return f })
		if _, n := r.Execution(All); n < r.Count(All) {
			row("of", func(l string) string { _, n := r.Execution(l); return fmt.Sprint(n) })
		}
	}
	fmt.Fprintln(b, "\n====================== EXACT MATCHING ACCURACY =====================")
	share("exact match", r.Exact)
	for i, title := range []string{
		"\n---------------------PARTIAL MATCHING ACCURACY----------------------",
		"---------------------- PARTIAL MATCHING RECALL ----------------------",
		"---------------------- PARTIAL MATCHING F1 --------------------------",
	} {
		fmt.Fprintln(b, title)
		for c := Clause(0); c < clauses; c++ {
			share(c.String(), func(l string) float64 {
				acc, rec, f1 := r.Partial(l, c)
				return [...]float64{acc, rec, f1}[i]
			})
		}
	}
	return b.Flush()
}
