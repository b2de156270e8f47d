// Package parser is a trained model in use: Open reads a model folder, Ask answers a
// question over a database. It joins the parts that know nothing of each other: TaBERT's
// sequences and encoder, the decoder over SemQL's transition system, and SQL.
package parser

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"

	"github.com/sugarme/gotch"
	"github.com/sugarme/gotch/ts"

	"github.com/tabert-workbench/tabert-workbench/asdl"
	"github.com/tabert-workbench/tabert-workbench/internal/partfile"
	"github.com/tabert-workbench/tabert-workbench/internal/safetensors"
	"github.com/tabert-workbench/tabert-workbench/internal/torch"
	"github.com/tabert-workbench/tabert-workbench/semql"
	"github.com/tabert-workbench/tabert-workbench/tabert"
	"github.com/tabert-workbench/tabert-workbench/tabert/encoder"
	"github.com/tabert-workbench/tabert-workbench/tranx"
	"github.com/tabert-workbench/tabert-workbench/tranx/decoder"
)

// FormatVersion is that of model folders.
const FormatVersion = 1

// Config is all that a model is, but for its weights, grammar and vocabulary of word
// pieces, which lie beside it.
type Config struct {
	Version       int            `json:"version"`
	Grammar       string         `json:"grammar"` // name of the SemQL grammar: figure
	Encoder       encoder.Config `json:"encoder"`
	Linearization tabert.Config  `json:"linearization"`
	// Content says whether cells are shown (the paper's content snapshot, K = 1).
	Content bool `json:"content"`
	// TableName puts the table's name before its columns, as a cell of its own. The paper
	// has no name there.
	TableName bool           `json:"table_name"`
	Decoder   decoder.Config `json:"decoder"`
	Beam      int            `json:"beam"`
	MaxSteps  int            `json:"max_steps"` // actions of a query at most
}

// DefaultConfig is the paper's parser. Encoder and vocabularies come from the weights and
// the training data.
func DefaultConfig() Config {
	return Config{Version: FormatVersion, Grammar: "figure", Linearization: tabert.DefaultConfig(), Content: true,
		Decoder: decoder.DefaultConfig(), Beam: 3, MaxSteps: 150}
}

// The names of parameters begin with what they belong to.
const (
	EncoderPrefix = "encoder."
	DecoderPrefix = "decoder."
)

// Model is the neural network and what it reads and writes with.
type Model struct {
	Config    Config
	Tokenizer *tabert.Tokenizer
	System    *tranx.System
	Params    *torch.Params
	Encoder   *encoder.Model
	Decoder   *decoder.Decoder
}

// NewSystem is the transition system of a SemQL grammar by name.
func NewSystem(name string) (*tranx.System, error) {
	g, err := semql.Grammar(name)
	if err != nil {
		return nil, err
	}
	return tranx.NewSystem(g, semql.LeafKinds())
}

// New makes a model whose encoder parameters are in params, with a random decoder.
func New(params *torch.Params, config Config, tok *tabert.Tokenizer, r *rand.Rand) (*Model, error) {
	if config.Beam < 1 || config.MaxSteps < 1 {
		return nil, fmt.Errorf("beam (%d) and max_steps (%d) must be positive", config.Beam, config.MaxSteps)
	}
	if tok.Size() != config.Encoder.VocabSize {
		return nil, fmt.Errorf("the vocabulary has %d word pieces, the encoder's vocab_size is %d", tok.Size(), config.Encoder.VocabSize)
	}
	sys, err := NewSystem(config.Grammar)
	if err != nil {
		return nil, err
	}
	m := &Model{Config: config, Tokenizer: tok, System: sys, Params: params}
	if m.Encoder, err = encoder.New(params, EncoderPrefix, config.Encoder); err != nil {
		return nil, err
	}
	if m.Decoder, err = decoder.New(params, DecoderPrefix, config.Decoder, sys.Grammar, config.Encoder.HiddenSize, r); err != nil {
		return nil, err
	}
	return m, nil
}

// The files of a model folder.
const (
	configFile  = "config.json"
	grammarFile = "grammar.asdl"
	vocabFile   = "vocab.txt"
	weightsFile = "model.safetensors"
)

// Save writes the model's files into a folder, which is made where it is not there.
func (m *Model) Save(dir string, how torch.Precision) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	config, err := json.MarshalIndent(m.Config, "", "  ")
	if err != nil {
		return err
	}
	vocab := strings.Join(m.Tokenizer.Vocabulary(), "\n") + "\n"
	for name, data := range map[string][]byte{configFile: append(config, '\n'), grammarFile: []byte(m.System.Grammar.Text), vocabFile: []byte(vocab)} {
		if err := partfile.Write(filepath.Join(dir, name), data); err != nil {
			return err
		}
	}
	return safetensors.WriteFile(filepath.Join(dir, weightsFile), m.Params.Arrays(how), map[string]string{"format": "pt"})
}

