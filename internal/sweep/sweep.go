//go:build linux

// Package sweep finds out what a program leaves behind when any single operation
// of it fails, or when it is killed there: every point of a run without a fault,
// times every fault that can really happen at it.
package sweep

import (
	"slices"
	"strings"
	"syscall"

	"faultlab/internal/op"
	"faultlab/internal/report"
	"faultlab/internal/rule"
	"faultlab/internal/trial"
)

// Options narrow a sweep.
type Options struct {
	Ops    op.Set   // kinds of operations
	Faults []string // names as in a report, or their first words: ENOSPC, short, kill; nil is all
	Paths  []string // globs, as in a rule; nil is every path that some control changes
	Depth  int      // faults in one run: 1 or 2
}

// Sweep is one experiment over a program.
type Sweep struct {
	opts     Options
	controls *trial.Controls
	runner   *trial.Runner
	log      *trial.Log
}

// New plans a sweep over what the controls did.
func New(r *trial.Runner, c *trial.Controls, opts Options, log *trial.Log) *Sweep {
	return &Sweep{opts: opts, controls: c, runner: r, log: log}
}

// Cases lists the experiments with one fault, in the order of the program's
// operations.
func (s *Sweep) Cases() []trial.Case {
	var cases []trial.Case
	inputs := make(map[op.Point]bool)
	for i := range s.controls.Steps {
		step := &s.controls.Steps[i]
		for _, f := range s.faults(step, inputs) {
			c := newCase(caseRule(step.Point, f))
			if s.opts.Depth > 1 {
				c.Watch = op.Calls(Kinds) // the second fault needs points, too
			}
			cases = append(cases, c)
		}
	}
	return cases
}

// faults lists what is tried at one operation. A path that no control changes
// is an input: one open and one read of it fail, once.
func (s *Sweep) faults(step *trial.Step, inputs map[op.Point]bool) []fault {
	if !s.opts.Ops.Has(step.Kind) || !s.wanted(&step.Op) {
		return nil
	}
	all := slices.DeleteFunc(faultsAt(&step.Op), func(f fault) bool { return !s.asked(f.name) })
	if len(all) == 0 {
		return nil
	}
	if s.opts.Paths == nil && !step.Changes() && !s.controls.Changed[step.Path] && !s.controls.Changed[step.To] {
		first := op.Point{Kind: step.Kind, Path: step.Path}
		if inputs[first] || step.Kind != op.Open && step.Kind != op.Read && step.Kind != op.Readdir {
			return nil
		}
		inputs[first] = true
		all = all[:1]
	}
	return all
}

func (s *Sweep) wanted(o *op.Op) bool {
	if s.opts.Paths == nil {
		return true
	}
	return slices.ContainsFunc(s.opts.Paths, func(glob string) bool {
		return rule.OnPath(glob, o.Path) || o.To != "" && rule.OnPath(glob, o.To)
	})
}

func (s *Sweep) asked(name string) bool {
	if s.opts.Faults == nil {
		return true
	}
	return slices.ContainsFunc(s.opts.Faults, func(f string) bool {
		return f == name || strings.HasPrefix(name, f+" ") || strings.HasPrefix(name, f+",")
	})
}

func caseRule(p op.Point, f fault) rule.Rule {
	r := rule.Rule{Selector: rule.At(p), Action: f.Action}
	r.Actor = 0
	if f.open {
		r.Nth.Last = 0
	}
	return r
}

func newCase(rules ...rule.Rule) trial.Case {
	c := trial.Case{Choice: Choice(rules), Rules: rules}
	for _, r := range rules {
		if r.Word == op.Sync.String() {
			// Whether its data was written and synced again after it failed.
			c.Watch = op.Calls(op.SetOf(op.Sync, op.Write))
		}
	}
	return c
}

