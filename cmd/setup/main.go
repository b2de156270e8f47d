// Command setup finds or fetches libtorch and prints the cgo flags that the other commands are built with. It needs
// neither gotch nor libtorch; the Makefile calls it.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"

	"github.com/tabert-workbench/tabert-workbench/internal/libtorch"
)

const usage = `setup finds libtorch (in $LIBTORCH, the cache, python3's PyTorch) or downloads it.

  setup [--cuda] [--dry-run]   find or download; with --cuda what runs on a GPU as well
  setup env [--cuda]           the same, and print the exports for building with cgo
  setup minilm                 download the encoder weights that training starts from
  setup dist --bin DIR --out FILE.tar.gz PATH…
                               pack the programs in DIR, libtorch, and the paths

For example: eval "$(setup env)" && go build ./cmd/nl2sql
`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// usageError is a wrong command line: exit code 2.
type usageError struct{ error }

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	err := do(ctx, args, stdout, stderr)
	var wrong usageError
	switch {
	case err == nil:
		return 0
	case errors.Is(err, flag.ErrHelp):
		fmt.Fprint(stdout, usage)
		return 0
	case errors.As(err, &wrong):
		fmt.Fprintf(stderr, "setup: %v (setup --help shows the usage)\n", err)
		return 2
	case ctx.Err() != nil:
		fmt.Fprintln(stderr, "setup: interrupted; the next run goes on")
		return 1
	}
	fmt.Fprintf(stderr, "setup: %v\n", err)
	return 1
}

func do(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	command := ""
	if len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		command, args = args[0], args[1:]
	}
	flags := flag.NewFlagSet("setup", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	var cuda, dryRun bool
	var bin, out string
	switch command {
	case "":
		flags.BoolVar(&dryRun, "dry-run", false, "")
		fallthrough
	case "env":
		flags.BoolVar(&cuda, "cuda", false, "")
	case "dist":
		flags.StringVar(&bin, "bin", "", "")
		flags.StringVar(&out, "out", "", "")
	case "minilm":
	default:
		return usageError{fmt.Errorf("unknown command %q", command)}
	}
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return err
		}
		return usageError{err}
	}
	if command != "dist" && flags.NArg() > 0 {
		return usageError{fmt.Errorf("unexpected argument %q", flags.Arg(0))}
	}

	s, err := libtorch.New(stderr)
	if err != nil {
		return err
	}
	switch command {
	case "minilm":
		dir, err := s.MiniLM(ctx)
		if err != nil {
			return err
		}
		fmt.Fprintln(stdout, dir)
		return nil
	case "":
		if dryRun {
			return s.Plan(ctx, cuda)
		}
	case "dist":
		if bin == "" || out == "" {
			return usageError{errors.New("dist needs --bin and --out")}
		}
	}

	if err := libtorch.Compilers(); err != nil {
		return err
	}
	l, err := s.Library(ctx, cuda)
	if err != nil {
		return err
	}
	f, err := s.Flags(l)
	if err != nil {
		return err
	}
	switch command {
	case "env":
		_, err = io.WriteString(stdout, f.Exports())
	case "dist":
		var modules []libtorch.Module
		if modules, err = modulesOf(ctx); err == nil {
			err = s.WriteDist(ctx, l, libtorch.Dist{Programs: bin, Files: flags.Args(), Modules: modules}, out)
		}
	default:
		fmt.Fprintln(stdout, l)
	}
	return err
}

// modulesOf lists the modules that the commands are built from, without this one.
func modulesOf(ctx context.Context) ([]libtorch.Module, error) {
	var stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, "go", "list", "-deps", "-json=Module", "./cmd/...")
	cmd.Stderr = &stderr
	list, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %v: %s", err, strings.TrimSpace(stderr.String()))
	}
	var modules []libtorch.Module
	seen := map[string]bool{}
	for d := json.NewDecoder(bytes.NewReader(list)); ; {
		var p struct {
			Module *struct {
				Path, Dir string
				Main      bool
			}
		}
		if err := d.Decode(&p); err == io.EOF {
			return modules, nil
		} else if err != nil {
			return nil, fmt.Errorf("go list: %v", err)
		}
		if m := p.Module; m != nil && !m.Main && !seen[m.Path] {
			seen[m.Path] = true
			modules = append(modules, libtorch.Module{Path: m.Path, Dir: m.Dir})
		}
	}
}
