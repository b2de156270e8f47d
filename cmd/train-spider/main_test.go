package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/tabert-workbench/tabert-workbench/internal/testdata"
	"github.com/tabert-workbench/tabert-workbench/parser/parsertest"
)

// command tells this test binary to be the command: its arguments as JSON.
const command = "TRAIN_SPIDER_ARGS"

func TestMain(m *testing.M) {
	if text := os.Getenv(command); text != "" {
		var args []string
		if err := json.Unmarshal([]byte(text), &args); err != nil {
			panic(err)
		}
		os.Exit(run(args, os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}

// start starts the command in a process of its own.
func start(t *testing.T, args ...string) (*exec.Cmd, *bytes.Buffer) {
	t.Helper()
	text, err := json.Marshal(args)
	if err != nil {
		t.Fatal(err)
	}
	cmd, errOut := exec.Command(os.Args[0]), new(bytes.Buffer)
	cmd.Env, cmd.Stderr = append(os.Environ(), command+"="+string(text)), errOut
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd, errOut
}

func write(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

const config = `{"batch": 4, "steps": 100000, "token_budget": 100, "held_out": 0, "checkpoint_every": 0,
	"model": {"decoder": {"state": 17, "action_embedding": 13}, "max_steps": 12}}`

// TestInterrupt sends SIGINT to a run: it writes a checkpoint, and --resume goes on.
func TestInterrupt(t *testing.T) {
	vocabulary := parsertest.Vocabulary("how many are there")
	bert := parsertest.BERT(t, parsertest.Encoder(len(vocabulary)), vocabulary)
	out := filepath.Join(t.TempDir(), "run")
	args := []string{"--data", testdata.Sample(t), "--out", out, "--threads", "1", "--limit", "20"}
	cmd, errOut := start(t, append(args, "--init", bert, "--config", write(t, "config.json", config))...)
	log := filepath.Join(out, "log.jsonl")
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		if data, err := os.ReadFile(log); err == nil && bytes.Count(data, []byte("\n")) >= 3 {
			break
		}
		if time.Now().After(deadline) {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
			t.Fatalf("no update in a minute: %s", errOut)
		}
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	err := cmd.Wait()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 130 {
		t.Errorf("ended with %v, expected exit code 130", err)
	}
	lines := strings.Split(strings.TrimSpace(errOut.String()), "\n")
	if want := "train-spider: stopped; go on with: train-spider --data " + testdata.Sample(t) + " --out " + out + " --resume"; lines[len(lines)-1] != want {
		t.Errorf("last line %q, expected %q", lines[len(lines)-1], want)
	}
	found, err := filepath.Glob(filepath.Join(out, "checkpoint-*"))
	if err != nil || len(found) != 1 {
		t.Fatalf("checkpoints %v, %v", found, err)
	}
	data, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	steps := bytes.Count(data, []byte("\n"))

	var stdout, stderr bytes.Buffer
	if code := run(append(args, "--resume", "--steps", "1"), &stdout, &stderr); code != 0 || !strings.Contains(stdout.String(), "steps; model: "+filepath.Join(out, "best")) {
		t.Errorf("--resume behind the last step: %d, %s%s", code, &stdout, &stderr)
	}
	if _, err := os.Stat(filepath.Join(out, "best", "model.safetensors")); err != nil {
		t.Error(err)
	}
	stdout.Reset()
	if code := run(append(args, "--resume", "--steps", strconv.Itoa(steps+2)), &stdout, &stderr); code != 0 {
		t.Fatalf("--resume: %d, %s", code, &stderr)
	}
	if want := strconv.Itoa(steps+2) + " steps; model: " + filepath.Join(out, "best") + "\n"; stdout.String() != want {
		t.Errorf("%q, expected %q", &stdout, want)
	}
}

func TestErrors(t *testing.T) {
	sample := testdata.Sample(t)
	bad := write(t, "bad.json", `{"bach": 1}`)
	for _, test := range []struct {
		name string
		args []string
		code int
		want string
	}{
		{"no data", []string{"--out", "x"}, 2, "train-spider: nothing to train on: expected --data DIR with Spider, --extra FILE with questions of your own, or both\n"},
		{"no such folder", []string{"--data", "nowhere", "--out", "x"}, 1,
			"train-spider: no nowhere/tables.json: expected a folder with Spider's public release (tables.json, dev.json, database/…)\n"},
		{"split", []string{"--data", sample, "--out", "x", "--split", "tain"}, 1, "train-spider: unknown split \"tain\": expected train, others, dev, test or a .json file\n"},
		{"unknown key", []string{"--data", sample, "--out", "x", "--config", bad}, 1, "train-spider: " + bad + ": json: unknown field \"bach\"\n"},
		{"no config", []string{"--data", sample, "--out", "x", "--config", "nowhere.json"}, 1, "train-spider: open nowhere.json: no such file or directory\n"},
		{"config and resume", []string{"--data", sample, "--out", "x", "--resume", "--config", write(t, "ok.json", "{}")}, 2,
			"train-spider: --config does not go with --resume: a run keeps its configuration\n"},
		{"seed and resume", []string{"--data", sample, "--out", "x", "--resume", "--seed", "3"}, 2,
			"train-spider: --seed does not go with --resume: a run keeps its configuration\n"},
		{"limit", []string{"--data", sample, "--out", "x", "--limit=-1"}, 2, "train-spider: --limit and --threads must not be negative\n"},
		{"steps", []string{"--data", sample, "--out", "x", "--steps=-1"}, 1, "train-spider: steps (-1) must be positive\n"},
		{"pairs", []string{"--data", sample, "--out", "x", "--extra", bad}, 1, "train-spider: " + bad + ":1: no query\n"},
		{"nothing to resume", []string{"--data", sample, "--out", t.TempDir(), "--resume"}, 1, "train-spider: --resume: there is no checkpoint in "},
	} {
		var out, errOut bytes.Buffer
		code := run(test.args, &out, &errOut)
		if code != test.code || !strings.HasPrefix(errOut.String(), test.want) || strings.Count(errOut.String(), "\n") != 1 {
			t.Errorf("%s: code %d, %q; expected %d, %q", test.name, code, &errOut, test.code, test.want)
		}
	}
	if _, err := os.Stat("x"); err == nil {
		t.Error("a folder was made for a run that never began")
		os.RemoveAll("x")
	}
}

func TestPrintConfig(t *testing.T) {
	var out, errOut bytes.Buffer
	if code := run([]string{"--data", "d", "--out", "o", "--print-config", "--seed", "9", "--steps", "7"}, &out, &errOut); code != 0 {
		t.Fatal(code, errOut.String())
	}
	path := write(t, "printed.json", out.String())
	var again bytes.Buffer
	if code := run([]string{"--data", "d", "--out", "o", "--print-config", "--config", path}, &again, &errOut); code != 0 || again.String() != out.String() {
		t.Errorf("code %d; what is printed is not what is read: %s", code, &again)
	}
	for _, want := range []string{`"seed": 9`, `"steps": 7`, `"batch": 30`} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the configuration lacks %s", want)
		}
	}
}
