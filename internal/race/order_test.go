//go:build linux

package race

import (
	"context"
	"strings"
	"testing"

	"faultlab/internal/shim"
)

// Where a state would have to be held against too many orders there is no answer,
// and never a finding.
func TestTooManyOrders(t *testing.T) {
	for _, opts := range []Options{{Preemptions: 2}, {CrashAny: true}} {
		r := newTestRace(t, zero, opts, "counter.sh bad", "counter.sh bad")
		r.serial.most = 1
		findings, err := r.Explore(t.Context())
		if !shim.IsVoid(err) || !strings.Contains(err.Error(), "--check") || len(findings) > 0 {
			t.Errorf("crash %v: %d findings, %v; want none, and a void that names --check", opts.CrashAny, len(findings), err)
		}
	}
}

// An order is run once more one time, however often a state is doubted.
func TestOrdersAreRepeatedOnce(t *testing.T) {
	r := newTestRace(t, zero, Options{Preemptions: 2}, "counter.sh bad", "counter.sh bad")
	if findings, err := r.Explore(t.Context()); err != nil || len(findings) != 1 {
		t.Fatalf("%d findings (%v), want 1", len(findings), err)
	}
	if err := r.serial.again(t.Context()); err != nil { // what was played ahead may have added some
		t.Fatal(err)
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if err := r.serial.again(ended); err != nil {
		t.Errorf("with all repeated: %v, want nothing to do", err)
	}
	if _, err := r.serial.get(t.Context(), sequence{order: []int{1}, dead: nobody}); err != nil {
		t.Fatal(err)
	}
	if err := r.serial.again(ended); err == nil {
		t.Error("a new order was not repeated")
	}
}
