package database

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/mattn/go-sqlite3"
)

const (
	busyTimeout = time.Second

	// maxValue is the longest string, blob or row, in bytes.
	maxValue = 16 << 20
	// maxSQL is the longest statement, in bytes.
	maxSQL = 1 << 20
)

// limits bound what one statement can cost before its first row (limits.html).
var limits = map[int]int{
	sqlite3.SQLITE_LIMIT_LENGTH:              maxValue,
	sqlite3.SQLITE_LIMIT_SQL_LENGTH:          maxSQL,
	sqlite3.SQLITE_LIMIT_EXPR_DEPTH:          200,
	sqlite3.SQLITE_LIMIT_COMPOUND_SELECT:     100,
	sqlite3.SQLITE_LIMIT_VDBE_OP:             1_000_000,
	sqlite3.SQLITE_LIMIT_ATTACHED:            0,
	sqlite3.SQLITE_LIMIT_LIKE_PATTERN_LENGTH: 1000,
	sqlite3.SQLITE_LIMIT_TRIGGER_DEPTH:       1,
	sqlite3.SQLITE_LIMIT_WORKER_THREADS:      0,
}

// conn is one connection, and what its authorizer last refused.
type conn struct {
	*sqlite3.SQLiteConn
	refused string
}

func connect(dsn string) (*conn, error) {
	var driver sqlite3.SQLiteDriver // not the registered one: no hooks of anybody else
	opened, err := driver.Open(dsn)
	if err != nil {
		return nil, err
	}
	c := &conn{SQLiteConn: opened.(*sqlite3.SQLiteConn)}
	for _, pragma := range []string{
		"PRAGMA query_only = ON",
		"PRAGMA trusted_schema = OFF", // functions in the file's own views are not trusted
		"PRAGMA cell_size_check = ON", // a damaged file is found out early
		"PRAGMA automatic_index = ON", // joins without an index stay feasible
		"SELECT 1 FROM sqlite_master", // the first look into the file
	} {
		if _, err := c.Exec(pragma, nil); err != nil {
			c.Close()
			return nil, err
		}
	}
	return c, nil
}

// sqliteRecursive is the authorizer's code for a recursive query, which go-sqlite3 does not name.
const sqliteRecursive = 33

// unsafeFunctions reach beyond the statement's own rows.
var unsafeFunctions = map[string]bool{"load_extension": true, "fts3_tokenizer": true, "sqlite_log": true}

// guard lets only reading through from here on. It goes after our own PRAGMAs.
func (c *conn) guard() {
	for id, value := range limits {
		c.SetLimit(id, value)
	}
	c.RegisterAuthorizer(func(op int, arg1, arg2, _ string) int {
		switch op {
		case sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqliteRecursive:
			return sqlite3.SQLITE_OK
		case sqlite3.SQLITE_FUNCTION:
			if !unsafeFunctions[strings.ToLower(arg2)] {
				return sqlite3.SQLITE_OK
			}
			c.refused = "the function " + arg2
			return sqlite3.SQLITE_DENY
		}
		c.refused = actions[op]
		if c.refused == "" {
			c.refused = fmt.Sprintf("a statement that does more than read (SQLite's action %d)", op)
		}
		if arg1 != "" && op != sqlite3.SQLITE_ATTACH {
			c.refused += " " + arg1
		}
		return sqlite3.SQLITE_DENY
	})
}

// actions names what people are most likely to try.
var actions = map[int]string{
	sqlite3.SQLITE_INSERT:        "INSERT",
	sqlite3.SQLITE_UPDATE:        "UPDATE",
	sqlite3.SQLITE_DELETE:        "DELETE",
	sqlite3.SQLITE_CREATE_TABLE:  "CREATE TABLE",
	sqlite3.SQLITE_CREATE_INDEX:  "CREATE INDEX",
	sqlite3.SQLITE_CREATE_VIEW:   "CREATE VIEW",
	sqlite3.SQLITE_CREATE_VTABLE: "CREATE VIRTUAL TABLE",
	sqlite3.SQLITE_DROP_TABLE:    "DROP TABLE",
	sqlite3.SQLITE_ALTER_TABLE:   "ALTER TABLE",
	sqlite3.SQLITE_ATTACH:        "ATTACH",
	sqlite3.SQLITE_DETACH:        "DETACH",
	sqlite3.SQLITE_PRAGMA:        "PRAGMA",
	sqlite3.SQLITE_TRANSACTION:   "a transaction:",
	sqlite3.SQLITE_SAVEPOINT:     "SAVEPOINT",
	sqlite3.SQLITE_REINDEX:       "REINDEX",
	sqlite3.SQLITE_ANALYZE:       "ANALYZE",
}

// explain makes one line of what SQLite said about a statement.
func (c *conn) explain(err error) error {
	refused := c.refused
	c.refused = ""
	var e sqlite3.Error
	if !errors.As(err, &e) {
		return err
	}
	text := oneLine(err)
	switch e.Code {
	case sqlite3.ErrAuth, sqlite3.ErrReadonly, sqlite3.ErrPerm:
		if refused == "" {
			refused = text
		}
		text = "only reading is allowed, refused: " + refused
	case sqlite3.ErrTooBig:
		text = fmt.Sprintf("a value or the statement is too long (limits: %d MiB a value, %d MiB SQL)", maxValue>>20, maxSQL>>20)
	case sqlite3.ErrBusy, sqlite3.ErrLocked:
		text = fmt.Sprintf("the database is locked by another program (waited %v)", busyTimeout)
	}
	return &queryError{text, err}
}

// queryError is one line about one statement.
type queryError struct {
	text  string
	cause error
}

func (e *queryError) Error() string { return e.text }
func (e *queryError) Unwrap() error { return e.cause }
