// Package verdict judges an experiment: from the runs without a fault, the
// faulted one, the run after it and the user's check to one word. It is pure.
package verdict

import "fmt"

// Verdict is what one experiment showed.
type Verdict uint8

// The verdicts, worst first: a report lists its findings in this order.
const (
	None       Verdict = iota
	Escape             // wrote outside the tree, where no control does
	Violated           // the user's check fails
	Lost               // acknowledged, and not there
	Torn               // a file is neither old nor new, and the next run does not mend it
	Silent             // reported as done, and it is not
	Overlap            // two were inside at once
	Raced              // no order one after the other leaves such a tree
	Bypassed           // the control refused, and this start got through
	Crashed            // ended by what no program should meet, such as SIGSEGV
	Deadlock           // all wait for each other
	Wedged             // the next run fails and does not say why
	Refused            // the next run fails and names what is in its way
	Litter             // files that nobody will clear
	Orphan             // a process that outlived the program
	Hang               // did not end in time
	Differs            // none of the others
	Healed             // something was left, and the next run made it good
	RolledBack         // nothing was left
	Tolerated          // as if nothing had happened
	end
)

var names = [end]string{"none", "escape", "violated", "lost", "torn", "silent", "overlap", "raced", "bypassed", "crashed", "deadlock", "wedged",
	"refused", "litter", "orphan", "hang", "differs", "healed", "rolled-back", "tolerated"}

func (v Verdict) String() string {
	if v < end {
		return names[v]
	}
	return fmt.Sprintf("verdict(%d)", uint8(v))
}

// Judgement is a verdict with what it rests on.
type Judgement struct {
	Verdict Verdict
	Finding bool // it breaks an invariant
	// Cause is what experiments with the same root share: what is left or wrong,
	// and not which fault led there.
	Cause  string
	Detail string // how the runs ended
}

// facts are the answers that the verdict follows from.
type facts struct {
	hang, orphan, escape bool
	killed               bool // by the experiment, and not an error
	stuck                bool // the experiment kept it from removing what is in the way
	checked, checkFails  bool
	saysLost             bool // the check fails for what is lost, in its own words
	gone                 bool // success had been reported, and the user's next run finds nothing of it
	asStatus             bool // the faulted run ended as the control
	left                 left
	asBefore             bool // the faulted run left the tree as it had been
	syncLost             bool // a failed sync was passed over
	next                 next
}

// left is the tree after the faulted run, against the control's.
type left uint8

const (
	leftAsControl left = iota
	leftExtra          // … but for extra files
	leftOther
	leftEnd
)

// next is how the run after the faulted one ended, against the control's.
type next uint8

const (
	nextAsControl next = iota
	nextExtra          // … but for extra files
	nextTorn           // succeeds, and a file is neither as before nor as control
	nextOther          // succeeds, anything else
	nextNames          // fails, and names what is in the way
	nextFails          // fails, and does not
	nextEnd
)

// decide goes down the list of verdicts: the first that holds is it.
func decide(f facts) (Verdict, bool) {
	switch v := gravest(f.hang, f.orphan, f.escape, f.checked && f.checkFails); {
	case v == Violated && f.saysLost:
		return Lost, true
	case v != None:
		return v, true
	}
	if f.asStatus && !f.killed {
		return passed(f)
	}
	return failed(f)
}

// gravest is the verdict of what is wrong whatever else was seen; None if nothing is.
func gravest(hang, orphan, escape, violated bool) Verdict {
	switch {
	case hang:
		return Hang
	case orphan:
		return Orphan
	case escape:
		return Escape
	case violated:
		return Violated
	}
	return None
}

// passed judges a run that reported the success, or the refusal, of the control.
func passed(f facts) (Verdict, bool) {
	switch {
	case f.left == leftAsControl && !f.syncLost:
		return Tolerated, false
	case f.left == leftExtra && (!f.syncLost || f.checked):
		return Litter, true
	case f.checked:
		return Differs, false // the user's check knows better than we do
	}
	return Silent, true
}

// failed judges a run that reported failure, or was killed, by what it means
// for the next one. A failed run must not block it; a killed one may, and one
// that the disk kept from cleaning up, if the next says what is in its way.
func failed(f facts) (Verdict, bool) {
	excused := f.killed || f.stuck
	if f.gone && !f.checked && f.next != nextFails {
		return Lost, true
	}
	switch f.next {
	case nextNames:
		return Refused, !excused
	case nextFails:
		return Wedged, true
	case nextAsControl:
		if f.asBefore {
			return RolledBack, false
		}
		return Healed, false
	case nextExtra:
		return Litter, !excused
	case nextTorn:
		// Where nothing was left, nothing that was left is torn.
		if !f.checked && !f.asBefore {
			return Torn, true
		}
	}
	return Differs, false
}
