// Command train-spider trains the text-to-SQL parser on Spider.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"syscall"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"

	"github.com/tabert-workbench/tabert-workbench/internal/cli"
	"github.com/tabert-workbench/tabert-workbench/parser"
	"github.com/tabert-workbench/tabert-workbench/spider"
	"github.com/tabert-workbench/tabert-workbench/spider/train"
)

const description = `Train the parser (TaBERT and decoder) on Spider.

The run's folder gets log.jsonl (a line an update), checkpoint-N (what --resume goes on from) and best (the weights
that did best on the held-out training databases: a model folder for nl2sql and eval-spider). Ctrl-C writes a
checkpoint and ends with exit code 130.

For example:
  train-spider --data ../shared/spider --out runs/x --config configs/mini.json
  train-spider --data ../shared/spider --out runs/x --resume
  train-spider --extra pairs.jsonl --init models/mini --out runs/mine --steps 500`

type grammar struct {
	Data    string   `placeholder:"DIR" predictor:"dir" help:"Folder of Spider's public release. It may be left out with --extra, to train on questions of your own alone."`
	Out     string   `required:"" placeholder:"DIR" predictor:"dir" help:"Folder of the run."`
	Resume  bool     `help:"Go on from the last checkpoint in the run's folder, with the configuration that lies there."`
	Config  string   `placeholder:"FILE" predictor:"file" help:"Configuration as JSON, over the defaults, which are the paper's."`
	Init    string   `default:"minilm" placeholder:"WEIGHTS" help:"Where training starts: minilm (downloaded once), a BERT folder, or a trained model (${default})."`
	Extra   []string `placeholder:"FILE" predictor:"file" help:"Questions of your own to train on, too: JSON Lines with question, query and db_id or database."`
	Split   []string `default:"train,others" help:"Splits to train on (${default}), or files like train_spider.json."`
	Tables  string   `placeholder:"FILE" predictor:"file" help:"File like tables.json (default: the one in --data)."`
	Steps   int      `placeholder:"N" help:"Updates, in place of the configuration's."`
	Seed    uint64   `placeholder:"N" help:"Seed, in place of the configuration's."`
	Limit   int      `placeholder:"N" help:"Train on the first N examples only."`
	Device  string   `default:"cpu" enum:"cpu,cuda" help:"cpu or cuda (${default})."`
	Threads int      `placeholder:"N" help:"Threads of one operation (default: one a core)."`
	Quiet   bool     `short:"q" help:"No progress bar."`

	PrintConfig bool `help:"Print the configuration that would be used, and end."`
}

// interrupted is the exit code of a run that Ctrl-C ended, as shells have it.
const interrupted = 128 + int(syscall.SIGINT)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

func run(args []string, out, errOut io.Writer) int {
	var g grammar
	if _, code, done := (cli.Command{Name: "train-spider", Description: description, Grammar: &g}).Parse(args, out, errOut); done {
		return code
	}
	// Kept states are most of the heap and do not change: it need not double before it is collected.
	debug.SetGCPercent(25)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := g.run(ctx, out, errOut)
	if parser.IsCancelled(err) && ctx.Err() != nil {
		again := "train-spider"
		if g.Data != "" {
			again += " --data " + g.Data
		}
		for _, path := range g.Extra {
			again += " --extra " + path
		}
		fmt.Fprintf(errOut, "train-spider: stopped; go on with: %s --out %s --resume\n", again, g.Out)
		return interrupted
	}
	return cli.Fail(errOut, "train-spider", err)
}

func (g *grammar) configuration() (train.Config, error) {
	config := train.DefaultConfig()
	if g.Config != "" {
		var err error
		if config, err = train.ReadConfig(g.Config); err != nil {
			return config, err
		}
	}
	if g.Steps != 0 {
		config.Steps = g.Steps
	}
	if g.Seed != 0 {
		config.Seed = g.Seed
	}
	if g.Resume && g.Config != "" {
		return config, cli.Usagef("--config does not go with --resume: a run keeps its configuration")
	}
	if g.Resume && g.Seed != 0 {
		return config, cli.Usagef("--seed does not go with --resume: a run keeps its configuration")
	}
	return config, config.Validate()
}

func (g *grammar) run(ctx context.Context, out, errOut io.Writer) error {
	config, err := g.configuration()
	if err != nil {
		return err
	}
	if g.PrintConfig {
		return train.WriteConfig(out, config)
	}
	if g.Limit < 0 || g.Threads < 0 {
		return cli.Usagef("--limit and --threads must not be negative")
	}
	if g.Data == "" && len(g.Extra) == 0 {
		return cli.Usagef("nothing to train on: expected --data DIR with Spider, --extra FILE with questions of your own, or both")
	}
	var splits []spider.Split
	if g.Data != "" {
		for _, s := range g.Split {
			splits = append(splits, spider.Split(s))
		}
	}
	data, err := spider.Layout{Dir: g.Data, Tables: g.Tables}.Load(splits...)
	if err != nil {
		return err
	}
	for _, path := range g.Extra {
		n, err := data.AddPairs(path)
		if err != nil {
			return err
		}
		fmt.Fprintf(errOut, "%d questions from %s\n", n, filepath.Base(path))
	}
	options := train.Options{Out: g.Out, Resume: g.Resume, Init: g.Init, Device: g.Device, Threads: g.Threads, Limit: g.Limit, Log: errOut,
		Steps: g.Steps}
	if !g.Quiet {
		options.Progress = progress(errOut)
	}
	result, err := train.Run(ctx, data, config, options)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%d steps; model: %s", result.Steps, result.Model)
	if result.Best >= 0 {
		fmt.Fprintf(out, " (%.1f %% exact match on held-out databases)", 100*result.Best)
	}
	fmt.Fprintln(out)
	return nil
}

// progress draws a bar on a terminal, and elsewhere writes a line a minute.
func progress(w io.Writer) func(train.Status) {
	f, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		var last time.Time
		return func(s train.Status) {
			if time.Since(last) < time.Minute && s.Step != s.Steps {
				return
			}
			last = time.Now()
			fmt.Fprintf(w, "step %d of %d, loss %.3f, %.1f examples/s, %v left\n", s.Step, s.Steps, s.Loss, s.Rate, s.Left.Round(time.Second))
		}
	}
	var bar *progressbar.ProgressBar
	return func(s train.Status) {
		if bar == nil {
			bar = progressbar.NewOptions(s.Steps, progressbar.OptionSetWriter(w), progressbar.OptionSetWidth(30),
				progressbar.OptionSetPredictTime(false), progressbar.OptionShowCount(), progressbar.OptionThrottle(200*time.Millisecond),
				progressbar.OptionOnCompletion(func() { fmt.Fprintln(w) }))
		}
		bar.Describe(fmt.Sprintf("loss %.3f, %.1f examples/s, %v left", s.Loss, s.Rate, s.Left.Round(time.Second)))
		_ = bar.Set(s.Step)
	}
}
