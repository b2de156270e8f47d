package spider

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/tabert-workbench/tabert-workbench/database"
)

// Pairs is the split of examples that came from files of one's own.
const Pairs Split = "pairs"

// pair is a line of a file of one's own: {"question": …, "query": …} and either
// "db_id", a database of tables.json, or "database", an SQLite file beside it.
type pair struct {
	Question string `json:"question"`
	Query    string `json:"query"`
	DBID     string `json:"db_id"`
	Database string `json:"database"`
}

// AddPairs adds questions of one's own, as JSON Lines with question, query and db_id or
// database (the path of an SQLite file, relative to the file itself). It returns how many.
func (d *Data) AddPairs(path string) (int, error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	ids := map[string]string{} // by path of the SQLite file
	for id, file := range d.own {
		ids[file] = id
	}
	added := 0
	lines := bufio.NewReader(f)
	for number := 1; ; number++ {
		line, err := lines.ReadBytes('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return added, err
		}
		if len(bytes.TrimSpace(line)) > 0 {
			if e, err := d.pair(line, filepath.Dir(path), ids); err != nil {
				return added, fmt.Errorf("%s:%d: %w", path, number, err)
			} else {
				e.ID = number - 1
				d.Examples = append(d.Examples, e)
				added++
			}
		}
		if err != nil {
			return added, nil
		}
	}
}

func (d *Data) pair(line []byte, dir string, ids map[string]string) (Example, error) {
	var p pair
	dec := json.NewDecoder(bytes.NewReader(line))
	if err := dec.Decode(&p); err != nil {
		return Example{}, fmt.Errorf("expected a JSON object with question, query and db_id or database: %w", err)
	}
	if strings.TrimSpace(p.Query) == "" {
		return Example{}, errors.New("no query")
	}
	if (p.DBID == "") == (p.Database == "") {
		return Example{}, errors.New("expected either db_id or database")
	}
	if p.Database != "" {
		path := p.Database
		if !filepath.IsAbs(path) {
			path = filepath.Join(dir, path)
		}
		id, known := ids[path]
		if !known {
			var err error
			if id, err = d.addFile(path); err != nil {
				return Example{}, err
			}
			ids[path] = id
		}
		p.DBID = id
	}
	e := Example{Split: Pairs, DBID: p.DBID, Question: p.Question, Query: p.Query}
	return e, d.check(e)
}

// addFile adds a database by its file, under a name that no other has.
func (d *Data) addFile(path string) (string, error) {
	db, err := database.Open(path)
	if err != nil {
		return "", err
	}
	defer db.Close()
	s, err := db.Schema()
	if err != nil {
		return "", err
	}
	own := *s
	for n := 2; d.Databases[own.ID] != nil; n++ {
		own.ID = fmt.Sprintf("%s#%d", s.ID, n)
	}
	d.Databases[own.ID] = &own
	d.own[own.ID] = path
	return own.ID, nil
}
