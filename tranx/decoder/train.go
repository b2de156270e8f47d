package decoder

import (
	"fmt"

	"github.com/sugarme/gotch/ts"

	"github.com/tabert-workbench/tabert-workbench/internal/torch"
	"github.com/tabert-workbench/tabert-workbench/tranx"
)

// Example is a memory and the actions to learn with it.
type Example struct {
	Memory    *Memory
	Actions   []tranx.Action
	Frontiers []tranx.Frontier // of each action, from System.Replay
}

// Count tells what a loss was made of.
type Count struct {
	Actions      int // that the loss sums over
	Values       int // texts and integers
	Unproducible int // of those, values that can neither be copied nor generated: left out of the loss
}

// legal writes into row which productions may be applied at a frontier; none where the
// frontier is a leaf that nothing may close.
func (a actions) legal(row []float32, e tranx.Expectation) bool {
	if e.Kind != tranx.ApplyConstr && !e.Reduce {
		return false
	}
	for i := range row {
		row[i] = never
	}
	for _, c := range e.Constructors {
		row[c.ID] = 0
	}
	if e.Reduce {
		row[a.reduce] = 0
		if e.Kind != tranx.ApplyConstr {
			row[a.fill] = 0
		}
	}
	return true
}

// entry finds a table of the memory by its number in actions.
func (m *Memory) entry(table int) (int, error) {
	for i := range m.Tables {
		if m.Tables[i].Index == table {
			return i, nil
		}
	}
	return 0, fmt.Errorf("table %d is not among the %d tables of the memory", table, len(m.Tables))
}

// input describes a time step: where the tree is open, and what happened last (nil at the
// start). b is the example's number in the bank.
func (d *Decoder) input(k *bank, m *Memory, b int, f tranx.Frontier, last *tranx.Action) (inputs, error) {
	in := inputs{field: int64(len(d.Grammar.Fields)), typ: int64(f.TypeID()), parent: int64(d.acts.start), action: int64(d.acts.start)}
	if f.Field != nil {
		in.field, in.parent = int64(f.FieldID()), int64(f.ConstructorID())
	}
	if last == nil {
		return in, nil
	}
	switch last.Kind {
	case tranx.ApplyConstr:
		in.action = int64(last.Constructor.ID)
	case tranx.Reduce:
		in.action = int64(d.acts.reduce)
	case tranx.SelectTable, tranx.SelectColumn:
		i, err := m.entry(last.Table)
		if err != nil {
			return in, err
		}
		if last.Kind == tranx.SelectTable {
			in.action, in.previous = int64(d.acts.table), k.firstTable[b]+int64(i)
			break
		}
		if last.Column < 0 || last.Column >= len(m.Tables[i].Columns) {
			return in, fmt.Errorf("column %d of %d of table %d", last.Column, len(m.Tables[i].Columns), last.Table)
		}
		in.action, in.previous = int64(d.acts.column), k.firstColumn[int(k.tableStart[b])+i]+int64(last.Column)
	case tranx.SelectInt:
		in.action = int64(d.acts.integer)
	case tranx.GenToken:
		in.action = int64(d.acts.unknown)
		if id, ok := d.acts.tokens[last.Token]; ok {
			in.action = int64(d.acts.token + id)
		}
		for i, w := range m.Words {
			if w.token(len(f.Tokens) == 1) == last.Token {
				in.previous = k.firstWord[b] + int64(i)
				break
			}
		}
	}
	return in, nil
}

// tokenMask is 0 wherever producing the token is possible: in the vocabulary, and at each
// word of the question that is it. ok is false if it is possible nowhere.
func (d *Decoder) tokenMask(m *Memory, width int64, token string, first bool) (row []float32, ok bool) {
	row = mask(int64(len(d.Config.Vocabulary)) + width)
	if id, in := d.acts.tokens[token]; in {
		row[id], ok = 0, true
	}
	for i, w := range m.Words {
		if w.token(first) == token {
			row[len(d.Config.Vocabulary)+i], ok = 0, true
		}
	}
	return row, ok
}

// integerMask is tokenMask for integers.
func (d *Decoder) integerMask(m *Memory, width int64, n int) (row []float32, ok bool) {
	row = mask(int64(len(d.Config.Integers)) + width)
	for i, c := range d.Config.Integers {
		if c == n {
			row[i], ok = 0, true
		}
	}
	for i, w := range m.Words {
		if v, is := Integer(w.Text); is && v == n {
			row[len(d.Config.Integers)+i], ok = 0, true
		}
	}
	return row, ok
}

