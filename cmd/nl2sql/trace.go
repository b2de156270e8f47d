package main

import (
	"fmt"
	"math"
	"strings"
	"text/tabwriter"

	"github.com/tabert-workbench/tabert-workbench/cmd/nl2sql/internal/front"
	"github.com/tabert-workbench/tabert-workbench/parser"
	"github.com/tabert-workbench/tabert-workbench/schema"
	"github.com/tabert-workbench/tabert-workbench/tranx"
)

// trace prints each value on the way from the question to the tree.
func trace(a parser.Answer, steps []parser.Step, config parser.Config) []front.Stage {
	db := a.Input.Source.Schema
	return []front.Stage{
		{Name: "question", Text: question(a.Input)},
		{Name: "snapshot", Text: snapshot(a.Input, db)},
		{Name: "linearisation", Text: linearisation(a.Input, db)},
		{Name: "memory", Text: memory(a.Input, db, config.Encoder.HiddenSize)},
		{Name: "actions", Text: actions(steps, db)},
		{Name: "beam", Text: beam(a)},
		{Name: "tree", Text: a.Tree.String()},
	}
}

// question shows the words that can be copied into values.
func question(in *parser.Input) string {
	words := make([]string, len(in.Words))
	for i, w := range in.Words {
		words[i] = w.Text
	}
	return in.Question + "\nwords: " + strings.Join(words, " | ")
}

// lines prints a line for each table, its name first.
func lines(in *parser.Input, db *schema.Database, line func(w *tabwriter.Writer, t parser.TableInput)) string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, t := range in.Tables {
		fmt.Fprintf(w, "%s\t", db.Tables[t.Table].Original)
		line(w, t)
		fmt.Fprintln(w)
	}
	w.Flush()
	return b.String()
}

func snapshot(in *parser.Input, db *schema.Database) string {
	return lines(in, db, func(w *tabwriter.Writer, t parser.TableInput) {
		cells := make([]string, len(t.Snapshot))
		for i, c := range t.Snapshot {
			value := "NULL"
			if c.Valid {
				value = shorten(c.Text)
			}
			cells[i] = db.Tables[t.Table].Columns[i].Original + " = " + value
		}
		fmt.Fprint(w, strings.Join(cells, " | "))
	})
}

func linearisation(in *parser.Input, db *schema.Database) string {
	var b strings.Builder
	for _, t := range in.Tables {
		for i, s := range t.Sequences {
			fmt.Fprintf(&b, "%s %d/%d: %s\n", db.Tables[t.Table].Original, i+1, len(t.Sequences), strings.Join(s.Tokens, " "))
		}
	}
	return b.String()
}

// memory shows the shapes of ⟨T, X, C⟩ of each table.
func memory(in *parser.Input, db *schema.Database, size int) string {
	return lines(in, db, func(w *tabwriter.Writer, t parser.TableInput) {
		fmt.Fprintf(w, "T [%d]\tX [%d, %d]\tC [%d, %d]", size, t.Sequences[0].Context.Len()-1, size, len(t.Snapshot), size)
	})
}

func actions(steps []parser.Step, db *schema.Database) string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for i, s := range steps {
		fmt.Fprintf(w, "%d\t%s\t%s", i+1, action(s.Action, db), probability(s.LogProb))
		for k, other := range s.Alternatives {
			if k == 2 || other.LogProb < math.Log(0.001) {
				break
			}
			if k == 0 {
				fmt.Fprint(w, "\tor ")
			} else {
				fmt.Fprint(w, ", ")
			}
			fmt.Fprintf(w, "%s %s", action(other.Action, db), probability(other.LogProb))
		}
		fmt.Fprintln(w)
	}
	w.Flush()
	return b.String()
}

// action names tables and columns in place of their numbers.
func action(a tranx.Action, db *schema.Database) string {
	switch a.Kind {
	case tranx.SelectTable:
		return fmt.Sprintf("SelectTable(%s)", db.Tables[a.Table].Original)
	case tranx.SelectColumn:
		t := db.Tables[a.Table]
		return fmt.Sprintf("SelectColumn(%s.%s)", t.Original, t.Columns[a.Column].Original)
	}
	return a.String()
}

func probability(log float64) string { return fmt.Sprintf("%.3f (log %.3f)", math.Exp(log), log) }

func beam(a parser.Answer) string {
	var b strings.Builder
	for _, h := range a.Beam {
		fmt.Fprintf(&b, "%8.3f  %s", h.Score, h.SQL)
		if h.Err != nil {
			fmt.Fprintf(&b, "  (%v)", h.Err)
		}
		fmt.Fprintln(&b)
	}
	return b.String()
}

// shorten cuts a long cell for the trace.
func shorten(s string) string {
	const most = 40
	if r := []rune(s); len(r) > most {
		return string(r[:most-1]) + "…"
	}
	return s
}
