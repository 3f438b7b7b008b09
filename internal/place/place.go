//go:build linux

// Package place finds out what a program does when it starts somewhere else: in
// another directory, with another environment, with descriptors closed, under
// limits. Each row of its matrix is one start, from which the program really is
// started; the control is the plain one, which may be a refusal.
//
//	rows     the starts, and what a good program does there
//	prepare  what they need
//	symptoms what a run shows, in the verdict's terms
package place

import (
	"errors"
	"maps"
	"path"
	"slices"
	"strings"

	"faultlab/internal/report"
	"faultlab/internal/tree"
	"faultlab/internal/trial"
	"faultlab/internal/verdict"
)

// Place is one experiment over a program.
type Place struct {
	rows     []Row
	groups   []string // that are wanted; nil is all
	runner   *trial.Runner
	controls *trial.Controls
	log      *trial.Log
}

// Options say what is started, and from where.
type Options struct {
	Program string   // an absolute path, or one in {tree}
	Name    string   // as the user calls it
	Groups  []string // of starts, see Groups; nil is all
}

// New plans the starts of a program.
func New(r *trial.Runner, c *trial.Controls, opts Options, log *trial.Log) *Place {
	t := target{program: opts.Program, base: path.Base(opts.Name), subfolder: subfolder(r.Base())}
	p := &Place{rows: rows(t), groups: opts.Groups, runner: r, controls: c, log: log}
	if c.Once.Status != 0 {
		log.Note("the plain start is taken for a refusal, which no other start may get around")
	}
	if c.Once.Status == 0 && len(c.Once.Tree) == 0 && c.Run.Subject.Stdout == "" && !r.Checked() {
		log.Note("the plain start changes nothing in the tree and prints nothing, and there is no --check: nobody could have seen that another start does less")
	}
	return p
}

// subfolder is the first folder at the top of a tree, hidden ones last.
func subfolder(base tree.Snapshot) string {
	best := ""
	for name, e := range base {
		if e.Kind == tree.Dir && !strings.Contains(name, "/") && (best == "" || before(name, best)) {
			best = name
		}
	}
	return best
}

func before(a, b string) bool {
	if hidden := a[0] == '.'; hidden != (b[0] == '.') {
		return !hidden
	}
	return a < b
}

// List is every row, whatever the program.
func List() []Row { return rows(target{}) }

// group is what a start is about: the word before the sign in its name.
func (r *Row) group() string {
	group, _, _ := strings.Cut(r.Name, "=")
	return group
}

// Groups are all that there are.
func Groups() []string {
	var groups []string
	for _, r := range List() {
		groups = append(groups, r.group())
	}
	return slices.Compact(groups)
}

// Cases are all starts that are wanted.
func (p *Place) Cases() []trial.Case {
	var cases []trial.Case
	for i := range p.rows {
		if p.groups == nil || slices.Contains(p.groups, p.rows[i].group()) {
			cases = append(cases, p.rows[i].made())
		}
	}
	return cases
}

func (r *Row) made() trial.Case {
	return trial.Case{Choice: r.Name, Start: r.Start, Watch: r.watch}
}

// Parse reads a choice, the name of a row. What is only known with the program
// is added by Complete.
func Parse(choice string) (trial.Case, bool) {
	known := slices.ContainsFunc(List(), func(r Row) bool { return r.Name == choice })
	return trial.Case{Choice: choice}, known
}

// Complete is the case of a choice.
func (p *Place) Complete(c trial.Case) trial.Case { return p.row(c.Choice).made() }

func (p *Place) row(name string) *Row {
	return &p.rows[slices.IndexFunc(p.rows, func(r Row) bool { return r.Name == name })]
}

// control is what a start is measured against. Where another user starts it, files
// that the program makes may say so: then it only counts whether there is
// anything in them.
func (p *Place) control(row *Row) verdict.Control {
	c := p.controls.Control
	if !row.owner {
		return c
	}
	c.Volatile = maps.Clone(c.Volatile)
	for _, d := range []tree.Delta{c.Once.Tree, c.Twice.Tree} {
		for path := range d {
			c.Volatile[path] = true
		}
	}
	return c
}

// Judge gives one start's verdict to the log.
func (p *Place) Judge(res trial.Result) []trial.Case {
	row := p.row(res.Case.Choice)
	t := report.Trial{Choice: row.Name, Point: row.Name, Fault: "start"}
	if p.log.Result(t, res.Err) {
		if errors.Is(res.Err, trial.ErrUnreached) {
			p.log.Note("%s was not tried: %s", row.Name, strings.TrimPrefix(res.Err.Error(), trial.ErrUnreached.Error()+": "))
		}
		return nil
	}
	j := verdict.JudgePlace(p.control(row), p.placed(row, res.Run))
	t.Verdict, t.Finding, t.Cause = j.Verdict.String(), j.Finding, j.Cause
	t.Detail = j.Detail + ". A good program " + row.Good
	p.log.Add(t, p.controls, res.Run)
	return nil
}