// numbers is 0 at the words of the question that are integers.
func (m *Memory) numbers(width int64) []float32 {
	row := mask(width)
	for i, w := range m.Words {
		if _, is := Integer(w.Text); is {
			row[i] = 0
		}
	}
	return row
}

// targets are the steps of a batch at which one kind of choice is made.
type targets struct {
	states   []int64 // rows of the states [B·S]
	example  []int64
	table    []int64 // number of the table in its memory
	tableRow []int64 // number of the table in ΣT
	choice   []int64
	mask     []float32 // what was legal, or what fits
	legal    []float32
}

func (t *targets) add(state int64, b int) {
	t.states, t.example = append(t.states, state), append(t.example, int64(b))
}

// Loss is −log p(actions | memory), the mean over the examples. vectors are the memory
// vectors of the batch [R Input]. The scope of the computation is the caller's to free
// after the backward pass.
func (d *Decoder) Loss(scope *torch.Scope, vectors *ts.Tensor, batch []Example, train bool) (*ts.Tensor, Count, error) {
	r := &run{d: d, train: train}
	defer func() {
		for _, t := range r.Drain() {
			scope.T(t)
		}
	}()
	memories := make([]*Memory, len(batch))
	steps := 0
	for i, x := range batch {
		memories[i] = x.Memory
		steps = max(steps, len(x.Actions))
	}
	var count Count
	if steps == 0 {
		return nil, count, fmt.Errorf("a batch of %d examples without any action to learn", len(batch))
	}
	k, err := r.bank(vectors, memories)
	if err != nil {
		return nil, count, err
	}
	B, S := len(batch), steps

	// What the recurrence reads, and what it shall say.
	list := make([]inputs, S*B) // time first
	parents := make([]int64, S*B)
	var production, table, column, token, integer targets
	width := d.acts.productions()
	for b, x := range batch {
		if len(x.Frontiers) != len(x.Actions) {
			return nil, count, fmt.Errorf("example %d of the batch has %d actions and %d frontiers", b, len(x.Actions), len(x.Frontiers))
		}
		producible := d.producible(x, k.w, &count)
		for t, f := range x.Frontiers {
			var last *tranx.Action
			if t > 0 {
				last = &x.Actions[t-1]
			}
			in, err := d.input(k, x.Memory, b, f, last)
			if err != nil {
				return nil, count, fmt.Errorf("example %d of the batch, action %d: %w", b, t, err)
			}
			list[t*B+b] = in
			parents[t*B+b] = int64((f.ParentStep+1)*B + b) // state 0 is the initial one
			action, at := x.Actions[t], int64(t*B+b)
			row := make([]float32, width)
			if d.acts.legal(row, f.Expect) {
				production.add(at, b)
				production.mask = append(production.mask, row...)
				choice := d.acts.fill
				switch action.Kind {
				case tranx.ApplyConstr:
					choice = action.Constructor.ID
				case tranx.Reduce:
					choice = d.acts.reduce
				}
				production.choice = append(production.choice, int64(choice))
				count.Actions++
			}
			switch action.Kind {
			case tranx.SelectTable, tranx.SelectColumn:
				i, err := x.Memory.entry(action.Table)
				if err != nil {
					return nil, count, fmt.Errorf("example %d of the batch, action %d: %w", b, t, err)
				}
				table.add(at, b)
				table.choice = append(table.choice, int64(i))
				count.Actions++
				if action.Kind == tranx.SelectColumn {
					if n := len(x.Memory.Tables[i].Columns); action.Column < 0 || action.Column >= n {
						return nil, count, fmt.Errorf("example %d of the batch, action %d: column %d of %d of table %d", b, t, action.Column, n, action.Table)
					}
					column.add(at, b)
					column.tableRow = append(column.tableRow, k.tableStart[b]+int64(i))
					column.choice = append(column.choice, int64(action.Column))
				}
			case tranx.GenToken:
				if producible[t] {
					row, _ := d.tokenMask(x.Memory, k.w, action.Token, len(f.Tokens) == 0)
					token.add(at, b)
					token.mask = append(token.mask, row...)
					count.Actions++
				}
			case tranx.SelectInt:
				if producible[t] {
					row, _ := d.integerMask(x.Memory, k.w, action.Int)
					integer.add(at, b)
					integer.mask = append(integer.mask, row...)
					integer.legal = append(integer.legal, x.Memory.numbers(k.w)...)
					count.Actions++
				}
			}
		}
		for t := len(x.Actions); t < S; t++ {
			parents[t*B+b] = int64(b)
		}
	}

	states := r.recur(k, list, parents, S)
	states = r.dropout(states)
	var parts []*ts.Tensor
	sum := func(x *ts.Tensor) { parts = append(parts, r.T(torch.Sum(x))) }
	pick := func(log *ts.Tensor, choice []int64) {
		sum(r.T(torch.Gather(log, 1, r.ints(choice, int64(len(choice)), 1))))
	}
	fitting := func(log *ts.Tensor, fits []float32) {
		sum(r.T(torch.LogSumExp(r.add(log, r.floats(fits, log.MustSize()...)), 1)))
	}
	if len(production.states) > 0 {
		pick(r.productions(r.rows(states, production.states), production.mask), production.choice)
	}
	if len(table.states) > 0 {
		pick(r.tables(k, r.rows(states, table.states), table.example), table.choice)
	}
	if len(column.states) > 0 {
		pick(r.columns(k, r.rows(states, column.states), column.tableRow), column.choice)
	}
	if len(token.states) > 0 {
		fitting(r.tokens(k, r.rows(states, token.states), token.example), token.mask)
	}
	if len(integer.states) > 0 {
		fitting(r.integers(k, r.rows(states, integer.states), integer.example, integer.legal), integer.mask)
	}
	if len(parts) == 0 {
		return nil, count, fmt.Errorf("a batch of %d examples without any action to learn", B)
	}
	total := r.T(torch.Sum(r.T(torch.Stack(parts...))))
	return r.T(torch.Scale(total, -1/float32(B))), count, nil
}

