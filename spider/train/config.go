// Package train trains the parser on Spider: it turns examples into actions, learns them,
// measures on held-out training databases, and keeps checkpoints that a killed run goes
// on from.
//
// Source of the defaults: TaBERT, appendix "Supervised Parsing on Spider", Configuration.
package train

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"

	"github.com/tabert-workbench/tabert-workbench/parser"
)

// Config is a training run. The defaults are the paper's.
type Config struct {
	Seed  uint64 `json:"seed"`
	Batch int    `json:"batch"` // examples an update
	Steps int    `json:"steps"` // updates
	// EncoderRate falls linearly to 0 at the last step; Rate, of all other parameters, is
	// constant, or falls in the same way with RateDecay.
	EncoderRate float64 `json:"encoder_rate"`
	Rate        float64 `json:"rate"`
	RateDecay   bool    `json:"rate_decay"`
	WeightDecay float64 `json:"weight_decay"`
	Clip        float64 `json:"clip"` // largest norm of all gradients; 0: no limit
	// FreezeSteps is how many of the first updates leave the encoder alone.
	FreezeSteps int `json:"freeze_steps"`
	// FrozenLayers is how many of the encoder's lowest layers, with its embeddings, are
	// never trained; −1: all is trained.
	FrozenLayers int `json:"frozen_layers"`
	// KeepStates keeps what the frozen layers say of an example, in memory as float16, so
	// that they run over it only once.
	KeepStates bool `json:"keep_states"`
	// TokenBudget bounds what an example shows of its database: the tables of its gold query,
	// then others at random up to so many tokens. 0: all tables.
	TokenBudget int `json:"token_budget"`
	// PassTokens bounds one forward and backward pass; a batch with more is split, and its
	// gradients are summed.
	PassTokens int `json:"pass_tokens"`
	// OthersShare is how much of train_others.json each epoch sees: two thirds of it are the
	// two databases of GeoQuery and Scholar.
	OthersShare float64 `json:"others_share"`
	// HeldOut training databases choose the best weights; they are measured on every
	// EvaluateEvery steps, on at most EvaluateLimit of their questions.
	HeldOut       int `json:"held_out"`
	EvaluateEvery int `json:"evaluate_every"`
	EvaluateLimit int `json:"evaluate_limit"`
	// CheckpointEvery is in steps, CheckpointMinutes in minutes; whichever comes first.
	CheckpointEvery   int     `json:"checkpoint_every"`
	CheckpointMinutes float64 `json:"checkpoint_minutes"`
	// Tokens bounds the vocabulary of generated words.
	Tokens int `json:"tokens"`
	// Model is the parser to train. Its encoder's sizes come from the initial weights.
	Model parser.Config `json:"model"`
}

// DefaultConfig is the paper's configuration.
func DefaultConfig() Config {
	return Config{Seed: 1, Batch: 30, Steps: 25000, EncoderRate: 3e-5, Rate: 1e-3, Clip: 5, FreezeSteps: 1000, FrozenLayers: -1,
		PassTokens: 6000, OthersShare: 1, HeldOut: 10, EvaluateEvery: 1000, EvaluateLimit: 300, CheckpointEvery: 1000,
		CheckpointMinutes: 5, Tokens: 100, Model: parser.DefaultConfig()}
}

// ReadConfig reads a file over the defaults. Unknown names are an error.
func ReadConfig(path string) (Config, error) {
	c := DefaultConfig()
	data, err := os.ReadFile(path)
	if err != nil {
		return c, err
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&c); err != nil {
		return c, fmt.Errorf("%s: %w", path, err)
	}
	if d.More() {
		return c, fmt.Errorf("%s: one JSON object expected, there is more behind it", path)
	}
	if err := c.Validate(); err != nil {
		return c, fmt.Errorf("%s: %w", path, err)
	}
	return c, nil
}

// WriteConfig writes a configuration as ReadConfig reads it.
func WriteConfig(w io.Writer, c Config) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(c)
}

// Validate checks the numbers.
func (c Config) Validate() error {
	for _, n := range []struct {
		name  string
		value int
	}{{"batch", c.Batch}, {"steps", c.Steps}, {"pass_tokens", c.PassTokens}, {"tokens", c.Tokens}} {
		if n.value <= 0 {
			return fmt.Errorf("%s (%d) must be positive", n.name, n.value)
		}
	}
	for _, n := range []struct {
		name  string
		value int
	}{{"freeze_steps", c.FreezeSteps}, {"token_budget", c.TokenBudget}, {"held_out", c.HeldOut}, {"evaluate_every", c.EvaluateEvery},
		{"evaluate_limit", c.EvaluateLimit}, {"checkpoint_every", c.CheckpointEvery}, {"frozen_layers", c.FrozenLayers + 1}} {
		if n.value < 0 {
			return fmt.Errorf("%s must not be below %d", n.name, map[bool]int{true: -1}[n.name == "frozen_layers"])
		}
	}
	if c.OthersShare < 0 || c.OthersShare > 1 {
		return fmt.Errorf("others_share (%g) must be in [0, 1]", c.OthersShare)
	}
	if c.Rate <= 0 || c.EncoderRate < 0 || c.WeightDecay < 0 || c.Clip < 0 || c.CheckpointMinutes < 0 {
		return fmt.Errorf("rate must be positive, and encoder_rate, weight_decay, clip and checkpoint_minutes not negative")
	}
	if c.KeepStates && c.FrozenLayers < 0 {
		return fmt.Errorf("keep_states needs frozen_layers of 0 or more: what changes cannot be kept")
	}
	return nil
}
