package encoder

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/sugarme/gotch/ts"

	"github.com/tabert-workbench/tabert-workbench/internal/torch"
)

// Model is BERT over parameters that belong to someone else: it looks each up by name when it
// computes, under a prefix.
type Model struct {
	Config
	params *torch.Params
	prefix string
}

// New makes a model over the parameters whose names begin with prefix, and checks that they are
// exactly those that the configuration asks for.
func New(p *torch.Params, prefix string, c Config) (*Model, error) {
	if err := c.Check(); err != nil {
		return nil, err
	}
	shapes := c.Shapes()
	for _, name := range slices.Sorted(maps.Keys(shapes)) {
		if _, err := p.Need(prefix+name, shapes[name]...); err != nil {
			return nil, fmt.Errorf("BERT: %w", err)
		}
	}
	for _, name := range p.Names() {
		if rest, ok := strings.CutPrefix(name, prefix); ok && prefix != "" && shapes[rest] == nil {
			return nil, fmt.Errorf("BERT: parameter %q is none of a BERT with %d layers", name, c.HiddenLayers)
		}
	}
	return &Model{Config: c, params: p, prefix: prefix}, nil
}

// Init puts random parameters under prefix, distributed as BERT's are before pretraining.
func Init(p *torch.Params, prefix string, c Config, r *rand.Rand) {
	shapes := c.Shapes()
	for _, name := range slices.Sorted(maps.Keys(shapes)) {
		switch {
		case strings.HasSuffix(name, "LayerNorm.weight"):
			p.Constant(prefix+name, 1, shapes[name]...)
		case strings.HasSuffix(name, ".bias"):
			p.Constant(prefix+name, 0, shapes[name]...)
		default:
			p.Normal(r, prefix+name, 0.02, shapes[name]...)
		}
	}
}

// Dropout is how much is dropped in training. The zero value is evaluation.
type Dropout struct{ Hidden, Attention float64 }

// LayerOf is the number of the layer that a parameter of the model belongs to, −1 for the embeddings.
func (m *Model) LayerOf(name string) (layer int, ok bool) {
	name, ok = strings.CutPrefix(name, m.prefix)
	if !ok {
		return 0, false
	}
	if strings.HasPrefix(name, "embeddings.") {
		return -1, true
	}
	n, err := fmt.Sscanf(name, "encoder.layer.%d.", &layer)
	return layer, n == 1 && err == nil
}

func (m *Model) get(name string) *ts.Tensor { return m.params.Get(m.prefix + name) }

// Embed is the output of the embedding layer [B S H] for ids and segments [B S].
func (m *Model) Embed(ids, segments *ts.Tensor, d Dropout) *ts.Tensor {
	var s torch.Scope
	words := s.T(torch.Embedding(m.get("embeddings.word_embeddings.weight"), ids))
	types := s.T(torch.Embedding(m.get("embeddings.token_type_embeddings.weight"), segments))
	positions := s.T(torch.Narrow(m.get("embeddings.position_embeddings.weight"), 0, ids.MustSize()[1])) // S H
	x := s.T(torch.Add(s.T(torch.Add(words, types)), positions))
	x = dropout(&s, m.norm(&s, "embeddings.LayerNorm", x), d.Hidden)
	s.Free(x)
	return x
}

// Layers is the output [B S H] of layers from, …, to−1 for their input x, which stays the caller's. The mask
// [B 1 1 S] is added to the attention scores: 0 where there is a token, a large negative number at padding.
func (m *Model) Layers(x, mask *ts.Tensor, from, to int, d Dropout) *ts.Tensor {
	if from < 0 || to > m.HiddenLayers || from > to {
		panic(fmt.Sprintf("layers %d to %d of %d", from, to, m.HiddenLayers))
	}
	if from == to {
		return x.MustShallowClone()
	}
	out := m.layer(from, x, mask, d)
	for i := from + 1; i < to; i++ {
		next := m.layer(i, out, mask, d)
		out.MustDrop()
		out = next
	}
	return out
}

func (m *Model) layer(i int, x, mask *ts.Tensor, d Dropout) *ts.Tensor {
	var s torch.Scope
	size := x.MustSize()
	b, length, h := size[0], size[1], size[2]
	a := int64(m.Heads)
	name := layerName(i)

	heads := func(which string) *ts.Tensor { // B A S D
		y := m.linear(&s, name+"attention.self."+which, x)
		return s.T(torch.Transpose(s.T(torch.Reshape(y, b, length, a, h/a)), 1, 2))
	}
	y := s.T(torch.Attention(heads("query"), heads("key"), heads("value"), mask, d.Attention))
	y = s.T(torch.Reshape(s.T(torch.Transpose(y, 1, 2)), b, length, h))
	y = dropout(&s, m.linear(&s, name+"attention.output.dense", y), d.Hidden)
	y = m.norm(&s, name+"attention.output.LayerNorm", s.T(torch.Add(y, x)))

	z := s.T(torch.Gelu(m.linear(&s, name+"intermediate.dense", y)))
	z = dropout(&s, m.linear(&s, name+"output.dense", z), d.Hidden)
	z = m.norm(&s, name+"output.LayerNorm", s.T(torch.Add(z, y)))
	s.Free(z)
	return z
}

func (m *Model) linear(s *torch.Scope, name string, x *ts.Tensor) *ts.Tensor {
	return s.T(torch.Linear(x, m.get(name+".weight"), m.get(name+".bias")))
}

func (m *Model) norm(s *torch.Scope, name string, x *ts.Tensor) *ts.Tensor {
	return s.T(torch.LayerNorm(x, m.get(name+".weight"), m.get(name+".bias"), m.LayerNormEps))
}

func dropout(s *torch.Scope, x *ts.Tensor, p float64) *ts.Tensor {
	if p == 0 {
		return x
	}
	return s.T(torch.Dropout(x, p))
}

// masked is what padding adds to attention scores: exp of it is 0, and sums with scores stay finite.
const masked = -math.MaxFloat32 / 4
