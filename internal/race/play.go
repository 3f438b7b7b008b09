//go:build linux

package race

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"sync"
	"time"

	"faultlab/internal/op"
	"faultlab/internal/rule"
	"faultlab/internal/trial"
)

// play is one run of all actors in one chosen order.
type play struct {
	*Race
	ctx     context.Context
	want    director
	actors  []*player
	ledger  *ledger
	server  *trial.Server // nil: none
	areas                 // outside the tree, where the actors meet, too
	arrived chan struct{} // something has come to wait, or an actor has ended

	mu      sync.Mutex
	waiting []*pending
	open    bool // the server is ready: what it does now is done for the actors

	nodes   []node
	moves   []move
	lanes   []Step
	changes int             // how often something was changed
	looked  map[string]look // by actor and what it looks at
	heard   map[string]int  // by actor and socket, the changes when it first connected
	last    int
	cost    int
	asleep  actors
	over    string // why the play was broken off: "" it was not
}

// player is an actor in one play.
type player struct {
	*trial.Actor
	index  int
	letter byte
	names  *trial.Names
	count  op.Counter
	past   map[int]uint64 // by thread, what it has done
	locked []string       // files whose locks it has taken, or tried to
	polls  bool
	asked  bool // it has connected to a socket
	moved  bool // it has done an operation
	looked bool // which only looked
	dies   bool // it was killed
	buried bool // its process is gone
	did    int  // changes that it has come to
	news   int  // how often others have since it may have changed what it is told
}

// Step is one operation of a schedule.
type Step struct {
	Actor  byte
	Op     op.Op // by canonical names
	Point  op.Point
	Dies   bool     // it did not happen: the actor was killed before it
	Forced bool     // that this actor moved was a choice, and not nature's
	From   byte     // who was left for it; 0 at the start
	Before op.Point // the operation before which it was left; zero if it could not go on
	uses   []access
}

func (p *play) wake() {
	select {
	case p.arrived <- struct{}{}:
	default:
	}
}

// start brings the actors onto the stage, each up to its first operation whose
// order matters.
func (p *play) start(stage *trial.Stage) error {
	p.areas = p.areasOf(stage)
	var err error
	if p.server, err = stage.Serve(p.ctx, listener{p}); err != nil {
		return err
	}
	p.mu.Lock()
	p.open = true
	p.mu.Unlock()
	for i, program := range p.programs {
		pl := &player{index: i, letter: letter(i), names: p.pattern.Start()}
		p.actors = append(p.actors, pl)
		actor, err := stage.Start(p.ctx, pl.letter, program, &gate{p, pl}, p.rulesOf(pl.letter))
		if err != nil {
			return err
		}
		pl.Actor = actor
		go func() {
			<-actor.Ended()
			p.wake()
		}()
	}
	return nil
}

func letter(i int) byte { return byte('A' + i) }

func (r *Race) rulesOf(letter byte) []rule.Rule {
	var out []rule.Rule
	for _, rule := range r.rules {
		if rule.Actor == 0 || rule.Actor == letter {
			out = append(out, rule)
		}
	}
	return out
}

// run lets one actor move at a time until all have ended.
func (p *play) run() error {
	for began := time.Now(); ; {
		if far, cure := p.far(began); far != "" {
			return p.breakOff(far, cure)
		}
		switch err := p.settle(); {
		case errors.Is(err, errLate):
			p.over = p.late()
			return nil
		case err != nil:
			return err
		}
		n, choices := p.look()
		if n.enabled == 0 {
			p.stuck()
			return nil
		}
		if err := p.choose(&n); err != nil {
			return err
		}
		if n.chosen == nobody {
			p.over = redundant
			return nil
		}
		if w := choices[n.chosen]; n.dies {
			p.die(&n, w)
		} else {
			p.move(&n, w)
		}
	}
}

// Why a play is broken off without a verdict of its own.
const redundant = "redundant"

// look finds out who could move now, and with which operation: of several threads
// of one actor the one whose operation comes first by what it is.
func (p *play) look() (node, []*pending) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.waiting = slices.DeleteFunc(p.waiting, func(w *pending) bool { return !w.Waits() })
	p.renew()
	slices.SortStableFunc(p.waiting, byWhatTheyAre)
	if p.last != nobody && p.actors[p.last].HasEnded() {
		// Whoever looks for its process finds it or not: with that all depends.
		p.nodes[len(p.nodes)-1].final, p.asleep = true, 0
	}
	n := node{last: p.last, cost: p.cost, asleep: p.asleep}
	choices := make([]*pending, MaxActors)
	for _, w := range p.waiting {
		i := w.player.index
		if choices[i] != nil || w.Blocked() != "" {
			continue
		}
		choices[i] = w
		n.enabled = n.enabled.with(i)
		n.points[i] = hash(w.op)
		n.steps[i] = p.step(w)
		n.names[i] = w.player.count.Next(&w.op)
	}
	for _, pl := range p.actors {
		p.character(&n, pl, choices[pl.index])
	}
	n.yields = p.last != nobody && n.polling.has(p.last)
	return n, choices
}

// character notes what is known of an actor, and of the operation it may do.
func (p *play) character(n *node, pl *player, w *pending) {
	if pl.polls {
		n.polling = n.polling.with(pl.index)
	}
	if pl.moved {
		n.moved = n.moved.with(pl.index)
	}
	if pl.looked && w != nil && onlyLooks(&w.op) {
		n.dull = n.dull.with(pl.index)
	}
}

