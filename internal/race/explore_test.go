//go:build linux

package race

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// The reduction is tried on little programs in memory: what it leaves out must
// not hide a final state that the full enumeration within the same bound has.

// instr is one operation of a little program, and what its actor then does unseen.
type instr struct {
	verb string // read, write, add, lock, make, drop; wait reads until it is not 0
	on   string
	// After it, before the next operation comes:
	unlock string // this lock is let go
	alive  int    // whether this actor (from 1) has ended is looked at
	shift  int    // what it is called, from its place on
	skip   bool   // the next operation is left out if this one read 0 or failed
}

// world is what little programs act on.
type world struct {
	programs [][]instr
	values   map[string]int
	owner    map[string]int // of locks
	at       []int          // by actor, the next operation
	seen     []string       // by actor, all that it has found out
	held     [][]string     // by actor, the locks it ever took
	looked   []int          // by actor, how often it has looked since the last change
}

func newWorld(programs [][]instr) *world {
	n := len(programs)
	return &world{programs: programs, values: make(map[string]int), owner: make(map[string]int),
		at: make([]int, n), seen: make([]string, n), held: make([][]string, n), looked: make([]int, n)}
}

func (w *world) ended(a int) bool { return w.at[a] >= len(w.programs[a]) }

func (w *world) enabled(a int) bool {
	if w.ended(a) {
		return false
	}
	i := w.programs[a][w.at[a]]
	owner, taken := w.owner[i.on]
	return i.verb != "lock" || !taken || owner == a
}

// uses lists accesses as a play does.
func (w *world) uses(a int) []access {
	i := w.programs[a][w.at[a]]
	var out []access
	switch i.verb {
	case "read", "wait":
		out = append(out, access{resource{data, i.on}, false})
	case "write", "add":
		out = append(out, access{resource{data, i.on}, true})
	case "make": // succeeds where nothing is
		out = append(out, access{resource{data, i.on}, w.values[i.on] == 0})
	case "drop":
		out = append(out, access{resource{data, i.on}, true})
	case "lock":
		out = append(out, access{resource{lock, i.on}, true})
	}
	for _, l := range w.held[a] {
		out = append(out, access{resource{lock, l}, true})
	}
	return out
}

// step does the next operation of an actor, and what is unseen behind it.
func (w *world) step(a int) {
	i := w.programs[a][w.at[a]]
	w.at[a]++
	failed := false
	if i.verb == "read" || i.verb == "wait" || i.verb == "make" && w.values[i.on] != 0 {
		w.looked[a]++
	} else {
		clear(w.looked)
	}
	switch i.verb {
	case "wait":
		if w.values[i.on] == 0 {
			w.at[a]--
		}
	case "read":
		w.seen[a] += fmt.Sprint(w.values[i.on], " ")
		failed = w.values[i.on] == 0
	case "write":
		w.values[i.on] = 1 + a + 10*len(w.seen[a])
	case "add": // what is written depends on what was read
		w.values[i.on] = 3*w.values[i.on] + a + 1
	case "make":
		if failed = w.values[i.on] != 0; !failed {
			w.values[i.on] = 100 + a
		}
		w.seen[a] += fmt.Sprint(failed, " ")
	case "drop":
		w.values[i.on] = 0
	case "lock":
		w.owner[i.on] = a
		w.held[a] = append(w.held[a], i.on)
	}
	if owner, taken := w.owner[i.unlock]; taken && owner == a {
		delete(w.owner, i.unlock)
	}
	if i.skip && failed {
		w.at[a]++
	}
	if w.ended(a) {
		maps.DeleteFunc(w.owner, func(_ string, owner int) bool { return owner == a })
	}
	if b := i.alive - 1; b >= 0 && b < len(w.programs) {
		w.seen[a] += fmt.Sprint(w.ended(b), " ")
	}
}

func (w *world) state() string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(w.values)) {
		parts = append(parts, fmt.Sprint(name, "=", w.values[name]))
	}
	return fmt.Sprint(parts, w.seen, w.at)
}

// playOut plays a branch as a play does, and returns it with the state that it
// ends in; "" where it was broken off.
func playOut(t failer, programs [][]instr, b *branch) (*play, string) {
	p, state, err := tryOut(programs, b)
	if err != nil {
		t.Fatalf("%v: %v", b.moves, err)
	}
	return p, state
}

// tryOut is playOut with the error of a branch that the programs depart from.
func tryOut(programs [][]instr, b *branch) (*play, string, error) {
	w := newWorld(programs)
	p := &play{want: b, last: nobody, actors: make([]*player, len(programs))}
	for {
		if p.last != nobody && w.ended(p.last) {
			p.nodes[len(p.nodes)-1].final, p.asleep = true, 0
		}
		n := node{last: p.last, cost: p.cost, asleep: p.asleep}
		for a := range programs {
			if w.looked[a] >= pollsAfter {
				n.polling = n.polling.with(a)
			}
			if w.enabled(a) {
				n.enabled = n.enabled.with(a)
				n.points[a] = uint64(w.at[a] + w.programs[a][w.at[a]].shift)
				n.steps[a] = w.uses(a)
			}
		}
		n.yields = p.last != nobody && n.polling.has(p.last)
		if n.enabled == 0 || len(p.moves) > 1000 {
			return p, w.state(), nil
		}
		if err := p.choose(&n); err != nil {
			return nil, "", err
		}
		if n.chosen == nobody {
			return p, "", nil
		}
		p.cost, p.last = n.costOf(n.chosen), n.chosen
		p.nodes = append(p.nodes, n)
		p.moves = append(p.moves, move{actor: n.chosen, point: n.points[n.chosen]})
		w.step(n.chosen)
	}
}

