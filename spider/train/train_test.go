package train

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/tabert-workbench/tabert-workbench/internal/testdata"
	"github.com/tabert-workbench/tabert-workbench/parser"
	"github.com/tabert-workbench/tabert-workbench/spider"
	"github.com/tabert-workbench/tabert-workbench/tranx"
)

func TestSchedule(t *testing.T) {
	var list []*item
	for i := range 107 {
		split := spider.Train
		if i%4 == 0 {
			split = spider.Others
		}
		list = append(list, &item{Example: spider.Example{ID: i, Split: split}, actions: make([]tranx.Action, i%13+1)})
	}
	ids := func(batches [][]*item) (all []int) {
		for _, b := range batches {
			for _, it := range b {
				all = append(all, it.ID)
			}
		}
		return all
	}
	whole := schedule(1, 0, list, 5, 1)
	if len(whole) != 22 {
		t.Errorf("%d batches, expected 22", len(whole))
	}
	if sorted := slices.Sorted(slices.Values(ids(whole))); len(slices.Compact(sorted)) != 107 {
		t.Errorf("an epoch has %d examples, expected each of 107 once", len(sorted))
	}
	if again := schedule(1, 0, list, 5, 1); !slices.Equal(ids(whole), ids(again)) {
		t.Error("the same seed and epoch give another order")
	}
	if slices.Equal(ids(whole), ids(schedule(1, 1, list, 5, 1))) || slices.Equal(ids(whole), ids(schedule(2, 0, list, 5, 1))) {
		t.Error("another epoch or seed gives the same order")
	}
	wide := 0
	for _, b := range whole {
		d := len(b[len(b)-1].actions) - len(b[0].actions)
		if d > 2 {
			wide++
		}
		if len(b) > 5 || d < 0 {
			t.Errorf("a batch of %d, with %d to %d actions", len(b), len(b[0].actions), len(b[len(b)-1].actions))
		}
	}
	if wide > 2 { // those of the seven examples that are left over
		t.Errorf("%d of %d batches have examples of unlike lengths", wide, len(whole))
	}
	count := func(share float64) (train, others int) {
		for _, b := range schedule(1, 0, list, 5, share) {
			for _, it := range b {
				if it.Split == spider.Others {
					others++
				} else {
					train++
				}
			}
		}
		return train, others
	}
	if train, others := count(0); train != 80 || others != 0 {
		t.Errorf("share 0: %d and %d", train, others)
	}
	if train, others := count(0.5); train != 80 || others < 5 || others > 22 {
		t.Errorf("share 0.5: %d and %d", train, others)
	}
}

// TestBatch asks for the examples of steps in any order: they depend on the step alone.
func TestBatch(t *testing.T) {
	var list []*item
	for i := range 11 {
		list = append(list, &item{Example: spider.Example{ID: i, Split: spider.Others}})
	}
	config := Config{Seed: 4, Batch: 3, OthersShare: 0.6}
	in := &trainer{config: config, train: list}
	var want [][]*item
	for epoch := range 9 {
		want = append(want, schedule(4, epoch, list, 3, 0.6)...)
	}
	for step, batch := range want {
		if !reflect.DeepEqual(in.batch(step), batch) {
			t.Errorf("step %d differs", step)
		}
		if resumed := (&trainer{config: config, train: list}); !reflect.DeepEqual(resumed.batch(step), batch) {
			t.Errorf("step %d differs in a run that begins there", step)
		}
	}
}

func TestChoose(t *testing.T) {
	sizes := []int{50, 10, 20, 30, 40}
	tokens := func(i int) int { return sizes[i] }
	for _, test := range []struct {
		gold   []int
		budget int
		want   []int // nil: any that fits
		why    string
	}{
		{[]int{3, 1}, 40, []int{1, 3}, "the gold tables fill the budget"},
		{[]int{0}, 10, []int{0}, "gold tables are shown whatever they cost"},
		{[]int{4}, 1000, []int{0, 1, 2, 3, 4}, "all fit"},
		{[]int{0}, 65, []int{0, 1}, "only table 1 fits beside"},
		{[]int{1}, 60, nil, "some"},
	} {
		for seed := range uint64(20) {
			got := choose(rand.New(rand.NewPCG(seed, 1)), len(sizes), test.gold, test.budget, tokens)
			if test.want != nil && !slices.Equal(got, test.want) {
				t.Errorf("%s: %v, expected %v", test.why, got, test.want)
			}
			used := 0
			for _, i := range got {
				used += sizes[i]
			}
			if !slices.IsSorted(got) || test.want == nil && (used > test.budget || !slices.Contains(got, 1) || len(got) < 2) {
				t.Errorf("%s: %v", test.why, got)
			}
		}
	}
}