// producible tells for each step whether its token or integer belongs to a value that the
// decoder can produce as a whole.
func (d *Decoder) producible(x Example, width int64, count *Count) []bool {
	ok := make([]bool, len(x.Actions))
	for t := 0; t < len(x.Actions); t++ {
		switch a := x.Actions[t]; a.Kind {
		case tranx.SelectInt:
			_, ok[t] = d.integerMask(x.Memory, width, a.Int)
			count.Values++
			if !ok[t] {
				count.Unproducible++
			}
		case tranx.GenToken:
			end, whole := t, true
			for ; end < len(x.Actions) && x.Actions[end].Kind == tranx.GenToken; end++ {
				_, one := d.tokenMask(x.Memory, width, x.Actions[end].Token, end == t)
				whole = whole && one
				if x.Actions[end].Token == tranx.EndOfString {
					end++
					break
				}
			}
			for i := t; i < end; i++ {
				ok[i] = whole
			}
			count.Values++
			if !whole {
				count.Unproducible++
			}
			t = end - 1
		}
	}
	return ok
}

// recur runs the LSTM over S time steps: states [S·B state], time first.
func (r *run) recur(k *bank, list []inputs, parents []int64, S int) *ts.Tensor {
	B := int(k.b)
	pre := r.pre(k, list)
	h := k.initial
	c := r.T(torch.ZerosLike(h))
	states := []*ts.Tensor{h}
	for t := range S {
		at := r.T(torch.Narrow(pre, int64(t*B), int64(B)))
		// Parent states lie anywhere before: gather from those that this step refers to.
		parent := r.parent(states, parents[t*B:(t+1)*B], B)
		h, c, _ = r.step(k, at, parent, h, c)
		states = append(states, h)
	}
	return r.cat(0, states[1:]...)
}

// parent gathers, for each example, a row of one of the states so far.
func (r *run) parent(states []*ts.Tensor, rows []int64, B int) *ts.Tensor {
	used := map[int]int{}
	var parts []*ts.Tensor
	index := make([]int64, len(rows))
	for b, row := range rows {
		t := int(row) / B
		if _, ok := used[t]; !ok {
			used[t] = len(parts)
			parts = append(parts, states[t])
		}
		index[b] = int64(used[t]*B + b)
	}
	if len(parts) == 1 {
		return parts[0]
	}
	return r.rows(r.cat(0, parts...), index)
}
