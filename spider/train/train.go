package train

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/sugarme/gotch"
	"github.com/sugarme/gotch/ts"

	"github.com/tabert-workbench/tabert-workbench/eval"
	"github.com/tabert-workbench/tabert-workbench/internal/libtorch"
	"github.com/tabert-workbench/tabert-workbench/internal/partfile"
	"github.com/tabert-workbench/tabert-workbench/internal/torch"
	"github.com/tabert-workbench/tabert-workbench/parser"
	"github.com/tabert-workbench/tabert-workbench/spider"
	"github.com/tabert-workbench/tabert-workbench/spider/predict"
	"github.com/tabert-workbench/tabert-workbench/tabert"
	"github.com/tabert-workbench/tabert-workbench/tabert/encoder"
	"github.com/tabert-workbench/tabert-workbench/tranx/decoder"
)

// Options say where a run reads and writes, beside its configuration.
type Options struct {
	Out     string // folder of the run
	Resume  bool   // go on from the folder's last checkpoint
	Init    string // "minilm", or a folder: a BERT's or a trained model's
	Device  string
	Threads int // of one operation; 0: libtorch's choice
	Limit   int // use only the first so many examples
	Steps   int // for a run that is resumed: its number of steps from here on; 0 leaves it
	Log     io.Writer
	// Progress is told after every update.
	Progress func(Status)
}

// Status is how far a run is.
type Status struct {
	Step, Steps int
	Loss        float64 // running mean of the last updates
	Rate        float64 // examples a second
	Left        time.Duration
	HeldOut     float64 // latest exact match on held-out questions, −1 before
	Best        float64
}

// Result is what a run ended with.
type Result struct {
	Steps int
	Best  float64 // exact match on held-out databases, −1 if none were held out
	Model string  // folder of the best weights
}

// trainer is a run in progress.
type trainer struct {
	config  Config
	options Options
	data    *spider.Data
	sources *predict.Sources
	worker  *torch.Worker
	model   *parser.Model
	adam    *torch.Adam
	train   []*item
	heldOut []spider.Example
	schemas map[string]*eval.Schema
	state   state
	log     *os.File

	batches [][]*item // of the current epoch
	first   int       // step of the first of them
	epoch   int       // the next one
}

// state is what a checkpoint has beside weights and moments.
type state struct {
	Step    int     `json:"step"`
	Seconds float64 `json:"seconds"` // spent training, earlier parts of the run included
	Best    float64 `json:"best"`    // exact match on held-out questions, −1 before the first time
	BestAt  int     `json:"best_at"`
	// Evaluated is the last step that was measured on held-out questions.
	Evaluated int       `json:"evaluated"`
	Recent    []float64 `json:"recent"`
	Config    Config    `json:"config"`
	Code      string    `json:"code"` // version of the program that wrote the checkpoint
}

// Record is a line of the run's log.jsonl.
type Record struct {
	Step    int      `json:"step"`
	Loss    float64  `json:"loss"`
	Norm    float64  `json:"norm"` // of the gradient, before clipping
	Actions int      `json:"actions"`
	Seconds float64  `json:"seconds"`
	HeldOut *float64 `json:"held_out,omitempty"` // exact match
}

// Run trains until the last step or until ctx ends; then it writes a checkpoint and
// returns ctx's error.
func Run(ctx context.Context, data *spider.Data, config Config, o Options) (Result, error) {
	t := newTrainer(data, config, o)
	defer t.close()
	if err := t.open(ctx); err != nil {
		return Result{}, err
	}
	err := t.loop(ctx)
	return Result{Steps: t.state.Step, Best: t.state.Best, Model: filepath.Join(o.Out, bestFolder)}, err
}

// newTrainer is a run before it is opened. Close it.
func newTrainer(data *spider.Data, config Config, o Options) *trainer {
	if o.Log == nil {
		o.Log = io.Discard
	}
	return &trainer{config: config, options: o, data: data, sources: predict.NewSources(data), worker: torch.NewWorker()}
}

