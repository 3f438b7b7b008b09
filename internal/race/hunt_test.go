//go:build linux

package race

import (
	"testing"
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
