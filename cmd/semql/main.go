// Command semql translates between SQL and SemQL, the abstract syntax that the parser
// generates, and measures what the translation loses.
package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/tabert-workbench/tabert-workbench/asdl"
	"github.com/tabert-workbench/tabert-workbench/cmd/semql/internal/roundtrip"
	"github.com/tabert-workbench/tabert-workbench/database"
	"github.com/tabert-workbench/tabert-workbench/internal/cli"
	"github.com/tabert-workbench/tabert-workbench/schema"
	"github.com/tabert-workbench/tabert-workbench/semql"
	"github.com/tabert-workbench/tabert-workbench/spider"
	"github.com/tabert-workbench/tabert-workbench/tranx"
)

const description = `Translate between SQL and SemQL trees.

Examples:
  semql roundtrip --data ../shared/spider
  semql parse --data ../shared/spider concert_singer "SELECT count(*) FROM singer"
  semql render --data ../shared/spider concert_singer "(SelectStatement None [(ColumnReference #1.1)] - - - [] -)"
  semql schema shop.sqlite > tables.json`

type options struct {
	Roundtrip roundtripOptions `cmd:"" help:"Take gold queries from SQL to trees and back, and print what is lost. For example: semql roundtrip --data ../shared/spider --split dev"`
	Parse     parseOptions     `cmd:"" help:"Print the tree of a query. For example: semql parse --data ../shared/spider concert_singer 'SELECT count(*) FROM singer'"`
	Render    renderOptions    `cmd:"" help:"Print the SQL of a tree. For example: semql render --tables tables.json shop '(SelectStatement None [(ColumnReference #0.1)] - - - [] -)'"`
	Schema    schemaOptions    `cmd:"" help:"Print the schema of an SQLite file in the layout of Spider's tables.json. For example: semql schema shop.sqlite > tables.json"`
}

func main() { os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }

func run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	var opts options
	ctx, code, done := cli.Command{Name: "semql", Description: description, Grammar: &opts}.Parse(args, stdout, stderr)
	if done {
		return code
	}
	var err error
	switch strings.Fields(ctx.Command())[0] {
	case "roundtrip":
		err = opts.Roundtrip.run(stdout)
	case "parse":
		err = opts.Parse.run(stdin, stdout)
	case "render":
		err = opts.Render.run(stdin, stdout)
	case "schema":
		err = opts.Schema.run(stdout)
	}
	return cli.Fail(stderr, "semql", err)
}

type roundtripOptions struct {
	Data    string `required:"" placeholder:"DIR" predictor:"dir" help:"Folder of Spider's public release."`
	Split   string `default:"all" placeholder:"SPLIT" help:"train, others, dev, all, or a file like dev.json (${default})."`
	Grammar string `default:"figure" enum:"figure" help:"The grammar: figure, the paper's (${default})."`
	JSON    string `name:"json" placeholder:"FILE" predictor:"file" help:"Write what became of each query to this file, one JSON object a line."`
}

func (o *roundtripOptions) run(stdout io.Writer) (err error) {
	splits := []spider.Split{spider.Split(o.Split)}
	if o.Split == "all" {
		splits = []spider.Split{spider.Train, spider.Others, spider.Dev}
	}
	data, err := spider.Load(o.Data, splits...)
	if err != nil {
		return err
	}
	g, err := semql.Grammar(o.Grammar)
	if err != nil {
		return err
	}
	records := io.Discard
	if o.JSON != "" {
		f, err := os.Create(o.JSON)
		if err != nil {
			return err
		}
		b := bufio.NewWriter(f)
		records = b
		defer func() {
			for _, e := range []error{b.Flush(), f.Close()} {
				if err == nil {
					err = e
				}
			}
		}()
	}
	var table roundtrip.Table
	err = roundtrip.Run(data, g, func(r roundtrip.Record) error {
		table.Add(r)
		return r.WriteJSON(records)
	})
	if err != nil {
		return err
	}
	return table.Write(stdout)
}

// from says where the schema of a database is.
type from struct {
	Data    string `placeholder:"DIR" predictor:"dir" xor:"schema" help:"Folder of Spider's public release; its tables.json has the schema."`
	Tables  string `placeholder:"FILE" predictor:"file" xor:"schema" help:"File like tables.json that has the schema."`
	Grammar string `default:"figure" enum:"figure" help:"The grammar: figure, the paper's (${default})."`
}

func (f from) load(id string) (*schema.Database, *asdl.Grammar, error) {
	path := f.Tables
	switch {
	case f.Data != "":
		path = filepath.Join(f.Data, "tables.json")
	case path == "":
		return nil, nil, cli.Usagef("expected --data or --tables, to know the schema of %s", id)
	}
	dbs, err := schema.LoadJSON(path)
	if err != nil {
		return nil, nil, err
	}
	if dbs[id] == nil {
		return nil, nil, fmt.Errorf("%s: no database %q", path, id)
	}
	g, err := semql.Grammar(f.Grammar)
	return dbs[id], g, err
}

// text is an argument, or what stdin has where there is none.
func text(argument string, stdin io.Reader, what string) (string, error) {
	if argument == "" {
		b, err := io.ReadAll(stdin)
		if err != nil {
			return "", err
		}
		argument = string(b)
	}
	if strings.TrimSpace(argument) == "" {
		return "", cli.Usagef("no %s: expected it as the last argument or on standard input", what)
	}
	return argument, nil
}

type parseOptions struct {
	from
	Actions bool   `help:"Print the actions that build the tree, too."`
	DBID    string `arg:"" name:"db_id" help:"Database."`
	SQL     string `arg:"" optional:"" name:"sql" help:"Query (default: standard input)."`
}

func (o *parseOptions) run(stdin io.Reader, stdout io.Writer) error {
	db, g, err := o.load(o.DBID)
	if err != nil {
		return err
	}
	query, err := text(o.SQL, stdin, "query")
	if err != nil {
		return err
	}
	tree, err := semql.FromSQL(query, db, g)
	if err != nil {
		return err
	}
	fmt.Fprintln(stdout, tree)
	if !o.Actions {
		return nil
	}
	system, err := tranx.NewSystem(g, semql.LeafKinds())
	if err != nil {
		return err
	}
	actions, err := system.Oracle(tree)
	if err != nil {
		return err
	}
	for i, a := range actions {
		fmt.Fprintf(stdout, "%3d %s\n", i, a)
	}
	return nil
}

type renderOptions struct {
	from
	DBID string `arg:"" name:"db_id" help:"Database."`
	Tree string `arg:"" optional:"" name:"tree" help:"Tree as an s-expression (default: standard input)."`
}

func (o *renderOptions) run(stdin io.Reader, stdout io.Writer) error {
	db, g, err := o.load(o.DBID)
	if err != nil {
		return err
	}
	sexpr, err := text(o.Tree, stdin, "tree")
	if err != nil {
		return err
	}
	tree, err := asdl.ParseTree(g, sexpr)
	if err != nil {
		return err
	}
	query, err := semql.Render(tree, db)
	if err != nil {
		return err
	}
	fmt.Fprintln(stdout, query)
	return nil
}

type schemaOptions struct {
	File string `arg:"" name:"file" predictor:"file" help:"SQLite file."`
}

func (o *schemaOptions) run(stdout io.Writer) error {
	db, err := database.Open(o.File)
	if err != nil {
		return err
	}
	defer db.Close()
	s, err := db.Schema()
	if err != nil {
		return err
	}
	return schema.WriteJSON(stdout, []*schema.Database{s})
}