// Choice prints rules as --only takes them.
func Choice(rules []rule.Rule) string {
	parts := make([]string, len(rules))
	for i, r := range rules {
		parts[i] = strings.TrimPrefix(r.String(), "on ")
	}
	return strings.Join(parts, "; ")
}

// Parse reads a choice.
func Parse(choice string) (trial.Case, error) {
	var rules []rule.Rule
	for _, part := range split(choice) {
		r, err := rule.Parse(part)
		if err != nil {
			return trial.Case{}, err
		}
		rules = append(rules, r)
	}
	return newCase(rules...), rule.CheckSet(rules)
}

// split cuts a choice into its rules, where no quote is open.
func split(choice string) []string {
	var parts []string
	quoted, start := false, 0
	for i := range len(choice) {
		switch {
		case choice[i] == '\'':
			quoted = !quoted
		case !quoted && strings.HasPrefix(choice[i:], "; "):
			parts = append(parts, choice[start:i])
			start = i + len("; ")
		}
	}
	return append(parts, choice[start:])
}

// Judge gives one experiment's verdict to the log, and returns what to try on
// top of it.
func (s *Sweep) Judge(res trial.Result) []trial.Case {
	t := report.Trial{Choice: res.Case.Choice}
	t.Point, t.Fault = cell(res.Case.Rules)
	if s.log.Result(t, res.Err) {
		return nil
	}
	if stays(res.Case.Rules) {
		res.Run.Stuck = res.Run.Tree.Paths()
	}
	j := s.runner.Judge(s.controls.Control, res.Run)
	t.Verdict, t.Finding, t.Cause, t.Detail = j.Verdict.String(), j.Finding, j.Cause, j.Detail
	s.log.Add(t, s.controls, res.Run)
	if s.opts.Depth > 1 && len(res.Case.Rules) == 1 {
		return s.log.Plan(s.deeper(res))
	}
	return nil
}

// stays reports whether from the fault on nothing can be removed any more: what a
// program then leaves, it could not have helped.
func stays(rules []rule.Rule) bool {
	return slices.ContainsFunc(rules, func(r rule.Rule) bool {
		return r.Stay && (r.Errno == rule.Errno(syscall.EIO) || r.Errno == rule.Errno(syscall.EROFS))
	})
}

// cell is where an experiment stands in the heat map.
func cell(rules []rule.Rule) (row, column string) {
	var rows, columns []string
	for _, r := range rules {
		sel := r.Selector
		if sel.Nth.Last == 0 {
			sel.Nth.Last = sel.Nth.First
		}
		rows = append(rows, sel.String())
		columns = append(columns, columnOf(r))
	}
	return strings.Join(rows, "; "), strings.Join(columns, "; ")
}

func columnOf(r rule.Rule) string {
	switch r.Verb {
	case rule.DoFail:
		if r.Stay {
			return r.Errno.String() + " stays"
		}
		return r.Errno.String()
	case rule.DoShort:
		if r.Errno != 0 {
			return "short, then " + r.Errno.String()
		}
		return "short"
	case rule.DoKill:
		switch r.When {
		case rule.After:
			return "kill after"
		case rule.Mid:
			return "kill mid"
		}
	}
	return r.Verb.String()
}

// deeper adds a second fault to what the program did after the first: that is
// where rollbacks break.
func (s *Sweep) deeper(res trial.Result) []trial.Case {
	first := res.Case.Rules[0]
	if first.Verb == rule.DoKill || first.Stay || first.Errno == 0 || first.Nth.Last == 0 {
		return nil
	}
	var cases []trial.Case
	inputs := make(map[op.Point]bool)
	struck := false
	for i := range res.Run.Ops {
		step := &res.Run.Ops[i]
		if !struck {
			struck = step.Fault != ""
			continue
		}
		for _, f := range s.faults(step, inputs) {
			if !f.Stay && !f.open {
				cases = append(cases, newCase(first, caseRule(step.Point, f)))
			}
		}
	}
	return cases
}
