// Package tranx is the transition system of TranX (Yin and Neubig, 2018), as the appendix
// of the TaBERT paper extends it: a tree over an ASDL grammar is built depth-first and left
// to right by actions, each of which fills the open field or closes it.
//
//   - A field of a composite type is filled by ApplyConstr.
//   - A leaf is filled by SelectTable, SelectColumn or SelectInt, or, when it is a text, by a
//     GenToken for each of its Words and one more for EndOfString.
//   - An optional field takes a value or Reduce, a sequence takes values until Reduce. Inside
//     a text there is no Reduce.
//   - Everything else closes by itself: a single or optional field behind its value, a
//     constructor behind its last field.
//
// The package knows a grammar and how each of its primitive types is filled. It knows neither
// SQL nor tables: which tables there are is the Scorer's matter, and what must hold
// beyond the grammar a Constraint's.
package tranx

import (
	"fmt"
	"strings"

	"github.com/tabert-workbench/tabert-workbench/asdl"
)

// Kind is what an action does.
type Kind int

// The kinds of actions.
const (
	ApplyConstr  Kind = iota // expands the open field by Constructor
	Reduce                   // closes the open field, optional or sequence
	GenToken                 // appends Token to the open text
	SelectTable              // fills the open field by table Table
	SelectColumn             // fills the open field by column Column of table Table
	SelectInt                // fills the open field by the number Int
)

// String is the kind's name in the paper.
func (k Kind) String() string {
	return [...]string{"ApplyConstr", "Reduce", "GenToken", "SelectTable", "SelectColumn", "SelectInt"}[k]
}

// EndOfString is the Token that ends a text. None of Words is equal to it.
const EndOfString = "</s>"

// Action is one step of building a tree. Actions are comparable; the fields that its Kind
// does not use are zero.
type Action struct {
	Kind        Kind
	Constructor *asdl.Constructor
	Table       int
	Column      int
	Int         int
	Token       string // a word with the white space before it, or EndOfString
}

// String prints the action in one line, like SelectColumn(2, 5).
func (a Action) String() string {
	switch a.Kind {
	case ApplyConstr:
		if a.Constructor == nil {
			return "ApplyConstr(nothing)"
		}
		return "ApplyConstr(" + a.Constructor.Name + ")"
	case GenToken:
		return fmt.Sprintf("GenToken(%q)", a.Token)
	case SelectTable:
		return fmt.Sprintf("SelectTable(%d)", a.Table)
	case SelectColumn:
		return fmt.Sprintf("SelectColumn(%d, %d)", a.Table, a.Column)
	case SelectInt:
		return fmt.Sprintf("SelectInt(%d)", a.Int)
	}
	return a.Kind.String()
}

// System is the transition system of one grammar.
type System struct {
	Grammar *asdl.Grammar
	kinds   []Kind // of the actions that fill each type
}

// DefaultLeaves are the names that grammars commonly give to their primitive types.
func DefaultLeaves() map[string]asdl.LeafKind {
	return map[string]asdl.LeafKind{
		"string":     asdl.KindText,
		"identifier": asdl.KindText,
		"object":     asdl.KindText,
		"int":        asdl.KindInteger,
		"table_ref":  asdl.KindIndex,
		"column_ref": asdl.KindPair,
	}
}

// NewSystem makes the transition system of a grammar whose primitive types have the leaves
// given by name; nil stands for DefaultLeaves.
func NewSystem(g *asdl.Grammar, leaves map[string]asdl.LeafKind) (*System, error) {
	if leaves == nil {
		leaves = DefaultLeaves()
	}
	s := &System{Grammar: g, kinds: make([]Kind, len(g.Types))}
	for _, t := range g.Types {
		kind, given := leaves[t.Name]
		switch {
		case t.Primitive && !given:
			return nil, fmt.Errorf("primitive type %s of the grammar: no kind of leaf is given for it", t.Name)
		case !t.Primitive && given:
			return nil, fmt.Errorf("type %s of the grammar is not primitive (given as a leaf: %s)", t.Name, kind)
		case t.Primitive:
			s.kinds[t.ID] = [...]Kind{
				asdl.KindText: GenToken, asdl.KindInteger: SelectInt, asdl.KindIndex: SelectTable, asdl.KindPair: SelectColumn,
			}[kind]
		}
	}
	return s, nil
}

// leaf is the leaf that a Select action makes; an empty text for other actions.
func (a Action) leaf() asdl.Leaf {
	switch a.Kind {
	case SelectTable:
		return asdl.Index(a.Table)
	case SelectColumn:
		return asdl.Pair(a.Table, a.Column)
	case SelectInt:
		return asdl.Int(a.Int)
	}
	return asdl.Leaf{}
}

// Oracle gives the actions that build a tree.
func (s *System) Oracle(t *asdl.Tree) ([]Action, error) {
	if err := t.Check(s.Grammar); err != nil {
		return nil, err
	}
	return s.oracle(nil, t)
}

