//go:build linux

package crash

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"faultlab/internal/trial"
)

// Building a state and restoring the copy costs what is changed, and not what
// the tree holds.
func BenchmarkState(b *testing.B) {
	for _, files := range []int{10, 10_000} {
		b.Run(fmt.Sprintf("%d files", files), func(b *testing.B) {
			r, err := trial.New(b.Context(), trial.Spec{Program: "/bin/sh", Args: []string{"sh", "-c", "echo new >t; mv t 7; echo more >>7"},
				Setup: fmt.Sprintf("seq %d | xargs touch", files), Timeout: time.Minute, Jobs: 1})
			if err != nil {
				b.Skip(err)
			}
			defer r.Close()
			c, err := r.Control(b.Context(), trial.Case{})
			if err != nil {
				b.Fatal(err)
			}
			cr, err := New(b.Context(), r, c, Settings{Options: Options{Model: Strict}}, &trial.Log{})
			if err != nil {
				b.Fatal(err)
			}
			cases := cr.Cases()
			for i := range cases {
				cases[i].State.Alone = true
			}
			began := cpu(b)
			for i := 0; b.Loop(); i++ {
				if _, err := r.Do(b.Context(), cases[i%len(cases)]); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64((cpu(b)-began).Microseconds())/float64(b.N), "cpu-µs/op")
		})
	}
}

// cpu is the processor time that was used so far: on a machine that others use the
// clock tells nothing.
func cpu(b *testing.B) time.Duration {
	b.Helper()
	var use unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &use); err != nil {
		b.Fatal(err)
	}
	return time.Duration(use.Utime.Nano() + use.Stime.Nano())
}

// How states grow with operations, for a program that never syncs and for one
// that syncs each step.
func BenchmarkEnumerate(b *testing.B) {
	for _, n := range []int{10, 30, 100, 300} {
		for name, step := range map[string]string{
			"never":  "create t%d %d\nwrite %[2]d 0 x\nrename t%[1]d f %[2]d\n",
			"synced": "create t%d %d\nwrite %[2]d 0 x\nsync %[2]d\nrename t%[1]d f %[2]d\nsync 1\n",
		} {
			b.Run(fmt.Sprintf("%s %d", name, n), func(b *testing.B) {
				var text strings.Builder
				for i := range n / strings.Count(step, "\n") {
					fmt.Fprintf(&text, step, i, i+10)
				}
				var counts Counts
				for b.Loop() {
					_, counts = script(b, text.String()).enumerate(Options{Model: Strict, Silent: true, Most: 1 << 20})
				}
				b.ReportMetric(float64(counts.Generated), "generated")
				b.ReportMetric(float64(counts.Distinct), "states")
			})
		}
	}
}
