//go:build linux

package trial

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"faultlab/internal/op"
	"faultlab/internal/shim"
	"faultlab/internal/tree"
	"faultlab/internal/verdict"
)

// Controls is what the program does without a fault.
type Controls struct {
	verdict.Control
	Run   Run    // the first control, by canonical names
	Steps []Step // its operations, all of them
	Base  tree.Snapshot
	// Changed are the paths that some control changes, and the folders in which
	// a name came or went.
	Changed map[string]bool
	// Exclusive says that cases must run one at a time: the program changes a
	// fixed place outside the tree, or fails beside a copy of itself.
	Exclusive bool
}

// Apart is how long the third control begins after the first: two in the same
// second agree on a time that is written in seconds.
const Apart = 1100 * time.Millisecond

// Control runs the case, which has no rules, three times, two of them at once,
// and learns what varies by itself. Its error says why no experiment can be
// compared with it.
func (r *Runner) Control(ctx context.Context, c Case) (*Controls, error) {
	c.Watch = op.Calls(op.All)
	began := time.Now()
	runs, err := r.together(ctx, c)
	exclusive := false
	if err == nil {
		err = r.agree(runs)
	}
	if err != nil && ctx.Err() == nil && !errors.Is(err, errAnyway) {
		// Perhaps it cannot stand a copy of itself: a port, a fixed path.
		exclusive = true
		if runs, err = r.inTurn(ctx, c); err == nil {
			err = r.agree(runs)
		}
	}
	if err != nil {
		return nil, err
	}
	select {
	case <-time.After(time.Until(began.Add(Apart))):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	third, err := persist(ctx, c, r.Do)
	if err != nil {
		return nil, err
	}
	runs = append(runs, third)
	if err := r.agree(runs); err != nil {
		return nil, err
	}
	controls, err := r.learn(runs)
	if err != nil {
		return nil, err
	}
	controls.Exclusive = exclusive || len(r.allowed) > 0
	r.memo.begin()
	return controls, nil
}

// together runs the case twice at once, as far as there are jobs.
func (r *Runner) together(ctx context.Context, c Case) ([]Run, error) {
	runs, errs := make([]Run, 2), make([]error, 2)
	var both sync.WaitGroup
	for i := range runs {
		both.Go(func() { runs[i], errs[i] = persist(ctx, c, r.Do) })
	}
	both.Wait()
	return runs, errors.Join(errs...)
}

func (r *Runner) inTurn(ctx context.Context, c Case) ([]Run, error) {
	var runs []Run
	for range 2 {
		run, err := persist(ctx, c, r.Do)
		if err != nil {
			return nil, err
		}
		runs = append(runs, run)
	}
	return runs, nil
}

// agree says why runs without a fault are no reference.
func (r *Runner) agree(runs []Run) error {
	for i := range runs {
		if err := r.sound(&runs[i]); err != nil {
			return err
		}
		if a, b := runs[0].Subject.Status(), runs[i].Subject.Status(); a != b {
			return shim.Voidf("the program is flaky: without a fault it ends once with status %d and once with %d%s", a, b, LastLine(runs[i].Subject.Text()))
		}
		if a, b := runs[0].Next.Status(), runs[i].Next.Status(); a != b {
			return shim.Voidf("the next run is flaky: without a fault it ends once with status %d and once with %d%s", a, b, LastLine(runs[i].Next.Text()))
		}
	}
	return nil
}

// sound says why one run without a fault is no reference.
func (r *Runner) sound(run *Run) error {
	for _, o := range []struct {
		what string
		Outcome
	}{{"the program", run.Subject}, {"the next run", run.Next}} {
		switch {
		case o.Late:
			return shim.Voidf("%s %s without any fault; does it wait for input, or is --timeout too short?", o.what, o.Hang)
		case o.Hang != "":
			return anyway(shim.Voidf("%s %s, without any fault", o.what, o.Hang))
		case len(o.Orphans) > 0:
			return anyway(shim.Voidf("%s leaves a process behind without any fault (%s): keep it in the foreground", o.what, o.Orphans[0]))
		case len(o.Outside) > 0:
			return anyway(r.Trespass(o.what, o.Outside[0]))
		}
	}
	if err := r.soundCheck(run.Check); err != nil {
		return err
	}
	if r.spec.Next != "" && run.Next.Status() != 0 {
		return shim.Voidf("the next run %q fails without any fault: status %d%s", r.spec.Next, run.Next.Status(), LastLine(run.Next.Text()))
	}
	return nil
}

// Trespass says why a program that changes what is not the experiment's cannot be
// looked at.
func (r *Runner) Trespass(what, path string) error {
	if r.origin != "" && within(path, r.origin) {
		return shim.Voidf("%s wants to change %s in the original tree, which stays untouched: write {tree} where the command names it", what, path)
	}
	return shim.Voidf("%s wants to change %s, outside of the tree: if that is meant, say --allow %s", what, path, path)
}

// learn finds out which names and contents vary, and makes the reference.
func (r *Runner) learn(runs []Run) (*Controls, error) {
	var names [][]string
	for _, run := range runs {
		names = append(names, pathsOf(run))
	}
	r.pattern = Learn(names...)
	for i := range runs {
		runs[i].canonical(r.pattern)
	}
	c := &Controls{Run: runs[0], Steps: runs[0].Ops, Base: r.Base(), Changed: changed(runs)}
	c.Control = verdict.Control{
		Base:     c.Base,
		Once:     verdict.Run{Status: runs[0].Subject.Status(), Tree: runs[0].Tree},
		Twice:    verdict.Run{Status: runs[0].Next.Status(), Tree: runs[0].After},
		Next:     runs[0].Next.Status(),
		Volatile: make(map[string]bool), Kept: make(map[string]bool),
	}
	if r.spec.Next != "" {
		c.Twice = c.Once // only the program's own second run would show it
	}
	for _, run := range runs[1:] {
		if err := c.vary(runs[0].Tree, run.Tree); err != nil {
			return nil, err
		}
		if err := c.vary(runs[0].After, run.After); err != nil {
			return nil, err
		}
	}
	for _, run := range runs {
		c.keep(run.Tree)
		c.keep(run.After)
	}
	return c, nil
}

// keep notes the contents that vary, and yet may stay as they had been.
func (c *Controls) keep(d tree.Delta) {
	for path := range c.Volatile {
		c.Kept[path] = c.Kept[path] || tree.Same(c.at(d, path), c.Base[path], false)
	}
}

// vary notes the contents that differ between two controls. That a file is
// there in one and not in the other would make every verdict a guess.
func (c *Controls) vary(a, b tree.Delta) error {
	for _, path := range append(a.Paths(), b.Paths()...) {
		x, y := c.at(a, path), c.at(b, path)
		switch {
		case tree.Same(x, y, false), verdict.Chance(path, x, y), verdict.Chance(path, y, x):
		case tree.Same(x, y, true):
			c.Volatile[path] = true
		default:
			return shim.Voidf("without any fault %s is once %v and once %v: if that does not count, say --ignore %s", path, x, y, Ignoring(path))
		}
	}
	return nil
}

func (c *Controls) at(d tree.Delta, path string) tree.Entry {
	return d.At(c.Base, path)
}

// pathsOf lists the names of a run in order of first appearance.
func pathsOf(run Run) []string {
	seen := make(map[string]bool)
	var names []string
	add := func(path string) {
		if path != "" && path[0] != '/' && !seen[path] {
			seen[path] = true
			names = append(names, path)
		}
	}
	for _, s := range run.Ops {
		add(s.Path)
		add(s.To)
	}
	for _, d := range []tree.Delta{run.Tree, run.After} {
		for _, path := range d.Paths() {
			add(path)
		}
	}
	return names
}

// canonical renames all that a control recorded under the names on disk.
func (run *Run) canonical(p *Pattern) {
	points := p.Start()
	var count op.Counter
	for i := range run.Ops {
		s := &run.Ops[i]
		s.Op = points.Op(s.Op)
		s.Point = count.Point(&s.Op)
	}
	run.Tree, run.After = p.Tree(run.Tree), p.Tree(run.After)
}

// changed collects what any run changes.
func changed(runs []Run) map[string]bool {
	out := make(map[string]bool)
	for _, run := range runs {
		for i := range run.Ops {
			s := &run.Ops[i]
			if !s.Changes() && s.Kind != op.Lock {
				continue
			}
			for _, path := range []string{s.Path, s.To} {
				out[path] = true
				if s.Kind != op.Write && s.Kind != op.Open {
					out[op.Parent(path)] = true
				}
			}
		}
	}
	delete(out, "")
	return out
}

// Differs names the first path at which a tree is not as one run without a fault
// leaves it; what varies from run to run does not count.
func (c *Controls) Differs(d tree.Delta) (path string, want, got tree.Entry, differs bool) {
	paths := append(d.Paths(), c.Once.Tree.Paths()...)
	slices.Sort(paths)
	for _, path := range paths {
		want, got := c.at(c.Once.Tree, path), c.at(d, path)
		if !tree.Same(want, got, c.Volatile[path]) && !verdict.Chance(path, want, got) && !verdict.Chance(path, got, want) {
			return path, want, got, true
		}
	}
	return "", want, got, false
}
