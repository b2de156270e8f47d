// Package decoder is the neural decoder of TranX as the paper's appendix on supervised
// parsing has it: an LSTM over actions with hierarchical attention over tables, their
// columns and the utterance, which scores the actions that a transition system allows.
// It knows vectors of tables, columns and words, and no TaBERT, no SQL.
//
// Letters for axes: B examples, S time steps, T tables of an example, E elements
// (utterance tokens and columns of all tables of an example), C columns of a table,
// W words, D size of a memory vector with its linking features, A productions.
//
// Source: TaBERT (Yin et al., 2020), appendix "Supervised Parsing on Spider"; TranX (Yin
// and Neubig, 2018).
package decoder

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/tabert-workbench/tabert-workbench/asdl"
	"github.com/tabert-workbench/tabert-workbench/tranx"
)

// Config has the decoder's sizes. The defaults are the paper's and TranX's.
type Config struct {
	State           int     `json:"state"`            // LSTM state, keys and values
	ActionEmbedding int     `json:"action_embedding"` // previous action, constructors
	FieldEmbedding  int     `json:"field_embedding"`
	TypeEmbedding   int     `json:"type_embedding"`
	LinkEmbedding   int     `json:"link_embedding"` // table_match and column_match, each
	Dropout         float64 `json:"dropout"`
	// Vocabulary are the tokens that can be generated, EndOfString among them.
	Vocabulary []string `json:"vocabulary"`
	// Integers are the numbers that can be chosen without standing in the question.
	Integers []int `json:"integers"`
}

// DefaultConfig is the paper's decoder.
func DefaultConfig() Config {
	return Config{State: 256, ActionEmbedding: 128, FieldEmbedding: 64, TypeEmbedding: 64, LinkEmbedding: 16, Dropout: 0.3}
}

// Validate checks the sizes and the vocabularies.
func (c Config) Validate() error {
	for _, size := range []struct {
		name  string
		value int
	}{{"state", c.State}, {"action_embedding", c.ActionEmbedding}, {"field_embedding", c.FieldEmbedding},
		{"type_embedding", c.TypeEmbedding}, {"link_embedding", c.LinkEmbedding}} {
		if size.value <= 0 {
			return fmt.Errorf("decoder: %s (%d) must be positive", size.name, size.value)
		}
	}
	if c.Dropout < 0 || c.Dropout >= 1 {
		return fmt.Errorf("decoder: dropout (%g) must be in [0, 1)", c.Dropout)
	}
	seen := map[string]bool{}
	for _, w := range c.Vocabulary {
		if seen[w] {
			return fmt.Errorf("decoder: vocabulary has %q twice", w)
		}
		seen[w] = true
	}
	if !seen[tranx.EndOfString] {
		return fmt.Errorf("decoder: vocabulary lacks %q", tranx.EndOfString)
	}
	if len(c.Integers) == 0 {
		return fmt.Errorf("decoder: integers must have at least one number")
	}
	return nil
}

// Memory is what the encoder says of one example. Numbers in it are rows of the batch's
// matrix of vectors.
type Memory struct {
	Tables []Entry // the paper's ⟨T_i, X_i, C_i⟩
	Words  []Word  // of the question, to be copied
}

// Entry is a table: its own vector, those of the utterance's tokens beside it, and those
// of its columns, each with its linking features.
type Entry struct {
	Index     int // the table's number in actions
	Table     Element
	Utterance []Element
	Columns   []Element
}

// Element is a vector and what it is linked to.
type Element struct {
	Row                     int
	TableMatch, ColumnMatch bool
}

// Word is a word of the question: its rows are its pieces in every table's utterance.
type Word struct {
	Text  string // as it stands there
	Space string // what stands before it
	Rows  []int
}

// token is what copying the word generates: as the first of a value without the space
// before it.
func (w Word) token(first bool) string {
	if first {
		return w.Text
	}
	return w.Space + w.Text
}

var numberWords = map[string]int{"one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8,
	"nine": 9, "ten": 10, "eleven": 11, "twelve": 12, "twenty": 20}

// Integer is the number that a word names, in digits or in English.
func Integer(word string) (int, bool) {
	if n, err := strconv.Atoi(word); err == nil && n >= 0 {
		return n, true
	}
	n, ok := numberWords[strings.ToLower(word)]
	return n, ok
}

// actions numbers what the softmax over productions ranges over, and what the decoder
// has embeddings of. The productions come first: constructors by their ids, Reduce, and
// Fill, which opens a leaf where Reduce were also possible.
type actions struct {
	reduce, fill                                  int
	start, table, column, integer, unknown, token int
	count                                         int
	tokens                                        map[string]int
}

func numberActions(g *asdl.Grammar, c Config) actions {
	n := len(g.Constructors)
	a := actions{reduce: n, fill: n + 1, start: n + 2, table: n + 3, column: n + 4, integer: n + 5, unknown: n + 6, token: n + 7,
		tokens: make(map[string]int, len(c.Vocabulary))}
	for i, w := range c.Vocabulary {
		a.tokens[w] = i
	}
	a.count = a.token + len(c.Vocabulary)
	return a
}

func (a actions) productions() int { return a.fill + 1 }
