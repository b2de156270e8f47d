package asdl

import (
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"
)

// LeafKind is the shape of a leaf.
type LeafKind int

// The kinds of leaves.
const (
	KindText    LeafKind = iota // a string
	KindInteger                 // a number
	KindIndex                   // one of a list: a table
	KindPair                    // one of a list of lists: a column of a table
)

// String names the kind in messages.
func (k LeafKind) String() string {
	return [...]string{KindText: "text", KindInteger: "integer", KindIndex: "index", KindPair: "pair"}[k]
}

// Leaf is a value of a primitive type. Leaves are comparable.
type Leaf struct {
	Kind LeafKind
	Text string // the string of a KindText
	I, J int    // the number of a KindInteger, the index of a KindIndex, J-th of the I-th for a KindPair
}

// Text is a leaf that holds a string.
func Text(s string) Leaf { return Leaf{Kind: KindText, Text: s} }

// Int is a leaf that holds a number.
func Int(n int) Leaf { return Leaf{Kind: KindInteger, I: n} }

// Index is a leaf that points at the i-th table.
func Index(i int) Leaf { return Leaf{Kind: KindIndex, I: i} }

// Pair is a leaf that points at the j-th column of the i-th table.
func Pair(i, j int) Leaf { return Leaf{Kind: KindPair, I: i, J: j} }

// String prints the leaf as in an s-expression: "text", 3, #2 or #2.5.
func (l Leaf) String() string {
	switch l.Kind {
	case KindInteger:
		return strconv.Itoa(l.I)
	case KindIndex:
		return "#" + strconv.Itoa(l.I)
	case KindPair:
		return "#" + strconv.Itoa(l.I) + "." + strconv.Itoa(l.J)
	}
	return strconv.Quote(l.Text)
}

// Tree is a constructor with the values of its fields.
type Tree struct {
	Constructor *Constructor
	Fields      [][]Node // as Constructor.Fields; one node, none or one, or any number of them
}

// Node is a value of a field: a Tree, or, where that is nil, a Leaf.
type Node struct {
	Tree *Tree
	Leaf Leaf
}

// New makes a tree of a constructor and the values of its fields in order.
func New(c *Constructor, fields ...[]Node) *Tree { return &Tree{Constructor: c, Fields: fields} }

// Trees makes a field's value of trees; without any, the empty value.
func Trees(trees ...*Tree) []Node {
	var nodes []Node
	for _, t := range trees {
		nodes = append(nodes, Node{Tree: t})
	}
	return nodes
}

// Leaves makes a field's value of leaves; without any, the empty value.
func Leaves(leaves ...Leaf) []Node {
	var nodes []Node
	for _, l := range leaves {
		nodes = append(nodes, Node{Leaf: l})
	}
	return nodes
}

// Frame is a step on the way from a tree's root to a place inside it: a tree, and the index
// of the field that is open in it. In a path through an unfinished tree, Tree holds what is
// complete: earlier fields, and earlier elements of the open one. The child that is being
// built is the Tree of the next frame, and not yet among its parent's nodes.
type Frame struct {
	Tree  *Tree
	Field int
}

// Candidate is what may come next in the open field: a constructor, a whole leaf, or the
// closing of an optional or sequence field.
type Candidate struct {
	Constructor *Constructor
	Leaf        Leaf
	IsLeaf      bool
	Reduce      bool
}

// Check reports the first place where the tree is not one of the grammar's.
func (t *Tree) Check(g *Grammar) error { return t.check(g, g.Root, "root") }

func (t *Tree) check(g *Grammar, typ *Type, where string) error {
	c := t.Constructor
	switch {
	case c == nil:
		return fmt.Errorf("%s: no constructor (expected %s)", where, typ.Name)
	case g.constructors[c.Name] != c:
		return fmt.Errorf("%s: constructor %s is not of this grammar", where, c.Name)
	case !typ.Fills(c):
		return fmt.Errorf("%s: constructor %s (expected %s)", where, c.Name, typ.Name)
	case len(t.Fields) != len(c.Fields):
		return fmt.Errorf("%s: %d fields for %s", where, len(t.Fields), c)
	}
	for i, f := range c.Fields {
		nodes, where := t.Fields[i], c.Name+"."+f.Name
		switch {
		case f.Cardinality == Single && len(nodes) != 1:
			return fmt.Errorf("%s: %d values (expected one %s)", where, len(nodes), f.Type.Name)
		case f.Cardinality == Optional && len(nodes) > 1:
			return fmt.Errorf("%s: %d values (expected one %s at most)", where, len(nodes), f.Type.Name)
		}
		for _, n := range nodes {
			switch {
			case n.Tree == nil && !f.Type.Primitive:
				return fmt.Errorf("%s: leaf %s (expected %s)", where, n.Leaf, f.Type.Name)
			case n.Tree != nil && f.Type.Primitive:
				return fmt.Errorf("%s: a tree (expected a leaf of the primitive type %s)", where, f.Type.Name)
			case n.Tree != nil:
				if err := n.Tree.check(g, f.Type, where); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// Equal compares two trees by names of constructors and by leaves.
func (t *Tree) Equal(u *Tree) bool {
	if t == nil || u == nil {
		return t == u
	}
	return t.Constructor.Name == u.Constructor.Name && slices.EqualFunc(t.Fields, u.Fields, func(a, b []Node) bool {
		return slices.EqualFunc(a, b, func(m, n Node) bool {
			return m.Tree.Equal(n.Tree) && (m.Tree != nil || m.Leaf == n.Leaf)
		})
	})
}

// Hash is equal for equal trees, in every process.
func (t *Tree) Hash() uint64 {
	h := fnv.New64a()
	h.Write([]byte(t.String()))
	return h.Sum64()
}

// String prints the tree as an s-expression in one line: (Constructor field …), or the name
// alone where there are no fields; a sequence in brackets, "-" for an absent optional field.
func (t *Tree) String() string {
	var b strings.Builder
	t.print(&b)
	return b.String()
}

func (t *Tree) print(b *strings.Builder) {
	c := t.Constructor
	if len(c.Fields) == 0 {
		b.WriteString(c.Name)
		return
	}
	b.WriteString("(" + c.Name)
	for i, f := range c.Fields {
		b.WriteByte(' ')
		if f.Cardinality == Sequence {
			b.WriteByte('[')
		}
		for j, n := range t.Fields[i] {
			if j > 0 {
				b.WriteByte(' ')
			}
			if n.Tree != nil {
				n.Tree.print(b)
			} else {
				b.WriteString(n.Leaf.String())
			}
		}
		switch {
		case f.Cardinality == Sequence:
			b.WriteByte(']')
		case len(t.Fields[i]) == 0:
			b.WriteByte('-')
		}
	}
	b.WriteByte(')')
}