func (s *System) oracle(actions []Action, t *asdl.Tree) ([]Action, error) {
	actions = append(actions, Action{Kind: ApplyConstr, Constructor: t.Constructor})
	for i, f := range t.Constructor.Fields {
		for _, n := range t.Fields[i] {
			var err error
			if n.Tree != nil {
				actions, err = s.oracle(actions, n.Tree)
			} else {
				actions, err = s.fill(actions, f, n.Leaf)
			}
			if err != nil {
				return nil, err
			}
		}
		if f.Cardinality == asdl.Sequence || f.Cardinality == asdl.Optional && len(t.Fields[i]) == 0 {
			actions = append(actions, Action{Kind: Reduce})
		}
	}
	return actions, nil
}

func (s *System) fill(actions []Action, f *asdl.Field, l asdl.Leaf) ([]Action, error) {
	a := Action{Kind: s.kinds[f.Type.ID]}
	switch l.Kind {
	case asdl.KindText:
		if a.Kind == GenToken {
			for _, w := range Words(l.Text) {
				actions = append(actions, Action{Kind: GenToken, Token: w.Space + w.Text})
			}
			return append(actions, Action{Kind: GenToken, Token: EndOfString}), nil
		}
	case asdl.KindInteger:
		a.Int = l.I
	case asdl.KindIndex:
		a.Table = l.I
	case asdl.KindPair:
		a.Table, a.Column = l.I, l.J
	}
	if a.leaf() != l || a.Table < 0 || a.Column < 0 {
		return nil, fmt.Errorf("%s.%s: leaf %s (expected one for %s)", f.Constructor.Name, f.Name, l, a.Kind)
	}
	return append(actions, a), nil
}

// Tree gives the tree that the actions build. It inverts Oracle.
func (s *System) Tree(actions []Action) (*asdl.Tree, error) {
	h, _, err := s.replay(actions, false)
	if err != nil {
		return nil, err
	}
	if !h.Done() {
		return nil, fmt.Errorf("after %d actions the tree is not complete: at %s (expected %s)", len(actions), h.where(), h.Expect())
	}
	return h.Tree(), nil
}

// Replay gives the Frontier that each of the actions met, all that a decoder must know about
// the grammar to be trained on them. A Hypothesis gives the same while decoding, by Open.
func (s *System) Replay(actions []Action) ([]Frontier, error) {
	_, frontiers, err := s.replay(actions, true)
	return frontiers, err
}

func (s *System) replay(actions []Action, record bool) (*Hypothesis, []Frontier, error) {
	h, frontiers := s.Start(), []Frontier(nil)
	for i, a := range actions {
		if record {
			frontiers = append(frontiers, h.Open())
		}
		next, err := h.Apply(a)
		if err != nil {
			return nil, nil, fmt.Errorf("action %d of %d: %w", i+1, len(actions), err)
		}
		h = next
	}
	return h, frontiers, nil
}

// Expectation is what may come next. The zero value, with neither Constructors nor Reduce,
// stands behind a complete tree: nothing may.
type Expectation struct {
	// Kind fills the open field: ApplyConstr, GenToken, SelectTable, SelectColumn or SelectInt.
	Kind Kind
	// Constructors are those that ApplyConstr may apply; nil for other kinds.
	Constructors []*asdl.Constructor
	// Reduce says that Reduce is legal as well.
	Reduce bool
}

// String names what is legal, for messages.
func (e Expectation) String() string {
	var words []string
	switch {
	case e.Kind != ApplyConstr:
		words = append(words, e.Kind.String())
	case len(e.Constructors) > 0:
		names := make([]string, len(e.Constructors))
		for i, c := range e.Constructors {
			names[i] = c.Name
		}
		words = append(words, "ApplyConstr of "+strings.Join(names, ", "))
	}
	if e.Reduce {
		words = append(words, "Reduce")
	}
	if words == nil {
		return "nothing more"
	}
	return strings.Join(words, " or ")
}

// Frontier describes the place where the next action happens.
type Frontier struct {
	// Field is the open field; nil at the root, and when the tree is complete.
	Field *asdl.Field
	// ParentStep is the time step (from 0) of the ApplyConstr that Field belongs to, -1 at the
	// root. That action's constructor is Field.Constructor.
	ParentStep int
	// Tokens are the tokens of the open text so far; none outside of a text.
	Tokens []string
	// Expect is what is legal.
	Expect Expectation
}

// FieldID is the ID of the open field, -1 at the root.
func (f Frontier) FieldID() int {
	if f.Field == nil {
		return -1
	}
	return f.Field.ID
}

// ConstructorID is the ID of the constructor that the open field belongs to, -1 at the root.
func (f Frontier) ConstructorID() int {
	if f.Field == nil {
		return -1
	}
	return f.Field.Constructor.ID
}

// TypeID is the ID of the type that the open field asks for; that of the grammar's first rule
// at the root.
func (f Frontier) TypeID() int {
	if f.Field == nil {
		return 0
	}
	return f.Field.Type.ID
}
