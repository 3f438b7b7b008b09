package crash

import (
	"fmt"
	"strings"
	"syscall"

	"faultlab/internal/op"
	"faultlab/internal/report"
	"faultlab/internal/trial"
)

const eio = syscall.EIO

// Judge gives the verdict on one state to the log.
func (c *Crash) Judge(res trial.Result) []trial.Case {
	if c.settings.State != "" && res.Case.Choice == givenName(c.settings.State) {
		return c.judgeGiven(res)
	}
	t := report.Trial{Choice: res.Case.Choice}
	p, known := c.byChoice[res.Case.Choice]
	if known {
		t.Point, t.Fault = p.point(), p.column()
	}
	if c.log.Result(t, res.Err) || !known {
		return nil
	}
	res.Run.Done = c.done(p)
	j := c.runner.Judge(c.controls.Control, res.Run)
	t.Verdict, t.Finding, t.Cause = j.Verdict.String(), j.Finding, j.Cause
	t.Detail = p.where() + p.describe() + "; " + strings.TrimPrefix(j.Detail, "killed, ")
	if t.Finding {
		c.keep(p, &t)
	}
	res.Run.Ops = p.timeline()
	c.log.Add(t, c.controls, res.Run)
	return nil
}

// timeline is the recording up to the crash, with what each event came to.
func (p planned) timeline() []trial.Step {
	fates := p.fates(p.State)
	var count op.Counter
	var out []trial.Step
	for i, l := range fates {
		e := &p.rec.Events[i]
		s := trial.Step{Op: e.Op}
		s.Point = count.Point(&e.Op)
		switch {
		case e.Failed:
			s.Error = "EIO"
		case l.fate != Kept:
			s.Fault = l.String()
		case fallible(e) && p.settled[i] < p.Point:
			s.Error = "durable by " + p.labels[p.settled[i]]
		}
		out = append(out, s)
	}
	const shown = 400 // as many as a report takes, and the last ones tell most
	return out[max(0, len(out)-shown):]
}

// point is the row of the heat map.
func (p planned) point() string {
	s := &State{Point: p.Point, Part: p.Part}
	if p.Part > 0 {
		return p.prefix + p.labels[p.Point]
	}
	return p.prefix + strings.TrimPrefix(p.print(s), "after ")
}

// column is the heat map's: the worst thing that happens to an event.
func (p planned) column() string {
	if p.Dies {
		return "process death"
	}
	worst := Kept
	for _, l := range p.fates(p.State) {
		if (worst == Kept || worst == Lost) && l.fate != Kept {
			worst = l.fate
		}
	}
	switch worst {
	case Lost:
		return "lost"
	case Sized, Grown:
		return "size only"
	case Zeroed:
		return "zeroed"
	}
	return "torn"
}

// where says of which run a crash is spoken.
func (p planned) where() string {
	if p.base == nil {
		return ""
	}
	return "in the recovery from " + strings.TrimSuffix(p.prefix, then) + ", "
}

// describe says what happened, to what, and which models allow it.
func (p planned) describe() string {
	switch {
	case p.Dies && p.Part == 0 && p.Point == 0:
		return "nothing was done yet"
	case p.Dies && p.Part == 0 && p.Point == len(p.labels):
		return "the program has ended"
	case p.Dies:
		return fmt.Sprintf("the program dies %s; allowed by %v", p.print(p.State), p.Models)
	}
	var dropped []string
	for i, l := range p.fates(p.State) {
		if l.fate != Kept {
			dropped = append(dropped, p.labels[i]+" "+l.String())
		}
	}
	const most = 6
	more := ""
	if len(dropped) > most {
		more = fmt.Sprintf(" and %d more", len(dropped)-most)
		dropped = dropped[:most]
	}
	when, _, _ := strings.Cut(p.print(&State{Point: p.Point}), ", ")
	return fmt.Sprintf("the power goes %s: %s%s; allowed by %v", when, strings.Join(dropped, ", "), more, p.Models)
}

func (l loss) String() string {
	if l.fate.sized() {
		return fmt.Sprintf("%v %d", l.fate, l.at)
	}
	return l.fate.String()
}

// done reports whether the program had ended with success before the crash.
func (c *Crash) done(p planned) bool {
	return p.base == nil && p.Point == len(p.rec.Events) && p.Part == 0 && c.controls.Once.Status == 0
}
