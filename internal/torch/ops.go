package torch

import (
	"fmt"

	"github.com/sugarme/gotch"
	"github.com/sugarme/gotch/libtch"
	"github.com/sugarme/gotch/ts"
)

// The operations that the models are made of, on gotch's libtch itself: for each result
// gotch's own wrappers allocate a place that they never free (32 bytes, thousands of times a
// training step), and on failure their Must forms end the process. These panic, which a
// Worker turns into an error. What they return is the caller's to free, best by a Scope.

func result(operation string, call func(out *libtch.Ctensor)) *ts.Tensor {
	out := new(libtch.Ctensor)
	call(out)
	if err := ts.TorchErr(); err != nil {
		panic(fmt.Errorf("%s: %w", operation, err))
	}
	return ts.New(*out)
}

func c(t *ts.Tensor) libtch.Ctensor { return libtch.Ctensor(t.Ctensor()) }

func list(tensors []*ts.Tensor) []libtch.Ctensor {
	all := make([]libtch.Ctensor, len(tensors))
	for i, t := range tensors {
		all[i] = c(t)
	}
	return all
}

// Embedding is the rows of weight [V H] that ids [...] name: [... H].
func Embedding(weight, ids *ts.Tensor) *ts.Tensor {
	return result("embedding", func(out *libtch.Ctensor) { libtch.AtgEmbedding(out, c(weight), c(ids), -1, 0, 0) })
}

// Linear is x · weightᵀ + bias for x [... I], weight [O I], bias [O].
func Linear(x, weight, bias *ts.Tensor) *ts.Tensor {
	return result("linear", func(out *libtch.Ctensor) { libtch.AtgLinear(out, c(x), c(weight), c(bias)) })
}

// LayerNorm normalises the last axis.
func LayerNorm(x, weight, bias *ts.Tensor, eps float64) *ts.Tensor {
	size := weight.MustSize()
	return result("layer norm", func(out *libtch.Ctensor) {
		libtch.AtgLayerNorm(out, c(x), size, len(size), c(weight), c(bias), eps, 1)
	})
}

// Gelu is the exact one, with the error function.
func Gelu(x *ts.Tensor) *ts.Tensor {
	return result("gelu", func(out *libtch.Ctensor) { libtch.AtgGelu(out, c(x), "none") })
}

// Attention is softmax(query · keyᵀ / √D + mask) · value, fused. Without a mask the operation refuses to work.
func Attention(query, key, value, mask *ts.Tensor, dropout float64) *ts.Tensor {
	const noScale = 1 // the default, 1/√D
	return result("attention", func(out *libtch.Ctensor) {
		libtch.AtgScaledDotProductAttention(out, c(query), c(key), c(value), c(mask), dropout, 0, 0, noScale)
	})
}

// Dropout drops elements with probability p and scales the others by 1/(1−p).
func Dropout(x *ts.Tensor, p float64) *ts.Tensor {
	return result("dropout", func(out *libtch.Ctensor) { libtch.AtgDropout(out, c(x), p, 1) })
}

// Add is x + y, with broadcasting.
func Add(x, y *ts.Tensor) *ts.Tensor {
	return result("add", func(out *libtch.Ctensor) { libtch.AtgAdd(out, c(x), c(y)) })
}

// Sub is x − y, with broadcasting.
func Sub(x, y *ts.Tensor) *ts.Tensor {
	return result("sub", func(out *libtch.Ctensor) { libtch.AtgSub(out, c(x), c(y)) })
}

// Mul is x · y, element by element, with broadcasting.
func Mul(x, y *ts.Tensor) *ts.Tensor {
	return result("mul", func(out *libtch.Ctensor) { libtch.AtgMul(out, c(x), c(y)) })
}

// Scale is x · factor.
func Scale(x *ts.Tensor, factor float32) *ts.Tensor {
	f := Floats(gotch.CPU, []float32{factor}) // of no axis: such a one goes with any device
	defer f.MustDrop()
	return Mul(x, f)
}

// Exp is eˣ.
func Exp(x *ts.Tensor) *ts.Tensor {
	return result("exp", func(out *libtch.Ctensor) { libtch.AtgExp(out, c(x)) })
}

// Tanh is the hyperbolic tangent.
func Tanh(x *ts.Tensor) *ts.Tensor {
	return result("tanh", func(out *libtch.Ctensor) { libtch.AtgTanh(out, c(x)) })
}

// Matmul is the matrix product.
func Matmul(x, y *ts.Tensor) *ts.Tensor {
	return result("matmul", func(out *libtch.Ctensor) { libtch.AtgMatmul(out, c(x), c(y)) })
}

// Bmm is the product of each pair of matrices: [B n k] · [B k m] → [B n m].
func Bmm(x, y *ts.Tensor) *ts.Tensor {
	return result("bmm", func(out *libtch.Ctensor) { libtch.AtgBmm(out, c(x), c(y)) })
}

// LogSoftmax is over the last axis.
func LogSoftmax(x *ts.Tensor) *ts.Tensor {
	return result("log softmax", func(out *libtch.Ctensor) { libtch.AtgLogSoftmax(out, c(x), -1, gotch.Float.CInt()) })
}

