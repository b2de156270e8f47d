package eval

import (
	"fmt"
	"math/bits"
	"slices"
)

// A Clause is one of the ten components that get a partial score.
type Clause int

// The clauses, in the order of the official table.
const (
	Select Clause = iota
	SelectNoAgg
	Where
	WhereNoOp
	GroupNoHaving
	Group
	Order
	AndOr
	IUEN // INTERSECT, UNION, EXCEPT and what they combine
	Keywords
	clauses
)

var clauseNames = [clauses]string{
	"select", "select(no AGG)", "where", "where(no OP)", "group(no Having)",
	"group", "order", "and/or", "IUEN", "keywords",
}

// String is the clause's name in the official table.
func (c Clause) String() string { return clauseNames[c] }

// Clauses are all clauses in the order of the official table.
func Clauses() []Clause {
	l := make([]Clause, clauses)
	for i := range l {
		l[i] = Clause(i)
	}
	return l
}

// Partial is the score of one clause of one pair. The scores are 0 or 1. The totals say
// how many members the clause has in either query.
type Partial struct {
	Acc        float64 `json:"acc"`
	Rec        float64 `json:"rec"`
	F1         float64 `json:"f1"`
	LabelTotal int     `json:"label_total"`
	PredTotal  int     `json:"pred_total"`
}

// Verdict is what the official evaluation says about one pair.
type Verdict struct {
	Exact          bool
	Hardness       string             // of the gold query
	Partial        map[string]Partial // by the name of the clause
	PredParseError error              // the prediction was unreadable, and scored as an empty query
}

// gold is a gold query that is ready to be compared.
type gold struct {
	hardness string
	query    *Query
	err      error
}

// keepGold is how many gold queries a schema keeps.
const keepGold = 1 << 14

