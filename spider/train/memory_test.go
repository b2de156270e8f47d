package train

import (
	"context"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"
)

// resident is the resident memory of this process in bytes, once the Go heap has given
// back what it does not use: what libtorch holds, and what is lost, stays in it.
func resident(t *testing.T) int {
	t.Helper()
	for range 3 { // finalizers free tensors one collection later
		debug.FreeOSMemory()
	}
	data, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		t.Fatal(err)
	}
	pages, err := strconv.Atoi(strings.Fields(string(data))[1])
	if err != nil {
		t.Fatal(err)
	}
	return pages * os.Getpagesize()
}

// TestMemory trains on the same ten batches again and again.
func TestMemory(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("skipped: resident memory is read from /proc/self/statm, which only Linux has")
	}
	data := sampleOf(t, 30)
	config := small()
	config.HeldOut, config.Batch, config.TokenBudget = 0, 3, 60
	ctx := context.Background()
	tr := newTrainer(data, config, Options{Out: t.TempDir(), Init: smallBERT(t), Threads: 1})
	defer tr.close()
	if err := tr.open(ctx); err != nil {
		t.Fatal(err)
	}
	batches := schedule(1, 0, tr.train, config.Batch, 1)
	if len(batches) != 10 {
		t.Fatalf("%d batches, expected 10", len(batches))
	}
	var third int
	for pass := 1; pass <= 30; pass++ {
		tr.config.KeepStates = pass%2 == 1
		for i, batch := range batches {
			// All steps that train everything, with the same seeds.
			if err := tr.worker.Do(func() error { _, err := tr.update(ctx, config.FreezeSteps+i%5, batch); return err }); err != nil {
				t.Fatal(err)
			}
		}
		if pass == 3 {
			third = resident(t)
		}
	}
	last := resident(t)
	growth := 100 * float64(last-third) / float64(third)
	t.Logf("%.1f MB behind the third pass, %.1f MB behind the thirtieth: %+.2f %%", float64(third)/1e6, float64(last)/1e6, growth)
	if growth >= 2 {
		t.Errorf("resident memory grew by %.2f %%, expected less than 2 %%", growth)
	}
}