func (t *trainer) close() {
	_ = t.worker.Do(func() error {
		if t.adam != nil {
			t.adam.Close()
		}
		if t.model != nil {
			t.model.Close()
		}
		return nil
	})
	t.worker.Close()
	if t.log != nil {
		t.log.Close()
	}
}

func (t *trainer) say(format string, args ...any) {
	fmt.Fprintf(t.options.Log, format+"\n", args...)
}

// open makes the model and the examples, or takes them from the last checkpoint.
func (t *trainer) open(ctx context.Context) error {
	if err := os.MkdirAll(t.options.Out, 0o755); err != nil {
		return err
	}
	checkpoint, err := latest(t.options.Out)
	if err != nil {
		return err
	}
	switch {
	case t.options.Resume && checkpoint == "":
		return fmt.Errorf("--resume: there is no checkpoint in %s", t.options.Out)
	case !t.options.Resume && checkpoint != "":
		return fmt.Errorf("%s has a run already (%s): go on with --resume, or choose another folder", t.options.Out, filepath.Base(checkpoint))
	}
	t.state.Best = -1
	if checkpoint != "" {
		if err := restore(t.options.Out, bestFolder); err != nil {
			return err
		}
		if err := t.readState(checkpoint); err != nil {
			return err
		}
		t.config = t.state.Config
		if t.options.Steps > 0 {
			t.config.Steps = t.options.Steps
		}
	}

	examples := t.data.Examples
	if t.config.HeldOut > 0 {
		others, held := t.data.Part(t.data.HeldOut(t.config.HeldOut, t.config.Seed))
		examples = others
		t.heldOut = sample(held, t.config.EvaluateLimit, t.config.Seed)
	}
	if t.options.Limit > 0 && len(examples) > t.options.Limit {
		examples = examples[:t.options.Limit]
	}
	if missing := t.data.Missing(); len(missing) > 0 {
		t.say("no file of %d of %d databases; their questions are trained on with the schema alone: %s",
			len(missing), len(t.data.IDs()), strings.Join(missing, ", "))
	}
	t.schemas = map[string]*eval.Schema{}
	for _, x := range t.heldOut {
		if t.schemas[x.DBID] == nil {
			t.schemas[x.DBID] = eval.NewSchema(t.data.Databases[x.DBID])
		}
	}
	return t.worker.Do(func() error {
		device, err := torch.OpenDevice(t.options.Device)
		if err != nil {
			return err
		}
		if t.options.Threads > 0 {
			torch.SetThreads(t.options.Threads)
		}
		t.adam = torch.NewAdam()
		sys, err := parser.NewSystem(t.config.Model.Grammar)
		if err != nil {
			return err
		}
		var lost map[string]int
		if t.train, lost, err = items(t.data, examples, sys); err != nil {
			return err
		}
		if !slices.ContainsFunc(t.train, func(it *item) bool { return it.Split != spider.Others || t.config.OthersShare > 0 }) {
			return fmt.Errorf("none of %d examples can be trained on (others_share is %g)", len(examples), t.config.OthersShare)
		}
		n := 0
		for _, c := range lost {
			n += c
		}
		t.say("%d examples to train on over %d databases; %d that the grammar %q cannot express%s; %d held-out questions",
			len(t.train), databases(t.train), n, t.config.Model.Grammar, reasons(lost), len(t.heldOut))
		if checkpoint != "" {
			err = t.readWeights(checkpoint, device)
		} else {
			err = t.initial(ctx, device)
		}
		if layers := t.config.Model.Encoder.HiddenLayers; err == nil && t.config.FrozenLayers > layers {
			return fmt.Errorf("frozen_layers (%d) must not be above the encoder's number of layers (%d)", t.config.FrozenLayers, layers)
		}
		return err
	})
}

func databases(list []*item) int {
	seen := map[string]bool{}
	for _, it := range list {
		seen[it.DBID] = true
	}
	return len(seen)
}

