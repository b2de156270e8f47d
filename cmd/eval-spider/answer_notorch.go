//go:build notorch

package main

import (
	"context"
	"errors"
	"io"
)

// answer is what --model does in a build without libtorch.
func (g *grammar) answer(context.Context, io.Writer, io.Writer) error {
	return errors.New("--model needs a build with libtorch (make build): this one, built with -tags notorch, only scores files (--gold and --pred)")
}
