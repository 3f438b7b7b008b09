package verdict

import "fmt"

// Placed is what one start has shown that was not the plain one. Where the next
// run and the check count, the next run was a plain start.
type Placed struct {
	Faulted
	// Crash is what ended the program that no program should meet, such as
	// "SIGSEGV"; "" if nothing did, or if the control ends so, too.
	Crash string
	// Ended says that the start itself ended it, such as by SIGPIPE.
	Ended bool
	// Said says that it printed a message, or had no way to.
	Said bool
	// Lost says that what the control prints could not be printed, and Excused
	// that this is no fault of the program's.
	Lost, Excused bool
	// Modes says that permissions differ by nature.
	Modes bool
}

// JudgePlace gives the verdict of a start. It is total.
func JudgePlace(c Control, p Placed) Judgement {
	if p.Modes {
		c, p.Faulted = withoutModes(c, p.Faulted)
	}
	j := judge{c, p.Faulted}
	facts := placeFacts{
		hang: p.Hang != "", orphan: len(p.Orphans) > 0, escape: len(p.Escapes) > 0,
		checked: p.Check.Given, checkFails: p.Check.Failed,
		refusing: c.Once.Status != 0, succeeds: p.Status == 0,
		asStatus: p.Status == c.Once.Status,
		crashed:  p.Crash != "", ended: p.Ended, said: p.Said,
		lost: p.Lost, excused: p.Excused,
		left: j.left(), asBefore: j.asBefore(), next: j.next(),
	}
	v, finding := decidePlace(facts)
	return Judgement{v, finding, j.placeCause(v, p), j.detail()}
}

// placeFacts are the answers that the verdict of a start follows from.
type placeFacts struct {
	hang, orphan, escape bool
	checked, checkFails  bool
	refusing             bool // the control does not end with 0
	succeeds             bool // this start does
	asStatus             bool // it ends as the control
	crashed              bool
	ended                bool // by the start's own doing, such as SIGPIPE
	said                 bool
	lost, excused        bool
	left                 left
	asBefore             bool
	next                 next
}

// decidePlace goes down the list of verdicts: the first that holds is it.
func decidePlace(f placeFacts) (Verdict, bool) {
	if v := gravest(f.hang, f.orphan, f.escape, f.checked && f.checkFails); v != None {
		return v, true
	}
	switch {
	case f.refusing && (f.succeeds || !f.asBefore && f.left != leftAsControl):
		return Bypassed, true
	case f.crashed:
		return Crashed, true
	case f.asStatus:
		return endedAs(f)
	case !f.asBefore:
		return leftHalfway(f)
	case f.said || f.ended:
		return Refused, false
	}
	return Differs, false // it fails, and nobody learns why
}

// endedAs judges a start that reported what the control reports.
func endedAs(f placeFacts) (Verdict, bool) {
	switch {
	case f.lost && !f.excused:
		return Silent, true // the check looks at the tree, and not at this
	case f.left == leftAsControl && !f.lost:
		return Tolerated, false
	case f.left == leftExtra:
		return Litter, true
	case f.left == leftAsControl, f.refusing, f.checked:
		return Differs, false
	}
	return Silent, true
}

// leftHalfway judges a start that reported failure and left something, by what
// it means for a plain start after it. What the start itself has ended had no
// chance to clear it, and may block the next one that says so.
func leftHalfway(f placeFacts) (Verdict, bool) {
	switch f.next {
	case nextNames:
		if f.ended {
			return Differs, false
		}
		return Wedged, true
	case nextFails:
		return Wedged, true
	case nextAsControl:
		return Healed, false
	case nextExtra:
		return Litter, !f.ended
	case nextTorn:
		if !f.checked {
			return Torn, true
		}
	}
	return Differs, false
}

func (j judge) placeCause(v Verdict, p Placed) string {
	switch v {
	case Refused: // now, and by itself: nothing is in its way
		return ""
	case Bypassed:
		return fmt.Sprintf("the plain start is refused with status %d, and this one gets through", j.Once.Status)
	case Crashed:
		return "crashes: " + p.Crash
	case Silent:
		if p.Lost && !p.Excused {
			return fmt.Sprintf("what it prints is lost, and it ends with status %d as if all were well", p.Status)
		}
	case Wedged:
		if named := j.named(); named != "" {
			return named + " is left behind and blocks the next start, which names it" + j.besides(named)
		}
	}
	return j.cause(v)
}
