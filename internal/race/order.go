//go:build linux

package race

import (
	"context"
	"slices"
	"time"

	"faultlab/internal/shim"
	"faultlab/internal/trial"
)

// maxOrders is how many runs one after the other a state is held against. Eight
// programs that may all be refused have a hundred thousand.
const maxOrders = 2000

// tried counts orders that a state is held against, up to a limit.
type tried struct{ n, most int }

func (t *tried) next() error {
	if t.n++; t.n > t.most {
		return shim.Voidf("more than %d runs one after the other could have ended like one of the orders: say with --check what has to hold", t.most)
	}
	return nil
}

// again runs every order that was run once only once more, later than a second after
// that, and notes what differs by itself: a time that is written in seconds. One at a
// time does so: who comes second is to find all noted.
func (s *serials) again(ctx context.Context) error {
	s.repeating.Lock()
	defer s.repeating.Unlock()
	once, last := s.unrepeated()
	if len(once) == 0 {
		return nil
	}
	if err := later(ctx, last); err != nil {
		return err
	}
	for _, old := range once {
		run, err := s.run(ctx, old.sequence)
		if err != nil {
			return err
		}
		s.compare(old, run)
	}
	return nil
}

// unrepeated lists the orders that were run once only, and when the last of them ended.
func (s *serials) unrepeated() (list []*serial, last time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, run := range s.done {
		if run.repeated {
			continue
		}
		list = append(list, run)
		if run.ended.After(last) {
			last = run.ended
		}
	}
	return list, last
}

// compare notes what is another in two runs of one order.
func (s *serials) compare(old, run *serial) {
	s.mu.Lock()
	defer s.mu.Unlock()
	base := s.race.runner.Base()
	for _, path := range append(old.tree.Paths(), run.tree.Paths()...) {
		if varies(old.tree.At(base, path), run.tree.At(base, path)) {
			s.volatile[path] = true
		}
	}
	old.repeated = true
}

// later waits until a time in seconds is another than it was.
func later(ctx context.Context, than time.Time) error {
	select {
	case <-time.After(time.Until(than.Add(trial.Apart))):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// orders lists the ways to run the successful actors one after the other, with
// every choice of the others among them.
func (s *serials) orders(statuses []int) [][]int {
	var must, may []int
	for actor, status := range statuses {
		if status == 0 {
			must = append(must, actor)
		} else {
			may = append(may, actor)
		}
	}
	var out [][]int
	for bits := range 1 << len(may) {
		set := slices.Clone(must)
		for i, actor := range may {
			if bits&(1<<i) != 0 {
				set = append(set, actor)
			}
		}
		out = append(out, permutations(set)...)
	}
	return out
}

func permutations(set []int) [][]int {
	if len(set) == 0 {
		return [][]int{{}}
	}
	var out [][]int
	for i, first := range set {
		rest := slices.Delete(slices.Clone(set), i, i+1)
		for _, p := range permutations(rest) {
			out = append(out, append([]int{first}, p...))
		}
	}
	return out
}
