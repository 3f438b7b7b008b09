//go:build linux

package race

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"faultlab/internal/op"
	"faultlab/internal/rule"
	"faultlab/internal/tree"
	"faultlab/internal/trial"
	"faultlab/internal/verdict"
)

// once plays one order and judges it.
func (r *Race) once(ctx context.Context, d director) (o outcome) {
	p := &play{
		Race: r, ctx: ctx, want: d, last: nobody, ledger: r.ledger(),
		arrived: make(chan struct{}, 1), looked: make(map[string]look), heard: make(map[string]int),
	}
	o.play = p
	var left *finalState
	err := r.runner.OnStage(ctx, func(stage *trial.Stage) (err error) {
		left, err = p.perform(stage, &o)
		return err
	})
	if err == nil && left != nil { // with the stage given back: it may take others
		o.judgement, err = r.oracle.judge(ctx, left)
	}
	o.err = err
	return o
}

// ledger is a new one that knows what earlier plays have shown.
func (r *Race) ledger() *ledger {
	r.mu.Lock()
	defer r.mu.Unlock()
	l := newLedger(maps.Clone(r.known), r.pattern.Key)
	l.served = maps.Clone(r.served)
	return l
}

// perform plays on a stage up to the verdict, or to what it takes to find one.
func (p *play) perform(stage *trial.Stage, o *outcome) (left *finalState, err error) {
	defer func() {
		if p.server != nil { // it was broken off
			p.server.Discard(p.ctx)
		}
	}()
	err = p.start(stage)
	if err == nil {
		err = p.run()
	}
	if err != nil || p.over != "" {
		p.kill()
	}
	outcomes, ends := p.wait(p.ctx)
	switch {
	case err != nil:
		return nil, err
	case ends != nil && p.over == "":
		return nil, ends
	case p.over == redundant:
		return nil, nil
	}
	o.statuses, o.fired = statuses(outcomes), p.fired()
	o.judgement, left, err = p.judge(stage, outcomes)
	return left, err
}

// dismiss ends the server, once it is not needed any more.
func (p *play) dismiss() error {
	s := p.server
	if p.server = nil; s == nil {
		return nil
	}
	return s.Stop(p.ctx)
}

func (p *play) kill() {
	for _, pl := range p.actors {
		if pl.Actor != nil {
			pl.Kill()
		}
	}
}

func (p *play) wait(ctx context.Context) ([]trial.Outcome, error) {
	var outcomes []trial.Outcome
	var first error
	for _, pl := range p.actors {
		if pl.Actor == nil {
			continue
		}
		o, err := pl.Wait(ctx)
		if err != nil && first == nil {
			first = err
		}
		o.ByRule = o.ByRule || pl.dies
		outcomes = append(outcomes, o)
	}
	return outcomes, first
}

// fired lists the rules that were seen to happen.
func (p *play) fired() map[string]bool {
	out := make(map[string]bool)
	for _, pl := range p.actors {
		unfired := make(map[string]bool)
		for _, r := range pl.Unfired() {
			unfired[r.String()] = true
		}
		for _, r := range p.rulesOf(pl.letter) {
			if !unfired[r.String()] {
				out[r.String()] = true
			}
		}
	}
	return out
}

func statuses(outcomes []trial.Outcome) []int {
	var out []int
	for _, o := range outcomes {
		out = append(out, o.Status())
	}
	return out
}

// judgement is a verdict, or none: an order in which all was well.
type judgement = verdict.Judgement

func found(v verdict.Verdict, cause, detail string) judgement {
	return judgement{Verdict: v, Finding: true, Cause: cause, Detail: detail}
}

// finalState is what a play that ended by itself has left.
type finalState struct {
	tree     tree.Delta
	outcomes []trial.Outcome
	checked  bool // by the user's oracle
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
	s := &finalState{tree: got, outcomes: outcomes, checked: stage.Checked()}
	s.dead, s.did = p.dead()
	// What the server keeps in its memory is seen by a check only.
	if j, ok := p.oracle.get(s); ok && p.server == nil {
		return j, nil, nil
	}
	check, err := stage.Check(p.ctx, words(outcomes))
	switch {
	case err != nil:
		return judgement{}, nil, err
	case !check.Ran:
		return judgement{}, s, nil
	}
	j := judgement{Verdict: verdict.Tolerated}
	if check.Status() != 0 || check.Hang != "" {
		j = found(verdict.Violated, "the check fails"+trial.LastLine(check.Text()+check.Hang),
			howTheyEnded(outcomes))
	}
	p.oracle.put(s, j)
	return j, nil, p.dismiss()
}

