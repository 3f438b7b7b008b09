//go:build linux

package race

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"faultlab/internal/op"
	"faultlab/internal/shim"
	"faultlab/internal/tree"
	"faultlab/internal/trial"
)

// serials are the runs of the actors one after the other: what is right.
type serials struct {
	race  *Race
	alike []*serial // all actors in turn, several times
	other *serial   // … and the other way round

	most      int        // orders that a state is held against
	repeating sync.Mutex // held by who runs orders once more

	mu       sync.Mutex
	done     map[string]*serial
	volatile map[string]bool // paths whose contents differ from run to run
	began    time.Time
}

// serial is one order, and what it came to.
type serial struct {
	sequence
	statuses map[int]int
	tree     tree.Delta
	steps    [][]trial.Step // by actor, by the names on disk
	outcomes map[int]trial.Outcome
	outside  []string // names in the areas, in their order
	ended    time.Time
	repeated bool // it was run once more
}

func newSerials(r *Race) *serials {
	return &serials{race: r, most: maxOrders, done: make(map[string]*serial), volatile: make(map[string]bool)}
}

// learn runs all actors one after the other, and again the other way round, to
// learn which names vary and which files they share.
func (s *serials) learn(ctx context.Context) error {
	s.began = time.Now()
	forth := make([]int, len(s.race.programs))
	for i := range forth {
		forth[i] = i
	}
	back := slices.Clone(forth)
	slices.Reverse(back)
	err := s.survey(ctx, forth, back)
	for tries := 1; errors.As(err, new(byChance)) && tries < attempts; tries++ {
		err = s.survey(ctx, forth, back)
	}
	if err != nil {
		return err
	}
	if !s.share() {
		return shim.Voidf("none of the programs changes the tree, so no order could matter: is --tree right?")
	}
	return nil
}

// survey runs all actors twice in one order and once in the other, and learns which
// names vary.
func (s *serials) survey(ctx context.Context, forth, back []int) error {
	s.race.pattern = trial.Learn(nil)
	clear(s.volatile)
	var runs []*serial
	for _, order := range [][]int{forth, forth, back} {
		run, err := s.run(ctx, sequence{order: order, dead: nobody})
		if err != nil {
			return err
		}
		if err := s.fit(run); err != nil {
			return err
		}
		runs = append(runs, run)
	}
	s.alike, s.other = runs[:2], runs[2]
	s.names()
	return s.steady(runs[0], runs[1])
}

// byChance says that two runs differ in the names that they have made: two random
// ones may have met, as in git's folders of two digits, or a second has gone by.
type byChance struct{ error }

func (b byChance) Unwrap() error { return b.error }

// attempts is how often chance may be against us.
const attempts = 3

// names learns which names vary among runs in the same order.
func (s *serials) names() {
	var names [][]string
	for _, run := range s.alike {
		names = append(names, run.names())
	}
	s.race.pattern = trial.Learn(names...)
}

// share learns from all runs what the actors share, and reports whether they change
// anything.
func (s *serials) share() (changed bool) {
	for _, run := range append(slices.Clip(s.alike), s.other) {
		l := newLedger(s.race.known, s.race.pattern.Key)
		for actor, steps := range run.steps {
			for i := range steps {
				l.note(actor, &steps[i].Op)
				changed = changed || steps[i].Changes() || s.race.served != nil && steps[i].Kind == op.Connect
			}
		}
		for res := range l.found {
			s.race.known[res] = true
		}
	}
	return changed
}

