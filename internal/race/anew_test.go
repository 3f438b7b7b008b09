//go:build linux

package race

import "testing"

// oddly explores programs that are others in odd plays, and returns the final
// states of the usual ones.
func oddly(programs func(play int) (p [][]instr, odd bool)) (states map[string]bool, departed, anew int) {
	e := newExplorer(2, true)
	states = make(map[string]bool)
	for play := 0; ; play++ {
		b, ok := e.next()
		if !ok {
			return states, departed, e.anew
		}
		these, odd := programs(play)
		p, state, err := tryOut(these, &b)
		switch {
		case err != nil && !e.again(b):
			departed++
			continue
		case err != nil:
			continue
		case state != "" && !odd:
			states[state] = true
		}
		e.played(b, p.moves, p.nodes)
	}
}

// called gives the operations of an actor other names.
func called(programs [][]instr, shift int) [][]instr {
	for i := range programs[0] {
		programs[0][i].shift = shift
	}
	return programs
}

const often, seldom = "read:x make:d write:x|read:x write:x", "read:x write:x|read:x write:x"

// Whichever play was an odd one, the orders of the usual ones are all played.
func TestOddPlaysArePlayedAnew(t *testing.T) {
	usual, odd := parsePrograms(often), called(parsePrograms(seldom), 10)
	want, plays := exploreAll(t, usual, 2, true)
	for at := range plays {
		got, departed, anew := oddly(func(play int) ([][]instr, bool) {
			if play == at {
				return odd, true
			}
			return usual, false
		})
		if departed > 0 {
			t.Errorf("play %d is odd: %d orders were given up", at, departed)
		}
		for state := range want {
			if !got[state] {
				t.Errorf("play %d is odd, %d were made anew: %s is missing in %v", at, anew, state, got)
			}
		}
	}
}

// What never comes again is given up, and that comes to an end.
func TestOddnessWithoutEnd(t *testing.T) {
	_, departed, anew := oddly(func(play int) ([][]instr, bool) {
		return called(parsePrograms(often), 10*play), false
	})
	if departed == 0 || anew == 0 {
		t.Errorf("%d orders were given up after %d were made anew, want some of both", departed, anew)
	}
}