// plain finds what needs no look at the tree.
func (r *Race) plain(p *play, outcomes []trial.Outcome) judgement {
	ends := howTheyEnded(outcomes)
	if cause, ok := strings.CutPrefix(p.over, "deadlock: "); ok {
		return found(verdict.Deadlock, cause, "no actor can go on")
	}
	for i, o := range outcomes {
		who := string(letter(i))
		switch {
		case o.Hang != "":
			return found(verdict.Hang, who+" "+o.Hang, ends)
		case len(o.Orphans) > 0:
			return found(verdict.Orphan, who+" leaves a process behind", o.Orphans[0])
		case len(o.Outside) > 0:
			return found(verdict.Escape, who+" writes outside the tree: "+o.Outside[0], ends)
		}
	}
	if p.over != "" {
		return found(verdict.Hang, p.over, ends)
	}
	if p.server != nil && p.server.HasEnded() {
		return found(verdict.Raced, "the server (--serve) ends while it is asked", ends)
	}
	if cause, detail := r.overlap(p.lanes); cause != "" {
		return found(verdict.Overlap, cause, detail+"; "+ends)
	}
	return judgement{}
}

// overlap finds two actors that are both between their first and their last
// change of critical files.
func (r *Race) overlap(lanes []Step) (cause, detail string) {
	if r.Critical == "" {
		return "", ""
	}
	type section struct{ first, last int }
	sections := make(map[byte]section)
	for i := range lanes {
		s := &lanes[i]
		if !r.critical(&s.Op) {
			continue
		}
		sec, ok := sections[s.Actor]
		if !ok {
			sec.first = i
		}
		sec.last = i
		sections[s.Actor] = sec
	}
	var letters []byte
	for l := range sections {
		letters = append(letters, l)
	}
	slices.Sort(letters)
	for i, a := range letters {
		for _, b := range letters[i+1:] {
			x, y := sections[a], sections[b]
			if x.first < y.last && y.first < x.last {
				return fmt.Sprintf("two are inside at once: both change %s", r.Critical),
					fmt.Sprintf("%c from %v to %v, %c from %v to %v", a, lanes[x.first].Point, lanes[x.last].Point, b, lanes[y.first].Point, lanes[y.last].Point)
			}
		}
	}
	return "", ""
}

// critical reports whether an operation changes a critical file.
func (r *Race) critical(o *op.Op) bool {
	if r.Critical == "" || !o.Changes() || looks(o) {
		return false
	}
	return onPath(r.Critical, o)
}

// onPath reports whether one of an operation's names matches a glob, as in a rule.
func onPath(glob string, o *op.Op) bool {
	return o.Path != "" && rule.OnPath(glob, o.Path) || o.To != "" && rule.OnPath(glob, o.To)
}

// oracle judges final states, each different one once.
type oracle struct {
	race  *Race
	known map[string]judgement
}

// get is the judgement of a state that was seen before.
func (c *oracle) get(s *finalState) (judgement, bool) {
	c.race.mu.Lock()
	defer c.race.mu.Unlock()
	j, ok := c.known[s.key()]
	return j, ok
}

func (c *oracle) put(s *finalState, j judgement) {
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
		for _, path := range append(run.tree.Paths(), got.Paths()...) {
			if !slices.Contains(paths, path) && !c.race.same(tree.Delta{path: run.tree[path]}, tree.Delta{path: got[path]}, nil) {
				paths = append(paths, path)
			}
		}
	}
	if len(paths) == 0 {
		return "no order one after the other ends like this"
	}
	slices.Sort(paths)
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

// howTheyEnded is each actor's exit status, and what a failed one said last.
func howTheyEnded(outcomes []trial.Outcome) string {
	var parts []string
	for i, o := range outcomes {
		said := ""
		if o.Status() != 0 {
			said = trial.LastLine(o.Stderr)
		}
		parts = append(parts, fmt.Sprintf("%c ends with %d%s", letter(i), o.Status(), said))
	}
	return strings.Join(parts, "; ")
}
