package asdl

import (
	"slices"
	"unicode"

	"github.com/alecthomas/participle/v2"
	"github.com/alecthomas/participle/v2/lexer"
)

type file struct {
	Rules []*rule `parser:"@@*"`
}

type rule struct {
	Pos          lexer.Position
	Name         string        `parser:"@TypeName '='"`
	Product      []*field      `parser:"( '(' @@ ( ',' @@ )* ')'"`
	Alternatives []*production `parser:"| @@ ( '|' @@ )* )"`
	Attributes   []*field      `parser:"( 'attributes' '(' @@ ( ',' @@ )* ')' )?"`
}

type production struct {
	Pos    lexer.Position
	Name   string   `parser:"@( TypeName | ConstructorName )"`
	Parens bool     `parser:"( @'('"`
	Fields []*field `parser:"( @@ ( ',' @@ )* )? ')' )?"`
}

type field struct {
	Pos  lexer.Position
	Type string `parser:"@TypeName"`
	Mark string `parser:"@( '?' | '*' )?"`
	Name string `parser:"@( TypeName | ConstructorName )"`
}

func (f *field) cardinality() Cardinality {
	return map[string]Cardinality{"?": Optional, "*": Sequence}[f.Mark]
}

var parser = participle.MustBuild[file](
	participle.Lexer(lexer.MustSimple([]lexer.SimpleRule{
		{Name: "Comment", Pattern: `(--|#)[^\n]*`},
		{Name: "Space", Pattern: `\s+`},
		{Name: "TypeName", Pattern: `[a-z_][A-Za-z0-9_]*`},
		{Name: "ConstructorName", Pattern: `[A-Z][A-Za-z0-9_]*`},
		{Name: "Punct", Pattern: `[=|(),?*]`},
	})),
	participle.Elide("Comment", "Space"),
	participle.UseLookahead(2), // the word "attributes" may also begin the next rule
)

// MustParse is Parse for a grammar that is part of the program.
func MustParse(text string) *Grammar {
	g, err := Parse(text)
	if err != nil {
		panic("asdl: " + err.Error())
	}
	return g
}

// Parse reads a grammar. Its errors are of the form "line:column: message".
func Parse(text string) (*Grammar, error) {
	f, err := parser.ParseString("", text)
	if err != nil {
		return nil, err
	}
	b := builder{
		Grammar: &Grammar{Text: text, types: map[string]*Type{}, constructors: map[string]*Constructor{}},
		defined: map[string]lexer.Position{},
	}
	// In this order: fields name types, alternatives name types that rules define, and what a
	// type expands to is known only after both.
	for _, step := range []func([]*rule) error{b.types, b.constructors, b.alternatives, b.expand, b.finite} {
		if err := step(f.Rules); err != nil {
			return nil, err
		}
	}
	return b.Grammar, nil
}

type builder struct {
	*Grammar
	defined map[string]lexer.Position // types and constructors; their names cannot clash
}

func (b *builder) define(kind, name string, pos lexer.Position) error {
	if first, ok := b.defined[name]; ok {
		return participle.Errorf(pos, "duplicate %s %s (first defined at %d:%d)", kind, name, first.Line, first.Column)
	}
	b.defined[name] = pos
	return nil
}

func (b *builder) types(rules []*rule) error {
	if len(rules) == 0 {
		return participle.Errorf(lexer.Position{Line: 1, Column: 1}, "no rule (expected one of the form \"type = Constructor(…) | …\")")
	}
	for _, r := range rules {
		if err := b.define("type", r.Name, r.Pos); err != nil {
			return err
		}
		b.addType(r.Name)
	}
	b.Root = b.Types[0]
	return nil
}

func (b *builder) addType(name string) *Type {
	t := &Type{ID: len(b.Types), Name: name}
	b.Types = append(b.Types, t)
	b.Grammar.types[name] = t
	return t
}

