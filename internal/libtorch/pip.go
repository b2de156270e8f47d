package libtorch

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// download fetches wheels by pip into the cache, verifies them, and returns their files. One that an interrupted
// set-up left there is used again.
func (s *Setup) download(ctx context.Context, wheels []wheel) ([]string, error) {
	dir := filepath.Join(s.Cache, "downloads")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	var pip []string
	var files []string
	for _, w := range wheels {
		file := filepath.Join(dir, w.File)
		files = append(files, file)
		if _, err := os.Stat(file); err == nil {
			if err := verify(ctx, file, w); err == nil {
				s.logf("%s: downloaded before", w.File)
				continue
			} else if ctx.Err() != nil {
				return nil, err
			}
		}
		if pip == nil {
			var err error
			if pip, err = findPip(ctx); err != nil {
				return nil, err
			}
		}
		if err := s.downloadOne(ctx, pip, w, file); err != nil {
			return nil, err
		}
	}
	return files, nil
}

func (s *Setup) downloadOne(ctx context.Context, pip []string, w wheel, file string) error {
	part, err := os.MkdirTemp(filepath.Dir(file), w.Project+".part-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(part)
	s.logf("%s (%s)", w.File, byteCount(w.Size))
	args := append(pip[1:len(pip):len(pip)], pipArguments(w, part)...)
	cmd := exec.CommandContext(ctx, pip[0], args...)
	// pip draws its progress on the terminal; it gets a chance to end by itself when it is interrupted.
	cmd.Stdout, cmd.Stderr = s.Log, s.Log
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 5 * time.Second
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return fmt.Errorf("%s failed on %s (%v): is PyPI reachable from here? Without it, set LIBTORCH to a folder with libtorch %s, or install PyTorch for python3", strings.Join(pip, " "), w.requirement(), err, Range)
	}
	got := filepath.Join(part, w.File)
	if _, err := os.Stat(got); err != nil {
		return fmt.Errorf("pip downloaded %s, but not as %s", w.requirement(), w.File)
	}
	if err := verify(ctx, got, w); err != nil {
		return err
	}
	s.logf("%s: sha256 as expected", w.File)
	return os.Rename(got, file)
}

// pipArguments ask for exactly this file, whatever Python runs pip.
func pipArguments(w wheel, dir string) []string {
	args := []string{"download", "--no-deps", "--no-cache-dir", "--no-input", "--disable-pip-version-check",
		"--only-binary=:all:", "--python-version", "3.12", "--implementation", "cp", "--abi", "cp312", "--abi", "none"}
	_, _, platforms := w.tags()
	for _, p := range platforms {
		args = append(args, "--platform", p)
	}
	return append(args, "--dest", dir, w.requirement())
}

// findPip returns the first pip that runs: python3's, else a command of that name.
func findPip(ctx context.Context) ([]string, error) {
	for _, pip := range [][]string{{"python3", "-m", "pip"}, {"pip"}, {"pip3"}} {
		if exec.CommandContext(ctx, pip[0], append(pip[1:len(pip):len(pip)], "--version")...).Run() == nil {
			return pip, nil
		}
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return nil, errors.New("pip is missing, which downloads libtorch: " + install("python3-pip", "python3"))
}

// install is the command that installs a tool.
func install(apt, brew string) string {
	if _, err := exec.LookPath("brew"); err == nil {
		return "brew install " + brew
	}
	return "sudo apt install " + apt
}

// verify compares a file with its pinned checksum.
func verify(ctx context.Context, file string, w wheel) error {
	got, err := sha256File(ctx, file)
	if err != nil {
		return err
	}
	if got != w.SHA256 {
		return fmt.Errorf("%s has sha256 %s, expected %s: the download is damaged or not the original", w.File, got, w.SHA256)
	}
	return nil
}

// Compilers checks that what builds C and C++ is there.
func Compilers() error {
	for _, tool := range []struct{ variable, command, apt string }{
		{"CXX", "g++", "g++"}, {"CC", "gcc", "gcc"},
	} {
		command := tool.command
		if v := strings.Fields(os.Getenv(tool.variable)); len(v) > 0 {
			command = v[0]
		}
		if _, err := exec.LookPath(command); err != nil {
			return fmt.Errorf("%s is missing, which compiles gotch: %s", command, install(tool.apt, "gcc"))
		}
	}
	return nil
}