// reasons lists what examples were lost to, the most frequent first.
func reasons(lost map[string]int) string {
	var keys []string
	for k := range lost {
		keys = append(keys, k)
	}
	sort.Slice(keys, func(i, j int) bool {
		return lost[keys[i]] > lost[keys[j]] || lost[keys[i]] == lost[keys[j]] && keys[i] < keys[j]
	})
	for i, k := range keys {
		keys[i] = fmt.Sprintf("%s: %d", k, lost[k])
	}
	if len(keys) == 0 {
		return ""
	}
	return " (" + strings.Join(keys, ", ") + ")"
}

// sample picks n examples, evenly over the list after a shuffle.
func sample(list []spider.Example, n int, seed uint64) []spider.Example {
	if n <= 0 || n >= len(list) {
		return list
	}
	list = append([]spider.Example(nil), list...)
	r := rand.New(rand.NewPCG(seed, 7))
	r.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	return list[:n]
}

// initial makes a new model from the initial weights.
func (t *trainer) initial(ctx context.Context, device gotch.Device) error {
	dir := t.options.Init
	if dir == "minilm" {
		var err error
		if dir, err = libtorch.MiniLM(ctx, t.options.Log); err != nil {
			return err
		}
	}
	if parser.IsModel(dir) {
		m, err := parser.Load(dir, device)
		if err != nil {
			return err
		}
		m.Config.Decoder.Dropout = t.config.Model.Decoder.Dropout
		m.Decoder.Config.Dropout = m.Config.Decoder.Dropout
		t.model, t.config.Model = m, m.Config
		t.say("going on from the model in %s: %d parameters", dir, m.Params.Count())
		return nil
	}
	params := torch.NewParams(device)
	config, err := encoder.Load(params, parser.EncoderPrefix, dir)
	if err != nil {
		return fmt.Errorf("initial weights: %w", err)
	}
	tok, err := tabert.LoadTokenizer(filepath.Join(dir, "vocab.txt"), true)
	if err != nil {
		return fmt.Errorf("initial weights: %w", err)
	}
	t.config.Model.Encoder = config
	t.config.Model.Decoder.Vocabulary, t.config.Model.Decoder.Integers = vocabulary(t.train, t.config.Tokens)
	t.model, err = parser.New(params, t.config.Model, tok, rand.New(rand.NewPCG(t.config.Seed, 0)))
	if err != nil {
		return err
	}
	t.say("encoder from %s: %d parameters in all, %d words and %d numbers to generate", filepath.Base(dir), params.Count(),
		len(t.config.Model.Decoder.Vocabulary), len(t.config.Model.Decoder.Integers))
	return nil
}

// loop runs from the state's step to the last.
func (t *trainer) loop(ctx context.Context) error {
	if err := t.openLog(); err != nil {
		return err
	}
	saved, savedAt := t.state.Step, time.Now()
	began, first := time.Now(), t.state.Step
	examples := 0
	if _, err := t.measure(ctx); err != nil { // where the run was stopped before it could
		return err
	}
	for t.state.Step < t.config.Steps {
		if err := ctx.Err(); err != nil {
			if saved < t.state.Step || saved == 0 {
				err = errors.Join(err, t.save())
			}
			return err
		}
		start := time.Now()
		batch := t.batch(t.state.Step)
		var r Record
		err := t.worker.Do(func() (err error) { r, err = t.update(ctx, t.state.Step, batch); return err })
		if err != nil {
			if parser.IsCancelled(err) {
				continue
			}
			return fmt.Errorf("step %d: %w; the last checkpoint is of step %d", t.state.Step+1, err, saved)
		}
		t.state.Step++
		examples += len(batch)
		t.state.Seconds += time.Since(start).Seconds()
		t.state.Recent = append(t.state.Recent, r.Loss)
		t.state.Recent = t.state.Recent[max(0, len(t.state.Recent)-50):]
		r.Step, r.Seconds = t.state.Step, math.Round(t.state.Seconds*1000)/1000
		last := t.state.Step == t.config.Steps
		if r.HeldOut, err = t.measure(ctx); err != nil {
			return err
		}
		if err := t.write(r); err != nil {
			return err
		}
		due := t.config.CheckpointEvery > 0 && t.state.Step-saved >= t.config.CheckpointEvery
		due = due || t.config.CheckpointMinutes > 0 && time.Since(savedAt).Minutes() >= t.config.CheckpointMinutes
		if due || last {
			if err := t.save(); err != nil {
				return err
			}
			saved, savedAt = t.state.Step, time.Now()
		}
		if t.options.Progress != nil {
			gone := time.Since(began)
			s := Status{Step: t.state.Step, Steps: t.config.Steps, Loss: mean(t.state.Recent), Rate: float64(examples) / gone.Seconds(), HeldOut: -1, Best: t.state.Best}
			s.Left = time.Duration(float64(gone) / float64(t.state.Step-first) * float64(t.config.Steps-t.state.Step))
			if r.HeldOut != nil {
				s.HeldOut = *r.HeldOut
			}
			t.options.Progress(s)
		}
	}
	if err := ctx.Err(); err != nil {
		return err // the last measurement may be missing
	}
	if t.state.Best < 0 { // nothing was held out: the last weights are the best
		return t.saveBest()
	}
	return nil
}

