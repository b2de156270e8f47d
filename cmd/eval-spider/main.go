// Command eval-spider answers the questions of Spider with a trained model and scores the
// answers, or scores a file of predictions without any model. Built with -tags notorch it
// only scores, and needs no libtorch.
package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/tabert-workbench/tabert-workbench/eval"
	"github.com/tabert-workbench/tabert-workbench/internal/cli"
	"github.com/tabert-workbench/tabert-workbench/internal/partfile"
)

const name = "eval-spider"

const description = `Answer the questions of Spider with a trained model, or score predictions, by exact set match.

With --model, each question of a split is answered: --json gets a line a question (db_id, question, gold, pred, exact,
hardness, beam, seconds, and error where there is no answer), --out the predictions, one SQL a line, SELECT where there
is no answer (evaluation scripts skip blank lines). Both grow as FILE.part and are renamed at the end; Ctrl-C leaves what
is done there and ends with exit code 130. Questions about databases without a file are answered from tables.json alone.

With --gold, a file of predictions is scored without a model: a query a line, as many as the gold file has lines of
"SQL<TAB>db_id". The table is that of the official script.

For example:
  eval-spider --model models/mini --data ../shared/spider --split dev --json preds.jsonl --out pred.sql
  eval-spider --model models/mini --data ../shared/spider --split my.json --limit 20
  eval-spider --gold dev_gold.sql --pred pred.sql --data ../shared/spider`

type grammar struct {
	Model     string `placeholder:"DIR" predictor:"dir" help:"Trained model that answers."`
	Gold      string `placeholder:"FILE" predictor:"file" help:"Gold queries to score against, lines of SQL<TAB>db_id."`
	Pred      string `placeholder:"FILE" predictor:"file" help:"Predictions to score, a query a line in the order of --gold."`
	Data      string `placeholder:"DIR" predictor:"dir" help:"Folder of Spider's public release."`
	Tables    string `placeholder:"FILE" predictor:"file" help:"File like tables.json (default: the one in --data)."`
	Databases string `placeholder:"DIR" predictor:"dir" help:"Folder like database, with <db_id>/<db_id>.sqlite (default: the one in --data)."`
	Split     string `placeholder:"SPLIT" predictor:"file" help:"Questions to answer: train, others, dev, test, or a JSON file like dev.json (default: dev)."`
	Limit     int    `placeholder:"N" help:"Answer the first N questions only."`
	JSON      string `name:"json" placeholder:"FILE" predictor:"file" help:"Write a line of JSON for each question."`
	Out       string `placeholder:"FILE" predictor:"file" help:"Write the predictions, one SQL a line."`
	Device    string `default:"cpu" enum:"cpu,cuda" help:"Where the model runs: cpu or cuda (${default})."`
	Beam      int    `placeholder:"N" help:"Hypotheses that the search keeps (default: the model's)."`
	Threads   int    `placeholder:"N" help:"Threads of one operation (default: one a core; on a machine that is busy with other work, 1 is by far the fastest)."`
	Quiet     bool   `short:"q" help:"No progress bar."`
}

// interrupted is the exit code of a run that Ctrl-C ended, as shells have it.
const interrupted = 128 + int(syscall.SIGINT)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

func run(ctx context.Context, args []string, out, errOut io.Writer) int {
	var g grammar
	if _, code, done := (cli.Command{Name: name, Description: description, Grammar: &g}).Parse(args, out, errOut); done {
		return code
	}
	err := g.check()
	switch {
	case err != nil:
	case g.Model != "":
		err = g.answer(ctx, out, errOut)
	default:
		err = g.score(out)
	}
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return interrupted
	}
	return cli.Fail(errOut, name, err)
}

// check refuses flags that do not go together.
func (g *grammar) check() error {
	if g.Limit < 0 || g.Threads < 0 || g.Beam < 0 {
		return cli.Usagef("--limit, --beam and --threads must not be negative")
	}
	if g.Model != "" {
		if g.Gold != "" || g.Pred != "" {
			return cli.Usagef("--model answers the questions of --split; it does not go with --gold and --pred")
		}
		if g.Data == "" {
			return cli.Usagef("--data is missing: the folder of Spider's public release")
		}
		return nil
	}
	if g.Gold == "" || g.Pred == "" {
		return cli.Usagef("expected either --model, or both --gold and --pred (%s --help shows the usage)", name)
	}
	if g.Data == "" && g.Tables == "" {
		return cli.Usagef("--data or --tables is missing: the schemas of the databases")
	}
	for _, f := range []struct {
		flag string
		set  bool
	}{{"split", g.Split != ""}, {"databases", g.Databases != ""}, {"limit", g.Limit != 0}, {"out", g.Out != ""}, {"beam", g.Beam != 0}} {
		if f.set {
			return cli.Usagef("--%s goes with --model, not with --gold and --pred", f.flag)
		}
	}
	return nil
}

// create begins an output file, if its name is given.
func create(path string) (*partfile.File, error) {
	if path == "" {
		return nil, nil
	}
	return partfile.Create(path)
}

// scored is a line of --json for a pair that no model made.
type scored struct {
	DB       string `json:"db_id"`
	Gold     string `json:"gold"`
	Pred     string `json:"pred"`
	Exact    bool   `json:"exact"`
	Hardness string `json:"hardness"`
	Error    string `json:"error,omitempty"` // why the prediction could not be read
}

// score compares two files.
func (g *grammar) score(out io.Writer) error {
	tables := cmp.Or(g.Tables, filepath.Join(g.Data, "tables.json"))
	schemas, err := eval.LoadSchemas(tables)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("no %s: expected a folder with Spider's public release, or a file given by --tables", tables)
	} else if err != nil {
		return err
	}
	gold, err := lines(g.Gold, eval.ReadGold)
	if err != nil {
		return err
	}
	pred, err := lines(g.Pred, eval.ReadPred)
	if err != nil {
		return err
	}
	for _, l := range gold {
		s := schemas[l.DB]
		if s == nil {
			return fmt.Errorf("%s: line %d: there is no database %q in %s", g.Gold, l.Number, l.DB, tables)
		}
		if _, err := s.Hardness(l.SQL); err != nil {
			return fmt.Errorf("%s: line %d: %w", g.Gold, l.Number, err)
		}
	}
	pairs, err := eval.Zip(gold, pred)
	if err != nil {
		return fmt.Errorf("%s and %s: %w", g.Gold, g.Pred, err)
	}
	records, err := create(g.JSON)
	if err != nil {
		return err
	}
	defer records.Close()
	enc := encoder(records)
	var failed error
	report, err := eval.Score(pairs, schemas, func(i int, v eval.Verdict) {
		r := scored{DB: pairs[i].DB, Gold: pairs[i].Gold, Pred: pairs[i].Pred, Exact: v.Exact, Hardness: v.Hardness}
		if v.PredParseError != nil {
			r.Error = v.PredParseError.Error()
		}
		failed = cmp.Or(failed, enc.Encode(r))
	})
	if err := cmp.Or(err, failed); err != nil {
		return err
	}
	if err := records.Commit(); err != nil {
		return err
	}
	return report.Write(out)
}

// encoder writes JSON Lines in which SQL stays readable.
func encoder(w io.Writer) *json.Encoder {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	return enc
}

func lines(path string, read func(io.Reader) ([]eval.Line, error)) ([]eval.Line, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	list, err := read(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("%s: no queries in it", path)
	}
	return list, nil
}
