package tabert

import (
	"encoding/json"
	"fmt"
	"io"
)

// MaxSequence is the number of positions that a sequence may not exceed.
const MaxSequence = 512

// Config says how rows are linearised. DefaultConfig gives the paper's K = 1.
type Config struct {
	Template     Template `json:"cell_input_template"`
	Delimiter    string   `json:"column_delimiter"`
	MaxCellLen   int      `json:"max_cell_len"`  // tokens kept of a cell's value
	ContextFirst bool     `json:"context_first"` // utterance before table
}

// DefaultConfig is `column | type | value`, cells of at most five tokens between [SEP].
func DefaultConfig() Config {
	return Config{Template: Template{nameSlot, "|", typeSlot, "|", valueSlot}, Delimiter: Separator, MaxCellLen: 5, ContextFirst: true}
}

// ReadConfig reads what concerns linearisation from a tb_config.json, the older layout with
// column_item_delimiter included; what the file leaves out is DefaultConfig's.
func ReadConfig(r io.Reader) (Config, error) {
	c := DefaultConfig()
	data, err := io.ReadAll(r)
	if err != nil {
		return c, fmt.Errorf("TaBERT configuration: %w", err)
	}
	if err := json.Unmarshal(data, &c); err != nil {
		return c, fmt.Errorf("TaBERT configuration: %w", err)
	}
	old := struct {
		Delimiter *string `json:"column_item_delimiter"`
		Type      bool    `json:"use_type_text"`
		Value     bool    `json:"use_sample_value"`
	}{Type: true, Value: true}
	if err := json.Unmarshal(data, &old); err != nil {
		return c, fmt.Errorf("TaBERT configuration: %w", err)
	}
	if old.Delimiter != nil {
		between, err := ParseTemplate(*old.Delimiter)
		if err != nil {
			return c, err
		}
		c.Template = Template{nameSlot}
		if old.Type {
			c.Template = append(append(c.Template, between...), typeSlot)
		}
		if old.Value {
			c.Template = append(append(c.Template, between...), valueSlot)
		}
	}
	return c, c.check()
}

func (c Config) check() error {
	switch {
	case len(c.Template) == 0:
		return fmt.Errorf("TaBERT configuration: cell_input_template is empty")
	case c.Delimiter == "":
		return fmt.Errorf("TaBERT configuration: column_delimiter is empty")
	case c.MaxCellLen < 0:
		return fmt.Errorf("TaBERT configuration: max_cell_len is %d, expected 0 or more", c.MaxCellLen)
	}
	return nil
}