func (b *builder) constructors(rules []*rule) error {
	for _, r := range rules {
		t := b.Type(r.Name)
		for _, a := range r.Attributes {
			t.Attributes = append(t.Attributes, Attribute{a.Type, a.cardinality(), a.Name})
		}
		if r.Product != nil {
			if err := b.addConstructor(r.Name, t, r.Product); err != nil {
				return err
			}
		}
		for _, p := range r.Alternatives {
			if !isConstructor(p.Name) {
				if p.Parens {
					return participle.Errorf(p.Pos, "constructor %s must start with a capital letter", p.Name)
				}
				continue
			}
			if err := b.define("constructor", p.Name, p.Pos); err != nil {
				return err
			}
			if err := b.addConstructor(p.Name, t, p.Fields); err != nil {
				return err
			}
		}
	}
	return nil
}

func isConstructor(name string) bool { return unicode.IsUpper(rune(name[0])) }

func (b *builder) addConstructor(name string, t *Type, fields []*field) error {
	c := &Constructor{ID: len(b.Constructors), Name: name, Type: t}
	b.Constructors = append(b.Constructors, c)
	b.Grammar.constructors[name] = c
	for _, f := range fields {
		if slices.ContainsFunc(c.Fields, func(g *Field) bool { return g.Name == f.Name }) {
			return participle.Errorf(f.Pos, "duplicate field %s of %s", f.Name, name)
		}
		of := b.Type(f.Type)
		if of == nil {
			of = b.addType(f.Type)
			of.Primitive = true
		}
		field := &Field{
			ID: len(b.Fields), Name: f.Name, Type: of, Cardinality: f.cardinality(),
			Constructor: c, Index: len(c.Fields),
		}
		b.Fields = append(b.Fields, field)
		c.Fields = append(c.Fields, field)
	}
	return nil
}

func (b *builder) alternatives(rules []*rule) error {
	for _, r := range rules {
		t := b.Type(r.Name)
		if r.Product != nil {
			t.alternatives = []alternative{{constructor: b.Constructor(r.Name)}}
		}
		for _, p := range r.Alternatives {
			if isConstructor(p.Name) {
				t.alternatives = append(t.alternatives, alternative{constructor: b.Constructor(p.Name)})
				continue
			}
			a := alternative{typ: b.Type(p.Name)}
			switch {
			case a.typ == nil:
				return participle.Errorf(p.Pos, "undefined type %s as an alternative of %s", p.Name, r.Name)
			case a.typ.Primitive:
				return participle.Errorf(p.Pos, "primitive type %s as an alternative of %s (wrap it in a constructor)", p.Name, r.Name)
			case slices.Contains(t.alternatives, a):
				return participle.Errorf(p.Pos, "duplicate alternative %s of %s", p.Name, r.Name)
			}
			t.alternatives = append(t.alternatives, a)
		}
	}
	return nil
}

// expand collects what may fill each type through alternatives that are types.
func (b *builder) expand([]*rule) error {
	for _, t := range b.Types {
		seen := map[*Type]bool{}
		var visit func(*Type)
		visit = func(u *Type) {
			if seen[u] {
				return
			}
			seen[u] = true
			for _, a := range u.alternatives {
				if a.typ != nil {
					visit(a.typ)
				} else {
					t.Constructors = append(t.Constructors, a.constructor)
				}
			}
		}
		visit(t)
		slices.SortFunc(t.Constructors, func(c, d *Constructor) int { return c.ID - d.ID })
	}
	return nil
}

// finite makes sure that every type has a finite value.
func (b *builder) finite(rules []*rule) error {
	finite := make([]bool, len(b.Types))
	for changed := true; changed; {
		changed = false
		for i, t := range b.Types {
			if finite[i] {
				continue
			}
			finite[i] = t.Primitive || slices.ContainsFunc(t.Constructors, func(c *Constructor) bool {
				return !slices.ContainsFunc(c.Fields, func(f *Field) bool {
					return f.Cardinality == Single && !finite[f.Type.ID]
				})
			})
			changed = changed || finite[i]
		}
	}
	for i, r := range rules {
		if !finite[i] {
			return participle.Errorf(r.Pos, "type %s has no finite value (every alternative leads to itself again)", r.Name)
		}
	}
	return nil
}
