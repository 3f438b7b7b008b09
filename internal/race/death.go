//go:build linux

package race

import (
	"cmp"
	"context"
	"slices"

	"faultlab/internal/shim"
	"faultlab/internal/trial"
)

// die kills an actor before its operation. What it has locked is free then, and who
// looks for its process does not find it.
func (p *play) die(n *node, w *pending) {
	step := Step{Actor: w.player.letter, Op: w.op, Point: n.names[n.chosen], Dies: true}
	p.enter(step, n)
	p.mu.Lock()
	p.changes++
	for _, pl := range p.actors {
		pl.polls = false
	}
	w.player.dies = true
	if w.op.Changes() {
		w.player.did-- // that one did not happen
	}
	p.mu.Unlock()
	w.player.Kill()
}

// dead is the actor that was killed; nobody where none was.
func (p *play) dead() (actor, did int) {
	for _, pl := range p.actors {
		if pl.dies {
			return pl.index, pl.did
		}
	}
	return nobody, 0
}

// sequence is some actors one after the other. One of them may die on the way.
type sequence struct {
	order []int
	dead  int // nobody: all run to their end
	after int // so many changes of its own
}

// scaffold is the gate of an actor that is to die in a run one after the other.
type scaffold struct {
	left int // changes that it may still do
	now  chan struct{}
}

// Arrived implements shim.Gate.
func (s *scaffold) Arrived(t *shim.Ticket) bool {
	if t.Op.Outside() || !t.Op.Changes() {
		return false
	}
	s.left--
	if s.left == -1 {
		close(s.now)
	}
	return s.left < 0
}

// kill kills an actor once its time has come.
func (s *scaffold) kill(a *trial.Actor) {
	select {
	case <-s.now:
		a.Kill()
	case <-a.Ended():
	}
}

// allowsDead reports whether some order of running one after the other leaves this
// tree, in which the one that died does so after some of its changes, or after all,
// or before the first. How far it came here is tried first.
func (s *serials) allowsDead(ctx context.Context, f *finalState) (bool, error) {
	ends := statuses(f.outcomes)
	tried := tried{most: s.most}
	for _, order := range s.orders(ends) {
		if err := tried.next(); err != nil {
			return false, err
		}
		whole, err := s.get(ctx, sequence{order: order, dead: nobody})
		if err != nil {
			return false, err
		}
		if s.equal(whole, ends, f.tree, f.dead) {
			return true, nil
		}
		if !slices.Contains(order, f.dead) {
			continue
		}
		for _, after := range nearest(f.did, whole.changes(f.dead)) {
			if err := tried.next(); err != nil {
				return false, err
			}
			part, err := s.get(ctx, sequence{order, f.dead, after})
			if err != nil {
				return false, err
			}
			if s.equal(part, ends, f.tree, f.dead) {
				return true, nil
			}
		}
	}
	return false, nil
}

// changes is how many operations of an actor change something.
func (run *serial) changes(actor int) int {
	n := 0
	for i := range run.steps[actor] {
		if run.steps[actor][i].Changes() {
			n++
		}
	}
	return n
}

// nearest lists the numbers below most, those next to first first.
func nearest(first, most int) []int {
	list := make([]int, most)
	for i := range list {
		list[i] = i
	}
	slices.SortStableFunc(list, func(a, b int) int { return cmp.Compare(distance(a, first), distance(b, first)) })
	return list
}

func distance(a, b int) int { return max(a-b, b-a) }

// permitted reports whether a state is one of those that the actors may leave.
func (s *serials) permitted(ctx context.Context, f *finalState) (bool, error) {
	if f.dead != nobody {
		return s.allowsDead(ctx, f)
	}
	return s.allows(ctx, statuses(f.outcomes), f.tree)
}

// matches reports whether those of a run ended as they did elsewhere.
func (run *serial) matches(ends []int, dead int) bool {
	return !slices.ContainsFunc(run.order, func(actor int) bool {
		return actor != dead && (run.statuses[actor] == 0) != (ends[actor] == 0)
	})
}
