package predict

import (
	"context"
	"fmt"

	"github.com/tabert-workbench/tabert-workbench/database"
	"github.com/tabert-workbench/tabert-workbench/parser"
	"github.com/tabert-workbench/tabert-workbench/schema"
	"github.com/tabert-workbench/tabert-workbench/spider"
)

// Sources reads databases on demand, each once: with its cells where its file is there,
// else its schema alone. Names are those of the schema, not of the file.
type Sources struct {
	data *spider.Data
	read map[string]*parser.Source
}

// NewSources is for the databases of data.
func NewSources(data *spider.Data) *Sources {
	return &Sources{data: data, read: map[string]*parser.Source{}}
}

// Get is the database of that id.
func (s *Sources) Get(ctx context.Context, id string) (*parser.Source, error) {
	if src := s.read[id]; src != nil {
		return src, nil
	}
	db, ok := s.data.Databases[id]
	if !ok {
		return nil, fmt.Errorf("no schema of database %q", id)
	}
	src := parser.NewSource(db)
	if s.data.HasFile(id) {
		var err error
		if src, err = readFile(ctx, s.data.DatabasePath(id), db); err != nil {
			return nil, err
		}
	}
	s.read[id] = src
	return src, nil
}

func readFile(ctx context.Context, path string, s *schema.Database) (*parser.Source, error) {
	db, err := database.Open(path)
	if err != nil {
		return nil, err
	}
	defer db.Close()
	return parser.ReadSource(ctx, db, s)
}
