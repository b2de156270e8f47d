package tranx

import (
	"cmp"
	"container/heap"
	"context"
	"fmt"
	"math"
	"slices"
)

// Scorer is the model behind a search.
type Scorer interface {
	// Score gives for each hypothesis the actions that it may take next, only such as its
	// Expect allows, in any order, none of them twice. It may set the hypotheses' State.
	Score(hyps []*Hypothesis) ([][]Scored, error)
}

// Scored is an action with its log probability, which is at most 0. An action whose LogProb
// is -Inf or not a number is never taken.
type Scored struct {
	Action  Action
	LogProb float64
}

// BeamOptions bound a search.
type BeamOptions struct {
	Size       int // hypotheses kept a step, and complete ones returned at most
	MaxSteps   int // actions a hypothesis may have
	Constraint Constraint
}

// Beam searches for the complete hypotheses with the highest scores, best first. In each step
// the scorer sees all open hypotheses at once; of their continuations the best Size that
// the constraint allows go on, or are set aside once complete. The search ends when nothing
// is open, or when nothing open can still get into the best Size, as scores only fall. The
// result depends on the scores alone: of equal ones, the continuation of the better
// hypothesis goes first, and then the one that the scorer named first.
//
// The constraint is asked in order of score, and only about what might survive. If the
// scorer and the constraint leave no complete tree within MaxSteps, the result is empty.
func Beam(ctx context.Context, s *System, scorer Scorer, opts BeamOptions) ([]*Hypothesis, error) {
	if opts.Size < 1 || opts.MaxSteps < 1 {
		return nil, fmt.Errorf("beam search of size %d and %d steps (expected at least 1 of both)", opts.Size, opts.MaxSteps)
	}
	open, done := []*Hypothesis{s.Start()}, []*Hypothesis(nil)
	for step := 0; step < opts.MaxSteps && len(open) > 0; step++ {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if len(done) == opts.Size && open[0].Score <= done[len(done)-1].Score {
			break
		}
		scored, err := scorer.Score(open)
		if err != nil {
			return nil, err
		}
		if len(scored) != len(open) {
			return nil, fmt.Errorf("scorer: candidates for %d hypotheses (expected %d)", len(scored), len(open))
		}
		best, err := survivors(open, scored, opts)
		if err != nil {
			return nil, err
		}
		open = open[:0:0]
		for _, h := range best {
			if h.Done() {
				done = append(done, h)
			} else {
				open = append(open, h)
			}
		}
		slices.SortStableFunc(done, func(a, b *Hypothesis) int { return cmp.Compare(b.Score, a.Score) })
		done = done[:min(len(done), opts.Size)]
	}
	return done, nil
}

// survivors gives the best continuations that the constraint allows, best first.
func survivors(open []*Hypothesis, scored [][]Scored, opts BeamOptions) ([]*Hypothesis, error) {
	var queue candidates
	for i, h := range open {
		for j, s := range scored[i] {
			// Also false for NaN.
			if score := h.Score + s.LogProb; score > math.Inf(-1) {
				queue = append(queue, candidate{score, i, j})
			}
		}
	}
	heap.Init(&queue)
	var best []*Hypothesis
	for len(best) < opts.Size && len(queue) > 0 {
		c := heap.Pop(&queue).(candidate)
		h, a := open[c.hyp], scored[c.hyp][c.index].Action
		// Before the constraint, which may count on it.
		if err := h.Legal(a); err != nil {
			return nil, fmt.Errorf("scorer: %w", err)
		}
		if !h.Allows(opts.Constraint, a) {
			continue
		}
		next := h.apply(a)
		next.Score = c.score
		best = append(best, next)
	}
	return best, nil
}

// candidate is a continuation that nobody has applied yet.
type candidate struct {
	score      float64
	hyp, index int
}

// candidates is a heap, so that of thousands only those asked for are put in order.
type candidates []candidate

func (q candidates) Len() int { return len(q) }
func (q candidates) Less(i, j int) bool {
	a, b := q[i], q[j]
	return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.hyp, b.hyp), cmp.Compare(a.index, b.index)) < 0
}
func (q candidates) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q *candidates) Push(x any)   { *q = append(*q, x.(candidate)) }
func (q *candidates) Pop() any {
	last := len(*q) - 1
	x := (*q)[last]
	*q = (*q)[:last]
	return x
}