func TestVocabulary(t *testing.T) {
	example := func(question string, values ...any) *item {
		it := &item{Example: spider.Example{Question: question}}
		for _, v := range values {
			switch v := v.(type) {
			case int:
				it.actions = append(it.actions, tranx.Action{Kind: tranx.SelectInt, Int: v})
			case string:
				for _, w := range tranx.Words(v) {
					it.actions = append(it.actions, tranx.Action{Kind: tranx.GenToken, Token: w.Space + w.Text})
				}
				it.actions = append(it.actions, tranx.Action{Kind: tranx.GenToken, Token: tranx.EndOfString})
			}
		}
		return it
	}
	list := []*item{
		example("Who sings in New York?", "New York", "USA", 3),
		example("Who is from the USA", "USA", "US", "x-York", 3),
		example("more York", "York York", "US", "x-York", "New York", 3, 2),
		example("the three best", 3, 1, 2),
	}
	for _, test := range []struct {
		limit int
		want  []string
	}{
		// "York" behind a hyphen has no space before it, as it has in the questions. What comes only
		// once is left out: USA, New, York as a first word.
		{10, []string{tranx.EndOfString, "-", "US", "York", "x"}},
		{3, []string{tranx.EndOfString, "-", "US"}},
		{1, []string{tranx.EndOfString}},
	} {
		tokens, integers := vocabulary(list, test.limit)
		if !slices.Equal(tokens, test.want) {
			t.Errorf("limit %d: %q, expected %q", test.limit, tokens, test.want)
		}
		if want := []int{3, 2, 1}; !slices.Equal(integers, want) {
			t.Errorf("integers %v, expected %v", integers, want)
		}
	}
	if _, integers := vocabulary(nil, 5); !slices.Equal(integers, []int{1}) {
		t.Errorf("integers %v, expected [1] even where training has none", integers)
	}
}

