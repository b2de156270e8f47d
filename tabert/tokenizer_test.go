package tabert_test

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/text/unicode/norm"

	"github.com/tabert-workbench/tabert-workbench/tabert"
)

// small is a tokenizer over a small vocabulary in which every ASCII letter and digit is a piece.
func small(t testing.TB, more ...string) *tabert.Tokenizer {
	t.Helper()
	tokens := []string{"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "text", "real", "column", "is", "none"}
	for r := rune('!'); r < 0x7F; r++ {
		if !unicode.IsUpper(r) {
			tokens = append(tokens, string(r), "##"+string(r))
		}
	}
	tok, err := tabert.NewTokenizer(append(tokens, more...), true)
	if err != nil {
		t.Fatal(err)
	}
	return tok
}

func TestTokenizeOffsets(t *testing.T) {
	tok := small(t, "cafe", "ab", "##cd", "οδος", "ᄒ", "##ᅡ", "##ᆫ", "京", "ss", "i", "##i")
	tests := []struct {
		text, reason string
		want         []string // token@the bytes of text it stands for
	}{
		{"abcd ab", "pieces", []string{"ab@ab", "##cd@cd", "ab@ab"}},
		{"CAFÉ", "upper case and accent", []string{"cafe@CAFÉ"}},
		{"cafe\u0301 ab", "a mark of its own", []string{"cafe@cafe\u0301", "ab@ab"}},
		{"ΟΔΟΣ", "final sigma", []string{"οδος@ΟΔΟΣ"}},
		{"한", "Hangul is decomposed, all pieces stand for the syllable", []string{"ᄒ@한", "##ᅡ@한", "##ᆫ@한"}},
		{"ab京ab", "an ideograph is a word", []string{"ab@ab", "京@京", "ab@ab"}},
		{"İi", "a dotted capital I", []string{"i@İ", "##i@i"}},
		{"a\u0000b\u200dcd", "control and format characters are dropped", []string{"ab@a\u0000b", "##cd@cd"}},
		{"ab\u2028ab\u00a0ab", "odd spaces", []string{"ab@ab", "ab@ab", "ab@ab"}},
		{"[SEP] [sep]", "special tokens stand alone", []string{"[SEP]@[SEP]", "[@[", "s@s", "##e@e", "##p@p", "]@]"}},
		{"$ab!", "punctuation", []string{"$@$", "ab@ab", "!@!"}},
		{"日", "unknown", []string{"[UNK]@日"}},
		{"\u0301", "nothing but a mark", nil},
		{"\xff\xfe", "no UTF-8", nil},
		{strings.Repeat("a", 101), "too long a word", []string{"[UNK]@" + strings.Repeat("a", 101)}},
	}
	for _, tt := range tests {
		var got []string
		for _, token := range tok.Tokenize(tt.text) {
			got = append(got, token.Text+"@"+tt.text[token.Start:token.End])
			if id, ok := tok.ID(token.Text); !ok || id != token.ID {
				t.Errorf("%s: %q has id %d, in the vocabulary %d", tt.reason, token.Text, token.ID, id)
			}
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s: -want +got\n%s", tt.reason, diff)
		}
	}
}

func TestTokenizerErrors(t *testing.T) {
	const want = "no [UNK] among its 2 tokens: this is no BERT vocabulary"
	if _, err := tabert.ReadTokenizer(strings.NewReader("a\nb\n"), true); err == nil || err.Error() != want {
		t.Errorf("got %v, expected %s", err, want)
	}
	if _, err := tabert.LoadTokenizer("missing/vocab.txt", true); err == nil || !strings.Contains(err.Error(), "missing/vocab.txt") {
		t.Errorf("got %v, expected the path", err)
	}
}

func TestCellOf(t *testing.T) {
	long := strings.Repeat("é", tabert.MaxCellBytes)
	tests := []struct {
		value any
		want  tabert.Cell
	}{
		{nil, tabert.Cell{}},
		{int64(-3), tabert.TextCell("-3")},
		{2.0, tabert.TextCell("2.0")},
		{470.25, tabert.TextCell("470.25")},
		{1e16, tabert.TextCell("1e+16")},
		{123456789012345.0, tabert.TextCell("123456789012345.0")},
		{0.00001, tabert.TextCell("1e-05")},
		{"", tabert.TextCell("")},
		{[]byte("ab"), tabert.TextCell("ab")},
		{true, tabert.TextCell("True")},
		{long, tabert.TextCell(long[:tabert.MaxCellBytes])},
		{"a" + long, tabert.TextCell(("a" + long)[:tabert.MaxCellBytes-1])},
	}
	for _, tt := range tests {
		if got := tabert.CellOf(tt.value); got != tt.want {
			t.Errorf("%v: got %q, expected %q", tt.value, got.Text, tt.want.Text)
		}
	}
}

func FuzzTokenize(f *testing.F) {
	for _, s := range []string{"How many?", "İİ ΣΣ", "한국어 [SEP] 北京", "\xff\u0301\u2028", "[MASK]", "e\u0301\u0323", "\u0344a"} {
		f.Add(s)
	}
	tok := small(f)
	f.Fuzz(func(t *testing.T, text string) {
		tokens := tok.Tokenize(text)
		for i, token := range tokens {
			if token.Start < 0 || token.Start >= token.End || token.End > len(text) || i > 0 && token.Start < tokens[i-1].Start {
				t.Fatalf("%q: token %q has offsets [%d, %d)", text, token.Text, token.Start, token.End)
			}
			if id, ok := tok.ID(token.Text); !ok || id != token.ID {
				t.Fatalf("%q: token %q has id %d", text, token.Text, token.ID)
			}
		}
		n := len(tokens) / 2
		if diff := cmp.Diff(append([]tabert.Token{}, tokens[:n]...), append([]tabert.Token{}, tok.First(text, n)...)); diff != "" {
			t.Fatalf("%q: the first %d tokens: -all +first\n%s", text, n, diff)
		}
		// Decomposed text has the same tokens: what is dropped and split does not depend on how text is composed.
		if utf8.ValidString(text) && norm.NFC.IsNormalString(text) {
			again := tok.Tokenize(norm.NFD.String(text))
			if diff := cmp.Diff(texts(tokens), texts(again)); diff != "" {
				t.Fatalf("%q decomposed: -composed +decomposed\n%s", text, diff)
			}
		}
	})
}
