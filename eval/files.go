package eval

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/tabert-workbench/tabert-workbench/schema"
)

// A Pair is a gold query of a database and what a parser made of its question.
type Pair struct {
	DB, Gold, Pred string
}

// A Line is a line of a gold or prediction file. DB is empty in predictions.
type Line struct {
	Number int // from 1
	SQL    string
	DB     string
}

// ReadGold reads a gold file of Spider: the query, a tab, and the database on each line.
// Blank lines are skipped.
func ReadGold(r io.Reader) ([]Line, error) {
	return readLines(r, func(fields []string, l *Line) error {
		if len(fields) != 2 {
			return fmt.Errorf("line %d has %d fields between tabs, expected a query and a db_id", l.Number, len(fields))
		}
		l.SQL, l.DB = fields[0], fields[1]
		return nil
	})
}

// ReadPred reads a prediction file of Spider: a query on each line. What follows a tab is
// ignored, and blank lines are skipped, both as in the official script.
func ReadPred(r io.Reader) ([]Line, error) {
	return readLines(r, func(fields []string, l *Line) error {
		l.SQL = fields[0]
		return nil
	})
}

func readLines(r io.Reader, set func(fields []string, l *Line) error) ([]Line, error) {
	var lines []Line
	b := bufio.NewReader(r)
	for n := 1; ; n++ {
		text, err := b.ReadString('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		if n == 1 {
			text = strings.TrimPrefix(text, "\ufeff")
		}
		if stripped := strings.TrimFunc(text, isSpace); stripped != "" {
			l := Line{Number: n}
			if err := set(strings.Split(stripped, "\t"), &l); err != nil {
				return nil, err
			}
			lines = append(lines, l)
		}
		if err != nil {
			return lines, nil
		}
	}
}

// ScoreFiles scores a prediction file against a gold file.
func ScoreFiles(gold, pred io.Reader, schemas map[string]*Schema) (*Report, error) {
	golds, err := ReadGold(gold)
	if err != nil {
		return nil, fmt.Errorf("gold queries: %w", err)
	}
	preds, err := ReadPred(pred)
	if err != nil {
		return nil, fmt.Errorf("predictions: %w", err)
	}
	pairs, err := Zip(golds, preds)
	if err != nil {
		return nil, err
	}
	return Score(pairs, schemas, nil)
}

// Zip puts the lines of a gold and a prediction file together. The official script would
// silently drop the rest of the longer file.
func Zip(gold, pred []Line) ([]Pair, error) {
	if len(gold) != len(pred) {
		return nil, fmt.Errorf("there are %d gold queries and %d predictions, expected as many (blank lines do not count: an empty prediction needs some text, like SELECT)",
			len(gold), len(pred))
	}
	pairs := make([]Pair, len(gold))
	for i, g := range gold {
		pairs[i] = Pair{g.DB, g.SQL, pred[i].SQL}
	}
	return pairs, nil
}

// Score compares all pairs, and calls each, unless it is nil, with every verdict in order.
func Score(pairs []Pair, schemas map[string]*Schema, each func(i int, v Verdict)) (*Report, error) {
	report := new(Report)
	for i, p := range pairs {
		s, ok := schemas[p.DB]
		if !ok {
			return nil, fmt.Errorf("pair %d: there is no database %q in the tables", i+1, p.DB)
		}
		v, err := s.Match(p.Gold, p.Pred)
		if err != nil {
			return nil, fmt.Errorf("pair %d: %w", i+1, err)
		}
		report.Add(v)
		if each != nil {
			each(i, v)
		}
	}
	return report, nil
}

// LoadSchemas prepares databases, by their db_id, from a tables.json of Spider.
func LoadSchemas(path string) (map[string]*Schema, error) {
	dbs, err := schema.LoadJSON(path)
	if err != nil {
		return nil, err
	}
	all := make(map[string]*Schema, len(dbs))
	for name, db := range dbs {
		all[name] = NewSchema(db)
	}
	return all, nil
}
