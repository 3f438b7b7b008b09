//go:build linux

// Package race runs unmodified programs against one tree, lets one of them do
// its next operation at a time, and tries every order of their operations up to
// a bound on preemptions.
//
//	resource   what the order of two operations can matter for
//	areas      the places outside the tree where actors may meet
//	explore    which orders are left to try
//	sample     orders by chance, beyond the bound
//	ahead      branches that will be asked for soon, played meanwhile
//	once       one order, played and judged
//	play       one run in one order
//	gate       where an operation waits for its turn
//	settle     when nothing moves any more, and the next turn is given
//	threads    which of an actor's threads is which
//	poll       an actor that looks at the same thing again: its turn is over
//	death      an actor that is killed before an operation
//	endless    a play that has gone on for too long
//	serve      the helper that the actors ask
//	oracle     what is right by itself: the check, and what overlaps
//	serial     the runs one after the other, which say what is right
//	order      how many of these a state is held against
//	choice     an order in words: the switches that nature would not have made
//	lanes      an order as people read it
//	report     an exploration in words, and one order once more
package race

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"faultlab/internal/rule"
	"faultlab/internal/shim"
	"faultlab/internal/trial"
	"faultlab/internal/verdict"
)

// Options say how far to look.
type Options struct {
	Preemptions  int           // at most so many switches away from an actor that could go on
	MaxSchedules int           // 0: no limit
	MaxTime      time.Duration // 0: no limit
	Paths        []string      // globs: only before operations on these an actor is left; none is all
	Critical     string        // a glob: two actors must not be between their first and last change of such files at once
	Full         bool          // at every operation, and in orders that differ in nothing, too
	CrashAny     bool          // one actor may be killed, before any of its operations
	Samples      int           // beyond the bound, by chance
	Ignores      bool          // some paths of the tree do not count, though a check may look at them
	Fill         bool          // as many as MaxSchedules leaves
	Seed         uint64        // of the chance
	KeepGoing    bool          // do not stop at the first finding
	Rules        []rule.Rule
	Jobs         int
}

// Race is one exploration.
type Race struct {
	Options
	runner   *trial.Runner
	programs []trial.Program
	pattern  *trial.Pattern
	rules    []rule.Rule
	most     int // moves of one schedule
	serial   *serials

	mu     sync.Mutex
	known  shared
	served served // what the server has a part in

	oracle oracle
	stats  Stats
	fired  map[string]bool // rules that were seen to happen

	replayed  bool  // only one order was asked for
	departure error // why it could not be made

	departed atomic.Int32 // orders that were given up
}

// Stats says how far an exploration came.
type Stats struct {
	Schedules int // played to their end
	Sampled   int // … of them by chance
	Redundant int // broken off: they would have differed in nothing
	Departed  int // did not do again what they had done before
	Anew      int // played once more, as what had left them departed
	Restarts  int // begun anew, because a schedule showed more that is shared
	Together  int // the most actors that succeeded in one
	Left      int // branches that were not played
}

// New prepares an exploration of programs that act on the runner's tree.
func New(r *trial.Runner, programs []trial.Program, opts Options) *Race {
	race := &Race{Options: opts, runner: r, programs: programs, rules: opts.Rules, most: maxMoves, known: make(shared), fired: make(map[string]bool)}
	if r.Serves() {
		race.served = make(served)
	}
	race.serial = newSerials(race)
	race.oracle = oracle{race: race, known: make(map[string]verdict.Judgement)}
	return race
}

// Finding is an order in which something broke.
type Finding struct {
	verdict.Judgement
	Steps    []Step
	Statuses []int
	Schedule int // the how-manyth it was
}

// Explore plays orders until one breaks or none is left. Found is called for
// each finding. The error is the context's, or says why nothing could be looked at.
func (r *Race) Explore(ctx context.Context) ([]Finding, error) {
	if err := r.learn(ctx); err != nil {
		return nil, err
	}
	if r.MaxTime > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, r.MaxTime, errTime)
		defer cancel()
	}
	var findings []Finding
	err := r.begin(ctx, func() (err error) {
		findings, err = r.explore(ctx)
		return err
	})
	return findings, err
}

// begin does something, and anew as long as it shows more that is shared.
func (r *Race) begin(ctx context.Context, do func() error) error {
	for {
		if err := do(); !errors.Is(err, errGrown) {
			return err
		}
		r.stats = Stats{Restarts: r.stats.Restarts + 1}
		switch r.stats.Restarts {
		case relearnAfter:
			if err := r.serial.relearn(ctx); err != nil {
				return err
			}
		case maxRestarts:
			return shim.Voidf("what the actors share still grows after %d beginnings: with --path only operations on some names are points", maxRestarts)
		}
	}
}

