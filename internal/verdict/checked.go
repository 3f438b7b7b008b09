package verdict

// JudgeCheck is the verdict where the user's check is all that judges. Detail says
// how the runs before it ended.
func JudgeCheck(c Check, detail string) Judgement {
	v := Violated
	switch {
	case !c.Failed:
		return Judgement{Verdict: Tolerated}
	case c.saysLost():
		v = Lost
		detail += "; the check fails" + because(c.Output)
	}
	return Judgement{v, true, judge{f: Faulted{Check: c}}.cause(v), detail}
}
