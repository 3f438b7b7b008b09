//go:build linux

package trial

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"faultlab/internal/op"
	"faultlab/internal/record"
	"faultlab/internal/rule"
	"faultlab/internal/scratch"
	"faultlab/internal/shim"
	"faultlab/internal/tree"
	"faultlab/internal/verdict"
)

// Runner does cases. It may do several at once.
type Runner struct {
	spec    Spec
	space   *scratch.Space
	base    *scratch.Base
	origin  string // the user's tree, resolved; "" if none
	allowed []string
	copies  chan *scratch.Copy // idle ones; nil stands for one not yet made
	pattern *Pattern
	watch   *watchdog
	memo    memo
	// common is held by a case that may make files where all programs do: two at
	// once would meet there under a fixed name.
	common sync.Mutex
}

// ErrUnreached says that a case's point did not come in its run.
var ErrUnreached = errors.New("the point was not reached")

// New makes the private copy that every case starts from, and runs the setup
// in it. Its errors are the user's to mend.
func New(ctx context.Context, spec Spec) (*Runner, error) {
	space, err := scratch.New()
	if err != nil {
		return nil, err
	}
	r := &Runner{spec: spec, space: space, pattern: Learn(nil), watch: newWatchdog(space.Dir())}
	if err := r.prepare(ctx); err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

func (r *Runner) prepare(ctx context.Context) error {
	if err := r.watch.room(); err != nil {
		return err
	}
	if r.spec.Tree != "" {
		root, err := shim.ResolveTree(r.spec.Tree)
		if err != nil {
			return err
		}
		r.origin = root
	}
	for _, path := range r.spec.Allow {
		r.allowed = append(r.allowed, resolved(path))
	}
	base, err := r.space.NewBase(r.origin)
	if err != nil {
		return err
	}
	r.base = base
	if err := r.setup(ctx); err != nil {
		return err
	}
	if err := base.Freeze(); err != nil {
		return err
	}
	r.watch.finds(base.Dir())
	r.copies = make(chan *scratch.Copy, r.spec.Jobs)
	for range r.spec.Jobs {
		r.copies <- nil
	}
	return nil
}

// resolved is a path without links, as far as it exists: so the shim names it.
func resolved(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	dir, name := filepath.Split(filepath.Clean(path))
	if dir == path {
		return path
	}
	return filepath.Join(resolved(dir), name)
}

// setup runs the user's setup in the base.
func (r *Runner) setup(ctx context.Context) error {
	if r.spec.Setup == "" {
		return nil
	}
	out, err := os.MkdirTemp(r.space.Dir(), "setup")
	if err != nil {
		return err
	}
	s := &subject{command: shell(r.spec.Setup), tree: r.base.Dir(), tmp: out, out: out, name: "setup",
		calls: op.TreeCalls(), sentry: &sentry{touch: func(string) {}, names: r.pattern.Start(), allowed: []string{"/"}, denied: r.original()}}
	got, err := r.run(ctx, s)
	switch {
	case err != nil:
		return fmt.Errorf("setup: %w", err)
	case got.Hang != "":
		return fmt.Errorf("setup %q: %s", r.spec.Setup, got.Hang)
	case len(got.Outside) > 0:
		return r.Trespass("the setup", got.Outside[0])
	case got.Status() != 0:
		return fmt.Errorf("setup %q: exit status %d%s", r.spec.Setup, got.Status(), LastLine(got.Text()))
	}
	return nil
}

// original lists the user's tree, which nothing may change.
func (r *Runner) original() []string {
	if r.origin == "" {
		return nil
	}
	return []string{r.origin}
}

// Close removes the scratch space.
func (r *Runner) Close() error {
	r.watch.stop()
	return r.space.Close()
}

// Base is what every case starts from.
func (r *Runner) Base() tree.Snapshot { return r.base.Snapshot() }

// SetArgs gives the program other arguments, before the first case.
func (r *Runner) SetArgs(args []string) { r.spec.Args = args }

// borrow takes an idle copy, and gives back how to return it clean.
func (r *Runner) borrow(ctx context.Context) (*scratch.Copy, func() error, error) {
	select {
	case c := <-r.copies:
		if c == nil {
			var err error
			if c, err = r.base.NewCopy(); err != nil {
				r.copies <- nil
				return nil, nil, err
			}
		}
		return c, func() error {
			err := c.Reset()
			if err != nil { // the next case must not be judged by what this one left
				err = errors.Join(err, c.Close())
				c = nil
			}
			r.copies <- c
			return err
		}, nil
	case <-ctx.Done():
		return nil, nil, ctx.Err()
	}
}

// Do does one case: the subject with the case's rules, the next run, the check.
// The error says that the experiment did not take place.
func (r *Runner) Do(ctx context.Context, c Case) (run Run, err error) {
	copied, giveBack, err := r.borrow(ctx)
	if err != nil {
		return Run{}, err
	}
	defer func() { err = errors.Join(err, giveBack()) }()
	return r.do(ctx, c, copied)
}

func (r *Runner) do(ctx context.Context, c Case, at *scratch.Copy) (Run, error) {
	if c.Start.Temp {
		r.common.Lock()
		defer r.common.Unlock()
	}
	set, err := newSetting(c.Start, at)
	if err != nil {
		return Run{}, err
	}
	defer set.struck()
	var run Run
	s := r.sentry(c, at)
	s.start = set
	got, err := r.first(ctx, c, at, s)
	if err != nil {
		return Run{}, err
	}
	if set.missed() {
		return Run{}, Unhad("it opens no file")
	}
	if s.overflowed {
		return Run{}, shim.Voidf("the program does more than %d operations on the tree: give it less to do", maxSteps)
	}
	got.Outside = set.names(got.Outside)
	run.Subject, run.Ops, run.SyncLost, run.Stuck = got, s.steps, s.lost.path, s.stuck
	if s.rules != nil {
		if unfired := s.rules.Unfired(); len(unfired) > 0 {
			return run, ErrUnreached
		}
	}
	if run.Tree, run.Names, err = r.delta(at); err != nil {
		return Run{}, err
	}
	if got.Hang != "" || c.Record != nil && c.State == nil || c.State != nil && c.State.Alone {
		return run, nil // what stands there was cut off by us, or is all that is asked
	}
	if c.Record != nil {
		return r.follow(ctx, at, s, run, c.Record)
	}
	left, whole := r.memo.of(r, c, at, run)
	if a, ok := r.memo.get(left); ok && whole {
		run.Next, run.After, run.Check = a.next, a.after, a.check
		return run, nil
	}
	run, err = r.follow(ctx, at, s, run, nil)
	if err == nil && whole {
		r.memo.put(left, aftermath{run.Next, run.Check, run.After})
	}
	return run, err
}

// follow is what comes after the subject's run: the next one, which may be
// recorded, or else the check, too.
func (r *Runner) follow(ctx context.Context, at *scratch.Copy, s *sentry, run Run, rec *record.Record) (_ Run, err error) {
	if run.Next, err = r.next(ctx, at, s, rec); err != nil {
		return Run{}, err
	}
	if run.After, _, err = r.delta(at); err != nil || rec != nil {
		return run, err
	}
	run.Check, err = r.check(ctx, at, run.Subject)
	return run, err
}

// first is the subject's run, or what stands in for it.
func (r *Runner) first(ctx context.Context, c Case, at *scratch.Copy, s *sentry) (Outcome, error) {
	if c.State != nil {
		return r.inherit(c.State, at)
	}
	return r.run(ctx, r.subject(c, at, s, "run").recorded(c.Record))
}

// recorded has a subject's run taken down, where there is a record.
func (s *subject) recorded(rec *record.Record) *subject {
	if rec != nil {
		s.recording = &shim.Recording{Record: rec, Tmp: s.tmp}
		s.calls = append(s.calls, shim.RecordCalls()...)
	}
	return s
}

// sentry for one case's subject.
func (r *Runner) sentry(c Case, at *scratch.Copy) *sentry {
	s := &sentry{
		touch:   at.Touch,
		names:   r.pattern.Start(),
		allowed: append([]string{filepath.Dir(at.Tree()), "/dev", "/proc", "/sys"}, r.allowed...),
	}
	if !within("/dev/shm", r.space.Dir()) && !slices.ContainsFunc(s.allowed, func(dir string) bool { return within(dir, "/dev/shm") }) {
		s.denied = []string{"/dev/shm"} // a place for files like any other
	}
	if len(c.Rules) > 0 {
		s.rules, s.named = rule.NewMatcher(at.Tree(), c.Rules), rule.Named(c.Rules)
	}
	return s
}

// delta is what the copy holds other than the base, by canonical names.
func (r *Runner) delta(at *scratch.Copy) (tree.Delta, []string, error) {
	d, err := at.Delta()
	if err != nil {
		return nil, nil, err
	}
	d = d.Without(r.ignored)
	var names []string
	for _, path := range d.Paths() {
		if d[path].Kind != tree.Absent {
			names = append(names, path)
		}
	}
	return r.pattern.Tree(d), names, nil
}

func (r *Runner) ignored(path string) bool {
	return slices.ContainsFunc(r.spec.Ignore, func(glob string) bool { return rule.OnPath(glob, path) })
}

// next is the run after the faulted one: the user's own, or the program again.
// It may be recorded.
func (r *Runner) next(ctx context.Context, at *scratch.Copy, s *sentry, rec *record.Record) (Outcome, error) {
	next := &sentry{touch: at.Touch, names: r.pattern.Start(), allowed: s.allowed}
	sub := r.subject(Case{}, at, next, "next")
	if r.spec.Next != "" {
		sub.command = shell(r.spec.Next)
	}
	return r.run(ctx, sub.recorded(rec))
}

// check runs the user's oracle on what was left.
func (r *Runner) check(ctx context.Context, at *scratch.Copy, got Outcome) (Outcome, error) {
	if r.spec.Check == "" {
		return Outcome{}, nil
	}
	return r.oracle(ctx, at, told(got), filepath.Join(at.Out(), "run.stdout"), filepath.Join(at.Out(), "run.stderr"))
}

// told is how a check is told that the program ended.
func told(o Outcome) string {
	if o.ByRule {
		return "killed"
	}
	return fmt.Sprint(o.Status())
}

// oracle runs the user's check with what it is told in its environment.
func (r *Runner) oracle(ctx context.Context, at *scratch.Copy, status, stdout, stderr string) (Outcome, error) {
	anything := &sentry{touch: at.Touch, names: r.pattern.Start(), allowed: []string{"/"}, denied: r.original()}
	sub := r.subject(Case{}, at, anything, "check")
	sub.command = shell(r.spec.Check)
	sub.env = []string{"FAULTFS_STATUS=" + status, "FAULTFS_STDOUT=" + stdout, "FAULTFS_STDERR=" + stderr}
	return r.run(ctx, sub)
}

// Judge gives a run with faults its verdict.
func (r *Runner) Judge(c verdict.Control, run Run) verdict.Judgement {
	return verdict.Judge(c, r.Faulted(run))
}

// Faulted puts a run into the verdict's terms.
func (r *Runner) Faulted(run Run) verdict.Faulted {
	hang, orphans := run.Subject.Hang, run.Subject.Orphans
	if hang == "" && run.Next.Hang != "" {
		hang = "the next run " + run.Next.Hang
	}
	return verdict.Faulted{
		Run:      verdict.Run{Status: run.Subject.Status(), Tree: run.Tree},
		Killed:   run.Subject.ByRule,
		Done:     run.Done,
		Stuck:    run.Stuck,
		Hang:     hang,
		Orphans:  append(slices.Clip(orphans), run.Next.Orphans...),
		Escapes:  append(slices.Clip(run.Subject.Outside), run.Next.Outside...),
		SyncLost: run.SyncLost,
		Names:    r.pattern.named(run.Names),
		Next: verdict.Next{
			Run: verdict.Run{Status: run.Next.Status(), Tree: run.After},
			Own: r.spec.Next != "", Output: run.Next.Text(),
		},
		Check: verdict.Check{
			Given: run.Check.Ran, Failed: run.Check.Ran && (run.Check.Status() != 0 || run.Check.Hang != ""),
			Output: run.Check.Text() + run.Check.Hang,
		},
	}
}

// LastLine is the last line of an output, after a colon; "" where there is none.
func LastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	if last := lines[len(lines)-1]; last != "" {
		return ": " + last
	}
	return ""
}
