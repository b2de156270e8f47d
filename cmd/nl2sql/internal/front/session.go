package front

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/tabert-workbench/tabert-workbench/database"
	"github.com/tabert-workbench/tabert-workbench/internal/cli"
	"github.com/tabert-workbench/tabert-workbench/schema"
)

// session answers the lines of one person about one database.
type session struct {
	db       *database.DB
	asker    Asker
	out, err io.Writer
	log      *json.Encoder // --json; may be nil
	format   string
	trace    bool
	colour   bool
	width    func() int // of the terminal; nil where there is none
	limits   database.Limits
	last     string // the last query that was run
}

// errQuit ends the session.
var errQuit = errors.New("quit")

// batch answers the lines of a pipe, and goes on after an error.
func (s *session) batch(in io.Reader) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	lines := bufio.NewReader(in)
	var failed error
	for number := 1; ; number++ {
		line, end := lines.ReadString('\n')
		if end != nil && end != io.EOF {
			return end
		}
		err := s.line(ctx, line)
		if err == errQuit || ctx.Err() != nil {
			return failed
		}
		if err != nil {
			cli.Fail(s.err, "nl2sql", fmt.Errorf("line %d: %w", number, err))
			failed = errReported
		}
		if end != nil {
			return failed
		}
	}
}

// line answers one line: a command, a query, or a question.
func (s *session) line(ctx context.Context, line string) error {
	line = strings.TrimSpace(strings.TrimPrefix(line, "\uFEFF"))
	switch {
	case line == "":
		return nil
	case strings.HasPrefix(line, "."):
		return s.command(ctx, line)
	case looksLikeSQL(line) && s.db.Prepare(ctx, line) == nil:
		// A question may begin with "select" as well; it is none if SQLite takes it.
		return s.sql(ctx, line)
	}
	return s.question(ctx, line)
}

func looksLikeSQL(line string) bool {
	word, _, _ := strings.Cut(line, " ")
	return strings.EqualFold(word, "SELECT") || strings.EqualFold(word, "WITH")
}

type command struct {
	name, args, help string
	run              func(s *session, ctx context.Context, arg string) error
}

// commands is a function, not a variable, since .help lists it.
func commands() []command {
	return []command{
		{".tables", "", "the tables", (*session).tables},
		{".schema", "[TABLE]", "columns, types and keys", (*session).schema},
		{".sql", "[QUERY]", "the last query; with QUERY: run that", (*session).sqlCommand},
		{".trace", "on|off", "print every stage from the question to the rows, or not", (*session).traceCommand},
		{".help", "", "this", (*session).help},
		{".quit", "", "leave (Ctrl-D too)", func(*session, context.Context, string) error { return errQuit }},
	}
}

func (s *session) command(ctx context.Context, line string) error {
	name, arg, _ := strings.Cut(line, " ")
	for _, c := range commands() {
		if c.name == name {
			return c.run(s, ctx, strings.TrimSpace(arg))
		}
	}
	return fmt.Errorf("unknown command %s; .help lists them", name)
}

func (s *session) help(context.Context, string) error {
	w := tabwriter.NewWriter(s.out, 0, 0, 2, ' ', 0)
	for _, c := range commands() {
		fmt.Fprintf(w, "%s\t%s\n", strings.TrimSpace(c.name+" "+c.args), c.help)
	}
	fmt.Fprintf(w, "SELECT … or WITH …\trun as SQL, for reading only\nanything else\ta question\n")
	return w.Flush()
}

func (s *session) tables(context.Context, string) error {
	db, err := s.db.Schema()
	if err != nil {
		return err
	}
	views := s.db.Views()
	for _, t := range db.Tables {
		note := ""
		if slices.Contains(views, t.Original) {
			note = " (view)"
		}
		fmt.Fprintf(s.out, "%s%s\n", plain(t.Original), note)
	}
	return nil
}

func (s *session) schema(_ context.Context, name string) error {
	db, err := s.db.Schema()
	if err != nil {
		return err
	}
	first, last := 0, len(db.Tables)
	if name != "" {
		i, ok := db.FindTable(name)
		if !ok {
			return fmt.Errorf("no table %q; .tables lists them", name)
		}
		first, last = i, i+1
	}
	w := tabwriter.NewWriter(s.out, 0, 0, 2, ' ', 0)
	for i := first; i < last; i++ {
		t := db.Tables[i]
		fmt.Fprintln(w, plain(t.Original))
		for j, c := range t.Columns {
			fmt.Fprintf(w, "  %s\t%s\t%s\n", plain(c.Original), c.Type, strings.Join(keys(db, i, j), ", "))
		}
	}
	return w.Flush()
}