// relearn runs the actors once more, later than a second after the first: names that
// are made of a time, as those of git's objects are, vary only then. Two such names
// may be in one folder once and in two another time, so that trees are not held
// against each other as strictly as those of the same second.
func (s *serials) relearn(ctx context.Context) error {
	if err := later(ctx, s.began); err != nil {
		return err
	}
	s.race.pattern = trial.Learn(nil) // what is left is wanted by the names on disk
	run, err := s.run(ctx, s.alike[0].sequence)
	if err != nil {
		return err
	}
	if err := cmp.Or(s.fit(run), s.reliable(s.alike[0], run)); err != nil {
		return err
	}
	s.alike = append(s.alike, run)
	s.names()
	s.forget()
	for _, run := range s.alike[1:] {
		s.vary(s.alike[0], run)
	}
	s.share()
	return nil
}

// forget drops what is kept by names that are not canonical any more.
func (s *serials) forget() {
	clear(s.race.known)
	clear(s.race.served)
	clear(s.race.oracle.known)
	clear(s.done)
	clear(s.volatile)
}

// steady says why two runs in the same order are no reference: a program that ends
// otherwise by itself would seem to be the other one's victim. What only differs
// in its contents is noted as varying.
func (s *serials) steady(a, b *serial) error {
	if err := s.reliable(a, b); err != nil {
		return err
	}
	base := s.race.runner.Base()
	x, y := s.vary(a, b)
	for _, path := range append(x.Paths(), y.Paths()...) {
		one, two := x.At(base, path), y.At(base, path)
		if !tree.Same(one, two, true) {
			differs := shim.Voidf("when the programs run one after the other %s is once %v and once %v: if that does not count, say --ignore %s", path, one, two, trial.Ignoring(path))
			if one.Kind == tree.Absent || two.Kind == tree.Absent {
				return byChance{differs}
			}
			return differs
		}
	}
	return nil
}

// reliable says which program ends otherwise by itself.
func (s *serials) reliable(a, b *serial) error {
	for _, actor := range a.order {
		if x, y := a.statuses[actor], b.statuses[actor]; x != y {
			return shim.Voidf("%c (%s) is flaky: when the programs run one after the other it ends once with status %d and once with %d%s",
				letter(actor), s.race.programs[actor].Args[0], x, y, trial.LastLine(b.outcomes[actor].Text()))
		}
	}
	return nil
}

// vary notes what differs in its contents between two runs in the same order, and
// returns what they have left by canonical names.
func (s *serials) vary(a, b *serial) (x, y tree.Delta) {
	x, y = s.race.pattern.Tree(a.tree), s.race.pattern.Tree(b.tree)
	base := s.race.runner.Base()
	for _, path := range append(x.Paths(), y.Paths()...) {
		if one, two := x.At(base, path), y.At(base, path); varies(one, two) {
			s.volatile[path] = true
		}
	}
	return x, y
}

// varies reports whether only the contents are another.
func varies(a, b tree.Entry) bool { return !tree.Same(a, b, false) && tree.Same(a, b, true) }

// fit says why a run one after the other is no reference.
func (s *serials) fit(run *serial) error {
	for actor, o := range run.outcomes {
		who := fmt.Sprintf("%c (%s)", letter(actor), s.race.programs[actor].Args[0])
		switch {
		case o.Hang != "":
			return shim.Voidf("%s %s when the programs run one after the other", who, o.Hang)
		case len(o.Orphans) > 0:
			return shim.Voidf("%s leaves a process behind (%s): keep it in the foreground", who, o.Orphans[0])
		case len(o.Outside) > 0:
			return s.race.runner.Trespass(who, o.Outside[0])
		}
	}
	return nil
}

// run runs some actors one after the other, again where a signal had disturbed it.
func (s *serials) run(ctx context.Context, q sequence) (run *serial, err error) {
	disturbed := trial.Persist(ctx, func() error {
		if run, err = s.once(ctx, q); shim.IsVoid(err) {
			return err
		}
		return nil
	})
	return run, cmp.Or(disturbed, err)
}

