// Command sample takes the part of Spider that lies in testdata/spider out of a copy of
// all of Spider. From the repository's root:
//
//	go run ./internal/sample --from ../shared/spider
//
// The same release gives the same bytes: records keep their fields, their order and their
// spelling, one a line; database files are copied.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/alecthomas/kong"
)

// part says what is taken from one of Spider's files.
type part struct {
	file      string
	each      int // at most so many questions of one database, evenly spread; 0: all
	databases []string
}

var parts = []part{
	{"dev.json", 0, []string{
		"battle_death", "car_1", "concert_singer", "course_teach", "employee_hire_evaluation", "flight_2",
		"museum_visit", "pets_1", "poker_player", "student_transcripts_tracking", "tvshow", "world_1",
	}},
	{"train_spider.json", 22, []string{
		"activity_1", "allergy_1", "book_2", "candidate_poll", "club_1", "department_management", "dorm_1",
		"entrepreneur", "farm", "gymnast", "hr_1", "movie_1", "music_4", "network_2", "student_1",
	}},
	{"train_others.json", 10, []string{"geo", "restaurants"}},
}

func main() {
	var cli struct {
		From string `required:"" type:"existingdir" placeholder:"DIR" help:"All of Spider."`
		To   string `default:"testdata/spider" placeholder:"DIR" help:"Where the sample goes."`
	}
	k := kong.Parse(&cli, kong.Description("Take the sample in testdata/spider out of all of Spider."))
	k.FatalIfErrorf(run(cli.From, cli.To))
}

func run(from, to string) error {
	var all []string
	for _, p := range parts {
		all = append(all, p.databases...)
		taken := map[string]int{}
		records, err := read(filepath.Join(from, p.file))
		if err != nil {
			return err
		}
		total := map[string]int{}
		for _, r := range records {
			total[r.DBID]++
		}
		seen := map[string]int{}
		records = slices.DeleteFunc(records, func(r record) bool {
			if !slices.Contains(p.databases, r.DBID) {
				return true
			}
			i, n := seen[r.DBID], total[r.DBID]
			seen[r.DBID]++
			// The i-th of n is taken when i·each/n steps up: each of them, evenly spread.
			if p.each > 0 && n > p.each && i*p.each/n == (i-1)*p.each/n && i > 0 {
				return true
			}
			taken[r.DBID]++
			return false
		})
		for _, id := range p.databases {
			if taken[id] == 0 {
				return fmt.Errorf("%s has no question for %s", p.file, id)
			}
		}
		if err := write(filepath.Join(to, p.file), records); err != nil {
			return err
		}
	}

	tables, err := read(filepath.Join(from, "tables.json"))
	if err != nil {
		return err
	}
	tables = slices.DeleteFunc(tables, func(r record) bool { return !slices.Contains(all, r.DBID) })
	if err := write(filepath.Join(to, "tables.json"), tables); err != nil {
		return err
	}
	for _, id := range all {
		path := filepath.Join("database", id, id+".sqlite")
		content, err := os.ReadFile(filepath.Join(from, path))
		if err != nil {
			return err
		}
		if err := os.MkdirAll(filepath.Join(to, filepath.Dir(path)), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(to, path), content, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// record is one entry of a file, and which database it is about.
type record struct {
	DBID string `json:"db_id"`
	raw  json.RawMessage
}

func (r *record) UnmarshalJSON(b []byte) error {
	type plain record
	r.raw = slices.Clone(b)
	return json.Unmarshal(b, (*plain)(r))
}

func read(path string) ([]record, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var records []record
	if err := json.Unmarshal(content, &records); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return records, nil
}

func write(path string, records []record) error {
	out := bytes.NewBufferString("[\n")
	for i, r := range records {
		if i > 0 {
			out.WriteString(",\n")
		}
		if err := json.Compact(out, r.raw); err != nil {
			return err
		}
	}
	out.WriteString("\n]\n")
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, out.Bytes(), 0o644)
}
