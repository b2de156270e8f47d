package tabert

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Template is the linearisation of a cell, token by token: the slots "column", "type" and "value", all else literal.
type Template []string

// The slots of a template.
const (
	nameSlot  = "column"
	typeSlot  = "type"
	valueSlot = "value"
)

// The linearisations that the paper compares.
const (
	ColumnTemplate          = "column"
	ColumnTypeTemplate      = "column|type"
	ColumnTypeValueTemplate = "column|type|value" // the default
	ColumnIsValueTemplate   = "column is value"
)

// ParseTemplate reads a template: split at spaces if it contains one, else as BERT splits words.
func ParseTemplate(text string) (Template, error) {
	var t Template
	if strings.Contains(text, " ") {
		t = strings.Fields(text)
	} else {
		splitWords(text, func(word []char) bool {
			word = fold(word)
			for start := 0; start < len(word); {
				end := start + 1
				for !isPunctuation(word[start].r) && end < len(word) && !isPunctuation(word[end].r) {
					end++
				}
				t = append(t, characters(word[start:end]))
				start = end
			}
			return true
		})
	}
	if len(t) == 0 {
		return nil, fmt.Errorf("cell template %q has no tokens", text)
	}
	return t, nil
}

// Shows tells whether cells of the template show their value: without it, a table needs no snapshot.
func (t Template) Shows() bool { return slices.Contains(t, valueSlot) }

// String is the template as ParseTemplate reads it.
func (t Template) String() string { return strings.Join(t, " ") }

// UnmarshalJSON reads a template written as text or as a list of tokens.
func (t *Template) UnmarshalJSON(data []byte) error {
	var tokens []string
	if json.Unmarshal(data, &tokens) == nil {
		*t = tokens
		return nil
	}
	var text string
	if err := json.Unmarshal(data, &text); err != nil {
		return fmt.Errorf("cell template: neither text nor a list of tokens: %s", data)
	}
	parsed, err := ParseTemplate(text)
	*t = parsed
	return err
}