// learn runs the actors one after the other, once it is clear that all rules are
// for some of them.
func (r *Race) learn(ctx context.Context) error {
	for _, rule := range r.rules {
		if a := rule.Actor; a != 0 && int(a-'A') >= len(r.programs) {
			return shim.Voidf("the rule %q is for actor %c, and the last one is %c", rule.String(), a, letter(len(r.programs)-1))
		}
	}
	return r.serial.learn(ctx)
}

var (
	errGrown = errors.New("a schedule showed more that is shared")
	errTime  = errors.New("--max-time is over")
)

// maxRestarts bounds how often an exploration begins. After a few there may be names
// that are new each time.
const (
	relearnAfter = 4
	maxRestarts  = 50
)

// explore plays all branches, several at once, and takes them in the one order
// that the exploration gives. Then it plays samples.
func (r *Race) explore(ctx context.Context) ([]Finding, error) {
	if len(r.runner.Allowed()) > 0 { // several at once would share what lies outside
		r.Jobs = 1
	}
	ahead := newAhead(ctx, r, r.Jobs)
	defer ahead.stop()
	hunt := &hunt{Race: r, ahead: ahead}
	err := hunt.branches()
	if err == nil && !hunt.over {
		err = hunt.samples()
	}
	if err == nil && !hunt.over {
		err = r.unfired()
	}
	return hunt.findings, err
}

// hunt is one exploration from its beginning on.
type hunt struct {
	*Race
	ahead    *ahead
	findings []Finding
	over     bool // enough was found
}

// branches plays the orders within the bound.
func (h *hunt) branches() error {
	e := newExplorer(h.Preemptions, !h.Full && len(h.Paths) == 0)
	e.crash = h.CrashAny
	for {
		b, ok := e.next()
		if !ok {
			return nil
		}
		if h.MaxSchedules > 0 && h.stats.Schedules >= h.MaxSchedules {
			h.stats.Left = e.left() + 1
			return nil
		}
		got, err := h.play(b.task(), e.soon(cap(h.ahead.slots)-1))
		switch {
		case errors.Is(err, errDeparted) && e.again(b):
			h.stats.Anew = e.anew
			continue
		case errors.Is(err, errDeparted):
			h.depart()
			continue
		case err != nil:
			h.stats.Left = e.left() + 1
			return err
		}
		e.played(b, got.play.moves, got.play.nodes)
		if h.over {
			h.stats.Left = e.left()
			return nil
		}
	}
}

// play plays one order and enters what it came to. The error may be that it departed.
func (h *hunt) play(t task, soon []task) (*outcome, error) {
	got := h.ahead.play(t, soon)
	departed := errors.Is(got.err, errDeparted)
	switch {
	case got.err != nil && !departed:
		return nil, got.err
	case h.learned(got.play): // which may be why it departed
		return nil, errGrown
	case departed:
		return nil, got.err
	case got.play.over == redundant:
		h.stats.Redundant++
		return &got, nil
	}
	if !t.anew {
		h.stats.Schedules++
	}
	h.count(got)
	if got.judgement.Finding {
		h.findings = append(h.findings, Finding{got.judgement, got.play.lanes, got.statuses, h.stats.Schedules})
		h.over = !h.KeepGoing
	}
	return &got, nil
}

// depart gives an order up.
func (h *hunt) depart() {
	h.stats.Departed++
	h.departed.Add(1)
}

// count takes note of what a schedule showed beside its verdict.
func (r *Race) count(o outcome) {
	for text := range o.fired {
		r.fired[text] = true
	}
	succeeded := 0
	for _, status := range o.statuses {
		if status == 0 {
			succeeded++
		}
	}
	r.stats.Together = max(r.stats.Together, succeeded)
}

// unfired says of a rule that it never fired: then the experiment did not take
// place.
func (r *Race) unfired() error {
	for _, rule := range r.rules {
		if !r.fired[rule.String()] {
			return shim.Voidf("the rule %q has fired in no schedule", rule.String())
		}
	}
	return nil
}

// learned takes over what a play has shown to be shared.
func (r *Race) learned(p *play) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	grown := p.ledger.more
	for res, changes := range p.ledger.served {
		r.served[res] = r.served[res] || changes
	}
	for res := range p.ledger.found {
		grown = grown || !r.known[res]
		r.known[res] = true
	}
	return grown
}

// Stats tells how far the exploration came.
func (r *Race) Stats() Stats { return r.stats }
