package encoder

import (
	"fmt"

	"github.com/sugarme/gotch"
	"github.com/sugarme/gotch/libtch"
	"github.com/sugarme/gotch/ts"
)

// The operations of the model, on libtch itself: for each result gotch's own wrappers allocate a place that they
// never free (32 bytes, thousands of times a training step), and on failure their Must forms end
// the process. These panic, which a torch.Worker turns into an error.

func result(operation string, call func(out *libtch.Ctensor)) *ts.Tensor {
	out := new(libtch.Ctensor)
	call(out)
	if err := ts.TorchErr(); err != nil {
		panic(fmt.Errorf("%s: %w", operation, err))
	}
	return ts.New(*out)
}

func c(t *ts.Tensor) libtch.Ctensor { return libtch.Ctensor(t.Ctensor()) }

func embedding(weight, ids *ts.Tensor) *ts.Tensor {
	return result("embedding", func(out *libtch.Ctensor) { libtch.AtgEmbedding(out, c(weight), c(ids), -1, 0, 0) })
}

func linear(x, weight, bias *ts.Tensor) *ts.Tensor {
	return result("linear", func(out *libtch.Ctensor) { libtch.AtgLinear(out, c(x), c(weight), c(bias)) })
}

func layerNorm(x, weight, bias *ts.Tensor, eps float64) *ts.Tensor {
	size := weight.MustSize()
	return result("layer norm", func(out *libtch.Ctensor) {
		libtch.AtgLayerNorm(out, c(x), size, len(size), c(weight), c(bias), eps, 1)
	})
}

func gelu(x *ts.Tensor) *ts.Tensor {
	return result("gelu", func(out *libtch.Ctensor) { libtch.AtgGelu(out, c(x), "none") })
}

func attention(query, key, value, mask *ts.Tensor, dropout float64) *ts.Tensor {
	const noScale = 1 // the default, 1/√D
	return result("attention", func(out *libtch.Ctensor) {
		libtch.AtgScaledDotProductAttention(out, c(query), c(key), c(value), c(mask), dropout, 0, 0, noScale)
	})
}

func drop(x *ts.Tensor, p float64) *ts.Tensor {
	return result("dropout", func(out *libtch.Ctensor) { libtch.AtgDropout(out, c(x), p, 1) })
}

func add(x, y *ts.Tensor) *ts.Tensor {
	return result("add", func(out *libtch.Ctensor) { libtch.AtgAdd(out, c(x), c(y)) })
}

func mul(x, y *ts.Tensor) *ts.Tensor {
	return result("mul", func(out *libtch.Ctensor) { libtch.AtgMul(out, c(x), c(y)) })
}

func reshape(x *ts.Tensor, size ...int64) *ts.Tensor {
	return result("reshape", func(out *libtch.Ctensor) { libtch.AtgReshape(out, c(x), size, len(size)) })
}

func transpose(x *ts.Tensor, i, j int64) *ts.Tensor {
	return result("transpose", func(out *libtch.Ctensor) { libtch.AtgTranspose(out, c(x), i, j) })
}

// first is the first n rows of x.
func first(x *ts.Tensor, n int64) *ts.Tensor {
	return result("narrow", func(out *libtch.Ctensor) { libtch.AtgNarrow(out, c(x), 0, 0, n) })
}

// pick is the rows of x that index names.
func pick(x, index *ts.Tensor) *ts.Tensor {
	return result("index select", func(out *libtch.Ctensor) { libtch.AtgIndexSelect(out, c(x), 0, c(index)) })
}

// addAt is x with rows of y added to the rows that index names.
func addAt(x, index, y *ts.Tensor) *ts.Tensor {
	return result("index add", func(out *libtch.Ctensor) { libtch.AtgIndexAdd(out, c(x), 0, c(index), c(y)) })
}

func concat(parts []*ts.Tensor) *ts.Tensor {
	all := make([]libtch.Ctensor, len(parts))
	for i, p := range parts {
		all[i] = c(p)
	}
	return result("cat", func(out *libtch.Ctensor) { libtch.AtgCat(out, all, len(all), 0) })
}

func zeros(device gotch.Device, size ...int64) *ts.Tensor {
	return result("zeros", func(out *libtch.Ctensor) {
		libtch.AtgZeros(out, size, len(size), gotch.Float.CInt(), device.CInt())
	})
}
