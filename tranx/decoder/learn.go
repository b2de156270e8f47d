package decoder

import (
	"github.com/sugarme/gotch/ts"

	"github.com/tabert-workbench/tabert-workbench/internal/torch"
)

// taps make the backward pass of the attention cheap. Every time step reads all keys and
// values of a batch; left to itself, the backward pass also makes a gradient of their
// whole size at every step and adds it up, which takes most of a training step's time.
// Here keys and values enter the recurrence without their history; a zero is added to
// every score and every context, whose gradient is then that of score and context; and
// the gradients of keys and values are one product each over all steps at once:
//
//	∂L/∂key   = Σ_t ∂L/∂score_t ⊗ query_t
//	∂L/∂value = Σ_t weights_t ⊗ ∂L/∂context_t
type taps struct {
	key, value     *ts.Tensor   // with their history, [B E state]
	query, weights []*ts.Tensor // of each step, [B state], [B E]
	score, context []*ts.Tensor // the zeros, [B E], [B state]
}

// cut takes the history from the bank's keys and values.
func (t *taps) cut(r *run, k *bank) {
	t.key, t.value = k.key, k.value
	k.key, k.value = r.T(torch.Detach(k.key)), r.T(torch.Detach(k.value))
}

// tap adds a zero that records its gradient.
func (r *run) tap(list *[]*ts.Tensor, x *ts.Tensor) *ts.Tensor {
	zero := r.T(torch.Leaf(r.T(torch.ZerosLike(x))))
	*list = append(*list, zero)
	return r.add(x, zero)
}

// gradients sums over the steps: of keys and of values.
func (t *taps) gradients(r *run) (key, value *ts.Tensor) {
	grads := func(leaves []*ts.Tensor) *ts.Tensor { // [S B ·]
		list := make([]*ts.Tensor, len(leaves))
		for i, leaf := range leaves {
			if list[i] = torch.Grad(leaf); list[i] == nil { // what follows the step does not reach the loss
				list[i] = torch.ZerosLike(leaf)
			}
			r.T(list[i])
		}
		return r.T(torch.Stack(list...))
	}
	sum := func(left, right *ts.Tensor) *ts.Tensor { // [S B E], [S B state] → [B E state]
		left = r.T(torch.Transpose(r.T(torch.Transpose(left, 0, 1)), 1, 2))
		return r.T(torch.Bmm(left, r.T(torch.Transpose(right, 0, 1))))
	}
	key = sum(grads(t.score), r.T(torch.Stack(t.query...)))
	return key, sum(r.T(torch.Stack(t.weights...)), grads(t.context))
}

// Learn adds the gradients of weight · Loss to all parameters behind it, those that the
// vectors [R Input] were computed from included, and returns weight · Loss. It is Loss in
// training and its backward pass, with the same dropout, in less time.
func (d *Decoder) Learn(vectors *ts.Tensor, batch []Example, weight float32) (float64, Count, error) {
	r := &run{d: d, train: true, taps: &taps{}}
	defer r.Free()
	// There are several backward passes: each may go through a graph once.
	leaf := vectors
	if vectors.MustRequiresGrad() {
		leaf = r.T(torch.Leaf(vectors))
	}
	mean, count, err := r.loss(leaf, batch)
	if err != nil {
		return 0, count, err
	}
	loss := r.T(torch.Scale(mean, weight))
	if err := loss.Backward(); err != nil {
		return 0, count, err
	}
	var key, value *ts.Tensor
	torch.NoGrad(func() { key, value = r.taps.gradients(r) })
	through := r.add(r.T(torch.Sum(r.T(torch.Mul(r.taps.key, key)))), r.T(torch.Sum(r.T(torch.Mul(r.taps.value, value)))))
	if err := through.Backward(); err != nil {
		return 0, count, err
	}
	if leaf != vectors {
		grad := r.T(torch.Grad(leaf))
		if err := r.T(torch.Sum(r.T(torch.Mul(vectors, grad)))).Backward(); err != nil {
			return 0, count, err
		}
	}
	return float64(torch.ToFloats(loss)[0]), count, nil
}
