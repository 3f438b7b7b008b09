// Package crash finds out what a program leaves behind when it dies, or the power
// goes, at any point. It records one run, rebuilds from the record every state
// that the tree could be in after a crash, and runs recovery and check in each.
//
//	disk       a record, and which event is durable from when on        disk
//	State      a point, and what becomes of what was not durable        fate
//	image      what a file holds, as pages over those of the base       image
//	left       the tree that a state leaves, and its key                tree
//	Models     which losses a kind of disk allows                       models
//	enumerate  all states within bounds, each content once              enumerate
//	pairs      two losses at once                                       pairs
//	Term       how a state is written down, and read back               choice
//	build      a state made of a copy of the base                       build
//	dress      modes and attributes of what was built                   dress
//	Crash      the experiment                                           crash, judge
//	again      a crash in the recovery from a crash                     again
//	AckedCheck a check of what was acknowledged                         acked
//	keep       a state in a directory, and one taken from there         keep
package crash

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"faultlab/internal/op"
	"faultlab/internal/record"
	"faultlab/internal/rule"
	"faultlab/internal/shim"
	"faultlab/internal/tree"
	"faultlab/internal/trial"
)

// Settings are what a user asks for.
type Settings struct {
	Options
	Rules []rule.Rule // that hold while the run is recorded
	// FailSync records once more for each sync, which fails.
	FailSync bool
	Keep     string // directory that failing states are left in; "" is none
	// Witnesses leaves the first state of each cause for Witness, as far as it is
	// small.
	Witnesses bool
	// State is a directory with a state that is tried first; "" is none. Only where
	// it is not survived the others are tried.
	State string
	// Acked says that the check asks for what had been acknowledged, as AckedCheck
	// writes it: a program that acknowledges nothing then shows nothing.
	Acked bool
	// Again records the recovery from each state, and crashes that, too.
	Again bool
}

// Crash is one experiment over a program.
type Crash struct {
	settings Settings
	runner   *trial.Runner
	controls *trial.Controls
	log      *trial.Log
	takes    []*take
	byChoice map[string]planned
	kept     int
	// witnessed are the causes of which a state was left.
	witnessed map[string]bool
	witnesses map[string]witness // by choice
	// ctx is New's, for recoveries that are recorded later.
	ctx context.Context
}

// take is one recording, and what it can leave.
type take struct {
	prefix string // of its choices
	*disk
	// base makes what the recording began from of a copy of the tree; nil: that is it.
	base   func(dir string, touch func(string)) error
	steps  []trial.Step // the operations of the run, also those that changed nothing
	before []byte       // what had been printed before it began
	states []*State
	counts Counts
	mu     sync.Mutex // images are worked out by one at a time
}

// planned is what a choice stands for.
type planned struct {
	*take
	*State
}

// New records the program and works out the states. An error says why there is
// nothing to be said.
func New(ctx context.Context, r *trial.Runner, c *trial.Controls, s Settings, log *trial.Log) (*Crash, error) {
	cr := &Crash{settings: s, runner: r, controls: c, log: log, ctx: ctx,
		byChoice: make(map[string]planned), witnessed: make(map[string]bool), witnesses: make(map[string]witness)}
	cr.settings.Silent = !r.Checked()
	cr.settings.Done = ctx.Done()
	cr.settings.Ended = !r.Checked() && r.Own()
	if cr.settings.Most == 0 {
		cr.settings.Most = mostStates
	}
	if err := cr.take(ctx, "", s.Rules); err != nil {
		return nil, err
	}
	if s.Acked && !cr.acknowledges() {
		return nil, shim.Voidf("the program acknowledges nothing: without a crash it prints no line such as '%sKEY'", ackWord)
	}
	if s.FailSync {
		if err := cr.failSyncs(ctx); err != nil {
			return nil, err
		}
	}
	return cr, nil
}

// mostStates bounds what is tried.
const mostStates = 100_000

// failSyncs records once more for each sync of the first recording.
func (c *Crash) failSyncs(ctx context.Context) error {
	first := c.takes[0]
	count := make(map[string]int)
	for i := range first.rec.Events {
		e := &first.rec.Events[i]
		if e.Op.Kind != op.Sync || e.Op.Call == "msync" || e.Kind != record.Sync {
			continue
		}
		count[e.Op.Path]++
		at := op.Point{Kind: op.Sync, Path: e.Op.Path, Nth: count[e.Op.Path]}
		fail := rule.Rule{Selector: rule.At(at), Action: rule.Action{Verb: rule.DoFail, Errno: rule.Errno(eio)}}
		err := c.take(ctx, "failing "+first.labels[i]+", ", append([]rule.Rule{fail}, c.settings.Rules...))
		if err != nil {
			return fmt.Errorf("record with %s failing: %w", first.labels[i], err)
		}
	}
	return nil
}

