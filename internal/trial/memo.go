//go:build linux

package trial

import (
	"crypto/sha256"
	"fmt"
	"os"
	"slices"
	"sync"

	"faultlab/internal/scratch"
	"faultlab/internal/tree"
)

// memo remembers what the next run and the check made of a state. Many cases
// leave the same one, and each different one is looked at once. The controls, which
// are there to differ, are not remembered.
type memo struct {
	mu    sync.Mutex
	known map[state]aftermath // nil: not yet
}

// begin forgets all, and remembers from now on.
func (m *memo) begin() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.known = make(map[state]aftermath)
}

// state is all that the next run and the check can tell two cases apart by, hashed.
type state [sha256.Size]byte

// aftermath is what followed a state.
type aftermath struct {
	next, check Outcome
	after       tree.Delta
}

// of hashes the state that a run has left; false where it is not all known. The
// contents alone do not make it: a file that was written anew has another time,
// too, by which a program may go.
func (m *memo) of(r *Runner, at *scratch.Copy, run Run) (state, bool) {
	if left, err := os.ReadDir(at.Tmp()); err != nil || len(left) > 0 || len(r.allowed) > 0 {
		return state{}, false
	}
	h := sha256.New()
	if r.spec.Check != "" {
		o := run.Subject
		if len(o.Stdout) >= keptText || len(o.Stderr) >= keptText {
			return state{}, false
		}
		fmt.Fprintf(h, "%s %q %q\n", told(o), o.Stdout, o.Stderr)
	}
	touched, ok := at.Touched()
	if !ok {
		return state{}, false
	}
	for i, path := range touched {
		touched[i] = r.pattern.Key(path)
	}
	slices.Sort(touched)
	fmt.Fprintf(h, "%q\n", slices.Compact(touched))
	for _, path := range run.Tree.Paths() {
		e := run.Tree[path]
		fmt.Fprintf(h, "%q %d %o %d %x\n", path, e.Kind, e.Perm, e.Size, e.Sum)
	}
	return state(h.Sum(nil)), true
}

func (m *memo) get(s state) (aftermath, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	a, ok := m.known[s]
	return a, ok
}

// maxKnown bounds what is remembered.
const maxKnown = 4096

func (m *memo) put(s state, a aftermath) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.known != nil && len(m.known) < maxKnown {
		m.known[s] = a
	}
}
