//go:build linux

package race

import (
	"context"
	"slices"

	"faultlab/internal/tree"
)

// again runs every order once more, later than a second after the first, and
// notes what differs by itself: a time that is written in seconds.
func (s *serials) again(ctx context.Context) error {
	if err := s.later(ctx); err != nil {
		return err
	}
	s.mu.Lock()
	known := make([]*serial, 0, len(s.done))
	for _, run := range s.done {
		known = append(known, run)
	}
	s.mu.Unlock()
	for _, old := range known {
		run, err := s.run(ctx, old.sequence)
		if err != nil {
			return err
		}
		s.mu.Lock()
		base := s.race.runner.Base()
		for _, path := range append(old.tree.Paths(), run.tree.Paths()...) {
			a, b := old.tree.At(base, path), run.tree.At(base, path)
			if !tree.Same(a, b, false) && tree.Same(a, b, true) {
				s.volatile[path] = true
			}
		}
		s.mu.Unlock()
	}
	return nil
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
