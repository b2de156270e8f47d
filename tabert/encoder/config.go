// Package encoder computes TaBERT's vectors (Yin et al., ACL 2020, §3.1, K = 1): sequences of package tabert go through
// BERT (Devlin et al., 2019), and its output is pooled into one vector for each table, utterance token
// and column. Weights are those of HuggingFace's BertModel, by the same names.
//
// The axes: B sequences of a group, S their tokens, H hidden size, A heads, D = H/A, N tables, U
// utterance tokens without [CLS], C columns.
package encoder

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
)

// Config is the size of a BERT, as in a HuggingFace config.json or a TaBERT tb_config.json.
type Config struct {
	VocabSize        int     `json:"vocab_size"`
	HiddenSize       int     `json:"hidden_size"`
	HiddenLayers     int     `json:"num_hidden_layers"`
	Heads            int     `json:"num_attention_heads"`
	IntermediateSize int     `json:"intermediate_size"`
	MaxPositions     int     `json:"max_position_embeddings"`
	TypeVocabSize    int     `json:"type_vocab_size"`
	LayerNormEps     float64 `json:"layer_norm_eps"`
	Activation       string  `json:"hidden_act"`
	HiddenDropout    float64 `json:"hidden_dropout_prob"`
	AttentionDropout float64 `json:"attention_probs_dropout_prob"`
}

// LoadConfig reads a configuration file.
func LoadConfig(path string) (Config, error) {
	f, err := os.Open(path)
	if err != nil {
		return Config{}, fmt.Errorf("BERT configuration: %w", err)
	}
	defer f.Close()
	c, err := ReadConfig(f)
	if err != nil {
		return c, fmt.Errorf("%s: %w", path, err)
	}
	return c, nil
}

// ReadConfig reads a configuration. Fields that the encoder has no use for are passed over, since such
// files describe more than the encoder.
func ReadConfig(r io.Reader) (Config, error) {
	c := Config{MaxPositions: 512, TypeVocabSize: 2, LayerNormEps: 1e-12, Activation: "gelu"} // BertConfig's defaults
	if err := json.NewDecoder(r).Decode(&c); err != nil {
		return c, fmt.Errorf("BERT configuration: %w", err)
	}
	return c, c.Check()
}

// Check tells what is wrong with a configuration.
func (c Config) Check() error {
	for _, f := range []struct {
		name  string
		value int
	}{
		{"vocab_size", c.VocabSize}, {"hidden_size", c.HiddenSize}, {"num_hidden_layers", c.HiddenLayers},
		{"num_attention_heads", c.Heads}, {"intermediate_size", c.IntermediateSize},
		{"max_position_embeddings", c.MaxPositions}, {"type_vocab_size", c.TypeVocabSize},
	} {
		if f.value < 1 {
			return fmt.Errorf("BERT configuration: %s is %d, expected at least 1", f.name, f.value)
		}
	}
	switch {
	case c.HiddenSize%c.Heads != 0:
		return fmt.Errorf("BERT configuration: hidden_size (%d) must be divisible by num_attention_heads (%d)", c.HiddenSize, c.Heads)
	case c.TypeVocabSize < 2:
		return fmt.Errorf("BERT configuration: type_vocab_size is %d, expected at least 2", c.TypeVocabSize)
	case c.Activation != "gelu":
		return fmt.Errorf("BERT configuration: hidden_act is %q, expected \"gelu\"", c.Activation)
	case !(c.LayerNormEps > 0):
		return fmt.Errorf("BERT configuration: layer_norm_eps is %g, expected a positive number", c.LayerNormEps)
	case !(c.HiddenDropout >= 0 && c.HiddenDropout < 1) || !(c.AttentionDropout >= 0 && c.AttentionDropout < 1):
		return fmt.Errorf("BERT configuration: dropout of %g and %g, expected 0 or more and less than 1", c.HiddenDropout, c.AttentionDropout)
	}
	return nil
}

// Shapes are the names and shapes of all parameters.
func (c Config) Shapes() map[string][]int64 {
	h, f := int64(c.HiddenSize), int64(c.IntermediateSize)
	shapes := map[string][]int64{
		"embeddings.word_embeddings.weight":       {int64(c.VocabSize), h},
		"embeddings.position_embeddings.weight":   {int64(c.MaxPositions), h},
		"embeddings.token_type_embeddings.weight": {int64(c.TypeVocabSize), h},
	}
	norm := func(name string) {
		shapes[name+".weight"], shapes[name+".bias"] = []int64{h}, []int64{h}
	}
	linear := func(name string, out, in int64) {
		shapes[name+".weight"], shapes[name+".bias"] = []int64{out, in}, []int64{out}
	}
	norm("embeddings.LayerNorm")
	for i := range c.HiddenLayers {
		layer := layerName(i)
		linear(layer+"attention.self.query", h, h)
		linear(layer+"attention.self.key", h, h)
		linear(layer+"attention.self.value", h, h)
		linear(layer+"attention.output.dense", h, h)
		norm(layer + "attention.output.LayerNorm")
		linear(layer+"intermediate.dense", f, h)
		linear(layer+"output.dense", h, f)
		norm(layer + "output.LayerNorm")
	}
	return shapes
}

func layerName(i int) string { return fmt.Sprintf("encoder.layer.%d.", i) }
