package encoder

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/tabert-workbench/tabert-workbench/internal/torch"
	"github.com/tabert-workbench/tabert-workbench/tabert"
)

// TaBERT is an encoder in use: an utterance and tables go in, vectors come out (K = 1). It can
// be used by many goroutines at once; they take turns.
type TaBERT struct {
	Tokenizer     *tabert.Tokenizer
	Linearization tabert.Config

	model  *Model
	params *torch.Params
	worker *torch.Worker
}

// Open reads a folder with a BERT, HuggingFace's or a TaBERT checkpoint of K = 1 as safetensors, and its
// vocab.txt. device is "cpu" or "cuda".
func Open(dir, device string) (*TaBERT, error) {
	t := &TaBERT{Linearization: tabert.DefaultConfig(), worker: torch.NewWorker()}
	err := t.worker.Do(func() error {
		var err error
		if t.Tokenizer, err = tabert.LoadTokenizer(filepath.Join(dir, "vocab.txt"), true); err != nil {
			return err
		}
		switch f, err := os.Open(filepath.Join(dir, "tb_config.json")); {
		case err == nil:
			defer f.Close()
			if t.Linearization, err = tabert.ReadConfig(f); err != nil {
				return fmt.Errorf("%s: %w", f.Name(), err)
			}
		case !errors.Is(err, fs.ErrNotExist):
			return err
		}
		d, err := torch.OpenDevice(device)
		if err != nil {
			return err
		}
		t.params = torch.NewParams(d)
		c, err := Load(t.params, "", dir)
		if err == nil {
			t.model, err = New(t.params, "", c)
		}
		if err != nil {
			t.params.Close()
		}
		return err
	})
	if err != nil {
		t.worker.Close()
		return nil, err
	}
	return t, nil
}

// Close frees the weights.
func (t *TaBERT) Close() {
	_ = t.worker.Do(func() error { t.params.Close(); return nil })
	t.worker.Close()
}

// Encoding is what TaBERT says of one table. All vectors have the hidden size.
type Encoding struct {
	Tokens    []tabert.Token // of the utterance
	Table     []float32      // at [CLS]
	Utterance [][]float32    // one a token
	Columns   [][]float32    // one a column: the mean over the tokens of its name
}

// Encode shows each table's synthetic row beside the utterance and returns an encoding a table.
func (t *TaBERT) Encode(utterance string, tables ...tabert.Table) ([]Encoding, error) {
	tokens := t.Tokenizer.Tokenize(utterance)
	tokens = tokens[:min(len(tokens), tabert.MaxUtterance)]
	all := make([][]tabert.Sequence, len(tables))
	for i := range tables {
		rows, err := tabert.Snapshot(utterance, &tables[i], 1)
		if err != nil {
			return nil, fmt.Errorf("table %q: %w", tables[i].Name, err)
		}
		row := make([]tabert.Cell, len(tables[i].Columns))
		if len(rows) > 0 {
			row = rows[0]
		}
		if all[i], err = t.Linearization.LinearizeAll(t.Tokenizer, tokens, tables[i].Columns, row); err != nil {
			return nil, fmt.Errorf("table %q: %w", tables[i].Name, err)
		}
	}
	if len(tables) == 0 {
		return nil, nil
	}
	out := make([]Encoding, len(tables))
	return out, t.worker.Do(func() (err error) {
		torch.NoGrad(func() { err = t.encode(tokens, tables, all, out) })
		return err
	})
}

func (t *TaBERT) encode(tokens []tabert.Token, tables []tabert.Table, all [][]tabert.Sequence, out []Encoding) error {
	b, err := t.model.NewBatch(all)
	if err != nil {
		return err
	}
	defer b.Free()
	flat := t.model.Forward(b, t.model.HiddenLayers, Dropout{})
	defer flat.MustDrop()
	pooled := t.model.Pool(b, flat, PoolName)
	defer pooled.Free()
	h := t.model.HiddenSize
	vectors, utterance, columns := torch.ToFloats(pooled.Tables), torch.ToFloats(pooled.Utterance), torch.ToFloats(pooled.Columns)
	u, c := len(utterance)/len(tables)/h, len(columns)/len(tables)/h // the longest of each
	cut := func(values []float32, from, n int) [][]float32 {
		rows := make([][]float32, n)
		for i := range rows {
			rows[i] = values[(from+i)*h : (from+i+1)*h : (from+i+1)*h]
		}
		return rows
	}
	for i := range out {
		out[i] = Encoding{Tokens: tokens, Table: cut(vectors, i, 1)[0], Utterance: cut(utterance, i*u, len(tokens)),
			Columns: cut(columns, i*c, len(tables[i].Columns))}
	}
	return nil
}
