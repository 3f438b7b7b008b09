//go:build linux

package race

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	"faultlab/internal/tree"
	"faultlab/internal/trial"
	"faultlab/internal/verdict"
)

// finalState is what a play that ended by itself has left.
type finalState struct {
	tree     tree.Delta
	outcomes []trial.Outcome
	checked  bool // by the user's oracle
	hidden   bool // there is more that a check may see than what is kept here
	dead     int  // who was killed; nobody where none was
	did      int  // … and how many changes it had done by then
}

// judge asks the oracles, the plainest first. Where it comes to no verdict, the
// state that was left is to be compared with those of the serial runs. A check may
// ask the server; without one its files are looked at when it has ended.
func (p *play) judge(stage *trial.Stage, outcomes []trial.Outcome) (judgement, *finalState, error) {
	if j := p.plain(p, outcomes); j.Finding {
		return j, nil, nil
	}
	if !stage.Checked() {
		if err := p.dismiss(); err != nil {
			return judgement{}, nil, err
		}
	}
	got, err := stage.Tree(p.pattern)
	if err != nil {
		return judgement{}, nil, err
	}
	s := &finalState{tree: got, outcomes: outcomes, checked: stage.Checked(), hidden: p.hides(stage, outcomes)}
	s.dead, s.did = p.dead()
	if j, ok := p.oracle.get(s); ok {
		return j, nil, nil
	}
	check, err := stage.Check(p.ctx, words(outcomes))
	switch {
	case err != nil:
		return judgement{}, nil, err
	case !check.Ran:
		return judgement{}, s, nil
	}
	j := verdict.JudgeCheck(verdict.Check{Given: true, Failed: check.Status() != 0 || check.Hang != "", Output: check.Text() + check.Hang},
		howTheyEnded(outcomes))
	if check.Hang == "" { // which may be the machine's fault
		p.oracle.put(s, j)
	}
	return j, nil, p.dismiss()
}

// hides reports whether there is more to be seen than the tree, and what is kept of
// the output: files that do not count, or are outside, or what the server remembers.
func (p *play) hides(stage *trial.Stage, outcomes []trial.Outcome) bool {
	if p.Ignores || len(p.runner.Allowed()) > 0 || p.server != nil {
		return true
	}
	left, err := os.ReadDir(stage.Tmp())
	return err != nil || len(left) > 0 || slices.ContainsFunc(outcomes, func(o trial.Outcome) bool { return o.Cut })
}

// oracle judges final states, each different one once.
type oracle struct {
	race  *Race
	known map[string]judgement
}

// get is the judgement of a state that was seen before. A check's holds only for
// what looks the same to it.
func (c *oracle) get(s *finalState) (judgement, bool) {
	if s.checked && s.hidden {
		return judgement{}, false
	}
	c.race.mu.Lock()
	defer c.race.mu.Unlock()
	j, ok := c.known[s.key()]
	return j, ok
}

func (c *oracle) put(s *finalState, j judgement) {
	if s.checked && s.hidden {
		return
	}
	c.race.mu.Lock()
	defer c.race.mu.Unlock()
	c.known[s.key()] = j
}

// judge compares a state with those after some order one after the other, in which
// the rules fire, too.
func (c *oracle) judge(ctx context.Context, s *finalState) (judgement, error) {
	j := judgement{Verdict: verdict.Tolerated}
	ends := statuses(s.outcomes)
	ok, err := c.race.serial.permitted(ctx, s)
	if err == nil && !ok {
		if err = c.race.serial.again(ctx); err == nil {
			ok, err = c.race.serial.permitted(ctx, s)
		}
	}
	if err != nil {
		return j, err
	}
	if !ok {
		j = found(verdict.Raced, c.cause(ctx, ends, s.tree), howTheyEnded(s.outcomes))
	}
	c.put(s, j)
	return j, nil
}

// cause says how the tree differs from the one after some order.
func (c *oracle) cause(ctx context.Context, ends []int, got tree.Delta) string {
	var paths []string
	for _, order := range c.race.serial.orders(ends) {
		run, err := c.race.serial.get(ctx, sequence{order: order, dead: nobody})
		if err != nil || len(order) == 0 {
			continue
		}
		paths = append(paths, c.race.serial.differing(run.tree, got)...)
	}
	if len(paths) == 0 {
		return "no order one after the other ends like this"
	}
	slices.Sort(paths)
	paths = slices.Compact(paths)
	return "no order one after the other leaves the tree like this: " + strings.Join(paths[:min(len(paths), 4)], ", ")
}

func words(outcomes []trial.Outcome) []string {
	var out []string
	for _, o := range outcomes {
		if o.ByRule {
			out = append(out, "killed")
		} else {
			out = append(out, fmt.Sprint(o.Status()))
		}
	}
	return out
}

func (s *finalState) key() string {
	var b strings.Builder
	for _, o := range s.outcomes {
		fmt.Fprintf(&b, "%d %v\n", o.Status(), o.ByRule)
		if s.checked { // only a check can tell by what was printed
			fmt.Fprintf(&b, "%q %q\n", o.Stdout, o.Stderr)
		}
	}
	for _, path := range s.tree.Paths() {
		e := s.tree[path]
		fmt.Fprintf(&b, "%s %d %o %x\n", path, e.Kind, e.Perm, e.Sum)
	}
	return b.String()
}