// renew looks again at what waits, where something was changed since it came: the
// file that it would make may be there by now.
func (p *play) renew() {
	for _, w := range p.waiting {
		if w.asOf == p.changes {
			continue
		}
		w.Renew()
		w.seen = p.placed(w.Op)
		w.op = w.player.names.Op(w.seen)
		p.ledger.note(w.player.index, &w.seen)
		w.asOf = p.changes
	}
}

// step is all that a waiting operation, and what its actor does unseen before the
// next one, can depend on: it may also let go of locks, and ask the server.
func (p *play) step(w *pending) []access {
	out := p.ledger.uses(&w.seen)
	if w.player.connected() {
		out = append(out, access{serving, true})
	}
	for _, file := range w.player.locked {
		out = append(out, access{resource{lock, p.ledger.alias.of(file)}, true})
	}
	return out
}

func hash(o op.Op) uint64 {
	h := fnv.New64a()
	fmt.Fprintf(h, "%d %s %s %s", o.Kind, o.Call, o.Path, o.To)
	return h.Sum64()
}

// director says who moves next.
type director interface {
	// direct says what the i-th move is. The error says that what was asked for
	// cannot be had.
	direct(i int, n *node) (turn, error)
}

// turn is what a director wants: an actor's next operation, or its death before
// it, and who sleeps afterwards where that is known.
type turn struct {
	actor  int
	dies   bool
	asleep *actors
}

// nature is the turn of whom nobody chose.
var nature = turn{actor: nobody}

// choose asks the director, and without an answer lets the last actor go on, or
// else the first that can.
func (p *play) choose(n *node) error {
	t, err := p.want.direct(len(p.moves), n)
	if err != nil {
		return err
	}
	n.dies = t.dies
	if n.chosen = t.actor; t.actor == nobody {
		n.chosen = p.natural(n, n.enabled.minus(n.asleep))
	}
	switch {
	case t.asleep != nil:
		p.asleep = *t.asleep
	case n.chosen != nobody:
		p.asleep = n.wake(n.asleep, n.chosen)
	}
	return nil
}

// natural is whom nobody's choice would let go on. One that polls gives way to
// every other, and where only sleepers could make a difference to those that poll,
// this order differs in nothing from one that was played.
func (p *play) natural(n *node, free actors) int {
	if n.last == nobody {
		return free.lowest()
	}
	if free.has(n.last) && !n.yields {
		return n.last
	}
	if n.enabled.without(n.last) != 0 {
		free = free.without(n.last)
	}
	if n.enabled.minus(n.polling) != 0 {
		free = free.minus(n.polling)
	}
	return p.after(n.last, free)
}

// after is the next actor in turn, so that none that polls keeps others out.
func (p *play) after(last int, from actors) int {
	for i := 1; i <= len(p.actors); i++ {
		if a := (last + i) % len(p.actors); from.has(a) {
			return a
		}
	}
	return nobody
}

// move lets one operation go.
func (p *play) move(n *node, w *pending) {
	p.mu.Lock()
	p.waiting = slices.DeleteFunc(p.waiting, func(x *pending) bool { return x == w })
	step := Step{Actor: w.player.letter, Op: w.op, Point: w.player.count.Point(&w.op), uses: n.steps[n.chosen]}
	p.poll(w)
	w.player.remember(w)
	p.mu.Unlock()
	p.enter(step, n)
	if w.op.Kind == op.Lock {
		w.player.locked = append(w.player.locked, w.seen.Path)
	}
	w.player.moved, w.player.looked = true, onlyLooks(&w.op)
	w.Go()
}

// enter takes a step down.
func (p *play) enter(step Step, n *node) {
	step.Point.Actor = step.Actor
	p.describe(&step, n)
	p.cost = n.costOf(n.chosen)
	p.last = n.chosen
	p.nodes = append(p.nodes, *n)
	p.moves = append(p.moves, move{n.chosen, n.points[n.chosen], n.dies})
	p.lanes = append(p.lanes, step)
}

// describe says of a switch that was a choice whom it left, and before what.
func (p *play) describe(s *Step, n *node) {
	if s.Forced = n.dies || p.natural(n, n.enabled) != n.chosen; !s.Forced || n.last == nobody {
		return
	}
	s.From = letter(n.last)
	if n.enabled.has(n.last) {
		s.Before = n.names[n.last]
	}
}

// stuck says of a play in which nobody can move whether all have ended.
func (p *play) stuck() {
	var waits []string
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, pl := range p.actors {
		if !pl.HasEnded() {
			waits = append(waits, p.waitsFor(pl))
		}
	}
	if len(waits) > 0 {
		p.over = "deadlock: " + strings.Join(waits, "; ")
	}
}

func (p *play) waitsFor(pl *player) string {
	for _, w := range p.waiting {
		if w.player == pl {
			return fmt.Sprintf("%c waits for %s %s, held by %s", pl.letter, w.op.Kind, w.op.Path, p.whoHolds(w))
		}
	}
	return fmt.Sprintf("%c waits (%s)", pl.letter, pl.Waiting())
}

// whoHolds names the actor that has the lock.
func (p *play) whoHolds(w *pending) string {
	for _, pl := range p.actors {
		if w.BlockedBy(pl.Run) != nil {
			return string(pl.letter)
		}
	}
	return w.Blocked()
}
