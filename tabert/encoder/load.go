package encoder

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tabert-workbench/tabert-workbench/internal/safetensors"
	"github.com/tabert-workbench/tabert-workbench/internal/torch"
)

// prefixes of a BERT's parameters in other checkpoints: TaBERT's, and models with a head.
var prefixes = []string{"_bert_model.bert.", "bert."}

// unused tells tensors of a checkpoint that the encoder has no use for: the pooler, heads, and constants.
func unused(name string) bool {
	if name == "embeddings.position_ids" {
		return true
	}
	for _, p := range []string{"pooler.", "cls.", "_bert_model.cls."} {
		if strings.HasPrefix(name, p) {
			return true
		}
	}
	return false
}

// Load reads a folder with a BERT, HuggingFace's or a TaBERT checkpoint of K = 1 as safetensors, into parameters under
// prefix. Every tensor that is missing, surplus or of another shape is in the error.
func Load(p *torch.Params, prefix, dir string) (Config, error) {
	path := filepath.Join(dir, "config.json")
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		if tb := filepath.Join(dir, "tb_config.json"); exists(tb) {
			path = tb
		}
	}
	c, err := LoadConfig(path)
	if err != nil {
		return c, err
	}
	path = filepath.Join(dir, "model.safetensors")
	arrays, _, err := safetensors.ReadFile(path)
	if err != nil {
		return c, fmt.Errorf("BERT weights: %w", err)
	}
	if err := LoadArrays(p, prefix, c, arrays); err != nil {
		return c, fmt.Errorf("BERT weights %s: %w", path, err)
	}
	return c, nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// LoadArrays is Load for arrays in memory.
func LoadArrays(p *torch.Params, prefix string, c Config, arrays map[string]safetensors.Array) error {
	shapes := c.Shapes()
	found := map[string]safetensors.Array{}
	var problems []string
	for _, stored := range slices.Sorted(maps.Keys(arrays)) {
		name := stored
		for _, other := range prefixes {
			if rest, ok := strings.CutPrefix(stored, other); ok {
				name = rest
				break
			}
		}
		switch want, ok := shapes[name]; {
		case unused(name):
		case !ok:
			problems = append(problems, "surplus "+stored)
		case found[name].Shape != nil:
			problems = append(problems, "twice "+stored)
		case !slices.Equal(want, arrays[stored].Shape):
			problems = append(problems, fmt.Sprintf("%s has shape %v, expected %v", stored, arrays[stored].Shape, want))
			found[name] = arrays[stored]
		default:
			found[name] = arrays[stored]
		}
	}
	for _, name := range slices.Sorted(maps.Keys(shapes)) {
		if _, ok := found[name]; !ok {
			problems = append(problems, "missing "+name)
		}
	}
	if len(problems) > 0 {
		return fmt.Errorf("%d tensors do not fit the configuration: %s", len(problems), strings.Join(problems, "; "))
	}
	decoded, err := torch.Decode(found)
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(shapes)) {
		values, err := decoded[name].Floats()
		if err != nil {
			return fmt.Errorf("%q: %w", name, err)
		}
		p.Set(prefix+name, values, shapes[name]...)
	}
	return nil
}
