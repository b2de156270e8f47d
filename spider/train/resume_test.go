package train

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tabert-workbench/tabert-workbench/internal/testdata"
	"github.com/tabert-workbench/tabert-workbench/parser/parsertest"
	"github.com/tabert-workbench/tabert-workbench/spider"
)

// child tells this test binary to be a training run: a JSON of childRun.
const child = "TRAIN_TEST_RUN"

type childRun struct {
	Data, Init, Out string
	Resume          bool
	Config          Config
}

func (c childRun) run(ctx context.Context) (Result, error) {
	data, err := spider.Load(c.Data, spider.Train)
	if err != nil {
		return Result{}, err
	}
	return Run(ctx, data, c.Config, Options{Out: c.Out, Init: c.Init, Resume: c.Resume, Threads: 1, Limit: 14})
}

func TestMain(m *testing.M) {
	if text := os.Getenv(child); text != "" {
		var c childRun
		err := json.Unmarshal([]byte(text), &c)
		if err == nil {
			_, err = c.run(context.Background())
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// small is a run of twelve steps that needs all of what a checkpoint has to carry: dropout
// everywhere, a frozen part, measurements, several passes a step, several epochs.
func small() Config {
	c := DefaultConfig()
	c.Seed, c.Batch, c.Steps, c.Rate, c.EncoderRate, c.RateDecay = 3, 5, 12, 1e-2, 1e-3, true
	c.FreezeSteps, c.FrozenLayers, c.TokenBudget, c.PassTokens = 2, 1, 120, 400
	c.HeldOut, c.EvaluateEvery, c.EvaluateLimit = 2, 5, 2
	c.CheckpointEvery, c.CheckpointMinutes = 2, 0
	c.Model.Decoder.State, c.Model.Decoder.ActionEmbedding, c.Model.Decoder.Dropout = 17, 13, 0.3
	c.Model.MaxSteps = 12
	return c
}

// smallBERT is a BERT with dropout for the words of the sample.
func smallBERT(t testing.TB) string {
	t.Helper()
	data, err := spider.Load(testdata.Sample(t), spider.Train)
	if err != nil {
		t.Fatal(err)
	}
	vocabulary := parsertest.Vocabulary(texts(data)...)
	bert := parsertest.Encoder(len(vocabulary))
	bert.HiddenLayers = 2
	bert.HiddenDropout, bert.AttentionDropout = 0.1, 0.1
	return parsertest.BERT(t, bert, vocabulary)
}

// readLog is the log of a run without its times.
func readLog(t testing.TB, out string) []string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(out, "log.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, line := range strings.Split(strings.TrimSpace(string(data)), "\n") {
		var r Record
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		r.Seconds = 0
		text, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, string(text))
	}
	return lines
}

// TestResume kills runs at random moments and goes on from what they left.
func TestResume(t *testing.T) {
	init, sample := smallBERT(t), testdata.Sample(t)
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed of the moments: %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	for _, keep := range []bool{false, true} {
		c := childRun{Data: sample, Init: init, Out: filepath.Join(t.TempDir(), "whole"), Config: small()}
		c.Config.KeepStates = keep
		if _, err := c.run(context.Background()); err != nil {
			t.Fatal(err)
		}
		want := readLog(t, c.Out)
		if len(want) != c.Config.Steps {
			t.Fatalf("%d lines in the log, expected %d", len(want), c.Config.Steps)
		}
		c.Out = filepath.Join(t.TempDir(), "killed")
		for range 2 {
			c.Resume = kill(t, r, c) || c.Resume
		}
		result, err := c.run(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		got := readLog(t, c.Out)
		for i := range max(len(got), len(want)) {
			if i >= len(got) || i >= len(want) || got[i] != want[i] {
				t.Fatalf("keep_states %v: step %d differs:\n%s\nuninterrupted:\n%s", keep, i+1, strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
		}
		if entries, err := os.ReadDir(c.Out); err != nil || result.Steps != c.Config.Steps || len(entries) < 3 {
			t.Errorf("%+v, %v, %v", result, entries, err)
		}
	}
}

// kill starts a run and kills it at a random moment behind its next checkpoint. It tells
// whether there is a checkpoint.
func kill(t *testing.T, r *rand.Rand, c childRun) bool {
	t.Helper()
	text, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	var errOut strings.Builder
	cmd := exec.Command(os.Args[0])
	cmd.Env, cmd.Stderr = append(os.Environ(), child+"="+string(text)), &errOut
	before := ""
	if c.Resume {
		if before, err = latest(c.Out); err != nil {
			t.Fatal(err)
		}
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	now := ""
	for now == before || now == "" {
		select {
		case err := <-done: // it went through before it could be killed
			if err != nil {
				t.Fatalf("%v: %s", err, errOut.String())
			}
			return true
		case <-time.After(2 * time.Millisecond):
			now, _ = latest(c.Out)
		}
	}
	time.Sleep(time.Duration(r.IntN(150)) * time.Millisecond)
	_ = cmd.Process.Kill()
	<-done
	now, err = latest(c.Out)
	if err != nil || now == "" {
		t.Fatalf("no checkpoint after the kill: %v", err)
	}
	t.Logf("killed behind %s", filepath.Base(now))
	return true
}
