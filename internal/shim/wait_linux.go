package shim

import (
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

// Limits say how long a run may last.
type Limits struct {
	Timeout time.Duration // for the first process; 0: none
	Grace   time.Duration // for what outlives it
}

// Wait waits for the end of the last process of the subject. What outlives the
// first one by more than the grace is ended and named. A *Void error says that
// the experiment did not take place; the exit is then as far as it came.
func (r *Run) Wait(lim Limits) (Exit, error) {
	late := false
	select {
	case <-r.exited:
	case <-after(lim.Timeout):
		late = true
		r.void("the program did not end within %v and was killed", lim.Timeout)
		r.Kill()
	}
	orphans := r.outlived(lim.Grace)
	if !r.HasEnded() {
		return Exit{}, &Void{r.reasons}
	}
	r.acting.Wait()
	r.reapFamily()
	r.reapFirst()
	if r.rec != nil {
		r.rec.finish()
	}
	r.look.close()
	if r.census != nil {
		r.census.close()
	}
	_ = unix.Close(r.listener)
	if r.tether != nil {
		r.tether.cut()
	}
	discharge(r)
	if reason := r.breaks.verdict(); reason != "" {
		complain := r.void
		if r.cfg.Decider == nil {
			complain = r.note
		}
		complain("%s", reason)
	}
	r.missed()
	for prog, errno := range r.look.blind {
		r.void("%s cannot be looked into (%v): it is setuid, execute-only or not dumpable, which is not covered", prog, errno)
	}
	exit := Exit{Code: r.status.ExitStatus(), ByRule: r.byRule, Late: late, Orphans: orphans, Notes: r.notes, Restarted: r.breaks.missing}
	if r.status.Signaled() {
		exit.Code, exit.Signal = 0, r.status.Signal()
	}
	if len(r.reasons) > 0 {
		return exit, &Void{r.reasons}
	}
	return exit, nil
}

// HasEnded reports whether the last process of the subject has ended.
func (r *Run) HasEnded() bool {
	select {
	case <-r.ended:
		return true
	default:
		return false
	}
}

// missed says of which operations a rule had fired that then never happened: a
// signal's handler came before, and the program did not try again.
func (r *Run) missed() {
	r.answer.Lock()
	killed := r.killed
	r.answer.Unlock()
	if killed {
		return
	}
	for _, e := range r.again {
		if e.held != nil && e.held.rule != nil {
			r.void("%s of %s, at which %q fired, was broken off by a signal and did not come again", e.held.call.name, e.held.op.Path, e.held.rule.String())
		}
	}
}

func after(d time.Duration) <-chan time.Time {
	if d <= 0 {
		return nil
	}
	return time.After(d)
}

// outlived waits for the last process, and ends what is left after the grace.
func (r *Run) outlived(grace time.Duration) []string {
	select {
	case <-r.ended:
		return nil
	case <-time.After(grace):
	}
	var orphans []string
	for _, pid := range r.members() {
		orphans = append(orphans, fmt.Sprintf("%d %s", pid, programOf(pid)))
	}
	r.answer.Lock()
	byRule := r.byRule
	r.answer.Unlock()
	r.Kill()
	if byRule {
		return nil // a kill that was still under way
	}
	return orphans
}
