package main

import (
	"bytes"
	"context"
	"strings"
	"testing"
)

func TestCommandLine(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	t.Setenv("HOME", t.TempDir())
	t.Setenv("LIBTORCH", "/no/such/folder")
	for _, c := range []struct {
		args   string
		code   int
		stdout string
		stderr string
	}{
		{"--help", 0, usage, ""},
		{"env --help", 0, usage, ""},
		{"download", 2, "", "setup: unknown command \"download\" (setup --help shows the usage)\n"},
		{"--gpu", 2, "", "setup: flag provided but not defined: -gpu (setup --help shows the usage)\n"},
		{"env now", 2, "", "setup: unexpected argument \"now\" (setup --help shows the usage)\n"},
		{"dist --bin bin", 2, "", "setup: dist needs --bin and --out (setup --help shows the usage)\n"},
		{"--dry-run", 1, "", "setup: $LIBTORCH /no/such/folder is no libtorch: include/torch/csrc/api/include/torch/all.h is missing (expected a folder with include/ and lib/)\n"},
	} {
		t.Run(c.args, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			code := run(context.Background(), strings.Fields(c.args), &stdout, &stderr)
			if code != c.code || stdout.String() != c.stdout || stderr.String() != c.stderr {
				t.Errorf("exit code %d, stdout %q, stderr %q; want %d, %q, %q", code, &stdout, &stderr, c.code, c.stdout, c.stderr)
			}
		})
	}
}

func TestInterrupted(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	t.Setenv("HOME", t.TempDir())
	t.Setenv("LIBTORCH", "")
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	var stdout, stderr bytes.Buffer
	code := run(ctx, []string{"minilm"}, &stdout, &stderr)
	if code != 1 || !strings.HasSuffix(stderr.String(), "setup: interrupted; the next run goes on\n") {
		t.Errorf("exit code %d, stderr %q", code, &stderr)
	}
}
