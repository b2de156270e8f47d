module github.com/tabert-workbench/tabert-workbench

go 1.24.0

require (
	github.com/alecthomas/kong v1.17.0
	github.com/alecthomas/participle/v2 v2.1.4
	github.com/chzyer/readline v1.5.1
	github.com/google/go-cmp v0.7.0
	github.com/jedib0t/go-pretty/v6 v6.8.3
	github.com/jotaen/kong-completion v0.0.4
	github.com/mattn/go-sqlite3 v1.14.52
	github.com/posener/complete v1.2.3
	github.com/schollz/progressbar/v3 v3.19.0
	github.com/sugarme/gotch v0.9.1
	github.com/sugarme/tokenizer v0.3.0
	golang.org/x/term v0.35.0
	golang.org/x/text v0.29.0
	pgregory.net/rapid v1.3.0
)

require (
	github.com/emirpasic/gods v1.18.1 // indirect
	github.com/hashicorp/errwrap v1.1.0 // indirect
	github.com/hashicorp/go-multierror v1.1.1 // indirect
	github.com/mattn/go-runewidth v0.0.16 // indirect
	github.com/mitchellh/colorstring v0.0.0-20190213212951-d06e56a500db // indirect
	github.com/pkg/errors v0.9.1 // indirect
	github.com/rivo/uniseg v0.4.7 // indirect
	github.com/riywo/loginshell v0.0.0-20200815045211-7d26008be1ab // indirect
	github.com/schollz/progressbar/v2 v2.15.0 // indirect
	github.com/sugarme/regexpset v0.0.0-20200920021344-4d4ec8eaf93c // indirect
	golang.org/x/sys v0.36.0 // indirect
)
