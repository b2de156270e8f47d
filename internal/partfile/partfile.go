// Package partfile writes output files that are complete or not there: a file grows beside
// its place, under a name that ends in .part, and is renamed when all of it is written.
// What an interrupted program wrote stays under that name.
package partfile

import (
	"bufio"
	"errors"
	"os"
)

// Suffix ends the name of a file that is not complete.
const Suffix = ".part"

// File is a file that grows. A nil *File takes all and writes nothing, for outputs that
// nobody asked for.
type File struct {
	path, part string // part is empty where nothing can be renamed: devices, pipes
	f          *os.File
	w          *bufio.Writer
	written    bool
}

// Create begins a file for path, in place of an earlier part of it.
func Create(path string) (*File, error) {
	f := &File{path: path, part: path + Suffix}
	info, err := os.Stat(path)
	switch {
	case err == nil && info.IsDir():
		return nil, &os.PathError{Op: "create", Path: path, Err: errors.New("there is a folder of that name")}
	case err == nil && !info.Mode().IsRegular():
		f.part = ""
		f.f, err = os.OpenFile(path, os.O_WRONLY, 0)
	default:
		f.f, err = os.Create(f.part)
	}
	if err != nil {
		return nil, err
	}
	f.w = bufio.NewWriter(f.f)
	return f, nil
}

// Write adds to the file.
func (f *File) Write(p []byte) (int, error) {
	if f == nil {
		return len(p), nil
	}
	f.written = f.written || len(p) > 0
	return f.w.Write(p)
}

// Flush hands what was written to the system, so that it survives the program's end.
func (f *File) Flush() error {
	if f == nil {
		return nil
	}
	return f.w.Flush()
}

// Part is where the file grows.
func (f *File) Part() string {
	if f.part == "" {
		return f.path
	}
	return f.part
}

// Commit ends the file and puts it in its place.
func (f *File) Commit() error {
	if f == nil {
		return nil
	}
	if f.part == "" {
		return f.end()
	}
	if err := errors.Join(f.w.Flush(), f.f.Sync(), f.end()); err != nil {
		return err
	}
	return os.Rename(f.part, f.path)
}

// Write puts data into a file, in place of an older one.
func Write(path string, data []byte) error {
	f, err := Create(path)
	if err != nil {
		return err
	}
	if _, err := f.Write(data); err != nil {
		return errors.Join(err, f.Close())
	}
	return f.Commit()
}

// Close ends the file and leaves it where it grew, unless nothing was written. After Commit
// it does nothing.
func (f *File) Close() error {
	if f == nil || f.f == nil {
		return nil
	}
	err := f.end()
	if !f.written && f.part != "" {
		err = errors.Join(err, os.Remove(f.part))
	}
	return err
}

func (f *File) end() error {
	err := errors.Join(f.w.Flush(), f.f.Close())
	f.f = nil
	return err
}
