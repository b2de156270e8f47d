// Package database is the one way into a user's SQLite file. The file is opened for
// reading only, and so that nothing is written beside it either; each statement goes
// through an authorizer that lets reading through and nothing else; time, rows and the
// length of values are limited.
//
// What is relied on is documented by SQLite: URI parameters (sqlite.org/uri.html), the
// authorizer (c3ref/set_authorizer.html), run-time limits (limits.html) and read-only
// databases in WAL mode (wal.html#readonly).
package database

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/mattn/go-sqlite3"

	"github.com/tabert-workbench/tabert-workbench/schema"
)

// DB is an open file. It may be used by many goroutines at once.
type DB struct {
	path   string
	source source
	schema *schema.Database
	views  []string
	notes  []string

	mu     sync.Mutex
	idle   []*conn
	closed bool
}

// maxIdle is how many connections wait for the next query; more may be in use.
const maxIdle = 4

// Open opens a SQLite file for reading. A file that cannot be read, is no SQLite
// database or has no tables is an error of one line that names the file.
func Open(path string) (*DB, error) {
	src, err := locate(path)
	if err != nil {
		return nil, err
	}
	db, err := open(path, src)
	if e := (sqlite3.Error{}); errors.As(err, &e) && e.ExtendedCode == sqlite3.ErrReadonlyRollback {
		// An interrupted write left a journal that has to be played back: on a copy.
		if src, err = copied(path, "-journal"); err == nil {
			db, err = open(path, src)
		}
	}
	if err != nil {
		src.remove()
		return nil, failure(path, err)
	}
	return db, nil
}

func open(path string, src source) (*DB, error) {
	db := &DB{path: path, source: src}
	if src.note != "" {
		db.notes = append(db.notes, src.note)
	}
	c, err := connect(src.dsn)
	if err != nil {
		return nil, err
	}
	// The schema is read before the guard stands: it forbids PRAGMAs.
	if err := db.readSchema(c); err != nil {
		c.Close()
		return nil, err
	}
	c.guard()
	db.idle = []*conn{c}
	return db, nil
}

// Path is the file's path, as it was given to Open.
func (d *DB) Path() string { return d.path }

// Notes are remarks for the user on how the file was opened and what of it was left out.
func (d *DB) Notes() []string { return slices.Clone(d.notes) }

// Schema is what the file says about itself, read when it was opened. Tables are in the
// file's order, then views, which have no keys. The caller must not change it.
func (d *DB) Schema() (*schema.Database, error) { return d.schema, nil }

// Views are the names of those of the schema's tables that are views.
func (d *DB) Views() []string { return slices.Clone(d.views) }

// Close closes the file. Queries that are still running end first.
func (d *DB) Close() error {
	d.mu.Lock()
	idle := d.idle
	d.idle, d.closed = nil, true
	d.mu.Unlock()
	var errs []error
	for _, c := range idle {
		errs = append(errs, c.Close())
	}
	d.source.remove()
	return errors.Join(errs...)
}

// with lends a guarded connection to fn.
func (d *DB) with(ctx context.Context, fn func(*conn) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	c, err := d.take()
	if err != nil {
		return failure(d.path, err)
	}
	defer d.give(c)
	return fn(c)
}

func (d *DB) take() (*conn, error) {
	d.mu.Lock()
	if d.closed {
		d.mu.Unlock()
		return nil, os.ErrClosed
	}
	if n := len(d.idle); n > 0 {
		c := d.idle[n-1]
		d.idle = d.idle[:n-1]
		d.mu.Unlock()
		return c, nil
	}
	d.mu.Unlock()
	c, err := connect(d.source.dsn)
	if err != nil {
		return nil, err
	}
	c.guard()
	return c, nil
}

func (d *DB) give(c *conn) {
	d.mu.Lock()
	keep := !d.closed && len(d.idle) < maxIdle
	if keep {
		d.idle = append(d.idle, c)
	}
	d.mu.Unlock()
	if !keep {
		c.Close()
	}
}

// failure says in one line what went wrong with the file itself.
func failure(path string, err error) error {
	var e sqlite3.Error
	if !errors.As(err, &e) {
		var known *fileError
		if errors.As(err, &known) {
			return err
		}
		return &fileError{path, err.Error(), err}
	}
	switch e.Code {
	case sqlite3.ErrBusy, sqlite3.ErrLocked:
		return &fileError{path, fmt.Sprintf("locked by another program (waited %v)", busyTimeout), err}
	case sqlite3.ErrNotADB:
		return &fileError{path, "not a readable SQLite database: the header is SQLite's, what follows is not (encrypted or damaged)", err}
	case sqlite3.ErrCorrupt:
		return &fileError{path, "the database is damaged: " + oneLine(err), err}
	default:
		return &fileError{path, oneLine(err), err}
	}
}

// fileError is one line about one file.
type fileError struct {
	path, text string
	cause      error
}

func (e *fileError) Error() string { return e.path + ": " + e.text }
func (e *fileError) Unwrap() error { return e.cause }

func oneLine(err error) string { return strings.Join(strings.Fields(err.Error()), " ") }
