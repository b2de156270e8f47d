//go:build notorch

package main

import "testing"

func TestModelNeedsLibtorch(t *testing.T) {
	code, out, errOut := evalSpider("--model", "m", "--data", "d")
	if want := "eval-spider: --model needs a build with libtorch (make build): this one, built with -tags notorch, only scores files (--gold and --pred)\n"; code != 1 || out != "" || errOut != want {
		t.Errorf("code %d, out %q, error %q", code, out, errOut)
	}
}
