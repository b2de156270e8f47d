package train

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"

	"github.com/sugarme/gotch"

	"github.com/tabert-workbench/tabert-workbench/internal/safetensors"
	"github.com/tabert-workbench/tabert-workbench/internal/torch"
	"github.com/tabert-workbench/tabert-workbench/parser"
)

// A run's folder has log.jsonl, checkpoint-<step> with all that a run goes on from, and
// best with the weights that did best on held-out databases. Folders appear by renaming,
// complete or not at all.
const (
	checkpointPrefix = "checkpoint-"
	bestFolder       = "best"
	stateFile        = "state.json"
	optimizerFile    = "optimizer.safetensors"
)

// latest is the checkpoint of the highest step in a run's folder, "" if there is none.
func latest(out string) (string, error) {
	entries, err := os.ReadDir(out)
	if err != nil {
		return "", err
	}
	best, path := -1, ""
	for _, e := range entries {
		if number, ok := strings.CutPrefix(e.Name(), checkpointPrefix); ok {
			if step, err := strconv.Atoi(number); err == nil && step > best {
				best, path = step, filepath.Join(out, e.Name())
			}
		}
	}
	return path, nil
}

// folder fills a new folder beside and renames it to name, in place of an older one.
func folder(out, name string, fill func(dir string) error) error {
	dir, err := os.MkdirTemp(out, "."+name+".*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := os.Chmod(dir, 0o755); err != nil {
		return err
	}
	if err := fill(dir); err != nil {
		return err
	}
	path, old := filepath.Join(out, name), replaced(out, name)
	if err := os.RemoveAll(old); err != nil {
		return err
	}
	if err := os.Rename(path, old); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if err := os.Rename(dir, path); err != nil {
		return err
	}
	return os.RemoveAll(old)
}

// replaced is where a folder waits until the new one stands in its place.
func replaced(out, name string) string { return filepath.Join(out, "."+name+".old") }

// restore puts a folder back that a run was about to replace when it was killed.
func restore(out, name string) error {
	path := filepath.Join(out, name)
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if err := os.Rename(replaced(out, name), path); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// save writes a checkpoint and removes older ones.
func (t *trainer) save() error {
	name := checkpointPrefix + strconv.Itoa(t.state.Step)
	err := folder(t.options.Out, name, func(dir string) error {
		return t.worker.Do(func() error {
			if err := t.model.Save(dir, torch.Precision{}); err != nil {
				return err
			}
			if err := safetensors.WriteFile(filepath.Join(dir, optimizerFile), t.adam.Arrays(), nil); err != nil {
				return err
			}
			t.state.Config, t.state.Code = t.config, codeVersion()
			data, err := json.MarshalIndent(t.state, "", "  ")
			if err != nil {
				return err
			}
			return os.WriteFile(filepath.Join(dir, stateFile), append(data, '\n'), 0o644)
		})
	})
	if err != nil {
		return fmt.Errorf("checkpoint: %w", err)
	}
	entries, err := os.ReadDir(t.options.Out)
	if err != nil {
		return err
	}
	for _, e := range entries {
		stale := strings.HasPrefix(e.Name(), checkpointPrefix) && e.Name() != name
		if stale || strings.HasPrefix(e.Name(), "."+checkpointPrefix) {
			if err := os.RemoveAll(filepath.Join(t.options.Out, e.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}

// codeVersion is the module's version, which Go makes of the commit.
func codeVersion() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	return info.Main.Version
}

// saveBest writes the weights in the form in which models ship.
func (t *trainer) saveBest() error {
	err := folder(t.options.Out, bestFolder, func(dir string) error {
		return t.worker.Do(func() error { return t.model.Save(dir, Shipped) })
	})
	if err != nil {
		return fmt.Errorf("best weights: %w", err)
	}
	return nil
}

// Shipped is how weights are stored in models that ship: float16, and the word
// embeddings, half of all parameters, as int8 with a scale a row.
var Shipped = torch.Precision{Half: true, RowInt8: func(name string) bool {
	return name == parser.EncoderPrefix+"embeddings.word_embeddings.weight"
}}

func (t *trainer) readState(dir string) error {
	path := filepath.Join(dir, stateFile)
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, &t.state); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

func (t *trainer) readWeights(dir string, device gotch.Device) error {
	var err error
	if t.model, err = parser.Load(dir, device); err != nil {
		return err
	}
	path := filepath.Join(dir, optimizerFile)
	arrays, _, err := safetensors.ReadFile(path)
	if err != nil {
		return err
	}
	if err := t.adam.Load(arrays, device); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	t.say("going on from %s: step %d of %d", filepath.Base(dir), t.state.Step, t.config.Steps)
	return nil
}
