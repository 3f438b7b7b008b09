package verdict

import "testing"

// A check that says what is lost gives the verdict that it gives everywhere.
func TestJudgeCheck(t *testing.T) {
	for _, tt := range []struct {
		check Check
		want  Judgement
	}{
		{Check{Given: true, Output: "lost: k"}, Judgement{Verdict: Tolerated}},
		{Check{Given: true, Failed: true, Output: "2 and not 3\n"}, Judgement{Violated, true, "the check fails: 2 and not 3", "A ends with 0"}},
		{Check{Given: true, Failed: true, Output: "lost: k\n"}, Judgement{Lost, true, "what had been acknowledged is not there", "A ends with 0; the check fails: lost: k"}},
		{Check{Given: true, Failed: true, Output: "lost: k\nbad\n"}, Judgement{Violated, true, "the check fails: bad", "A ends with 0"}},
	} {
		if got := JudgeCheck(tt.check, "A ends with 0"); got != tt.want {
			t.Errorf("%q, failed %v: %+v, want %+v", tt.check.Output, tt.check.Failed, got, tt.want)
		}
	}
}
