package report

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
)

// Answered reports whether the experiments that were planned were all made, so
// that their silence means something. It believes Coverage.Complete only as far
// as the numbers beside it do not say otherwise.
func (r *Report) Answered() bool {
	for i := range r.Parts {
		if !r.Parts[i].Answered() {
			return false
		}
	}
	c := r.total()
	return c.Complete && c.Ran > 0 && c.Void == 0 && c.Ran+c.Unreached >= c.Planned
}

// Answer is the report in one line: "sweep: no finding in 312 experiments at 40
// operations". It says that only where Answered holds.
func (r *Report) Answer() string { return r.Experiment + ": " + r.answer() }

func (r *Report) answer() string {
	n, c := len(r.found()), r.total()
	switch {
	case n > 0 && r.Answered():
		return fmt.Sprintf("%s in %s", count(n, "finding"), r.extent(c))
	case n > 0:
		return fmt.Sprintf("%s so far, incomplete: %s", count(n, "finding"), r.progress(c))
	case c.Ran == 0:
		return "nothing was tried, so nothing is known: " + r.why(c)
	case !r.Answered():
		return "no answer: " + r.progress(c)
	}
	return "no finding in " + r.extent(c)
}

func (r *Report) extent(c Coverage) string {
	if c.Scope != "" {
		return c.Scope
	}
	s := count(c.Ran, "experiment")
	if c.Points > 0 {
		s += " at " + count(c.Points, r.noun())
	}
	return s
}

func (r *Report) progress(c Coverage) string {
	return fmt.Sprintf("%s of %s ran (%s)", number(c.Ran), count(max(c.Planned, c.Ran), "experiment"), r.why(c))
}

// why is the reason for what is not complete, or what the numbers give away.
func (r *Report) why(c Coverage) string {
	var lack []string
	if c.Void > 0 {
		lack = append(lack, number(c.Void)+" void")
	}
	if c.Unreached > 0 {
		lack = append(lack, number(c.Unreached)+" unreached")
	}
	if c.Planned == 0 && c.Ran == 0 {
		lack = append(lack, "no experiment was planned")
	}
	return cmp.Or(strings.TrimSpace(c.Why), strings.Join(lack, ", "), r.partWithoutAnswer(), "no reason was given")
}

func (r *Report) partWithoutAnswer() string {
	for i := range r.Parts {
		if p := &r.Parts[i]; !p.Answered() {
			return p.Experiment + " has no answer"
		}
	}
	return ""
}

// coverage says in a sentence how much was looked at, and what was not.
func (r *Report) coverage() string {
	c := r.total()
	if c.Scope != "" && r.Answered() {
		return c.Scope
	}
	s := fmt.Sprintf("%s of %s ran", number(c.Ran), count(max(c.Planned, c.Ran), "experiment"))
	if c.Points > 0 {
		s += ", at " + count(c.Points, r.noun())
	}
	s += fmt.Sprintf("; %s void, %s unreached", number(c.Void), number(c.Unreached))
	if !r.Answered() {
		s += "; not complete: " + r.why(c)
	}
	return s
}

func (r *Report) noun() string {
	switch r.Experiment {
	case "place":
		return "place"
	case "audit":
		return "point"
	}
	return "operation"
}

// questions are what each experiment asks.
var questions = map[string]string{
	"sweep": "What if any operation fails, or it is killed there?",
	"place": "What if it starts somewhere else?",
	"race":  "What if another one runs in between?",
	"crash": "What if it dies, or the power goes, at any point?",
	"audit": "What does it leave behind?",
}

// invariants are what a complete report without findings stands for.
var invariants = map[string]string{
	"sweep": "an error or a kill at any operation does no harm",
	"place": "it does the same wherever it is started",
	"race":  "within the bound no order of the actors' operations breaks it",
	"crash": "after a crash or a power cut at any point it recovers, or says what is in its way",
}

func count(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return number(n) + " " + noun
}

// number groups thousands, since a person compares these at a glance.
func number(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// title is what a finding is called where its cause is not known.
func (f Finding) title() string { return cmp.Or(f.Cause, wordOf(f.Verdict).meaning, f.Verdict) }

// others are the witnesses but for the first, which is the finding's own choice.
func (f Finding) others() []string {
	var rest []string
	own := false
	for _, w := range f.Witnesses {
		if w == f.Choice && !own {
			own = true
			continue
		}
		rest = append(rest, w)
	}
	return rest
}