func (s *Schema) goldQuery(sql string) *gold {
	s.mu.RLock()
	g := s.gold[sql]
	s.mu.RUnlock()
	if g != nil {
		return g
	}
	g = new(gold)
	if g.query, g.err = s.Parse(sql); g.err == nil {
		g.hardness = g.query.Hardness()
		g.err = g.query.rebuild()
	}
	if g.err != nil {
		g.err = fmt.Errorf("gold query %q on database %q: %w", sql, s.ID, g.err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.gold) >= keepGold {
		clear(s.gold)
	}
	s.gold[sql] = g
	return g
}

// Hardness is the level of a gold query.
func (s *Schema) Hardness(sql string) (string, error) {
	g := s.goldQuery(sql)
	return g.hardness, g.err
}

// Match compares a prediction with a gold query: the official exact set match, without
// values and without DISTINCT. A prediction that the official reader refuses counts as
// an empty query, and so does one on which the official script would crash; a gold query of
// that kind is an error.
func (s *Schema) Match(gold, pred string) (Verdict, error) {
	g := s.goldQuery(gold)
	if g.err != nil {
		return Verdict{}, g.err
	}
	p, err := s.Parse(pred)
	if err == nil {
		err = p.rebuild()
	}
	if err != nil {
		p = &Query{schema: s, distinct: ignored}
	}
	v := Verdict{Hardness: g.hardness, PredParseError: err, Partial: make(map[string]Partial, clauses)}
	scores := partial(p, g.query)
	for c, score := range scores {
		v.Partial[clauseNames[c]] = score
	}
	v.Exact = exact(p, g.query, &scores)
	return v, nil
}

// exact is eval_exact_match, given the partial scores: all clauses agree, and the tables.
func exact(pred, label *Query, scores *[clauses]Partial) bool {
	for i := range scores {
		if scores[i].F1 != 1 {
			return false
		}
	}
	if len(label.from) == 0 {
		return true
	}
	// Python sorts the tables of both; it cannot sort two different subqueries, and
	// fails. Without that, it is a comparison in any order.
	return len(pred.from) == len(label.from) && common(pred.from, label.from, tableUnit.equal) == len(label.from)
}

func match(pred, label *Query) bool {
	scores := partial(pred, label)
	return exact(pred, label, &scores)
}

// partial is eval_partial_match. The conditions of joins are not compared at all.
func partial(pred, label *Query) (scores [clauses]Partial) {
	set := func(c Clause, labelTotal, predTotal, count int) {
		p := Partial{LabelTotal: labelTotal, PredTotal: predTotal}
		if labelTotal == predTotal && count == predTotal {
			p.Acc, p.Rec, p.F1 = 1, 1, 1
		}
		scores[c] = p
	}

	l, p := len(label.sel), len(pred.sel)
	set(Select, l, p, common(pred.sel, label.sel, func(a, b selected) bool { return a == b }))
	set(SelectNoAgg, l, p, common(pred.sel, label.sel, func(a, b selected) bool { return a.unit == b.unit }))

	l, p = (len(label.where)+1)/2, (len(pred.where)+1)/2
	labelConds, predConds := even(label.where), even(pred.where)
	set(Where, l, p, common(predConds, labelConds, (*condition).equal))
	set(WhereNoOp, l, p, common(predConds, labelConds, func(a, b *condition) bool { return a.unit == b.unit }))

	l, p = len(label.group), len(pred.group)
	group := label.schema.group
	set(GroupNoHaving, l, p, common(pred.group, label.group, func(a, b columnUnit) bool {
		return group[a.column] == group[b.column]
	}))
	same := l > 0 && p > 0 &&
		slices.EqualFunc(pred.group, label.group, func(a, b columnUnit) bool { return a.column == b.column }) &&
		slices.EqualFunc(pred.having, label.having, item.equal)
	set(Group, one(l > 0), one(p > 0), one(same))

	// How many rows LIMIT keeps does not count, only whether there is one.
	same = label.ordered && pred.sameOrder(label) && pred.limited == label.limited
	set(Order, one(label.ordered), one(pred.ordered), one(same))

	if labelJoins, predJoins, same := joins(label.where, pred.where); same {
		set(AndOr, 1, 1, 1)
	} else {
		// The script takes these two totals for each other.
		set(AndOr, predJoins, labelJoins, 0)
	}

	l, p, count := 0, 0, 0
	for _, pair := range [...][2]*Query{
		{pred.intersect, label.intersect}, {pred.except, label.except}, {pred.union, label.union},
	} {
		p += one(pair[0] != nil)
		l += one(pair[1] != nil)
		if pair[0] != nil && pair[1] != nil {
			count += one(match(pair[0], pair[1]))
		}
	}
	set(IUEN, l, p, count)

	lw, pw := label.keywords(), pred.keywords()
	set(Keywords, bits.OnesCount(lw), bits.OnesCount(pw), bits.OnesCount(lw&pw))
	return scores
}

func one(b bool) int {
	if b {
		return 1
	}
	return 0
}

// common counts the members of pred that label has too, each member of label at most once.
func common[T any](pred, label []T, equal func(a, b T) bool) int {
	if len(label) == 0 {
		return 0
	}
	var space [64]bool
	used := space[:]
	if len(label) > len(space) {
		used = make([]bool, len(label))
	}
	n := 0
	for _, p := range pred {
		for i, l := range label {
			if !used[i] && equal(p, l) {
				used[i] = true
				n++
				break
			}
		}
		if n == len(label) {
			break
		}
	}
	return n
}

// even are the conditions among a list that alternates between them and conjunctions.
func even(items []item) []*condition {
	if len(items) == 0 {
		return nil
	}
	conds := make([]*condition, 0, (len(items)+1)/2)
	for i := 0; i < len(items); i += 2 {
		conds = append(conds, items[i].cond)
	}
	return conds
}

// joins compares the sets of conjunctions, and counts the members of both.
func joins(label, pred []item) (labelCount, predCount int, same bool) {
	l, p := odd(label), odd(pred)
	same = len(l) == len(p) && common(p, l, item.equal) == len(l)
	return len(l), len(p), same
}

// odd is the set of what stands at the odd places of a list of conditions: "and", "or", and
// conditions that lack a conjunction.
func odd(items []item) []item {
	var set []item
	joins := [2]bool{}
	for i := 1; i < len(items); i += 2 {
		it := items[i]
		if it.cond == nil {
			seen := &joins[one(it.join == orKind)]
			if *seen {
				continue
			}
			*seen = true
		} else if slices.ContainsFunc(set, it.equal) {
			continue
		}
		set = append(set, it)
	}
	return set
}

// keywords is get_keywords, a set of bits.
func (q *Query) keywords() uint {
	var set uint
	n := 0
	add := func(has bool) {
		if has {
			set |= 1 << n
		}
		n++
	}
	var or, not, in, like bool
	for _, items := range [...][]item{q.on, q.where, q.having} {
		for i, it := range items {
			switch {
			case i%2 == 1:
				or = or || it.cond == nil && it.join == orKind
			default:
				not = not || it.cond.not
				in = in || it.cond.op == inOp
				like = like || it.cond.op == likeOp
			}
		}
	}
	for _, has := range [...]bool{
		len(q.where) > 0, len(q.group) > 0, len(q.having) > 0,
		q.ordered, q.ordered && q.order == ascKind, q.ordered && q.order == descKind, q.limited,
		q.except != nil, q.union != nil, q.intersect != nil, or, not, in, like,
	} {
		add(has)
	}
	return set
}
