package database

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
)

// source is where SQLite reads from: the user's file, or a copy of it.
type source struct {
	dsn  string
	note string
	temp string // folder of the copy
}

func (s source) remove() {
	if s.temp != "" {
		os.RemoveAll(s.temp)
	}
}

// magic opens every SQLite 3 file (fileformat2.html, section 1.3).
const magic = "SQLite format 3\x00"

// locate looks at the file and what lies beside it, and decides how it can be read
// without a trace.
//
// The header is read with Go's own file: closing that drops this process's POSIX locks
// on the file, so a second Open of a file in use is best avoided while another program
// writes to it.
func locate(path string) (source, error) {
	bad := func(format string, args ...any) (source, error) {
		return source{}, &fileError{path: path, text: fmt.Sprintf(format, args...)}
	}
	info, err := os.Stat(path)
	switch {
	case path == "":
		return source{}, errors.New("no database file given")
	case errors.Is(err, fs.ErrNotExist):
		return bad("no such file")
	case err != nil:
		return bad("%v", cause(err))
	case info.IsDir():
		return bad("a folder, expected an SQLite file")
	case !info.Mode().IsRegular():
		return bad("not a regular file, expected an SQLite file")
	case info.Size() == 0:
		return bad("the file is empty, there are no tables to ask about")
	}
	f, err := os.Open(path)
	if err != nil {
		return bad("%v", cause(err))
	}
	head := make([]byte, 100)
	n, err := io.ReadFull(f, head)
	f.Close()
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		return bad("%v", cause(err))
	}
	head = head[:n]
	if !bytes.HasPrefix(head, []byte(magic)) {
		return bad("not an SQLite database: starts with %q, expected %q", cut(head, len(magic)-1), magic[:len(magic)-1])
	}
	if n < 100 {
		return bad("the database is damaged: only %d bytes long", n)
	}

	// Bytes 18 and 19 are 2 in WAL mode. SQLite also heeds a -wal file that is just there.
	wal, walErr := os.Stat(path + "-wal")
	if head[18] != 2 && head[19] != 2 && walErr != nil {
		return source{dsn: dsn(path, "mode=ro")}, nil
	}
	_, shmErr := os.Stat(path + "-shm")
	switch {
	case walErr == nil && shmErr == nil:
		// Another program has it open, or crashed: SQLite reads along without writing.
		return source{dsn: dsn(path, "mode=ro", "readonly_shm=1")}, nil
	case walErr == nil && wal.Size() > 0:
		// What the -wal file holds can be read only with a -shm file, which is not ours to make there.
		return copied(path, "-wal")
	default:
		return source{
			dsn:  dsn(path, "mode=ro", "immutable=1"),
			note: filepath.Base(path) + " is in WAL mode and nobody has it open: it is read as it is now, without locks",
		}, nil
	}
}

// copied makes a copy of the file and the one beside it that SQLite needs, and reads that.
func copied(path, suffix string) (source, error) {
	temp, err := os.MkdirTemp("", "tabert-workbench-")
	if err != nil {
		return source{}, err
	}
	s := source{
		temp: temp,
		note: fmt.Sprintf("%s has unfinished changes in %s%s: a copy is read, so that both stay as they are",
			filepath.Base(path), filepath.Base(path), suffix),
	}
	to := filepath.Join(temp, "copy.sqlite")
	for _, end := range []string{"", suffix} {
		if err := copyFile(to+end, path+end); err != nil {
			s.remove()
			return source{}, err
		}
	}
	s.dsn = dsn(to, "mode=rw")
	return s, nil
}

func copyFile(to, from string) (err error) {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	_, err = io.Copy(out, in)
	return err
}

// dsn is a URI, in which '?', '#' and '%' of the path are escaped.
func dsn(path string, params ...string) string {
	if abs, err := filepath.Abs(path); err == nil {
		path = abs
	}
	params = append(params, fmt.Sprintf("_busy_timeout=%d", busyTimeout.Milliseconds()))
	return "file:" + (&url.URL{Path: filepath.ToSlash(path)}).EscapedPath() + "?" + strings.Join(params, "&")
}

// cause is what the system said, without the path, which stands before it already.
func cause(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

func cut(b []byte, n int) []byte { return b[:min(n, len(b))] }