func mean(list []float64) float64 {
	sum := 0.0
	for _, v := range list {
		sum += v
	}
	return sum / float64(max(len(list), 1))
}

// batch is the examples of a step, from the step's number alone.
func (t *trainer) batch(step int) []*item {
	// Epochs differ in length where others are sampled.
	for step >= t.first+len(t.batches) {
		t.first += len(t.batches)
		t.batches = schedule(t.config.Seed, t.epoch, t.train, t.config.Batch, t.config.OthersShare)
		t.epoch++
	}
	return t.batches[step-t.first]
}

// frozen is how many of the lowest layers are not trained at a step, −1 for none.
func (t *trainer) frozen(step int) int {
	if step < t.config.FreezeSteps {
		return t.config.Model.Encoder.HiddenLayers
	}
	return t.config.FrozenLayers
}

// update does one step of Adam.
func (t *trainer) update(ctx context.Context, step int, batch []*item) (Record, error) {
	var r Record
	frozen := t.frozen(step)
	for _, it := range batch {
		if err := t.prepare(ctx, it); err != nil {
			return r, err
		}
	}
	torch.Seed(t.config.Seed*1_000_003 + uint64(step))
	t.model.Params.DropGrads()
	t.model.Params.Train(func(name string) bool {
		layer, ok := t.model.Encoder.LayerOf(name)
		return !ok || layer >= frozen
	})
	for _, part := range passes(batch, t.config.PassTokens) {
		loss, actions, err := t.pass(part, frozen, float64(len(part))/float64(len(batch)))
		if err != nil {
			return r, err
		}
		r.Loss += loss
		r.Actions += actions
	}
	var err error
	if r.Norm, err = t.model.Params.Clip(t.config.Clip); err != nil {
		return r, err
	}
	if bad := r.Loss + r.Norm; math.IsNaN(bad) || math.IsInf(bad, 0) {
		return r, fmt.Errorf("the loss is %g, and its gradient's norm %g (a smaller rate may help)", r.Loss, r.Norm)
	}
	left := 1 - float64(step)/float64(t.config.Steps)
	err = t.adam.Step(t.model.Params, func(name string) (float64, float64) {
		if _, ok := t.model.Encoder.LayerOf(name); ok {
			return t.config.EncoderRate * left, t.config.WeightDecay
		}
		if t.config.RateDecay {
			return t.config.Rate * left, t.config.WeightDecay
		}
		return t.config.Rate, t.config.WeightDecay
	})
	return r, err
}

