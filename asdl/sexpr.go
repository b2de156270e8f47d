package asdl

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// ParseTree reads what Tree.String prints; white space is free. Its errors are of the form
// "line:column: message".
func ParseTree(g *Grammar, text string) (*Tree, error) {
	r := &reader{g: g, text: text}
	r.next()
	t, err := r.tree(g.Root, 0)
	if err != nil {
		return nil, err
	}
	if r.token != "" {
		return nil, r.errorf("the end")
	}
	return t, nil
}

// Deeper trees are refused rather than recursed into.
const maxDepth = 10_000

// token patterns; what matches none of them is one character
var (
	tokens  = regexp.MustCompile(`^(?:"(?:[^"\\\n]|\\.)*"|[A-Za-z_][A-Za-z0-9_]*|-?[0-9]+|#[0-9]+(?:\.[0-9]+)?|(?s:.))`)
	integer = regexp.MustCompile(`^-?[0-9]+$`)
)

type reader struct {
	g     *Grammar
	text  string
	pos   int    // behind token
	token string // "" at the end
}

func (r *reader) next() {
	rest := strings.TrimLeft(r.text[r.pos:], " \t\r\n")
	r.token = tokens.FindString(rest)
	r.pos = len(r.text) - len(rest) + len(r.token)
}

func (r *reader) errorf(format string, args ...any) error {
	before := r.text[:r.pos-len(r.token)]
	found := strconv.Quote(r.token)
	if r.token == "" {
		found = "the end"
	}
	line := strings.LastIndexByte(before, '\n') + 1
	return fmt.Errorf("%d:%d: found %s (expected %s)", strings.Count(before, "\n")+1, len([]rune(before[line:]))+1,
		found, fmt.Sprintf(format, args...))
}

func (r *reader) tree(typ *Type, depth int) (*Tree, error) {
	if depth > maxDepth {
		return nil, r.errorf("a tree of %d levels at most", maxDepth)
	}
	parens := r.token == "("
	if parens {
		r.next()
	}
	c := r.g.Constructor(r.token)
	switch {
	case c == nil || !typ.Fills(c):
		return nil, r.errorf("a constructor of %s", typ.Name)
	case !parens && len(c.Fields) > 0:
		return nil, r.errorf("a parenthesis before %s, which has fields", c.Name)
	}
	r.next()
	t := &Tree{Constructor: c, Fields: make([][]Node, len(c.Fields))}
	for i, f := range c.Fields {
		var err error
		if t.Fields[i], err = r.field(f, depth); err != nil {
			return nil, err
		}
	}
	if parens {
		if r.token != ")" {
			return nil, r.errorf("a parenthesis after the fields of %s", c.Name)
		}
		r.next()
	}
	return t, nil
}

func (r *reader) field(f *Field, depth int) ([]Node, error) {
	if f.Cardinality == Optional && r.token == "-" {
		r.next()
		return nil, nil
	}
	if f.Cardinality != Sequence {
		n, err := r.node(f, depth)
		if err != nil {
			return nil, err
		}
		return []Node{n}, nil
	}
	if r.token != "[" {
		return nil, r.errorf("a bracket for the sequence %s.%s", f.Constructor.Name, f.Name)
	}
	var nodes []Node
	for r.next(); r.token != "]"; {
		n, err := r.node(f, depth)
		if err != nil {
			return nil, err
		}
		nodes = append(nodes, n)
	}
	r.next()
	return nodes, nil
}

func (r *reader) node(f *Field, depth int) (Node, error) {
	if !f.Type.Primitive {
		t, err := r.tree(f.Type, depth+1)
		return Node{Tree: t}, err
	}
	l, err := parseLeaf(r.token)
	if err != nil {
		return Node{}, r.errorf("a leaf for %s.%s: \"text\", 3, #2 or #2.5", f.Constructor.Name, f.Name)
	}
	r.next()
	return Node{Leaf: l}, nil
}

func parseLeaf(token string) (Leaf, error) {
	switch {
	case strings.HasPrefix(token, `"`):
		s, err := strconv.Unquote(token)
		return Text(s), err
	case strings.HasPrefix(token, "#"):
		first, second, pair := strings.Cut(token[1:], ".")
		i, err := strconv.Atoi(first)
		if !pair || err != nil {
			return Index(i), err
		}
		j, err := strconv.Atoi(second)
		return Pair(i, j), err
	case integer.MatchString(token):
		i, err := strconv.Atoi(token)
		return Int(i), err
	}
	return Leaf{}, strconv.ErrSyntax
}
