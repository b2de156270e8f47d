package parser

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/tabert-workbench/tabert-workbench/tabert"
	"github.com/tabert-workbench/tabert-workbench/tranx"
)

func TestLink(t *testing.T) {
	for _, test := range []struct {
		question, name string
		words          string // of the question that match, in lower case
		mentioned      bool
	}{
		{"How many singers are there?", "singer", "singers", true},
		{"How many Singers are there?", "Singers", "singers", true},
		{"List the countries", "country", "countries", true},
		{"two boxes", "box", "boxes", true},
		{"the class", "class", "class", true},
		{"the bus", "buses", "bus", true},
		{"name of the students", "id of the student", "students", true},
		{"name of the cat", "id of the student", "", false},
		{"first name", "first name of pet", "first name", true},
		{"the name", "first name of singer", "", false}, // one word of three
		{"the name", "first name", "name", true},
		{"singer singer", "singer", "singer singer", true},
		{"what?", "?", "", false},
		{"of the", "of the", "", false},
		{"year 2014", "2014", "2014", true},
		{"", "singer", "", false},
		{"singer", "", "", false},
		{"有多少歌手", "歌手", "", false},
		{"歌手", "歌手", "歌手", true},
	} {
		words := tranx.Words(test.question)
		matched, mentioned := link(stems(words), stems(tranx.Words(test.name)))
		var got []string
		for i, on := range matched {
			if on {
				got = append(got, strings.ToLower(words[i].Text))
			}
		}
		if strings.Join(got, " ") != test.words || mentioned != test.mentioned {
			t.Errorf("link(%q, %q) = %q, %v, expected %q, %v", test.question, test.name, got, mentioned, test.words, test.mentioned)
		}
	}
}

func TestTokenWords(t *testing.T) {
	vocabulary := []string{tabert.Padding, tabert.Unknown, tabert.Class, tabert.Separator, tabert.Mask,
		"what", "'", "s", "sing", "##er", "1", "##5", ".", "na", "##ive", "?"}
	tok, err := tabert.NewTokenizer(vocabulary, true)
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ question, want string }{
		{"what's singer", "what:what ':' s:s sing:singer ##er:singer"},
		{"  what  15.1 ?", "what:what 1:15 ##5:15 .:. 1:1 ?:?"},
		{"naïve singer", "na:naïve ##ive:naïve sing:singer ##er:singer"},
		{"歌手 singer", "[UNK]:歌手 [UNK]:歌手 sing:singer ##er:singer"},
		{"s15", "[UNK]:s"}, // a token that covers two words belongs to the first
		{"", ""},
		{"\u200b", ""},
	} {
		words := tranx.Words(test.question)
		tokens := tok.Tokenize(test.question)
		var got []string
		for i, w := range tokenWords(tokens, words) {
			word := "-"
			if w >= 0 {
				word = words[w].Text
			}
			got = append(got, fmt.Sprintf("%s:%s", tokens[i].Text, word))
		}
		if strings.Join(got, " ") != test.want {
			t.Errorf("%q: %s, expected %s", test.question, strings.Join(got, " "), test.want)
		}
	}
}

func TestInsert(t *testing.T) {
	var list []tranx.Scored
	for _, p := range []float64{-3, -1, -2, -5, -4, -0.5, -9} {
		list = insert(list, tranx.Scored{LogProb: p}, 4)
	}
	var got []float64
	for _, c := range list {
		got = append(got, c.LogProb)
	}
	if want := []float64{-0.5, -1, -2, -3}; !slices.Equal(got, want) {
		t.Errorf("%v, expected %v", got, want)
	}
}