func (s *serials) once(ctx context.Context, q sequence) (*serial, error) {
	run := &serial{sequence: q, statuses: make(map[int]int), outcomes: make(map[int]trial.Outcome),
		steps: make([][]trial.Step, len(s.race.programs))}
	err := s.race.runner.OnStage(ctx, func(stage *trial.Stage) error {
		server, err := stage.Serve(ctx, nil)
		if err != nil {
			return err
		}
		for _, actor := range q.order {
			if err = s.turn(ctx, stage, run, actor, server); err != nil {
				break
			}
		}
		if err == nil {
			err = s.check(ctx, stage, run)
		}
		if err = dismiss(ctx, server, err); err != nil {
			return err
		}
		run.ended = time.Now()
		run.tree, err = stage.Tree(s.race.pattern)
		return err
	})
	return run, err
}

// check has the user's oracle look at a run of all actors: one that fails without a
// race says nothing about races.
func (s *serials) check(ctx context.Context, stage *trial.Stage, run *serial) error {
	if len(run.order) < len(s.race.programs) || run.dead != nobody {
		return nil
	}
	outcomes := make([]trial.Outcome, len(run.order))
	for actor, o := range run.outcomes {
		if o.Hang != "" {
			return nil // which is said instead
		}
		outcomes[actor] = o
	}
	check, err := stage.Check(ctx, words(outcomes))
	if err != nil {
		return err
	}
	if check.Status() != 0 || check.Hang != "" {
		return shim.Voidf("the check fails without any race, when the programs run one after the other: %s%s",
			howTheyEnded(outcomes), trial.LastLine(check.Text()+check.Hang))
	}
	return nil
}

// turn runs one actor to its end, and the server until it has done what the actor
// asked.
func (s *serials) turn(ctx context.Context, stage *trial.Stage, run *serial, actor int, server *trial.Server) error {
	seen := &scout{areas: s.race.areasOf(stage)}
	death := &scaffold{run.after, make(chan struct{})}
	var gate shim.Gate = seen
	if actor == run.dead {
		gate = death
	}
	a, err := stage.Start(ctx, letter(actor), s.race.programs[actor], gate, s.race.rulesOf(letter(actor)))
	if err != nil {
		return err
	}
	if actor == run.dead {
		death.kill(a)
	}
	o, err := a.Wait(ctx)
	if err != nil {
		return err
	}
	run.outcomes[actor], run.statuses[actor], run.steps[actor] = o, o.Status(), a.Steps()
	run.outside = append(run.outside, seen.names...)
	return s.race.rest(ctx, server)
}

// allows reports whether some order of running one after the other leaves this
// tree: all of those that succeeded here, and perhaps some of those that were
// refused, who end in it as they did here.
func (s *serials) allows(ctx context.Context, statuses []int, got tree.Delta) (bool, error) {
	tried := tried{most: s.most}
	for _, order := range s.orders(statuses) {
		if err := tried.next(); err != nil {
			return false, err
		}
		run, err := s.get(ctx, sequence{order: order, dead: nobody})
		if err != nil {
			return false, err
		}
		if s.equal(run, statuses, got, nobody) {
			return true, nil
		}
	}
	return false, nil
}

// equal leaves out of account how the one that died ended.
func (s *serials) equal(run *serial, statuses []int, got tree.Delta, dead int) bool {
	if !run.matches(statuses, dead) {
		return false
	}
	return len(s.differing(run.tree, got)) == 0
}

// differing lists where two trees that differ from the base by these are not alike.
func (s *serials) differing(a, b tree.Delta) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	base := s.race.runner.Base()
	return slices.DeleteFunc(append(a.Paths(), b.Paths()...), func(path string) bool {
		return tree.Same(a.At(base, path), b.At(base, path), s.volatile[path])
	})
}

// get runs an order once.
func (s *serials) get(ctx context.Context, q sequence) (*serial, error) {
	key := fmt.Sprint(q)
	s.mu.Lock()
	run := s.done[key]
	s.mu.Unlock()
	if run != nil {
		return run, nil
	}
	run, err := s.run(ctx, q)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.done[key] = run
	return run, nil
}
