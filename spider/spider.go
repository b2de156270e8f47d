// Package spider loads Spider, the benchmark of questions over databases (Yu et al., EMNLP
// 2018), from the files of its public release as they are, at any path:
//
//	train_spider.json, train_others.json, dev.json, test.json
//	tables.json, for the newer test split test_tables.json
//	database/<db_id>/<db_id>.sqlite, for the newer test split test_database/…
//
// Questions of one's own join as JSON Lines (Data.AddPairs).
package spider

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tabert-workbench/tabert-workbench/schema"
)

// Split names a set of questions: one of the release's, or the path of a JSON file in the same layout.
type Split string

// The release's own splits.
const (
	Train  Split = "train"  // train_spider.json
	Others Split = "others" // train_others.json
	Dev    Split = "dev"    // dev.json
	Test   Split = "test"   // test.json
)

// files of the release's splits
var files = map[Split]string{Train: "train_spider.json", Others: "train_others.json", Dev: "dev.json", Test: "test.json"}

// path is where the split's questions are.
func (s Split) path(dir string) (string, error) {
	if file, ok := files[s]; ok {
		return filepath.Join(dir, file), nil
	}
	if strings.HasSuffix(string(s), ".json") {
		return string(s), nil
	}
	return "", fmt.Errorf("unknown split %q: expected train, others, dev, test or a .json file", string(s))
}

// Example is one question with its gold query.
type Example struct {
	ID       int    // its number within its split, from 0
	Split    Split  // where it is from
	DBID     string // key of Data.Databases
	Question string
	Query    string // empty where a file of one's own gives none
}

// Layout says where the parts of the release are. Tables and Databases are in Dir unless
// they are given.
type Layout struct {
	Dir       string
	Tables    string // a file like tables.json
	Databases string // a folder like database
}

// Data is what was loaded.
type Data struct {
	Databases map[string]*schema.Database
	Examples  []Example
	folders   []string          // where database files are looked for
	own       map[string]string // files of databases that are not Spider's, by ID
}

// Load loads the schemas and the questions of some splits from a folder.
func Load(dir string, splits ...Split) (*Data, error) { return Layout{Dir: dir}.Load(splits...) }

// Load loads the schemas and the questions of some splits. A Layout of no folder and no
// tables has none, for AddPairs to add to.
func (l Layout) Load(splits ...Split) (*Data, error) {
	d := &Data{Databases: map[string]*schema.Database{}, own: map[string]string{}}
	var tables []string
	if l.Dir != "" || l.Tables != "" || len(splits) > 0 {
		tables = []string{cmp.Or(l.Tables, filepath.Join(l.Dir, "tables.json"))}
	}
	d.folders = []string{cmp.Or(l.Databases, filepath.Join(l.Dir, "database"))}
	if slices.Contains(splits, Test) {
		if newer := filepath.Join(l.Dir, "test_tables.json"); l.Tables == "" && exists(newer) {
			tables = append(tables, newer)
		}
		if l.Databases == "" {
			d.folders = append(d.folders, filepath.Join(l.Dir, "test_database"))
		}
	}
	for _, path := range tables {
		dbs, err := schema.LoadJSON(path)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("no %s: expected a folder with Spider's public release (tables.json, dev.json, database/…)", path)
		} else if err != nil {
			return nil, err
		}
		maps.Copy(d.Databases, dbs)
	}
	for _, s := range splits {
		examples, err := d.read(l.Dir, s)
		if err != nil {
			return nil, err
		}
		d.Examples = append(d.Examples, examples...)
	}
	return d, nil
}

func (d *Data) read(dir string, split Split) ([]Example, error) {
	path, err := split.path(dir)
	if err != nil {
		return nil, err
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	dec := json.NewDecoder(f)
	if t, err := dec.Token(); err != nil || t != json.Delim('[') {
		return nil, fmt.Errorf("%s: expected a JSON list of questions with db_id, question and query", path)
	}
	var examples []Example
	for id := 0; dec.More(); id++ {
		var r struct {
			DBID     string `json:"db_id"`
			Question string `json:"question"`
			Query    string `json:"query"`
		}
		if err := dec.Decode(&r); err != nil {
			return nil, fmt.Errorf("%s: record %d: %w", path, id, err)
		}
		e := Example{ID: id, Split: split, DBID: r.DBID, Question: r.Question, Query: r.Query}
		if err := d.check(e); err != nil {
			return nil, fmt.Errorf("%s: record %d: %w", path, id, err)
		}
		// Only a file of one's own may be without the answers.
		if _, known := files[split]; known && strings.TrimSpace(r.Query) == "" {
			return nil, fmt.Errorf("%s: record %d: no query", path, id)
		}
		examples = append(examples, e)
	}
	if _, err := dec.Token(); err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return nil, fmt.Errorf("%s: after record %d: %w", path, len(examples)-1, err)
	}
	return examples, nil
}

func (d *Data) check(e Example) error {
	switch {
	case strings.TrimSpace(e.Question) == "":
		return errors.New("no question")
	case e.DBID == "":
		return errors.New("no db_id")
	case d.Databases[e.DBID] == nil:
		return fmt.Errorf("db_id %q is not in tables.json", e.DBID)
	}
	return nil
}

// DatabasePath is the SQLite file of a database, whether it is there or not.
func (d *Data) DatabasePath(id string) string {
	if path, ok := d.own[id]; ok {
		return path
	}
	var path string
	for _, folder := range slices.Backward(d.folders) {
		path = filepath.Join(folder, id, id+".sqlite")
		if exists(path) {
			break
		}
	}
	return path
}

// HasFile says whether a database's SQLite file is there.
func (d *Data) HasFile(id string) bool { return exists(d.DatabasePath(id)) }

// IDs are the databases that the examples are about, each once, sorted.
func (d *Data) IDs() []string {
	ids := map[string]bool{}
	for _, e := range d.Examples {
		ids[e.DBID] = true
	}
	return slices.Sorted(maps.Keys(ids))
}

// Missing are those of IDs that have no file. Their questions are answered, and trained
// on, with the schema alone.
func (d *Data) Missing() []string {
	return slices.DeleteFunc(d.IDs(), d.HasFile)
}

// HeldOut chooses n databases to measure on while training on the others. The choice
// depends on the set of IDs and on the seed alone.
func HeldOut(ids []string, n int, seed uint64) []string {
	ids = slices.Compact(slices.Sorted(slices.Values(ids)))
	random := rand.New(rand.NewPCG(seed, 0))
	random.Shuffle(len(ids), func(i, j int) { ids[i], ids[j] = ids[j], ids[i] })
	ids = ids[:max(0, min(n, len(ids)))]
	slices.Sort(ids)
	return ids
}

// HeldOut chooses n of the databases of train_spider.json whose files are there, and
// leaves at least one of them to train on.
func (d *Data) HeldOut(n int, seed uint64) []string {
	var ids []string
	for _, id := range d.IDs() {
		if d.HasFile(id) && slices.ContainsFunc(d.Examples, func(e Example) bool { return e.DBID == id && e.Split == Train }) {
			ids = append(ids, id)
		}
	}
	return HeldOut(ids, min(n, len(ids)-1), seed)
}

// Part parts the examples into those on other databases and those on the given ones.
func (d *Data) Part(ids []string) (others, on []Example) {
	for _, e := range d.Examples {
		if slices.Contains(ids, e.DBID) {
			on = append(on, e)
		} else {
			others = append(others, e)
		}
	}
	return others, on
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
