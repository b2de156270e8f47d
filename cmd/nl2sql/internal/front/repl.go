package front

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"

	"github.com/chzyer/readline"

	"github.com/tabert-workbench/tabert-workbench/database"
	"github.com/tabert-workbench/tabert-workbench/internal/cli"
)

// lineReader is where lines are typed. Readline returns readline.ErrInterrupt for Ctrl-C
// and io.EOF for Ctrl-D.
type lineReader interface {
	Readline() (string, error)
	Close() error
}

// interact answers lines until the person leaves. Ctrl-C stops what runs, not the program.
func (s *session) interact(lines lineReader) error {
	fmt.Fprintf(s.out, "Ask %s something; .help lists commands, .quit leaves.\n", plain(filepath.Base(s.db.Path())))
	for {
		line, err := lines.Readline()
		switch {
		case errors.Is(err, readline.ErrInterrupt):
			if line == "" {
				fmt.Fprintln(s.out, "(.quit or Ctrl-D leaves)")
			}
			continue
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
		err = s.line(ctx, line)
		stop()
		if err == errQuit {
			return nil
		}
		if err != nil {
			cli.Fail(s.err, "nl2sql", err)
		}
	}
}

// prompt reads lines from the terminal, with history across runs and completion of
// commands and names.
func prompt(db *database.DB) (lineReader, error) {
	s, err := db.Schema()
	if err != nil {
		return nil, err
	}
	var tables, words []readline.PrefixCompleterInterface
	for _, t := range s.Tables {
		tables = append(tables, readline.PcItem(t.Original))
	}
	for _, c := range commands() {
		switch c.name {
		case ".schema":
			words = append(words, readline.PcItem(c.name, tables...))
		case ".trace":
			words = append(words, readline.PcItem(c.name, readline.PcItem("on"), readline.PcItem("off")))
		default:
			words = append(words, readline.PcItem(c.name))
		}
	}
	return readline.NewEx(&readline.Config{
		Prompt:            "› ",
		HistoryFile:       historyFile(),
		HistorySearchFold: true,
		InterruptPrompt:   "^C",
		AutoComplete:      readline.NewPrefixCompleter(words...),
	})
}

// historyFile is in the user's state folder; empty, for no history, where there is none.
func historyFile() string {
	dir := os.Getenv("XDG_STATE_HOME")
	if dir == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return ""
		}
		dir = filepath.Join(home, ".local", "state")
		if runtime.GOOS == "windows" || runtime.GOOS == "darwin" {
			if dir, err = os.UserCacheDir(); err != nil {
				return ""
			}
		}
	}
	dir = filepath.Join(dir, "tabert-workbench")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return ""
	}
	return filepath.Join(dir, "nl2sql-history")
}
