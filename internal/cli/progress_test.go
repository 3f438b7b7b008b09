//go:build linux

package cli

import (
	"testing"
	"time"
)

// What a terminal shows of how far it is.
func TestProgressLine(t *testing.T) {
	t.Parallel()
	began := time.Now()
	for _, test := range []struct {
		name          string
		done, planned int
		since         time.Duration
		want          string
	}{
		{"not known how much", 0, 0, 3900 * time.Millisecond, "race … 3s"},
		{"nothing done", 0, 4, 0, "race ░░░░░░░░░░░░░░░░░░░░░░░░ 0/4"},
		{"a quarter", 1, 4, time.Second, "race ██████░░░░░░░░░░░░░░░░░░ 1/4  1/s  3s left"},
		{"more than planned", 5, 4, 2 * time.Second, "race ████████████████████████ 4/4  2/s  0s left"},
	} {
		p := &progress{what: "race", began: began}
		if test.planned > 0 {
			p.set(test.done, test.planned)
			p.counting = began
		}
		if got := p.line(began.Add(test.since)); got != test.want {
			t.Errorf("%s: %q, not %q", test.name, got, test.want)
		}
	}
}
