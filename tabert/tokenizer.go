package tabert

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"

	"github.com/sugarme/tokenizer/model"
	"github.com/sugarme/tokenizer/model/wordpiece"
)

// The special tokens of BERT. A word of the text that is exactly one of them stays that token.
const (
	Unknown   = "[UNK]"
	Separator = "[SEP]"
	Padding   = "[PAD]"
	Class     = "[CLS]"
	Mask      = "[MASK]"
)

// Token is a word piece with the bytes of the original text that it stands for.
type Token struct {
	Text       string
	ID         int
	Start, End int
}

// Tokenizer is BERT's word piece tokenizer of 2018/19. Cleaning, lower-casing and splitting are ours, since they keep byte
// offsets and agree with the reference on final sigma, İ, Hangul and special tokens; the pieces of a word
// come from sugarme/tokenizer. It can be used by many goroutines at once.
type Tokenizer struct {
	model     wordpiece.WordPiece
	vocab     map[string]int
	tokens    []string
	lowercase bool

	mu    sync.RWMutex
	words map[string][]piece // pieces of words seen
}

// piece is a word piece and the characters of its word that it covers.
type piece struct {
	text       string
	id         int
	start, end int
}

// maxWord is the longest word, in characters, that is split into pieces; longer ones are unknown.
const maxWord = 100

// maxMemo bounds the words whose pieces are remembered.
const maxMemo = 1 << 17

// LoadTokenizer reads a vocab.txt: a token a line, its number the id.
func LoadTokenizer(path string, lowercase bool) (*Tokenizer, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("vocabulary: %w", err)
	}
	defer f.Close()
	tok, err := ReadTokenizer(f, lowercase)
	if err != nil {
		return nil, fmt.Errorf("vocabulary %s: %w", path, err)
	}
	return tok, nil
}

// ReadTokenizer reads what LoadTokenizer does from r.
func ReadTokenizer(r io.Reader, lowercase bool) (*Tokenizer, error) {
	var tokens []string
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		tokens = append(tokens, strings.TrimRight(lines.Text(), "\r"))
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("line %d: %w", len(tokens)+1, err)
	}
	return NewTokenizer(tokens, lowercase)
}

// NewTokenizer makes a tokenizer over tokens, in the order of their ids.
func NewTokenizer(tokens []string, lowercase bool) (*Tokenizer, error) {
	vocab := make(model.Vocab, len(tokens))
	for id, token := range tokens {
		vocab[token] = id
	}
	for _, special := range []string{Unknown, Separator, Padding, Class} {
		if _, ok := vocab[special]; !ok {
			return nil, fmt.Errorf("no %s among its %d tokens: this is no BERT vocabulary", special, len(tokens))
		}
	}
	builder := wordpiece.NewWordPieceBuilder()
	wp := builder.Vocab(&vocab).UnkToken(Unknown).MaxInputCharsPerWord(maxWord).Build()
	return &Tokenizer{model: wp, vocab: vocab, tokens: tokens, lowercase: lowercase, words: map[string][]piece{}}, nil
}

// Size is the number of tokens in the vocabulary.
func (t *Tokenizer) Size() int { return len(t.tokens) }

// ID is the id of a token, if the vocabulary has it.
func (t *Tokenizer) ID(token string) (int, bool) {
	id, ok := t.vocab[token]
	return id, ok
}

// Vocabulary lists all tokens in the order of their ids. The slice is not to be changed.
func (t *Tokenizer) Vocabulary() []string { return t.tokens }

// Tokenize splits text into word pieces.
func (t *Tokenizer) Tokenize(text string) []Token { return t.First(text, -1) }

// First gives the first n tokens of text, all if n is negative, and reads no more of text than it needs.
func (t *Tokenizer) First(text string, n int) []Token {
	var out []Token
	full := func() bool { return n >= 0 && len(out) >= n }
	if full() {
		return nil
	}
	splitWords(text, func(word []char) bool {
		if name, ok := special(word); ok {
			out = t.appendWord(out, name, word)
			return !full()
		}
		if t.lowercase {
			word = fold(word)
		}
		for start := 0; start < len(word) && !full(); {
			end := start + 1
			if !isPunctuation(word[start].r) {
				for end < len(word) && !isPunctuation(word[end].r) {
					end++
				}
			}
			out = t.appendWord(out, characters(word[start:end]), word[start:end])
			start = end
		}
		return !full()
	})
	if full() {
		out = out[:n]
	}
	return out
}

// special tells whether a word, as written, is a special token.
func special(word []char) (string, bool) {
	if word[0].r != '[' || len(word) < len(Unknown) || len(word) > len(Mask) {
		return "", false
	}
	switch s := characters(word); s {
	case Unknown, Separator, Padding, Class, Mask:
		return s, true
	}
	return "", false
}

func characters(word []char) string {
	var b strings.Builder
	b.Grow(len(word))
	for _, c := range word {
		b.WriteRune(c.r)
	}
	return b.String()
}

func (t *Tokenizer) appendWord(out []Token, text string, chars []char) []Token {
	for _, p := range t.pieces(text, len(chars)) {
		out = append(out, Token{p.text, p.id, chars[p.start].start, chars[p.end-1].end})
	}
	return out
}

// pieces splits a normalised word of n characters.
func (t *Tokenizer) pieces(word string, n int) []piece {
	unknown := []piece{{Unknown, t.vocab[Unknown], 0, n}}
	if n > maxWord {
		return unknown
	}
	if id, ok := t.vocab[word]; ok {
		return []piece{{word, id, 0, n}}
	}
	t.mu.RLock()
	found, ok := t.words[word]
	t.mu.RUnlock()
	if ok {
		return found
	}
	found = unknown
	if tokens, err := t.model.Tokenize(word); err == nil && len(tokens) > 0 {
		found = make([]piece, len(tokens))
		for i, p := range tokens {
			found[i] = piece{p.Value, p.Id, p.Offsets[0], p.Offsets[1]}
		}
	}
	t.mu.Lock()
	if len(t.words) >= maxMemo {
		clear(t.words)
	}
	t.words[word] = found
	t.mu.Unlock()
	return found
}
