package parser

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/sugarme/gotch/ts"

	"github.com/tabert-workbench/tabert-workbench/asdl"
	"github.com/tabert-workbench/tabert-workbench/database"
	"github.com/tabert-workbench/tabert-workbench/internal/torch"
	"github.com/tabert-workbench/tabert-workbench/semql"
	"github.com/tabert-workbench/tabert-workbench/tabert/encoder"
	"github.com/tabert-workbench/tabert-workbench/tranx"
	"github.com/tabert-workbench/tabert-workbench/tranx/decoder"
)

// Parser answers questions with one model. It can be used by many goroutines at once;
// they take turns.
type Parser struct {
	Model  *Model
	worker *torch.Worker

	mu      sync.Mutex
	sources map[*database.DB]*Source
}

// Options are how a model is used; what is zero stays as it was trained.
type Options struct {
	Device  string // "cpu" or "cuda"
	Beam    int    // hypotheses that the search keeps
	Threads int    // of one operation; 0: one a core
}

// Open reads a model folder.
func Open(dir string, o Options) (*Parser, error) {
	p := &Parser{worker: torch.NewWorker(), sources: map[*database.DB]*Source{}}
	err := p.worker.Do(func() error {
		// The number of threads belongs to the worker's thread.
		if o.Threads > 0 {
			torch.SetThreads(o.Threads)
		}
		d, err := torch.OpenDevice(o.Device)
		if err != nil {
			return err
		}
		if p.Model, err = Load(dir, d); err != nil {
			return err
		}
		if o.Beam > 0 {
			p.Model.Config.Beam = o.Beam
		}
		return nil
	})
	if err != nil {
		p.worker.Close()
		return nil, err
	}
	return p, nil
}

// Use makes a parser of a model in memory that computes on somebody's worker. It is not
// closed; model and worker stay their owner's.
func Use(m *Model, w *torch.Worker) *Parser {
	return &Parser{Model: m, worker: w, sources: map[*database.DB]*Source{}}
}

// Close frees a parser that Open made.
func (p *Parser) Close() {
	_ = p.worker.Do(func() error { p.Model.Close(); return nil })
	p.worker.Close()
}

// Hypothesis is a possible answer.
type Hypothesis struct {
	Actions []tranx.Action
	Tree    *asdl.Tree
	SQL     string
	Score   float64 // log-probability
	Err     error   // why it cannot be the answer: it has no SQL, or SQLite refuses it
}

// Answer is what became of a question.
type Answer struct {
	Hypothesis              // the first one without Err
	Beam       []Hypothesis // all, best first
	Input      *Input
}

// NoAnswerError says that no hypothesis became SQL that runs.
type NoAnswerError struct {
	Question string
	Beam     []Hypothesis
}

func (e *NoAnswerError) Error() string {
	if len(e.Beam) == 0 {
		return fmt.Sprintf("no answer to %q: the search found no complete query", e.Question)
	}
	return fmt.Sprintf("no answer to %q: none of %d queries can be run; the likeliest: %v", e.Question, len(e.Beam), e.Beam[0].Err)
}

// Source is the database as the parser sees it, read once for each open file.
func (p *Parser) Source(ctx context.Context, db *database.DB) (*Source, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if s := p.sources[db]; s != nil {
		return s, nil
	}
	s, err := ReadSource(ctx, db, nil)
	if err != nil {
		return nil, err
	}
	p.sources[db] = s
	return s, nil
}

// Ask answers a question over an open file: the first hypothesis that SQLite accepts.
func (p *Parser) Ask(ctx context.Context, db *database.DB, question string) (Answer, error) {
	src, err := p.Source(ctx, db)
	if err != nil {
		return Answer{}, err
	}
	return p.Parse(ctx, src, question, func(sql string) error { return db.Prepare(ctx, sql) })
}

