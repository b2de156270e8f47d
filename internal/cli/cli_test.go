package cli

import (
	"bytes"
	"errors"
	"strings"
	"testing"
)

type grammar struct {
	File  string `arg:"" help:"A file."`
	Count int    `default:"3" help:"How many."`
}

func parse(args ...string) (g grammar, out, errOut string, code int, done bool) {
	var o, e bytes.Buffer
	c := Command{Name: "demo", Description: "Show files. For example: demo a.txt", Grammar: &g}
	_, code, done = c.Parse(args, &o, &e)
	return g, o.String(), e.String(), code, done
}

func TestParse(t *testing.T) {
	g, _, errOut, code, done := parse("a.txt", "--count", "4")
	if g.File != "a.txt" || g.Count != 4 || code != OK || done || errOut != "" {
		t.Errorf("%+v, code %d, done %t, %q", g, code, done, errOut)
	}
	for _, test := range []struct {
		args string
		want string
	}{
		{"", `demo: expected "<file>" (demo --help shows the usage)` + "\n"},
		{"a --cuont 4", `demo: unknown flag --cuont, did you mean "--count"? (demo --help shows the usage)` + "\n"},
		{"a --count four", `demo: --count: expected a valid 64 bit int but got "four" (demo --help shows the usage)` + "\n"},
		{"--completion tcsh", `demo: --completion: unknown shell "tcsh", expected bash, zsh or fish (demo --help shows the usage)` + "\n"},
	} {
		_, out, errOut, code, done := parse(strings.Fields(test.args)...)
		if errOut != test.want || code != Usage || !done || out != "" {
			t.Errorf("%q: code %d, done %t, out %q, error\n%q, want\n%q", test.args, code, done, out, errOut, test.want)
		}
	}
}

func TestHelp(t *testing.T) {
	_, out, errOut, code, done := parse("--help")
	if code != OK || !done || errOut != "" || !strings.Contains(out, "For example: demo a.txt") {
		t.Errorf("code %d, done %t, error %q, out:\n%s", code, done, errOut, out)
	}
}

func TestCompletion(t *testing.T) {
	for _, shell := range []string{"bash", "zsh", "fish"} {
		_, out, errOut, code, done := parse("--completion", shell)
		if code != OK || !done || errOut != "" || !strings.Contains(out, "complete ") {
			t.Errorf("%s: code %d, done %t, error %q, out %q", shell, code, done, errOut, out)
		}
	}
	t.Setenv("COMP_LINE", "demo --c")
	_, out, _, code, done := parse()
	if code != OK || !done || !strings.Contains(out, "--count\n") {
		t.Errorf("code %d, done %t, completions %q", code, done, out)
	}
}

func TestFail(t *testing.T) {
	for _, test := range []struct {
		err  error
		code int
		want string
	}{
		{nil, OK, ""},
		{errors.New("it broke\nhere"), Failure, "demo: it broke here\n"},
		{Usagef("no %s", "question"), Usage, "demo: no question\n"},
	} {
		var b bytes.Buffer
		if code := Fail(&b, "demo", test.err); code != test.code || b.String() != test.want {
			t.Errorf("%v: code %d, %q", test.err, code, b.String())
		}
	}
}
