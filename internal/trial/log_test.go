//go:build linux

package trial

import (
	"testing"

	"faultlab/internal/report"
)

// A part of what there is to try is no answer, however well it went.
func TestLogOfAPart(t *testing.T) {
	t.Parallel()
	for left, want := range map[int]string{
		0: "crash: no finding in 1 experiment at 1 operation",
		7: "crash: no answer: 1 of 1 experiment ran (too many: at least 7 candidates for more were left out; a shorter run has fewer)",
	} {
		var l Log
		l.Plan([]Case{{Choice: "a"}})
		l.Left(left)
		l.Result(report.Trial{Choice: "a", Point: "a"}, nil)
		l.Add(report.Trial{Choice: "a", Point: "a", Verdict: "healed"}, &Controls{}, Run{})
		r := l.Report("crash", "", nil)
		if r.Answer() != want || r.Coverage.Complete != (left == 0) {
			t.Errorf("%d left: %q, complete %v", left, r.Answer(), r.Coverage.Complete)
		}
	}
}
