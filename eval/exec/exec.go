// Package exec is execution match, the second score of Spider's evaluation: a
// prediction is right if its rows are those of the gold query. The rules are those of
// exec_eval.py of the test-suite evaluation (plug_value and keep_distinct off): DISTINCT
// is taken out of both queries; rows are compared as a bag, or in order if the gold query
// says ORDER BY anywhere; columns may stand in any order; 1 and 1.0 are equal; bytes that
// are not UTF-8 are dropped from text.
//
// Each query runs on a read-only connection with limits, so that a statement that writes,
// which the official code would run, is an error here.
//
// Source: Zhong, Yu and Klein, Semantic Evaluation for Text-to-SQL with Distilled Test
// Suites (EMNLP 2020), and github.com/taoyds/test-suite-sql-eval.
package exec

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/tabert-workbench/tabert-workbench/database"
)

// Note says why a pair has no answer.
type Note string

// The notes of the conformance files.
const (
	// EmptyDatabase: no table has a row, so that right and wrong cannot be told apart.
	EmptyDatabase Note = "empty_db"
	// GoldError: the gold query fails, or has more rows than the limits allow.
	GoldError Note = "gold_error"
	// NoPrediction: the official code crashes on a prediction without any text.
	NoPrediction Note = "crash:IndexError"
)

// Verdict is whether a prediction has the right answer.
type Verdict struct {
	Match bool
	Note  Note  // not "": there is no answer, and Match is false
	Err   error // why the prediction, or with GoldError the gold query, could not be run
}

// Limits bound what a query may cost. Zero fields take the defaults.
type Limits struct {
	Time  time.Duration // of one query: 30 s
	Rows  int           // of a gold query: a million
	Bytes int           // of a gold query's values: 256 MiB
}

func (l Limits) filled() Limits {
	if l.Time == 0 {
		l.Time = 30 * time.Second
	}
	if l.Rows == 0 {
		l.Rows = 1_000_000
	}
	if l.Bytes == 0 {
		l.Bytes = 256 << 20
	}
	return l
}

// Suite is the databases on which the predictions for one db_id are run: one file, or
// several with the same tables. It is safe for concurrent use.
type Suite struct {
	files []*file
	empty bool
}

type file struct {
	db *database.DB

	mu   sync.Mutex
	gold map[string]*answer
}

// answer is what a gold query has.
type answer struct {
	rows [][]any
	err  error
}

// A file keeps this many answers to gold queries, and none with more rows than keepRows.
const (
	keepAnswers = 1 << 12
	keepRows    = 10_000
)

// Open opens database files with the same tables. A prediction has to be right on all.
func Open(paths ...string) (*Suite, error) {
	s := &Suite{empty: true}
	for _, path := range paths {
		db, err := database.Open(path)
		if err != nil {
			s.Close()
			return nil, err
		}
		s.files = append(s.files, &file{db: db, gold: map[string]*answer{}})
		empty, err := isEmpty(db)
		if err != nil {
			s.Close()
			return nil, err
		}
		s.empty = s.empty && empty
	}
	if len(s.files) == 0 {
		return nil, errors.New("no database to run queries on")
	}
	return s, nil
}

// OpenFolder opens every file of a folder that has .sqlite in its name, as a test suite has
// them.
func OpenFolder(dir string) (*Suite, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var paths []string
	for _, e := range entries {
		// A journal or a lock file beside a database is none.
		name := e.Name()
		if !e.IsDir() && strings.Contains(name, ".sqlite") && !strings.HasSuffix(name, "-journal") &&
			!strings.HasSuffix(name, "-wal") && !strings.HasSuffix(name, "-shm") {
			paths = append(paths, filepath.Join(dir, name))
		}
	}
	if len(paths) == 0 {
		return nil, fmt.Errorf("%s: no file with .sqlite in its name", dir)
	}
	return Open(paths...)
}

// Close closes all files.
func (s *Suite) Close() error {
	var errs []error
	for _, f := range s.files {
		errs = append(errs, f.db.Close())
	}
	return errors.Join(errs...)
}

var errFound = errors.New("a row is there")

func isEmpty(db *database.DB) (bool, error) {
	schema, err := db.Schema()
	if err != nil {
		return false, err
	}
	views := map[string]bool{}
	for _, v := range db.Views() {
		views[v] = true
	}
	for _, t := range schema.Tables {
		if len(t.Columns) == 0 || views[t.Original] {
			continue
		}
		err := db.Cells(context.Background(), t.Original, []string{t.Columns[0].Original}, func([]any) error { return errFound })
		if errors.Is(err, errFound) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
	}
	return true, nil
}

// Match runs both queries, and compares what they have.
func (s *Suite) Match(ctx context.Context, gold, pred string, lim Limits) Verdict {
	lim = lim.filled()
	if s.empty {
		return Verdict{Note: EmptyDatabase}
	}
	if strings.TrimSpace(pred) == "" {
		return Verdict{Note: NoPrediction}
	}
	gold, pred = prepare(gold), prepare(pred)
	ordered := strings.Contains(strings.ToLower(gold), "order by")
	for _, f := range s.files {
		g := f.answer(ctx, gold, lim)
		if g.err != nil {
			return Verdict{Note: GoldError, Err: g.err}
		}
		// One row more than the gold query has is one too many, whatever it is. An answer
		// that is cut off for its size is longer than the gold query's, too.
		rows, truncated, err := f.query(ctx, pred, database.Limits{Rows: len(g.rows) + 1, Time: lim.Time, Bytes: lim.Bytes})
		if err != nil {
			return Verdict{Err: err}
		}
		if truncated || !sameRows(g.rows, rows, ordered) {
			return Verdict{}
		}
	}
	return Verdict{Match: true}
}

// answer is a gold query's, from memory if it has been asked before.
func (f *file) answer(ctx context.Context, sql string, lim Limits) *answer {
	f.mu.Lock()
	a := f.gold[sql]
	f.mu.Unlock()
	if a != nil {
		return a
	}
	a = new(answer)
	var truncated bool
	a.rows, truncated, a.err = f.query(ctx, sql, database.Limits{Rows: lim.Rows, Time: lim.Time, Bytes: lim.Bytes})
	if truncated {
		a.rows, a.err = nil, fmt.Errorf("the gold query has more than %d rows or %d MiB", lim.Rows, lim.Bytes>>20)
	}
	if a.err != nil || len(a.rows) > keepRows {
		return a // an error may be the time limit's, and not come again
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.gold) >= keepAnswers {
		clear(f.gold)
	}
	f.gold[sql] = a
	return a
}

func (f *file) query(ctx context.Context, sql string, lim database.Limits) (rows [][]any, truncated bool, err error) {
	if strings.Trim(sql, "; \t\r\n") == "" {
		return nil, false, nil // Python runs nothing, and finds no rows
	}
	r, err := f.db.Query(ctx, sql, lim)
	if err != nil {
		return nil, false, err
	}
	return r.Rows, r.Truncated, nil
}

// curYear is MySQL's way to ask for the year, which the official code replaces by one.
var curYear = regexp.MustCompile(`(?i)YEAR\s*\(\s*CURDATE\s*\(\s*\)\s*\)\s*`)

var spacedComparisons = strings.NewReplacer("> =", ">=", "< =", "<=", "! =", "!=")

// prepare rewrites a query as the official code does before it runs it.
func prepare(sql string) string {
	return curYear.ReplaceAllString(removeDistinct(spacedComparisons.Replace(sql)), "2020")
}
