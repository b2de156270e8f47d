//go:build !notorch

package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"

	"github.com/tabert-workbench/tabert-workbench/eval"
	"github.com/tabert-workbench/tabert-workbench/internal/partfile"
	"github.com/tabert-workbench/tabert-workbench/parser"
	"github.com/tabert-workbench/tabert-workbench/spider"
	"github.com/tabert-workbench/tabert-workbench/spider/predict"
)

// noAnswer stands in --out where there is no answer. It matches no query, and is not blank:
// evaluation scripts skip blank lines and would shift all that follows.
const noAnswer = "SELECT"

// answer answers the questions of a split.
func (g *grammar) answer(ctx context.Context, out, errOut io.Writer) error {
	layout := spider.Layout{Dir: g.Data, Tables: g.Tables, Databases: g.Databases}
	data, err := layout.Load(spider.Split(cmp.Or(g.Split, string(spider.Dev))))
	if err != nil {
		return err
	}
	if g.Limit > 0 && len(data.Examples) > g.Limit {
		data.Examples = data.Examples[:g.Limit]
	}
	if len(data.Examples) == 0 {
		return fmt.Errorf("no questions in split %s", g.Split)
	}
	p, err := parser.Open(g.Model, parser.Options{Device: g.Device, Beam: g.Beam, Threads: g.Threads})
	if err != nil {
		return err
	}
	defer p.Close()
	if missing := data.Missing(); len(missing) > 0 {
		fmt.Fprintf(errOut, "%s: no file of %d of %d databases; their questions are answered from tables.json alone: %s\n",
			name, len(missing), len(data.IDs()), strings.Join(missing, ", "))
	}

	records, err := create(g.JSON)
	if err != nil {
		return err
	}
	defer records.Close()
	queries, err := create(g.Out)
	if err != nil {
		return err
	}
	defer queries.Close()
	t := tally{total: len(data.Examples), start: time.Now()}
	show := func(*tally) {}
	if !g.Quiet {
		show = progress(errOut, t.total)
	}
	enc := encoder(records)
	err = predict.Run(ctx, p, data, func(r predict.Record) error {
		if err := cmp.Or(enc.Encode(r), records.Flush()); err != nil {
			return err
		}
		sql := strings.Join(strings.FieldsFunc(r.Pred, func(c rune) bool { return c == '\n' || c == '\r' || c == '\t' }), " ")
		if _, err := fmt.Fprintln(queries, cmp.Or(sql, noAnswer)); err != nil {
			return err
		}
		if err := queries.Flush(); err != nil {
			return err
		}
		t.add(r)
		show(&t)
		return nil
	})
	if err == nil {
		err = cmp.Or(records.Commit(), queries.Commit())
	} else if t.done > 0 || ctx.Err() != nil {
		fmt.Fprintf(errOut, "%s: stopped after %d of %d questions%s\n", name, t.done, t.total, t.kept(records, queries))
	}
	if t.done > 0 {
		if err := t.print(out, errOut); err != nil {
			return err
		}
	}
	return err
}

// kept says where an interrupted run left what it has done.
func (t *tally) kept(files ...*partfile.File) string {
	var parts []string
	for _, f := range files {
		if f != nil && t.done > 0 {
			parts = append(parts, f.Part())
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return "; what is done is in " + strings.Join(parts, " and ")
}

// tally is how far a run is.
type tally struct {
	total, done   int
	start         time.Time
	report        eval.Report
	unanswered    int
	firstError    string
	noGold        int    // questions without a gold query
	unreadable    int    // questions whose gold query the evaluation does not read
	unreadableWhy string // of the first one
}

func (t *tally) add(r predict.Record) {
	t.done++
	if r.Error != "" {
		if t.unanswered++; t.unanswered == 1 {
			t.firstError = fmt.Sprintf("%q on %s: %s", r.Question, r.DB, r.Error)
		}
	}
	switch {
	case r.Exact != nil:
		t.report.Add(r.Verdict)
	case r.GoldError != "":
		if t.unreadable++; t.unreadable == 1 {
			t.unreadableWhy = r.GoldError
		}
	default:
		t.noGold++
	}
}

// left is the time that the rest will take.
func (t *tally) left() time.Duration {
	gone := time.Since(t.start)
	return time.Duration(float64(gone) / float64(t.done) * float64(t.total-t.done)).Round(time.Second)
}

// print writes the table, and what it does not show.
func (t *tally) print(out, errOut io.Writer) error {
	if t.unanswered > 0 {
		fmt.Fprintf(errOut, "%s: no answer to %d of %d questions; the first: %s\n", name, t.unanswered, t.done, t.firstError)
	}
	if t.unreadable > 0 {
		fmt.Fprintf(errOut, "%s: %d of %d questions are not scored, as the evaluation cannot read their gold query; the first: %s\n",
			name, t.unreadable, t.done, t.unreadableWhy)
	}
	if t.noGold > 0 {
		fmt.Fprintf(errOut, "%s: %d of %d questions have no gold query, and are not scored\n", name, t.noGold, t.done)
	}
	if t.report.Count(eval.All) == 0 {
		_, err := fmt.Fprintf(out, "%d questions answered\n", t.done-t.unanswered)
		return err
	}
	return t.report.Write(out)
}

// progress draws a bar on a terminal, and elsewhere writes a line a minute.
func progress(w io.Writer, total int) func(*tally) {
	f, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		last := time.Now()
		return func(t *tally) {
			if time.Since(last) < time.Minute {
				return
			}
			last = time.Now()
			fmt.Fprintf(w, "question %d of %d, exact match %.1f %%, %v left\n", t.done, t.total, 100*t.report.Exact(eval.All), t.left())
		}
	}
	bar := progressbar.NewOptions(total, progressbar.OptionSetWriter(w), progressbar.OptionSetWidth(30),
		progressbar.OptionSetPredictTime(false), progressbar.OptionShowCount(), progressbar.OptionThrottle(200*time.Millisecond),
		progressbar.OptionOnCompletion(func() { fmt.Fprintln(w) }))
	return func(t *tally) {
		bar.Describe(fmt.Sprintf("exact match %.1f %%, %v left", 100*t.report.Exact(eval.All), t.left()))
		_ = bar.Set(t.done)
	}
}
