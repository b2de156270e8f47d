// Package front is what people see of nl2sql: its command line, the prompt, and how
// answers are printed. The model stands behind the interface Asker.
package front

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/term"

	"github.com/tabert-workbench/tabert-workbench/database"
	"github.com/tabert-workbench/tabert-workbench/internal/cli"
)

// Asker turns a question about a database into SQL.
type Asker interface {
	Ask(ctx context.Context, db *database.DB, question string) (*Answer, error)
}

// Answer is what the model makes of a question.
type Answer struct {
	SQL   string       `json:"sql"`
	Score float64      `json:"score"` // log-probability
	Beam  []Hypothesis `json:"beam,omitempty"`
	// Trace prints the stages before SQL. It is called at most once, and only if it is wanted.
	Trace func() ([]Stage, error) `json:"-"`
}

// Hypothesis is one way to read the question.
type Hypothesis struct {
	SQL   string  `json:"sql"`
	Score float64 `json:"score"`
	Error string  `json:"error,omitempty"` // why it cannot be run
}

// Stage is one value on the way from the question to SQL, printed.
type Stage struct {
	Name string `json:"name"`
	Text string `json:"text"`
}

// Opener loads the model in a folder.
type Opener func(model, device string, threads int) (Asker, error)

type options struct {
	File     string        `arg:"" placeholder:"FILE.sqlite" predictor:"file" help:"The SQLite database; it is opened for reading only."`
	Question []string      `short:"q" sep:"none" placeholder:"TEXT" help:"Answer this question and exit."`
	Format   string        `enum:"table,csv,json,sql" default:"table" help:"How answers are printed: table, csv, json (one object a line), or sql (the query is not run)."`
	Trace    bool          `help:"Print every stage from the question to the rows."`
	Model    string        `placeholder:"DIR" env:"TABERT_MODEL" predictor:"dir" help:"The trained model. Default: models/mini beside the program's folder, else in the current one."`
	Device   string        `enum:"cpu,cuda" default:"cpu" help:"Where the model runs: cpu or cuda."`
	Threads  int           `default:"1" placeholder:"N" help:"Threads of one operation; more than 1 is faster only where that many cores are idle (${default})."`
	Timeout  time.Duration `default:"30s" help:"A query that takes longer is stopped."`
	MaxRows  int           `default:"1000" help:"How many rows of an answer are read."`
	JSON     string        `name:"json" placeholder:"FILE" type:"path" predictor:"file" help:"Write each answer to this file too, one JSON object a line."`
}

const description = `Ask an SQLite database questions in English.

Without -q it prompts for them, or reads them from a pipe, one a line.

Example: nl2sql shop.sqlite -q "How many customers are from France?"`

// Run is the command; it returns the exit code.
func Run(args []string, stdin io.Reader, stdout, stderr io.Writer, open Opener) int {
	var opts options
	_, code, done := cli.Command{Name: "nl2sql", Description: description, Grammar: &opts}.Parse(args, stdout, stderr)
	if done {
		return code
	}
	if err := run(opts, stdin, stdout, stderr, open); err != nil {
		if err == errReported {
			return cli.Failure
		}
		return cli.Fail(stderr, "nl2sql", err)
	}
	return cli.OK
}

// errReported says that something failed, and that it was printed where it happened.
var errReported = fmt.Errorf("reported already")

func run(opts options, stdin io.Reader, stdout, stderr io.Writer, open Opener) (err error) {
	switch {
	case opts.MaxRows < 1:
		return cli.Usagef("--max-rows: expected at least 1, got %d", opts.MaxRows)
	case opts.Timeout <= 0:
		return cli.Usagef("--timeout: expected more than nothing, got %v", opts.Timeout)
	}
	for _, q := range opts.Question {
		if strings.TrimSpace(q) == "" {
			return cli.Usagef("the question is empty")
		}
	}
	db, err := database.Open(opts.File)
	if err != nil {
		return err
	}
	defer db.Close()
	for _, note := range db.Notes() {
		fmt.Fprintf(stderr, "nl2sql: note: %s\n", plain(note))
	}
	model, err := findModel(opts.Model)
	if err != nil {
		return err
	}
	asker, err := open(model, opts.Device, opts.Threads)
	if err != nil {
		return err
	}
	if c, ok := asker.(io.Closer); ok {
		defer c.Close()
	}
	s := &session{
		db: db, asker: asker, out: stdout, err: stderr,
		format: opts.Format, trace: opts.Trace,
		limits: database.Limits{Rows: opts.MaxRows, Time: opts.Timeout},
	}
	if f, ok := stdout.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		s.colour = os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
		s.width = func() int { w, _, _ := term.GetSize(int(f.Fd())); return w }
	}
	if opts.JSON != "" {
		f, err := os.Create(opts.JSON)
		if err != nil {
			return err
		}
		defer func() {
			if closed := f.Close(); err == nil {
				err = closed
			}
		}()
		s.log = newEncoder(f)
	}

	if len(opts.Question) > 0 {
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
		defer stop()
		for _, q := range opts.Question {
			if err := s.question(ctx, q); err != nil {
				return err
			}
		}
		return nil
	}
	if f, ok := stdin.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		lines, err := prompt(db)
		if err != nil {
			return err
		}
		defer lines.Close()
		return s.interact(lines)
	}
	return s.batch(stdin)
}

// findModel is the folder of the model to use.
func findModel(given string) (string, error) {
	if given != "" {
		return given, nil
	}
	var places []string
	if program, err := os.Executable(); err == nil {
		if real, err := filepath.EvalSymlinks(program); err == nil {
			program = real
		}
		places = append(places, filepath.Join(filepath.Dir(program), "..", "models", "mini"))
	}
	places = append(places, filepath.Join("models", "mini"))
	for _, dir := range places {
		if info, err := os.Stat(dir); err == nil && info.IsDir() {
			return dir, nil
		}
	}
	return "", fmt.Errorf("no model: nothing in %s; --model DIR or $TABERT_MODEL names one", strings.Join(places, " or "))
}

func newEncoder(w io.Writer) *json.Encoder {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	return e
}