// IsModel tells whether a folder holds a trained parser, and not just a BERT.
func IsModel(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, grammarFile))
	return err == nil
}

// Load reads a model folder that Save wrote.
func Load(dir string, device gotch.Device) (m *Model, err error) {
	path := filepath.Join(dir, configFile)
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s is no model folder: there is no %s in it", dir, configFile)
	}
	if err != nil {
		return nil, err
	}
	var config Config
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&config); err != nil {
		return nil, fmt.Errorf("%s: %w (is it the folder of a parser, and of this version?)", path, err)
	}
	if config.Version != FormatVersion {
		return nil, fmt.Errorf("%s: version %d, this program reads version %d", path, config.Version, FormatVersion)
	}
	text, err := os.ReadFile(filepath.Join(dir, grammarFile))
	if err != nil {
		return nil, fmt.Errorf("grammar of the model: %w", err)
	}
	stored, err := asdl.Parse(string(text))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Join(dir, grammarFile), err)
	}
	mine, err := semql.Grammar(config.Grammar)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if stored.String() != mine.String() {
		return nil, fmt.Errorf("%s: the model was trained with another grammar than %q of this program: it has %d constructors in %d types, expected %d in %d",
			filepath.Join(dir, grammarFile), config.Grammar, len(stored.Constructors), len(stored.Types), len(mine.Constructors), len(mine.Types))
	}
	tok, err := tabert.LoadTokenizer(filepath.Join(dir, vocabFile), true)
	if err != nil {
		return nil, err
	}
	path = filepath.Join(dir, weightsFile)
	arrays, _, err := safetensors.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("weights: %w", err)
	}
	params := torch.NewParams(device)
	defer func() {
		if err != nil {
			params.Close()
		}
	}()
	bert := map[string]safetensors.Array{}
	for name, a := range arrays {
		if rest, ok := strings.CutPrefix(name, EncoderPrefix); ok {
			bert[rest] = a
		}
	}
	if bert, err = torch.Decode(bert); err == nil {
		err = encoder.LoadArrays(params, EncoderPrefix, config.Encoder, bert)
	}
	if err != nil {
		return nil, fmt.Errorf("weights %s: %w", path, err)
	}
	m, err = New(params, config, tok, rand.New(rand.NewPCG(0, 0)))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	if err = params.Load(arrays); err != nil {
		return nil, fmt.Errorf("weights %s: %w", path, err)
	}
	return m, nil
}

// Close frees the weights.
func (m *Model) Close() { m.Params.Close() }

// Batch is inputs laid out for the encoder and the decoder.
type Batch struct {
	Encoder  *encoder.Batch
	Memories []*decoder.Memory
	pool     pooling
	tables   int
	index    []int64 // of pool.into's states in the flat hidden states
}

// NewBatch lays out inputs. Free it.
func (m *Model) NewBatch(inputs []*Input) (*Batch, error) {
	b := &Batch{}
	var tables [][]tabert.Sequence
	type place struct{ table, sequence int }
	var places []place
	for _, in := range inputs {
		b.Memories = append(b.Memories, m.memory(in, len(places), &b.pool))
		for _, t := range in.Tables {
			for k := range t.Sequences {
				places = append(places, place{len(tables), k})
			}
			tables = append(tables, t.Sequences)
		}
	}
	var err error
	if b.Encoder, err = m.Encoder.NewBatch(tables); err != nil {
		return nil, err
	}
	b.index = make([]int64, len(b.pool.into))
	for i, s := range b.pool.sequence {
		b.index[i] = int64(b.Encoder.Row(places[s].table, places[s].sequence) + b.pool.position[i])
	}
	return b, nil
}

// Free frees the batch's tensors.
func (b *Batch) Free() { b.Encoder.Free() }

// Vectors pools flat hidden states [positions H] into the memory vectors [R H] that the
// batch's memories refer to.
func (m *Model) Vectors(b *Batch, flat *ts.Tensor) *ts.Tensor {
	var s torch.Scope
	defer s.Free()
	n := int64(len(b.index))
	device := m.Params.Device
	picked := s.T(torch.Rows(flat, s.T(torch.Ints(device, b.index, n))))
	weighted := s.T(torch.Mul(picked, s.T(torch.Floats(device, b.pool.weight, n, 1))))
	zeros := s.T(torch.Zeros(device, int64(b.pool.vectors), int64(m.Config.Encoder.HiddenSize)))
	return torch.AddRows(zeros, s.T(torch.Ints(device, b.pool.into, n)), weighted)
}