// keys says what a column is for.
func keys(db *schema.Database, table, column int) []string {
	var notes []string
	if slices.Contains(db.Tables[table].PrimaryKey, column) {
		notes = append(notes, "key")
	}
	for _, k := range db.ForeignKeys {
		if (k.From == schema.Ref{Table: table, Column: column}) {
			to := db.Tables[k.To.Table]
			notes = append(notes, "→ "+plain(to.Original)+"."+plain(to.Columns[k.To.Column].Original))
		}
	}
	return notes
}

func (s *session) sqlCommand(ctx context.Context, query string) error {
	if query != "" {
		return s.sql(ctx, query)
	}
	if s.last == "" {
		return errors.New("no query yet")
	}
	fmt.Fprintln(s.out, plain(s.last))
	return nil
}

func (s *session) traceCommand(_ context.Context, arg string) error {
	switch arg {
	case "on":
		s.trace = true
	case "off":
		s.trace = false
	case "":
		fmt.Fprintln(s.out, map[bool]string{true: "on", false: "off"}[s.trace])
	default:
		return fmt.Errorf(".trace: expected on or off, got %q", arg)
	}
	return nil
}

// record is one answer as JSON.
type record struct {
	Question string `json:"question,omitempty"`
	*Answer
	Trace     []Stage  `json:"trace,omitempty"`
	Columns   []string `json:"columns,omitempty"`
	Rows      [][]any  `json:"rows"`
	Truncated bool     `json:"truncated,omitempty"`
	Error     string   `json:"error,omitempty"`
	Seconds   float64  `json:"seconds"`
}

// question asks the model and runs what it says.
func (s *session) question(ctx context.Context, question string) error {
	start := time.Now()
	r := &record{Question: question}
	answer, err := s.asker.Ask(ctx, s.db, question)
	if err != nil {
		return s.finish(r, start, stopped(ctx, err))
	}
	r.Answer = answer
	if s.trace {
		if r.Trace, err = answer.Trace(); err != nil {
			return s.finish(r, start, stopped(ctx, err))
		}
		for _, stage := range r.Trace {
			s.stage(stage.Name, stage.Text)
		}
		s.stage("SQL", answer.SQL)
	}
	return s.run(ctx, r, start)
}

// sql runs a person's own query.
func (s *session) sql(ctx context.Context, query string) error {
	return s.run(ctx, &record{Answer: &Answer{SQL: query}}, time.Now())
}

func (s *session) run(ctx context.Context, r *record, start time.Time) error {
	s.last = r.SQL
	switch {
	case s.format == "sql":
		fmt.Fprintln(s.out, plain(r.SQL))
		return s.finish(r, start, nil)
	case s.format == "table" && r.Question != "" && !s.trace:
		fmt.Fprintln(s.out, plain(r.SQL))
	}
	result, err := s.db.Query(ctx, r.SQL, s.limits)
	if err != nil {
		return s.finish(r, start, fmt.Errorf("the query failed: %w", stopped(ctx, err)))
	}
	if s.trace {
		s.stage("rows", fmt.Sprintf("%s, columns: %d", count(result), len(result.Columns)))
	}
	r.Columns, r.Truncated = result.Columns, result.Truncated
	r.Rows = make([][]any, len(result.Rows))
	for i, row := range result.Rows {
		r.Rows[i] = make([]any, len(row))
		for j, v := range row {
			r.Rows[i][j] = jsonValue(v)
		}
	}
	switch s.format {
	case "table":
		width := 0
		if s.width != nil {
			width = s.width()
		}
		writeTable(s.out, result, width, s.colour)
		fmt.Fprintf(s.out, "%s (%d ms)\n", count(result), time.Since(start).Milliseconds())
	case "csv":
		if err := writeCSV(s.out, result); err != nil {
			return err
		}
		if result.Truncated {
			fmt.Fprintf(s.err, "nl2sql: note: %s\n", count(result))
		}
	}
	return s.finish(r, start, nil)
}

// finish writes the record where it is wanted, and hands the error on.
func (s *session) finish(r *record, start time.Time, err error) error {
	r.Seconds = float64(time.Since(start).Round(time.Microsecond)) / float64(time.Second)
	if err != nil {
		r.Error = err.Error()
	}
	if s.format == "json" {
		if failed := newEncoder(s.out).Encode(r); failed != nil {
			return failed
		}
	}
	if s.log != nil {
		if failed := s.log.Encode(r); failed != nil {
			return failed
		}
	}
	return err
}

// stage prints one stage of the trace: among the answers where people read them, else
// on stderr, out of the way of programs.
func (s *session) stage(name, text string) {
	w := s.err
	if s.format == "table" {
		w = s.out
	}
	fmt.Fprintf(w, "── %s %s\n%s\n", name, strings.Repeat("─", max(2, 70-len(name))), block(text))
}

// stopped says it plainly where a person stopped it.
func stopped(ctx context.Context, err error) error {
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return errors.New("stopped")
	}
	return err
}