type failer interface {
	Fatalf(format string, args ...any)
}

// exploreAll returns the distinct final states, and how many schedules led to them.
func exploreAll(t failer, programs [][]instr, bound int, reduce bool) (states map[string]bool, plays int) {
	const most = 200_000
	e := newExplorer(bound, reduce)
	states = make(map[string]bool)
	for {
		b, ok := e.next()
		if !ok {
			return states, plays
		}
		p, state := playOut(t, programs, &b)
		if p.cost > bound {
			t.Fatalf("%v has %d preemptions, want at most %d", p.moves, p.cost, bound)
		}
		if plays++; plays > most {
			t.Fatalf("more than %d schedules", most)
		}
		if state != "" {
			states[state] = true
		}
		e.played(b, p.moves, p.nodes)
	}
}

// compareReduced fails where the reduction loses a final state. It returns how
// many schedules each way took.
func compareReduced(t failer, programs [][]instr, bound int) (reduced, full int) {
	want, full := exploreAll(t, programs, bound, false)
	got, reduced := exploreAll(t, programs, bound, true)
	if !maps.Equal(got, want) {
		t.Fatalf("%v at bound %d: %d of %d final states with the reduction, in %d of %d schedules", programs, bound, len(got), len(want), reduced, full)
	}
	return reduced, full
}

// parsePrograms reads "VERB[?]:ON[-UNLOCK][@ALIVE] … | …".
func parsePrograms(text string) [][]instr {
	var programs [][]instr
	for part := range strings.SplitSeq(text, "|") {
		var list []instr
		for word := range strings.FieldsSeq(part) {
			verb, rest, _ := strings.Cut(word, ":")
			i := instr{verb: strings.TrimSuffix(verb, "?"), skip: strings.HasSuffix(verb, "?")}
			rest, alive, _ := strings.Cut(rest, "@")
			i.alive, _ = strconv.Atoi(alive)
			i.on, rest, _ = strings.Cut(rest, "-")
			i.unlock = rest
			list = append(list, i)
		}
		programs = append(programs, list)
	}
	return programs
}

func TestReductionFixed(t *testing.T) {
	for _, tt := range []struct {
		name, programs string
		fewer          bool // fewer schedules are needed
	}{
		{"lost update", "read:x write:x|read:x write:x", false},
		{"apart", "write:a write:b write:c|write:d write:e write:f", true},
		{"one shared at the end", "write:a write:b add:x|write:c write:d add:x", true},
		{"only looking", "read:x read:x read:x|read:x read:x read:x", true},
		{"check then act", "read?:l write:l add:x|read?:l write:l add:x", false},
		{"make, act, drop", "make?:l add:x drop:l|make?:l add:x drop:l", false},
		{"reclaim by three", "make?:l add:x drop:l|drop:l make?:l add:x|make?:l add:x", true},
		{"the end is seen", "write:x write:c|read:x@1 read:d@1", false},
		{"lock", "lock:m read:x write:x-m|lock:m read:x write:x-m", false},
		{"two locks, opposite order", "lock:m lock:n add:x-m|lock:n lock:m add:x-n", false},
		{"waits for a flag", "write:a add:x write:l|wait:l add:x add:a", false},
		{"two wait for a third", "write:a write:b write:l|wait:l add:x|wait:l add:x", true},
		{"make or wait", "make?:l add:x drop:l write:f|wait:f make?:l add:x", false},
		{"three apart but for one", "write:a add:x write:b|write:c add:x|write:d write:e write:f", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for bound := range 4 {
				reduced, full := compareReduced(t, parsePrograms(tt.programs), bound)
				if reduced > full || bound >= 2 && tt.fewer && reduced >= full {
					t.Errorf("bound %d: %d schedules, without the reduction %d", bound, reduced, full)
				}
			}
		})
	}
}

func TestReductionLosesNoState(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		actors := rapid.IntRange(2, 3).Draw(t, "actors")
		length := 5
		if actors == 3 {
			length = 3
		}
		var programs [][]instr
		for range actors {
			programs = append(programs, rapid.SliceOfN(rapid.Custom(drawInstr), 1, length).Draw(t, "program"))
		}
		compareReduced(t, programs, rapid.IntRange(0, 3).Draw(t, "bound"))
	})
}

func drawInstr(t *rapid.T) instr {
	i := instr{verb: rapid.SampledFrom([]string{"read", "read", "write", "add", "make", "drop", "lock"}).Draw(t, "verb")}
	i.on = rapid.SampledFrom([]string{"x", "y", "z"}).Draw(t, "on")
	i.skip = (i.verb == "read" || i.verb == "make") && rapid.Bool().Draw(t, "skip")
	i.unlock = rapid.SampledFrom([]string{"", "", "x", "y"}).Draw(t, "unlock")
	i.alive = rapid.SampledFrom([]int{0, 0, 0, 1, 2}).Draw(t, "alive")
	return i
}
