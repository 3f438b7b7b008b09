package race

import (
	"fmt"
	"testing"
)

// TestGrowth counts the schedules of the table in docs/race.md: actors of which every
// fifth operation is on a file that all of them change. It is what bench/growth counts
// with real programs.
func TestGrowth(t *testing.T) {
	for _, tt := range []struct{ actors, operations, reduced, full int }{ // 0: too many to count
		{2, 5, 2, 42}, {2, 10, 6, 182}, {2, 20, 26, 762}, {2, 40, 114, 3122},
		{3, 5, 6, 690}, {3, 10, 60, 3300}, {3, 20, 402, 14370}, {3, 40, 2022, 0},
		{4, 5, 24, 9240}, {4, 10, 672, 0}, {4, 20, 5280, 0}, {4, 40, 27744, 0},
	} {
		t.Run(fmt.Sprintf("%d actors of %d", tt.actors, tt.operations), func(t *testing.T) {
			const bound, quick = 2, 5000
			if max(tt.reduced, tt.full) > quick && !long() {
				t.Skip("FAULTLAB_LONG=1: some seconds")
			}
			_, reduced := exploreAll(t, growing(tt.actors, tt.operations, 5), bound, true)
			full := 0
			if tt.full > 0 {
				_, full = exploreAll(t, growing(tt.actors, tt.operations, 1), bound, false)
			}
			if reduced != tt.reduced || full != tt.full {
				t.Errorf("%d schedules, without the reduction %d; want %d and %d", reduced, full, tt.reduced, tt.full)
			}
		})
	}
}

// growing makes programs, of whose operations only every so-manyth is kept: without
// the reduction those on an actor's own file are points, too.
func growing(actors, operations, every int) [][]instr {
	var programs [][]instr
	for a := range actors {
		var list []instr
		for i := range operations {
			switch {
			case (i+1)%5 == 0:
				list = append(list, instr{verb: "add", on: "shared"})
			case every == 1:
				list = append(list, instr{verb: "write", on: fmt.Sprint("own", a)})
			}
		}
		programs = append(programs, list)
	}
	return programs
}
