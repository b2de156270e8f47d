# make help lists the targets. Everything is built with cgo flags that .build/setup finds out; see docs/installation.md.

SETUP := .build/setup
CORES := $(shell getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2)
# Packages tested at once. libtorch uses all cores in one process: two of them spin against each other.
TESTP ?= $(shell p=$$(( $(CORES) / 4 )); [ $$p -gt 0 ] || p=1; echo $$p)
FUZZTIME ?= 10s
PKG ?= ./...
PLATFORM = $$(go env GOOS)-$$(go env GOARCH)
CUDAFLAG := $(if $(filter-out 0 no,$(CUDA)),--cuda)
# The exports are evaluated in the shell of the recipe that needs them; a failed set-up ends it.
FLAGS = flags=$$($(SETUP) env $(CUDAFLAG)) && eval "$$flags" && scripts/announce
# Waiting threads of libtorch spin by default, which on a machine with other work makes each operation wait for a core.
QUIET = OMP_WAIT_POLICY=passive
COMMANDS = $$(go list ./cmd/... | grep -v '/cmd/setup$$')

.DEFAULT_GOAL := build

.PHONY: help
help: ## list the targets
	@sed -n 's/^\([a-z]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | awk -F'\t' '{ printf "  make %-9s %s\n", $$1, $$2 }'

.PHONY: tools
tools:
	@command -v go >/dev/null || { echo "go is missing: install Go 1.24 or later from https://go.dev/dl" >&2; exit 1; }
	@case $$(go env GOVERSION) in go1.?|go1.?.*|go1.1?|go1.1?.*|go1.20*|'') \
	  echo "$$(go version) is too old: install Go 1.24 or later from https://go.dev/dl" >&2; exit 1 ;; esac
	@CGO_ENABLED=0 go build -o $(SETUP) ./cmd/setup

.PHONY: setup
setup: tools ## find libtorch or download it (CUDA=1: with what runs on a GPU)
	@$(SETUP) $(CUDAFLAG)

.PHONY: env
env: tools ## print the exports for calling go yourself: eval "$(make -s env)"
	@$(SETUP) env $(CUDAFLAG)

.PHONY: build
build: tools ## build all commands into bin/
	@$(FLAGS) && scripts/build bin $(COMMANDS)

.PHONY: test
test: tools ## run all tests
	@$(FLAGS) && export $(QUIET) && go vet ./... && go test -p $(TESTP) ./...

.PHONY: demo
demo: tools ## ask the model in the repository a handful of questions
	@$(FLAGS) && scripts/build bin ./cmd/nl2sql && scripts/demo bin/nl2sql

.PHONY: bench
bench: tools ## run the benchmarks (PKG=./eval for one package)
	@$(FLAGS) && go test -p 1 -run '^$$' -bench . -benchmem $(PKG)

.PHONY: fuzz
fuzz: tools ## run each fuzz target for FUZZTIME=10s (PKG=./semql for one package)
	@$(FLAGS) && scripts/fuzz $(FUZZTIME) $(PKG)

.PHONY: minilm
minilm: tools ## download the encoder weights that training starts from (83.5 MB)
	@$(SETUP) minilm

.PHONY: dist
dist: tools ## pack a tarball that runs without Go, Python, or libtorch installed
	@rm -rf .build/dist && name=tabert-workbench-$(PLATFORM) && $(FLAGS) && \
	  LINK=relocatable scripts/build .build/dist $(COMMANDS) && \
	  $(SETUP) dist --bin .build/dist --out dist/$$name.tar.gz $(wildcard README.md LICENSE* docs/*.md grammars/*.asdl) models/mini && \
	  ls -lh dist/$$name.tar.gz

.PHONY: clean
clean: ## remove what was built here (the cache of the user stays)
	rm -rf bin dist .build
