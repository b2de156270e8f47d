// Command nl2sql answers questions in English about an SQLite database: it shows the SQL
// that the model makes of a question, and the rows.
package main

import (
	"context"
	"io"
	"os"

	"github.com/tabert-workbench/tabert-workbench/cmd/nl2sql/internal/front"
	"github.com/tabert-workbench/tabert-workbench/database"
	"github.com/tabert-workbench/tabert-workbench/parser"
)

func main() {
	os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

func run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	return front.Run(args, stdin, stdout, stderr, func(model, device string, threads int) (front.Asker, error) {
		p, err := parser.Open(model, parser.Options{Device: device, Threads: threads})
		if err != nil {
			return nil, err
		}
		return asker{p}, nil
	})
}

// asker is a parser behind the front end's interface.
type asker struct{ parser *parser.Parser }

func (a asker) Close() error {
	a.parser.Close()
	return nil
}

func (a asker) Ask(ctx context.Context, db *database.DB, question string) (*front.Answer, error) {
	found, err := a.parser.Ask(ctx, db, question)
	if err != nil {
		return nil, err
	}
	answer := &front.Answer{SQL: found.SQL, Score: found.Score}
	for _, h := range found.Beam {
		shown := front.Hypothesis{SQL: h.SQL, Score: h.Score}
		if h.Err != nil {
			shown.Error = h.Err.Error()
		}
		answer.Beam = append(answer.Beam, shown)
	}
	answer.Trace = func() ([]front.Stage, error) {
		steps, err := a.parser.Explain(found.Input, found.Actions)
		if err != nil {
			return nil, err
		}
		return trace(found, steps, a.parser.Model.Config), nil
	}
	return answer, nil
}
