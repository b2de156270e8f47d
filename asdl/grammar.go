// Package asdl reads abstract syntaxes written in Zephyr ASDL (Wang et al., 1997), the
// notation that the TranX parser takes its grammars in, and holds typed trees over them.
//
// A grammar is a list of rules:
//
//	stmt = Select(column* columns, expr? where) | Nothing   -- a comment
//	expr = And(expr left, expr right) | stmt                # another
//	pair = (expr left, expr right) attributes (int line)
//
// Names of types start with a lower-case letter, names of constructors with a capital.
// A type that no rule defines is primitive: its values are leaves. Three things go beyond
// the original notation, since published grammars use them: "#" starts a comment as "--"
// does, a type may be an alternative of another (stmt above: an expr field is filled by a
// Select directly), and a constructor may stand without fields.
package asdl

import (
	"fmt"
	"strings"
)

// Cardinality says how many values a field takes.
type Cardinality int

// Single takes one value, Optional ("?") none or one, Sequence ("*") any number.
const (
	Single Cardinality = iota
	Optional
	Sequence
)

// String gives the mark that follows the type: "", "?" or "*".
func (c Cardinality) String() string {
	return [...]string{Single: "", Optional: "?", Sequence: "*"}[c]
}

// Grammar lists types, constructors and fields, each with its index as ID. Rules come in the
// order of the text, primitive types after them in the order of their first use, so the
// same text always gives the same IDs: they are what a model embeds.
type Grammar struct {
	Text         string // what was parsed
	Types        []*Type
	Constructors []*Constructor
	Fields       []*Field
	Root         *Type // the first rule's

	types        map[string]*Type
	constructors map[string]*Constructor
}

// Type is what a field asks for.
type Type struct {
	ID        int
	Name      string
	Primitive bool
	// Constructors are all that may fill the type, those of alternatives that are types
	// included, in file order.
	Constructors []*Constructor
	// Attributes belong to every constructor of the type in ASDL (positions in a source text,
	// mostly). They are kept for printing; trees do not carry them.
	Attributes []Attribute

	alternatives []alternative
}

// Attribute is a declaration behind the word "attributes".
type Attribute struct {
	Type        string
	Cardinality Cardinality
	Name        string
}

func (a Attribute) String() string { return a.Type + a.Cardinality.String() + " " + a.Name }

// An alternative of a rule is one or the other.
type alternative struct {
	constructor *Constructor
	typ         *Type
}

// Constructor is one production of a type.
type Constructor struct {
	ID     int
	Name   string // of a product type "t = (…)", the type's name
	Type   *Type  // the rule it was defined in
	Fields []*Field
}

// Field is one argument of a constructor.
type Field struct {
	ID          int
	Name        string
	Type        *Type
	Cardinality Cardinality
	Constructor *Constructor
	Index       int // in Constructor.Fields
}

// Type finds a type by name, nil if the grammar has none such.
func (g *Grammar) Type(name string) *Type { return g.types[name] }

// Constructor finds a constructor by name, nil if the grammar has none such.
func (g *Grammar) Constructor(name string) *Constructor { return g.constructors[name] }

// Fills says whether a value of type t can be built by c.
func (t *Type) Fills(c *Constructor) bool {
	for _, d := range t.Constructors {
		if c == d {
			return true
		}
	}
	return false
}

// String prints the grammar as ASDL, one rule a paragraph, without comments.
func (g *Grammar) String() string {
	var rules []string
	for _, t := range g.Types {
		if !t.Primitive {
			rules = append(rules, t.rule())
		}
	}
	return strings.Join(rules, "\n")
}

func (t *Type) rule() string {
	var b strings.Builder
	for i, a := range t.alternatives {
		switch {
		case i == 0:
			b.WriteString(t.Name + " = ")
		default:
			b.WriteString("\n" + strings.Repeat(" ", len(t.Name)) + " | ")
		}
		switch {
		case a.typ != nil:
			b.WriteString(a.typ.Name)
		case a.constructor.product():
			b.WriteString("(" + join(a.constructor.Fields) + ")")
		default:
			b.WriteString(a.constructor.String())
		}
	}
	if len(t.Attributes) > 0 {
		b.WriteString("\n" + strings.Repeat(" ", len(t.Name)+3) + "attributes (" + join(t.Attributes) + ")")
	}
	b.WriteString("\n")
	return b.String()
}

func (c *Constructor) product() bool { return c.Name == c.Type.Name }

// String prints the constructor as ASDL does: Name(type field, …), or the name alone.
func (c *Constructor) String() string {
	if len(c.Fields) == 0 {
		return c.Name
	}
	return c.Name + "(" + join(c.Fields) + ")"
}

// String prints the field as ASDL does: type, mark, name.
func (f *Field) String() string { return f.Type.Name + f.Cardinality.String() + " " + f.Name }

func join[T fmt.Stringer](list []T) string {
	words := make([]string, len(list))
	for i, x := range list {
		words[i] = x.String()
	}
	return strings.Join(words, ", ")
}