// prepare makes an example's input when it is first used.
func (t *trainer) prepare(ctx context.Context, it *item) error {
	if it.input != nil {
		return nil
	}
	src, err := t.sources.Get(ctx, it.DBID)
	if err != nil {
		return err
	}
	in, err := t.model.Prepare(src, it.Question, nil)
	if err != nil {
		return fmt.Errorf("%s example %d: %w", it.Split, it.ID, err)
	}
	if b := t.config.TokenBudget; b > 0 && in.Tokens() > b {
		seed := rand.NewPCG(t.config.Seed, uint64(it.ID)<<8|uint64(len(it.Split)))
		in.Keep(choose(rand.New(seed), len(in.Tables), it.tables, b, func(i int) int { return in.Tables[i].Tokens() }))
	}
	it.input = in
	return nil
}

// passes splits a batch so that each part has at most so many tokens, and at least one
// example.
func passes(batch []*item, tokens int) [][]*item {
	var parts [][]*item
	used := 0
	for _, it := range batch {
		n := it.input.Tokens()
		if len(parts) == 0 || used+n > tokens {
			parts, used = append(parts, nil), 0
		}
		parts[len(parts)-1] = append(parts[len(parts)-1], it)
		used += n
	}
	return parts
}

// pass computes the loss of some examples and adds its gradients, weighted.
func (t *trainer) pass(part []*item, frozen int, weight float64) (loss float64, actions int, err error) {
	var scope torch.Scope
	defer scope.Free()
	inputs := make([]*parser.Input, len(part))
	for i, it := range part {
		inputs[i] = it.input
	}
	b, err := t.model.NewBatch(inputs)
	if err != nil {
		return 0, 0, err
	}
	defer b.Free()
	flat, err := t.encode(b, part, frozen)
	if err != nil {
		return 0, 0, err
	}
	scope.T(flat)
	vectors := scope.T(t.model.Vectors(b, flat))
	examples := make([]decoder.Example, len(part))
	for i, it := range part {
		examples[i] = decoder.Example{Memory: b.Memories[i], Actions: it.actions, Frontiers: it.frontiers}
	}
	mean, count, err := t.model.Decoder.Loss(&scope, vectors, examples, true)
	if err != nil {
		return 0, 0, err
	}
	weighted := scope.T(torch.Scale(mean, float32(weight)))
	if err := weighted.Backward(); err != nil {
		return 0, 0, err
	}
	return float64(torch.ToFloats(weighted)[0]), count.Actions, nil
}

// encode is the encoder's flat output. What the frozen layers say is kept, where the
// configuration asks for it.
func (t *trainer) encode(b *parser.Batch, part []*item, frozen int) (*ts.Tensor, error) {
	c := t.config.Model.Encoder
	drop := encoder.Dropout{Hidden: c.HiddenDropout, Attention: c.AttentionDropout}
	m := t.model.Encoder
	if !t.config.KeepStates {
		return m.Forward(b.Encoder, frozen, drop), nil
	}
	lower := t.config.FrozenLayers
	width := 2 * c.HiddenSize
	for _, it := range part {
		if it.kept == nil {
			if err := t.keep(it); err != nil {
				return nil, err
			}
		}
	}
	at := rows(b, part)
	all := make([]byte, b.Encoder.Positions*width)
	for i, it := range part {
		for k, r := range at[i] {
			copy(all[r.row*width:], it.kept[k])
		}
	}
	var hidden encoder.Hidden
	defer func() { hidden.Free() }()
	start := 0
	for _, g := range b.Encoder.Groups {
		end := start + g.B*g.S*width
		half := torch.Halfs(t.model.Params.Device, all[start:end], int64(g.B), int64(g.S), int64(c.HiddenSize))
		hidden = append(hidden, torch.As(half, gotch.Float))
		half.MustDrop()
		start = end
	}
	if frozen == c.HiddenLayers && lower < frozen {
		var flat *ts.Tensor
		torch.NoGrad(func() {
			top := m.Continue(b.Encoder, hidden, lower, frozen, encoder.Dropout{})
			defer top.Free()
			flat = top.Flat()
		})
		return flat, nil
	}
	top := m.Continue(b.Encoder, hidden, lower, c.HiddenLayers, drop)
	defer top.Free()
	return top.Flat(), nil
}

