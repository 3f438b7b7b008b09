//go:build linux

package race

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"faultlab/internal/report"
)

// Report puts an exploration into words. Ended is the error that broke it off.
func (r *Race) Report(command string, findings []Finding, repro func(choice string) string, ended error) *report.Report {
	out := &report.Report{
		Version: report.SchemaVersion, Experiment: "race", Command: command,
		Summary: make(map[string]int), Coverage: r.coverage(len(findings), ended),
	}
	var trials []report.Trial
	for _, f := range findings {
		choice := Choice(f.Steps)
		trials = append(trials, report.Trial{
			Choice: choice, Verdict: f.Verdict.String(), Finding: true, Cause: f.Cause,
			Detail: fmt.Sprintf("%s; schedule %d, %s", f.Detail, f.Schedule, Compact(f.Steps)),
			Repro:  repro(choice), Picture: Lanes(f.Steps, len(r.programs)),
		})
	}
	out.Trials, out.Findings = trials, report.Group(trials)
	out.Summary = report.Tally(trials)
	out.Notes = append(out.Notes, r.notes()...)
	return out
}

// notes say what the numbers do not.
func (r *Race) notes() []string {
	var parts []string
	for _, part := range []struct {
		n    int
		text string
	}{
		{r.stats.Redundant, "%d orders were broken off: they differ in nothing from another one"},
		{r.stats.Departed, "%d orders departed from what they had done before, three times each"},
		{r.stats.Anew, "%d orders were played anew: what had come after them did not come again"},
		{r.stats.Restarts, "begun anew %d times, as more was seen to be shared"},
	} {
		if part.n > 0 {
			parts = append(parts, fmt.Sprintf(part.text, part.n))
		}
	}
	var notes []string
	if len(parts) > 0 {
		notes = append(notes, strings.Join(parts, "; "))
	}
	if r.stats.Together < 2 && r.stats.Schedules > 0 && !r.replayed {
		notes = append(notes, fmt.Sprintf("in no schedule did two of the programs succeed (%d did at most): what they do to each other when they work was not seen", r.stats.Together))
	}
	return notes
}

func (r *Race) coverage(findings int, ended error) report.Coverage {
	s := r.stats
	c := report.Coverage{Planned: s.Schedules + s.Left + s.Departed, Ran: s.Schedules, Void: s.Departed}
	switch {
	case r.replayed && s.Departed > 0:
		c.Why = "the order cannot be made any more: " + r.departure.Error()
	case r.replayed && ended == nil:
		c.Complete, c.Scope = true, "the one order that was asked for"
	case findings > 0 && !r.KeepGoing:
		c.Planned = s.Schedules
		c.Scope = fmt.Sprintf("schedule %d with at most %d preemptions", s.Schedules, r.Preemptions)
		if s.Sampled > 0 {
			c.Scope = fmt.Sprintf("schedule %d, by chance with seed %d", s.Schedules, r.Seed)
		}
		c.Complete = true
		return c
	case ended != nil || s.Left > 0:
		c.Scope = fmt.Sprintf("%d schedules with at most %d preemptions, and more are left", s.Schedules-s.Sampled, r.Preemptions)
		c.Why = why(ended)
	case s.Departed > 0:
		c.Why = fmt.Sprintf("%d schedules departed from what they had done before", s.Departed)
	default:
		c.Complete = true
		c.Scope = fmt.Sprintf("all %d schedules with at most %d preemptions", s.Schedules-s.Sampled, r.Preemptions)
	}
	if s.Sampled > 0 && c.Scope != "" {
		c.Scope += fmt.Sprintf(", and %d by chance with seed %d", s.Sampled, r.Seed)
	}
	return c
}

func why(ended error) string {
	switch {
	case ended == nil:
		return "--max-schedules is reached"
	case errors.Is(ended, errTime):
		return errTime.Error()
	case errors.Is(ended, context.Canceled):
		return "interrupted"
	}
	return ended.Error()
}

// Replay plays one order that a choice names.
func (r *Race) Replay(ctx context.Context, choice string) ([]Finding, error) {
	if err := r.learn(ctx); err != nil {
		return nil, err
	}
	var o outcome
	err := r.begin(ctx, func() (err error) {
		o, err = r.replay(ctx, choice)
		return err
	})
	r.replayed = true
	if errors.Is(err, errDeparted) {
		r.stats.Departed++
		r.departure = err
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	r.count(o)
	if err := r.unfired(); err != nil {
		return nil, err
	}
	r.stats.Schedules = 1
	if !o.judgement.Finding {
		return nil, nil
	}
	return []Finding{{o.judgement, o.play.lanes, o.statuses, 1}}, nil
}

// replay plays it once.
func (r *Race) replay(ctx context.Context, choice string) (outcome, error) {
	s, err := parseChoice(choice, len(r.programs))
	if err != nil {
		return outcome{}, err
	}
	o := r.once(ctx, s)
	switch {
	case r.learned(o.play):
		return o, errGrown
	case o.err == nil && !s.done():
		return o, fmt.Errorf("%w: not every switch of the choice could be made", errDeparted)
	}
	return o, o.err
}

// CheckChoice reports what is wrong with a choice.
func CheckChoice(choice string, actors int) error {
	_, err := parseChoice(choice, actors)
	return err
}