// LogSumExp is over one axis, which goes.
func LogSumExp(x *ts.Tensor, axis int64) *ts.Tensor {
	return result("logsumexp", func(out *libtch.Ctensor) { libtch.AtgLogsumexp(out, c(x), []int64{axis}, 1, 0) })
}

// Sum is over all elements.
func Sum(x *ts.Tensor) *ts.Tensor {
	return result("sum", func(out *libtch.Ctensor) { libtch.AtgSum(out, c(x), gotch.Float.CInt()) })
}

// Gather takes, along an axis, the elements that index names.
func Gather(x *ts.Tensor, axis int64, index *ts.Tensor) *ts.Tensor {
	return result("gather", func(out *libtch.Ctensor) { libtch.AtgGather(out, c(x), axis, c(index), 0) })
}

// Rows is the rows of x that index names.
func Rows(x, index *ts.Tensor) *ts.Tensor {
	return result("index select", func(out *libtch.Ctensor) { libtch.AtgIndexSelect(out, c(x), 0, c(index)) })
}

// AddRows is x with rows of y added to the rows that index names.
func AddRows(x, index, y *ts.Tensor) *ts.Tensor {
	return result("index add", func(out *libtch.Ctensor) { libtch.AtgIndexAdd(out, c(x), 0, c(index), c(y)) })
}

// Narrow is n rows of x from the given one on.
func Narrow(x *ts.Tensor, from, n int64) *ts.Tensor {
	return result("narrow", func(out *libtch.Ctensor) { libtch.AtgNarrow(out, c(x), 0, from, n) })
}

// Reshape gives x another shape.
func Reshape(x *ts.Tensor, size ...int64) *ts.Tensor {
	return result("reshape", func(out *libtch.Ctensor) { libtch.AtgReshape(out, c(x), size, len(size)) })
}

// Expand repeats axes of size 1.
func Expand(x *ts.Tensor, size ...int64) *ts.Tensor {
	return result("expand", func(out *libtch.Ctensor) { libtch.AtgExpand(out, c(x), size, len(size), 0) })
}

// Unsqueeze puts in an axis of size 1.
func Unsqueeze(x *ts.Tensor, axis int64) *ts.Tensor {
	return result("unsqueeze", func(out *libtch.Ctensor) { libtch.AtgUnsqueeze(out, c(x), axis) })
}

// Squeeze takes out an axis of size 1.
func Squeeze(x *ts.Tensor, axis int64) *ts.Tensor {
	return result("squeeze", func(out *libtch.Ctensor) { libtch.AtgSqueezeDim(out, c(x), axis) })
}

// Transpose exchanges two axes.
func Transpose(x *ts.Tensor, i, j int64) *ts.Tensor {
	return result("transpose", func(out *libtch.Ctensor) { libtch.AtgTranspose(out, c(x), i, j) })
}

// Cat lays tensors end to end along an axis.
func Cat(axis int64, parts ...*ts.Tensor) *ts.Tensor {
	all := list(parts)
	return result("cat", func(out *libtch.Ctensor) { libtch.AtgCat(out, all, len(all), axis) })
}

// Stack lays tensors of one shape beside each other, along a new first axis.
func Stack(parts ...*ts.Tensor) *ts.Tensor {
	all := list(parts)
	return result("stack", func(out *libtch.Ctensor) { libtch.AtgStack(out, all, len(all), 0) })
}

// Zeros is a float32 tensor of zeros.
func Zeros(device gotch.Device, size ...int64) *ts.Tensor {
	return result("zeros", func(out *libtch.Ctensor) {
		libtch.AtgZeros(out, size, len(size), gotch.Float.CInt(), device.CInt())
	})
}

// ZerosLike is zeros of x's shape, type and device.
func ZerosLike(x *ts.Tensor) *ts.Tensor {
	return result("zeros like", func(out *libtch.Ctensor) { libtch.AtgZerosLike(out, c(x)) })
}

// As converts to another element type.
func As(x *ts.Tensor, kind gotch.DType) *ts.Tensor {
	return result("type conversion", func(out *libtch.Ctensor) { libtch.AtgTotype(out, c(x), kind.CInt()) })
}

// LSTMCell takes states h and c [B H] one step on, for input x [B I], with the four gates
// of weights [4H I] and [4H H] in PyTorch's order.
func LSTMCell(x, hidden, cell, inputWeight, stateWeight, inputBias, stateBias *ts.Tensor) (h, c1 *ts.Tensor) {
	var out [2]libtch.Ctensor
	libtch.AtgLstmCell(&out[0], c(x), []libtch.Ctensor{c(hidden), c(cell)}, 2, c(inputWeight), c(stateWeight), c(inputBias), c(stateBias))
	if err := ts.TorchErr(); err != nil {
		panic(fmt.Errorf("LSTM cell: %w", err))
	}
	return ts.New(out[0]), ts.New(out[1])
}

func detach(x *ts.Tensor) *ts.Tensor {
	return result("detach", func(out *libtch.Ctensor) { libtch.AtgDetach(out, c(x)) })
}

func contiguous(x *ts.Tensor) *ts.Tensor {
	return result("contiguous", func(out *libtch.Ctensor) { libtch.AtgContiguous(out, c(x)) })
}

func to(x *ts.Tensor, device gotch.Device) *ts.Tensor {
	return result("move", func(out *libtch.Ctensor) { libtch.AtgTo(out, c(x), device.CInt()) })
}
