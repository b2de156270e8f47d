// Package predict answers the questions of Spider with a trained parser, and scores each
// answer by exact set match.
package predict

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/tabert-workbench/tabert-workbench/database"
	"github.com/tabert-workbench/tabert-workbench/eval"
	"github.com/tabert-workbench/tabert-workbench/parser"
	"github.com/tabert-workbench/tabert-workbench/spider"
)

// Record is what became of a question.
type Record struct {
	DB       string `json:"db_id"`
	Question string `json:"question"`
	Gold     string `json:"gold"`
	Pred     string `json:"pred"`               // empty where there is no answer
	Exact    *bool  `json:"exact"`              // nil where there is no gold query that the evaluation reads
	Hardness string `json:"hardness,omitempty"` // of the gold query
	// Beam has all hypotheses, the likeliest first.
	Beam    []Hypothesis `json:"beam"`
	Seconds float64      `json:"seconds"`
	Error   string       `json:"error,omitempty"` // why there is no answer
	// GoldError is why the question is not scored, although it has a gold query.
	GoldError string `json:"gold_error,omitempty"`

	Verdict eval.Verdict `json:"-"` // of a question that is scored
}

// Hypothesis is a possible answer with its log-probability, and with the reason why it is
// none: it has no SQL, or SQLite refuses it.
type Hypothesis struct {
	SQL   string  `json:"sql"`
	Score float64 `json:"score"`
	Error string  `json:"error,omitempty"`
}

// Run answers the examples of data in their order, and gives each record to each, whose
// error ends the run, as the end of ctx does. An answer is the first hypothesis that SQLite
// accepts; where a database has no file, the first one that has SQL. A question without an
// answer is a record with an error, and scored as an empty query.
func Run(ctx context.Context, p *parser.Parser, data *spider.Data, each func(Record) error) error {
	r := run{parser: p, data: data, sources: NewSources(data), schemas: map[string]*eval.Schema{}}
	defer r.close()
	for _, x := range data.Examples {
		record, err := r.answer(ctx, x)
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return fmt.Errorf("%s example %d: %w", x.Split, x.ID, err)
		}
		if err := each(record); err != nil {
			return err
		}
	}
	return nil
}

// run is the databases in use. Questions of one database stand together in every split, so
// that one open file is enough.
type run struct {
	parser  *parser.Parser
	data    *spider.Data
	sources *Sources
	schemas map[string]*eval.Schema

	id   string
	file *database.DB // of id, nil if there is none
}

func (r *run) close() {
	if r.file != nil {
		r.file.Close()
	}
}

// open makes the database the current one.
func (r *run) open(id string) error {
	if r.id == id {
		return nil
	}
	r.close()
	r.id, r.file = id, nil
	if r.schemas[id] == nil {
		r.schemas[id] = eval.NewSchema(r.data.Databases[id])
	}
	if !r.data.HasFile(id) {
		return nil
	}
	var err error
	r.file, err = database.Open(r.data.DatabasePath(id))
	return err
}

// answer answers and scores one question.
func (r *run) answer(ctx context.Context, x spider.Example) (Record, error) {
	record := Record{DB: x.DBID, Question: x.Question, Gold: x.Query, Beam: []Hypothesis{}}
	if err := r.open(x.DBID); err != nil {
		return record, err
	}
	src, err := r.sources.Get(ctx, x.DBID)
	if err != nil {
		return record, err
	}
	var accept func(sql string) error
	if file := r.file; file != nil {
		accept = func(sql string) error { return file.Prepare(ctx, sql) }
	}
	start := time.Now()
	answer, err := r.parser.Parse(ctx, src, x.Question, accept)
	record.Seconds = time.Since(start).Round(100 * time.Microsecond).Seconds()
	if ctx.Err() != nil {
		return record, ctx.Err()
	}
	for _, h := range answer.Beam {
		shown := Hypothesis{SQL: h.SQL, Score: h.Score}
		if h.Err != nil {
			shown.Error = h.Err.Error()
		}
		record.Beam = append(record.Beam, shown)
	}
	if record.Pred = answer.SQL; err != nil {
		record.Pred, record.Error = "", reason(err)
	}
	if x.Query != "" {
		record.score(r.schemas[x.DBID])
	}
	return record, nil
}

// reason says without the question itself why there is no answer.
func reason(err error) string {
	var none *parser.NoAnswerError
	switch {
	case !errors.As(err, &none):
		return err.Error()
	case len(none.Beam) == 0:
		return "the search found no complete query"
	}
	return fmt.Sprintf("none of %d queries can be run; the likeliest: %v", len(none.Beam), none.Beam[0].Err)
}

func (r *Record) score(s *eval.Schema) {
	v, err := s.Match(r.Gold, r.Pred)
	if err != nil {
		r.GoldError = err.Error()
		return
	}
	r.Verdict, r.Exact, r.Hardness = v, &v.Exact, v.Hardness
}