// take records one run.
func (c *Crash) take(ctx context.Context, prefix string, rules []rule.Rule) error {
	rec := new(record.Record)
	run, err := c.runner.Do(ctx, trial.Case{Record: rec, Rules: rules})
	if err != nil {
		return err
	}
	if err := c.sound(rec, run, len(rules) > 0); err != nil {
		return err
	}
	return c.accept(ctx, prefix, rec, run)
}

// accept replays a record, which must lead to the tree that the run has left.
func (c *Crash) accept(ctx context.Context, prefix string, rec *record.Record, run trial.Run) error {
	c.rename(rec)
	t := &take{prefix: prefix, disk: newDisk(rec, baseReader(c.runner.BaseDir(), rec))}
	if err := c.replay(ctx, t, run.Tree); err != nil {
		return err
	}
	t.steps = run.Ops
	c.takes = append(c.takes, t)
	return nil
}

// rename gives a record's names their canonical form.
func (c *Crash) rename(rec *record.Record) {
	names := c.runner.Names()
	for i := range rec.Events {
		rec.Events[i].Op = names.Op(rec.Events[i].Op)
	}
}

// sound says why a record is of no use.
func (c *Crash) sound(rec *record.Record, run trial.Run, ruled bool) error {
	switch {
	case rec.Void != "":
		return shim.Voidf("record: %s", rec.Void)
	case run.Subject.Hang != "":
		return shim.Voidf("while it was recorded the program %s", run.Subject.Hang)
	case len(run.Subject.Orphans) > 0:
		return shim.Voidf("while it was recorded the program left a process behind (%s): keep it in the foreground", run.Subject.Orphans[0])
	case !ruled && run.Subject.Status() != c.controls.Once.Status:
		return shim.Voidf("while it was recorded the program ended with status %d, and else with %d: %s",
			run.Subject.Status(), c.controls.Once.Status, strings.TrimSpace(run.Subject.Text()))
	case !ruled:
		return c.alike(run.Tree)
	}
	return nil
}

// alike says why a record is of another run: what a program does otherwise while it
// is recorded, a crash would not cut short.
func (c *Crash) alike(left tree.Delta) error {
	path, want, got, differs := c.controls.Differs(left)
	if !differs {
		return nil
	}
	return shim.Voidf("the program behaves otherwise while it is recorded: %s is %s, and else %s: if that does not count, say --ignore %s", path, told(got, want), told(want, got), trial.Ignoring(path))
}

// replay rebuilds the whole record on the base: it must be the very tree that the
// run has left, or the record is not what happened.
func (c *Crash) replay(ctx context.Context, t *take, left tree.Delta) error {
	whole := &State{Point: len(t.rec.Events)}
	built, err := c.runner.Do(ctx, trial.Case{State: &trial.State{Build: t.builder(whole), Alone: true}})
	if err != nil {
		return shim.Voidf("replay the record: %v", err)
	}
	for _, d := range []tree.Delta{left, built.Tree} {
		for _, path := range d.Paths() {
			want, got := c.at(left, path), c.at(built.Tree, path)
			if !tree.Same(want, got, false) {
				return shim.Voidf("the record does not hold all that the program did: replayed, %s is %s where the run left %s: it was changed in a way that a record does not cover", path, told(got, want), told(want, got))
			}
		}
	}
	return nil
}

func (c *Crash) at(d tree.Delta, path string) tree.Entry {
	return d.At(c.controls.Base, path)
}

// told describes an entry so that it differs from another one.
func told(e, other tree.Entry) string {
	s := e.String()
	if s == other.String() {
		s += fmt.Sprintf(", mode %04o, sum %x", uint32(e.Perm), e.Sum[:4])
	}
	return s
}

// builder is how a state comes into a copy.
func (t *take) builder(s *State) func(string, func(string)) error {
	return func(dir string, touch func(string)) error {
		if t.base != nil {
			if err := t.base(dir, touch); err != nil {
				return err
			}
		}
		t.mu.Lock()
		l := t.leaves(s)
		t.mu.Unlock()
		if l == nil {
			return errors.New("no disk can hold this state: a directory would stand in two places")
		}
		return l.build(dir, touch)
	}
}

