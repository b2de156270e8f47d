// Package cli is what the commands have in common: one line on stderr and exit code 2 for
// a wrong command line, exit code 1 for what failed, help with an example, and completion
// for shells. It is built on kong; nothing in it ends the process.
package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"text/template"

	"github.com/alecthomas/kong"
	kongcompletion "github.com/jotaen/kong-completion"
	"github.com/posener/complete"
)

// Exit codes of all commands.
const (
	OK      = 0
	Failure = 1
	Usage   = 2
)

// UsageError is a wrong use of a command: exit code 2.
type UsageError struct{ error }

// Usagef makes a UsageError.
func Usagef(format string, args ...any) error { return UsageError{fmt.Errorf(format, args...)} }

// Command is one command's command line.
type Command struct {
	Name        string
	Description string // shown by --help, ends with an example
	Grammar     any    // pointer to kong's struct
	Options     []kong.Option
}

// Parse reads the arguments into c.Grammar. When done is true there is nothing left to do
// but to exit with the code: help was asked for, or the command line is wrong.
func (c Command) Parse(args []string, out, errOut io.Writer) (ctx *kong.Context, code int, done bool) {
	ended := -1
	end := func(code int) {
		if ended < 0 {
			ended = code
		}
	}
	var more struct {
		Completion shell `placeholder:"SHELL" help:"Print the line that turns on completion in a shell (bash, zsh or fish): source <(${bin} --completion bash)."`
	}
	parser, err := kong.New(c.Grammar, append([]kong.Option{
		kong.Name(c.Name),
		kong.Description(c.Description),
		kong.Vars{"bin": c.Name},
		kong.Writers(out, errOut),
		kong.Exit(end),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, WrapUpperBound: 110}),
		kong.Embed(&more),
	}, c.Options...)...)
	if err != nil {
		return nil, Fail(errOut, c.Name, err), true
	}
	kongcompletion.Register(parser, kongcompletion.WithPredictor("file", complete.PredictFiles("*")),
		kongcompletion.WithPredictor("dir", complete.PredictDirs("*")))
	if ended >= 0 {
		return nil, ended, true
	}
	ctx, err = parser.Parse(args)
	if ended >= 0 { // kong goes on after help; what it then misses does not matter
		return nil, ended, true
	}
	if err != nil {
		return nil, Fail(errOut, c.Name, UsageError{fmt.Errorf("%w (%s --help shows the usage)", err, c.Name)}), true
	}
	return ctx, OK, false
}

// Fail prints err as one line and returns the exit code for it.
func Fail(errOut io.Writer, name string, err error) int {
	if err == nil {
		return OK
	}
	fmt.Fprintf(errOut, "%s: %s\n", name, strings.Join(strings.Fields(err.Error()), " "))
	var usage UsageError
	if errors.As(err, &usage) {
		return Usage
	}
	return Failure
}

// shell is a flag that prints a shell's initialisation and ends the command, like --help.
type shell string

var initialisation = template.Must(template.New("").Parse(`
{{- define "bash"}}complete -o default -o bashdefault -C '{{.Path}}' {{.Name}}
{{end}}
{{- define "zsh"}}autoload -U +X bashcompinit && bashcompinit
complete -o default -o bashdefault -C '{{.Path}}' {{.Name}}
{{end}}
{{- define "fish"}}complete -c {{.Name}} -a "(COMP_LINE=(commandline -cp) '{{.Path}}')"
{{end}}`))

// BeforeReset is called by kong where the flag is given, before it checks anything else.
func (shell) BeforeReset(ctx *kong.Context, app *kong.Kong, given *kong.Path) error {
	name := fmt.Sprint(ctx.FlagValue(given.Flag))
	path, err := os.Executable()
	if err != nil {
		return err
	}
	if initialisation.Lookup(name) == nil {
		return fmt.Errorf("--completion: unknown shell %q, expected bash, zsh or fish", name)
	}
	err = initialisation.ExecuteTemplate(app.Stdout, name, map[string]string{"Path": path, "Name": app.Model.Name})
	if err != nil {
		return err
	}
	app.Exit(OK)
	return nil
}