// keep computes what the frozen layers say of an example: of it alone, since the states of
// a batch depend in their last bits on what else is in it, and a run that goes on from a
// checkpoint meets an example first in another batch.
func (t *trainer) keep(it *item) error {
	m, width := t.model.Encoder, 2*t.config.Model.Encoder.HiddenSize
	b, err := t.model.NewBatch([]*parser.Input{it.input})
	if err != nil {
		return err
	}
	defer b.Free()
	var states []byte
	torch.NoGrad(func() {
		begin := m.Begin(b.Encoder, encoder.Dropout{})
		defer begin.Free()
		h := m.Continue(b.Encoder, begin, 0, t.config.FrozenLayers, encoder.Dropout{})
		defer h.Free()
		flat := h.Flat()
		defer flat.MustDrop()
		states = torch.ToHalfs(flat)
	})
	for _, r := range rows(b, []*item{it})[0] {
		it.kept = append(it.kept, append([]byte(nil), states[r.row*width:(r.row+r.n)*width]...))
	}
	return nil
}

// place is where a sequence lies in the flat states.
type place struct{ row, n int }

// rows are the places of each example's sequences.
func rows(b *parser.Batch, part []*item) [][]place {
	out := make([][]place, len(part))
	table := 0
	for i, it := range part {
		for _, t := range it.input.Tables {
			for k, s := range t.Sequences {
				out[i] = append(out[i], place{b.Encoder.Row(table, k), len(s.IDs)})
			}
			table++
		}
	}
	return out
}

// measure evaluates where it is due and not done, and keeps the best weights. It gives nil
// where ctx ended before; a run that goes on does it then.
func (t *trainer) measure(ctx context.Context) (*float64, error) {
	step := t.state.Step
	due := t.config.EvaluateEvery > 0 && (step%t.config.EvaluateEvery == 0 || step == t.config.Steps)
	if len(t.heldOut) == 0 || !due || t.state.Evaluated >= step {
		return nil, nil
	}
	score, err := t.evaluate(ctx)
	if parser.IsCancelled(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	t.say("step %d: loss %.3f, held-out exact match %.1f %%", step, mean(t.state.Recent), 100*score)
	t.state.Evaluated = step
	if score >= t.state.Best {
		t.state.Best, t.state.BestAt = score, step
		return &score, t.saveBest()
	}
	return &score, nil
}

// evaluate is the exact match on held-out questions, decoded as the model's users do it.
func (t *trainer) evaluate(ctx context.Context) (float64, error) {
	p := parser.Use(t.model, t.worker)
	right := 0
	for _, x := range t.heldOut {
		src, err := t.sources.Get(ctx, x.DBID)
		if err != nil {
			return 0, err
		}
		answer, err := p.Parse(ctx, src, x.Question, nil)
		var none *parser.NoAnswerError
		if errors.As(err, &none) {
			continue
		}
		if err != nil {
			return 0, err
		}
		v, err := t.schemas[x.DBID].Match(x.Query, answer.SQL)
		if err != nil {
			return 0, fmt.Errorf("%s example %d: gold query: %w", x.Split, x.ID, err)
		}
		if v.Exact {
			right++
		}
	}
	return float64(right) / float64(len(t.heldOut)), nil
}

// openLog opens log.jsonl for appending. Lines of steps after the state's, which a killed
// run wrote behind its last checkpoint, are dropped.
func (t *trainer) openLog() error {
	path := filepath.Join(t.options.Out, "log.jsonl")
	data, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	var keep []byte
	for _, line := range strings.SplitAfter(string(data), "\n") {
		var r Record
		if json.Unmarshal([]byte(line), &r) == nil && strings.HasSuffix(line, "\n") && r.Step <= t.state.Step {
			keep = append(keep, line...)
		}
	}
	if err := partfile.Write(path, keep); err != nil {
		return err
	}
	t.log, err = os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0o644)
	return err
}

func (t *trainer) write(r Record) error {
	line, err := json.Marshal(r)
	if err != nil {
		return err
	}
	_, err = t.log.Write(append(line, '\n'))
	return err
}