// Parse answers a question over a source. accept says whether a query can run; nil
// accepts all.
func (p *Parser) Parse(ctx context.Context, src *Source, question string, accept func(sql string) error) (Answer, error) {
	var answer Answer
	in, err := p.Model.Prepare(src, question, nil)
	if err != nil {
		return answer, err
	}
	answer.Input = in
	var found []*tranx.Hypothesis
	err = p.session(in, func(s *decoder.Session) error {
		var err error
		found, err = tranx.Beam(ctx, p.Model.System, s, tranx.BeamOptions{
			Size: p.Model.Config.Beam, MaxSteps: p.Model.Config.MaxSteps, Constraint: semql.Constraint(src.Schema)})
		return err
	})
	if err != nil {
		return answer, err
	}
	best := -1
	for i, h := range found {
		hyp := Hypothesis{Actions: h.Actions(), Tree: h.Tree(), Score: h.Score}
		hyp.SQL, hyp.Err = semql.Render(hyp.Tree, src.Schema)
		if hyp.Err == nil && accept != nil {
			hyp.Err = accept(hyp.SQL)
		}
		if hyp.Err == nil && best < 0 {
			best = i
		}
		answer.Beam = append(answer.Beam, hyp)
	}
	if err := ctx.Err(); err != nil {
		return answer, err
	}
	if best < 0 {
		return answer, &NoAnswerError{question, answer.Beam}
	}
	answer.Hypothesis = answer.Beam[best]
	return answer, nil
}

// session encodes an input and runs f on the decoder's session over it.
func (p *Parser) session(in *Input, f func(*decoder.Session) error) error {
	return p.worker.Do(func() error {
		var s *decoder.Session
		var err error
		torch.NoGrad(func() {
			var b *Batch
			if b, err = p.Model.NewBatch([]*Input{in}); err != nil {
				return
			}
			defer b.Free()
			var flat, vectors *ts.Tensor
			flat = p.Model.Encoder.Forward(b.Encoder, p.Model.Config.Encoder.HiddenLayers, encoder.Dropout{})
			defer flat.MustDrop()
			vectors = p.Model.Vectors(b, flat)
			defer vectors.MustDrop()
			s, err = p.Model.Decoder.NewSession(vectors, b.Memories[0])
		})
		if err != nil {
			return err
		}
		defer s.Close()
		return f(s)
	})
}

// Step is an action of an answer, with what the decoder thought of it.
type Step struct {
	Action       tranx.Action
	LogProb      float64
	Alternatives []tranx.Scored // others that were legal, likeliest first, at most five
	Attention    []float32      // of each element; see decoder.Attention
}

// Explain replays the actions of a hypothesis and tells the probability of each.
func (p *Parser) Explain(in *Input, actions []tranx.Action) ([]Step, error) {
	var steps []Step
	err := p.session(in, func(s *decoder.Session) error {
		h := p.Model.System.Start()
		for _, a := range actions {
			scored, err := s.Score([]*tranx.Hypothesis{h})
			if err != nil {
				return err
			}
			step := Step{Action: a, Attention: decoder.Attention(h)}
			found := false
			for _, c := range scored[0] {
				if c.Action == a {
					step.LogProb, found = c.LogProb, true
				} else {
					step.Alternatives = insert(step.Alternatives, c, 5)
				}
			}
			if !found {
				return fmt.Errorf("the decoder gives no score to %v", a)
			}
			steps = append(steps, step)
			if h, err = h.Apply(a); err != nil {
				return err
			}
		}
		return nil
	})
	return steps, err
}

// insert keeps the n likeliest, in order.
func insert(list []tranx.Scored, c tranx.Scored, n int) []tranx.Scored {
	i := len(list)
	for i > 0 && list[i-1].LogProb < c.LogProb {
		i--
	}
	if i >= n {
		return list
	}
	list = append(list, tranx.Scored{})
	copy(list[i+1:], list[i:])
	list[i] = c
	return list[:min(len(list), n)]
}

// IsCancelled tells whether an error is a context's end.
func IsCancelled(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}
