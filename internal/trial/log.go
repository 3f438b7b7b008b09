//go:build linux

package trial

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"faultlab/internal/op"
	"faultlab/internal/report"
	"faultlab/internal/tree"
)

// Log collects what cases came to, and makes the report of it.
type Log struct {
	trials   []report.Trial
	points   map[string]bool
	notes    map[string]bool
	coverage report.Coverage
	evidence int
	left     int
	// Repro is the command line that shows a choice again.
	Repro func(choice string) string
	// Progress, if set, is told after each case.
	Progress func(done, planned int)
}

// maxEvidence bounds how many findings keep what a person would look at; the
// others can be run again.
const maxEvidence = 300

// Plan says how many more cases there will be.
func (l *Log) Plan(cases []Case) []Case {
	l.coverage.Planned += len(cases)
	return cases
}

// Nothing says why there are no cases.
func (l *Log) Nothing(why string) { l.coverage.Why = why }

// Left says how many states or the like, at the least, were not tried, for they
// were too many. A part of them is no answer.
func (l *Log) Left(n int) { l.left += n }

// Result notes a case that came to no verdict, and reports whether it did not.
func (l *Log) Result(t report.Trial, err error) (none bool) {
	defer l.step()
	if l.points == nil {
		l.points = make(map[string]bool)
	}
	l.points[t.Point] = true
	switch {
	case err == nil:
		return false
	case errors.Is(err, ErrUnreached):
		l.coverage.Unreached++
	default:
		l.coverage.Void++
		if l.coverage.Why == "" {
			l.coverage.Why = fmt.Sprintf("%s: %v", t.Choice, err)
		}
	}
	return true
}

// Add notes a verdict.
func (l *Log) Add(t report.Trial, c *Controls, run Run) {
	l.coverage.Ran++
	t.Status = status(run.Subject)
	if t.Finding {
		t.Repro = l.Repro(t.Choice)
		if l.evidence < maxEvidence {
			l.evidence++
			t.Evidence = evidence(c, run)
		}
	}
	l.note(run)
	l.trials = append(l.trials, t)
}

// note keeps a run's doubts.
func (l *Log) note(run Run) {
	if l.notes == nil {
		l.notes = make(map[string]bool)
	}
	const most = 20
	for _, note := range run.Subject.Notes {
		if len(l.notes) < most {
			l.notes[note] = true
		}
	}
}

// Note keeps what a reader of the report should know.
func (l *Log) Note(format string, args ...any) {
	if l.notes == nil {
		l.notes = make(map[string]bool)
	}
	l.notes[fmt.Sprintf(format, args...)] = true
}

func (l *Log) step() {
	if l.Progress != nil {
		l.Progress(l.coverage.Ran+l.coverage.Void+l.coverage.Unreached+1, l.coverage.Planned)
	}
}

// Report makes the report of all that was noted. Interrupted says that the rest
// of the plan was not done.
func (l *Log) Report(experiment, command string, interrupted error) *report.Report {
	c := l.coverage
	c.Points = len(l.points)
	if l.left > 0 {
		c.Scope = fmt.Sprintf("%d states, and more are left", c.Ran)
		c.Why = cmp.Or(c.Why, fmt.Sprintf("too many: at least %d candidates for more were left out; a shorter run has fewer", l.left))
	}
	c.Complete = interrupted == nil && c.Void == 0 && l.left == 0 && c.Ran+c.Unreached == c.Planned
	if interrupted != nil {
		c.Why = "interrupted"
	}
	r := &report.Report{
		Version: report.SchemaVersion, Experiment: experiment, Command: command,
		Coverage: c, Summary: report.Tally(l.trials), Findings: report.Group(l.trials), Trials: l.trials,
	}
	r.Notes = slices.Sorted(maps.Keys(l.notes))
	return r
}

// status says how a program ended.
func status(o Outcome) string {
	switch {
	case o.Hang != "":
		return o.Hang
	case o.ByRule:
		return "killed by the experiment"
	case o.Signal != 0:
		return "ended by " + unix.SignalName(o.Signal)
	}
	return fmt.Sprintf("exit status %d", o.Code)
}

// evidence is what a person looks at to believe a verdict.
func evidence(c *Controls, run Run) *report.Evidence {
	return &report.Evidence{
		Steps:   steps(run.Ops),
		Left:    differences(c.Base, run.Tree),
		After:   differences(c.Base, run.After),
		Control: differences(c.Base, c.Run.Tree),
		Stdout:  shown(run.Subject.Stdout),
		Stderr:  shown(run.Subject.Stderr),
		Next:    outcome(run.Next),
		Check:   outcome(run.Check),
	}
}

// Bounds on what is shown.
const (
	shownText  = 4 << 10 // bytes
	shownSteps = 400
)

func shown(text string) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if len(text) > shownText {
		return strings.ToValidUTF8(text[:shownText], "") + "\n…"
	}
	return text
}

func outcome(o Outcome) *report.Outcome {
	if !o.Ran {
		return nil
	}
	return &report.Outcome{Status: status(o), Output: shown(o.Text())}
}

func steps(ops []Step) []report.Step {
	var out []report.Step
	for _, s := range ops[:min(len(ops), shownSteps)] {
		step := report.Step{Point: s.Point.String(), Result: s.Error, Fault: s.Fault != ""}
		if s.To != "" {
			step.Point += " to " + op.Quote(s.To)
		}
		if s.Size >= 0 {
			step.Bytes = &s.Size
		}
		if step.Result == "" {
			step.Result = s.Fault
		}
		out = append(out, step)
	}
	return out
}

func differences(base tree.Snapshot, d tree.Delta) []report.Change {
	var out []report.Change
	for _, path := range d.Paths() {
		out = append(out, report.Change{Path: path, Before: base[path].String(),
			After: d[path].String(), Head: shown(d[path].Head)})
	}
	return out
}
