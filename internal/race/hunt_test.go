//go:build linux

package race

import (
	"context"
	"errors"
	"strings"
	"testing"

	"faultlab/internal/shim"
)

// A limit on all schedules leaves chance what the bound has not used.
func TestSamplesKeepToTheLimit(t *testing.T) {
	for _, tt := range []struct {
		opts           Options
		played, wanted int
	}{
		{Options{Samples: 100}, 6, 100},
		{Options{Samples: 100, MaxSchedules: 10}, 6, 4},
		{Options{Samples: 3, MaxSchedules: 10}, 6, 3},
		{Options{Samples: 100, MaxSchedules: 10}, 10, 0},
		{Options{Fill: true, MaxSchedules: 10}, 6, 4},
	} {
		h := &hunt{Race: &Race{Options: tt.opts, stats: Stats{Schedules: tt.played}}}
		if got := h.wanted(); got != tt.wanted {
			t.Errorf("%+v after %d: %d, want %d", tt.opts, tt.played, got, tt.wanted)
		}
	}
}

// What a play that departed has shown to be shared may be why it departed.
func TestDepartedPlayTeaches(t *testing.T) {
	for _, tt := range []struct {
		what  string
		found shared
		err   error
		want  error
	}{
		{"departed, with news", shared{{data, "f"}: true}, errDeparted, errGrown},
		{"departed, without", shared{{data, "known"}: true}, errDeparted, errDeparted},
		{"broken off, with news", shared{{data, "f"}: true}, context.Canceled, context.Canceled},
	} {
		r := &Race{known: shared{{data, "known"}: true}}
		ready := make(chan struct{})
		close(ready)
		played := &playing{ready, outcome{play: &play{ledger: &ledger{found: tt.found}}, err: tt.err}}
		h := &hunt{Race: r, ahead: &ahead{ctx: t.Context(), done: map[string]*playing{"": played}}}
		if got, err := h.play(task{}, nil); got != nil || !errors.Is(err, tt.want) {
			t.Errorf("%s: %v, %+v; want %v", tt.what, err, h.stats, tt.want)
		}
	}
}

// What grows with every beginning comes to an end that says so, after names were
// learned once more.
func TestGrowthWithoutEnd(t *testing.T) {
	r := newTestRace(t, zero, Options{}, "counter.sh good", "counter.sh good")
	if err := r.learn(t.Context()); err != nil {
		t.Fatal(err)
	}
	times := 0
	err := r.begin(t.Context(), func() error { times++; return errGrown })
	if !shim.IsVoid(err) || !strings.Contains(err.Error(), "still grows") || times != maxRestarts || len(r.serial.alike) != 3 {
		t.Errorf("%v after %d times and %d runs in one order; want a void after %d and 3", err, times, len(r.serial.alike), maxRestarts)
	}
}
