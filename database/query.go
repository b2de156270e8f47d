package database

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/mattn/go-sqlite3"
)

// Limits bound one query. A field that is zero takes its default, a negative one is no limit.
type Limits struct {
	Rows  int           // default 10000; what follows is cut off
	Time  time.Duration // default 30 s; a query that takes longer is an error
	Bytes int           // of all values together; default 64 MiB; what follows is cut off
}

func (l Limits) filled() Limits {
	if l.Rows == 0 {
		l.Rows = 10_000
	}
	if l.Time == 0 {
		l.Time = 30 * time.Second
	}
	if l.Bytes == 0 {
		l.Bytes = 64 << 20
	}
	return l
}

// Result is a query's answer. Values are nil, int64, float64, string (valid UTF-8) or []byte.
type Result struct {
	Columns   []string
	Rows      [][]any
	Truncated bool // there are more rows than the limits let through
}

// Query runs one reading statement.
func (d *DB) Query(ctx context.Context, sql string, lim Limits) (*Result, error) {
	lim = lim.filled()
	if lim.Time > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, lim.Time, &queryError{
			fmt.Sprintf("stopped: the query ran longer than %v", lim.Time), context.DeadlineExceeded})
		defer cancel()
	}
	result := &Result{}
	size := 0
	err := d.with(ctx, func(c *conn) error {
		return c.stream(ctx, sql, func(columns []string) { result.Columns = columns }, func(row []driver.Value) error {
			if lim.Rows >= 0 && len(result.Rows) >= lim.Rows {
				result.Truncated = true
				return errEnough
			}
			kept := make([]any, len(row))
			for i, v := range row {
				kept[i] = v
				size += 16 + length(v)
			}
			if lim.Bytes >= 0 && size > lim.Bytes {
				result.Truncated = true
				return errEnough
			}
			result.Rows = append(result.Rows, kept)
			return nil
		})
	})
	if err != nil && !errors.Is(err, errEnough) {
		return nil, stopped(ctx, err)
	}
	return result, nil
}

// Prepare says whether SQLite accepts a statement, without running it.
func (d *DB) Prepare(ctx context.Context, sql string) error {
	return d.with(ctx, func(c *conn) error {
		stmt, rows, err := c.start(ctx, sql)
		if err != nil {
			return err
		}
		rows.Close()
		return stmt.Close()
	})
}

// Cells streams the values of a table's columns, in the file's row order. The row is
// valid only during the call; an error from fn ends the stream and is returned.
func (d *DB) Cells(ctx context.Context, table string, columns []string, fn func(row []any) error) error {
	if len(columns) == 0 {
		return fmt.Errorf("%s: no columns asked for", table)
	}
	var sql strings.Builder
	sql.WriteString("SELECT ")
	for i, c := range columns {
		if i > 0 {
			sql.WriteString(", ")
		}
		// With the table's name before it, a column that does not exist is an error, not a string.
		sql.WriteString("t." + Quote(c))
	}
	sql.WriteString(" FROM " + Quote(table) + " AS t")
	row := make([]any, len(columns))
	err := d.with(ctx, func(c *conn) error {
		return c.stream(ctx, sql.String(), nil, func(values []driver.Value) error {
			for i, v := range values {
				row[i] = v
			}
			return fn(row)
		})
	})
	return stopped(ctx, err)
}

// Quote writes a name as an SQL identifier.
func Quote(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

var errEnough = errors.New("enough rows")

// stopped prefers why a context ended to how SQLite took it.
func stopped(ctx context.Context, err error) error {
	if err == nil || ctx.Err() == nil {
		return err
	}
	if reason := context.Cause(ctx); reason != ctx.Err() {
		return reason
	}
	return &queryError{"stopped: " + ctx.Err().Error(), ctx.Err()}
}

// start prepares one statement, and does not step it yet.
func (c *conn) start(ctx context.Context, sql string) (*sqlite3.SQLiteStmt, *sqlite3.SQLiteRows, error) {
	if strings.IndexByte(sql, 0) >= 0 {
		return nil, nil, &queryError{text: "the statement contains a NUL character"}
	}
	n := statements(sql)
	if n == 0 {
		return nil, nil, &queryError{text: "no statement"}
	}
	if n > 1 {
		return nil, nil, &queryError{text: "more than one statement; one at a time, please"}
	}
	prepared, err := c.PrepareContext(ctx, sql)
	if err != nil {
		return nil, nil, c.explain(err)
	}
	stmt := prepared.(*sqlite3.SQLiteStmt)
	if n := stmt.NumInput(); n > 0 {
		stmt.Close()
		return nil, nil, &queryError{text: fmt.Sprintf("the statement has %d parameters without a value", n)}
	}
	opened, err := stmt.QueryContext(ctx, nil)
	if err != nil {
		stmt.Close()
		return nil, nil, c.explain(err)
	}
	return stmt, opened.(*sqlite3.SQLiteRows), nil
}

// stream runs one statement and hands over its rows, text made valid UTF-8.
func (c *conn) stream(ctx context.Context, sql string, head func([]string), fn func([]driver.Value) error) error {
	stmt, rows, err := c.start(ctx, sql)
	if err != nil {
		return err
	}
	defer stmt.Close()
	defer rows.Close()
	columns := rows.Columns()
	if head != nil {
		names := make([]string, len(columns))
		for i, name := range columns {
			names[i] = strings.ToValidUTF8(name, "\uFFFD")
		}
		head(names)
	}
	// go-sqlite3 makes a time.Time of whatever stands in a column declared DATE, and the
	// zero time of what it cannot read. It looks into this very slice; without a declared
	// type it leaves values as they are stored.
	clear(rows.DeclTypes())
	row := make([]driver.Value, len(columns))
	for {
		if err := rows.Next(row); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return c.explain(err)
		}
		for i, v := range row {
			if s, ok := v.(string); ok {
				row[i] = strings.ToValidUTF8(s, "\uFFFD")
			}
		}
		if err := fn(row); err != nil {
			return err
		}
	}
}

func length(v any) int {
	switch v := v.(type) {
	case string:
		return len(v)
	case []byte:
		return len(v)
	}
	return 0
}

// statements counts the statements in sql by SQLite's rules for strings, quoted names
// and comments.
func statements(sql string) int {
	n, in := 0, false
	for i := 0; i < len(sql); i++ {
		switch c := sql[i]; {
		case c == ';':
			in = false
			continue
		case c == ' ' || c >= '\t' && c <= '\r':
			continue
		case strings.HasPrefix(sql[i:], "--"):
			i = after(sql, i+2, "\n")
			continue
		case strings.HasPrefix(sql[i:], "/*"):
			i = after(sql, i+2, "*/")
			continue
		case c == '\'' || c == '"' || c == '`': // a doubled quote is two strings here: as good
			i = after(sql, i+1, string(c))
		case c == '[':
			i = after(sql, i+1, "]")
		}
		if !in {
			n, in = n+1, true
		}
	}
	return n
}

// after is the index of the last byte of the first end from i on, or of sql's.
func after(sql string, i int, end string) int {
	if k := strings.Index(sql[i:], end); k >= 0 {
		return i + k + len(end) - 1
	}
	return len(sql)
}