func TestConfigErrors(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config.json")
	for _, test := range []struct{ text, want string }{
		{`{"bach": 3}`, `json: unknown field "bach"`},
		{`{"model": {"decoder": {"sate": 3}}}`, `json: unknown field "sate"`},
		{`{"batch": "many"}`, "json: cannot unmarshal string into Go struct field Config.batch of type int"},
		{`{`, "unexpected EOF"},
		{`{} {}`, "one JSON object expected, there is more behind it"},
		{`{"batch": 0}`, "batch (0) must be positive"},
		{`{"steps": -1}`, "steps (-1) must be positive"},
		{`{"pass_tokens": 0}`, "pass_tokens (0) must be positive"},
		{`{"frozen_layers": -2}`, "frozen_layers must not be below -1"},
		{`{"held_out": -1}`, "held_out must not be below 0"},
		{`{"others_share": 1.5}`, "others_share (1.5) must be in [0, 1]"},
		{`{"rate": 0}`, "rate must be positive, and encoder_rate, weight_decay, clip and checkpoint_minutes not negative"},
		{`{"keep_states": true}`, "keep_states needs frozen_layers of 0 or more: what changes cannot be kept"},
	} {
		if err := os.WriteFile(path, []byte(test.text), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadConfig(path); err == nil || err.Error() != path+": "+test.want {
			t.Errorf("%s: %v, expected %s", test.text, err, test.want)
		}
	}
	files, err := filepath.Glob(filepath.Join(testdata.Root(), "configs", "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		if _, err := ReadConfig(file); err != nil {
			t.Error(err)
		}
	}
	var text strings.Builder
	if err := WriteConfig(&text, small()); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	if c, err := ReadConfig(path); err != nil || !reflect.DeepEqual(c, small()) {
		t.Errorf("what WriteConfig writes is not what ReadConfig reads: %v", err)
	}
}

// TestOpen looks at what a run trains on.
func TestOpen(t *testing.T) {
	data, err := spider.Load(testdata.Sample(t), spider.Train, spider.Others)
	if err != nil {
		t.Fatal(err)
	}
	bert := smallBERT(t)
	config := small()
	config.HeldOut, config.EvaluateLimit = 4, 7
	for _, limit := range []int{0, 30} {
		var log strings.Builder
		tr := newTrainer(data, config, Options{Out: t.TempDir(), Init: bert, Threads: 1, Limit: limit, Log: &log})
		if err := tr.open(context.Background()); err != nil {
			t.Fatal(err)
		}
		held := data.HeldOut(config.HeldOut, config.Seed)
		if len(held) != 4 || len(tr.heldOut) != 7 {
			t.Errorf("%d databases and %d questions are held out, expected 4 and 7", len(held), len(tr.heldOut))
		}
		for _, it := range tr.train {
			if slices.Contains(held, it.DBID) {
				t.Fatalf("example %d on %s is trained on, which is held out", it.ID, it.DBID)
			}
		}
		for _, x := range tr.heldOut {
			if !slices.Contains(held, x.DBID) {
				t.Errorf("%s is measured on, but not held out", x.DBID)
			}
		}
		if limit > 0 && (len(tr.train) > limit || len(tr.train) < limit/2) || limit == 0 && len(tr.train) < 150 {
			t.Errorf("limit %d: %d examples", limit, len(tr.train))
		}
		if want := fmt.Sprintf("%d examples to train on over %d databases; ", len(tr.train), databases(tr.train)); !strings.HasPrefix(log.String(), want) {
			t.Errorf("log %q, expected %q", log.String(), want)
		}
		tr.close()
	}
}

// TestMissingDatabases trains where no database has a file: each is named once, and nothing is held out.
func TestMissingDatabases(t *testing.T) {
	data, err := spider.Layout{Dir: testdata.Sample(t), Databases: t.TempDir()}.Load(spider.Others)
	if err != nil {
		t.Fatal(err)
	}
	config := small()
	config.HeldOut, config.Steps = 4, 2
	var log strings.Builder
	result, err := Run(context.Background(), data, config, Options{Out: t.TempDir(), Init: smallBERT(t), Threads: 1, Log: &log})
	if err != nil || result.Steps != 2 {
		t.Fatalf("%+v, %v", result, err)
	}
	want := "no file of 2 of 2 databases; their questions are trained on with the schema alone: geo, restaurants\n"
	if strings.Count(log.String(), want) != 1 {
		t.Errorf("log %q, expected %q once", log.String(), want)
	}
}

// TestRunErrors breaks what a run needs; each error is one line that says what is wrong.
func TestRunErrors(t *testing.T) {
	data := sampleOf(t, 6)
	bert := smallBERT(t)
	config := small()
	config.HeldOut, config.Steps, config.Batch = 0, 2, 3
	out := filepath.Join(t.TempDir(), "run")
	run := func(change func(*Config, *Options)) error {
		c, o := config, Options{Out: out, Init: bert, Threads: 1}
		change(&c, &o)
		_, err := Run(context.Background(), data, c, o)
		if err != nil && strings.Contains(err.Error(), "\n") {
			t.Errorf("an error of several lines: %v", err)
		}
		return err
	}
	expect := func(name string, err error, want string) {
		t.Helper()
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v, expected %s", name, err, want)
		}
	}
	expect("nothing to resume", run(func(_ *Config, o *Options) { o.Resume = true }), "--resume: there is no checkpoint in "+out)
	expect("initial weights", run(func(_ *Config, o *Options) { o.Init = "nowhere" }), "initial weights: BERT configuration: open nowhere/config.json: no such file or directory")
	expect("grammar", run(func(c *Config, _ *Options) { c.Model.Grammar = "spoken" }), `semql: no grammar "spoken" (there is: figure)`)
	expect("frozen layers", run(func(c *Config, _ *Options) { c.FrozenLayers = 3 }), "frozen_layers (3) must not be above the encoder's number of layers (2)")
	expect("device", run(func(_ *Config, o *Options) { o.Device = "abacus" }), `device "abacus": expected cpu or cuda`)
	if err := run(func(*Config, *Options) {}); err != nil {
		t.Fatal(err)
	}
	expect("a run is there", run(func(*Config, *Options) {}), out+" has a run already (checkpoint-2): go on with --resume, or choose another folder")
	if m, err := parser.Open(filepath.Join(out, "best"), parser.Options{Device: "cpu"}); err != nil {
		t.Error(err)
	} else {
		m.Close()
	}
	// Every file of a checkpoint, cut off in the middle.
	checkpoint := filepath.Join(out, "checkpoint-2")
	for name, want := range map[string]string{
		stateFile:           filepath.Join(checkpoint, stateFile) + ": unexpected end of JSON input",
		optimizerFile:       filepath.Join(checkpoint, optimizerFile) + ": cut off: ",
		"model.safetensors": "weights: " + filepath.Join(checkpoint, "model.safetensors") + ": cut off: ",
		"config.json":       filepath.Join(checkpoint, "config.json") + ": unexpected EOF",
		"grammar.asdl":      filepath.Join(checkpoint, "grammar.asdl") + ":",
		"vocab.txt":         "",
	} {
		path := filepath.Join(checkpoint, name)
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, data[:len(data)/2], 0o644); err != nil {
			t.Fatal(err)
		}
		expect(name, run(func(_ *Config, o *Options) { o.Resume = true }), want)
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		expect(name+" missing", run(func(_ *Config, o *Options) { o.Resume = true }), "")
		if err := os.WriteFile(path, data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := run(func(_ *Config, o *Options) { o.Resume, o.Steps = true, 3 }); err != nil {
		t.Fatal(err)
	}
	if log := readLog(t, out); len(log) != 3 {
		t.Errorf("%d lines in the log, expected 3", len(log))
	}
}

// TestRestore puts back what a run was about to replace.
func TestRestore(t *testing.T) {
	dir := t.TempDir()
	if err := restore(dir, "best"); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(replaced(dir, "best"), 0o755); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := restore(dir, "best"); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(filepath.Join(dir, "best")); err != nil {
			t.Fatal(err)
		}
	}
}
