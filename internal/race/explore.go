//go:build linux

package race

import (
	"errors"
	"slices"

	"faultlab/internal/op"
)

// An exploration tries every order of the actors' operations up to a bound on
// preemptions: switches away from an actor that could have gone on.
//
// It keeps no states, only branches: each is a run's beginning, which is played
// again, and from which on every actor goes on until it ends or has to wait.
// Branches with fewer preemptions come first.

// move is one step of a schedule: which actor did its next operation, or died
// before it.
type move struct {
	actor int
	point uint64 // the operation's name, hashed: what it must be again
	dies  bool
}

// branch is a beginning that leads to schedules nobody has played.
type branch struct {
	moves  []move
	cost   int // preemptions
	asleep actors
	from   *origin // the play that it leaves; nil at the root
	age    int     // how often that had been played anew by then
	self   *origin // what its own branches leave, once it was played
}

// errDeparted says that a run did not do again what it did before.
var errDeparted = errors.New("the run departed from its schedule")

// direct implements director.
func (b *branch) direct(i int, n *node) (turn, error) {
	if i >= len(b.moves) {
		return nature, nil
	}
	m := b.moves[i]
	if !n.enabled.has(m.actor) || n.points[m.actor] != m.point {
		return nature, errDeparted
	}
	t := turn{actor: m.actor, dies: m.dies}
	if i == len(b.moves)-1 {
		t.asleep = &b.asleep
	}
	return t, nil
}

// actors is a set of them.
type actors uint32

func (s actors) has(a int) bool        { return s&(1<<a) != 0 }
func (s actors) with(a int) actors     { return s | 1<<a }
func (s actors) without(a int) actors  { return s &^ (1 << a) }
func (s actors) minus(t actors) actors { return s &^ t }

func (s actors) lowest() int {
	for a := range MaxActors {
		if s.has(a) {
			return a
		}
	}
	return nobody
}

const (
	MaxActors = 8 // in one race
	nobody    = -1
)

// node is a point of a played schedule at which an actor was chosen.
type node struct {
	enabled actors
	last    int    // who moved before
	yields  bool   // the last one polls: to leave it costs nothing
	polling actors // who looks at the same things again while nothing changes
	chosen  int
	dies    bool   // the chosen one died before its operation
	moved   actors // who has done an operation
	dull    actors // who has only looked, and is about to look again: what its death leaves, the one before would have
	cost    int    // preemptions before
	final   bool   // the chosen one ended with this operation
	asleep  actors // whose next operation was tried here before, and nothing has come that it depends on
	points  [MaxActors]uint64
	names   [MaxActors]op.Point
	steps   [MaxActors][]access // what each one's next operation uses
}

// cost of going on with actor a.
func (n *node) costOf(a int) int {
	if a != n.last && n.last != nobody && n.enabled.has(n.last) && !n.yields {
		return n.cost + 1
	}
	return n.cost
}

// explorer holds the branches that are left.
type explorer struct {
	bound    int
	branches [][]branch      // by cost; the first is taken first
	anew     int             // plays that were made once more
	taken    map[uint64]bool // by key, the branches that were played
	reduce   bool            // leave out orders that differ in nothing
	crash    bool            // one actor may die
}

func newExplorer(bound int, reduce bool) *explorer {
	e := &explorer{bound: bound, branches: make([][]branch, bound+1), reduce: reduce, taken: make(map[uint64]bool)}
	e.branches[0] = []branch{{}}
	return e
}

// next takes the branch with the fewest preemptions.
func (e *explorer) next() (branch, bool) {
	for cost, list := range e.branches {
		if len(list) > 0 {
			e.branches[cost] = list[1:]
			e.taken[list[0].key()] = true
			return list[0], true
		}
	}
	return branch{}, false
}

// left is how many branches are known and not yet played.
func (e *explorer) left() int {
	n := 0
	for _, list := range e.branches {
		n += len(list)
	}
	return n
}

// played adds the branches that leave a schedule behind its given beginning.
func (e *explorer) played(b branch, moves []move, nodes []node) {
	from, o := len(b.moves), e.origin(b)
	crash := e.crash && !slices.ContainsFunc(moves[:min(from, len(moves))], func(m move) bool { return m.dies })
	for i := from; i < len(nodes); i++ {
		n := &nodes[i]
		if crash {
			e.deaths(o, moves[:i], n)
		}
		for a := range MaxActors {
			// Who polls would see again what it has seen: its turn comes by itself.
			if a == n.chosen || !n.enabled.has(a) || n.asleep.has(a) || n.polling.has(a) {
				continue
			}
			cost := n.costOf(a)
			if cost > e.bound {
				continue
			}
			next := append(slices.Clone(moves[:i]), move{actor: a, point: n.points[a]})
			e.add(o, branch{moves: next, cost: cost, asleep: e.sleepers(n, a)})
		}
	}
}

// deaths adds the branches in which an actor dies at a node: one that moves there
// for nothing, another one for what it costs to leave who was going on. All may
// depend on a death, so that nobody sleeps behind it.
func (e *explorer) deaths(o *origin, moves []move, n *node) {
	for a := range MaxActors {
		// To die before one's first operation is the same whenever it comes: nobody
		// has seen anything of it. The branch at the root stands for all.
		unborn := !n.moved.has(a) && len(moves) > 0
		if !n.enabled.has(a) || n.polling.has(a) || unborn || e.reduce && n.dull.has(a) {
			continue
		}
		if cost := n.costOf(a); cost <= e.bound {
			next := append(slices.Clone(moves), move{a, n.points[a], true})
			e.add(o, branch{moves: next, cost: cost})
		}
	}
}

// sleepers are those whose next operation need not be tried after a's, until one
// comes that it depends on. The actor that was going on is among them: the order
// in which it first goes on and is left then has been played, with no more
// preemptions. Of others that cannot be said.
func (e *explorer) sleepers(n *node, a int) actors {
	if !e.reduce {
		return 0
	}
	asleep := n.asleep
	if n.chosen == n.last && n.last != nobody && !n.final {
		asleep = asleep.with(n.last)
	}
	return n.wake(asleep, a)
}

// wake is who of the sleepers still sleeps after a's operation.
func (n *node) wake(asleep actors, a int) actors {
	for s := range MaxActors {
		if asleep.has(s) && (s == a || meet(n.steps[s], n.steps[a])) {
			asleep = asleep.without(s)
		}
	}
	return asleep
}