// baseReader reads the files of the base, of which it keeps the last one open.
func baseReader(dir string, rec *record.Record) reader {
	paths := basePaths(rec)
	var id record.ID
	var open *os.File
	return func(want record.ID, off int64, buf []byte) {
		if want != id || open == nil {
			if open != nil {
				open.Close()
			}
			id = want
			open, _ = os.Open(filepath.Join(dir, paths[want]))
		}
		if open != nil {
			_, _ = open.ReadAt(buf, off) // the replay would show it
		}
	}
}

// basePaths is where objects stood when the recording began. A directory comes
// before what is in it.
func basePaths(rec *record.Record) map[record.ID]string {
	paths := map[record.ID]string{record.Root: "."}
	for _, s := range rec.Names {
		paths[s.To] = filepath.Join(paths[s.Dir], s.Name)
	}
	return paths
}

// Cases lists the distinct states, or the one that the user has named.
func (c *Crash) Cases() []trial.Case {
	if c.settings.State != "" {
		return []trial.Case{c.given()}
	}
	return c.all()
}

// all lists the distinct states.
func (c *Crash) all() []trial.Case {
	var cases []trial.Case
	operations := 0
	for _, t := range c.takes {
		t.states, t.counts = t.enumerate(c.settings.Options)
		operations += t.counts.Operations
		for _, s := range t.states {
			cases = append(cases, c.newCase(t, s))
		}
		c.note(t)
	}
	if operations == 0 {
		return nil // there is nothing that a crash could cut short
	}
	if c.settings.Again {
		cases = append(cases, c.again()...)
	}
	return cases
}

// note says how many states there were.
func (c *Crash) note(t *take) {
	n := t.counts
	text := fmt.Sprintf("%s%d operations, %d states generated, %d distinct", t.prefix, n.Operations, n.Generated, n.Distinct)
	if n.Impossible > 0 {
		text += fmt.Sprintf("; %d that no disk can hold", n.Impossible)
	}
	c.log.Note("%s%s", text, n.omitted())
	c.log.Left(n.Left)
}

func (c *Crash) newCase(t *take, s *State) trial.Case {
	choice := t.prefix + t.print(s)
	c.byChoice[choice] = planned{t, s}
	return trial.Case{Choice: choice, State: &trial.State{Build: t.builder(s), Said: t.said0(s)}}
}

// said0 is what had been printed before a crash. What recovery prints is no
// acknowledgement.
func (t *take) said0(s *State) []byte {
	if t.base != nil {
		return t.before
	}
	return t.saidBefore(s.Point)
}

// saidBefore is what had been printed before a point.
func (d *disk) saidBefore(point int) []byte {
	out := make([]byte, 0, d.said[point])
	for i := range d.rec.Events[:point] {
		if e := &d.rec.Events[i]; e.Kind == record.Say {
			out = append(out, e.Data...)
		}
	}
	return out
}

// Parse reads a choice as far as that goes without the record.
func Parse(choice string) (trial.Case, error) {
	d := &disk{rec: &record.Record{}}
	_, rest := splitPrefix(choice)
	var gone errGone
	for _, part := range cut(rest, then) {
		if _, err := d.parse(part); err != nil && !errors.As(err, &gone) {
			return trial.Case{}, err
		}
	}
	return trial.Case{Choice: choice}, nil
}

// splitPrefix takes off what says which recording is meant.
func splitPrefix(choice string) (prefix, rest string) {
	parts := cut(choice, ", ")
	if strings.HasPrefix(parts[0], "failing ") && len(parts) > 1 {
		return parts[0] + ", ", strings.Join(parts[1:], ", ")
	}
	return "", choice
}

// Complete finds the state that a choice means.
func (c *Crash) Complete(given trial.Case) trial.Case {
	prefix, rest := splitPrefix(given.Choice)
	for _, t := range c.takes {
		if t.prefix != prefix {
			continue
		}
		parts := cut(rest, then)
		s, err := t.parse(parts[0])
		if err == nil && len(parts) > 1 {
			if t, err = c.recovery(t, s); err == nil {
				s, err = t.parse(strings.Join(parts[1:], then))
			}
		}
		if err != nil {
			return unreached(given.Choice, err)
		}
		return c.newCase(t, s)
	}
	return unreached(given.Choice, fmt.Errorf("no recording %q", prefix))
}

// unreached is a case whose point the record does not hold.
func unreached(choice string, why error) trial.Case {
	return trial.Case{Choice: choice, State: &trial.State{Build: func(string, func(string)) error {
		return fmt.Errorf("%w: %v", trial.ErrUnreached, why)
	}}}
}
