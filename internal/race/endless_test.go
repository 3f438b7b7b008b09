//go:build linux

package race

import (
	"strings"
	"testing"

	"faultlab/internal/shim"
	"faultlab/internal/verdict"
)

// That an order is long is no finding.
func TestLongOrderIsVoid(t *testing.T) {
	r := newTestRace(t, zero, Options{Preemptions: 2}, "counter.sh bad", "counter.sh bad")
	r.most = 3
	findings, err := r.Explore(t.Context())
	if !shim.IsVoid(err) || !strings.Contains(err.Error(), "--path") || len(findings) > 0 {
		t.Errorf("%+v (%v), want none, and a void that names --path", findings, err)
	}
}

// That somebody waits for ever is one: the dead one's lock lies there.
func TestWaitingForEverIsHang(t *testing.T) {
	r := newTestRace(t, "", Options{CrashAny: true}).twice("until mkdir lock 2>/dev/null; do :; done; echo here >>log; rmdir lock")
	r.most = 60
	findings, err := r.Explore(t.Context())
	if err != nil || len(findings) != 1 || findings[0].Verdict != verdict.Hang {
		t.Errorf("%+v (%v), want one hang", findings, err)
	}
}
