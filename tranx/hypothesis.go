package tranx

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tabert-workbench/tabert-workbench/asdl"
)

// Hypothesis is a tree under construction. It does not change: Apply makes a new one that
// shares all but the path to the open field, so a search may fork it at no cost.
type Hypothesis struct {
	Score float64 // the sum of log probabilities, kept by Beam
	// State is the scorer's own; Apply hands it on to the new hypothesis.
	State any

	system *System
	top    *frame     // holds the open field; nil at the root and behind a complete tree
	tree   *asdl.Tree // once complete
	tokens []string   // of the open text
	last   *taken
	n      int
}

// frame is an applied constructor whose fields are not all closed.
type frame struct {
	up    *frame
	tree  *asdl.Tree // complete fields and elements only; never changed
	field int        // the open one
	step  int        // time step of the ApplyConstr
}

func (f *frame) open() *asdl.Field { return f.tree.Constructor.Fields[f.field] }

// taken is the history of actions. It does not hold hypotheses, whose State may be large.
type taken struct {
	before *taken
	action Action
}

// Start is the hypothesis without any action.
func (s *System) Start() *Hypothesis { return &Hypothesis{system: s} }

// Done says whether the tree is complete.
func (h *Hypothesis) Done() bool { return h.tree != nil }

// Tree is the tree once it is complete, nil before.
func (h *Hypothesis) Tree() *asdl.Tree { return h.tree }

// Len is the number of actions so far, and the time step of the next one.
func (h *Hypothesis) Len() int { return h.n }

// Last is the latest action; false at the start.
func (h *Hypothesis) Last() (Action, bool) {
	if h.last == nil {
		return Action{}, false
	}
	return h.last.action, true
}

// Actions lists the actions so far.
func (h *Hypothesis) Actions() []Action {
	actions := make([]Action, h.n)
	for i, t := h.n, h.last; t != nil; t = t.before {
		i--
		actions[i] = t.action
	}
	return actions
}

// Open describes the place where the next action happens.
func (h *Hypothesis) Open() Frontier {
	f := Frontier{ParentStep: -1, Tokens: h.tokens, Expect: h.Expect()}
	if h.top != nil {
		f.Field, f.ParentStep = h.top.open(), h.top.step
	}
	return f
}

// Expect gives what is legal next.
func (h *Hypothesis) Expect() Expectation {
	switch {
	case h.Done():
		return Expectation{}
	case h.top == nil:
		return Expectation{Constructors: h.system.Grammar.Root.Constructors}
	}
	f := h.top.open()
	return Expectation{
		Kind:         h.system.kinds[f.Type.ID],
		Constructors: f.Type.Constructors,
		Reduce:       f.Cardinality != asdl.Single && len(h.tokens) == 0,
	}
}

// Legal says why an action may not come next, nil if it may.
func (h *Hypothesis) Legal(a Action) error {
	e, legal := h.Expect(), false
	switch a.Kind {
	case ApplyConstr:
		legal = e.Kind == ApplyConstr && slices.Contains(e.Constructors, a.Constructor)
	case Reduce:
		legal = e.Reduce
	case GenToken:
		legal = e.Kind == GenToken && a.Token != ""
	default:
		legal = e.Kind == a.Kind && a.Table >= 0 && a.Column >= 0
	}
	if !legal {
		return fmt.Errorf("%s is not legal at %s (expected %s)", a, h.where(), e)
	}
	return nil
}

// where names the open field in messages.
func (h *Hypothesis) where() string {
	switch {
	case h.Done():
		return "the end of the tree"
	case h.top == nil:
		return "the root"
	}
	return h.top.tree.Constructor.Name + "." + h.top.open().Name
}

// Apply takes an action, which must be legal, and gives the hypothesis behind it.
func (h *Hypothesis) Apply(a Action) (*Hypothesis, error) {
	if err := h.Legal(a); err != nil {
		return nil, err
	}
	return h.apply(a), nil
}

func (h *Hypothesis) apply(a Action) *Hypothesis {
	next := &Hypothesis{
		Score: h.Score, State: h.State,
		system: h.system, top: h.top, last: &taken{h.last, a}, n: h.n + 1,
	}
	switch {
	case a.Kind == ApplyConstr:
		tree := &asdl.Tree{Constructor: a.Constructor, Fields: make([][]asdl.Node, len(a.Constructor.Fields))}
		next.top = &frame{up: h.top, tree: tree, step: h.n}
		next.close()
	case a.Kind == Reduce:
		next.top = &frame{h.top.up, h.top.tree, h.top.field + 1, h.top.step}
		next.close()
	case a.Kind == GenToken && a.Token != EndOfString:
		next.tokens = append(slices.Clip(h.tokens), a.Token)
	default:
		next.add(asdl.Node{Leaf: h.leaf(a)})
		next.close()
	}
	return next
}

// leaf is the leaf that an action completes.
func (h *Hypothesis) leaf(a Action) asdl.Leaf {
	if a.Kind == GenToken {
		return asdl.Text(strings.Join(h.tokens, ""))
	}
	return a.leaf()
}

// add puts a value into the open field, and closes the field unless it is a sequence.
func (h *Hypothesis) add(n asdl.Node) {
	f := h.top
	tree := &asdl.Tree{Constructor: f.tree.Constructor, Fields: slices.Clone(f.tree.Fields)}
	tree.Fields[f.field] = append(slices.Clip(tree.Fields[f.field]), n)
	h.top = &frame{f.up, tree, f.field, f.step}
	if f.open().Cardinality != asdl.Sequence {
		h.top.field++
	}
}

// close hands trees whose last field is closed to the field above.
func (h *Hypothesis) close() {
	for h.top.field == len(h.top.tree.Fields) {
		tree := h.top.tree
		if h.top = h.top.up; h.top == nil {
			h.tree = tree
			return
		}
		h.add(asdl.Node{Tree: tree})
	}
}

// Path leads from the root to the open field; it is empty at the root.
func (h *Hypothesis) Path() []asdl.Frame {
	var path []asdl.Frame
	for f := h.top; f != nil; f = f.up {
		path = append(path, asdl.Frame{Tree: f.tree, Field: f.field})
	}
	slices.Reverse(path)
	return path
}

// Constraint says whether a candidate may come next in the last frame's open field, where the
// grammar allows it. The path is that of Hypothesis.Path. A text is asked for when it ends,
// not at its single words.
type Constraint func(path []asdl.Frame, next asdl.Candidate) bool

// Allows asks a constraint about a legal action; nil allows everything.
func (h *Hypothesis) Allows(c Constraint, a Action) bool {
	switch {
	case c == nil, a.Kind == GenToken && a.Token != EndOfString:
		return true
	case a.Kind == ApplyConstr:
		return c(h.Path(), asdl.Candidate{Constructor: a.Constructor})
	case a.Kind == Reduce:
		return c(h.Path(), asdl.Candidate{Reduce: true})
	}
	return c(h.Path(), asdl.Candidate{Leaf: h.leaf(a), IsLeaf: true})
}
